/* SPDX-License-Identifier: MIT */
/*
 * chaos.c: see chaos.h. All draws come from the seed, and decisions are so many events apart, not so much time: the
 * same seed makes the same schedule, as long as the program gets the same input.
 *
 * A bug shows when one thread is held up at one place while others come as far as another (Burckhardt et al., "A
 * randomized scheduler with probabilistic guarantees of finding bugs": few such decisions are enough). Nobody knows
 * where, and for how long. So decisions lie from one to a thousand events apart, at a pace that is drawn anew now and then,
 * and a thread is held for one to some thousand events, or, if nobody else can run, for a while.
 */
#include "record/chaos.h"

#define EPOCH 32u /* decisions, on average, until the pace is drawn again */
#define PACES 8u /* at most 2^pace events between two decisions */
#define HOLDS 16u /* a thread is held for at most 2^this events */
#define SETTLE_TRIES 3000
#define SETTLE_FEW 20 /* after one that took so long */
#define SETTLE_NS 20000l
#define YIELDS 64u /* of a thread, on average, until one that is held may run */
#define IDLES 12u /* times that a thread is kept waiting although nobody runs */

static struct {
	uint64_t random;
	uint64_t events;
	uint32_t points; /* events until the next decision */
	uint32_t pace;
	uint32_t idles;
	int tired; /* a thread runs in a call for long, or was not made */
	uint64_t held[RLOG_MAX_THREADS]; /* until so many events; 0: not seen yet */
} chaos;

static uint32_t rnd(uint32_t below)
{
	chaos.random ^= chaos.random << 13;
	chaos.random ^= chaos.random >> 7;
	chaos.random ^= chaos.random << 17;
	return (uint32_t)((chaos.random >> 32) % below);
}

/* From 1 to 2^n - 1, small numbers as likely as large ones. */
static uint32_t any_size(uint32_t n)
{
	return 1 + rnd(1u << rnd(n));
}

static void hold(uint32_t ordinal)
{
	chaos.held[ordinal] = chaos.events + any_size(HOLDS);
}

void chaos_init(uint64_t seed)
{
	__builtin_memset(&chaos, 0, sizeof(chaos));
	chaos.random = (seed + 1) * 0x9e3779b97f4a7c15ull;
	if (!chaos.random)
		chaos.random = 1;
	for (int i = 0; i < 8; i++)
		rnd(2);
	chaos.pace = rnd(PACES);
	chaos.points = any_size(chaos.pace + 1);
}

int chaos_due(void)
{
	chaos.events++;
	if (--chaos.points)
		return 0;
	chaos.points = any_size(chaos.pace + 1);
	return 1;
}

/* Those that are not held come first. Some threads are held from their start on. */
static uint32_t sort_out(const uint32_t *waiting, uint32_t n, uint32_t *free)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *held = &chaos.held[waiting[i]];

		if (!*held) {
			*held = 1;
			if (rnd(4) == 0)
				hold(waiting[i]);
		}
		if (*held <= chaos.events)
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

uint32_t chaos_choose(uint32_t owner, const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (rnd(EPOCH) == 0)
		chaos.pace = rnd(PACES);
	if (!count)
		return n;
	if (rnd(2))
		hold(owner);
	return free[rnd(count)];
}

uint32_t chaos_yield(const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (count)
		return free[rnd(count)];
	/* who yields again and again may wait for one that is held */
	return rnd(YIELDS) ? n : first_over(waiting, n);
}

uint32_t chaos_next(const uint32_t *waiting, uint32_t n)
{
	uint32_t free[CHAOS_CHOICE], count = sort_out(waiting, n, free);

	if (count)
		return free[rnd(count)];
	if (chaos.idles < IDLES && rnd(2))
		return n;
	return first_over(waiting, n);
}

void chaos_spun(uint32_t owner)
{
	hold(owner);
}

void chaos_idled(void)
{
	chaos.idles++;
}

/* ---- who is on the way ---- */

static int sleeps(const struct thr *x)
{
	char path[64], *p = fmt_str(path, path + sizeof(path), "/proc/self/task/");

	p = fmt_dec(p, path + sizeof(path), (uint64_t)x->tid, 0);
	fmt_str(p, path + sizeof(path), "/stat");
	return read_task_state(path) != 'R';
}

static int all_settled(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		const struct thr *x = &G.thr[i];

		if (x == t || x->exited || __atomic_load_n(&x->gil, __ATOMIC_ACQUIRE))
			continue;
		if (x->tid && !sleeps(x))
			return 0;
	}
	return 1;
}

void chaos_settle(const struct thr *t)
{
	long pause[2] = {0, SETTLE_NS};

	for (int i = 0; !all_settled(t); i++) {
		if (i == (chaos.tired ? SETTLE_FEW : SETTLE_TRIES)) {
			chaos.tired = 1;
			return;
		}
		raw2(SYS_nanosleep, pause, 0);
	}
	chaos.tired = 0;
}

void chaos_await(const struct thr *c)
{
	long pause[2] = {0, SETTLE_NS};

	for (int i = 0; i < SETTLE_TRIES && !__atomic_load_n(&c->gil, __ATOMIC_ACQUIRE) && !c->exited; i++)
		raw2(SYS_nanosleep, pause, 0);
}
