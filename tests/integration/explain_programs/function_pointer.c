/* SPDX-License-Identifier: MIT */
/* A string that is too long is copied over a pointer to a function. KIND: jump. CFLAGS: -fno-optimize-sibling-calls */
#include <stdio.h>
#include <string.h>

struct op {
	char name[8];
	void (*run)(void);
};

static void hello(void)
{
	puts("hello");
}

static struct op ops[2] = {{"a", hello}, {"b", hello}};

static __attribute__((noinline)) void rename_op(struct op *o, const char *name)
{
	strcpy(o->name, name); /* BUG */
}

int main(int argc, char **argv)
{
	(void)argv;
	ops[0].run();
	rename_op(&ops[1], "abcdefghijkl" + argc - 1);
	ops[1].run();
	return 0;
}
