/* SPDX-License-Identifier: MIT */
/* stuck.c: see stuck.h. */
#define LOG_DOMAIN "explain"
#include "explain/stuck.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "describe/describe.h"
#include "describe/waits.h"
#include "explain/failure.h"
#include "explain/vain.h"
#include "flow/flow.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"

bool stuck_is(struct explain *x)
{
	struct waits w;
	bool is = !waits_read(&w, x->nav.t.pid, &x->nav.t.ctl->waits, WAITS_OF_REPLAY) && (w.stuck || w.all);

	waits_fini(&w);
	return is;
}

static const struct waits_thread *waiting(const struct waits *w, uint32_t thread)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].thread == thread)
			return &w->v[i];
	return NULL;
}

/* The last event of a thread; 0: none. */
static uint64_t last_event_of(struct explain *x, uint32_t thread)
{
	struct timeline_where w;
	struct err ignored;

	for (uint64_t n = nav_total(&x->nav); n > nav_first(&x->nav); n--)
		if (!timeline_find(x->nav.t.tl, n, &w, &ignored) && w.thread == thread && w.process == x->process)
			return n;
	return 0;
}

struct thread_look {
	uint32_t thread;
	pid_t tid;
	json_t *shown; /* {id, tid, name} */
	json_t *location, *backtrace;
	char *text; /* "waits for ..."; NULL: it does not */
	bool in_cycle;
	uint64_t last; /* its last event */
	const struct waits_thread *wait; /* NULL: none */
};

static void add_step(struct explain *x, const struct thread_look *t, enum step_role role, const char *words)
{
	chain_add(&x->chain, &(struct step){
				     .role = role,
				     .at_end = true,
				     .at.event = nav_total(&x->nav),
				     .words = xstrdup(words),
				     .thread = json_incref(t->shown),
				     .location = json_incref(t->location),
				     .backtrace = json_incref(t->backtrace),
			     });
}

/* All of them, as they stand at the end. */
static int look_at_all(struct explain *x, const struct waits *w, struct thread_look **out, size_t *n, struct err *e)
{
	struct gdb_thread *threads = NULL;
	size_t nthreads = 0;
	struct err ignored;
	int r = -1;

	*n = 0;
	*out = NULL;
	if (gdb_attach(x->g, x->nav.t.pid, e) || gdb_threads(x->g, &threads, &nthreads, e))
		goto out;
	*out = xcalloc(nthreads + 1, sizeof(**out));
	for (size_t i = 0; i < nthreads; i++) {
		struct thread_look *t = &(*out)[*n];

		t->tid = threads[i].tid;
		for (uint32_t o = 1; o < RLOG_MAX_THREADS && !t->thread; o++)
			if (target_tid(&x->nav.t, o) == t->tid)
				t->thread = o;
		if (!t->thread)
			continue;
		t->backtrace = show_stack(x->g, t->tid, &t->location, e);
		if (!t->backtrace)
			goto out;
		t->shown = show_thread(&x->nav.t, x->nav.t.pid, t->thread, t->tid);
		t->wait = waiting(w, t->thread);
		if (t->wait && !t->wait->kind)
			t->wait = NULL;
		if (t->wait)
			t->text = waits_text(w, t->wait, x->nav.t.pid);
		if (t->wait && t->wait->object)
			t->location = inspect_location_past(t->backtrace, t->location, t->wait->object);
		t->in_cycle = t->wait && t->wait->in_cycle;
		t->last = last_event_of(x, t->thread);
		++*n;
	}
	r = 0;
out:
	gdb_threads_free(threads, nthreads);
	if (gdb_target(x->g) && !gdb_dead(x->g))
		gdb_detach(x->g, r ? &ignored : e);
	return r;
}

static void drop(struct thread_look *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(v[i].shown);
		json_decref(v[i].location);
		json_decref(v[i].backtrace);
		free(v[i].text);
	}
	free(v);
}

/* The thread that began to wait last closed the cycle. */
static int latest_first(const void *a, const void *b)
{
	const struct thread_look *x = a, *y = b;

	return x->last == y->last ? 0 : x->last < y->last ? 1 : -1;
}

/* Where a thread got the lock at that address: its last event of that kind. 0: not found. */
static uint64_t acquisition(struct explain *x, uint32_t thread, uint64_t object)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)object);
	struct timeline_event ev;
	struct timeline_where w;
	struct err ignored;
	unsigned released = 0;

	for (uint64_t n = nav_total(&x->nav); n > nav_first(&x->nav); n--) {
		if (timeline_find(x->nav.t.tl, n, &w, &ignored) || w.thread != thread ||
		    timeline_read(x->nav.t.tl, n, &ev, &ignored) || !(ev.ev.rec.flags & RF_H) || ev.ev.rec.hash != hash)
			continue;
		switch (ev.ev.rec.kind) {
		case RLOG_UNLOCK:
		case RLOG_RWUNLOCK:
		case RLOG_SPIN_UNLOCK:
		case RLOG_SEM_POST:
			released++;
			break;
		case RLOG_LOCK:
		case RLOG_RDLOCK:
		case RLOG_WRLOCK:
		case RLOG_SPIN_LOCK:
		case RLOG_SEM_WAIT:
			if (!released)
				return n;
			released--;
			break;
		default:
			break;
		}
	}
	return 0;
}

/* 0; 1: there is no state in front of it; -1. */
static int to_acquisition(struct explain *x, uint64_t n, struct err *e)
{
	struct err why;
	int r = cursor_goto_end(&x->t, n - 1, &why);

	if (r < 0 && why.kind != ERR_CANCELLED)
		return 1;
	if (r < 0)
		*e = why;
	return r;
}

/*
 * As long as a process has one thread, its locks are no events: back to the last write of the mutex's owner
 * (pthread_mutex_t of glibc). As to_acquisition.
 */
static int to_silent_acquisition(struct explain *x, const struct waits_thread *wait, struct err *e)
{
	uint64_t owner = wait->object + offsetof(pthread_mutex_t, __data.__owner);
	bool ignored;
	int r;

	if (wait->kind != WAIT_MUTEX || !wait->owner)
		return 1;
	r = explain_goto_failure(x, e);
	if (!r)
		r = flow_last_write(x, owner, sizeof(int), 0, &ignored, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r)
		explain_reopen(x);
	return r ? 1 : 0;
}

static bool has_ended(const struct waits *w, uint32_t thread)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].thread == thread)
			return w->v[i].ended;
	return false;
}

/* Where the return address is of the function that has called what the program stands in. 0: not known. */
static uint64_t return_slot(struct inspect *p)
{
	struct gdb_regs r;
	struct err ignored;

	if (gdb_frame_regs(p->x->g, 0, p->user + 1, &r, &ignored) || !(r.valid & 1u << GDB_REG_SP))
		return 0;
	return r.value[GDB_REG_SP] - 8;
}

#define RETURNS 100u /* to one address, of other calls than the one that is looked for */
#define LINE_STEPS 64u

/*
 * From the end of the thread back to after the return by way of that slot, in the call that the program stands in at
 * `at`. 0; 1: it is not met; -1.
 */
static int to_return(struct explain *x, const struct timeline_point *at, uint64_t slot, struct err *e)
{
	struct user_regs_struct r = {0};
	struct stop stop = {0};
	uint64_t to, last;
	uint32_t thread;
	int got;

	if (cursor_goto_point(&x->t, at, e))
		return -1;
	thread = x->t.in.seg.thread;
	to = failure_word(x, slot);
	last = last_event_of(x, thread);
	got = last ? cursor_goto_end(&x->t, last - 1, e) : 1;
	if (got)
		return got;
	breaks_add(&x->t.breaks, to, 0);
	got = 1;
	for (unsigned n = 0; n < RETURNS && got == 1; n++) {
		if (cursor_back_continue(&x->t, &stop, e))
			got = -1;
		else if (stop.kind != STOP_BREAK || x->t.in.n < at->event)
			break;
		else if (x->t.in.seg.thread == thread && !explain_regs(x, x->t.in.seg.tid, &r, e) && r.rsp == slot + 8)
			got = 0;
	}
	breaks_remove(&x->t.breaks, to, 0);
	return got;
}

static int line_here(struct explain *x, uint64_t pc)
{
	struct gdb_line line = {0};
	struct err ignored;
	struct inspect p = {0};
	int n = 0;

	if (!inspect_open(&p, x, &ignored) && !gdb_line_at(x->g, pc, &line, &ignored))
		n = line.line;
	gdb_line_fini(&line);
	inspect_close(&p);
	return n;
}

/* From after the return into the function, to its last line before the one that returns. */
static int to_last_line(struct explain *x, pid_t tid, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop = {0};
	int last = 0;

	for (unsigned n = 0; n < LINE_STEPS; n++) {
		int line;

		if (cursor_back_step(&x->t, tid, &stop, e) || explain_regs(x, tid, &r, e))
			return -1;
		line = stop.kind == STOP_STEP ? line_here(x, r.rip) : 0;
		if (!line || (last && line != last))
			break;
		last = line;
	}
	return 0;
}

/* The owner has ended: where it left the function that got the object, which nobody can give back any more. */
static int tell_leaving(struct explain *x, const struct thread_look *t, const struct timeline_point *at, uint64_t slot,
			struct err *e)
{
	struct inspect p = {0};
	int r = to_return(x, at, slot, e);

	if (!r)
		r = to_last_line(x, x->t.in.seg.tid, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r)
		return 0;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (x->t.in.seg.thread == t->wait->owner)
		inspect_step(&p, STEP_RETURN, NULL, NULL, NULL,
			     "thread %u still held it here when it left %s, and ended later", t->wait->owner,
			     inspect_function(&p, 0));
	inspect_close(&p);
	return 0;
}

/* A step at the call by which the owner of what `t` waits for got it. */
static int tell_acquisition(struct explain *x, const struct waits *w, const struct thread_look *t, struct err *e)
{
	uint64_t n = t->wait->owner ? acquisition(x, t->wait->owner, t->wait->object) : 0;
	struct timeline_point at;
	struct inspect p = {0};
	uint64_t slot;
	int r;

	r = n ? to_acquisition(x, n, e) : to_silent_acquisition(x, t->wait, e);
	if (r)
		return r < 0 ? -1 : 0;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_look_past(&p, t->wait->object, true);
	if (x->t.in.seg.thread == t->wait->owner)
		inspect_step(&p, STEP_ACQUIRE, NULL, NULL, NULL, "thread %u acquired here what thread %u waits for",
			     t->wait->owner, t->thread);
	at = p.at;
	slot = has_ended(w, t->wait->owner) ? return_slot(&p) : 0;
	inspect_close(&p);
	return slot ? tell_leaving(x, t, &at, slot, e) : 0;
}

static json_t *threads_json(const struct thread_look *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:O, s:o, s:b, s:O}", "thread", v[i].shown, "waits",
						      v[i].text ? json_text(v[i].text, strlen(v[i].text)) : json_null(),
						      "in_cycle", v[i].in_cycle, "backtrace", v[i].backtrace));
	return list;
}

/* The waits of the cycle, from the one that closed it; then what they got before. */
static int tell_cycle(struct explain *x, const struct waits *w, struct thread_look *v, size_t n, struct err *e)
{
	size_t cycle = 0;

	for (size_t i = 0; i < n; i++)
		cycle += v[i].in_cycle;
	for (size_t i = 0, told = 0; i < n; i++) {
		cleanup_free char *words = NULL;

		if (!v[i].text || (cycle && !v[i].in_cycle))
			continue;
		words = str_fmt("thread %u %s", v[i].thread, v[i].text);
		add_step(x, &v[i], told++ ? STEP_WAIT : STEP_FAILURE, words);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].text && (!cycle || v[i].in_cycle) && tell_acquisition(x, w, &v[i], e))
			return -1;
	return 0;
}

/* Does a thread of the cycle wait for the end of another one? That one has no order of locks that could be wrong. */
static bool waits_for_end(const struct thread_look *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].in_cycle && v[i].wait->kind == WAIT_JOIN)
			return true;
	return false;
}

/*
 * The steps by which the locks were got come before those of the waits: the cause is the wait that began the cycle. Not
 * where a thread waits for the end of another one: then what it has kept meanwhile is the cause.
 */
static void order_steps(struct explain *x)
{
	struct step *sorted = xcalloc(x->chain.n, sizeof(*sorted));
	size_t n = 0;

	for (int acquires = 1; acquires >= 0; acquires--)
		for (size_t i = 0; i < x->chain.n; i++)
			if ((!i || x->chain.v[i].role == STEP_ACQUIRE) == acquires)
				sorted[n++] = x->chain.v[i];
	free(x->chain.v);
	x->chain.v = sorted;
	x->chain.cap = n;
}

/* Semaphores and locks of readers do not say who has them; where they are used as locks, the events do. */
static void find_owners(struct explain *x, struct waits *w)
{
	bool any = false;

	for (size_t i = 0; i < w->n; i++) {
		struct waits_thread *t = &w->v[i];

		if ((t->kind != WAIT_SEM && !t->readers) || t->owner)
			continue;
		t->owner = vain_owner(x, t->thread, t->object);
		t->readers &= !t->owner;
		any |= t->owner != 0;
	}
	if (any)
		waits_conclude(w);
	w->all = false;
}

/* Do all threads wait for each other? fredctl record has ended it because of that. */
static bool is_all(const struct explain *x, const struct waits *w, const struct thread_look *v, size_t n)
{
	bool all = n > 0 && !w->group && x->rec->end == REC_END_SIGNAL && x->rec->end_value == SIGABRT;

	for (size_t i = 0; i < n; i++)
		all &= v[i].text != NULL;
	return all;
}

/* Is it known for whom it waits? Then that one is to be asked. */
static bool waits_for_one(const struct thread_look *t)
{
	return t->wait && (t->wait->owner || t->wait->kind == WAIT_JOIN);
}

#define ASKED_MOST 4u /* threads that wait */

/* The waits of threads for what nobody in particular gives: at most ASKED_MOST. */
static size_t list_vain(struct explain *x, const struct thread_look *v, size_t n, struct vain out[ASKED_MOST])
{
	size_t k = 0;

	for (size_t i = 0; i < n && k < ASKED_MOST; i++) {
		const struct waits_thread *w = v[i].wait;

		if (waits_for_one(&v[i]) || !v[i].last)
			continue;
		out[k] = (struct vain){.thread = v[i].thread, .wait = v[i].last, .until = nav_total(&x->nav)};
		if (w && (w->kind == WAIT_COND || w->kind == WAIT_SEM))
			out[k].object = w->object;
		out[k].semaphore = w && w->kind == WAIT_SEM;
		k++;
	}
	return k;
}

/* Those that wait for what is there already come first: the others may have nothing to do. */
static int order_vain(struct explain *x, struct vain *v, size_t n, struct err *e)
{
	size_t first = 0;

	for (size_t i = 0; n > 1 && i < n && !explain_is_over(x); i++) {
		struct vain one = v[i];
		int is = vain_is_satisfied(x, &one, e);

		if (is < 0)
			return -1;
		if (!is)
			continue;
		memmove(&v[first + 1], &v[first], (i - first) * sizeof(*v));
		v[first++] = one;
	}
	return 0;
}

/* Why does what the threads wait for not come? */
static int why_not(struct explain *x, const struct thread_look *v, size_t n, struct err *e)
{
	struct vain waits[ASKED_MOST];
	size_t asked = list_vain(x, v, n, waits);
	int r = 1;

	if (order_vain(x, waits, asked, e))
		return -1;
	for (size_t i = 0; i < asked && r == 1 && !explain_is_over(x); i++) {
		r = vain_explain(x, &waits[i], e);
		if (r < 0 && explain_may_go_on(x, e))
			r = 1;
	}
	return r;
}

static void set_ended(struct explain *x, char **text)
{
	const char *name = x->rec->end == REC_END_SIGNAL ? sigabbrev_np(x->rec->end_value) : NULL;

	*text = name ? str_fmt("the program was ended from outside by SIG%s", name)
		     : xstrdup("the recording does not tell how the program ended");
	if (x->rec->end == REC_END_SIGNAL)
		x->failure.signal = x->rec->end_value;
}

static int hung(struct explain *x, const struct waits *w, struct thread_look *v, size_t n, struct err *e)
{
	bool all = is_all(x, w, v, n);
	cleanup_free char *text = NULL;
	int r;

	set_ended(x, &text);
	if (all) {
		free(text);
		text = xstrdup("all threads wait, and nobody is left to wake them (deadlock)");
	}
	failure_set_kind(x, all ? "deadlock" : "signal", "%s", text);
	if (n) {
		cleanup_free char *words =
			v[0].text ? str_fmt("%s; thread %u %s", text, v[0].thread, v[0].text) : xstrdup(text);

		add_step(x, &v[0], STEP_FAILURE, words);
	}
	r = why_not(x, v, n, e);
	if (r < 0)
		return -1;
	if (r)
		explain_end(x, END_UNKNOWN,
			    "the steps show what the threads were doing; nothing indicates that this is wrong");
	return 0;
}

int stuck_explain(struct explain *x, struct err *e)
{
	cleanup_free char *text = NULL;
	struct thread_look *v = NULL;
	struct waits w;
	size_t n = 0;
	int r;

	if (waits_read(&w, x->nav.t.pid, &x->nav.t.ctl->waits, WAITS_OF_REPLAY))
		log_info("the waits of the threads cannot be read");
	find_owners(x, &w);
	r = look_at_all(x, &w, &v, &n, e);
	if (!r) {
		qsort(v, n, sizeof(*v), latest_first);
		x->threads = threads_json(v, n);
		text = waits_deadlock_text(&w);
	}
	if (!r && (w.stuck || w.all)) {
		failure_set_kind(x, "deadlock", "%s",
				 text ? text : "all threads wait, and nobody is left to wake them");
		r = tell_cycle(x, &w, v, n, e);
		if (!waits_for_end(v, n))
			order_steps(x);
		explain_end(x, END_CYCLE, "%s", text ? text : "all threads wait");
		x->found = x->chain.n > 0;
	} else if (!r) {
		r = hung(x, &w, v, n, e);
	}
	drop(v, n);
	waits_fini(&w);
	return r;
}
