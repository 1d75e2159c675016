/* SPDX-License-Identifier: MIT */
/* A machine leaves its state, as it should, and goes to a wrong one from there: that it left is not the cause. KIND: abort */
#include <stdlib.h>

enum state { TEXT, TAG, QUOTED, COMMENT };

struct machine {
	enum state s;
	int tags;
};

static void step(struct machine *m, char c)
{
	if (m->s == TEXT && c == '<') {
		m->s = TAG;
	} else if (m->s == TEXT && c == '#') {
		m->s = COMMENT;
	} else if (m->s == TAG && c == '>') {
		m->tags++;
		m->s = TEXT;
	} else if (m->s == COMMENT && c == '\n') {
		m->s = QUOTED; /* BUG */
	}
}

static int finish(const struct machine *m)
{
	if (m->s != TEXT)
		abort();
	return m->tags;
}

static int run(const char *s)
{
	struct machine m = {TEXT, 0};

	for (; *s; s++)
		step(&m, *s);
	return finish(&m);
}

int main(void)
{
	return run("a<b>c<d>") + run("<a># note\ntext") > 100;
}
