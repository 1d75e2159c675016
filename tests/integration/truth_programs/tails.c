/* SPDX-License-Identifier: MIT */
/*
 * tails.c: a state machine of functions that end in a jump to the next one; computed goto.
 *
 * LEVELS: -O1 -O2 -O3,-fomit-frame-pointer clang,-O2
 * EXPR: machine.level < 8
 * EXPR: machine.errors == 0
 * EXPR: opened - closed <= 2
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct machine {
	int level, errors, at;
} machine;
int opened, closed;
static const char *const program = "ooncoonccooonxccnoooe";

int step(struct machine *m);

__attribute__((noinline)) static int open_one(struct machine *m)
{
	opened++;
	m->level += 2;
	return step(m);
}

__attribute__((noinline)) static int close_one(struct machine *m)
{
	closed++;
	m->level--;
	return step(m);
}

__attribute__((noinline)) static int fail(struct machine *m)
{
	m->errors += 3;
	m->level /= 2;
	return step(m);
}

__attribute__((noinline)) int step(struct machine *m)
{
	static const void *const to[] = {&&none, &&open, &&close, &&bad, &&end};
	char c = program[m->at++];

	pass = m->at;
	goto *to[c == 'o' ? 1 : c == 'c' ? 2 : c == 'x' ? 3 : c == 'e' ? 4 : 0];
none:
	return step(m);
open:
	return open_one(m);
close:
	return close_one(m);
bad:
	return fail(m);
end:
	return m->level;
}

int main(void)
{
	int r = step(&machine);

	puts("end");
	_exit(r);
}
