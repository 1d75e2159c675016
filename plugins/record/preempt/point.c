/* SPDX-License-Identifier: MIT */
/* point.c: see point.h. Runs in a signal handler on top of the program's code. */
#include "record/preempt/point.h"
#include "record/core/maps.h"
#include "record/core/own_stack.h"
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/preempt/ignored.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <time.h>

#define RANGES 512
#define LINE 64u
#define LINES 256u
#define LINES_DIRECT 128u /* limit of the memory that registers and the stack point to */
#define LINES_HASH 1024u
#define REGIONS (LINES + 16)
#define STACK_BYTES 16384u
#define STACK_POINTERS 1024u /* bytes of the stack whose words may be pointers */
#define DATA_BYTES 8192u
#define PAGE 4096u
#define STACK_BLOCKS 64u /* limit for the stack after that; the same for the data after DATA_BYTES */
#define WORDS ((STACK_BYTES + RED_ZONE + DATA_BYTES + LINES * LINE) / 8 + 64)

struct range {
	uint64_t lo, hi;
	uint64_t inode;
};

struct look {
	struct range range[RANGES];
	uint32_t nranges, nregions, nwords, nlines;
	struct point_region region[REGIONS];
	uint64_t seen[LINES_HASH];
	struct point_block block[POINT_BLOCKS];
	uint32_t nblocks, nignored;
	struct ignored_range ignored[IGNORED_MAX];
	uint64_t alt_lo, alt_end; /* the alternate stack for handlers, with nothing of interest on it */
	uint64_t stack_lo,
		/* memory below the stack pointer is not used; from there up to here, everything is looked at */
		stack_end;
	struct {
		struct point head;
		uint8_t rest[REGIONS * sizeof(struct point_region) + WORDS * 8 +
			     POINT_BLOCKS * sizeof(struct point_block)];
	} out;
};
_Static_assert(sizeof(struct look) <= POINT_AREA_BYTES, "struct look");

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

void *point_area(const struct thr *t)
{
	static uint64_t mapped[RLOG_MAX_THREADS / 64];
	uint8_t *at = (uint8_t *)(SHIM_POINT_ADDR + (uint64_t)t->ordinal * POINT_AREA_BYTES);
	uint64_t bit = 1ull << (t->ordinal % 64);

	if (__atomic_fetch_or(&mapped[t->ordinal / 64], bit, __ATOMIC_RELAXED) & bit)
		return at;
	return raw_failed(raw_mmap(at, POINT_AREA_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0))
		       ? 0
		       : at;
}

int point_traced(void)
{
	static const char key[] = "TracerPid:\t";
	char text[2048], *p = text;
	long n = read_head("/proc/thread-self/status", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	while (*p && __builtin_memcmp(p, key, sizeof(key) - 1) != 0)
		p++;
	return !*p || p[sizeof(key) - 1] != '0';
}

void point_regs(const ucontext_t *uc, uint64_t *regs)
{
	for (unsigned i = 0; i < POINT_GREGS; i++)
		regs[i] = (uint64_t)uc->uc_mcontext.gregs[i];
	regs[REG_EFL] &= POINT_FLAGS;
	__builtin_memset(regs + POINT_GREGS, 0, 32 * sizeof(*regs));
	if (uc->uc_mcontext.fpregs)
		__builtin_memcpy(regs + POINT_GREGS, uc->uc_mcontext.fpregs->_xmm, 32 * sizeof(*regs));
}

/* ---- which memory is looked at ---- */

static int ours(uint64_t lo)
{
	return shim_owns(lo) || (lo >= ((uint64_t)__ehdr_start & ~4095ull) && lo < (uint64_t)_end);
}

/* Is it another thread's stack? What the recorder writes there, while that thread waits, is not the program's. */
static int others_stack(const struct map *m, uint64_t sp)
{
	int is_stack = shim_is_stack(m->lo) || __builtin_strncmp(m->path, "[stack]", 7) == 0;

	return is_stack && (sp < m->lo || sp >= m->hi);
}

struct ranges {
	struct look *look;
	uint64_t sp, phdr;
	uint64_t program; /* inode */
};

/* Private writable memory without a file, and the program's own data. */
static int add_range(const struct map *m, void *arg)
{
	struct ranges *r = arg;
	struct look *l = r->look;

	if (r->phdr >= m->lo && r->phdr < m->hi)
		r->program = m->inode;
	if (m->perms[0] != 'r' || m->perms[1] != 'w' || m->perms[3] != 'p' || ours(m->lo))
		return 0;
	if ((m->inode && m->inode != r->program) || others_stack(m, r->sp))
		return 0;
	l->range[l->nranges++] = (struct range){m->lo, m->hi, m->inode};
	return l->nranges == RANGES;
}

static const struct range *find_range(const struct look *l, uint64_t addr)
{
	uint32_t lo = 0, hi = l->nranges;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (addr >= l->range[mid].hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->nranges && addr >= l->range[lo].lo ? &l->range[lo] : 0;
}

/* Of [*lo, hi), the part before the first range: *lo becomes its start. Returns its end; 0: there is none. */
static uint64_t next_piece(const struct look *l, uint64_t *lo, uint64_t hi)
{
	for (uint32_t i = 0; i < l->nignored && l->ignored[i].lo < hi; i++) {
		if (l->ignored[i].lo > *lo)
			return l->ignored[i].lo;
		if (l->ignored[i].hi > *lo)
			*lo = l->ignored[i].hi;
	}
	return *lo < hi ? hi : 0;
}

static void add_region(struct look *l, uint64_t lo, uint64_t hi)
{
	uint64_t end;

	lo &= ~7ull;
	for (hi &= ~7ull; (end = next_piece(l, &lo, hi)); lo = end) {
		if (l->nregions == REGIONS || l->nwords + (end - lo) / 8 > WORDS)
			return;
		l->region[l->nregions++] = (struct point_region){lo, (end - lo) / 8};
		l->nwords += (uint32_t)((end - lo) / 8);
	}
}

/* Four words at a time, whose computations do not depend on each other. */
uint64_t point_hash(uint64_t addr, uint64_t bytes)
{
	const uint64_t prime = 0x9e3779b97f4a7c15ull;
	uint64_t h[4] = {1, 2, 3, 4}, n = bytes / 8, all = 0;
	const uint64_t *p = (const uint64_t *)addr;

	for (uint64_t i = 0; i < n; i++) {
		h[i % 4] = (h[i % 4] ^ p[i]) * prime;
		h[i % 4] ^= h[i % 4] >> 29;
	}
	for (unsigned i = 0; i < 4; i++)
		all = (all ^ h[i]) * prime ^ all >> 31;
	return all;
}

/* Finds the alternate stack, if the program does not run on it: what handlers have left there differs. */
static void find_alt_stack(struct look *l, const struct thr *t, uint64_t sp)
{
	l->alt_lo = (uint64_t)t->stack.alt.ss_sp;
	l->alt_end = l->alt_lo + t->stack.alt.ss_size;
	if (sp >= l->alt_lo && sp < l->alt_end)
		l->alt_lo = l->alt_end = 0;
}

static void add_block(struct look *l, uint64_t lo, uint64_t hi)
{
	uint64_t end;

	for (; l->nblocks < POINT_BLOCKS && (end = next_piece(l, &lo, hi)); lo = end)
		l->block[l->nblocks++] = (struct point_block){lo, end - lo, point_hash(lo, end - lo)};
}

/* Adds hashes of up to `limit` pages. */
static void add_blocks(struct look *l, uint64_t lo, uint64_t hi, uint32_t limit)
{
	for (uint32_t n = 0; lo + 8 <= hi && n < limit; n++) {
		uint64_t end =
			(lo & ~(uint64_t)(PAGE - 1)) + PAGE < hi ? (lo & ~(uint64_t)(PAGE - 1)) + PAGE : hi & ~7ull;

		if (lo >= l->alt_end || end <= l->alt_lo)
			add_block(l, lo, end);
		lo = end;
	}
}

static int has_block(const struct look *l, uint64_t addr)
{
	for (uint32_t i = 0; i < l->nblocks; i++)
		if (addr - l->block[i].addr < l->block[i].bytes)
			return 1;
	return 0;
}

/* Adds the pages of the regions that are neither stack nor data. */
static void add_pages(struct look *l, uint32_t first, const struct range *stack)
{
	uint64_t last = 0;

	for (uint32_t i = first; i < l->nregions; i++) {
		uint64_t page = l->region[i].addr & ~(uint64_t)(PAGE - 1);

		if (page == last || (page >= stack->lo && page < stack->hi) || has_block(l, page))
			continue;
		last = page;
		add_blocks(l, page, page + PAGE, 1);
	}
}

static void add_data(struct look *l, uint64_t program)
{
	uint64_t left = DATA_BYTES;

	for (uint32_t i = 0; i < l->nranges; i++) {
		const struct range *r = &l->range[i];
		int bss = i && !r->inode && r[-1].inode == program && r[-1].hi == r->lo;
		uint64_t n = r->hi - r->lo < left ? r->hi - r->lo : left;

		if (r->inode != program && !bss)
			continue;
		add_region(l, r->lo, r->lo + n);
		add_blocks(l, r->lo + n, r->hi, STACK_BLOCKS);
		left -= n;
	}
}

static int already(const struct look *l, uint64_t line)
{
	for (uint32_t i = 0; i < l->nregions && i < 8; i++)
		if (line >= l->region[i].addr && line < l->region[i].addr + l->region[i].words * 8)
			return 1;
	return 0;
}

/* Adds the cache line of a pointer, unless it is there already. */
static void add_line_at(struct look *l, uint64_t p, uint32_t limit)
{
	uint64_t line = p & ~(uint64_t)(LINE - 1);
	uint32_t h = (uint32_t)((line / LINE) * 0x9e3779b97f4a7c15ull >> 40) % LINES_HASH;

	if (p < 65536 || p >> 47 || l->nlines >= limit || !find_range(l, line))
		return;
	if (line >= l->stack_lo && line < l->stack_end)
		return;
	while (l->seen[h] && l->seen[h] != line)
		h = (h + 1) % LINES_HASH;
	if (l->seen[h] || already(l, line))
		return;
	l->seen[h] = line;
	l->nlines++;
	add_region(l, line, line + LINE);
}

static void add_object(struct look *l, uint64_t p, unsigned lines, uint32_t limit)
{
	for (unsigned i = 0; i < lines; i++)
		add_line_at(l, p + i * LINE, limit);
}

/*
 * Adds memory that the kernel may have written for calls of other threads: in a replay, it is written when these calls
 * return.
 */
static void add_flights(struct look *l)
{
	uint32_t n = __atomic_load_n(&G.next_thread, __ATOMIC_RELAXED);

	for (uint32_t i = 1; i < n && i < RLOG_MAX_THREADS; i++) {
		const struct thr *t = &G.thr[i];

		for (uint32_t k = 0; t != self && k < t->nflight; k++)
			ignored_insert(l->ignored, &l->nignored, (uint64_t)t->flight[k].p,
				       (uint64_t)t->flight[k].p + t->flight[k].n);
	}
}

static void choose_regions(struct look *l, const uint64_t *regs, int alone)
{
	struct ranges r = {l, regs[REG_RSP] - RED_ZONE, getauxval(AT_PHDR), ~0ull};
	uint64_t sp = r.sp, end;
	const struct range *stack;
	uint32_t first;

	l->nranges = l->nregions = l->nwords = l->nlines = l->nblocks = 0;
	l->out.head.stack_lo = l->out.head.stack_hi = 0;
	l->nignored = ignored_list(l->ignored);
	add_flights(l);
	__builtin_memset(l->seen, 0, sizeof(l->seen));
	maps_each(add_range, &r);
	stack = find_range(l, sp);
	if (!stack)
		return;
	find_alt_stack(l, self, regs[REG_RSP]);
	end = sp + STACK_BYTES < stack->hi ? sp + STACK_BYTES : stack->hi;
	add_region(l, sp, end);
	add_blocks(l, end, stack->hi, STACK_BLOCKS);
	l->out.head.stack_lo = sp;
	l->out.head.stack_hi = end;
	l->stack_lo = stack->lo;
	l->stack_end = end + STACK_BLOCKS * PAGE;
	if (!alone) /* other threads write to memory at the same time, in a replay in another order */
		return;
	add_data(l, r.program);
	first = l->nregions;
	for (unsigned i = 0; i < REG_RSP; i++)
		add_object(l, regs[i], 4, LINES_DIRECT);
	for (uint64_t a = sp & ~7ull; a + 8 <= end && a < sp + STACK_POINTERS; a += 8)
		add_object(l, *(const uint64_t *)a, 3, LINES_DIRECT);
	for (uint32_t i = first, n = l->nregions; i < n; i++)
		for (uint32_t k = 0; k < LINE; k += 8)
			add_object(l, *(const uint64_t *)(l->region[i].addr + k), 1, LINES);
	add_pages(l, first, stack);
}

const struct point *point_look(struct thr *t, const ucontext_t *uc, uint64_t *len)
{
	struct look *l = point_area(t);
	uint8_t *to;

	if (!l)
		return 0;
	point_regs(uc, l->out.head.reg);
	choose_regions(l, l->out.head.reg, G.serial || !G.mt);
	l->out.head.regions = l->nregions;
	l->out.head.words = l->nwords;
	l->out.head.blocks = l->nblocks;
	to = l->out.rest;
	__builtin_memcpy(to, l->region, l->nregions * sizeof(l->region[0]));
	to += l->nregions * sizeof(l->region[0]);
	for (uint32_t i = 0; i < l->nregions; i++) {
		__builtin_memcpy(to, (const void *)l->region[i].addr, l->region[i].words * 8);
		to += l->region[i].words * 8;
	}
	__builtin_memcpy(to, l->block, l->nblocks * sizeof(l->block[0]));
	to += l->nblocks * sizeof(l->block[0]);
	*len = (uint64_t)(to - (uint8_t *)&l->out);
	return &l->out.head;
}

int point_in_middle(const ucontext_t *uc)
{
	const uint8_t *pc = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	int rep = 0;

	for (;; pc++) {
		if (*pc == 0xf2 || *pc == 0xf3)
			rep = 1;
		else if (*pc != 0x66 && *pc != 0x67 && (*pc & 0xf0) != 0x40)
			break;
	}
	return rep && ((*pc >= 0xa4 && *pc <= 0xa7) || (*pc >= 0xaa && *pc <= 0xaf));
}

int point_breakpoint(uint64_t pc, uint64_t period)
{
	struct perf_event_attr a;

	__builtin_memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_BREAKPOINT;
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = pc;
	a.bp_len = sizeof(long);
	a.sample_period = period;
	a.exclude_kernel = 1;
	a.exclude_hv = 1;
	a.sigtrap = 1;
	a.remove_on_exec = 1;
	return (int)raw6(SYS_perf_event_open, (long)&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}
