/* SPDX-License-Identifier: MIT */
/*
 * memcpy_overrun.c: a copy that is too long for its field and runs over the pointer behind it.
 *
 * EXPECT-EXPR: players[3].title == &guest[0]
 * EXPECT-LINE: BUG: no bound
 * EXPECT-FUNC: rename_player
 * EXPECT-EXIT: 139
 */
#include <stdio.h>
#include <string.h>

#define PLAYERS 8

struct player {
	char name[16];
	const char *title;
	unsigned score;
};

static char guest[] = "guest";
static struct player players[PLAYERS] = {[0 ... PLAYERS - 1] = {.title = guest}};

static __attribute__((noinline)) void rename_player(struct player *p, const char *name, size_t len)
{
	memcpy(p->name, name, len); /* BUG: no bound */
	p->score++;
}

static __attribute__((noinline)) size_t make_name(char *name, unsigned i)
{
	size_t len = 3 + i * 7 % 11;

	if (i == 8003)
		len = 24;
	for (size_t k = 0; k < len; k++)
		name[k] = 'a' + (i + k) % 26;
	name[len] = 0;
	return len + 1;
}

int main(void)
{
	char name[64];

	for (unsigned i = 0; i < 10000; i++) {
		rename_player(&players[i % PLAYERS], name, make_name(name, i));
		if (i % 16 == 0)
			printf("round %u\n", i);
	}
	fflush(stdout);
	for (int i = 0; i < PLAYERS; i++)
		printf("%s the %s: %u\n", players[i].name, players[i].title, players[i].score);
	return 0;
}
