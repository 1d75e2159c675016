/* SPDX-License-Identifier: MIT */
/*
 * chaos.c: see chaos.h. All random numbers come from the seed, and the distance between decisions is counted in events,
 * not in time: the same seed makes the same schedule, as long as the program gets the same input.
 *
 * A bug shows when one thread is held at one place until others have reached another place (Burckhardt et al., "A
 * randomized scheduler with probabilistic guarantees of finding bugs": few such decisions are enough). The place and
 * the time are not known. Four things make it likely to hit them:
 *
 *  - Most events are those of loops, most bugs are not. So a thread is held at the n-th event at a place (a caller and
 *    its callers) with a probability that falls with n^2: each place has its chance, however often others are passed.
 *    The same holds for a computation, at the n-th time that an instruction accesses memory.
 *  - Each run has parameters of its own, drawn once: how many such decisions there are, how often the turn changes
 *    besides, whether computations are interrupted, how often a thread may yield in vain.
 *  - In half of the runs threads are held where they access one variable, until another one comes to it (chaos_hot.c);
 *    in the others computations are stepped and interrupted (chaos_step.c).
 *  - A thread is held for one to some ten thousand events of others, small numbers as likely as large ones; so is a
 *    thread that sleeps: a program that relies on a sleep to be long enough fails in some runs. If all threads are
 *    held, the one whose hold ends first goes on; so does each when the others only poll.
 */
#include "record/sched/chaos.h"
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/core/util.h"

#include <elf.h>
#include <sys/auxv.h>

#define PLACES 8192u /* a power of two */
#define EPOCH 32u /* decisions, on average, until the pace is drawn again */
#define PACES 11u /* the turn changes after at most 2^pace events */
#define NEVER 14u /* hardly ever, but often enough that no thread starves */
#define HOLDS 14u /* a thread is held for at most 2^this events */
#define LONG (1u << 16) /* or 2^16 events: usually until no other thread can run */
#define PATIENCE 11u /* a thread may yield 2^this times in vain; then one that is held may run */
#define IDLES 6u /* how often a thread is kept waiting although none runs, and others wait for input */
#define SLEEP_NS 200000000ull /* total time for which threads may be kept waiting for others that sleep */
#define MANY 1000u
/* a place is passed this often, on average, before a thread is held there, if it is held in other ways as well */
#define RARE 64u
#define POLLS 256u /* after this many events without news, no thread is held: the others may only poll */
#define POLL_TURN 64u /* after this many events without news, another thread gets the turn */
/* a thread that spins again and again is held for up to 2^this events, which is not counted as news */
#define SPUN 4u
#define FRAMES_WORDS 128u /* of the recorder's own frames */
#define CALLERS_WORDS 64u
#define LIBRARY_WORDS 256u /* of a library's frames */
#define CALLERS 3u
#define PAGE 4096u
#define NEAR_CODE (16ull << 20)

static struct {
	uint64_t random;
	uint64_t text_lo, text_size; /* the program's */
	uint64_t events;
	/* `events` at the last news: a thread was held, or came to a place that had seldom been passed */
	uint64_t news;
	uint64_t sleep_ns; /* left */
	uint32_t points; /* events until the turn changes */
	uint32_t pace, cold, stops, watches; /* parameters of the run */
	uint32_t patience, yields;
	uint32_t idles;
	int holds; /* the next decision is to hold the owner */
	uint64_t frame[CALLERS]; /* return addresses at the last look, 0: no more */
	const uint64_t *above; /* the stack there; NULL: unknown */
	uint64_t held[RLOG_MAX_THREADS]; /* the value of `events` at which the thread's hold ends */
	uint16_t seen[PLACES], watched[PLACES], accessed[PLACES];
} chaos;

struct chaos_ops chaos_ops;

uint32_t chaos_random(uint32_t below)
{
	chaos.random ^= chaos.random << 13;
	chaos.random ^= chaos.random >> 7;
	chaos.random ^= chaos.random << 17;
	return (uint32_t)((chaos.random >> 32) % below);
}

int chaos_in_text(uint64_t pc)
{
	return pc - chaos.text_lo < chaos.text_size;
}

void chaos_let_go(uint32_t ordinal)
{
	chaos.held[ordinal] = 0;
}

/* Draws a number from 1 to 2^(n-1), small numbers as likely as large ones. */
static uint32_t any_size(uint32_t n)
{
	return 1 + chaos_random(1u << chaos_random(n));
}

static void hold_for(uint32_t ordinal, uint32_t events)
{
	chaos.held[ordinal] = chaos.events + events;
	chaos.news = chaos.events;
}

static void hold(uint32_t ordinal)
{
	hold_for(ordinal, chaos_random(3) ? any_size(HOLDS) : LONG);
}

static int is_held(uint32_t ordinal)
{
	return chaos.held[ordinal] > chaos.events && chaos.events - chaos.news < POLLS;
}

static void find_text(void)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	uint64_t n = getauxval(AT_PHNUM), bias;

	if (image_bias(p, n, &bias))
		return;
	for (uint64_t i = 0; i < n; i++) {
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X)) {
			chaos.text_lo = bias + p[i].p_vaddr;
			chaos.text_size = p[i].p_memsz;
		}
	}
}

void chaos_init(uint64_t seed)
{
	__builtin_memset(&chaos, 0, sizeof(chaos));
	find_text();
	chaos.random = (seed + 1) * 0x9e3779b97f4a7c15ull;
	if (!chaos.random)
		chaos.random = 1;
	for (int i = 0; i < 8; i++)
		chaos_random(2);
	chaos.pace = chaos_random(2) ? chaos_random(PACES) : NEVER;
	chaos.points = any_size(chaos.pace + 1);
	chaos.cold = 2u << chaos_random(3);
	chaos.stops = chaos_random(3) ? 2u << chaos_random(3) : 0;
	chaos.watches = 1u << chaos_random(4);
	chaos.patience = any_size(PATIENCE);
	chaos.sleep_ns = SLEEP_NS;
	if (chaos_ops.begin_hot(
		    chaos_random(2) ? chaos.text_lo
				    : 0)) { /* that, or steps: a thread that is stepped does not count breakpoints */
		chaos.stops = 0;
		if (!chaos_random(4))
			chaos.cold = RARE;
	}
}

/* Is pc near the caller, as far as can be told: both in the program's code, or both in a library's? */
static int is_near(uint64_t pc, uint64_t caller)
{
	if (chaos_in_text(caller))
		return chaos_in_text(pc);
	return pc - caller + NEAR_CODE < 2 * NEAR_CODE && pc - G.text_lo >= G.text_hi - G.text_lo;
}

/*
 * A hash of the return addresses above the call in progress: a word on the stack that is an address of code near the
 * caller is taken for one. 0: the caller was not found on the stack.
 */
static uint64_t callers(const struct thr *t)
{
	const uint64_t *sp = __builtin_frame_address(0);
	uint64_t key = 0;
	unsigned i = 0, found = 0;

	__builtin_memset(chaos.frame, 0, sizeof(chaos.frame));
	chaos.above = 0;
	if (own_stack_has(t, sp)) {
		sp = (const uint64_t *)own_stack_program_sp(t, sp) - 1;
	} else {
		while (i < FRAMES_WORDS && sp[i] != t->caller)
			i++;
		if (i == FRAMES_WORDS)
			return 0;
	}
	chaos.above = sp + i;
	for (sp += i, i = 1; i < CALLERS_WORDS && found < CALLERS; i++) {
		/* the stack may end here, or the program may have no stack */
		if ((i == 1 || (uint64_t)&sp[i] % PAGE < 8) && !sys_readable(&sp[i], 8))
			break;
		if (sp[i] != t->caller && is_near(sp[i], t->caller)) {
			key = (key + sp[i]) * 0xc2b2ae3d27d4eb4full;
			chaos.frame[found++] = sp[i];
		}
	}
	return key;
}

/* Counts how often this key was seen, from 1. */
static uint32_t times(uint16_t *seen, uint64_t key)
{
	seen += key * 0x9e3779b97f4a7c15ull >> 40 & (PLACES - 1);
	if (*seen < MANY)
		++*seen;
	return *seen;
}

/* True with probability 1/first the first time (n is 1), then 1/(3 first), 1/(6 first), 1/(10 first) ... */
static int one_in(uint32_t first, uint32_t n)
{
	return chaos_random(first * n * (n + 1) / 2) == 0;
}

/*
 * If the owner is at a place where it has not been before, reports its callers to the breakpoints. For a place in a
 * library, also the program's code that called the library, however deep the calls are.
 */
static void see(const struct thr *t)
{
	const uint64_t *sp = chaos.above;
	unsigned found = 0;

	chaos_ops.see(t->caller);
	for (unsigned i = 0; i < CALLERS; i++)
		chaos_ops.see(chaos.frame[i]);
	if (chaos_in_text(t->caller))
		return;
	for (unsigned i = 1; sp && i < LIBRARY_WORDS && found < CALLERS; i++) {
		if ((i == 1 || (uint64_t)&sp[i] % PAGE < 8) && !sys_readable(&sp[i], 8))
			break;
		if (chaos_in_text(sp[i])) {
			chaos_ops.see(sp[i]);
			found++;
		}
	}
}

/* How often has the thread been at this place? */
static uint32_t comes(const struct thr *t, int before)
{
	uint32_t n = times(chaos.seen, (t->caller * 2 + (uint64_t)before) ^ callers(t));

	if (n == 1)
		see(t);
	if (n < RARE)
		chaos.news = chaos.events;
	return n;
}

/*
 * Should another thread get the turn? The owner, or the threads that take turns, may be polling for something that a
 * held thread is to do.
 */
static int only_polls(void)
{
	uint64_t n = chaos.events - chaos.news;

	return n && n % POLL_TURN == 0;
}

int chaos_due(struct thr *t, int before)
{
	chaos.events++;
	chaos.holds = G.mt && one_in(chaos.cold, comes(t, before));
	chaos_ops.event(t);
	if (--chaos.points)
		return chaos.holds || only_polls();
	chaos.points = any_size(chaos.pace + 1);
	if (chaos.pace < NEVER && chaos_random(EPOCH) == 0)
		chaos.pace = chaos_random(PACES);
	return 1;
}

/* Moves the threads that are not held to *free; returns their number. */
static uint32_t sort_out(const uint32_t *waiting, uint32_t n, uint32_t *free)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_held(waiting[i]))
			free[count++] = i;
	}
	return count;
}

static uint32_t first_over(const uint32_t *waiting, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (chaos.held[waiting[i]] < chaos.held[waiting[best]])
			best = i;
	return best;
}

/* Will a sleeping thread be due within that many events? */
static int sleeper_before(uint64_t events)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].chaos.sleeps && chaos.held[i] < events)
			return 1;
	return 0;
}

/* All waiting threads are held: chooses the one whose hold ends first, or none, if a sleeper is due before that. */
static uint32_t first_of_all(uint32_t owner, const uint32_t *waiting, uint32_t n)
{
	uint32_t best = first_over(waiting, n), who = waiting[best];

	if (owner && chaos.held[owner] < chaos.held[who]) {
		best = CHAOS_STAY;
		who = owner;
	}
	return sleeper_before(chaos.held[who]) ? CHAOS_NOBODY : best;
}

uint32_t chaos_choose(uint32_t owner, const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (!count)
		return is_held(owner) ? first_of_all(owner, waiting, n) : CHAOS_STAY;
	if (chaos.holds)
		hold(owner);
	return free[chaos_random(count)];
}

uint32_t chaos_yield(const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (count)
		return free[chaos_random(count)];
	/* a thread that yields again and again may be waiting for one that is held */
	if (++chaos.yields < chaos.patience)
		return CHAOS_STAY;
	chaos.yields = 0;
	return first_over(waiting, n);
}

/* Does a thread wait in the kernel for something that no thread of the process provides? */
static int others_wait(void)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].blocking && !G.thr[i].internal)
			return 1;
	return 0;
}

uint32_t chaos_next(const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (count)
		return free[chaos_random(count)];
	if (chaos.idles < IDLES && others_wait() && chaos_random(2)) {
		chaos.idles++;
		return CHAOS_NOBODY;
	}
	return first_of_all(0, waiting, n);
}

uint32_t chaos_idled(const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	return count ? free[chaos_random(count)] : first_of_all(0, waiting, n);
}

void chaos_spun(uint32_t owner)
{
	if (chaos_ops.holds(owner)) {
		hold_for(owner, LONG);
	} else if (one_in(1, times(chaos.seen, ~(uint64_t)owner))) {
		hold(owner);
	} else {
		chaos.held[owner] = chaos.events + any_size(SPUN + 1);
	}
}

void chaos_sleeps(struct thr *t, uint64_t ns)
{
	if (ns > chaos.sleep_ns)
		return;
	chaos.sleep_ns -= ns;
	chaos.held[t->ordinal] = chaos.events + any_size(HOLDS);
	t->chaos.sleeps = 1;
}

int chaos_sleeper_due(const struct thr *t)
{
	return t->chaos.sleeps && chaos.held[t->ordinal] <= chaos.events;
}

int chaos_watches(const struct thr *t, uint64_t interrupted)
{
	uint32_t n, root = 0;

	if (!chaos.stops)
		return 0;
	n = times(chaos.watched, interrupted ? interrupted : t->caller ^ callers(t));
	while ((root + 1) * (root + 1) <= n)
		root++;
	return chaos_random(root) < chaos.watches;
}

int chaos_stops(uint64_t pc)
{
	return one_in(chaos.stops, times(chaos.accessed, pc));
}
