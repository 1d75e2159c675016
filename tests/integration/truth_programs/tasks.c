/* SPDX-License-Identifier: MIT */
/*
 * tasks.c: intrusive lists as in the kernel: container_of casts; bit fields through pointers.
 *
 * LEVELS: -O2
 * EXPR: ((struct task *)((char *)ready.next - 8))->prio < 6
 * EXPR: cur->state != 5
 * EXPR: tasks[3].on || cur->ticks < 4
 * EXPR: ready.next != &ready
 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct link {
	struct link *next, *prev;
};
struct task {
	int prio;
	unsigned on : 1, state : 3, ticks : 4;
	struct link link;
};
struct task tasks[5], *cur = &tasks[0];
struct link ready = {&ready, &ready};
int n_ready;

static void add(struct task *t)
{
	t->link.next = &ready;
	t->link.prev = ready.prev;
	ready.prev->next = &t->link;
	ready.prev = &t->link;
	n_ready++;
}

static struct task *take(void)
{
	struct link *l = ready.next;

	ready.next = l->next;
	l->next->prev = &ready;
	n_ready--;
	return (struct task *)((char *)l - offsetof(struct task, link));
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		tasks[i].prio = i + 1;
		add(&tasks[i]);
	}
	for (int i = 0; i < 12; i++) {
		pass = i;
		cur = take();
		cur->on = i % 3 != 0;
		cur->state = i;
		cur->ticks++;
		if (i == 7)
			cur->prio = 9;
		if (i % 7 != 3)
			add(cur);
		if (i % 5 == 2)
			getppid();
	}
	cur->state = 5;
	tasks[3].on = 0;
	cur->ticks = 7;
	((struct task *)((char *)ready.next - 8))->prio = 8;
	while (n_ready)
		take();
	puts("end");
	_exit(1);
}
