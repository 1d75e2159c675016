/* SPDX-License-Identifier: MIT */
/* A string that is too long runs into the next member, which a function of libc's uses. KIND: segfault */
#include <stdio.h>
#include <string.h>

static struct {
	char name[16];
	char *title;
} user;

static void set(const char *s)
{
	strcpy(user.name, s); /* BUG */
}

int main(int argc, char **argv)
{
	char text[64];

	(void)argv;
	user.title = "x";
	snprintf(text, sizeof(text), "%s-%d-%s", "abcdefghijkl", argc, "mnopqrstuv");
	set(text);
	puts(user.title);
	return 0;
}
