/* SPDX-License-Identifier: MIT */
/* local_move.c: see local_move.h. */
#include "localsearch/local_move.h"
#include "base/clock.h"
#include <string.h>
#include <sys/uio.h>

#define END_SLOT 3
#define SNAPSHOT_MAX 4096
/* The time that is counted for a unit of work (trace/budget.h). */
#define HIT_NS 20000u
#define STEP_NS 6000u
#define FORK_NS 300000u

/* The contents of the words, to see whether a hit changed one. */
struct snapshot {
	bool valid;
	size_t len;
	uint8_t data[SNAPSHOT_MAX];
};

unsigned local_free_slots(const struct local *l)
{
	return TRACE_SLOTS - (l->p->end_break || l->p->end_watch);
}

/* All work so far. */
static uint64_t work_ns(const struct local *l)
{
	return l->r->hits * HIT_NS + l->r->steps * STEP_NS + l->r->forks * FORK_NS + l->cost_ns;
}

void local_begin_lasting(struct local *l, uint64_t ns)
{
	trace_budget_begin_work(&l->lasting, ns, l->left.pid);
	l->counted_ns = work_ns(l);
}

bool local_lasting_is_over(struct local *l, const struct trace *t)
{
	uint64_t now = work_ns(l);

	trace_budget_spend(&l->lasting, now - l->counted_ns);
	l->counted_ns = now;
	return trace_budget_is_over(&l->lasting, t->pid);
}

bool local_watchable(const struct local *l)
{
	struct trace_word out[LOCAL_CHUNKS];

	return !l->p->no_watch && trace_words_pieces(&l->words, l->free_slots, out);
}

int local_arm_end(struct local *l, struct trace *t, struct err *e)
{
	if (l->p->end_break)
		return trace_set_break(t, END_SLOT, l->p->end_break, e);
	return l->p->end_watch ? trace_set_watch(t, END_SLOT, l->p->end_watch, 8, e) : 0;
}

static unsigned end_slots(const struct local *l)
{
	return l->p->end_break || l->p->end_watch ? 1u << END_SLOT : 0;
}

static int arm_words(struct local *l, struct trace *t, struct err *e)
{
	struct trace_word out[LOCAL_CHUNKS];
	unsigned n = trace_words_pieces(&l->words, l->free_slots, out);

	for (unsigned i = 0; i < l->free_slots; i++)
		if (i < n ? trace_set_watch(t, i, out[i].addr, out[i].len, e) : trace_clear(t, i, e))
			return -1;
	return 0;
}

static int disarm_words(struct local *l, struct trace *t, struct err *e)
{
	for (unsigned i = 0; i < l->free_slots; i++)
		if (trace_clear(t, i, e))
			return -1;
	return 0;
}

/* Reads all words at once. Unreadable, too large or unknown words make no snapshot. */
static void take(const struct local *l, const struct trace *t, struct snapshot *s)
{
	struct iovec remote[TRACE_WORDS_MAX], local = {s->data, 0};

	s->valid = false;
	for (unsigned i = 0; i < l->words.n; i++) {
		remote[i].iov_base = (void *)(uintptr_t)l->words.w[i].addr;
		remote[i].iov_len = l->words.w[i].len;
		local.iov_len += l->words.w[i].len;
	}
	if (!l->words.complete || !l->words.n || local.iov_len > SNAPSHOT_MAX)
		return;
	s->len = local.iov_len;
	s->valid = process_vm_readv(t->pid, &local, 1, remote, l->words.n, 0) == (ssize_t)local.iov_len;
}

/* Do the words differ from *s, which is then updated? Unknown contents count as changed. */
static bool changed(const struct local *l, const struct trace *t, struct snapshot *s)
{
	struct snapshot now;

	take(l, t, &now);
	if (s->valid && now.valid && s->len == now.len && !memcmp(s->data, now.data, now.len))
		return false;
	s->valid = now.valid;
	s->len = now.len;
	if (now.valid)
		memcpy(s->data, now.data, now.len);
	return true;
}

bool local_same_words(const struct local *l, const struct trace *a, const struct trace *b)
{
	struct snapshot s;

	if (l->guess.n)
		return false;
	take(l, a, &s);
	return s.valid && !changed(l, b, &s);
}

void local_add_contents(const struct local *l, const struct trace *t, uint64_t *sum)
{
	struct snapshot s;

	take(l, t, &s);
	for (size_t i = 0; s.valid && i < s.len; i++)
		*sum = (*sum ^ s.data[i]) * 0x100000001b3u; /* FNV-1a */
	*sum = (*sum ^ s.valid) * 0x100000001b3u;
}

static int check_ended(struct local *l, struct trace *t, bool at_end_slot, bool *ended, struct err *e)
{
	if (l->ops->cancelled && l->ops->cancelled(l->ctx))
		return err_set(e, ERR_CANCELLED, "the search was cancelled");
	*ended = at_end_slot;
	if (!l->ops->ended)
		return 0;
	return l->ops->ended(l->ctx, t, ended, e);
}

static uint64_t slice(const struct local *l)
{
	return l->p->slice_ns ? l->p->slice_ns : 50000000u;
}

/* Is the thread at end_break for the end_hits-th time, which is the segment's end? */
static bool is_last_pass(const struct local *l, struct trace *t, const struct trace_stop *s)
{
	if (!l->p->end_hits || s->why != TRACE_HIT || !(s->slots & 1u << END_SLOT))
		return false;
	return ++t->passes >= l->p->end_hits;
}

/* Starts the thread once, until it stops. *ended: the segment's end; *sig: the signal to deliver next. */
static int resume(struct local *l, struct trace *t, bool step, const struct trace_limit *limit, int *sig,
		  struct trace_stop *s, bool *ended, struct err *e)
{
	bool look, ends;

	*ended = false;
	if (step ? trace_step(t, *sig, s, e) : trace_cont(t, *sig, limit, s, e))
		return -1;
	*sig = s->why == TRACE_SIGNAL ? s->info.si_signo : 0;
	if (is_last_pass(l, t, s)) {
		*ended = true;
		return 0;
	}
	ends = s->slots & end_slots(l) && !(l->p->end_break && l->p->end_hits);
	/* end_watch is not watched then; the thread comes to end_break first, if no pass of that is missed */
	look = ends || s->why == TRACE_TIMEOUT || (l->p->end_break && l->p->end_watch && s->why == TRACE_HIT);
	return look && s->why != TRACE_EXITED ? check_ended(l, t, ends, ended, e) : 0;
}

/* One hit or one instruction; *moved is false when it was something else (a slice, a signal). */
static int one(struct local *l, struct trace *t, bool step, int *sig, bool *moved, enum local_move *how, struct err *e)
{
	const struct trace_limit limit = {.wall_ns = slice(l)};
	struct trace_stop s;
	bool ended;

	*how = LOCAL_MOVED;
	*moved = false;
	if (step && trace_get_regs(t, &l->before, e))
		return -1;
	if (resume(l, t, step, &limit, sig, &s, &ended, e))
		return -1;
	if (s.why == TRACE_EXITED) {
		*how = LOCAL_EXITED;
		return 0;
	}
	if (ended)
		*how = LOCAL_ENDED;
	*moved = step ? s.why == TRACE_STEPPED : s.why == TRACE_HIT && (s.slots & ~end_slots(l));
	l->before_known = step && *moved;
	if (*moved && step)
		l->r->steps++;
	else if (*moved)
		l->r->hits++;
	return 0;
}

static int advance(struct local *l, struct trace *t, bool step, uint64_t count, uint64_t raw_max, uint64_t *done,
		   enum local_move *how, struct err *e)
{
	struct snapshot snap;
	uint64_t raw = 0;
	int sig = 0;

	take(l, t, &snap);
	while (*done < count) {
		bool moved;

		if ((raw_max && raw == raw_max) || (l->hurry && local_lasting_is_over(l, t))) {
			*how = LOCAL_LIMIT;
			return 0;
		}
		if (one(l, t, step, &sig, &moved, how, e))
			return -1;
		if (*how == LOCAL_EXITED)
			return 0;
		raw += moved;
		if (moved && changed(l, t, &snap))
			++*done;
		if (!(raw % 4096) && l->ops->cancelled && l->ops->cancelled(l->ctx))
			return err_set(e, ERR_CANCELLED, "the search was cancelled");
		if (*how == LOCAL_ENDED)
			return 0;
	}
	return 0;
}

int local_advance(struct local *l, struct trace *t, enum local_unit unit, uint64_t count, uint64_t raw_max,
		  uint64_t *done, enum local_move *how, struct err *e)
{
	uint64_t start = clock_ns();
	int r;

	*done = 0;
	*how = LOCAL_MOVED;
	l->before_known = false;
	r = unit == LOCAL_HIT ? arm_words(l, t, e) : disarm_words(l, t, e);
	if (!r)
		r = advance(l, t, unit == LOCAL_STEP, count, raw_max, done, how, e);
	l->r->run_ns += clock_ns() - start;
	return r;
}

int local_run(struct local *l, struct trace *t, uint64_t cpu_ns, uint64_t *ran, enum local_move *how, struct err *e)
{
	struct trace_limit limit = {.wall_ns = slice(l)};
	uint64_t begin = clock_ns(), from, now;
	struct trace_stop s;
	bool ended = false;
	int sig = 0;

	*ran = 0;
	*how = LOCAL_LIMIT;
	if (disarm_words(l, t, e) || trace_cpu_ns(t->pid, &from, e))
		return -1;
	while (*ran < cpu_ns) {
		limit.cpu_ns = cpu_ns - *ran;
		if (resume(l, t, false, &limit, &sig, &s, &ended, e))
			return -1;
		if (s.why == TRACE_EXITED || ended)
			break;
		if (trace_cpu_ns(t->pid, &now, e))
			return -1;
		*ran = now - from;
	}
	l->r->run_ns += clock_ns() - begin;
	if (s.why == TRACE_EXITED) {
		*how = LOCAL_EXITED;
		return 0;
	}
	if (trace_cpu_ns(t->pid, &now, e))
		return -1;
	*ran = now - from;
	if (ended)
		*how = LOCAL_ENDED;
	return 0;
}

int local_run_to_slot(struct local *l, struct trace *t, unsigned slot, enum local_move *how, struct err *e)
{
	const struct trace_limit limit = {.wall_ns = slice(l)};
	struct trace_stop s;
	bool ended;
	int sig = 0;

	for (;;) {
		if (resume(l, t, false, &limit, &sig, &s, &ended, e))
			return -1;
		*how = s.why == TRACE_EXITED ? LOCAL_EXITED : ended ? LOCAL_ENDED : LOCAL_MOVED;
		if (*how != LOCAL_MOVED || (s.why == TRACE_HIT && (s.slots & 1u << slot)))
			return 0;
	}
}
