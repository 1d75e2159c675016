/* SPDX-License-Identifier: MIT */
/*
 * libc_calls.c: a string that overruns into its neighbour. The expression calls libc's functions, of which there is no
 * debug information.
 *
 * EXPECT-EXPR: strcmp(users[2].name, "carol") == 0 && strlen(users[1].name) == 3 && users[0].next == NULL
 * EXPECT-LINE: BUG: too long
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
	char name[8];
	void *next;
	char note[8];
} users[3] = {{"alice", 0, ""}, {"bob", 0, ""}, {"carol", 0, ""}};

int main(void)
{
	char text[40];

	for (int i = 1; i < 2000000000 / 7; i *= 7) {
		getppid();
		snprintf(text, sizeof(text), "%d/%d", i, i);
		memcpy(users[1].note, text, strlen(text) + 1); /* BUG: too long */
	}
	puts(users[2].name);
	return 0;
}
