/* SPDX-License-Identifier: MIT */
/* An element of a pool is given back while it is still in the queue: by the statement that does, not by what it calls. KIND: assertion */
#include <assert.h>
#include <stdio.h>

struct request {
	int busy;
	struct request *next;
};

static struct request pool[3], *spare, *queue;

static void __attribute__((noinline)) give_back(struct request *r)
{
	r->busy = 0;
	r->next = spare;
	spare = r;
}

static void __attribute__((noinline)) run(void)
{
	for (struct request *r = queue, *next; r; r = next) {
		next = r->next;
		assert(r->busy == 1);
		give_back(r);
	}
	queue = NULL;
}

static void __attribute__((noinline)) submit(void)
{
	struct request *r = spare;

	spare = r->next;
	*r = (struct request){1, queue};
	queue = r;
}

static void __attribute__((noinline)) cancel(void)
{
	give_back(queue); /* BUG */ /* SAYS: this called give_back, which set it */ /* SAYS: the statement called give_back */
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		give_back(&pool[i]);
	submit();
	submit();
	run();
	submit();
	cancel();
	run();
	return 0;
}
