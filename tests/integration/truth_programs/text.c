/* SPDX-License-Identifier: MIT */
/*
 * text.c: a tokenizer over a buffer that grows: pointers into it, lengths, snprintf, memmove, qsort with a callback.
 *
 * EXPR: used <= room
 * EXPR: buf[at] != '}'
 * EXPR: tokens < 9
 * EXPR: top[0] >= top[1]
 * EXPR: label[3] != '7'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
char *buf, label[16];
int used, room, at, tokens;
int top[4];

static int down(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

__attribute__((noinline)) static void put(const char *s)
{
	int n = (int)strlen(s);

	if (used + n >= room) {
		room = room * 2 + 8;
		buf = realloc(buf, (size_t)room + 32);
	}
	memcpy(buf + used, s, (size_t)n + 1);
	used += n;
}

__attribute__((noinline)) static void scan(void)
{
	while (at < used && buf[at] != ';')
		at++;
	if (at < used)
		at++, tokens++;
}

int main(void)
{
	static const char *const parts[] = {"ab;", "{x};", "}y", ";", "long text;", "z;}"};

	for (int i = 0; i < 13; i++) {
		pass = i;
		put(parts[i % 6]);
		scan();
		if (i == 6) {
			memmove(buf, buf + 3, (size_t)used - 2);
			used -= 3, at -= 3;
		}
		snprintf(label, sizeof(label), "no %d", i);
		top[i % 4] = i * 5 % 8;
		if (i % 4 == 3)
			qsort(top, 4, sizeof(top[0]), down);
		if (i % 5 == 2)
			getppid();
	}
	label[3] = '7';
	while (buf[at] != '}')
		at--;
	top[0] = 0;
	used = room + 1;
	_exit(1);
}
