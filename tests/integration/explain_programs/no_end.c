/* SPDX-License-Identifier: MIT */
/* strncpy leaves no room for the end of a text; that what is behind it is set then is not the cause. KIND: assertion */ /* SAYS: which is not a terminating null */
#include <assert.h>
#include <string.h>

static struct user {
	char name[8], shell[16];
} users[2];

static void add(struct user *u, const char *name, const char *shell)
{
	strncpy(u->name, name, sizeof(u->name)); /* BUG */
	strncpy(u->shell, shell, sizeof(u->shell) - 1);
}

static int login(const struct user *u)
{
	assert(strlen(u->name) <= 8);
	return u->shell[0] == '/';
}

int main(void)
{
	add(&users[0], "root", "/bin/sh");
	add(&users[1], "operator", "/sbin/nologin");
	return login(&users[0]) + login(&users[1]) - 2;
}
