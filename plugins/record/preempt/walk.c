/* SPDX-License-Identifier: MIT */
/*
 * walk.c: see rlog/walk.h and walk.h. This runs in copies, off the timeline: no event is made and no lock is taken. An
 * int3 tells the tracer that the walk has ended; the thread then has all of the program's registers.
 */
#include "record/preempt/walk.h"
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "rlog/walk.h"

#include <string.h>

_Static_assert(REPLAY_WALK_REGS == POINT_GREGS && REPLAY_WALK_MAPS == XLATE_MAPS && REPLAY_WALK_WATCHES == XLATE_WORDS,
	       "what rlog/walk.h says of others");

extern const uint8_t walk_end[] __attribute__((visibility("hidden")));

__asm__(".text\n.globl walk_enter\n.hidden walk_enter\n.type walk_enter, @function\nwalk_enter:\n"
	"	call walk_begin\n"
	".hidden walk_end\nwalk_end:\n	int3\n"
	".size walk_enter, .-walk_enter\n");

struct walking {
	struct replay_walk *w;
	struct xlate *x;
	struct xlate_word word[XLATE_WORDS];
	struct xlate_count count;
};

_Static_assert(sizeof(struct walking) < REPLAY_WALK_STACK / 16, "it leaves room for the stack");

static void tell_maps(const struct walking *k)
{
	struct replay_walk *w = k->w;
	struct xlate_map m[XLATE_MAPS];

	w->maps = xlate_maps(k->x, m);
	for (unsigned i = 0; i < w->maps; i++) {
		w->map[i].addr = m[i].addr;
		w->map[i].len = m[i].len;
	}
}

/* Writes the answer; the thread then goes to walk_end. */
static void tell(const struct walking *k, enum replay_walk_state state, uint64_t at)
{
	struct replay_walk *w = k->w;

	tell_maps(k);
	w->arrivals = *xlate_arrivals(k->x);
	w->goals = xlate_hits(k->x);
	w->changed = (uint64_t)xlate_has_changed(k->x);
	w->counted = 1;
	w->branches = *xlate_branches(k->x);
	w->at = at;
	w->again = state == REPLAY_WALK_LEFT ? 0 : xlate_again(k->x);
	w->state = state;
}

static void stop(void *arg, uint64_t pc, uint64_t next)
{
	(void)next;
	shim_tell_taken();
	tell(arg, REPLAY_WALK_LEFT, pc);
}

static void arrived(void *arg, uint64_t pc)
{
	struct walking *k = arg;

	k->w->changed_now = 0;
	tell(k, REPLAY_WALK_NTH, pc);
}

static void full(void *arg, uint64_t pc)
{
	shim_tell_taken();
	tell(arg, REPLAY_WALK_FULL, pc);
}

static uint64_t value_of(const struct xlate_word *w)
{
	uint64_t v = 0;

	memcpy(&v, (const void *)w->addr, w->len);
	return v;
}

static int changed(void *arg, uint64_t from, uint64_t pc, int nth)
{
	struct walking *k = arg;
	struct replay_walk *w = k->w;
	struct replay_walk_change *log = &w->log[++w->changes % REPLAY_WALK_LOG];

	log->number = w->changes;
	log->from = from;
	log->places = xlate_at_places(k->x);
	for (unsigned i = 0; i < w->watches; i++) {
		log->was[i] = w->watch[i].value;
		w->watch[i].value = log->now[i] = value_of(&k->word[i]);
	}
	if (!nth && w->changes != w->nth_change)
		return 0;
	w->from = from;
	w->changed_now = 1;
	tell(k, REPLAY_WALK_NTH, pc);
	return 1;
}

/* A register or word that is not as wanted becomes the filter. 0: all are as wanted. */
static int differs(const struct replay_walk *w, const uint64_t *regs, struct xlate_filter *f)
{
	for (int i = XLATE_REGS - 1; i >= 0; i--)
		if (regs[i] != w->reg[i]) {
			*f = (struct xlate_filter){.set = 1, .reg = xlate_reg[i], .value = w->reg[i]};
			return 1;
		}
	for (uint32_t i = 0; i < w->words; i++)
		if (*(const volatile uint64_t *)w->word[i].addr != w->word[i].value) {
			*f = (struct xlate_filter){
				.set = 1, .reg = XLATE_MEMORY, .addr = w->word[i].addr, .value = w->word[i].value};
			return 1;
		}
	return ((regs[REG_EFL] ^ w->reg[REG_EFL]) & POINT_FLAGS) != 0;
}

static enum xlate_go hit(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *f)
{
	struct walking *k = arg;

	(void)hits;
	if (differs(k->w, regs, f))
		return XLATE_ON;
	tell(k, REPLAY_WALK_GOAL, k->w->goal);
	return XLATE_LEAVE;
}

/* Several threads may walk: the state of each walk is behind its struct replay_walk, at the low end of its stack. */
static struct walking *walking_of(struct replay_walk *w)
{
	return (struct walking *)(w + 1);
}

/* The place to start at; 0: none. */
static void enter(struct walking *k, struct replay_walk *w)
{
	w->start = xlate_enter(k->x, w->pc);
	if (w->start)
		tell_maps(k);
	shim_tell_back = xlate_back(k->x);
	w->back = (uint64_t)shim_tell_back;
	w->native_at = (uint64_t)xlate_native(k->x);
}

__attribute__((used)) static void walk_begin(struct replay_walk *w)
{
	static const struct xlate_ops ops = {
		.hit = hit, .stop = stop, .arrived = arrived, .changed = changed, .full = full};
	struct walking *k = walking_of(w);
	const uint32_t *nmarks;

	w->end = (uint64_t)walk_end;
	w->start = 0;
	w->can_resume = 1;
	if (w->resume) {
		enter(k, w);
		return;
	}
	k->count = (struct xlate_count){
		.at = w->place,
		.n = w->places,
		.lo = w->range_lo,
		.hi = w->range_hi,
		.sp = w->range_sp,
		.nth = w->nth,
		.word = k->word,
		.words = (unsigned)w->watches,
		.branches = w->count_branches != 0,
		.nth_branch = w->nth_branch,
		.report = (struct replay_report *)w->report,
	};
	k->w = w;
	w->can_watch = 1;
	w->changes = 0;
	for (unsigned i = 0; i < w->watches; i++) {
		k->word[i] = (struct xlate_word){w->watch[i].addr, w->watch[i].len};
		w->watch[i].value = value_of(&k->word[i]);
	}
	k->x = xlate_new(w->goal, w->report ? REPLAY_XLATE_ADDR : 0, &ops, k);
	if (!k->x)
		return;
	for (uint64_t i = 0; i < w->codes && i < REPLAY_WALK_CODES; i++)
		xlate_add_writable(k->x, w->code[i].lo, w->code[i].hi);
	xlate_count(k->x, &k->count, (uint64_t)walk_end);
	w->count_at = (uint64_t)xlate_arrivals(k->x);
	w->branches_at = (uint64_t)xlate_branches(k->x);
	w->minus_at = (uint64_t)xlate_minus(k->x);
	w->marks_at = (uint64_t)xlate_marks(k->x, &nmarks);
	w->nmarks_at = (uint64_t)nmarks;
	enter(k, w);
	if (!w->start)
		xlate_free(k->x);
}
