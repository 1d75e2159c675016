/* SPDX-License-Identifier: MIT */
/* A number is kept as if it were a text. KIND: segfault */
#include <stdio.h>
#include <string.h>

enum kind { NUMBER, TEXT };

struct value {
	enum kind kind;
	union {
		long number;
		const char *text;
	} is;
};

static struct value values[4];
static int n;

static void __attribute__((noinline)) add_number(long number)
{
	values[n].kind = TEXT;
	values[n].is.number = number; /* BUG */
	n++;
}

static size_t __attribute__((noinline)) length(const struct value *v)
{
	return v->kind == TEXT ? strlen(v->is.text) : sizeof(v->is.number);
}

int main(int argc, char **argv)
{
	size_t sum = 0;

	add_number(41 + argc);
	for (int i = 0; i < n; i++)
		sum += length(&values[i]);
	printf("%zu\n", sum);
	return 0;
}
