/* SPDX-License-Identifier: MIT */
/* A pointer that strcpy has overwritten is passed on to printf, which reads what it points to. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct person {
	char name[12];
	const char *mail;
};

static struct person person = {"", "a@b.c"};
static volatile int long_name = 1;

static void __attribute__((noinline)) set_name(struct person *p, const char *name)
{
	strcpy(p->name, name); /* BUG */
	long_name++;
}

int main(void)
{
	set_name(&person, long_name ? "Bartholomew the Great" : "Al");
	printf("%s <%s>\n", person.name, person.mail);
	return 0;
}
