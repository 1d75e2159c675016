/* SPDX-License-Identifier: MIT */
/*
 * xlate.c: see xlate.h.
 *
 * A block is copied up to its first branch. The target of a branch is translated when the branch is first taken. Until
 * then there is an exit in its place, which loads its own number and jumps to a thunk that saves all registers and
 * calls leave().
 *
 * Calls into the recorder are not translated. They get another return address: a stub in front of the call saves the
 * original one, and after the call `back` continues there.
 *
 * Code that the program may replace while it runs is compared with the original each time (xlate_fresh.c).
 */
#include "record/dbt/xlate.h"
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate_emit.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <string.h>

#define CACHE_BYTES (8u << 20)
#define ROOM 32768 /* a block takes at most this many bytes */
#define NEAR (1ull << 30)
/* below 2 GiB: operands relative to RIP still reach their targets, if they lie near the code */
#define FAR 0x78000000ull
#define PROBE (16ull << 20)
#define FIRST_HITS 64 /* without a filter: to see what changes */
#define PASSES 64
#define XSAVE_XMM 160
#define XSAVE_BYTES 8192
#define STACK_BYTES 65536
#define FLAG_TRACE 0x100
#define SITES_BLOCK (3 * BLOCK_INSNS) /* no block has more than this */
_Static_assert(CACHES + 1 == XLATE_MAPS, "what xlate_maps tells of");

const uint8_t xlate_reg[XLATE_REGS] = {8, 9, 10, 11, 12, 13, 14, 15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP};
_Static_assert(REG_R8 == 0 && REG_RDI == 8 && REG_RSP == 15, "the order of gregs[]");

extern const uint8_t xlate_thunk[] __attribute__((visibility("hidden")));

__asm__(".text\n.hidden xlate_thunk\n.type xlate_thunk, @function\nxlate_thunk:\n"
	"	mov %rax, %gs:0\n	mov %rcx, %gs:8\n	mov %rdx, %gs:16\n	mov %rbx, %gs:24\n"
	"	mov %rsp, %gs:32\n	mov %rbp, %gs:40\n	mov %rsi, %gs:48\n	mov %rdi, %gs:56\n"
	"	mov %r8, %gs:64\n	mov %r9, %gs:72\n	mov %r10, %gs:80\n	mov %r11, %gs:88\n"
	"	mov %r12, %gs:96\n	mov %r13, %gs:104\n	mov %r14, %gs:112\n	mov %r15, %gs:120\n"
	"	mov %gs:144, %rsp\n	pushfq\n	pop %rax\n	mov %rax, %gs:128\n	cld\n"
	"	mov %gs:152, %rbx\n	mov $0xe7, %eax\n	xor %edx, %edx\n	xsave64 (%rbx)\n"
	"	mov %gs:160, %rdi\n	call *%gs:168\n"
	"	mov $0xe7, %eax\n	xor %edx, %edx\n	xrstor64 (%rbx)\n"
	"	mov %gs:128, %rax\n	push %rax\n	popfq\n"
	"	mov %gs:0, %rax\n	mov %gs:8, %rcx\n	mov %gs:16, %rdx\n	mov %gs:24, %rbx\n"
	"	mov %gs:40, %rbp\n	mov %gs:48, %rsi\n	mov %gs:56, %rdi\n"
	"	mov %gs:64, %r8\n	mov %gs:72, %r9\n	mov %gs:80, %r10\n	mov %gs:88, %r11\n"
	"	mov %gs:96, %r12\n	mov %gs:104, %r13\n	mov %gs:112, %r14\n	mov %gs:120, %r15\n"
	"	mov %gs:32, %rsp\n	jmp *%gs:136\n"
	".size xlate_thunk, .-xlate_thunk\n");

/* ---- what is translated already ---- */

/*
 * Blocks that are near each other in the program are near in the table, too, since each page of it that is touched
 * costs a page fault. If other code, whose addresses have the same low bits, has taken NEAR_SLOTS places there, a hash
 * of all bits of the address gives another place.
 */
#define NEAR_SLOTS 16u
static uint8_t **slot_of(struct xlate *x, uint64_t pc)
{
	uint32_t h = (uint32_t)(pc >> 2) % BLOCKS;

	for (unsigned n = 1; x->block[h].pc && x->block[h].pc != pc; n++)
		h = n == NEAR_SLOTS ? (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 40) % BLOCKS : (h + 1) % BLOCKS;
	x->block[h].pc = pc;
	return &x->block[h].code;
}

static void put_go(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *at = c->cur, *known = *slot_of(x, pc);

	emit_exit(x, c, SITE_GO, pc);
	if (known)
		emit_jump_at(at, (uint64_t)known);
}

static struct cache *cache_within(struct xlate *x, uint64_t pc, uint64_t reach)
{
	struct cache *c;

	for (unsigned i = 0; i < x->ncaches; i++) {
		c = &x->cache[i];
		if (pc - (uint64_t)c->base + reach < 2 * reach && c->end - c->cur > ROOM)
			return c;
	}
	for (uint64_t d = PROBE; d < reach && x->ncaches < CACHES; d += PROBE) {
		for (int up = 1; up >= 0; up--) {
			uint64_t at = ((up ? pc + d : pc - d) & ~4095ull);
			uint8_t *m;

			if (!up && d + CACHE_BYTES >= pc)
				continue;
			m = raw_mmap((void *)at, CACHE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
			if (raw_failed(m))
				continue;
			c = &x->cache[x->ncaches++];
			*c = (struct cache){m, m, m + CACHE_BYTES};
			return c;
		}
	}
	return 0;
}

/*
 * The cache from which code reaches what the original reaches relative to its own address. NULL: there is no room.
 * Run-time compilers may have reserved all memory within a GiB of their code.
 */
static struct cache *cache_near(struct xlate *x, uint64_t pc)
{
	struct cache *c = cache_within(x, pc, NEAR);

	return c ? c : cache_within(x, pc, FAR);
}

/* ---- translating ---- */

static void conditional(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	emit_condition(c, p, i);
	put_go(x, c, (uint64_t)p + i->len);
	put_go(x, c, i->target);
}

/* 1: the block goes on after this instruction. */
static int one(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	switch (i->kind) {
	case INSN_PLAIN:
		emit_plain(x, c, p, i);
		emit_report_after(x, c, p, i);
		if (insn_may_write(p, i))
			emit_words(x, c, (uint64_t)p, (uint64_t)p + i->len);
		return 1;
	case INSN_JCC:
	case INSN_LOOP:
		conditional(x, c, p, i);
		break;
	case INSN_CALL:
		emit_return_address(c, (uint64_t)p + i->len);
		emit_words(x, c, (uint64_t)p, i->target);
		put_go(x, c, i->target);
		break;
	case INSN_JMP:
		put_go(x, c, i->target);
		break;
	case INSN_RET:
		emit_ret(x, c, i);
		break;
	case INSN_JMP_BY:
	case INSN_CALL_BY:
		emit_by(x, c, p, i);
		break;
	case INSN_STOP:
		emit_exit(x, c, SITE_STOP, (uint64_t)p);
		break;
	}
	return 0;
}

static int is_recorder(uint64_t pc)
{
	return pc >= G.text_lo && pc < G.text_hi;
}

/* Up to the first branch, at most FRESH_INSNS instructions. */
static uint64_t bytes_of_block(uint64_t pc)
{
	uint64_t to = pc;
	struct insn i = {.kind = INSN_PLAIN};

	for (unsigned n = 0; n < FRESH_INSNS && i.kind == INSN_PLAIN; n++) {
		insn_decode((const uint8_t *)to, &i);
		to += i.len;
	}
	return to - pc;
}

static void put_block(struct xlate *x, struct cache *c, uint64_t pc)
{
	unsigned most = xlate_is_writable(x, pc) ? FRESH_INSNS : BLOCK_INSNS;
	const uint8_t *p = (const uint8_t *)pc;
	enum emit_noted noted = EMIT_ANYWHERE;
	struct insn i;

	if (most == FRESH_INSNS)
		emit_fresh(x, c, pc, bytes_of_block(pc));
	x->at = 0;
	xlate_find_flags(x, pc, most);
	emit_report_room(x, c, pc);
	for (unsigned n = 0;; n++) {
		x->at = n;
		if (n == most) { /* what is counted at p is counted there */
			put_go(x, c, (uint64_t)p);
			break;
		}
		insn_decode(p, &i);
		emit_arrivals(x, c, (uint64_t)p, &i, &noted);
		if ((uint64_t)p == x->place) {
			emit_exit(x, c, SITE_PLACE, (uint64_t)p);
			x->sites[x->nsites - 1].code = c->cur;
		}
		emit_report(x, c, p, &i);
		emit_mark(x, c, p);
		if (!one(x, c, p, &i))
			break;
		p += i.len;
	}
	emit_report_cold(x, c);
}

static int has_room(const struct xlate *x)
{
	return x->nsites + SITES_BLOCK < SITES && x->nmarks + BLOCK_INSNS < MARKS;
}

/* Returns the translated block. NULL: it cannot be translated. */
static uint8_t *translate(struct xlate *x, uint64_t pc)
{
	struct cache *c = has_room(x) && xlate_may_execute(x, pc) ? cache_near(x, pc) : 0;
	uint8_t *start;

	if (!c)
		return 0;
	emit_known_stubs(x, c);
	start = c->cur;
	*slot_of(x, pc) = start;
	x->failed = 0;
	if (is_recorder(pc)) {
		emit_report_native(x, c, pc);
		emit_native(x, c, pc);
	} else {
		put_block(x, c, pc);
	}
	if (!x->failed)
		return start;
	*slot_of(x, pc) = 0;
	return 0;
}

static uint64_t code_for(struct xlate *x, uint64_t pc)
{
	uint8_t *code = *slot_of(x, pc);

	return (uint64_t)(code ? code : translate(x, pc));
}

/* ---- leaving the translated code ---- */

static void describe(const struct xlate *x, uint64_t pc, uint64_t *regs)
{
	for (unsigned i = 0; i < XLATE_REGS; i++)
		regs[i] = x->reg[xlate_reg[i]];
	regs[REG_RIP] = pc;
	regs[REG_EFL] = x->flags & POINT_FLAGS;
	memcpy(regs + POINT_GREGS, (const uint8_t *)x->xsave + XSAVE_XMM, 32 * sizeof(*regs));
}

static void at_place(struct xlate *x, const struct site *s)
{
	struct xlate_filter f = {0};
	uint64_t regs[POINT_REGS];
	struct cache *c;
	enum xlate_go go;

	if (s->kind == SITE_PLACE)
		x->hits++;
	describe(x, s->pc, regs);
	go = x->ops->hit(x->arg, regs, x->hits, &f);
	if (go != XLATE_ON) {
		x->target = x->out ? x->out : s->pc;
		x->flags |= go == XLATE_STEP ? FLAG_TRACE : 0;
		return;
	}
	x->target = (uint64_t)s->code;
	if (!f.set || (s->kind == SITE_PLACE && x->hits < FIRST_HITS))
		return;
	if (s->kind == SITE_PASSED && ++x->passed < x->passes)
		return;
	if (s->kind == SITE_PASSED) {
		x->passed = 0;
		x->passes += PASSES;
	}
	c = has_room(x) ? cache_near(x, (uint64_t)s->code) : 0;
	if (c)
		emit_filter(x, c, s, &f);
}

static void stop(struct xlate *x, uint64_t pc, uint64_t next)
{
	x->target = x->out ? x->out : pc;
	x->ops->stop(x->arg, pc, next);
}

static int is_counted(const struct xlate *x, uint64_t pc)
{
	for (unsigned i = 0; i < x->count->n; i++)
		if (x->count->at[i] == pc)
			return 1;
	return 0;
}

/* Where pc itself is an arrival, both are the same arrival. */
static void change(struct xlate *x, const struct site *s, uint64_t pc)
{
	int nth = x->nth && x->arrivals + 1 == x->nth;

	if (nth || !is_counted(x, pc)) {
		x->arrivals++;
		x->changes++;
	}
	if (pc == x->place)
		x->changed_hit = x->hits + 1;
	nth |= x->ops->changed(x->arg, s->from, pc, nth);
	xlate_see_words(x);
	x->target = !nth ? (uint64_t)s->code : x->out ? x->out : pc;
}

/* The block at s is no longer what is at its address. Other blocks jump to it, so it becomes a jump to the new one. */
static void renew(struct xlate *x, const struct site *s)
{
	uint8_t **known = slot_of(x, s->pc);
	uint64_t code;

	if (*known == s->code)
		*known = 0;
	code = code_for(x, s->pc);
	if (!code) {
		stop(x, s->pc, 0);
		return;
	}
	emit_jump_at(s->code, code);
	x->target = code;
}

static uint64_t next_pc(uint64_t pc)
{
	struct insn i;

	insn_decode((const uint8_t *)pc, &i);
	return pc + i.len;
}

__attribute__((used)) static void leave(struct xlate *x)
{
	struct site s = x->sites[x->site];
	uint64_t pc = s.kind == SITE_BY || s.kind == SITE_RET || (s.kind == SITE_CHANGED && !s.pc) ? x->by : s.pc, code;

	x->again = (uint64_t)s.code;
	if (s.kind == SITE_ARRIVED) {
		x->target = x->out ? x->out : pc;
		x->ops->arrived(x->arg, pc);
		return;
	}
	if (s.kind == SITE_STALE) {
		renew(x, &s);
		return;
	}
	if (s.kind == SITE_FULL) {
		x->target = x->out ? x->out : pc;
		x->ops->full(x->arg, pc);
		return;
	}
	if (s.kind == SITE_CHANGED) {
		change(x, &s, pc);
		return;
	}
	if (s.kind == SITE_PLACE || s.kind == SITE_PASSED) {
		at_place(x, &s);
		return;
	}
	if (s.kind == SITE_STOP) {
		stop(x, pc, next_pc(pc));
		return;
	}
	/* the end of a signal handler that the recorder has called */
	if (s.kind == SITE_RET && is_recorder(pc)) {
		stop(x, pc, pc);
		return;
	}
	code = code_for(x, pc);
	if (!code) {
		stop(x, pc, 0);
		return;
	}
	x->target = code;
	if (s.kind == SITE_GO) {
		emit_jump_at(s.code, code);
		return;
	}
	x->quick[QUICK_OF(pc)].pc = pc;
	x->quick[QUICK_OF(pc)].code = code;
}

/* ---- the start ---- */

static int can_save_registers(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

struct xlate *xlate_new(uint64_t place, uint64_t at, const struct xlate_ops *ops, void *arg)
{
	uint64_t len = (sizeof(struct xlate) + STACK_BYTES + XSAVE_BYTES + 4095) & ~4095ull, gs = 0;
	struct xlate *x;

	if (!can_save_registers() || raw2(SYS_arch_prctl, ARCH_GET_GS, &gs) || gs)
		return 0;
	x = raw_mmap((void *)at, len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
	if (raw_failed(x))
		return 0;
	x->ops = ops;
	x->arg = arg;
	x->place = place;
	x->len = len;
	x->passes = PASSES;
	x->self = (uint64_t)x;
	x->leave = (uint64_t)leave;
	x->thunk = (uint64_t)xlate_thunk;
	x->stack = (uint64_t)x + len;
	x->xsave = ((uint64_t)(x + 1) + 63) & ~63ull;
	xlate_find_writable(x);
	return x;
}

uint64_t xlate_enter(struct xlate *x, uint64_t pc)
{
	struct cache *c = x->back ? 0 : cache_near(x, pc);

	if (!x->back && !c)
		return 0;
	if (c) {
		x->back = c->cur;
		emit_report_back(x, c);
		emit_back(x, c);
		xlate_note_back(x);
	}
	raw2(SYS_arch_prctl, ARCH_SET_GS, x);
	return code_for(x, pc);
}

void xlate_count(struct xlate *x, const struct xlate_count *count, uint64_t out)
{
	x->count = count;
	x->nth = count->nth;
	x->sp = count->sp;
	x->nth_branch = count->nth_branch;
	if (count->report)
		xlate_see_report(x);
	x->out = out;
	xlate_see_words(x);
}

const uint64_t *xlate_arrivals(const struct xlate *x)
{
	return &x->arrivals;
}

const uint64_t *xlate_branches(const struct xlate *x)
{
	return &x->branches;
}

const uint64_t *xlate_minus(const struct xlate *x)
{
	return x->minus;
}

uint64_t xlate_again(const struct xlate *x)
{
	return x->again;
}

unsigned xlate_maps(const struct xlate *x, struct xlate_map m[XLATE_MAPS])
{
	unsigned n = 0;

	for (; n < x->ncaches; n++)
		m[n] = (struct xlate_map){(uint64_t)x->cache[n].base, CACHE_BYTES};
	m[n++] = (struct xlate_map){(uint64_t)x, x->len};
	return n;
}

const void *xlate_back(const struct xlate *x)
{
	return x->back;
}

const uint64_t *xlate_native(const struct xlate *x)
{
	return &x->native_sp;
}

uint64_t xlate_hits(const struct xlate *x)
{
	return x->hits;
}

uint64_t xlate_at_places(const struct xlate *x)
{
	return x->arrivals - x->changes;
}

int xlate_has_changed(const struct xlate *x)
{
	return x->changed_hit && x->changed_hit == x->hits;
}

uint64_t xlate_natives(const struct xlate *x)
{
	return x->natives;
}

uint64_t xlate_fresh_blocks(const struct xlate *x)
{
	return x->fresh;
}

uint64_t xlate_native_top(struct xlate *x)
{
	uint64_t top = x->native_top;

	x->native_top = 0;
	return top;
}

void xlate_free(struct xlate *x)
{
	if (!x)
		return;
	raw2(SYS_arch_prctl, ARCH_SET_GS, 0);
	for (unsigned i = 0; i < x->ncaches; i++)
		raw2(SYS_munmap, x->cache[i].base, CACHE_BYTES);
	raw2(SYS_munmap, x, x->len);
}
