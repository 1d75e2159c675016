/* SPDX-License-Identifier: MIT */
/*
 * chaos_hot.c: --sched chaos: makes threads meet at one variable. Where chaos_step.c needs luck for each of the
 * interruptions that a bug takes, this holds a thread in front of an access until another one is about to access the
 * same address, and then draws which of the two goes first (Sen, "Race directed random testing of concurrent
 * programs"): any number of times, and however long the computation before is.
 *
 * A hardware breakpoint each stands on up to four instructions that access one variable: the same address relative to
 * their own, or the same member after some pointer. They are drawn from what stands in the program's code where its
 * threads begin, after the calls that it makes, in functions whose addresses those are given, and where it is
 * interrupted. The passes of a breakpoint are counted, so a place is known as in chaos_step.c: by its address and the
 * number of passes since the event. Each thread's breakpoints are set when it gets the turn.
 */
#include "record/chaos/interrupts.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/dbt/insn.h"
#include "record/preempt/interrupt.h"
#include "record/preempt/point.h"
#include "record/sched/chaos.h"

#define SPOTS 4u /* as many as the processor has */
#define POOL 256u
#define SCAN_INSNS 160u /* of a function, at most */
#define SCAN_CALLS 2u /* depth to which calls are followed */
#define ARGUMENT_BYTES 80u /* bytes of code before a call that are examined */
#define RENEWS                                                                                                         \
	6u /* others are drawn after 32 to 32 << 5 events, on average; or when twice as many instructions are known */
#define DULL 16u /* after this many passes without a meeting, an instruction is replaced */
/*
 * hits of a thread with one set of instructions. Each takes some microseconds; and if there are more than
 * perf_event_max_sample_rate allows in a tick of the kernel (100 of 100,000 a second, at 1,000 ticks), the kernel
 * leaves some out.
 */
#define MAX_HITS 96u
#define MAX_STOPS 400u /* in a process: a replay takes some time to find each */
#define FLAG_RESUME 0x10000 /* the processor passes over a breakpoint */
#define PAGE 4096u
#define MAX_INSN 15u
#define BY_POINTER (1ull << 63) /* in a key: a member, not a variable */

struct access {
	uint64_t pc; /* where a thread can be held: at the instruction, or after it, if it writes */
	uint64_t insn, key;
	int writes;
};

struct thread_spots {
	uint32_t set; /* hot.set, when its breakpoints were set */
	const uint8_t *cur; /* the end of its log, when counting began */
	uint64_t resumed; /* it was interrupted here, and has made no event since */
	const uint8_t *resumed_cur;
	uint32_t hits; /* hits with this set */
	uint32_t count[SPOTS];
};

static struct {
	int on;
	struct access pool[POOL];
	uint32_t pooled, drawn_from, renew;
	uint32_t set, spots; /* which set of instructions; how many it has */
	struct access spot[SPOTS];
	uint32_t passed[SPOTS]; /* passes at which no thread was held */
	uint32_t stops;
	uint32_t asked, held; /* ordinals: of the thread that is about to be held; of the one that is held */
	uint64_t address; /* the address that the held thread is about to access */
	struct thread_spots of[RLOG_MAX_THREADS];
} hot;

/* ---- which instructions are examined ---- */

/* Opcodes with an operand in memory that they write to; middle: of ModRM. */
static int writes_one_byte(unsigned op, unsigned middle)
{
	return split_changes(op, middle) || (op >= 0x86 && op <= 0x89) || op == 0x8f || op == 0xc6 || op == 0xc7;
}

static int writes(const uint8_t *p, const struct insn *i)
{
	static const uint8_t two[] = {0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xab, 0xb0, 0xb1,
				      0xb3, 0xbb, 0xc0, 0xc1, 0xc3, 0xc7, 0xd6, 0xe7};

	if (!i->op_at || p[i->op_at - 1] != 0x0f)
		return writes_one_byte(i->op, p[i->modrm_at] >> 3 & 7);
	for (unsigned k = 0; k < sizeof(two); k++)
		if (i->op == two[k])
			return 1;
	return (i->op & 0xf0) == 0x90;
}

/* Is the address relative to the stack pointer, or below the frame pointer? */
static int is_local(const uint8_t *p, const struct insn *i, uint64_t distance)
{
	unsigned base = p[i->modrm_at] & 7;

	if (base == 4)
		base = p[i->modrm_at + 1] & 7;
	return !(i->rex & 1) && (base == 4 || (base == 5 && (int64_t)distance < 0));
}

/* The variable that it accesses, as far as the code shows; 0: nothing that may be shared. */
static uint64_t key_of(uint64_t pc, const struct insn *i)
{
	static const uint64_t none[16], some[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const uint8_t *p = (const uint8_t *)pc;
	uint64_t distance = insn_address(p, i, none);

	if (i->rip_at)
		return distance;
	if (insn_address(p, i, some) == distance) /* nothing in memory, or at a fixed address */
		return 0;
	return is_local(p, i, distance) ? 0 : BY_POINTER | (distance & 0xffffffff);
}

static void add(struct access a)
{
	uint32_t at = hot.pooled;

	for (uint32_t k = 0; k < hot.pooled; k++)
		if (hot.pool[k].pc == a.pc && hot.pool[k].key == a.key)
			return;
	if (hot.pooled < POOL)
		hot.pooled++;
	else
		at = chaos_random(POOL);
	hot.pool[at] = a;
}

static void look_at(uint64_t pc, const struct insn *i)
{
	struct access a = {.pc = pc, .insn = pc, .key = key_of(pc, i)};

	if (!a.key)
		return;
	a.writes = writes((const uint8_t *)pc, i);
	add(a);
	if (a.writes) {
		a.pc += i->len;
		add(a);
	}
}

/*
 * The address that is loaded by lea DISTANCE(%rip), or mov $ADDRESS to a 32-bit register, as for a function that is
 * passed on.
 */
static uint64_t passed_on(const uint8_t *p)
{
	int32_t value;

	if ((*p & 0xfb) == 0x48 && p[1] == 0x8d && (p[2] & 0xc7) == 5) {
		__builtin_memcpy(&value, p + 3, sizeof(value));
		return (uint64_t)p + 7 + (uint64_t)(int64_t)value;
	}
	if ((*p & 0xf8) != 0xb8)
		return 0;
	__builtin_memcpy(&value, p + 1, sizeof(value));
	return (uint64_t)value;
}

/* Examines the code from pc to the end of its function, as far as that can be told. */
static void scan(uint64_t pc, unsigned depth)
{
	uint64_t furthest = pc, calls[8];
	unsigned n = 0;

	for (unsigned k = 0; k < SCAN_INSNS && chaos_in_text(pc + MAX_INSN); k++) {
		struct insn i;

		insn_decode((const uint8_t *)pc, &i);
		if ((i.kind == INSN_JCC || i.kind == INSN_JMP) && i.target > furthest && i.target - pc < PAGE)
			furthest = i.target;
		if (i.kind == INSN_CALL && chaos_in_text(i.target) && n < sizeof(calls) / sizeof(calls[0]))
			calls[n++] = i.target;
		if (chaos_in_text(passed_on((const uint8_t *)pc)) && n < sizeof(calls) / sizeof(calls[0]))
			calls[n++] = passed_on((const uint8_t *)pc);
		if (i.kind == INSN_STOP || (i.kind != INSN_PLAIN && i.kind != INSN_JCC && i.kind != INSN_CALL &&
					    i.kind != INSN_CALL_BY && i.kind != INSN_LOOP && pc >= furthest))
			break;
		look_at(pc, &i);
		pc += i.len;
	}
	for (unsigned k = 0; k < n && depth; k++)
		scan(calls[k], depth - 1);
}

/*
 * Examines functions whose addresses are loaded by the code before a call: a library may call them, perhaps in threads
 * of its own (OpenMP).
 */
static void scan_arguments(uint64_t pc)
{
	for (unsigned back = 5; back <= ARGUMENT_BYTES; back++) {
		uint64_t fn = chaos_in_text(pc - back) ? passed_on((const uint8_t *)pc - back) : 0;

		if (chaos_in_text(fn))
			scan(fn, SCAN_CALLS);
	}
}

void hot_see(uint64_t pc)
{
	if (!hot.on || !chaos_in_text(pc))
		return;
	scan(pc, SCAN_CALLS);
	scan_arguments(pc);
}

/* Does any instruction write to it? What is only read does not depend on the order of threads. */
static int is_written(uint64_t key)
{
	for (uint32_t i = 0; i < hot.pooled; i++)
		if (hot.pool[i].key == key && hot.pool[i].writes)
			return 1;
	return 0;
}

static void take_spots(uint64_t key, uint32_t most)
{
	uint32_t from = chaos_random(hot.pooled), end = hot.spots + most < SPOTS ? hot.spots + most : SPOTS;

	for (uint32_t k = 0; k < hot.pooled && hot.spots < end; k++) {
		const struct access *a = &hot.pool[(from + k) % hot.pooled];
		uint32_t i = 0;

		while (i < hot.spots && hot.spot[i].pc != a->pc)
			i++;
		if (a->key == key && i == hot.spots)
			hot.spot[hot.spots++] = *a;
	}
}

/* Releases the held thread. */
static void release(void)
{
	if (hot.held)
		chaos_let_go(hot.held);
	hot.held = 0;
}

/* Removes the variable: it is not drawn again. */
static void forget(uint64_t key)
{
	for (uint32_t i = 0; i < hot.pooled; i++)
		if (hot.pool[i].key == key)
			hot.pool[i].writes = 0;
	hot.drawn_from = 0;
}

static void draw(void)
{
	uint32_t most = SPOTS >> chaos_random(2);

	release();
	hot.spots = 0;
	for (int tries = 0; tries < 8 && hot.spots < SPOTS; tries++) {
		uint64_t key = hot.pool[chaos_random(hot.pooled)].key;

		if (is_written(key))
			take_spots(key, most);
	}
	__builtin_memset(hot.passed, 0, sizeof(hot.passed));
	hot.drawn_from = hot.pooled;
	hot.set++;
}

/* ---- breakpoints ---- */

/*
 * A breakpoint exists as long as its page is mapped, and needs no descriptor, which the program could see. A forked
 * child does not have it.
 */
_Static_assert(SPOTS *PAGE <= 1u << SHIM_HOT_SHIFT, "the pages of threads do not overlap");

static void *page_of(const struct thr *t, uint32_t i)
{
	return (void *)(SHIM_HOT_ADDR + ((uint64_t)t->ordinal << SHIM_HOT_SHIFT) + (uint64_t)i * PAGE);
}

static int set_spot(const struct thr *t, uint32_t i, uint64_t pc)
{
	int fd = point_breakpoint(pc, 1);
	void *at;

	if (fd < 0)
		return -1;
	at = raw_mmap(page_of(t, i), PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	raw_close(fd);
	return raw_failed(at) ? -1 : 0;
}

static void clear_spots(const struct thr *t)
{
	raw2(SYS_munmap, page_of(t, 0), SPOTS * PAGE);
}

void hot_arm(struct thr *t)
{
	struct thread_spots *o = &hot.of[t->ordinal];

	if (hot.held == t->ordinal)
		hot.held = 0;
	hot.asked = 0;
	if (!hot.on || o->set == hot.set)
		return;
	clear_spots(t);
	o->set = hot.set;
	o->cur = 0;
	o->hits = 0;
	for (uint32_t i = 0; i < hot.spots; i++)
		if (set_spot(t, i, hot.spot[i].pc)) {
			clear_spots(t);
			hot.on = 0;
			return;
		}
}

void hot_event(struct thr *t)
{
	if (!hot.on || !G.mt || !hot.pooled)
		return;
	if (hot.pooled >= 2 * hot.drawn_from || chaos_random(hot.renew) == 0)
		draw();
	hot_arm(t);
}

int hot_init(uint64_t any_pc)
{
	const struct thr *t = &G.thr[1];

	__builtin_memset(&hot, 0, sizeof(hot));
	/* a debugger needs the processor's breakpoints itself */
	hot.on = any_pc && !point_traced() && !set_spot(t, 0, any_pc);
	clear_spots(t);
	hot.renew = 32u << chaos_random(RENEWS);
	return hot.on;
}

/* ---- meetings ---- */

/* Is this the pass with which the thread goes on after an interruption (hot_resumes)? It was held there already. */
static int is_resumed(const struct thr *t, uint32_t i)
{
	const struct thread_spots *o = &hot.of[t->ordinal];

	return o->count[i] == 1 && o->resumed == hot.spot[i].pc && o->resumed_cur == t->log.cur;
}

/* The address that t accesses here, if it may be held; 0: it may not. */
static uint64_t accessed(const struct thr *t, const ucontext_t *uc, uint32_t i)
{
	uint64_t a;

	if (!step_lets_in(t) || t->depth || point_in_middle(uc) || is_resumed(t, i))
		return 0;
	a = step_address(uc, hot.spot[i].insn);
	return step_is_shared(uc, a) ? a : 0;
}

/* Is this thread held? The probability falls as long as no other thread comes. */
static int decide(const struct thr *t, uint32_t i, uint64_t address)
{
	uint32_t n;

	if (hot.held && hot.held != t->ordinal) {
		if (hot.address != address && chaos_random(8))
			return 0;
		/* the held thread stays held, goes first, or goes on in its usual order */
		hot.passed[i] = 0;
		n = chaos_random(8);
		if (n > 2)
			release();
		return n > 3;
	}
	n = ++hot.passed[i];
	if (n == DULL)
		forget(hot.spot[i].key);
	return chaos_random(n < 4 ? 2 : n) == 0;
}

/*
 * A thread has come to one of the instructions. A breakpoint of an earlier set is ignored: only passes count that all
 * present breakpoints have seen since the event.
 */
int hot_trap(const siginfo_t *si, ucontext_t *uc)
{
	struct thr *t = self;
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP], address;
	struct thread_spots *o;
	uint32_t i = 0;

	if (si->si_code != TRAP_PERF_ || !t)
		return 0;
	o = &hot.of[t->ordinal];
	while (i < hot.spots && hot.spot[i].pc != pc)
		i++;
	if (!hot.on || i == hot.spots || o->set != hot.set)
		return 1;
	if (o->cur != t->log.cur) {
		o->cur = t->log.cur;
		__builtin_memset(o->count, 0, sizeof(o->count));
	}
	o->count[i]++;
	if (++o->hits == MAX_HITS) { /* a loop, which this slows down: no more hits until others are drawn */
		clear_spots(t);
		forget(hot.spot[i].key);
	}
	task_not_computing(t);
	address = accessed(t, uc, i);
	if (!address || hot.stops >= MAX_STOPS || !decide(t, i, address))
		return 1;
	hot.stops++;
	hot.asked = t->ordinal;
	hot.address = address; /* no other thread is held any more */
	t->chaos.place_hits = o->count[i];
	interrupt_take(t, uc);
	return 1;
}

void hot_page(const struct thr *t, const uint8_t *cur)
{
	struct thread_spots *o = &hot.of[t->ordinal];

	if (o->cur == cur)
		o->cur = t->log.cur;
	if (o->resumed_cur == cur)
		o->resumed_cur = t->log.cur;
}

void hot_resumes(const struct thr *t, ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;

	g[REG_EFL] &= ~(greg_t)FLAG_RESUME;
	hot.of[t->ordinal].resumed = (uint64_t)g[REG_RIP];
	hot.of[t->ordinal].resumed_cur = t->log.cur;
}

int hot_holds(uint32_t ordinal)
{
	if (!hot.asked || hot.asked != ordinal)
		return 0;
	hot.asked = 0;
	hot.held = ordinal;
	return 1;
}
