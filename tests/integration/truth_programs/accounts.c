/* SPDX-License-Identifier: MIT */
/*
 * accounts.c: threads with mutexes, thread-local counters, invariants over what two locks protect.
 *
 * RECORD: --sched serial
 * EXPR: account[0].money + account[1].money == 100
 * EXPR: account[1].money < 70
 * EXPR: busiest == 0 || busiest->moves < 9
 * EXPR: mine < 6
 * IN: mover
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
	pthread_mutex_t lock;
	int money, moves;
};

volatile int pass;
struct account account[2] = {{PTHREAD_MUTEX_INITIALIZER, 60, 0}, {PTHREAD_MUTEX_INITIALIZER, 40, 0}};
struct account *busiest;
__thread int mine;
static pthread_barrier_t step;

static void move(int from, int to, int n)
{
	struct account *a = &account[from], *b = &account[to];

	pthread_mutex_lock(&account[0].lock);
	pthread_mutex_lock(&account[1].lock);
	a->money -= n;
	b->money += n;
	a->moves++;
	if (!busiest || a->moves > busiest->moves)
		busiest = a;
	pthread_mutex_unlock(&account[1].lock);
	pthread_mutex_unlock(&account[0].lock);
}

static void *mover(void *arg)
{
	(void)arg;
	for (int i = 0; i < 8; i++) {
		pthread_barrier_wait(&step);
		pthread_barrier_wait(&step);
		pass = 100 + i;
		move(0, 1, i % 3 * 5);
		mine++;
		if (i == 7) {
			account[1].money--;
			puts("end");
			_exit(1);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&step, NULL, 2);
	pthread_create(&t, NULL, mover, NULL);
	for (int i = 0;; i++) {
		pthread_barrier_wait(&step);
		pass = i;
		move(1, 0, i % 2 * 4);
		mine += 2;
		pthread_barrier_wait(&step);
	}
}
