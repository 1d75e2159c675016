/* SPDX-License-Identifier: MIT */
/* parting.c: see parting.h. */
#include "diff/parting.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/path.h"
#include "base/str.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "rlog/rlog.h"

#define PLAIN 0x10000ull /* larger values are addresses, or sizes of mappings */

/* ---- what an event is, apart from what does not matter ---- */

static bool is_in(long nr, const long *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i] == nr)
			return true;
	return false;
}

#define IS_IN(nr, list) is_in(nr, list, sizeof(list) / sizeof((list)[0]))

/* Do the results of this call differ from run to run? */
static bool is_of_chance(long nr)
{
	static const long calls[] = {SYS_clock_gettime, SYS_gettimeofday,    SYS_time,	  SYS_getpid,	 SYS_gettid,
				     SYS_getppid,	SYS_getrandom,	     SYS_times,	  SYS_getrusage, SYS_sysinfo,
				     SYS_getcpu,	SYS_set_tid_address, SYS_getpgrp, SYS_getsid};

	return IS_IN(nr, calls);
}

/* Does the call only tell how a thread waited, or where memory came from? That is not what the program did. */
static bool is_left_out(long nr)
{
	static const long calls[] = {SYS_futex, SYS_sched_yield, SYS_madvise,	      SYS_mmap, SYS_munmap,
				     SYS_brk,	SYS_mprotect,	 SYS_restart_syscall, SYS_rseq, SYS_set_robust_list};

	return IS_IN(nr, calls);
}

static bool brings_data(long nr)
{
	static const long calls[] = {SYS_read,	   SYS_pread64, SYS_readv,    SYS_preadv,
				     SYS_recvfrom, SYS_recvmsg, SYS_readlink, SYS_readlinkat};

	return IS_IN(nr, calls);
}

static bool writes_data(long nr)
{
	static const long calls[] = {SYS_write,	   SYS_pwrite64, SYS_writev,  SYS_pwritev,
				     SYS_pwritev2, SYS_sendto,	 SYS_sendmsg, SYS_sendmmsg};

	return IS_IN(nr, calls);
}

static bool is_of_process(const struct parting_side *s, uint64_t v)
{
	for (unsigned i = 0; i < s->rec->nimages; i++)
		if ((uint64_t)s->rec->images[i].head.pid == v)
			return true;
	return false;
}

static uint32_t add(uint32_t sum, uint64_t v)
{
	return crc32c(sum, &v, sizeof(v));
}

/* The value, if it means the same in each run; else 0. */
static uint64_t plain(const struct parting_side *s, const struct timeline_event *ev, uint64_t v)
{
	int64_t n = (int64_t)v;

	if (n >= (int64_t)PLAIN || n <= -(int64_t)PLAIN || is_of_process(s, v) || (uint64_t)ev->where.tid == v)
		return 0;
	return v;
}

static uint32_t of_call(const struct parting_side *s, const struct timeline_event *ev)
{
	const struct rlog_rec *r = &ev->ev.rec;
	long nr = (long)r->op[0];
	uint32_t sum = add(r->kind, (uint64_t)nr);

	if (is_of_chance(nr))
		return sum;
	/* the last operand is a check of what it read in memory: what_is_written */
	for (unsigned i = 1; i + 1 < r->nops; i++)
		sum = add(sum, plain(s, ev, r->op[i]));
	if (!ev->ev.has_result)
		return sum;
	sum = add(sum, plain(s, ev, ev->ev.result.op[0]));
	if (brings_data(nr) && ev->ev.result.payload_len)
		sum = crc32c(sum, ev->ev.result.payload, ev->ev.result.payload_len);
	return sum;
}

static bool counts(const struct timeline_event *ev)
{
	const struct rlog_rec *r = &ev->ev.rec;

	switch (r->kind) {
	case RLOG_YIELD:
	case RLOG_PREEMPT:
	case RLOG_PAGE:
	case RLOG_LIB_LOCK:
	case RLOG_LIB_UNLOCK:
		return false;
	case RLOG_SYS:
		return !is_left_out((long)r->op[0]);
	default:
		return true;
	}
}

static uint32_t what_is(const struct parting_side *s, const struct timeline_event *ev)
{
	const struct rlog_rec *r = &ev->ev.rec;
	uint32_t sum = r->kind;

	if (r->kind == RLOG_SYS)
		return of_call(s, ev);
	if (r->kind == RLOG_CRASH)
		return add(sum, r->op[0]);
	if (r->flags & RF_H)
		sum = add(sum, r->hash);
	if (r->kind == RLOG_CREATE || r->kind == RLOG_SIGNAL)
		return add(sum, r->op[0]);
	for (unsigned i = 0; i < r->nops; i++)
		sum = add(sum, plain(s, ev, r->op[i]));
	if (ev->ev.has_result && ev->ev.result.nops && r->kind != RLOG_FORK)
		sum = add(sum, plain(s, ev, ev->ev.result.op[0]));
	return sum;
}

/* A checksum of the bytes that the event writes; 0: none. */
static uint32_t what_is_written(const struct timeline_event *ev)
{
	const struct rlog_rec *r = &ev->ev.rec;

	return r->kind == RLOG_SYS && r->nops > 1 && writes_data((long)r->op[0]) ? (uint32_t)r->op[r->nops - 1] : 0;
}

static bool is_acquire(uint8_t kind)
{
	return kind == RLOG_LOCK || kind == RLOG_RDLOCK || kind == RLOG_WRLOCK || kind == RLOG_SEM_WAIT ||
	       kind == RLOG_ONCE_RUN || kind == RLOG_SPIN_LOCK;
}

/* ---- reading ---- */

static void note_turn(struct parting_side *s, const struct timeline_event *ev)
{
	struct parting_turns *t = &s->objects[ev->ev.rec.hash];

	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->v = xreallocarray(t->v, t->cap, sizeof(t->v[0]));
	}
	t->v[t->n++] = (struct parting_turn){ev->where.number, ev->where.thread};
}

static void note(struct parting_side *s, const struct timeline_event *ev)
{
	uint32_t thread = ev->where.thread;
	struct parting_log *l;

	if (thread >= s->count) {
		s->threads = xreallocarray(s->threads, thread + 1, sizeof(s->threads[0]));
		memset(s->threads + s->count, 0, (thread + 1 - s->count) * sizeof(s->threads[0]));
		s->count = thread + 1;
	}
	l = &s->threads[thread];
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 256;
		l->v = xreallocarray(l->v, l->cap, sizeof(l->v[0]));
	}
	l->v[l->n++] = (struct parting_did){ev->where.number, what_is(s, ev), what_is_written(ev)};
	if (is_acquire(ev->ev.rec.kind))
		note_turn(s, ev);
}

int parting_read(struct parting_side *s, const json_t *params, struct err *e)
{
	cleanup_free char *key = str_fmt("%s_process", s->name);
	json_auto_t *p = json_pack("{s:O}", "rec", json_object_get(params, s->name));
	struct timeline_event ev;
	struct timeline_walk w;
	int r;

	if (json_object_get(params, key))
		json_object_set(p, "process", json_object_get(params, key));
	if (pick_rec(p, &s->rec, e) || !(s->process = pick_process(p, s->rec, e)) ||
	    timeline_build(s->rec, s->process, NULL, &s->tl, e) ||
	    timeline_walk_init(&w, s->tl, timeline_base(s->tl) + 1, e))
		return -1;
	while ((r = timeline_walk_next(&w, &ev, e)) > 0)
		if (counts(&ev))
			note(s, &ev);
	timeline_walk_fini(&w);
	s->total = timeline_total(s->tl);
	return r;
}

void parting_side_fini(struct parting_side *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->threads[i].v);
	free(s->threads);
	for (unsigned i = 0; i < PARTING_OBJECTS; i++)
		free(s->objects[i].v);
	timeline_free(s->tl);
	rec_free(s->rec);
}

/* ---- comparing ---- */

const struct parting_log *parting_log(const struct parting_side *s, uint32_t thread)
{
	static const struct parting_log none;

	return thread < s->count ? &s->threads[thread] : &none;
}

/* The first difference of a thread. */
struct parting parting_of_thread(const struct parting_side *g, const struct parting_side *b, uint32_t thread)
{
	const struct parting_log *x = parting_log(g, thread), *y = parting_log(b, thread);
	struct parting p = {.thread = thread, .other = thread};

	while (p.index < x->n && p.index < y->n && x->v[p.index].what == y->v[p.index].what)
		p.index++;
	p.found = p.index < x->n || p.index < y->n;
	p.short_only = p.found && (p.index >= x->n || p.index >= y->n);
	p.good = p.index < x->n ? x->v[p.index].number : 0;
	p.bad = p.index < y->n ? y->v[p.index].number : 0;
	return p;
}

/* Is p the better answer? Something that was done otherwise explains more than something that was not done any more. */
static bool is_better(const struct parting *p, const struct parting *than)
{
	uint64_t a = p->bad ? p->bad : UINT64_MAX, b = than->bad ? than->bad : UINT64_MAX;

	if (!p->found || !than->found)
		return p->found;
	if (p->short_only != than->short_only)
		return !p->short_only;
	return a < b;
}

struct parting parting_of_order(const struct parting_side *g, const struct parting_side *b)
{
	struct parting best = {0};

	for (unsigned o = 0; o < PARTING_OBJECTS; o++) {
		const struct parting_turns *x = &g->objects[o], *y = &b->objects[o];

		for (size_t i = 0; i < x->n && i < y->n; i++) {
			struct parting p = {true, false,	  x->v[i].thread, y->v[i].thread,
					    i,	  x->v[i].number, y->v[i].number};

			if (p.thread == p.other)
				continue;
			if (is_better(&p, &best))
				best = p;
			break;
		}
	}
	return best;
}

struct parting parting_first(const struct parting_side *g, const struct parting_side *b)
{
	uint32_t n = g->count > b->count ? g->count : b->count;
	struct parting best = {0};

	for (uint32_t t = 1; t < n; t++) {
		struct parting p = parting_of_thread(g, b, t);

		if (is_better(&p, &best))
			best = p;
	}
	return best;
}

/* Of threads that did the same: the first one that wrote something else. */
static struct parting output_of_thread(const struct parting_side *g, const struct parting_side *b, uint32_t thread)
{
	const struct parting_log *x = parting_log(g, thread), *y = parting_log(b, thread);
	size_t n = x->n < y->n ? x->n : y->n;

	for (size_t i = 0; i < n && x->v[i].what == y->v[i].what; i++)
		if (x->v[i].written != y->v[i].written)
			return (struct parting){true, false, thread, thread, i, x->v[i].number, y->v[i].number};
	return (struct parting){0};
}

struct parting parting_of_output(const struct parting_side *g, const struct parting_side *b)
{
	struct parting best = {0};

	for (uint32_t t = 1; t < g->count && t < b->count; t++) {
		struct parting p = output_of_thread(g, b, t);

		if (is_better(&p, &best))
			best = p;
	}
	return best;
}

uint64_t parting_before(const struct parting_side *s, uint32_t thread, size_t index)
{
	return index ? parting_log(s, thread)->v[index - 1].number : timeline_base(s->tl);
}

static const char *class_of(const struct parting_side *s)
{
	return s->rec->sched;
}

static bool same_class(const char *a, const char *b)
{
	size_t n = strcspn(a, ":");

	return n == strcspn(b, ":") && !strncmp(a, b, n);
}

int parting_check_alike(const struct parting_side *g, const struct parting_side *b, json_t *result, struct err *e)
{
	if (!str_eq(path_base(g->rec->program), path_base(b->rec->program)))
		return err_set(e, ERR_USAGE,
			       "%s is a recording of %s, and %s one of %s: only runs of the same program are compared",
			       g->rec->dir, g->rec->program, b->rec->dir, b->rec->program);
	if (!same_class(class_of(g), class_of(b))) {
		cleanup_free char *text = str_fmt(
			"the schedules are of different kinds (%s, %s), which alone changes the order of threads",
			class_of(g), class_of(b));

		show_note(result, text);
	}
	return 0;
}
