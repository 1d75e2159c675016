/* SPDX-License-Identifier: MIT */
/*
 * machine.c: a state machine driven by a table of functions; enumerations, function pointers, arrays of arrays.
 *
 * EXPR: machine.state != BROKEN
 * EXPR: machine.on_input != on_closed
 * EXPR: grid[2][1] <= 8
 * EXPR: machine.history[machine.len - 1] != 'c'
 * EXPR: machine.len < 3 || machine.history[2] != 'o'
 */
#include <stdio.h>
#include <unistd.h>

enum state { IDLE, OPEN, CLOSED, BROKEN };

struct machine {
	enum state state;
	void (*on_input)(struct machine *, char);
	char history[32];
	int len;
} machine;

volatile int pass;
int grid[4][3];

static void on_open(struct machine *m, char c);

static void on_closed(struct machine *m, char c)
{
	m->history[m->len++] = c;
	if (c == 'o') {
		m->state = OPEN;
		m->on_input = on_open;
	} else if (c == 'x') {
		m->state = BROKEN;
	}
}

static void on_open(struct machine *m, char c)
{
	m->history[m->len++] = c;
	grid[m->len % 4][c % 3] += m->len;
	if (c == 'c') {
		m->state = CLOSED;
		m->on_input = on_closed;
	}
}

int main(void)
{
	static const char input[] = "ocxoncobacxoaac";

	machine.state = IDLE;
	machine.on_input = on_closed;
	for (int i = 0; input[i]; i++) {
		pass = i;
		machine.on_input(&machine, input[i]);
		if (i % 4 == 3)
			getppid();
		if (machine.state == BROKEN && i < 9)
			machine.state = CLOSED;
	}
	machine.state = OPEN;
	machine.state = BROKEN;
	puts("end");
	_exit(1);
}
