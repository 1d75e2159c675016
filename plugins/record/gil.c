/* SPDX-License-Identifier: MIT */
/*
 * gil.c: recording with --sched serial or chaos: one thread at a time runs the program's code.
 *
 * A thread holds the gil while it runs, and gives it up only right behind a stamped record: at an event
 * when its slice is over and others wait (gil_point), or around a call that may wait (gil_block, which
 * logs a YIELD when the last record is none of its own that is stamped). So the segments of the timeline
 * are what really ran without interruption, and data races, atomics and lock-free code replay exactly.
 *
 * The exception: a thread that has made no event for a while, although others wait, spins until one of
 * them does something. The first of those sends it SIG_PREEMPT, and its handler logs a PREEMPT there. On
 * replay the owner of such a record is interrupted in the same way after the same time, some turns of the
 * loop earlier or later.
 *
 * Forbidden: to be interrupted by a handler that comes here too. Signals queue while blocking is 0.
 */
#include "record/group.h"
#include "record/shim.h"

#include <time.h>
#include <ucontext.h>

#define SLICE_HZ 1000u /* slices a second */
#define SLICE_COUNTED 500u /* stamps, where they are a counter */
#define PATIENCE_MAX 100000000l /* ns without an event: a spin-wait; less while there are many */
#define PATIENCE_MIN 5000000l
#define CALM_TURNS 32u

static struct gil {
	uint32_t lock; /* futex: 0 free, 1 taken, 2 taken and waited for; guards the rest */
	uint32_t owner; /* ordinal, 0: nobody */
	uint32_t first, last; /* waiting threads by ordinal, through gil_next */
	uint32_t waiters;
	uint32_t points; /* chaos: events left until the next switch */
	uint32_t delayed; /* chaos: runs only when no other can */
	uint64_t slice_end; /* a stamp */
	uint64_t slice_start;
	long patience; /* ns */
	uint64_t random;
	uint64_t turns; /* how often it changed hands */
	uint64_t seen_turns; /* the watchdog's last look */
	const uint8_t *seen_cur;
} gil;

static void gil_lock(void)
{
	uint32_t zero = 0;

	if (__atomic_compare_exchange_n(&gil.lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&gil.lock, 2, __ATOMIC_ACQUIRE))
		raw_futex_wait(&gil.lock, 2);
}

static void gil_unlock(void)
{
	if (__atomic_exchange_n(&gil.lock, 0, __ATOMIC_RELEASE) == 2)
		raw_futex_wake(&gil.lock, 1);
}

static uint32_t rnd(uint32_t below)
{
	gil.random ^= gil.random << 13;
	gil.random ^= gil.random >> 7;
	gil.random ^= gil.random << 17;
	return (uint32_t)((gil.random >> 32) % below);
}

static int chaos(void)
{
	return G.control->sched == RLOG_SCHED_CHAOS;
}

/* A new slice for the thread that now holds the gil. */
static void new_slice(void)
{
	uint64_t hz = G.control->tsc_hz ? G.control->tsc_hz : 2000000000u;

	gil.slice_start = G.control->clock ? __atomic_load_n(&G.control->next_stamp, __ATOMIC_RELAXED)
					   : stamp_now();
	gil.slice_end = gil.slice_start + (G.control->clock ? SLICE_COUNTED : hz / SLICE_HZ);
	gil.points = UINT32_MAX;
	if (chaos())
		gil.points = 1 + rnd(1u << rnd(12)); /* one event as likely as a thousand */
}

static void enqueue(struct thr *t)
{
	t->gil_next = 0;
	t->gil_go = 0;
	if (gil.last)
		G.thr[gil.last].gil_next = t->ordinal;
	else
		gil.first = t->ordinal;
	gil.last = t->ordinal;
	gil.waiters++;
}

/* Takes the thread behind prev (0: the first one) out of the queue. */
static struct thr *unlink_after(uint32_t prev)
{
	uint32_t *link = prev ? &G.thr[prev].gil_next : &gil.first;
	struct thr *t = &G.thr[*link];

	*link = t->gil_next;
	if (gil.last == t->ordinal)
		gil.last = prev;
	gil.waiters--;
	return t;
}

/* Chaos: any waiting thread but the delayed one; who is delayed changes now and then. */
static struct thr *pick_random(void)
{
	uint32_t prev = 0, at, skip = rnd(gil.waiters);

	for (uint32_t i = 0; i < skip; i++)
		prev = prev ? G.thr[prev].gil_next : gil.first;
	at = prev ? G.thr[prev].gil_next : gil.first;
	if (rnd(64) == 0)
		gil.delayed = at;
	if (at == gil.delayed && gil.waiters > 1) {
		if (prev)
			prev = 0;
		else
			prev = at;
	}
	return unlink_after(prev);
}

/* Hands the gil to a waiting thread, or to nobody. With the lock held. */
static void hand_over(void)
{
	struct thr *to;

	if (++gil.turns % CALM_TURNS == 0 && gil.patience < PATIENCE_MAX)
		gil.patience *= 2;
	if (!gil.waiters || group_wanted())
		group_leave();
	if (!gil.waiters) {
		gil.owner = 0;
		return;
	}
	to = chaos() ? pick_random() : unlink_after(0);
	gil.owner = to->ordinal;
	__atomic_store_n(&to->gil_go, 1, __ATOMIC_RELEASE);
	raw_futex_wake(&to->gil_go, 1);
}

/* The owner has made no event while this thread waited for it: is it spinning? */
static void watchdog(struct thr *t)
{
	struct thr *o;

	gil_lock();
	o = &G.thr[gil.owner];
	if (gil.first == t->ordinal && gil.owner && gil.seen_turns == gil.turns && gil.seen_cur == o->log.cur &&
	    !o->depth) {
		raw3(SYS_tgkill, G.pid, o->tid, SIG_PREEMPT);
		if (gil.patience > PATIENCE_MIN)
			gil.patience /= 2;
	}
	if (gil.first == t->ordinal) {
		gil.seen_turns = gil.turns;
		gil.seen_cur = o->log.cur;
	}
	gil_unlock();
}

static void wait_go(struct thr *t)
{
	while (!__atomic_load_n(&t->gil_go, __ATOMIC_ACQUIRE)) {
		long spin[2] = {0, gil.patience};

		if (raw4(SYS_futex, &t->gil_go, FUTEX_WAIT, 0, spin) == -110 /* ETIMEDOUT */)
			watchdog(t);
		if (G.mode != SHIM_RECORD)
			return;
	}
	group_enter(t);
	new_slice();
}

void gil_acquire(struct thr *t)
{
	if (t->gil || G.mode != SHIM_RECORD)
		return;
	gil_lock();
	t->gil = 1;
	if (!gil.owner) {
		gil.owner = t->ordinal;
		gil.turns++;
		gil_unlock();
		group_enter(t);
		new_slice();
		return;
	}
	enqueue(t);
	gil_unlock();
	wait_go(t);
}

void gil_release(struct thr *t)
{
	if (!t->gil)
		return;
	t->gil = 0;
	gil_lock();
	hand_over();
	gil_unlock();
}

/* No other thread waits, but perhaps another process. */
static void switch_process(struct thr *t)
{
	if (!group_wanted())
		return;
	group_leave();
	group_enter(t);
	new_slice();
}

void gil_switch(struct thr *t)
{
	if (!t->gil || G.mode != SHIM_RECORD)
		return;
	if (!__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED)) {
		switch_process(t);
		return;
	}
	gil_lock();
	if (!gil.waiters) {
		gil_unlock();
		return;
	}
	/* not by hand_over with this thread queued: a switch to itself is none */
	hand_over();
	enqueue(t);
	gil_unlock();
	wait_go(t);
}

void gil_point(struct thr *t)
{
	if (!__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED) && !group_wanted())
		return;
	if (t->last_stamp < gil.slice_end && --gil.points)
		return;
	gil_switch(t);
}

void gil_block(struct thr *t)
{
	for (;;) {
		if (t->pending) {
			sig_deliver_pending(t);
			t->clean = 0;
		}
		if (!t->clean)
			ev(t, RLOG_YIELD, 0, 0, 0);
		gil_release(t);
		t->blocking = 1;
		if (!t->pending)
			return;
		t->blocking = 0;
		gil_acquire(t);
	}
}

void gil_unblock(struct thr *t)
{
	t->blocking = 0;
	gil_acquire(t);
}

void gil_init(struct thr *t)
{
	__builtin_memset(&gil, 0, sizeof(gil));
	gil.random = (G.control->chaos_seed + 1) * 0x9e3779b97f4a7c15ull + G.process;
	if (!gil.random)
		gil.random = 1;
	gil.owner = t->ordinal;
	gil.patience = PATIENCE_MAX;
	t->gil = 1;
	new_slice();
}

/* ---- from parallel to serial ---- */

/*
 * A thread whose short wait has expired while another one runs is about to ask that one, through memory
 * alone, to give way (as interpreters with a lock of their own do). Where it sees that, no log tells,
 * unless one thread runs at a time from here on.
 */
#define SHORT_WAIT_US 20000u
#define STOP_TRIES 500
#define STOP_NS 200000l

/* In the program's code; with in_shim, also in a wrapper, but not in a call that may wait. */
static int runs(const struct thr *x, int in_shim)
{
	return x->tid && !x->exited && (!x->depth || (in_shim && !x->blocking));
}

static int others_run(const struct thr *t, int in_shim)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && runs(&G.thr[i], in_shim))
			return 1;
	return 0;
}

/* The wait until *end, on whichever clock: for how long was it asked? A busy machine makes it longer. */
static int was_short(const struct thr *t, const struct timespec *end)
{
	uint64_t us = (stamp_now() - t->last_stamp) / (G.control->tsc_hz / 1000000);
	struct timespec now;

	for (long clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
		int64_t over;

		raw2(SYS_clock_gettime, clock, &now);
		over = (now.tv_sec - end->tv_sec) * 1000000 + (now.tv_nsec - end->tv_nsec) / 1000;
		if (over >= 0 && (uint64_t)over <= us)
			return us - (uint64_t)over <= SHORT_WAIT_US;
	}
	return us <= SHORT_WAIT_US;
}

static uint32_t started;

static void start_serial(struct thr *t)
{
	long pause[2] = {0, STOP_NS};

	gil_init(t);
	__atomic_store_n(&G.control->went_serial, 1, __ATOMIC_RELAXED);
	ev(t, RLOG_CALL, 0, RLOG_CALL_SERIAL, 0);
	__atomic_store_n(&G.serial, 1, __ATOMIC_SEQ_CST);
	sig_arm_traps();
	tsc_begin(t);
	raw2(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0);
	/* all others stop at the end of their next event; one that comes to none goes on for a while */
	for (int i = 0; i < STOP_TRIES && others_run(t, 0); i++)
		raw2(SYS_nanosleep, pause, 0);
}

void gil_start(struct thr *t, const struct timespec *end)
{
	if (G.mode != SHIM_RECORD || G.control->clock || G.control->tsc_hz < 1000000 || !was_short(t, end) ||
	    !others_run(t, 1) || __atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		return;
	start_serial(t);
}

void gil_start_now(struct thr *t)
{
	if (G.mode == SHIM_RECORD && !G.serial && !__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		start_serial(t);
}

void gil_start_replay(struct thr *t)
{
	struct rlog_rec r;

	/* not a peek behind a YIELD: the program's code may run before that */
	if (!turn_next_is(t, RLOG_CALL) || !turn_peek(t, &r) || r.op[0] != RLOG_CALL_SERIAL)
		return;
	turn_take(t, &r, RLOG_CALL);
	G.serial = 1;
	sig_arm_traps();
	tsc_begin(t);
	turn_done(t);
}

void gil_join(struct thr *t)
{
	if (!t->clean)
		ev(t, RLOG_YIELD, 0, 0, 0);
	gil_acquire(t);
}

/* ---- spin-waits ---- */

extern const struct rlog_kind_info *shim_kinds(void);

static int next_is_preempt(const struct thr *t)
{
	return turn_next_is(t, RLOG_PREEMPT);
}

/* For how long has t run since its last event? */
static uint64_t spun_us(const struct thr *t)
{
	uint64_t since = t->last_stamp > gil.slice_start ? t->last_stamp : gil.slice_start;
	uint64_t hz = G.control->tsc_hz ? G.control->tsc_hz : 2000000000u;

	return G.control->clock ? (uint64_t)gil.patience / 1000 : (stamp_now() - since) / (hz / 1000000);
}

/* Tells the user once. */
static void note_preempt(uint64_t pc)
{
	static int told;
	char text[232], *p;

	if (told)
		return;
	told = 1;
	p = fmt_str(text, text + sizeof(text), "a thread that spins without a call was interrupted, first at ");
	describe_caller(pc, p, (unsigned)(text + sizeof(text) - p));
	note(RLOG_NOTE_UNSUPPORTED, 0, text);
}

/* Replay: interrupts t in so many us, and again. 0: no more. */
static void set_timer(struct thr *t, uint64_t us)
{
	static int timer, owner; /* number + 1; the thread's TID: a fork takes none along */
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG_PREEMPT};
	struct itimerspec when = {{0, 0}, {0, 0}};
	int id;

	if (owner != t->tid) {
		if (!us)
			return;
		ev._sigev_un._tid = t->tid;
		if (raw3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id))
			return;
		timer = id + 1;
		owner = t->tid;
	}
	if (us) {
		when.it_interval.tv_nsec = 2000000;
		when.it_value.tv_sec = (long)(us / 1000000);
		when.it_value.tv_nsec = (long)(us % 1000000) * 1000;
	}
	raw4(SYS_timer_settime, timer - 1, 0, &when, 0);
}

void preempt_handler(int sig, siginfo_t *si, void *ucv)
{
	struct thr *t = self;

	if (sig_late(sig, si) || !t || t->depth)
		return;
	t->depth = 1;
	t->selector = 0;
	if (G.mode == SHIM_RECORD && t->gil && (gil.waiters || group_wanted()) && spun_us(t) * 2000 >= PATIENCE_MIN) {
		ev(t, RLOG_PREEMPT, 0, spun_us(t), 0);
		gil.delayed = 0; /* perhaps it spins for that one */
		note_preempt((uint64_t)((ucontext_t *)ucv)->uc_mcontext.gregs[REG_RIP]);
		gil_switch(t);
	} else if (G.mode == SHIM_REPLAY && G.ctl->owner == t->ordinal && next_is_preempt(t)) {
		turn_skip(t);
		set_timer(t, 0);
		preempt_ahead(t);
	} else if (G.mode == SHIM_REPLAY && !next_is_preempt(t)) {
		set_timer(t, 0);
	}
	t->depth = 0;
	t->selector = 1;
}

/* Replay: does t get the turn by interrupting its owner? */
static int waits_for_preempt(const struct thr *t)
{
	const struct replay_ctl *c = G.ctl;

	return next_is_preempt(&G.thr[c->owner]) && c->slot_left == 1 && c->slot + 1ull < G.sched->slots &&
	       G.sched->slot[c->slot + 1].thread == t->ordinal;
}

void preempt_wait(struct thr *t, uint32_t *word, uint32_t seq)
{
	const struct thr *o = &G.thr[G.ctl->owner];
	const uint8_t *p = o->log.rd;
	struct rlog_rec r;
	long tick[2];

	if (likely(!G.serial) || !waits_for_preempt(t) ||
	    rlog_next(shim_kinds(), &p, o->log.rd_end, &r) != RLOG_READ_OK) {
		raw_futex_wait(word, seq);
		return;
	}
	tick[0] = (long)(r.op[0] / 1000000);
	tick[1] = (long)(r.op[0] % 1000000) * 1000;
	if (raw4(SYS_futex, word, FUTEX_WAIT, seq, tick) == -110 && waits_for_preempt(t) && !o->depth)
		raw3(SYS_tgkill, G.pid, G.ctl->tid[o->ordinal], SIG_PREEMPT);
}

/*
 * Another process had the turn there, and changed shared memory, which the thread perhaps spun for: it is
 * interrupted by a timer, after the recorded time and somewhat more.
 */
static int waits_for_page(struct thr *t)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;

	if (!G.group || rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK || p >= t->log.rd_end ||
	    *p != RLOG_PAGE)
		return 0;
	set_timer(t, r.op[0] + r.op[0] / 2 + 2000);
	return 1;
}

void preempt_ahead(struct thr *t)
{
	struct replay_ctl *c = G.ctl;
	uint32_t to;

	/* those behind which this thread goes on, or nothing comes: there is nobody to interrupt it */
	while (next_is_preempt(t) && (c->slot_left > 1 || c->slot + 1ull >= G.sched->slots)) {
		if (waits_for_page(t))
			return;
		turn_skip(t);
	}
	if (!next_is_preempt(t))
		return;
	to = G.sched->slot[c->slot + 1].thread;
	__atomic_add_fetch(&c->wake[to], 1, __ATOMIC_SEQ_CST);
	raw_futex_wake(&c->wake[to], 1);
}
