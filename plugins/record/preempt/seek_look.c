/* SPDX-License-Identifier: MIT */
/*
 * seek_look.c: how far is a thread from the place that a PREEMPT record describes? See seek.c. A word that moves evenly
 * in one direction is a clock: the time until it reaches its recorded value is a lower bound of the time to the place,
 * even if it changes direction before that; so the thread may safely run for the longest of these times.
 */
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/dbt/xlate.h"
#include "record/preempt/point.h"
#include "record/preempt/seek.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/uio.h>

#define CLOCK_RANGE (1ull << 56) /* a word that moves by more is no clock but data */
#define TLS_BYTES 4096u /* below and above the thread pointer */
#define KNOWN 1024u /* words, of all threads */
#define BIT(greg) (1u << (greg))
/* Of the registers, those that a function keeps for its caller: the recorder leaves nothing in them. */
#define KEPT (BIT(REG_RBX) | BIT(REG_RBP) | BIT(REG_RSP) | BIT(REG_R12) | BIT(REG_R13) | BIT(REG_R14) | BIT(REG_R15))
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

/* Does this step fit the pace so far? A slow clock may be up to a step early or late. */
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

/* The time until the clock reaches its recorded value, at least; 0: it is there, or beyond. */
static uint64_t clock_left(const struct clock *c, uint64_t now, uint64_t want)
{
	uint64_t d = distance(now, want);
	double pace;

	if (c->n < CLOCK_STEPS || c->last_ns == c->base_ns)
		return 0;
	if (((int64_t)(want - now) < 0) != (c->dir < 0) || d <= c->step)
		return 0;
	/* it may have gone slower because the processor was shared */
	pace = (double)distance(c->base, c->last) / (double)(c->last_ns - c->base_ns);
	return (uint64_t)((double)(d - c->step) / (c->fast > pace ? c->fast : pace));
}

/* ---- reading and comparing ---- */

static void read_words(struct seek *s, const uint64_t *regs)
{
	__builtin_memcpy(s->now, regs, POINT_REGS * sizeof(*regs));
	for (uint32_t i = POINT_REGS; i < s->words; i++)
		s->now[i] = *(const volatile uint64_t *)s->addr[i];
}

static struct point_region region_at(const struct seek *s, uint64_t i)
{
	struct point_region g;

	__builtin_memcpy(&g, s->regions + i * sizeof(g), sizeof(g));
	return g;
}

static int in_frames(const struct seek *s, uint32_t i)
{
	return s->addr[i] >= s->head.stack_lo && s->addr[i] < s->head.stack_hi;
}

/* Is it in the memory in which libc and the recorder keep data about a thread? */
static int in_thread(const struct seek *s, uint32_t i)
{
	return s->addr[i] - (s->tls - TLS_BYTES) < 2 * TLS_BYTES;
}

static int on_stack(const struct seek *s, uint32_t i)
{
	return i >= POINT_REGS && (in_frames(s, i) || in_thread(s, i));
}

/*
 * Is it a vector register that the recorder has cleared after a call, as in a serial recording? If the recording became
 * serial while this thread was at the end of its call, a replay clears it a little earlier or later.
 */
static int is_wiped(const struct seek *s, uint32_t i)
{
	return i >= POINT_GREGS && i < POINT_REGS && !s->want[i];
}

void seek_demand(struct seek *s, uint32_t i, unsigned must)
{
	if (must && is_wiped(s, i))
		return;
	if (s->soft && must && on_stack(s, i))
		return;
	if (must && !s->must[i])
		s->list[s->nmust++] = (uint16_t)i;
	s->must[i] |= (uint8_t)must;
}

/* Memory that the program has yet to allocate, without an event, cannot be read. */
static int readable(uint64_t addr)
{
	char c;
	struct iovec to = {&c, 1}, from = {(void *)addr, 1};

	return raw6(SYS_process_vm_readv, raw0(SYS_getpid), (long)&to, 1, (long)&from, 1, 0) == 1;
}

static struct point_block block_at(const struct seek *s, uint64_t i)
{
	struct point_block b;

	__builtin_memcpy(&b, s->blocks + i * sizeof(b), sizeof(b));
	return b;
}

/*
 * Words that cannot be read count as recorded until they can; they were 0 before. Returns how many regions are like
 * that.
 */
static uint32_t find_words(struct seek *s)
{
	uint32_t at = POINT_REGS, missing = 0;

	for (uint64_t i = 0; i < s->head.regions; i++) {
		struct point_region g = region_at(s, i);
		int good = readable(g.addr) && readable(g.addr + g.words * 8 - 1);

		for (uint64_t k = 0; k < g.words; k++, at++) {
			s->addr[at] = good ? g.addr + k * 8 : (uint64_t)&s->want[at];
			if (!good)
				s->base[at] = 0;
		}
		missing += !good;
	}
	return missing;
}

/* Where the program itself lies. */
static void find_image(struct seek *s)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	uint64_t n = getauxval(AT_PHNUM), bias, end = 0;

	s->image_lo = (uint64_t)p & ~4095ull;
	for (uint64_t i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
			end = p[i].p_vaddr + p[i].p_memsz;
	if (!image_bias(p, n, &bias))
		s->image_len = bias + end - s->image_lo;
}

void seek_start(struct seek *s)
{
	find_image(s);
	__asm__("mov %%fs:0, %0" : "=r"(s->tls));
	s->missing = find_words(s);
	for (uint32_t i = POINT_REGS; i < s->words; i++) {
		if (s->addr[i] != (uint64_t)&s->want[i])
			s->base[i] = *(const volatile uint64_t *)s->addr[i];
		clock_restart(&s->clock[i], s->base[i], 0);
	}
	for (uint32_t i = 0; i < s->head.blocks; i++) {
		s->order[i] = (uint16_t)i;
		s->missing += !readable(block_at(s, i).addr);
	}
}

void seek_look(struct seek *s, const uint64_t *regs, int clocks)
{
	read_words(s, regs);
	s->frozen = !clocks;
	for (uint32_t i = 0; i < s->words; i++) {
		struct clock *c = &s->clock[i];

		if (i == REG_RIP)
			continue;
		if (s->looks == 0 && i < POINT_REGS) {
			s->base[i] = s->now[i];
			clock_restart(c, s->now[i], s->ran_ns);
			continue;
		}
		seek_demand(s, i, seek_halves(s->now[i] ^ c->last));
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

/* A call of the recorder leaves the word alone if the stack pointer is not above its address. */
static enum xlate_until kept_until(const struct seek *s, uint32_t i)
{
	if (i < POINT_REGS)
		return i < POINT_GREGS && (KEPT & BIT(i)) ? XLATE_FOR_EVER : XLATE_CALL;
	if (in_frames(s, i))
		return XLATE_CALL_ABOVE;
	return in_thread(s, i) ? XLATE_CALL : XLATE_FOR_EVER;
}

static int is_kept(const struct seek *s, uint32_t i, uint64_t top)
{
	enum xlate_until until = kept_until(s, i);

	return until == XLATE_FOR_EVER || (until == XLATE_CALL_ABOVE && s->addr[i] >= top);
}

/*
 * Does only the program write there, so that it must be as recorded whether it has changed or not? That is its data and
 * heap; elsewhere are libc's threads, whose fields change while they start and end.
 */
static int is_programs(const struct seek *s, uint32_t i)
{
	uint64_t at = s->addr[i];

	if (i < POINT_REGS || on_stack(s, i))
		return 0;
	return (at >= SHIM_HEAP_MAIN_ADDR && at < SHIM_STACK_ADDR) || at - s->image_lo < s->image_len;
}

void seek_rebase(struct seek *s, const uint64_t *regs, uint64_t top)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->words; i++) {
		if (is_kept(s, i, top))
			continue;
		s->base[i] = seek_word(s, regs, i);
		s->clock[i].last = s->base[i];
		s->must[i] = 0;
	}
	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->must[s->list[k]])
			s->list[n++] = s->list[k];
	s->nmust = n;
}

static int block_differs(const struct seek *s, uint32_t i)
{
	struct point_block b = block_at(s, i);

	return (s->missing && !readable(b.addr)) || point_hash(b.addr, b.bytes) != b.hash;
}

static uint32_t blocks_differ(struct seek *s, uint32_t limit)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->head.blocks && n < limit; k++) {
		uint16_t i = s->order[k];

		if (!block_differs(s, i))
			continue;
		s->order[k] = s->order[n];
		s->order[n++] = i;
	}
	return n;
}

/*
 * Words that differed at a place, and still differ in the same way: they say nothing about the next place. There is no
 * lock: threads that search at the same time may forget a word, which then is a doubt again.
 */
static struct known {
	uint64_t addr, want, have;
} known[KNOWN];

static struct known *known_at(uint64_t addr)
{
	return &known[addr / 8 % KNOWN];
}

static int is_known(const struct seek *s, uint32_t i, uint64_t v)
{
	const struct known *k = known_at(s->addr[i]);

	return i >= POINT_REGS && k->addr == s->addr[i] && k->want == s->want[i] && k->have == v;
}

void seek_remember(const struct seek *s)
{
	for (uint32_t i = POINT_REGS; i < s->words; i++) {
		uint64_t v = seek_word(s, 0, i);

		if (v != s->want[i])
			*known_at(s->addr[i]) = (struct known){s->addr[i], s->want[i], v};
	}
}

uint32_t seek_doubts(struct seek *s, const uint64_t *regs, uint32_t limit)
{
	uint32_t n = 0;
	int wrong = 0;

	if (s->missing && find_words(s))
		return SEEK_WRONG;
	for (uint32_t i = 0; i < s->words; i++) {
		uint64_t v = seek_word(s, regs, i), no = v ^ s->want[i];
		unsigned changed = no ? seek_halves(no) & seek_halves(v ^ s->base[i]) : 0;

		if (i == REG_RIP || !no)
			continue;
		if (is_programs(s, i))
			changed = seek_halves(no);
		seek_demand(s, i, changed);
		wrong |= changed && !(s->soft && on_stack(s, i));
		n += !wrong && !is_known(s, i, v) && !xlate_was_back(v);
	}
	if (wrong)
		return SEEK_WRONG;
	return n < limit ? n + blocks_differ(s, limit - n) : n;
}

static int makes_filter(const struct seek *s, const uint64_t *regs, uint32_t i, struct xlate_filter *f)
{
	unsigned must = s->must[i];
	int is_reg = i < POINT_REGS;

	if (seek_same(s, i, seek_word(s, regs, i)) || (is_reg && (i >= XLATE_REGS || must == 2)))
		return 0;
	*f = (struct xlate_filter){.set = 1, .reg = is_reg ? xlate_reg[i] : XLATE_MEMORY, .half = must != 3};
	f->addr = must == 2 ? s->addr[i] + 4 : s->addr[i];
	f->value = must == 2 ? s->want[i] >> 32 : s->want[i] & seek_mask(must);
	f->until = kept_until(s, i);
	return 1;
}

void seek_filter(const struct seek *s, const uint64_t *regs, struct xlate_filter *f)
{
	struct xlate_filter other;

	if (regs[REG_RSP] != s->want[REG_RSP]) {
		*f = (struct xlate_filter){
			.set = 1, .reg = xlate_reg[REG_RSP], .value = s->want[REG_RSP], .until = XLATE_FOR_EVER};
		return;
	}
	for (uint32_t k = 0; k < s->nmust && f->until != XLATE_FOR_EVER; k++)
		if (makes_filter(s, regs, s->list[k], &other) && (!f->set || other.until > f->until))
			*f = other;
}

/* ---- how far it is ---- */

/* A clock that is not ahead is at most a step away. */
static uint64_t clock_step_ns(const struct clock *c)
{
	return c->n ? (uint64_t)((double)(c->last_ns - c->base_ns) * (double)c->step /
				 (double)distance(c->base, c->last))
		    : 0;
}

/*
 * The longest time that a clock gives. Data that looks like a clock for a while does not become an old one, so the
 * young ones are asked only when the old ones are at their last step, and only about that.
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

void seek_walk_look(struct seek *s, const uint64_t *regs, int all)
{
	uint64_t natives = xlate_natives(s->walk);

	if (natives != s->natives)
		seek_rebase(s, regs, xlate_native_top(s->walk));
	s->natives = natives;
	if (all)
		seek_look(s, regs, 0);
}
