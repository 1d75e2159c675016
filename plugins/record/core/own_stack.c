/* SPDX-License-Identifier: MIT */
/* own_stack.c: see own_stack.h. Runs in signal handlers. */
#include "record/core/own_stack.h"
#include "record/core/state.h"

#define BYTES (512u << 10)
#define STEPS (32u << 10) /* bytes at its end: see own_stack_steps */
#define PAGE 4096u
#define MARGIN 1024u /* for the function that lets a handler run, below the frame that it passes */
#define LEVELS 80u
#define SLOTS 64u
/* bytes: with less room left, frames to which no handler will return are looked for */
#define FEW (BYTES / 2)
#define SAME_STACK (8ull << 20)
#define AUTODISARM 0x80000000u /* SS_AUTODISARM, linux/signal.h */
#define FX_BYTES 512u
#define FX_MAGIC 0x46505853u /* FP_XSTATE_MAGIC1, asm/sigcontext.h: extended state follows */
#define MIN_BYTES 2048u /* MINSIGSTKSZ of the kernel */

/* Frames of the recorder to which a handler of the program's will return, or has returned. */
struct level {
	uint64_t low, top; /* the range that is registered meanwhile */
	uint64_t here; /* the frame that let the handler run */
	uint64_t sp; /* the program's, where it was interrupted */
};

struct range {
	uint64_t low, top;
};

struct way_back {
	uint64_t frame; /* the address of the recorder's frame, to which the handler's RBP points: first member */
	uint64_t sp; /* the handler's stack begins there; 0: free */
};

/* Kept in the first page. */
struct levels {
	uint64_t n;
	struct level level[LEVELS];
	uint64_t next; /* the slot that is used next when all are in use */
	struct way_back slot[SLOTS];
};
_Static_assert(sizeof(struct levels) <= PAGE, "struct levels");

static struct levels *levels_of(const struct thr *t)
{
	return (struct levels *)t->stack.own;
}

/* The area that is registered at this level; each level's is inside that of the level before it. */
static struct range range_of(const struct thr *t, uint64_t levels)
{
	const struct level *l = levels_of(t)->level;

	return levels ? (struct range){l[levels - 1].low, l[levels - 1].top}
		      : (struct range){t->stack.own + PAGE, t->stack.own + BYTES - STEPS};
}

static void use(struct range r)
{
	stack_t ss = {.ss_sp = (void *)r.low, .ss_size = r.top - r.low, .ss_flags = (int)AUTODISARM};

	raw2(SYS_sigaltstack, &ss, 0);
}

#define ALL_BYTES (BYTES + OWN_STACK_SETS)
_Static_assert(ALL_BYTES <= 1u << SHIM_SIGNALS_SHIFT, "stacks do not overlap");

void own_stack_map(struct thr *t)
{
	uint64_t at = SHIM_SIGNALS_ADDR + ((uint64_t)t->ordinal << SHIM_SIGNALS_SHIFT);

	if (!raw_failed(raw_mmap((void *)at, ALL_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		t->stack.own = at;
}

void own_stack_use(const struct thr *t)
{
	if (t->stack.own)
		use(range_of(t, 0));
}

void own_stack_free(const struct thr *t)
{
	if (t->stack.own)
		raw2(SYS_munmap, t->stack.own, ALL_BYTES);
}

void *own_stack_sets(const struct thr *t)
{
	return (void *)(t->stack.own + BYTES);
}

uint64_t own_stack_steps(const struct thr *t)
{
	return t->stack.own + BYTES;
}

void own_stack_switch(void *arg, void (*fn)(void *), uint64_t top);
__asm__(".text\n.type own_stack_switch, @function\n"
	"own_stack_switch:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa rbp, 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rdx, %rsp\n"
	"	call *%rsi\n"
	"	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_stack_switch, .-own_stack_switch\n");

void own_stack_call(const struct thr *t, void (*fn)(void *), void *arg)
{
	if (!t->stack.own || own_stack_has(t, __builtin_frame_address(0)))
		fn(arg);
	else
		own_stack_switch(arg, fn, own_stack_steps(t));
}

int own_stack_has(const struct thr *t, const void *p)
{
	return t->stack.own && (uint64_t)p - t->stack.own < BYTES;
}

static uint64_t sp_of(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
}

uint64_t own_stack_program_sp(const struct thr *t, const void *here)
{
	return own_stack_has(t, here) && t->stack.uc ? sp_of(t->stack.uc) : 0;
}

static int on_alternate(const struct thr *t, uint64_t sp)
{
	return sp - (uint64_t)t->stack.alt.ss_sp < t->stack.alt.ss_size;
}

/* Has the handler that began at `begun` been left by a longjmp? Then the program is further up the same stack. */
static int is_left(const struct thr *t, uint64_t begun, uint64_t sp)
{
	return sp >= begun && sp - begun < SAME_STACK && on_alternate(t, sp) == on_alternate(t, begun);
}

/* If a handler was left, so were those that ran inside it, whatever stack they were on. */
static void forget_left(const struct thr *t, ucontext_t *uc)
{
	struct levels *s = levels_of(t);
	struct range r;

	for (uint64_t i = 0; i < s->n; i++)
		if (is_left(t, s->level[i].sp, sp_of(uc)))
			s->n = i;
	r = range_of(t, s->n);
	uc->uc_stack.ss_sp = (void *)r.low;
	uc->uc_stack.ss_size = r.top - r.low;
}

void own_stack_enter(struct thr *t, ucontext_t *uc)
{
	if (!own_stack_has(t, (void *)sp_of(uc)))
		t->stack.uc = uc;
	if (unlikely(uc->uc_stack.ss_size < FEW) && own_stack_has(t, uc->uc_stack.ss_sp) && t->stack.uc == uc)
		forget_left(t, uc);
}

void own_stack_stand(struct thr *t)
{
	static const uint8_t order[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSP, REG_RIP};

	if (!own_stack_program_sp(t, (void *)t->stand.reg[6]))
		return;
	for (unsigned i = 0; i < sizeof(order); i++)
		t->stand.reg[i] = (uint64_t)t->stack.uc->uc_mcontext.gregs[order[i]];
}

uint64_t fp_state_bytes(const void *fp)
{
	uint32_t magic, all;

	if (!fp)
		return 0;
	__builtin_memcpy(&magic, (const uint8_t *)fp + 464, 4);
	__builtin_memcpy(&all, (const uint8_t *)fp + 468, 4);
	return magic == FX_MAGIC && all > FX_BYTES ? all : FX_BYTES;
}

/*
 * The end of the kernel's frame that contains this context, which is the end of its floating-point state; 0: it has
 * none.
 */
static uint64_t frame_end(const ucontext_t *uc)
{
	const void *fp = uc->uc_mcontext.fpregs;

	return fp ? ((uint64_t)fp + fp_state_bytes(fp) + 63) & ~63ull : 0;
}

/*
 * The part of r that is free while the frames of this signal, from the kernel's down to `here`, are in use. That is the
 * part below them or, if frames to which no handler returns have been forgotten, the larger of the parts below and
 * above.
 */
static struct range beside(struct range r, const ucontext_t *uc, const void *here)
{
	uint64_t begin = ((uint64_t)here - MARGIN) & ~63ull, end = frame_end(uc);

	if (end > begin && end < r.top && r.top - end > begin - r.low)
		return (struct range){end, r.top};
	return (struct range){r.low, begin};
}

void own_stack_leave(struct thr *t, const void *here)
{
	struct levels *s = levels_of(t);
	struct range r;

	if (!own_stack_has(t, here) || !t->stack.uc)
		return;
	r = beside(range_of(t, s->n), t->stack.uc, here);
	if (s->n == LEVELS)
		__builtin_memmove(s->level, s->level + 1, --s->n * sizeof(s->level[0]));
	s->level[s->n++] = (struct level){r.low, r.top, (uint64_t)here, sp_of(t->stack.uc)};
	use(r);
}

void own_stack_back(struct thr *t, const void *here)
{
	struct levels *s = levels_of(t);
	stack_t none = {.ss_flags = SS_DISABLE};

	if (!own_stack_has(t, here) || !t->stack.uc)
		return;
	raw2(SYS_sigaltstack, &none, 0);
	for (uint64_t i = s->n; i; i--)
		if (s->level[i - 1].here == (uint64_t)here) {
			s->n = i - 1;
			return;
		}
}

static struct way_back *free_slot(struct levels *s)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (!s->slot[i].sp)
			return &s->slot[i];
	return 0;
}

uint64_t *own_stack_slot(const struct thr *t, uint64_t sp)
{
	struct levels *s = levels_of(t);
	struct way_back *use = free_slot(s);

	if (unlikely(!use)) {
		for (unsigned i = 0; i < SLOTS; i++)
			if (is_left(t, s->slot[i].sp, sp))
				s->slot[i].sp = 0;
		use = free_slot(s);
	}
	if (unlikely(!use))
		use = &s->slot[s->next++ % SLOTS];
	use->sp = sp;
	return &use->frame;
}

void own_stack_slot_done(uint64_t *slot)
{
	((struct way_back *)slot)->sp = 0;
}

/* ---- the program's alternate signal stack ---- */

int program_stack_has(const struct thr *t, uint64_t sp)
{
	return !((unsigned)t->stack.alt.ss_flags & AUTODISARM) && sp > (uint64_t)t->stack.alt.ss_sp &&
	       sp - (uint64_t)t->stack.alt.ss_sp <= t->stack.alt.ss_size;
}

uint64_t program_stack_end(const struct thr *t, uint64_t sp)
{
	return t->stack.alt.ss_size && !program_stack_has(t, sp) ? (uint64_t)t->stack.alt.ss_sp + t->stack.alt.ss_size
								 : 0;
}

/* Leaves the padding of struct stack_t as it is. */
static void write_stack(stack_t *to, void *sp, int flags, uint64_t size)
{
	to->ss_sp = sp;
	to->ss_flags = flags;
	to->ss_size = size;
}

static int shown_flags(const struct thr *t, uint64_t sp)
{
	int state = !t->stack.alt.ss_size ? SS_DISABLE : program_stack_has(t, sp) ? SS_ONSTACK : 0;

	return state | (int)((unsigned)t->stack.alt.ss_flags & AUTODISARM);
}

long program_stack_set(struct thr *t, const stack_t *set, stack_t *old, uint64_t sp)
{
	int flags = shown_flags(t, sp), mode = set ? (int)((unsigned)set->ss_flags & ~AUTODISARM) : 0;
	stack_t was = t->stack.alt;

	if (set) {
		if (program_stack_has(t, sp))
			return -1; /* EPERM */
		if (mode != SS_DISABLE && mode != SS_ONSTACK && mode)
			return -22; /* EINVAL */
		if (mode != SS_DISABLE && set->ss_size < MIN_BYTES)
			return -12; /* ENOMEM */
		write_stack(&t->stack.alt, mode == SS_DISABLE ? 0 : set->ss_sp, set->ss_flags,
			    mode == SS_DISABLE ? 0 : set->ss_size);
	}
	if (old)
		write_stack(old, was.ss_sp, flags, was.ss_size);
	return 0;
}

void program_stack_save(struct thr *t, stack_t *to)
{
	write_stack(to, t->stack.alt.ss_sp, t->stack.alt.ss_size ? t->stack.alt.ss_flags : SS_DISABLE,
		    t->stack.alt.ss_size);
	if ((unsigned)t->stack.alt.ss_flags & AUTODISARM)
		write_stack(&t->stack.alt, 0, SS_DISABLE, 0);
}

void program_stack_restore(struct thr *t, const stack_t *from, uint64_t sp)
{
	program_stack_set(t, from, 0, sp);
}
