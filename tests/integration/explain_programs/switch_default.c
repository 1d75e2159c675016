/* SPDX-License-Identifier: MIT */
/* A switch came to what must not be: the value that it looks at has changed. KIND: abort */
#include <stdio.h>
#include <stdlib.h>
enum state { IDLE, RUNNING, DONE };
struct machine {
	enum state s;
	int steps;
};
static __attribute__((noinline)) void advance(struct machine *m)
{
	m->s++; /* BUG */
	m->steps++;
}
static __attribute__((noinline)) const char *name(const struct machine *m)
{
	switch (m->s) {
	case IDLE:
		return "idle";
	case RUNNING:
		return "running";
	case DONE:
		return "done";
	default:
		abort();
	}
}
int main(void)
{
	struct machine m = {IDLE, 0};
	for (int i = 0; i < 4; i++) {
		puts(name(&m));
		advance(&m);
	}
	return 0;
}
