/* SPDX-License-Identifier: MIT */
/* stuck.c: see stuck.h. */
#define LOG_DOMAIN "explain"
#include "explain/stuck.h"

#include <signal.h>
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
#include "explain/held.h"
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

/* All threads, in their states at the end. */
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
		t->last = failure_last_event(x, t->thread);
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

static json_t *threads_json(const struct thread_look *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:O, s:o, s:b, s:O}", "thread", v[i].shown, "waits",
						      v[i].text ? json_text(v[i].text, strlen(v[i].text)) : json_null(),
						      "in_cycle", v[i].in_cycle, "backtrace", v[i].backtrace));
	return list;
}

static bool has_cycle(const struct thread_look *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].in_cycle)
			return true;
	return false;
}

/* Those of the cycle; if there is none, those that wait for what a thread had when it ended. */
static bool is_told(const struct thread_look *t, bool cycle)
{
	return t->text && (cycle ? t->in_cycle : t->wait->stuck);
}

/*
 * Adds steps for the waits of the cycle, from the one that closed it on, and then for what these threads acquired
 * before.
 */
static int tell_cycle(struct explain *x, const struct waits *w, struct thread_look *v, size_t n, struct err *e)
{
	bool cycle = has_cycle(v, n);

	for (size_t i = 0, told = 0; i < n; i++) {
		cleanup_free char *words = NULL;

		if (!is_told(&v[i], cycle))
			continue;
		words = str_fmt("thread %u %s", v[i].thread, v[i].text);
		add_step(x, &v[i], told++ ? STEP_WAIT : STEP_FAILURE, words);
	}
	for (size_t i = 0; i < n; i++)
		if (is_told(&v[i], cycle) && held_tell(x, w, v[i].wait, e))
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
 * Puts the steps by which the locks were acquired before those of the waits: the cause is the wait that began the
 * cycle. Not so where a thread waits for the end of another one: then the cause is what that thread has kept meanwhile.
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

/* Semaphores and read-write locks do not say which thread has them; where they are used as locks, the events do. */
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

/* Do all threads wait for each other, and did fredctl record end the program because of that? */
static bool is_all(const struct explain *x, const struct waits *w, const struct thread_look *v, size_t n)
{
	bool all = n > 0 && !w->group && x->rec->end == REC_END_SIGNAL && x->rec->end_value == SIGABRT;

	for (size_t i = 0; i < n; i++)
		all &= v[i].text && !v[i].wait->limited;
	return all;
}

/* Is it known which thread it waits for? Then that thread is examined. */
static bool waits_for_one(const struct thread_look *t)
{
	return t->wait && t->wait->kind != WAIT_COND && (t->wait->owner || t->wait->kind == WAIT_JOIN);
}

#define ASKED_MOST 4u /* threads that wait */

/* May another thread wake the one that waits for the object? Not if it waits for that itself, or for a thread's end. */
static bool others_live(const struct thread_look *v, size_t n, const struct thread_look *waiter)
{
	uint64_t object = waiter->wait ? waiter->wait->object : 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct waits_thread *w = v[i].wait;
		bool same = w && (w->kind == WAIT_COND || w->kind == WAIT_SEM) && w->object == object;

		any |= &v[i] != waiter && !same && !(w && w->kind == WAIT_JOIN);
	}
	return any;
}

/* Lists the waits that no particular thread could end: at most ASKED_MOST. */
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
		out[k].uncertain = w && w->owner;
		out[k].limited = w && w->limited;
		out[k].semaphore = w && w->kind == WAIT_SEM;
		out[k].others = others_live(v, n, &v[i]);
		k++;
	}
	return k;
}

/* Waits for what is there already come first: the other threads may have nothing to do. */
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

/* Explains why what the threads wait for does not come. */
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
		if (has_cycle(v, n) && !waits_for_end(v, n))
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
