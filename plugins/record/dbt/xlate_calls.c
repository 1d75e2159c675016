/* SPDX-License-Identifier: MIT */
/*
 * xlate_calls.c: calls and returns in a report (rlog/report.h). With a shadow of the heap, most calls return before
 * anything else is reported: such a return removes the call's entry again, and how often each call was executed is
 * counted here. Of calls through memory, arguments and results are reported, too; with a filter, those of the functions
 * that the worker wants, selected by the words through which they are called. Where the shadow says that such a
 * function accesses only what it may, nothing is reported, and libc's code is executed as it is.
 */
#include "record/dbt/xlate_entry.h"
#include "rlog/replay.h"

/* The index of addr in `word`, from 1; 0: it is not there. */
static uint64_t index_of(const struct replay_report *r, uint64_t addr)
{
	const uint64_t *v = (const uint64_t *)r->word_at;
	uint64_t lo = 0, hi = r->words;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (v[mid] == addr)
			return mid + 1;
		if (v[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* Is it a call or jump through memory whose arguments are to be reported? */
int xlate_has_args(const struct xlate *x, const uint8_t *p, const struct insn *i)
{
	const struct replay_report *r = report_of(x);

	if (!r->args || (i->kind != INSN_CALL_BY && i->kind != INSN_JMP_BY) || !xlate_has_operand(p, i))
		return 0;
	if (!r->filter)
		return 1;
	/* relocations name functions for words at fixed addresses */
	if (!i->rip_at)
		return 0;
	return index_of(r, insn_rip_target(p, i)) != 0;
}

/* rcx: the stack pointer at which a return address is, with all bits inverted. rcx becomes the distance to it. */
static void put_distance(struct cache *c, int below)
{
	const uint8_t b[] = {0x48, LEA, 0x4c, 0x0c, (uint8_t)(1 - below)}; /* lea 1-below(%rsp,%rcx), %rcx */

	put(c, b, sizeof(b));
}

/* Results are reported only of the outermost such call. This call is it, unless it is made inside another one. */
void xlate_put_called(struct cache *c, const struct insn *i)
{
	int below = i->kind == INSN_CALL_BY ? 8 : 0;
	uint8_t *none, *inside;

	put_gs(c, STORE, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RCX, GS(called));
	BYTES(c, 0xe3, 0); /* jrcxz */
	none = c->cur;
	put_distance(c, below);
	put_pext(c, GS(sign_bit));
	BYTES(c, 0xe3, 2, 0xeb, 0); /* jrcxz; jmp */
	inside = c->cur;
	none[-1] = (uint8_t)(c->cur - none);
	BYTES(c, 0x48, LEA, 0x4c, 0x24); /* lea -below(%rsp), %rcx */
	put(c, (const uint8_t[]){(uint8_t)-below}, 1);
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx: no flag is changed */
	put_gs(c, STORE, RCX, GS(called));
	inside[-1] = (uint8_t)(c->cur - inside);
	put_gs(c, LOAD, RCX, GS(kept_rcx));
}

/* Emitted before a return. */
void xlate_put_result(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *it = 0, *other = 0;

	if (report_of(x)->filter) {
		put_gs(c, STORE, RCX, GS(kept_rcx));
		put_gs(c, LOAD, RCX, GS(called));
		put_distance(c, 0);
		BYTES(c, 0xe3, 0); /* jrcxz */
		it = c->cur;
		put_gs(c, LOAD, RCX, GS(kept_rcx));
		BYTES(c, 0xeb, 0); /* jmp */
		other = c->cur;
		it[-1] = (uint8_t)(c->cur - it);
		BYTES(c, 0x65, 0x48, 0xc7, 0x04, 0x25); /* movq $0, %gs: */
		put32(c, GS(called));
		put32(c, 0);
		put_gs(c, LOAD, RCX, GS(kept_rcx));
	}
	keep_rax_rcx(c);
	BYTES(c, 0x48, 0x89, 0xc1); /* mov %rax, %rcx */
	finish_two(x, c, REPORT_RESULT, pc);
	if (other)
		other[-1] = (uint8_t)(c->cur - other);
}

void xlate_put_args(struct xlate *x, struct cache *c, uint64_t pc)
{
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
	BYTES(c, 0x48, 0x89, 0x78, 0x08); /* mov %rdi, 8(%rax) */
	BYTES(c, 0x48, 0x89, 0x70, 0x10); /* mov %rsi, 16(%rax) */
	BYTES(c, 0x48, 0x89, 0x50, 0x18); /* mov %rdx, 24(%rax) */
	put_word(c, 4);
	BYTES(c, 0x4c, 0x89, 0x40, 0x28); /* mov %r8, 40(%rax) */
	BYTES(c, 0x4c, 0x89, 0x48, 0x30); /* mov %r9, 48(%rax) */
	BYTES(c, 0x48, 0x89, 0x60, 0x38); /* mov %rsp, 56(%rax) */
	put_head(c, REPORT_ARGS, pc);
	end(x, c, 8);
}

/* Emits jrcxz over a jump to what is emitted later. Returns the jump's place, for jumps_lead. */
static uint8_t *put_unless_zero(struct cache *c)
{
	uint8_t *jump;

	BYTES(c, 0xe3, LONG_JUMP); /* jrcxz */
	jump = c->cur;
	c->cur += LONG_JUMP;
	return jump;
}

/* ---- calls and returns ---- */

#define CALLED_BYTES 32

static struct replay_calls *calls_of(void)
{
	return (struct replay_calls *)REPLAY_KNOWN_ADDR;
}

static uint32_t called_of(struct xlate *x)
{
	return distance(x, (uint64_t)&report_of(x)->called);
}

static uint32_t *place_of(struct xlate *x, uint64_t pc)
{
	const struct replay_calls *k = calls_of();
	uint32_t n = sizeof(x->call_at) / sizeof(x->call_at[0]), h = (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 40) % n;

	while (x->call_at[h] && k->pc[x->call_at[h] - 1] != pc)
		h = (h + 1) % n;
	return &x->call_at[h];
}

/* The number of the call at pc; REPORT_CALLS: there is no room for it. */
static uint32_t number_of(struct xlate *x, uint64_t pc)
{
	struct replay_calls *k = calls_of();
	uint32_t *place = place_of(x, pc);

	if (*place)
		return *place - 1;
	if (k->n == REPORT_CALLS)
		return REPORT_CALLS;
	k->pc[k->n] = pc;
	*place = (uint32_t)++k->n;
	return *place - 1;
}

void xlate_see_calls(struct xlate *x)
{
	const struct replay_calls *k = calls_of();

	/* counts of an earlier translator in this copy */
	for (uint32_t n = 0; n < k->n; n++)
		*place_of(x, k->pc[n]) = n + 1;
}

/* Adds n to a word. rcx may be used. */
static void put_add(struct xlate *x, struct cache *c, const uint64_t *word, uint8_t n)
{
	uint32_t at = distance(x, (uint64_t)word);

	if (xlate_flags_are_dead(x)) {
		BYTES(c, 0x65, 0x48, 0x83, 0x04, 0x25); /* addq $N, %gs: */
		put32(c, at);
		put(c, &n, sizeof(n));
		return;
	}
	put_gs(c, LOAD, RCX, at);
	BYTES(c, 0x48, LEA, 0x49); /* lea N(%rcx), %rcx */
	put(c, &n, sizeof(n));
	put_gs(c, STORE, RCX, at);
}

void xlate_put_sp(struct xlate *x, struct cache *c, enum replay_report_kind kind, uint64_t pc)
{
	keep_rax_rcx(c);
	BYTES(c, 0x48, 0x89, 0xe1); /* mov %rsp, %rcx */
	finish_two(x, c, kind, pc);
}

void xlate_put_call(struct xlate *x, struct cache *c, uint64_t pc)
{
	struct replay_calls *k = calls_of();
	uint32_t n = report_has_calls(report_of(x)) ? number_of(x, pc) : REPORT_CALLS;

	if (n == REPORT_CALLS) {
		xlate_put_sp(x, c, REPORT_CALL, pc);
		return;
	}
	keep_rax_rcx(c);
	put_add(x, c, &k->passes[n], 1);
	put_gs(c, LOAD, RCX, distance(x, (uint64_t)&k->passes[n]));
	BYTES(c, 0x65, 0xc6, 0x04, 0x25); /* movb $1, %gs: */
	put32(c, distance(x, (uint64_t)&k->used[n / REPORT_CALLS_USED]));
	put(c, (const uint8_t[]){1}, 1);
	put_cur(x, c, LOAD);
	put_word(c, 1);
	BYTES(c, 0x48, 0x89, 0x60, 0x10); /* mov %rsp, 16(%rax) */
	put_gs(c, LOAD, RCX, called_of(x));
	put_word(c, 3);
	put_head(c, REPORT_CALLED, pc);
	BYTES(c, 0x48, LEA, 0x40, CALLED_BYTES); /* lea 32(%rax), %rax */
	put_cur(x, c, STORE);
	put_gs(c, STORE, RAX, called_of(x));
	restore_rax_rcx(c);
}

/*
 * at: how far above the stack pointer the return address is, or was. If the last entry is CALLED, and has the stack
 * pointer with which this return leaves, it belongs to the call that returns.
 */
static void put_return(struct xlate *x, struct cache *c, int8_t at, uint64_t pc)
{
	const uint8_t address[] = {0x48, LEA, 0x4c, 0x24, (uint8_t)at}; /* lea AT(%rsp), %rcx */
	const uint8_t sum[] = {0x48, LEA, 0x4c, 0x0c, (uint8_t)(at + 9)}; /* lea AT+9(%rsp,%rcx), %rcx */
	uint8_t *other[2], *over;

	keep_rax_rcx(c);
	if (!report_has_calls(report_of(x))) {
		put(c, address, sizeof(address));
		finish_two(x, c, REPORT_RET, pc);
		return;
	}
	put_gs(c, LOAD, RCX, called_of(x));
	put_cur(x, c, LOAD);
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx */
	BYTES(c, 0x48, LEA, 0x4c, 0x08, 0x01); /* lea 1(%rax,%rcx), %rcx */
	other[0] = put_unless_zero(c);
	BYTES(c, 0x48, LOAD, 0x48, (uint8_t)(16 - CALLED_BYTES)); /* mov -16(%rax), %rcx */
	BYTES(c, 0x48, 0xf7, 0xd1); /* not %rcx */
	put(c, sum, sizeof(sum));
	other[1] = put_unless_zero(c);
	BYTES(c, 0x48, LOAD, 0x48, (uint8_t)(24 - CALLED_BYTES)); /* mov -8(%rax), %rcx */
	put_gs(c, STORE, RCX, called_of(x));
	BYTES(c, 0x48, LEA, 0x40, (uint8_t)-CALLED_BYTES); /* lea -32(%rax), %rax */
	put_cur(x, c, STORE);
	put_add(x, c, &calls_of()->none, 2);
	restore_rax_rcx(c);
	over = c->cur;
	c->cur += LONG_JUMP;
	jumps_lead(other, 2, c->cur);
	put(c, address, sizeof(address));
	put_word(c, 1);
	put_head(c, REPORT_RET, pc);
	end(x, c, 2);
	jumps_lead(&over, 1, c->cur);
}

void xlate_put_ret(struct xlate *x, struct cache *c, uint64_t pc)
{
	put_return(x, c, 0, pc);
}

void emit_report_back(struct xlate *x, struct cache *c)
{
	if (report_of(x))
		put_return(x, c, -8, 0);
}

void xlate_put_stands(struct xlate *x, struct cache *c)
{
	if (!report_has_calls(report_of(x)))
		return;
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
	BYTES(c, 0x48, 0x89, 0x60, 0x08); /* mov %rsp, 8(%rax) */
	put_gs(c, LOAD, RCX, distance(x, (uint64_t)&calls_of()->none));
	put_word(c, 2);
	put_head(c, REPORT_STANDS, 0);
	end(x, c, 3);
}

/* ---- calls that need not be told ---- */

extern const uint8_t xlate_check_thunk[] __attribute__((visibility("hidden")));

/* With the program's rax and rcx in kept_rax and kept_rcx; rcx becomes the answer. */
__asm__(".text\n.hidden xlate_check_thunk\n.type xlate_check_thunk, @function\nxlate_check_thunk:\n"
	"	lahf\n	seto %al\n	mov %rax, %gs:128\n"
	"	mov %rdx, %gs:16\n	mov %rsp, %gs:32\n	mov %rsi, %gs:48\n	mov %rdi, %gs:56\n"
	"	mov %r8, %gs:64\n	mov %r9, %gs:72\n	mov %r10, %gs:80\n	mov %r11, %gs:88\n"
	"	mov %gs:144, %rsp\n	mov %gs:160, %rdi\n	call xlate_check\n	mov %rax, %rcx\n"
	"	mov %gs:16, %rdx\n	mov %gs:48, %rsi\n	mov %gs:56, %rdi\n"
	"	mov %gs:64, %r8\n	mov %gs:72, %r9\n	mov %gs:80, %r10\n	mov %gs:88, %r11\n"
	"	mov %gs:32, %rsp\n	mov %gs:128, %rax\n	add $0x7f, %al\n	sahf\n"
	"	jmp *%gs:136\n"
	".size xlate_check_thunk, .-xlate_check_thunk\n");

/* Translated code calls this: it uses no vector register, since they are the program's. */
#define PLAIN __attribute__((target("general-regs-only")))
#define EARLY_BYTES 4096u /* longer areas and strings are not looked at if the call may read a part of them alone */
#define EACH 0x0101010101010101ull

static PLAIN int has_zero(uint64_t v)
{
	return ((v - EACH) & ~v & EACH << 7) != 0;
}

static PLAIN const uint8_t *shadow_of(uint64_t addr)
{
	return (const uint8_t *)(REPLAY_SHADOW_ADDR + REPORT_SHADOW_INDEX(addr));
}

static PLAIN int area_is_allowed(uint64_t addr, uint64_t bytes)
{
	uint64_t last = addr + bytes - 1, v;
	const uint8_t *s, *end;

	if (!bytes)
		return 1;
	if (last < addr || bytes >> REPORT_HEAP_BIT || REPORT_HEAP_PART(addr) != REPORT_HEAP_PART(last))
		return 0;
	if (!REPORT_HEAP_PART(addr))
		return 1;
	end = shadow_of(last) + 1;
	for (s = shadow_of(addr); end - s >= (int64_t)sizeof(v); s += sizeof(v)) {
		__builtin_memcpy(&v, s, sizeof(v));
		if (has_zero(v))
			return 0;
	}
	for (; s < end; s++)
		if (!*s)
			return 0;
	return 1;
}

/* width: of a character; most: so many at most. */
static PLAIN int string_is_allowed(uint64_t addr, uint64_t most, unsigned width)
{
	uint64_t v;

	if (!REPORT_HEAP_PART(addr))
		return 1;
	if (addr % width)
		return 0;
	for (uint64_t n = 0; n < most; n++, addr += width) {
		if (!REPORT_HEAP_PART(addr) || !*shadow_of(addr) || n * width >= EARLY_BYTES)
			return 0;
		if (width == 1 && addr % sizeof(v) == 0 && most - n >= sizeof(v) &&
		    !has_zero(*(const uint64_t *)addr)) {
			n += sizeof(v) - 1;
			addr += sizeof(v) - 1;
		} else if (width == 1 ? !*(const uint8_t *)addr : !*(const uint32_t *)addr) {
			return 1;
		}
	}
	return 1;
}

/* Does a call with these arguments access only the program's blocks, or what is not in the heap? 0: that is not
 * certain. */
static PLAIN int shadow_allows(unsigned check, const uint64_t *arg)
{
	unsigned width = check & REPORT_CHECK_WIDE ? 4 : 1;
	int two = (check & REPORT_CHECK_TWO) != 0;
	uint64_t most = two ? arg[2] : arg[1], bytes = arg[2] * width;

	if (check & REPORT_CHECK_STRINGS) {
		most = check & REPORT_CHECK_WITHIN ? most : UINT64_MAX;
		return string_is_allowed(arg[0], most, width) && (!two || string_is_allowed(arg[1], most, width));
	}
	if (arg[2] >> REPORT_HEAP_BIT || (check & REPORT_CHECK_LIMITED && bytes > arg[3]) ||
	    (check & REPORT_CHECK_EARLY && bytes > EARLY_BYTES))
		return 0;
	if (check & REPORT_CHECK_APART && arg[0] != arg[1] && arg[0] < arg[1] + bytes && arg[1] < arg[0] + bytes)
		return 0;
	return area_is_allowed(arg[0], bytes) && (!two || area_is_allowed(arg[1], bytes));
}

/* Is it made inside of a call whose arguments were told? Then its loads are to be told as well. */
static int is_inside(const struct xlate *x)
{
	return x->called && x->reg[RSP] < ~x->called;
}

/* 1: nothing of the call is to be told. */
__attribute__((used)) static PLAIN uint64_t xlate_check(struct xlate *x)
{
	struct replay_report *r = x->count->report;
	const uint64_t arg[] = {x->reg[RDI], x->reg[RSI], x->reg[RDX], x->kept_rcx};

	if (x->by < r->loaded_lo || x->by >= r->loaded_hi || is_inside(x) || !shadow_allows((unsigned)x->check, arg))
		return 0;
	r->accesses += x->check & REPORT_CHECK_TWO ? 2 : 1;
	return 1;
}

/* REPORT_CHECK_... of the call at p; 0: it is told. */
static uint8_t check_of(const struct xlate *x, const uint8_t *p, const struct insn *i)
{
	const struct replay_report *r = report_of(x);
	uint64_t n;

	/* what is counted or looked for may be in libc */
	if (!report_has_calls(r) || !report_knows(r, REPORT_CHECKED) || !r->check_at || x->count->n ||
	    x->count->words || x->count->nth || x->count->branches ||
	    (x->place >= r->loaded_lo && x->place < r->loaded_hi) || !xlate_has_args(x, p, i))
		return 0;
	n = index_of(r, insn_rip_target(p, i));
	return ((const uint8_t *)r->check_at)[n - 1];
}

void xlate_put_checked(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	uint8_t check = check_of(x, p, i), *after, *fine, *told;

	if (!check)
		return;
	x->check_thunk = (uint64_t)xlate_check_thunk;
	keep_rax_rcx(c);
	BYTES(c, 0x48, 0xa1); /* movabs, %rax */
	put64(c, insn_rip_target(p, i));
	put_gs(c, STORE, RAX, GS(by));
	BYTES(c, 0x65, 0x48, 0xc7, 0x04, 0x25); /* movq $, %gs: */
	put32(c, GS(check));
	put32(c, check);
	BYTES(c, 0x48, LEA, 0x05); /* lea AFTER(%rip), %rax */
	put32(c, 0);
	after = c->cur;
	put_gs(c, STORE, RAX, GS(target));
	BYTES(c, 0x65, 0xff, 0x24, 0x25); /* jmp *%gs: */
	put32(c, GS(check_thunk));
	put32(&(struct cache){.cur = after - 4}, (uint32_t)(c->cur - after));
	BYTES(c, 0xe3, LONG_JUMP, 0xe9, 0, 0, 0, 0); /* jrcxz, over a jump */
	fine = c->cur;
	restore_rax_rcx(c);
	BYTES(c, 0xe9); /* jmp */
	put32(c, 0);
	told = c->cur;
	put32(&(struct cache){.cur = fine - 4}, (uint32_t)(c->cur - fine));
	restore_rax_rcx(c);
	if (i->kind == INSN_CALL_BY) {
		xlate_put_call(x, c, (uint64_t)p);
		emit_mark(x, c, p);
		emit_return_address(c, (uint64_t)p + i->len);
	}
	emit_native_libc(x, c);
	put32(&(struct cache){.cur = told - 4}, (uint32_t)(c->cur - told));
}
