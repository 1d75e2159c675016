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
		watched_fini(w); /* the debugger evaluates them then */
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
 * What the debugger is shown first. false: there is nothing at which the condition is false. Of an object of several
 * words the others are shown as they are, if that may be.
 */
static bool choose(struct watched *w, const struct watch_condition *c, pid_t pid)
{
	bool as_is = !is_alone(w, c) && !watch_condition_is_true_of(c, pid, c->other);

	w->shown = (struct watch_reads){0};
	if (as_is)
		;
	else if (has_value(&c->last, c, c->other))
		w->shown = c->last;
	else if (watch_condition_is_true_of(c, pid, c->other))
		return false;
	if (w->shown.n == WATCH_READS_MAX)
		return false;
	w->shown.v[w->shown.n].addr = c->addr;
	w->shown.v[w->shown.n].len = c->len;
	memcpy(w->shown.v[w->shown.n++].v, c->other, c->len);
	return true;
}

/* Has a word of the object of `met` changed since the debugger has seen it? All are taken to be seen now, but those of
 * several objects. */
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

void watched_stop(struct watched *w, pid_t pid, const struct rsp_stop *stop, bool goes_on)
{
	for (unsigned i = 0; i < w->conditions.n; i++) {
		struct watch_condition *c = &w->conditions.v[i];
		uint8_t now[8];

		look(c, pid, now);
		c->stale |= memcmp(is_met(stop, c) ? c->other : now, w->before[i], c->len) != 0;
	}
	for (unsigned i = 0; i < w->conditions.n; i++) {
		struct watch_condition *c = &w->conditions.v[i];

		if (!is_met(stop, c))
			continue;
		w->on = is_stale(w, c) && goes_on && choose(w, c, pid);
		w->stop = *stop;
	}
}

void watched_show(const struct watched *w, uint64_t addr, void *data, size_t len)
{
	for (unsigned i = 0; w->on && i < w->shown.n; i++)
		for (unsigned k = 0; k < w->shown.v[i].len; k++)
			if (w->shown.v[i].addr + k - addr < len)
				((uint8_t *)data)[w->shown.v[i].addr + k - addr] = w->shown.v[i].v[k];
}

void watched_prompt(struct watched *w)
{
	w->on = false;
}
