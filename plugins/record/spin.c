/* SPDX-License-Identifier: MIT */
/*
 * spin.c: see spin.h. The loop that an instruction is in: those instructions from which control may come back to it, calls of
 * functions of a few instructions included. It waits if
 *
 *  - it reads memory at an address that is the same in each round, and
 *  - it writes only to the stack, or to other such addresses, or takes a lock there by an atomic instruction;
 *
 * or if it has a `pause`. A compiler reads memory again, in a loop that does not write, only where it must: of volatile and
 * atomic variables.
 *
 * A register varies if the loop computes with it, or loads it from where a varying one points, or from where it itself points
 * (as one that goes along a list does).
 */
#include "record/spin.h"

#include "record/insn.h"
#include "record/sys.h"

#include <string.h>

#define NODES 64u
#define FRAMES 6u
#define NEAR_LOOP 192 /* bytes that a loop in the text goes back, at most */
#define STACK_NEAR (1u << 20) /* bytes: of a frame */
#define SHORT_LOOP 6u /* instructions */
#define RSP 4u
#define RBP 5u
#define ALL_REGS 0xffffu

enum effect_flags {
	READS = 1, /* memory */
	WRITES = 2,
	ATOMIC = 4, /* cmpxchg, xchg */
	ON_STACK = 8, /* that memory is named by rsp or rbp */
	PAUSES = 16,
	UNKNOWN = 32, /* no loop that waits has such an instruction */
	TESTS = 64, /* compares, and keeps nothing */
};

struct effect {
	unsigned flags;
	unsigned computed, moved; /* registers, as bits: what it computes; what it copies, from `from` or from memory */
	unsigned from, base; /* the register that it copies; those of the address */
	uint64_t where; /* the same for two operands that name the same memory */
};

struct node {
	const uint8_t *at;
	struct insn i;
	struct effect e;
	uint8_t frame, nnext, in_loop;
	uint8_t next[2];
};

/* A function that is called in the loop, and where it returns to. 0: the loop's own. */
struct frame {
	const uint8_t *back;
	uint8_t up;
};

struct loop {
	struct node node[NODES];
	struct frame frame[FRAMES];
	unsigned n, nframes;
	const uint8_t *lo, *hi; /* only in there; NULL: anywhere */
	int frames_by_rbp; /* rbp points to the stack */
};

/* ---- what one instruction does ---- */

static unsigned reg_field(const uint8_t *p, const struct insn *i)
{
	return 1u << ((p[i->modrm_at] >> 3 & 7) | (i->rex & 4 ? 8 : 0));
}

static unsigned rm_field(const uint8_t *p, const struct insn *i)
{
	return 1u << ((p[i->modrm_at] & 7) | (i->rex & 1 ? 8 : 0));
}

static int is_memory(const uint8_t *p, const struct insn *i)
{
	return i->modrm_at && p[i->modrm_at] >> 6 != 3;
}

static void find_address(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	static const uint64_t none[16];
	unsigned m = p[i->modrm_at], sib = (m & 7) == 4 ? p[i->modrm_at + 1] : 0, base = (m & 7) == 4 ? sib & 7 : m & 7;

	e->where = insn_address(p, i, none);
	if (i->rip_at)
		return;
	if ((m & 7) == 4 && ((sib >> 3 & 7) != 4 || (i->rex & 2)))
		e->base |= 1u << ((sib >> 3 & 7) | (i->rex & 2 ? 8 : 0));
	if (m >> 6 || base != 5)
		e->base |= 1u << (base | (i->rex & 1 ? 8 : 0));
	e->where ^= (uint64_t)e->base << 48;
	if (e->base == 1u << RSP || (by_rbp && e->base == 1u << RBP))
		e->flags |= ON_STACK;
}

/* r/m is what it writes: a register that is computed, or memory. */
static void computes_rm(const uint8_t *p, const struct insn *i, struct effect *e)
{
	if (!is_memory(p, i))
		e->computed |= rm_field(p, i);
}

static void moves_rm_to_reg(const uint8_t *p, const struct insn *i, struct effect *e)
{
	e->moved = reg_field(p, i);
	e->from = is_memory(p, i) ? 0 : rm_field(p, i);
}

static void moves_reg_to_rm(const uint8_t *p, const struct insn *i, struct effect *e)
{
	e->from = reg_field(p, i);
	e->moved = is_memory(p, i) ? 0 : rm_field(p, i);
}

/* add, or, adc, sbb, and, sub, xor, cmp: op's middle says which; its low bits the operands. */
static void arithmetic(const uint8_t *p, const struct insn *i, struct effect *e)
{
	unsigned which = i->op >> 3 & 7, form = i->op & 7;
	int same = form < 4 && !is_memory(p, i) && reg_field(p, i) == rm_field(p, i);

	if (which == 7)
		e->flags |= TESTS;
	else if (which == 6 && same) /* it becomes 0 */
		e->moved = rm_field(p, i);
	else if ((which == 1 || which == 4) && same)
		e->flags |= TESTS;
	else if (form < 2)
		computes_rm(p, i, e);
	else
		e->computed |= form < 4 ? reg_field(p, i) : 1;
}

static void by_middle(const uint8_t *p, const struct insn *i, struct effect *e)
{
	unsigned middle = p[i->modrm_at] >> 3 & 7;

	switch (i->op) {
	case 0x80:
	case 0x81:
	case 0x83:
		if (middle == 7)
			e->flags |= TESTS;
		else
			computes_rm(p, i, e);
		break;
	case 0xf6:
	case 0xf7:
		if (middle < 2)
			e->flags |= TESTS;
		else if (middle < 4)
			computes_rm(p, i, e);
		else
			e->computed |= 1u | 1u << 2;
		break;
	default: /* fe, ff */
		if (middle < 2)
			computes_rm(p, i, e);
		else if (middle != 6 && i->kind == INSN_PLAIN)
			e->flags |= UNKNOWN;
	}
}

static void lea(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	struct effect address = {0};

	find_address(p, i, by_rbp, &address);
	if (i->rip_at || (address.flags & ON_STACK))
		e->moved = reg_field(p, i);
	else
		e->computed = reg_field(p, i);
}

static void one_byte(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	unsigned low = 1u << ((i->op & 7) | (i->rex & 1 ? 8 : 0));

	if (i->op < 0x40) {
		arithmetic(p, i, e);
		return;
	}
	switch (i->op) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0xa8 ... 0xa9:
	case 0x9b:
		break;
	case 0x58 ... 0x5f:
		e->moved = low;
		e->flags |= READS | ON_STACK;
		break;
	case 0x69:
	case 0x6b:
		e->computed = reg_field(p, i);
		break;
	case 0x80 ... 0x83:
	case 0xf6 ... 0xf7:
	case 0xfe ... 0xff:
		by_middle(p, i, e);
		break;
	case 0x84 ... 0x85:
		e->flags |= TESTS;
		break;
	case 0x86 ... 0x87:
		e->flags |= ATOMIC;
		e->moved = reg_field(p, i);
		break;
	case 0x88 ... 0x89:
		moves_reg_to_rm(p, i, e);
		break;
	case 0x63:
	case 0x8a ... 0x8b:
		moves_rm_to_reg(p, i, e);
		break;
	case 0x8d:
		lea(p, i, by_rbp, e);
		break;
	case 0x90:
		e->flags |= p[0] == 0xf3 ? PAUSES : 0;
		break;
	case 0x98: /* cltq */
		e->moved = e->from = 1;
		break;
	case 0x99:
		e->moved = 1u << 2;
		e->from = 1;
		break;
	case 0xb0 ... 0xbf:
		e->moved = low;
		break;
	case 0xc0 ... 0xc1:
	case 0xd0 ... 0xd3:
		computes_rm(p, i, e);
		break;
	case 0xc6 ... 0xc7:
		if (!is_memory(p, i))
			e->moved = rm_field(p, i);
		break;
	case 0xc9: /* leave */
		break;
	default:
		e->flags |= UNKNOWN;
	}
}

static void two_bytes(const uint8_t *p, const struct insn *i, struct effect *e)
{
	switch (i->op) {
	case 0x0d:
	case 0x1e ... 0x1f:
	case 0xae: /* fences */
		break;
	case 0x40 ... 0x4f:
	case 0xb6 ... 0xb7:
	case 0xbe ... 0xbf:
		moves_rm_to_reg(p, i, e);
		break;
	case 0x90 ... 0x9f: /* set */
		if (!is_memory(p, i))
			e->moved = rm_field(p, i);
		break;
	case 0xa3:
		e->flags |= TESTS;
		break;
	case 0xb0 ... 0xb1:
		e->flags |= ATOMIC | TESTS;
		e->moved = 1;
		break;
	case 0xaf:
	case 0xbc ... 0xbd:
		e->computed = reg_field(p, i);
		break;
	case 0xab:
	case 0xb3:
	case 0xba:
	case 0xbb: /* lock bts and the like */
		e->flags |= ATOMIC | TESTS;
		computes_rm(p, i, e);
		break;
	default:
		e->flags |= UNKNOWN;
	}
}

static void find_effect(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	memset(e, 0, sizeof(*e));
	if (i->kind == INSN_STOP || i->kind == INSN_LOOP)
		e->flags = UNKNOWN;
	if (i->kind != INSN_PLAIN)
		return;
	if (i->map == 0)
		one_byte(p, i, by_rbp, e);
	else if (i->map == 1 && i->op_at && p[i->op_at - 1] == 0x0f)
		two_bytes(p, i, e);
	else
		e->flags |= UNKNOWN;
	if (!is_memory(p, i) || !(i->map == 0 ? i->op != 0x8d : i->op != 0x0d && (i->op & 0xf8) != 0x18))
		return;
	find_address(p, i, by_rbp, e);
	e->flags |= insn_may_write(p, i) ? WRITES : READS;
	if (e->flags & ATOMIC)
		e->flags |= READS;
}

/* ---- the loop ---- */

static int find_node(const struct loop *l, const uint8_t *at, unsigned frame)
{
	for (unsigned k = 0; k < l->n; k++)
		if (l->node[k].at == at && l->node[k].frame == frame)
			return (int)k;
	return -1;
}

static int find_frame(struct loop *l, const uint8_t *back, unsigned up)
{
	for (unsigned k = 1; k < l->nframes; k++)
		if (l->frame[k].back == back && l->frame[k].up == up)
			return (int)k;
	if (l->nframes == FRAMES)
		return -1;
	l->frame[l->nframes] = (struct frame){back, (uint8_t)up};
	return (int)l->nframes++;
}

/* From node k on to this one. There may be too many: then the way ends here. */
static void lead(struct loop *l, unsigned k, const uint8_t *at, unsigned frame)
{
	int to = find_node(l, at, frame);

	if (to < 0) {
		if (l->n == NODES || (l->lo && (at < l->lo || at >= l->hi)))
			return;
		to = (int)l->n++;
		l->node[to] = (struct node){.at = at, .frame = (uint8_t)frame};
		insn_decode(at, &l->node[to].i);
		find_effect(at, &l->node[to].i, l->frames_by_rbp, &l->node[to].e);
	}
	l->node[k].next[l->node[k].nnext++] = (uint8_t)to;
}

static void follow(struct loop *l, unsigned k)
{
	const struct node *x = &l->node[k];
	const uint8_t *behind = x->at + x->i.len, *target = (const uint8_t *)x->i.target;
	int frame;

	if (x->e.flags & UNKNOWN)
		return;
	switch (x->i.kind) {
	case INSN_PLAIN:
		lead(l, k, behind, x->frame);
		break;
	case INSN_JCC:
		lead(l, k, target, x->frame);
		lead(l, k, behind, x->frame);
		break;
	case INSN_JMP:
		lead(l, k, target, x->frame);
		break;
	case INSN_CALL:
		frame = l->lo ? -1 : find_frame(l, behind, x->frame);
		if (frame > 0)
			lead(l, k, target, (unsigned)frame);
		break;
	case INSN_RET:
		if (x->frame)
			lead(l, k, l->frame[x->frame].back, l->frame[x->frame].up);
		break;
	default:
		break;
	}
}

/* All that may follow `at`, and of it what may come back there. 0: it is in no loop. */
static int find_loop(struct loop *l, const uint8_t *at)
{
	int more = 1, any = 0;

	l->n = 1;
	l->nframes = 1;
	l->node[0] = (struct node){.at = at};
	insn_decode(at, &l->node[0].i);
	find_effect(at, &l->node[0].i, l->frames_by_rbp, &l->node[0].e);
	for (unsigned k = 0; k < l->n; k++)
		follow(l, k);
	while (more) {
		more = 0;
		for (unsigned k = 0; k < l->n; k++) {
			struct node *x = &l->node[k];

			for (unsigned j = 0; j < x->nnext && !x->in_loop; j++)
				if (x->next[j] == 0 || l->node[x->next[j]].in_loop)
					more = x->in_loop = 1;
			any |= x->in_loop;
		}
	}
	return any && l->node[0].in_loop;
}

#define EACH(l, x) for (struct node *x = (l)->node; x < (l)->node + (l)->n; x++) if (x->in_loop)

struct sum {
	unsigned flags, computed, varying;
	int stack_varies; /* what is kept there */
	int stack_stores;
};

static int is_written(struct loop *l, uint64_t where)
{
	EACH(l, x)
		if ((x->e.flags & (WRITES | ATOMIC)) == WRITES && x->e.where == where)
			return 1;
	return 0;
}

static void spread_one(struct loop *l, const struct effect *e, struct sum *s)
{
	unsigned to = e->moved;

	if (e->flags & WRITES) {
		if ((e->flags & ON_STACK) && (!e->from || (e->from & s->varying)) && !(e->flags & ATOMIC))
			s->stack_varies = 1;
		if (!(e->flags & ATOMIC))
			return;
	}
	if (!(e->flags & READS))
		s->varying |= e->from & s->varying ? to : 0;
	else if (e->flags & ON_STACK)
		s->varying |= s->stack_varies ? to : 0;
	else if ((e->base & (s->varying | to)) || is_written(l, e->where))
		s->varying |= to;
}

/* Writes of a constant to the stack count as such of a varying value: they may be steps of a computation there. */
static void spread(struct loop *l, struct sum *s)
{
	for (int round = 0; round < 4; round++)
		EACH(l, x)
			spread_one(l, &x->e, s);
	s->varying &= ~(1u << RSP);
}

/* Does this instruction leave in its register what each round leaves there? stays: registers that the loop leaves as they are, or so. */
static int is_same_each_round(struct loop *l, const struct effect *e, unsigned stays)
{
	if (e->flags & (READS | ATOMIC))
		return !(e->flags & (ATOMIC | ON_STACK)) && !(e->base & ~stays) && !is_written(l, e->where);
	return !(e->from & ~stays);
}

static unsigned moved_only_so(struct loop *l, unsigned reg, unsigned stays)
{
	EACH(l, x)
		if ((x->e.moved & reg) && !is_same_each_round(l, &x->e, stays))
			return 0;
	return reg;
}

/* The other way round, for certain: all registers vary but those of which it is known that they do not. */
static void keep_certain(struct loop *l, struct sum *s)
{
	unsigned moved = 0, stays, before;

	EACH(l, x)
		moved |= x->e.moved;
	stays = ALL_REGS & ~(moved | s->computed);
	do {
		before = stays;
		for (unsigned r = 0; r < 16; r++)
			if (moved & ~s->computed & ~stays & 1u << r)
				stays |= moved_only_so(l, 1u << r, stays);
	} while (stays != before);
	s->varying = ALL_REGS & ~stays & ~(1u << RSP);
}

static struct sum add_up(struct loop *l, int strict)
{
	struct sum s = {0};

	EACH(l, x) {
		s.flags |= x->e.flags & (PAUSES | UNKNOWN | TESTS | ATOMIC);
		s.computed |= x->e.computed & ~(1u << RSP);
		s.stack_stores |= (x->e.flags & (WRITES | ON_STACK)) == (WRITES | ON_STACK);
	}
	s.varying = s.computed;
	if (strict)
		keep_certain(l, &s);
	else
		spread(l, &s);
	return s;
}

/* Is it memory that is in the same place in each round, and that the loop itself does not change? */
static int looks(struct loop *l, const struct effect *e, const struct sum *s)
{
	if (!(e->flags & READS) || (e->base & s->varying))
		return 0;
	if (e->flags & ATOMIC)
		return 1;
	/* a compiler keeps there what it has no register for */
	if ((e->flags & ON_STACK) && (s->computed || s->stack_stores))
		return 0;
	return !is_written(l, e->where);
}

static int any_looks(struct loop *l, const struct sum *s)
{
	EACH(l, x)
		if (looks(l, &x->e, s))
			return 1;
	return 0;
}

/* All that it reads. */
static int only_looks(struct loop *l, const struct sum *s)
{
	EACH(l, x)
		if ((x->e.flags & READS) && !(x->e.flags & ON_STACK) && !looks(l, &x->e, s))
			return 0;
	return any_looks(l, s);
}

static int is_on_stack(const struct effect *e)
{
	return (e->flags & ON_STACK) || e->base == 1u << RBP;
}

/* strict: to the stack only around an atomic instruction, and elsewhere only by one. */
static int writes_too_much(struct loop *l, const struct sum *s, int strict)
{
	EACH(l, x) {
		if (!(x->e.flags & WRITES) || (x->e.flags & ATOMIC))
			continue;
		if (strict ? !is_on_stack(&x->e) || !(s->flags & ATOMIC) : !(x->e.flags & ON_STACK) && (x->e.base & s->varying))
			return 1;
	}
	return 0;
}

static unsigned length(struct loop *l)
{
	unsigned n = 0;

	EACH(l, x)
		n++;
	return n;
}

static int waits(struct loop *l, const uint8_t *at, int strict)
{
	struct sum s;

	if (!find_loop(l, at))
		return 0;
	s = add_up(l, strict);
	if (s.flags & PAUSES)
		return 1;
	if ((s.flags & UNKNOWN) || writes_too_much(l, &s, strict))
		return 0;
	if (!strict)
		return any_looks(l, &s);
	/* one that computes, as one that counts how often it has looked, or a long one, may be a part of a larger loop that does more */
	return (s.flags & TESTS) && ((s.flags & ATOMIC) || (!s.computed && length(l) <= SHORT_LOOP)) && only_looks(l, &s);
}

int spin_here(const ucontext_t *uc)
{
	const greg_t *reg = uc->uc_mcontext.gregs;
	struct loop l;

	l.lo = l.hi = 0;
	l.frames_by_rbp = (uint64_t)reg[REG_RBP] - (uint64_t)reg[REG_RSP] < STACK_NEAR;
	return waits(&l, (const uint8_t *)reg[REG_RIP], 0);
}

int spin_in_text(const uint8_t *from, const uint8_t *end)
{
	struct insn i;
	struct loop l;

	l.frames_by_rbp = 0;
	for (const uint8_t *p = from; p + 32 < end; p += i.len) {
		const uint8_t *target;

		insn_decode(p, &i);
		if (i.kind == INSN_STOP || !i.len) {
			i.len = 1;
			continue;
		}
		if (i.kind != INSN_JCC && i.kind != INSN_JMP)
			continue;
		target = (const uint8_t *)i.target;
		if (target > p || p - target > NEAR_LOOP || target < from)
			continue;
		l.lo = target;
		l.hi = p + i.len;
		if (waits(&l, target, 1))
			return 1;
	}
	return 0;
}

/* ---- threads that sleep between two looks ---- */

#define WATCH_NS 4000000u /* without an event; from one look at the others to the next, at least, and at most: */
#define WATCH_MOST_NS 256000000u
#define ANSWER_NS 20000000l /* it may wait for a processor */
#define ANSWER_LOOKS 400

static int is_alone(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && G.thr[i].tid && !G.thr[i].exited)
			return 0;
	return 1;
}

/*
 * A thread that sleeps, or gives way, and does so again without another call in between, has looked at memory for what another
 * thread is to write there: nothing else can have changed.
 */
static int polls(struct thr *t, long nr, const long *a, const uint8_t *from)
{
	int again;

	if (nr != SYS_sched_yield && !sys_sleep_ns(nr, a))
		return 0;
	again = t->slept_to == from && t->slept_nr == nr;
	t->slept_to = t->log.cur;
	t->slept_nr = (uint32_t)nr;
	return again && !is_alone(t);
}

/* Its handler has looked, or it waits for a processor. */
static void await_answer(const struct thr *x)
{
	const long pause[2] = {0, ANSWER_NS / ANSWER_LOOKS};

	for (int i = 0; i < ANSWER_LOOKS && __atomic_load_n(&x->preempt, __ATOMIC_ACQUIRE); i++)
		raw2(SYS_nanosleep, pause, 0);
}

/* Asks those that have made no event for a while whether they spin (interrupt.c); more and more rarely, while none of them does. */
static void watch_others(const struct thr *t)
{
	static uint64_t next, every_ns = WATCH_NS;
	uint64_t now = stamp_now(), mhz = G.control->tsc_hz / 1000000, was = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (now < was ||
	    !__atomic_compare_exchange_n(&next, &was, now + every_ns / 1000 * mhz, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		struct thr *x = &G.thr[i];

		if (x == t || !x->tid || x->exited || x->own_process || x->depth || x->blocking ||
		    x->last_stamp + WATCH_NS / 1000 * mhz > now)
			continue;
		interrupt_poke(x);
		await_answer(x);
		if (every_ns < WATCH_MOST_NS)
			every_ns *= 2;
	}
}

void spin_behind_call(struct thr *t, long nr, const long *a, const uint8_t *from)
{
	const char *why = 0;
	char text[232], *p;

	if (G.mode == SHIM_REPLAY) {
		gil_start_replay(t);
		return;
	}
	if (G.control->clock || G.control->tsc_hz < 1000000)
		return;
	watch_others(t);
	if (polls(t, nr, a, from))
		why = "one thread ran at a time from where one looked at memory between two sleeps, at ";
	else if (__atomic_load_n(&G.spins, __ATOMIC_RELAXED))
		why = "one thread ran at a time from where one spun, as seen at ";
	if (!why)
		return;
	p = fmt_str(text, text + sizeof(text), why);
	describe_caller(t->caller, p, (unsigned)(text + sizeof(text) - p));
	note(RLOG_NOTE_CHOICE, 0, text);
	gil_start_now(t);
}
