/* SPDX-License-Identifier: MIT */
/* An assertion that calls a function of libc, of which GDB knows no type. KIND: assertion. CFLAGS: -fno-optimize-sibling-calls */
#include <assert.h>
#include <stdio.h>
#include <string.h>
static struct {
	char key[8];
	char secret[8];
} r = {"", "zzzzzzz"};
static __attribute__((noinline)) void set_key(const char *s)
{
	strncpy(r.key, s, sizeof(r.key)); /* BUG */
}
int main(void)
{
	set_key("short");
	assert(strlen(r.key) < sizeof(r.key));
	set_key("longer than that");
	assert(strlen(r.key) < sizeof(r.key));
	return 0;
}
