/* SPDX-License-Identifier: MIT */
/* instrument.c: see instrument.h: from the words of a report to accesses, calls and the calls that a thread is in. */
#include "instrument/instrument.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "instrument/questions.h"

/* ---- instructions ---- */

static void decode(struct instrument *i, struct instrument_insn *x)
{
	uint8_t code[INSN_BYTES];
	size_t n = trace_read_some(i->t->pid, x->pc, code, sizeof(code));

	if (n && x->bytes == n && !memcmp(x->code, code, n))
		return;
	x->bytes = (uint8_t)n;
	memcpy(x->code, code, n);
	x->mark = 0;
	insn_shape(code, n, &x->shape);
}

/* Code that may be rewritten is decoded again in each segment: x->changes. */
static void decode_first(struct instrument *i, struct instrument_insn *x)
{
	const struct code_mapping *m = code_use(&i->code, x->pc);

	x->changes = m && m->changes;
	decode(i, x);
}

/* Most entries are of the instruction that the entry before was of. */
static struct instrument_insn *insn_at(struct instrument *i, uint64_t pc)
{
	struct instrument_insn *x = i->last && i->last->pc == pc ? i->last : table_find(&i->insns, pc);

	if (!x) {
		const char *before = i->insns.v;

		x = table_add(&i->insns, pc);
		decode_first(i, x);
		if (i->insns.v != before) /* the others have moved */
			memset(i->quick, 0, INSTRUMENT_QUICK * sizeof(*i->quick));
	}
	if (x->segment != i->event + 1) {
		if (x->changes && x->segment)
			decode(i, x);
		x->segment = i->event + 1;
		x->hits = 0;
	}
	i->last = x;
	return x;
}

/* The instruction at pc. Counts one more pass of it here, unless an entry of its own (REPORT_INSN) counts it. */
static struct instrument_insn *executed(struct instrument *i, uint64_t pc)
{
	struct instrument_insn *x = insn_at(i, pc);

	x->hits += !i->report.every;
	return x;
}

static void on_insn(struct instrument *i, const uint64_t *v)
{
	struct instrument_insn *x = insn_at(i, v[0] & REPORT_PC_MASK);

	x->hits++;
	i->ops->insn(i->ctx, i, x, v[1]);
}

/* ---- accesses ---- */

static void tell(struct instrument *i, struct instrument_insn *x, uint64_t addr, uint64_t len, bool reads, bool writes)
{
	const struct instrument_access a = {x, addr, len, reads, writes};

	if (!len)
		return;
	i->accesses += !i->report.filter;
	if (i->ops->access)
		i->ops->access(i->ctx, i, &a);
}

static void masked(struct instrument *i, struct instrument_insn *x, uint64_t addr)
{
	uint64_t len = elements_masked(&x->shape, i->mask, &addr);

	tell(i, x, addr, len, x->shape.reads, x->shape.writes);
}

/* The elements of an access that vector registers describe. false: it is not known which they are. */
static bool elements(struct instrument *i, struct instrument_insn *x, uint64_t base)
{
	const struct insn_shape *s = &x->shape;
	uint64_t at[ELEMENTS_MAX];
	int n = elements_of(&i->elements, s, i->mask, base, at);

	for (int k = 0; k < n; k++)
		tell(i, x, at[k], s->element, s->reads, s->writes);
	return n >= 0;
}

static struct instrument_quick *quick_place(const struct instrument *i, uint64_t word)
{
	return &i->quick[(word * 0x9e3779b97f4a7c15ull >> 40) & (INSTRUMENT_QUICK - 1)];
}

/* Of an access that needs nothing but its address: the next one of this instruction is quick. */
static void make_quick(struct instrument *i, uint64_t word, struct instrument_insn *x)
{
	const struct insn_shape *s = &x->shape;

	if (!s->len || s->irregular || s->fs || s->gs || s->masked || s->call || s->jumps || !s->bytes)
		return;
	*quick_place(i, word) = (struct instrument_quick){word, x, s->scaled, s->bytes, s->reads, s->writes};
}

/* An entry of ACCESS or PASS. false: it is not one of the quick ones. */
static inline bool on_quick(struct instrument *i, const uint64_t *v, bool pass)
{
	const struct instrument_quick *q = quick_place(i, v[0]);
	struct instrument_insn *x = q->insn;

	if (q->word != v[0] || x->segment != i->event + 1)
		return false;
	x->hits = pass ? v[2] : x->hits + !i->report.every;
	i->operand = v[1];
	i->loads = v[1] + (uint64_t)q->scaled;
	i->accesses += !i->report.filter;
	if (i->loads - i->ops->lo < i->ops->hi - i->ops->lo || !i->ops->hi) {
		const struct instrument_access a = {x, i->loads, q->bytes, q->reads, q->writes};

		if (i->ops->access)
			i->ops->access(i->ctx, i, &a);
	}
	return true;
}

static void on_access(struct instrument *i, const uint64_t *v, bool pass)
{
	struct instrument_insn *x = executed(i, v[0] & REPORT_PC_MASK);
	const struct insn_shape *s = &x->shape;
	uint64_t base = v[1] + (s->fs ? i->fs : 0);

	x->hits = pass ? v[2] : x->hits;
	i->operand = v[1];
	i->loads = v[1] + (uint64_t)s->scaled;
	make_quick(i, v[0], x);
	if (s->call && !i->report.every)
		x->hits--; /* a CALL entry comes, too, and counts it */
	if (s->irregular && !s->gs && !s->fs && elements(i, x, base + (uint64_t)s->scaled))
		return;
	if (!s->len || s->irregular || s->gs || (s->fs && !i->ops->locals)) {
		i->irregular += !s->fs; /* thread-local variables are in no block of the heap */
		return;
	}
	if (s->masked)
		masked(i, x, base + (uint64_t)s->scaled);
	else
		tell(i, x, base + (uint64_t)s->scaled, s->bytes, s->reads, s->writes);
}

static void on_vector(struct instrument *i, const uint64_t *v)
{
	uint64_t which = v[0] & REPORT_PC_MASK;

	if (which < REPORT_VECTOR_FIRST)
		elements_put(&i->elements, (enum replay_report_vector)which, v + 1);
	else if (which < REPORT_VECTORS && i->ops->vector)
		i->ops->vector(i->ctx, i, (unsigned)(which - REPORT_VECTOR_FIRST), (const uint8_t *)(v + 1));
}

static void on_loaded(struct instrument *i, const uint64_t *v)
{
	uint64_t n = v[0] & REPORT_PC_MASK;

	if (n > REPORT_LOADED_BYTES)
		return;
	if (i->ops->loaded)
		i->ops->loaded(i->ctx, i, i->loads, (const uint8_t *)(v + 1), n);
	i->loads += n;
}

static void on_string(struct instrument *i, const uint64_t *v)
{
	i->string = executed(i, v[0] & REPORT_PC_MASK);
	i->rdi = v[1];
	i->rsi = v[2];
}

/* What lies between a register before and after it, in either direction. */
static void range(struct instrument *i, struct instrument_insn *x, uint64_t from, uint64_t to, bool reads, bool writes)
{
	bool down = to < from;

	if (from != to && (reads || writes))
		tell(i, x, down ? to + x->shape.string : from, down ? from - to : to - from, reads, writes);
}

static void on_string_end(struct instrument *i, const uint64_t *v)
{
	struct instrument_insn *x = i->string;

	if (!x)
		return;
	range(i, x, i->rsi, v[2], x->shape.reads_rsi, false);
	range(i, x, i->rdi, v[1], x->shape.reads_rdi, x->shape.writes_rdi);
	i->string = NULL;
}

/* ---- calls ---- */

static void pop(struct instrument_stack *s, uint64_t sp)
{
	while (s->n && s->v[s->n - 1].sp <= sp)
		s->n--;
	s->sp = sp;
}

/* Found again by the whole word, as accesses are. */
static struct instrument_insn *call_at(struct instrument *i, uint64_t word)
{
	struct instrument_quick *q = quick_place(i, word);
	struct instrument_insn *x;

	if (q->word == word && q->insn->segment == i->event + 1) {
		q->insn->hits += !i->report.every;
		return q->insn;
	}
	x = executed(i, word & REPORT_PC_MASK); /* which may make all of them void */
	*q = (struct instrument_quick){.word = word, .insn = x};
	return x;
}

/* x: the call; sp: the stack pointer before it. */
static void on_call(struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct instrument_stack *s = i->stack;

	pop(s, sp - 8);
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = (struct instrument_frame){
		.pc = x->pc, .sp = sp - 8, .event = i->event, .hits = instrument_has_hits(i) ? x->hits : 0};
	if (i->ops->call)
		i->ops->call(i->ctx, i, x);
}

static void on_called(struct instrument *i, const uint64_t *v)
{
	struct instrument_insn *x = call_at(i, v[0]);

	x->hits = v[1];
	on_call(i, x, v[2]);
}

/* Calls that a jump has left (longjmp) have no returns. */
static void on_stands(struct instrument *i, const uint64_t *v)
{
	pop(i->stack, v[1] - 1);
	i->none = v[2];
}

static void on_ret(struct instrument *i, uint64_t sp)
{
	if (i->has_rax && i->ops->result)
		i->ops->result(i->ctx, i, sp, i->rax);
	i->has_rax = false;
	pop(i->stack, sp);
}

/* ---- entries ---- */

static const uint8_t words[] = {
#define X(name, n) n,
	REPORT_KINDS(X)
#undef X
};

static int segment(struct instrument *i, struct err *e)
{
	i->between = false;
	return i->ops->segment ? i->ops->segment(i->ctx, i, e) : 0;
}

/* The segment is over, with this event. */
static int on_event(struct instrument *i, uint64_t number, struct err *e)
{
	if (number != i->event + 1)
		return err_set(e, ERR_INTERNAL, "the replay reported event %llu after event %llu",
			       (unsigned long long)number, (unsigned long long)i->event);
	if ((i->between && segment(i, e)) || (i->ops->ended && i->ops->ended(i->ctx, i, e)))
		return -1;
	i->event = number;
	i->steps = i->none = 0;
	i->between = true;
	return 0;
}

static void one(struct instrument *i, enum replay_report_kind kind, const uint64_t *v)
{
	switch (kind) {
	case REPORT_ACCESS:
	case REPORT_PASS:
		on_access(i, v, kind == REPORT_PASS);
		break;
	case REPORT_MASK:
		i->mask = v[1];
		break;
	case REPORT_STRING:
		on_string(i, v);
		break;
	case REPORT_STRING_END:
		on_string_end(i, v);
		break;
	case REPORT_CALL:
		on_call(i, call_at(i, v[0]), v[1]);
		break;
	case REPORT_CALLED:
		on_called(i, v);
		break;
	case REPORT_STANDS:
		on_stands(i, v);
		break;
	case REPORT_RET:
		on_ret(i, v[1]);
		break;
	case REPORT_RESULT:
		i->rax = v[1];
		i->has_rax = true;
		break;
	case REPORT_ALLOC:
	case REPORT_RESIZE:
	case REPORT_ALIGN:
	case REPORT_FREE:
		i->block = (unsigned)(v[0] & REPORT_PC_MASK);
		if (i->ops->heap)
			i->ops->heap(i->ctx, i, kind, v[1], kind == REPORT_FREE ? 0 : v[2]);
		break;
	case REPORT_SYNC:
		if (i->ops->sync)
			i->ops->sync(i->ctx, i, (unsigned)(v[0] & REPORT_PC_MASK), v[1], v[2]);
		break;
	case REPORT_INSN:
		on_insn(i, v);
		break;
	case REPORT_WRITTEN:
		if (i->ops->written)
			i->ops->written(i->ctx, i, v[1], v[2]);
		break;
	case REPORT_READ:
		if (i->ops->read)
			i->ops->read(i->ctx, i, v[1], v[2], (v[0] & REPORT_PC_MASK) != 0);
		break;
	case REPORT_VALUES:
		if (i->ops->values)
			i->ops->values(i->ctx, i, v[1], v[2]);
		break;
	case REPORT_ARGS:
		if (i->ops->args)
			i->ops->args(i->ctx, i, v[0] & REPORT_PC_MASK, v + 1);
		break;
	case REPORT_VECTOR:
		on_vector(i, v);
		break;
	case REPORT_LOADED:
		on_loaded(i, v);
		break;
	case REPORT_EVENT:
	case REPORT_CHECKED:
	case REPORT_KIND_COUNT:
		break;
	}
}

/* Words from an entry to a later one, if those between are accesses, too. */
#define AHEAD 24
#define FAR_AHEAD 48

static inline bool is_access(uint64_t head)
{
	return head >> REPORT_KIND_SHIFT == REPORT_ACCESS || head >> REPORT_KIND_SHIFT == REPORT_PASS;
}

static void forget_code(struct instrument *i)
{
	if (i->ops->unmapped)
		i->ops->unmapped(i->ctx, i);
	table_fini(&i->insns);
	memset(i->quick, 0, INSTRUMENT_QUICK * sizeof(*i->quick));
	i->last = i->string = NULL;
	segcur_known_forget(&i->report.known);
}

/*
 * Forgets what is known of instructions if code has gone. The event before the copy's segment takes effect in the copy,
 * before its first entry, and the events on its way leave the code as it is.
 */
static int see_code(struct instrument *i, struct err *e)
{
	int gone = code_see(&i->code, i->t->pid, e);

	i->sees_code = false;
	if (gone > 0)
		forget_code(i);
	return gone < 0 ? -1 : 0;
}

static int entries(void *ctx, const uint64_t *v, size_t n, struct trace *t, struct err *e)
{
	struct instrument *i = ctx;

	i->t = t;
	i->accesses += i->report.accesses;
	i->report.accesses = 0;
	if (i->sees_code && t->alive && see_code(i, e))
		return -1;
	for (size_t k = 0; k < n && (!i->enough || i->again.on);) {
		unsigned kind = (unsigned)(v[k] >> REPORT_KIND_SHIFT);

		if (i->again.on && kind < REPORT_KIND_COUNT && k + words[kind] <= n) {
			questions_once_more(i, kind, v + k);
			k += words[kind];
			continue;
		}
		/* what stands there need not be the beginning of an entry */
		if (i->ops->soon && k + FAR_AHEAD + 2 <= n) {
			if (is_access(v[k + AHEAD]))
				i->ops->soon(i->ctx, v[k + AHEAD + 1], false);
			if (is_access(v[k + FAR_AHEAD]))
				i->ops->soon(i->ctx, v[k + FAR_AHEAD + 1], true);
		}
		if (is_access(v[k]) && k + words[kind] <= n && !i->between && on_quick(i, v + k, kind == REPORT_PASS)) {
			k += words[kind];
			continue;
		}
		if (kind >= REPORT_KIND_COUNT || k + words[kind] > n)
			return err_set(e, ERR_INTERNAL, "the copy %d has damaged its report", (int)t->pid);
		if (i->report.every && kind == REPORT_CALL && !i->insns_told)
			return err_set(e, ERR_USAGE,
				       "this recording was made by an older recorder: its instructions cannot be "
				       "examined; record again");
		i->insns_told |= kind == REPORT_INSN;
		if (kind == REPORT_EVENT ? on_event(i, v[k + 1], e) : i->between && segment(i, e))
			return -1;
		if (kind != REPORT_EVENT)
			one(i, kind, v + k);
		i->steps += questions_is_step(kind);
		k += words[kind];
	}
	if (i->again.on)
		return 0;
	i->enough |= i->report.most && i->accesses > i->report.most;
	return i->enough ? err_set(e, ERR_CANCELLED, "the consumer has enough") : 0;
}

static int begun(void *ctx, const struct segcur *in, struct trace *t, struct err *e)
{
	struct instrument *i = ctx;
	struct user_regs_struct r;

	if (i->ops->locals && trace_get_regs(t, &r, e))
		return -1;
	i->fs = i->ops->locals ? r.fs_base : 0;
	i->thread = in->seg.thread;
	i->visibility = in->visibility;
	i->stack = &i->stacks[in->seg.thread];
	i->string = NULL;
	i->again.on = false;
	i->again.from = i->event;
	i->questions = 0;
	i->none = 0;
	i->lost = i->report.lost;
	i->between = true;
	i->t = t;
	i->in = in;
	i->sees_code |= !i->code.now_there.n || !segcur_report_keeps_code(in->seg.t, i->event);
	return i->ops->begun ? i->ops->begun(i->ctx, i, t, e) : 0;
}

/* A call of the recorder has returned; sp: the address after its return address. */
static void returned(void *ctx, uint64_t sp)
{
	struct instrument *i = ctx;

	if (!i->again.on)
		pop(i->stack, sp - 8);
}

static void calls_back(void *ctx)
{
	struct instrument *i = ctx;
	struct instrument_stack *s = i->stack;

	if (i->again.on)
		return;
	if (s->n)
		s->v[s->n - 1].native = true;
	if (i->ops->calls_back)
		i->ops->calls_back(i->ctx, i);
}

static int shadow(void *ctx, struct trace *t, uint64_t at, struct err *e)
{
	struct instrument *i = ctx;

	return i->ops->shadow(i->ctx, i, t->pid, at, e);
}

static enum segcur_sort sort(void *ctx, uint64_t pc)
{
	struct instrument *i = ctx;
	struct instrument_insn *x = table_find(&i->insns, pc);

	return x ? i->ops->sort(i->ctx, i, x) : SEGCUR_UNDECIDED;
}

static bool cancelled(void *ctx)
{
	struct instrument *i = ctx;

	return op_cancelled(i->op);
}

static size_t again(void *ctx, uint64_t *pcs)
{
	return questions_again(ctx, pcs);
}

#define REPORT_OPS                                                                                                     \
	.begun = begun, .entries = entries, .returned = returned, .calls_back = calls_back, .cancelled = cancelled
static const struct segcur_report_ops report_ops = {REPORT_OPS},
				      filtered_ops = {REPORT_OPS, .shadow = shadow, .again = again},
				      sorted_ops = {REPORT_OPS, .sort = sort};

void instrument_init(struct instrument *i, const struct instrument_ops *ops, void *ctx)
{
	memset(i, 0, sizeof(*i));
	i->ops = ops;
	i->ctx = ctx;
	i->question = xcalloc(REPORT_ONLY_MAX, sizeof(*i->question));
	i->report = (struct segcur_report){.ops = ops->shadow ? &filtered_ops
						  : ops->sort ? &sorted_ops
							      : &report_ops,
					   .ctx = i,
					   .every = ops->insn != NULL,
					   .args = ops->args != NULL,
					   .loaded = ops->loaded != NULL};
	i->stacks = xcalloc(RLOG_MAX_THREADS, sizeof(*i->stacks));
	table_init(&i->insns, sizeof(struct instrument_insn));
	i->quick = xcalloc(INSTRUMENT_QUICK, sizeof(*i->quick));
}

void instrument_fini(struct instrument *i)
{
	if (!i->stacks)
		return;
	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++)
		free(i->stacks[k].v);
	free(i->stacks);
	free(i->quick);
	free(i->question);
	table_fini(&i->insns);
	code_fini(&i->code);
	segcur_known_fini(&i->report.known);
	shim_frames_fini(&i->shim_frames);
	memset(i, 0, sizeof(*i));
}

int instrument_run(struct instrument *i, struct nav *nav, uint64_t from, uint64_t to, struct err *e)
{
	uint64_t next, unseen;

	i->op = nav->ctx;
	for (i->event = from; from < to; from = next) {
		if (i->progress && i->op)
			op_progress(i->op, (double)from / (double)(nav_total(nav) + 1), i->progress);
		unseen = i->report.unseen;
		if (nav_goto(nav, from, e) || segcur_report_reach(&nav->t, from, to, &next, e) ||
		    (segcur_report_segments(&i->report, &nav->t, from, next, &i->shim_frames, e) && !i->enough))
			return -1;
		if (i->enough)
			return i->ops->ended ? i->ops->ended(i->ctx, i, e) : 0;
		/* the copy has not come to these, or it has ended at an interruption, which it does not report */
		if (i->report.unseen == unseen && i->event < next && nav->t.ctl->report_kinds > REPORT_EVENT)
			i->report.unseen += i->event + 1 < next || !timeline_is_interruption(nav->t.tl, next);
		/* events that the recorder did not report (an older one reports none) */
		while (i->event < next)
			if (on_event(i, i->event + 1, e))
				return -1;
	}
	return 0;
}
