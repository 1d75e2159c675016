/* SPDX-License-Identifier: MIT */
/* A function that the compiler puts into its caller keeps the null pointer that it was given. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct thread {
	const char *info;
	long n;
};

static struct thread first;

static inline void set_info(struct thread *t, const char *s)
{
	t->info = s;
}

static void __attribute__((noinline)) query(struct thread *t, const char *s)
{
	set_info(t, s);
	t->n++;
	set_info(t, NULL); /* BUG */ /* SAYS: passed a constant to set_info */
}

static size_t __attribute__((noinline)) show(const struct thread *t)
{
	return strlen(t->info);
}

int main(void)
{
	query(&first, "sorting");
	printf("%zu\n", show(&first));
	return 0;
}
