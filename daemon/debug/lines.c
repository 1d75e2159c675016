/* SPDX-License-Identifier: MIT */
/* lines.c: see lines.h. */
#include "debug/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "debug/debug.h"

#define DUE 128 /* steps: a line without a loop ends before that */
#define ROUNDS 2 /* rounds, by passes of the same instruction, after which it counts as a loop */

void lines_fini(struct lines *l)
{
	free(l->v);
	free(l->insn);
	memset(l, 0, sizeof(*l));
}

static void add(struct lines *l, uint64_t len, uint64_t line)
{
	uint64_t lo = l->n ? l->v[l->n - 1].hi : l->lo;

	l->v = xreallocarray(l->v, l->n + 1, sizeof(l->v[0]));
	l->v[l->n++] = (struct lines_range){lo, lo + len, (uint32_t)line};
}

/* Reads the lengths of the instructions in the last range. */
static int parse_insns(struct lines *l, const char *digits)
{
	const struct lines_range *r = &l->v[l->n - 1];
	uint64_t at = r->lo;

	for (; *digits; digits++) {
		const char one[] = {*digits, '\0'};
		uint64_t len;

		if (str_u64(one, 16, 1, 15, &len) || at >= r->hi)
			return -1;
		l->insn = xreallocarray(l->insn, l->insns + 1, sizeof(l->insn[0]));
		l->insn[l->insns++] = at;
		at += len;
	}
	return 0;
}

/* LENGTH:LINE[:INSNS] */
static int parse_range(struct lines *l, const char *text)
{
	char *end;
	uint64_t len = strtoull(text, &end, 16), line;

	if (!len || *end != ':')
		return -1;
	line = strtoull(end + 1, &end, 16);
	if ((*end && *end != ':') || line > UINT32_MAX)
		return -1;
	add(l, len, line);
	return *end ? parse_insns(l, end + 1) : 0;
}

static int parse(struct lines *l, const struct strv *words)
{
	if (words->n < 2 || str_u64(words->s[0], 16, 0, UINT64_MAX, &l->lo))
		return -1;
	for (size_t i = 1; i < words->n; i++)
		if (parse_range(l, words->s[i]))
			return -1;
	l->due = DUE;
	return 0;
}

int lines_set(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	cleanup_strv struct strv words = {0};

	lines_fini(&d->lines);
	strv_split(&words, args, " ");
	if (!parse(&d->lines, &words))
		return 0;
	lines_fini(&d->lines);
	return err_set(e, ERR_USAGE, "lines START LENGTH:LINE ...: '%.40s' does not have this form", args);
}

static const struct lines_range *find(const struct lines *l, uint64_t pc)
{
	for (unsigned i = 0; i < l->n; i++)
		if (pc >= l->v[i].lo && pc < l->v[i].hi)
			return &l->v[i];
	return NULL;
}

static void begin(struct lines *l, uint64_t event, uint64_t pc, uint64_t sp, uint32_t line)
{
	l->event = event;
	l->sp = sp;
	l->line = line;
	l->lo = l->last = l->first = pc;
	l->steps = l->rounds = 0;
	l->due = DUE;
	l->far_due = 1;
	l->crossed = false;
}

void lines_note(struct lines *l, uint64_t event, uint64_t pc, uint64_t sp)
{
	const struct lines_range *at = find(l, pc);

	if (l->steps && sp < l->sp)
		return;
	if (!at) {
		l->steps = 0;
		return;
	}
	if (!l->steps || sp > l->sp || at->line != l->line) {
		begin(l, event, pc, sp, at->line);
	} else {
		l->rounds += pc == l->first;
		if (l->rounds == ROUNDS && pc == l->first && l->steps < l->due)
			l->due = l->steps + 1;
		if (event != l->event) {
			l->event = event;
			l->crossed = true;
			l->steps = 0;
			l->due = DUE;
		}
	}
	l->lo = pc < l->lo ? pc : l->lo;
	l->last = pc > l->last ? pc : l->last;
	l->steps++;
}

bool lines_far_due(struct lines *l)
{
	if (!l->insns || !l->crossed || !l->steps || l->rounds < l->far_due)
		return false;
	l->far_due += l->rounds;
	return true;
}

bool lines_is_in(const struct lines *l, uint64_t pc)
{
	const struct lines_range *r = find(l, pc);

	return r && r->line == l->line;
}

bool lines_due(struct lines *l, struct lines_range *range, uint64_t *sp)
{
	if (!l->n || l->steps < l->due)
		return false;
	l->due += l->steps;
	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].lo <= l->last && l->v[i].hi > l->lo && l->v[i].line != l->line)
			return false; /* another line's code in between */
	*range = (struct lines_range){l->lo, l->last + 1, l->line};
	*sp = l->sp;
	return true;
}
