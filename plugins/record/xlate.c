/* SPDX-License-Identifier: MIT */
/*
 * xlate.c: see xlate.h.
 *
 * A block is copied up to its first branch. What a branch leads to is translated when it is first taken: until then there
 * is an exit in its place, which tells its number and jumps to the thunk, which saves all registers and calls leave().
 * The translated code uses the program's stack and registers just as the original: calls push the original return
 * address, so nothing in memory is different. What it needs for itself is reached through GS.
 *
 * Calls into the recorder run as they are, with another return address.
 */
#include "record/xlate.h"

#include "record/insn.h"
#include "record/point.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <string.h>

#define CACHES 8
#define CACHE_BYTES (8u << 20)
#define ROOM 8192 /* that a block may take */
#define NEAR (1ull << 30)
#define PROBE (16ull << 20)
#define SITES (1u << 18)
#define BLOCKS (1u << 19) /* a power of two */
#define QUICK 65536u
#define BLOCK_INSNS 64
#define EXIT_BYTES 20 /* of an exit, and no less than of a jump in its place */
#define NATIVE 64 /* calls into the recorder inside each other */
#define FIRST_HITS 64 /* without a filter: to see what changes */
#define PASSES 64
#define XSAVE_MASK 0xe7 /* x87, SSE, AVX, AVX-512 */
#define XSAVE_XMM 160
#define XSAVE_BYTES 8192
#define STACK_BYTES 65536

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
const uint8_t xlate_reg[XLATE_REGS] = {8, 9, 10, 11, 12, 13, 14, 15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP};
_Static_assert(REG_R8 == 0 && REG_RDI == 8 && REG_RSP == 15, "the order of gregs[]");

enum site_kind { SITE_GO, SITE_BY, SITE_PLACE, SITE_PASSED, SITE_BACK, SITE_STOP };

struct site {
	uint64_t pc; /* GO: where to */
	uint8_t *code; /* the exit; PLACE and PASSED: behind it, the instruction there */
	enum site_kind kind;
};

struct cache {
	uint8_t *base, *cur, *end;
};

struct xlate {
	/* through GS: emitted code and the thunk know these offsets */
	uint64_t reg[16];
	uint64_t flags, target, stack, xsave, self, leave, thunk; /* 128 to 176 */
	uint64_t site, by, hits, kept_rax, kept_rcx, kept_flags;
	struct { /* where branches by registers and memory go, by the low bits of the address */
		uint64_t pc, code;
	} quick[QUICK];

	const struct xlate_ops *ops;
	uint64_t place;
	unsigned passed, passes; /* filters; when they have let through so many, another one is taken */
	struct cache cache[CACHES];
	unsigned ncaches;
	uint32_t nsites;
	uint64_t native[NATIVE];
	unsigned nnative;
	uint8_t *back; /* where the recorder returns to */
	struct site sites[SITES];
	struct {
		uint64_t pc;
		uint8_t *code;
	} block[BLOCKS];
};
_Static_assert(offsetof(struct xlate, flags) == 128 && offsetof(struct xlate, thunk) == 176, "the thunk's offsets");

#define GS(field) ((uint32_t)offsetof(struct xlate, field))

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

/* ---- emitting ---- */

static void put(struct cache *c, const void *p, size_t n)
{
	memcpy(c->cur, p, n);
	c->cur += n;
}

#define BYTES(c, ...)                                      \
	do {                                               \
		static const uint8_t bytes_[] = {__VA_ARGS__}; \
		put(c, bytes_, sizeof(bytes_));            \
	} while (0)

static void put32(struct cache *c, uint32_t v)
{
	put(c, &v, sizeof(v));
}

static void put64(struct cache *c, uint64_t v)
{
	put(c, &v, sizeof(v));
}

/* An instruction with REX.W (and REX.R) on %gs:field. */
static void put_gs(struct cache *c, uint8_t op, int reg, uint32_t field)
{
	const uint8_t b[] = {0x65, (uint8_t)(0x48 | (reg & 8) >> 1), op, (uint8_t)(0x04 | (reg & 7) << 3), 0x25};

	put(c, b, sizeof(b));
	put32(c, field);
}
#define STORE 0x89
#define LOAD 0x8b
#define COMPARE 0x3b

static int in_reach(const uint8_t *from, uint64_t to)
{
	int64_t d = (int64_t)(to - (uint64_t)from);

	return d > -0x7fffff00ll && d < 0x7fffff00ll;
}

/* A jump in the place of an exit. */
static void put_jump_at(uint8_t *code, uint64_t to)
{
	struct cache c = {.cur = code};

	if (in_reach(code + 5, to)) {
		BYTES(&c, 0xe9);
		put32(&c, (uint32_t)(to - (uint64_t)code - 5));
	} else {
		BYTES(&c, 0xff, 0x25, 0, 0, 0, 0);
		put64(&c, to);
	}
}

static void put_exit(struct xlate *x, struct cache *c, enum site_kind kind, uint64_t pc)
{
	if (x->nsites == SITES)
		x->ops->stop("too much code");
	x->sites[x->nsites] = (struct site){pc, c->cur, kind};
	BYTES(c, 0x65, 0xc7, 0x04, 0x25); /* movl $, %gs: */
	put32(c, GS(site));
	put32(c, x->nsites++);
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(thunk));
}

/* ---- what is translated already ---- */

static uint8_t **slot_of(struct xlate *x, uint64_t pc)
{
	uint32_t h = (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 40) % BLOCKS;

	while (x->block[h].pc && x->block[h].pc != pc)
		h = (h + 1) % BLOCKS;
	x->block[h].pc = pc;
	return &x->block[h].code;
}

static void put_go(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *at = c->cur, *known = *slot_of(x, pc);

	put_exit(x, c, SITE_GO, pc);
	if (known)
		put_jump_at(at, (uint64_t)known);
}

/* Code can reach what the original reaches relative to its own address. */
static struct cache *cache_near(struct xlate *x, uint64_t pc)
{
	struct cache *c;

	for (unsigned i = 0; i < x->ncaches; i++) {
		c = &x->cache[i];
		if (pc - (uint64_t)c->base + NEAR < 2 * NEAR && c->end - c->cur > ROOM)
			return c;
	}
	for (uint64_t d = PROBE; d < NEAR && x->ncaches < CACHES; d += PROBE) {
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
	x->ops->stop("no room for translated code");
	return 0;
}

/* ---- translating ---- */

/* The RIP-relative operand of what ends at the cursor means the same as in the original. */
static void adjust(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int32_t d;
	uint64_t to;

	if (!i->rip_at)
		return;
	memcpy(&d, p + i->rip_at, sizeof(d));
	to = (uint64_t)p + i->len + (uint64_t)(int64_t)d;
	if (!in_reach(c->cur, to))
		x->ops->stop("data out of reach");
	d = (int32_t)(to - (uint64_t)c->cur);
	memcpy(c->cur - (i->len - i->rip_at), &d, sizeof(d));
}

static void push_return(struct cache *c, uint64_t pc)
{
	BYTES(c, 0x68); /* push: the low half, and what is then overwritten */
	put32(c, (uint32_t)pc);
	BYTES(c, 0xc7, 0x44, 0x24, 0x04); /* movl $, 4(%rsp) */
	put32(c, (uint32_t)(pc >> 32));
}

static void keep_flags(struct cache *c)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	BYTES(c, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
	put_gs(c, STORE, RAX, GS(kept_flags));
}

/* Changes no flag but those that it sets. */
static void restore_flags(struct cache *c)
{
	put_gs(c, LOAD, RAX, GS(kept_flags));
	BYTES(c, 0x04, 0x7f, 0x9e); /* add $0x7f, %al; sahf */
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

/* To the address in `by`: from the table, or by leave(). */
static void put_by(struct xlate *x, struct cache *c)
{
	uint8_t *jump;

	keep_flags(c);
	put_gs(c, STORE, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RCX, GS(by));
	BYTES(c, 0x0f, 0xb7, 0xc1, 0xc1, 0xe0, 0x04); /* movzwl %cx, %eax; shl $4, %eax */
	BYTES(c, 0x65, 0x48, 0x3b, 0x88); /* cmp %gs:quick.pc(%rax), %rcx */
	put32(c, GS(quick));
	BYTES(c, 0x75, 0); /* jne */
	jump = c->cur;
	BYTES(c, 0x65, 0x48, 0x8b, 0x88); /* mov %gs:quick.code(%rax), %rcx */
	put32(c, GS(quick) + 8);
	put_gs(c, STORE, RCX, GS(target));
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	restore_flags(c);
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(target));
	jump[-1] = (uint8_t)(c->cur - jump);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	restore_flags(c);
	put_exit(x, c, SITE_BY, 0);
}

/* By a register or memory: mov OPERAND, %rax, and from there to `by`. */
static void load_by(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	uint8_t rex = (uint8_t)(0x48 | (i->rex & 3)), modrm = p[i->modrm_at] & 0xc7;

	put_gs(c, STORE, RAX, GS(kept_rax));
	for (const uint8_t *q = p; q < p + i->op_at; q++)
		if (*q == 0x64 || *q == 0x65 || *q == 0x67)
			put(c, q, 1);
	put(c, &rex, 1);
	BYTES(c, LOAD);
	put(c, &modrm, 1);
	put(c, p + i->modrm_at + 1, (size_t)(i->len - i->modrm_at - 1));
	adjust(x, c, p, i);
	put_gs(c, STORE, RAX, GS(by));
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

static void by(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	load_by(x, c, p, i);
	if (i->kind == INSN_CALL_BY)
		push_return(c, (uint64_t)p + i->len);
	put_by(x, c);
}

static void ret(struct xlate *x, struct cache *c, const struct insn *i)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	BYTES(c, 0x48, 0x8b, 0x04, 0x24); /* mov (%rsp), %rax */
	put_gs(c, STORE, RAX, GS(by));
	put_gs(c, LOAD, RAX, GS(kept_rax));
	BYTES(c, 0x48, 0x8d, 0xa4, 0x24); /* lea (%rsp), %rsp: flags stay */
	put32(c, (uint32_t)(8 + i->target));
	put_by(x, c);
}

static void conditional(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	if (i->kind == INSN_LOOP) {
		put(c, p, (size_t)(i->len - 1));
		BYTES(c, EXIT_BYTES);
	} else {
		const uint8_t b[2] = {0x0f, (uint8_t)(0x80 | (i->op & 15))};

		put(c, b, 2);
		put32(c, EXIT_BYTES);
	}
	put_go(x, c, (uint64_t)p + i->len);
	put_go(x, c, i->target);
}

/* 1: the block goes on behind it. */
static int one(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	switch (i->kind) {
	case INSN_PLAIN:
		put(c, p, i->len);
		adjust(x, c, p, i);
		return 1;
	case INSN_JCC:
	case INSN_LOOP:
		conditional(x, c, p, i);
		break;
	case INSN_CALL:
		push_return(c, (uint64_t)p + i->len);
		put_go(x, c, i->target);
		break;
	case INSN_JMP:
		put_go(x, c, i->target);
		break;
	case INSN_RET:
		ret(x, c, i);
		break;
	case INSN_JMP_BY:
	case INSN_CALL_BY:
		by(x, c, p, i);
		break;
	case INSN_STOP:
		put_exit(x, c, SITE_STOP, (uint64_t)p);
		break;
	}
	return 0;
}

static uint8_t *translate(struct xlate *x, uint64_t pc)
{
	struct cache *c = cache_near(x, pc);
	uint8_t *start = c->cur;
	const uint8_t *p = (const uint8_t *)pc;
	struct insn i;

	*slot_of(x, pc) = start;
	for (unsigned n = 0;; n++) {
		if ((uint64_t)p == x->place) {
			put_exit(x, c, SITE_PLACE, (uint64_t)p);
			x->sites[x->nsites - 1].code = c->cur;
		}
		insn_decode(p, &i);
		if (n == BLOCK_INSNS) {
			put_go(x, c, (uint64_t)p);
			return start;
		}
		if (!one(x, c, p, &i))
			return start;
		p += i.len;
	}
}

static uint64_t code_for(struct xlate *x, uint64_t pc)
{
	uint8_t *code = *slot_of(x, pc);

	return (uint64_t)(code ? code : translate(x, pc));
}

/* ---- leaving the translated code ---- */

static int is_recorder(uint64_t pc)
{
	return pc >= G.text_lo && pc < G.text_hi;
}

/* The recorder's own code runs as it is, and comes back behind the call. */
static uint64_t enter_recorder(struct xlate *x, uint64_t pc)
{
	uint64_t *sp = (uint64_t *)x->reg[RSP];

	if (x->nnative == NATIVE)
		x->ops->stop("calls of the recorder that do not return");
	x->native[x->nnative++] = *sp;
	*sp = (uint64_t)x->back;
	return pc;
}

static uint64_t go(struct xlate *x, uint64_t pc)
{
	return is_recorder(pc) ? enter_recorder(x, pc) : code_for(x, pc);
}

static uint64_t come_back(struct xlate *x)
{
	uint64_t *sp = (uint64_t *)x->reg[RSP], pc = x->native[--x->nnative];

	sp[-1] = pc; /* as it was */
	return go(x, pc);
}

static void describe(const struct xlate *x, uint64_t pc, uint64_t *regs)
{
	for (unsigned i = 0; i < XLATE_REGS; i++)
		regs[i] = x->reg[xlate_reg[i]];
	regs[REG_RIP] = pc;
	regs[REG_EFL] = x->flags & POINT_FLAGS;
	memcpy(regs + POINT_GREGS, (const uint8_t *)x->xsave + XSAVE_XMM, 32 * sizeof(*regs));
}

static void put_filter_load(struct cache *c, const struct xlate_filter *f)
{
	uint8_t wide = f->half ? 0x40 : 0x48; /* without REX.W the high half becomes 0 */
	const uint8_t mov[3] = {(uint8_t)(wide | (f->reg & 8) >> 1), STORE, (uint8_t)(0xc0 | (f->reg & 7) << 3)};

	if (f->reg < 0) {
		put(c, &wide, 1);
		BYTES(c, 0xa1); /* movabs, %rax */
		put64(c, f->addr);
		return;
	}
	if (f->reg == RAX)
		put_gs(c, LOAD, RAX, GS(kept_rax));
	put(c, mov, sizeof(mov));
}

/* In the place of the exit at s: counts, looks at the filter's word, and mostly goes on at once. */
static void put_filter(struct xlate *x, const struct site *s, const struct xlate_filter *f)
{
	struct cache *c = cache_near(x, (uint64_t)s->code);
	uint8_t *value = c->cur, *start, *jump;

	put64(c, f->value);
	start = c->cur;
	keep_flags(c);
	put_gs(c, 0xff, 0, GS(hits)); /* incq */
	put_filter_load(c, f);
	BYTES(c, 0x48, 0x3b, 0x05); /* cmp value(%rip), %rax */
	put32(c, (uint32_t)(value - (c->cur + 4)));
	BYTES(c, 0x74, 0); /* je */
	jump = c->cur;
	restore_flags(c);
	BYTES(c, 0xff, 0x25, 0, 0, 0, 0); /* jmp */
	put64(c, (uint64_t)s->code);
	jump[-1] = (uint8_t)(c->cur - jump);
	restore_flags(c);
	put_exit(x, c, SITE_PASSED, s->pc);
	x->sites[x->nsites - 1].code = s->code;
	put_jump_at(s->code - EXIT_BYTES, (uint64_t)start);
}

static void at_place(struct xlate *x, const struct site *s)
{
	struct xlate_filter f = {0};
	uint64_t regs[POINT_REGS];

	if (s->kind == SITE_PLACE)
		x->hits++;
	describe(x, s->pc, regs);
	x->ops->hit(regs, x->hits, &f);
	if (!f.set || (s->kind == SITE_PLACE && x->hits < FIRST_HITS))
		return;
	if (s->kind == SITE_PASSED && ++x->passed < x->passes)
		return;
	if (s->kind == SITE_PASSED) {
		x->passed = 0;
		x->passes += PASSES;
	}
	put_filter(x, s, &f);
}

__attribute__((used)) static void leave(struct xlate *x)
{
	struct site s = x->sites[x->site];

	switch (s.kind) {
	case SITE_GO:
		x->target = go(x, s.pc);
		if (!is_recorder(s.pc))
			put_jump_at(s.code, x->target);
		break;
	case SITE_BY:
		x->target = go(x, x->by);
		if (!is_recorder(x->by)) {
			x->quick[x->by % QUICK].pc = x->by;
			x->quick[x->by % QUICK].code = x->target;
		}
		break;
	case SITE_PLACE:
	case SITE_PASSED:
		x->target = (uint64_t)s.code;
		at_place(x, &s);
		break;
	case SITE_BACK:
		x->target = come_back(x);
		break;
	case SITE_STOP:
		x->ops->kernel();
		break;
	}
}

/* ---- the start ---- */

static int can_save_registers(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

uint64_t xlate_begin(uint64_t pc, uint64_t place, const struct xlate_ops *ops)
{
	uint64_t len = sizeof(struct xlate) + STACK_BYTES + XSAVE_BYTES, gs = 0;
	struct xlate *x;
	struct cache *c;

	if (!can_save_registers() || raw2(SYS_arch_prctl, ARCH_GET_GS, &gs) || gs)
		return 0;
	len = (len + 4095) & ~4095ull;
	x = raw_mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(x))
		return 0;
	x->ops = ops;
	x->place = place;
	x->passes = PASSES;
	x->self = (uint64_t)x;
	x->leave = (uint64_t)leave;
	x->thunk = (uint64_t)xlate_thunk;
	x->stack = (uint64_t)x + len;
	x->xsave = ((uint64_t)(x + 1) + 63) & ~63ull;
	raw2(SYS_arch_prctl, ARCH_SET_GS, x);
	c = cache_near(x, pc);
	x->back = c->cur;
	put_exit(x, c, SITE_BACK, 0);
	return code_for(x, pc);
}
