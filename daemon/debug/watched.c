/* SPDX-License-Identifier: MIT */
/* watched.c: see watched.h. */
#include "debug/watched.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "rsp/packet.h"
#include "trace/trace.h"

void watched_fini(struct watched *w)
{
	watch_conditions_fini(&w->conditions);
	free(w->before);
	*w = (struct watched){0};
}

static bool is_length(unsigned long n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* ADDRESS:LENGTH:CODE */
static int add(struct watched *w, const char *word, struct err *e)
{
	cleanup_free char *listing = xcalloc(strlen(word) + 1, 1);
	cleanup_free uint8_t *code = NULL;
	unsigned long long addr;
	unsigned long len;
	size_t n = 0;
	char *end;

	addr = strtoull(word, &end, 16);
	len = *end == ':' ? strtoul(end + 1, &end, 16) : 0;
	if (*end != ':' || !is_length(len) || addr % len)
		return err_set(e, ERR_USAGE, "watch-conditions: '%s' is no ADDRESS:LENGTH:CODE", word);
	rsp_unhex(end + 1, listing, strlen(word));
	if (agent_assemble(listing, &code, &n, e))
		return -1;
	watch_conditions_add(&w->conditions, addr, (unsigned)len, code, n);
	return 0;
}

int watched_set(struct watched *w, const char *args, struct err *e)
{
	cleanup_strv struct strv words = {0};
	int r = 0;

	watched_fini(w);
	strv_split(&words, args, " ");
	for (size_t i = 0; i < words.n && !r; i++)
		r = add(w, words.s[i], e);
	if (r)
		watched_fini(w); /* then the debugger evaluates them */
	w->before = xcalloc(w->conditions.n + 1, sizeof(w->before[0]));
	return r;
}

static void look(const struct watch_condition *c, pid_t pid, uint8_t v[8])
{
	struct err ignored;

	memset(v, 0, 8);
	trace_read(pid, c->addr, v, c->len, &ignored);
}

bool watched_resume(struct watched *w, enum rsp_resume how, pid_t pid, struct rsp_stop *stop)
{
	bool back = how == RSP_BACK_CONTINUE || how == RSP_BACK_STEP, again = w->on && back == w->conditions.back;

	w->on = false;
	if (again) {
		*stop = w->stop;
		return true;
	}
	w->conditions.back = back;
	for (unsigned i = 0; i < w->conditions.n; i++) {
		w->conditions.v[i].last.n = 0;
		look(&w->conditions.v[i], pid, w->before[i]);
	}
	return false;
}

/* Does r have this value of the word? */
static bool has_value(const struct watch_reads *r, const struct watch_condition *c, const uint8_t v[8])
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->v[i].addr >= c->addr && r->v[i].addr < c->addr + c->len &&
		    memcmp(r->v[i].v, v + (r->v[i].addr - c->addr), r->v[i].len))
			return false;
	return r->n > 0;
}

/* Is it the only word of its object? */
static bool is_alone(const struct watched *w, const struct watch_condition *c)
{
	for (unsigned i = 0; i < w->conditions.n; i++)
		if (c != &w->conditions.v[i] && watch_conditions_share(c, &w->conditions.v[i]))
			return false;
	return true;
}

/*
 * For a condition that reads variables of a frame, which may now be another frame, elsewhere: moves what was read to
 * where the same variables are read now.
 */
static bool move_reads(const struct watch_condition *c, const struct watched_state *now, struct watch_reads *shown)
{
	struct watch_reads r;

	watch_condition_reads(c, now->pid, now->regs, &r);
	if (r.n < c->last.n)
		return false;
	for (unsigned i = 0; i < c->last.n; i++) {
		if (r.v[i].len != c->last.v[i].len)
			return false;
		shown->v[i].addr = r.v[i].addr;
	}
	return true;
}

static bool add_word(struct watch_reads *shown, const struct watch_condition *c)
{
	if (shown->n == WATCH_READS_MAX)
		return false;
	shown->v[shown->n].addr = c->addr;
	shown->v[shown->n].len = c->len;
	memcpy(shown->v[shown->n++].v, c->other, c->len);
	return true;
}

/*
 * Chooses what the debugger is shown first. false: no state is known in which the condition is false. The other words
 * of an object are shown as they are, if possible.
 */
static bool choose(struct watched *w, const struct watch_condition *c, const struct watched_state *now)
{
	struct watch_reads *shown = &w->shown;
	bool as_is;

	*shown = (struct watch_reads){0};
	add_word(shown, c);
	as_is = !watch_condition_is_true_over(c, now->pid, now->regs, shown);
	if (as_is && (!is_alone(w, c) || c->registers))
		return true;
	if (!has_value(&c->last, c, c->other) && (!c->registers || !c->last.n))
		return as_is;
	*shown = c->last;
	if (!add_word(shown, c))
		return false;
	return !c->registers || !watch_condition_is_true_over(c, now->pid, now->regs, shown) ||
	       (move_reads(c, now, shown) && !watch_condition_is_true_over(c, now->pid, now->regs, shown));
}

/*
 * Has a word of the object of `met` changed since the debugger has seen it? From now on, all count as seen, except
 * words of several objects.
 */
static bool is_stale(struct watched *w, const struct watch_condition *met)
{
	bool stale = false;

	for (unsigned i = 0; i < w->conditions.n; i++) {
		struct watch_condition *c = &w->conditions.v[i];

		if (c != met && !watch_conditions_share(c, met))
			continue;
		stale |= c->stale;
		c->stale &= c != met && c->conds.n > 1;
	}
	return stale;
}

static bool is_met(const struct rsp_stop *stop, const struct watch_condition *c)
{
	return stop->why == RSP_WATCHPOINT && stop->point == RSP_WRITE && stop->addr == c->addr;
}

void watched_stop(struct watched *w, const struct watched_state *now, const struct rsp_stop *stop, bool goes_on)
{
	for (unsigned i = 0; i < w->conditions.n; i++) {
		struct watch_condition *c = &w->conditions.v[i];
		uint8_t word[8];

		look(c, now->pid, word);
		c->stale |= memcmp(is_met(stop, c) ? c->other : word, w->before[i], c->len) != 0;
	}
	for (unsigned i = 0; i < w->conditions.n; i++) {
		struct watch_condition *c = &w->conditions.v[i];

		if (!is_met(stop, c))
			continue;
		w->on = is_stale(w, c) && goes_on && choose(w, c, now);
		w->stop = *stop;
	}
}

void watched_show(const struct watched *w, uint64_t addr, void *data, size_t len)
{
	if (w->on)
		watch_reads_cover(&w->shown, addr, data, len);
}

void watched_prompt(struct watched *w)
{
	w->on = false;
}
