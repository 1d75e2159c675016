/* SPDX-License-Identifier: MIT */
/*
 * seek_look.c: how far is a thread from the place that a PREEMPT record describes? See seek.c. A word that moves evenly
 * in one direction is a clock: the time until it reaches its recorded value is a lower bound of how far the place
 * still is, also when it turns round before that; so the longest of these times is safe to go by.
 */
#include "record/seek.h"

#define CLOCK_RANGE (1ull << 56) /* what moves on by more is no clock but data */
#define EVEN 2.5 /* how much faster or slower a clock may go between two looks */

/* ---- clocks ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t c = a % b;

		a = b;
		b = c;
	}
	return a;
}

static void clock_restart(struct clock *c, uint64_t v, uint64_t ns)
{
	c->base = c->last = v;
	c->base_ns = c->last_ns = ns;
	c->n = 0;
	c->step = 0;
	c->fast = 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return (int64_t)(b - a) < 0 ? a - b : b - a;
}

/* Does this step fit to the pace so far? A slow clock is up to a step early or late. */
static int fits(const struct clock *c, uint64_t d, uint64_t ns)
{
	double pace, expect, slack;

	if (distance(c->base, c->last) + d >= CLOCK_RANGE)
		return 0;
	if (c->last_ns == c->base_ns)
		return 1;
	pace = (double)distance(c->base, c->last) / (double)(c->last_ns - c->base_ns);
	expect = pace * (double)(ns - c->last_ns);
	slack = 2.0 * (double)c->step + pace * STOP_NS;
	return (double)d < EVEN * expect + slack && (double)d > expect / EVEN - slack;
}

static void clock_look(struct clock *c, uint64_t v, uint64_t ns)
{
	uint64_t d = distance(c->last, v);
	int dir = (int64_t)(v - c->last) < 0 ? -1 : 1;

	if (!d)
		return;
	if (c->n && (dir != c->dir || !fits(c, d, ns))) {
		clock_restart(c, v, ns);
		return;
	}
	if (ns > c->last_ns + 4 * STOP_NS && (double)d / (double)(ns - c->last_ns) > c->fast)
		c->fast = (double)d / (double)(ns - c->last_ns);
	c->dir = dir;
	c->n++;
	c->step = gcd(d, c->step);
	c->last = v;
	c->last_ns = ns;
}

/* At least so long until it reaches its recorded value; 0: it is there, or beyond. */
static uint64_t clock_left(const struct clock *c, uint64_t now, uint64_t want)
{
	uint64_t d = distance(now, want);
	double pace;

	if (c->n < CLOCK_STEPS || c->last_ns == c->base_ns)
		return 0;
	if (((int64_t)(want - now) < 0) != (c->dir < 0) || d <= c->step)
		return 0;
	/* the CPU may have been shared with others when it went slower */
	pace = (double)distance(c->base, c->last) / (double)(c->last_ns - c->base_ns);
	return (uint64_t)((double)(d - c->step) / (c->fast > pace ? c->fast : pace));
}

/* ---- looking ---- */

static void read_words(struct seek *s, const uint64_t *regs)
{
	__builtin_memcpy(s->now, regs, POINT_REGS * sizeof(*regs));
	for (uint32_t i = POINT_REGS; i < s->words; i++)
		s->now[i] = *(const volatile uint64_t *)s->addr[i];
}

void seek_demand(struct seek *s, uint32_t i, unsigned must)
{
	if (must && !s->must[i])
		s->list[s->nmust++] = (uint16_t)i;
	s->must[i] |= (uint8_t)must;
}

static unsigned halves(uint64_t changed)
{
	return (changed & 0xffffffffu ? 1 : 0) | (changed >> 32 ? 2 : 0);
}

void seek_look(struct seek *s, const uint64_t *regs, int clocks)
{
	read_words(s, regs);
	s->frozen = !clocks;
	for (uint32_t i = 0; i < s->words; i++) {
		struct clock *c = &s->clock[i];

		if (i == REG_RIP)
			continue;
		if (s->looks == 0) {
			clock_restart(c, s->now[i], s->ran_ns);
			continue;
		}
		seek_demand(s, i, halves(s->now[i] ^ c->last));
		if (clocks)
			clock_look(c, s->now[i], s->ran_ns);
	}
	s->looks++;
}

int seek_matches(struct seek *s, const uint64_t *regs)
{
	if (regs[REG_RIP] != s->want[REG_RIP] || regs[REG_RSP] != s->want[REG_RSP])
		return 0;
	for (uint32_t k = 0; k < s->nmust; k++) {
		uint16_t i = s->list[k];

		if (seek_same(s, i, seek_word(s, regs, i)))
			continue;
		s->list[k] = s->list[0];
		s->list[0] = i;
		return 0;
	}
	return 1;
}

/* ---- how far ---- */

/* A clock that is not ahead is a step away at most. */
static uint64_t clock_step_ns(const struct clock *c)
{
	return c->n ? (uint64_t)((double)(c->last_ns - c->base_ns) * (double)c->step /
				 (double)distance(c->base, c->last))
		    : 0;
}

/*
 * The longest time that a clock says. Data that looks like a clock for a while makes no old one, so the young
 * ones are asked only when the old ones have come to their last step, and only about that.
 */
uint64_t seek_left(const struct seek *s)
{
	uint64_t old = 0, young = 0, step = UINT64_MAX, limit = s->head.run_ns * 16 + 1000000;
	int here = s->now[REG_RIP] == s->want[REG_RIP];
	uint32_t oldest = 0;

	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->clock[s->list[k]].n > oldest)
			oldest = s->clock[s->list[k]].n;
	for (uint32_t k = 0; k < s->nmust; k++) {
		uint32_t i = s->list[k];
		const struct clock *c = &s->clock[i];
		uint64_t ns = clock_left(c, s->now[i], s->want[i]);

		/* a register may be used for something else a few instructions later */
		if (c->n < CLOCK_STEPS || ns > limit || (i < POINT_REGS && s->frozen && !here))
			continue;
		if (c->n < oldest / 4 * 3) {
			young = ns > young ? ns : young;
			continue;
		}
		old = ns > old ? ns : old;
		if (clock_step_ns(c) < step)
			step = clock_step_ns(c);
	}
	if (old)
		return old;
	return young < step ? young : step;
}

int seek_has_clock(const struct seek *s)
{
	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->clock[s->list[k]].n >= CLOCK_STEPS + 2)
			return 1;
	return 0;
}
