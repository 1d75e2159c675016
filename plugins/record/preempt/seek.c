/* SPDX-License-Identifier: MIT */
/*
 * seek.c: replay: a PREEMPT record interrupts a computation (point.h): finds the place and goes on with the record.
 *
 * The search begins inside the event before. The first timer tick that finds the program's code running takes the
 * registers, and from there the thread goes to the place: in translated code, as a rule (seek_walk.c), which is exact
 * whatever else the machine does; by time (seek_time.c) where a debugger looks at each instruction, or where translated
 * code has failed.
 *
 * No breakpoint and no timer is left when the thread stands at an event: CRIU cannot dump a breakpoint.
 */
#include "record/preempt/seek.h"
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/event/turn.h"
#include "record/preempt/interrupt.h"
#include "record/preempt/lookahead.h"
#include "record/preempt/point.h"
#include "record/store/log.h"

#include <time.h>

#define QUIET_NS 2000u
#define TRACED_NS                                                                                                      \
	50000u /* the same where a tracer hears of each signal: in less the thread does not get out of the recorder */
#define SOON_TRIES 8u
#define SOON_MOST_NS 1000000u
#define COUNT_LOOK_NS 20000000u
#define COUNT_GIVE_UP_NS 5000000000ull
enum {
	VARIANT_THOROUGH = 1,
	VARIANT_TIME = 2
}; /* replay_ctl.variant: from this schedule variant on; in this one a thread goes by time */

/* ---- on the way ---- */

/*
 * Where signals take long, the thread does not get out of the recorder between two of them: allows more and more time,
 * as long as there is enough.
 */
static void come_soon(struct seek *s)
{
	uint64_t ns = s->traced && s->head.least_ns > 8 * TRACED_NS ? TRACED_NS : QUIET_NS;

	for (uint32_t i = SOON_TRIES; i <= s->in_vain && 16 * ns < s->head.least_ns && ns < SOON_MOST_NS;
	     i += SOON_TRIES)
		ns *= 2;
	s->in_vain++;
	seek_arm(s, ns);
}

static int may_walk(const struct seek *s)
{
	return s->walks && s->fd < 0 && !s->stepping && (!s->traced || G.ctl->blind);
}

/* The thread has come out of the recorder, which leaves something behind. */
static void look(struct seek *s, const ucontext_t *uc)
{
	uint64_t regs[POINT_REGS];

	if (s->looks && !may_walk(s))
		return;
	point_regs(uc, regs);
	seek_look(s, regs, 1);
	seek_rebase(s, regs, SEEK_ALL);
}

/* ---- to a place that is described by the number of its passes (chaos_step.c) ---- */

/*
 * The kernel counts the passes. A signal at each of them would come too often for it, and it would leave some out
 * (perf's limit of samples in a tick). The first tick is that of seek_begin(), inside the recorder.
 */
static void count_tick(struct thr *t, struct seek *s, ucontext_t *uc)
{
	if (s->fd < 0 && !s->stepping) {
		seek_watch(s, uc, s->head.hits);
		s->at_place_ns = task_cpu_ns();
	} else if (task_cpu_ns() - s->at_place_ns > COUNT_GIVE_UP_NS * (s->stepping ? STEPS_SLOWER : 1)) {
		seek_lost(t, "the place where a computation was interrupted does not come");
	}
	seek_arm(s, COUNT_LOOK_NS);
}

static void count_trap(struct thr *t, struct seek *s, ucontext_t *uc)
{
	s->hits += s->stepping ? 1 : s->period;
	if (s->hits < s->head.hits)
		return;
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RSP] != s->want[REG_RSP])
		seek_lost(t, "the place where a computation was interrupted is come to on another way");
	seek_found(t, s, uc);
}

void seek_tick(struct thr *t, ucontext_t *uc)
{
	struct seek *s = seek_of(t);

	if (!t->preempt.seeking)
		return;
	if (s->walking) {
		seek_walk_tick(t, s);
		return;
	}
	if (s->head.hits) {
		count_tick(t, s, uc);
		return;
	}
	if (t->depth || (!t->away && G.ctl->owner != t->ordinal) || interrupt_in_shim(uc)) {
		come_soon(s);
		return;
	}
	s->in_vain = 0;
	look(s, uc);
	if (may_walk(s) && !seek_walk_begin(t, s, uc))
		return;
	if (G.lookahead)
		lookahead_stop();
	time_tick(t, s, uc);
}

/*
 * The search can begin in a handler of the recorder's, at whose end rt_sigreturn(2) restores the flags from the frame:
 * single-stepping goes on from there. The program's first instruction is executed without a trap before it.
 */
static void step_out_of_handler(struct seek *s, const ucontext_t *uc)
{
	const uint8_t *pc = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	ucontext_t *program = (ucontext_t *)uc->uc_mcontext.gregs[REG_RSP];

	if (!interrupt_in_shim(uc) || uc->uc_mcontext.gregs[REG_RAX] != SYS_rt_sigreturn || pc[0] != 0x0f ||
	    pc[1] != 0x05 || interrupt_in_shim(program))
		return;
	seek_step(s, program);
	s->hits += (uint64_t)program->uc_mcontext.gregs[REG_RIP] == s->want[REG_RIP];
}

int seek_trap(siginfo_t *si, ucontext_t *uc)
{
	struct thr *t = self;
	struct seek *s;

	if (!t || !t->preempt.seeking || (si->si_code != TRAP_PERF_ && !seek_of(t)->stepping))
		return 0;
	s = seek_of(t);
	if (s->fd < 0 && !s->stepping)
		return 1; /* the signal was pending when the breakpoint was removed */
	if (s->stepping)
		step_out_of_handler(s, uc);
	if (t->depth || (!t->away && G.ctl->owner != t->ordinal))
		return 1;
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] != s->want[REG_RIP])
		return 1;
	if (s->head.hits)
		count_trap(t, s, uc);
	else if (s->walking)
		seek_found(t, s, uc);
	else
		time_trap(t, s, uc);
	return 1;
}

/* ---- the start ---- */

static void read_record(struct thr *t, struct seek *s)
{
	const uint8_t *at = t->log.rd;
	struct rlog_rec r;
	uint64_t len;

	if (rlog_next(shim_kinds(), &at, t->log.rd_end, &r) != RLOG_READ_OK || r.payload_len < sizeof(s->head))
		shim_fail("the record of an interruption is damaged");
	__builtin_memset(s, 0, offsetof(struct seek, want));
	__builtin_memset(s->must, 0, sizeof(s->must));
	__builtin_memcpy(&s->head, r.payload, sizeof(s->head));
	s->words = (uint32_t)(POINT_REGS + s->head.words);
	len = sizeof(s->head) + s->head.regions * sizeof(struct point_region) + s->head.words * 8;
	if (s->words > MAX_WORDS || s->head.blocks > POINT_BLOCKS ||
	    r.payload_len != len + s->head.blocks * sizeof(struct point_block))
		shim_fail("the record of an interruption is damaged");
	s->regions = r.payload + sizeof(s->head);
	s->blocks = r.payload + len;
	__builtin_memcpy(s->want, s->head.reg, sizeof(s->head.reg));
	__builtin_memcpy(s->want + POINT_REGS, s->blocks - s->head.words * 8, s->head.words * 8);
}

void seek_begin(struct thr *t)
{
	struct seek *s = point_area(t);

	if (!s)
		shim_fail("no memory for the place of an interruption");
	read_record(t, s);
	seek_start(s);
	s->walks = G.ctl->variant != VARIANT_TIME;
	/* a tracer is to see the program's code, except where it says that it does not look */
	s->traced = point_traced();
	s->thorough = G.ctl->variant >= VARIANT_THOROUGH;
	s->least_ns = STOP_NS;
	s->fd = -1;
	if (seek_make_timer(s))
		shim_fail("cannot make a timer");
	t->preempt.seeking = 1;
	s->begin_ns = task_cpu_ns();
	if (s->head.hits) /* the place may be anywhere from here on: goes to the handler now */
		raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), SIG_PREEMPT);
	else
		come_soon(s);
}
