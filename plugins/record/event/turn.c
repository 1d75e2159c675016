/* SPDX-License-Identifier: MIT */
/*
 * turn.c: replay: whose turn it is, stopping at an event, divergences. See rlog/replay.h.
 *
 * One thread runs at a time: the owner. Each waiting thread sleeps on a futex word of its own; ctl->owner says whose
 * turn it is, the words only wake threads. All of it is in the control page, which the worker saves with a checkpoint,
 * so a restored process goes on where it was.
 *
 * In a parallel replay (ahead_until), a thread whose slot is over runs on without the turn, and waits for the turn
 * where its next record begins, or where it would see the state of others (turn_await). So events keep their order, and
 * so does all that a slot does after its first record: only what a thread computes between a release and its next event
 * overlaps with other threads. At ahead_until the state is that of a linear replay, unless threads share memory without
 * synchronisation; so a divergence in a parallel replay proves nothing.
 */
#include "record/event/turn.h"
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/tsc_clock.h"
#include "record/core/util.h"
#include "record/event/hooks.h"
#include "record/store/log.h"

#include <errno.h>
#include <linux/futex.h>

#define NEAR 3 /* slots */
#define SPINS 2000

struct event_hooks event_hooks;

static void notify(uint32_t state)
{
	struct replay_ctl *c = G.ctl;

	__atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
	__atomic_add_fetch(&c->notify, 1, __ATOMIC_SEQ_CST);
	raw_futex_wake(&c->notify, 0x7fffffff);
}

/*
 * Both ways of stopping a thread begin here. The program's registers and stack are the same each time that a replay
 * stops here; how the thread then waits is not.
 */
#define STAND(name)                                                                                                    \
	__asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\n"                 \
		"	.cfi_startproc\n"                                                                                    \
		"	mov %rbx, turn_stand_at+0(%rdi)\n"                                                                   \
		"	mov %rbp, turn_stand_at+8(%rdi)\n"                                                                   \
		"	mov %r12, turn_stand_at+16(%rdi)\n"                                                                  \
		"	mov %r13, turn_stand_at+24(%rdi)\n"                                                                  \
		"	mov %r14, turn_stand_at+32(%rdi)\n"                                                                  \
		"	mov %r15, turn_stand_at+40(%rdi)\n"                                                                  \
		"	lea 8(%rsp), %rax\n"                                                                                 \
		"	mov %rax, turn_stand_at+48(%rdi)\n"                                                                  \
		"	mov (%rsp), %rax\n"                                                                                  \
		"	mov %rax, turn_stand_at+56(%rdi)\n"                                                                  \
		"	jmp " #name "_here\n"                                                                          \
		"	.cfi_endproc\n"                                                                                      \
		".size " #name ", .-" #name "\n")
STAND(turn_wait);
STAND(turn_park);

__attribute__((used)) static void stand_offset(void)
{
	__asm__ volatile(".set turn_stand_at, %c0" ::"i"(offsetof(struct thr, stand)));
}

void turn_park(struct thr *t, uint32_t state);

/* Calls no function: memset would leave its return address below the cleared area. */
#define SCRUB(name, bytes)                                                                                             \
	__attribute__((noinline)) void name(void)                                                                      \
	{                                                                                                              \
		uint64_t below[(bytes) / sizeof(uint64_t)], *to = below;                                               \
		size_t n = (bytes) / sizeof(uint64_t);                                                                 \
                                                                                                                       \
		__asm__ volatile("rep stosq" : "+D"(to), "+c"(n), "=m"(below) : "a"(0ull));                            \
	}
SCRUB(turn_scrub, LEFT_DEEP)
SCRUB(turn_scrub_done, LEFT_DEEP_DONE)

/* The process may have been replaced by a copy that the worker made (daemon/replay/forked.h). */
static void learn_ids(struct thr *t)
{
	if (likely(!(G.ctl->flags & REPLAY_F_OTHER_PIDS)))
		return;
	if (G.ctl->tid[t->ordinal])
		t->tid = G.ctl->tid[t->ordinal];
	if (!G.lookahead)
		G.pid = G.ctl->pid;
}

/* Waits until the worker lets this thread go on. */
static __attribute__((noinline)) void wait_parked(struct thr *t, uint32_t state)
{
	struct replay_ctl *c = G.ctl;
	uint32_t go = __atomic_load_n(&c->go, __ATOMIC_ACQUIRE);

	if (unlikely(G.lookahead))
		event_hooks.looks_ahead();
	own_stack_stand(t);
	t->stand.there = STANDS;
	c->parked = t->ordinal;
	notify(state);
	for (;;) {
		while (__atomic_load_n(&c->go, __ATOMIC_ACQUIRE) == go)
			raw_futex_wait(&c->go, go);
		go = __atomic_load_n(&c->go, __ATOMIC_ACQUIRE);
		if (c->cmd == REPLAY_CMD_SNAP) {
			c->cmd_result = event_hooks.snapshot(c);
			c->cmd = REPLAY_CMD_RUN;
			notify(state);
			continue;
		}
		if (state == REPLAY_PARKED)
			break;
		notify(state); /* nothing can go on after this */
	}
	t->stand.there = 0;
	learn_ids(t);
	/*
	 * a thread that stood here while another one went on (replay/segment.h) may come late: the other one is parked
	 * now
	 */
	if (c->parked == t->ordinal)
		__atomic_store_n(&c->state, REPLAY_RUNNING, __ATOMIC_RELEASE);
	tsc_arm();
}

__attribute__((used)) void turn_park_here(struct thr *t, uint32_t state)
{
	wait_parked(t, state);
	turn_scrub();
}

/* In a copy of the process, no worker waits for this state; its tracer watches the word `turn` instead. */
_Noreturn void turn_end(struct thr *t, int state)
{
	G.ctl->state = (uint32_t)state;
	__atomic_store_n(&G.ctl->turn, G.ctl->turn, __ATOMIC_RELEASE);
	for (;;)
		turn_park(t, (uint32_t)state);
}

_Noreturn void shim_fail(const char *text)
{
	if (G.mode == SHIM_REPLAY && G.ctl) {
		fmt_str(G.ctl->text, G.ctl->text + sizeof(G.ctl->text), text);
		turn_end(self ? self : &G.thr[1], REPLAY_FAILED);
	}
	raw_write_str(2, "fred: ");
	raw_write_str(2, text);
	raw_write_str(2, "\n");
	for (;;)
		raw1(SYS_exit_group, 125);
}

_Noreturn void turn_diverge(struct thr *t, const struct rlog_rec *want, enum rlog_kind got, const uint64_t *ops,
			    unsigned nops, const char *text)
{
	struct replay_diverge *d = &G.ctl->diverge;

	/*
	 * no divergence: the program is still being recorded and has not come here yet, or a copy has run past its
	 * segment
	 */
	if ((!want && (G.ctl->flags & REPLAY_F_LIVE) && G.ctl->turn + 1 == G.ctl->total) || G.ctl->endless) {
		G.ctl->turn++;
		turn_end(t, REPLAY_ENDED);
	}
	d->thread = t->ordinal;
	d->expected_kind = want ? want->kind : 0;
	d->expected_hash = want && (want->flags & RF_H) ? want->hash : 0;
	d->got_kind = got;
	for (d->expected_n = d->got_n = 0; want && d->expected_n < want->nops && d->expected_n < 8; d->expected_n++)
		d->expected[d->expected_n] = want->op[d->expected_n];
	for (unsigned i = 0; i < nops && i < 8; i++)
		d->got[d->got_n++] = ops[i];
	d->event = G.ctl->turn + 1;
	d->caller = t->caller;
	fmt_str(d->text, d->text + sizeof(d->text), text);
	turn_end(t, REPLAY_DIVERGED);
}

static int dying_tid;

/*
 * Is the word writable? FUTEX_WAKE_OP writes atomically what it finds there: the old value or 0. It takes no unaligned
 * word.
 */
static int is_writable(uint32_t *word)
{
	uint32_t nobodys = 0;

	return raw6(SYS_futex, (long)&nobodys, FUTEX_WAKE_OP, 0, 0, (long)word,
		    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)) != -EFAULT;
}

/*
 * The word that the kernel clears when this thread has ended: libc's, or the one that the program has passed to
 * set_tid_address. That need not exist, nor be writable; the kernel then ignores it.
 */
static uint32_t *word_of_end(void)
{
	uint32_t *word = 0;

	raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word);
	return word && is_writable(word) ? word : 0;
}

/* Waits for the end of a thread after its EXIT event. */
static void wait_dying(void)
{
	struct replay_ctl *c = G.ctl;
	uint32_t *word = (uint32_t *)c->dying, tid;
	static const uint64_t retry[2] = {0, 10000000}; /* struct timespec */

	if (likely(!word))
		return;
	/* the time-out is for a dying_late() between the test and the wait */
	while (c->dying == (uint64_t)word && (tid = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != 0 &&
	       raw3(SYS_tgkill, raw0(SYS_getpid), dying_tid, 0) == 0)
		raw4(SYS_futex, word, FUTEX_WAIT, tid, &retry);
	c->dying = 0;
}

/* Is one of the next slots this thread's? */
static int is_near(const struct thr *t)
{
	uint64_t i = G.ctl->slot, end = i + NEAR;

	for (; i < end && i < G.sched->slots; i++)
		if (G.sched->slot[i].thread == t->ordinal)
			return 1;
	return 0;
}

/* Spins for the turn: when both threads have a core, that is faster than a wake-up. */
static int turn_soon(const struct thr *t)
{
	for (int i = 0; i < SPINS && (i % 64 || (turn_parallel() && is_near(t))); i++) {
		if (has_turn(t))
			return 1;
		__builtin_ia32_pause();
	}
	return 0;
}

static void sleep_for_turn(struct thr *t)
{
	uint32_t *word = &G.ctl->wake[t->ordinal], seq = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	__atomic_store_n(&t->asleep, 1, __ATOMIC_SEQ_CST);
	if (!has_turn(t))
		raw_futex_wait(word, seq);
	__atomic_store_n(&t->asleep, 0, __ATOMIC_RELAXED);
}

/* The second halves of other events are acquires themselves. */
static int at_result(const struct thr *t)
{
	const uint8_t *p = t->log.rd;

	return p < t->log.rd_end && *p < RLOG_KIND_LIMIT && !(shim_kinds()[*p].flags & RF_C) && *p != RLOG_COND_WOKE &&
	       *p != RLOG_BARRIER_LEFT;
}

static __attribute__((noinline)) void wait_turn(struct thr *t)
{
	int inside = t->away ? at_result(t) : !t->at_event, slept = 0;

	t->away = 0;
	own_stack_stand(t);
	__atomic_store_n(&t->stand.there, inside ? STANDS_INSIDE : STANDS, __ATOMIC_RELEASE);
	if (!turn_soon(t))
		for (; !has_turn(t); slept = 1)
			sleep_for_turn(t);
	t->stand.there = 0;
	learn_ids(t);
	wait_dying();
	if (unlikely(slept && G.no_tsc))
		tsc_arm(); /* the process may have been restored from a checkpoint meanwhile */
}

__attribute__((used)) void turn_wait_here(struct thr *t)
{
	wait_turn(t);
	if (unlikely(G.ctl->turn == G.ctl->stop_at))
		wait_parked(t, REPLAY_PARKED); /* after the end of another */
	turn_scrub();
}

void give_turn(uint32_t to)
{
	struct replay_ctl *c = G.ctl;

	__atomic_store_n(&c->owner, to, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&G.thr[to].asleep, __ATOMIC_SEQ_CST))
		return;
	__atomic_add_fetch(&c->wake[to], 1, __ATOMIC_SEQ_CST);
	/*
	 * all waiters: a thread of another process, which is about to end, may wait there too, and must not take the
	 * only wake-up
	 */
	raw_futex_wake(&c->wake[to], 0x7fffffff);
}

/* Counts the event. Returns the thread whose slot is next, or 0 when this was the last event. */
static uint32_t count_event(void)
{
	struct replay_ctl *c = G.ctl;

	if (unlikely(shim_report != 0)) /* before the worker sees the new count */
		shim_tell(REPORT_EVENT, 0, c->turn + 1, 0);
	c->turn++;
	if (--c->slot_left == 0 && c->turn < c->total) {
		c->slot++;
		c->slot_left = G.sched->slot[c->slot].count;
	}
	return likely(c->turn < c->total) ? G.sched->slot[c->slot].thread : 0;
}

/*
 * Stops here if the worker wants that. 1: the turn was passed on, since other threads went on meanwhile
 * (replay/segment.h); it may be back already.
 */
static int stop_here(struct thr *t)
{
	struct replay_ctl *c = G.ctl;
	uint64_t turn = c->turn;

	if (likely(turn != c->stop_at))
		return 0;
	turn_park(t, REPLAY_PARKED);
	return __atomic_load_n(&c->owner, __ATOMIC_ACQUIRE) != t->ordinal || c->turn != turn;
}

int turn_stays(const struct thr *t)
{
	const struct replay_ctl *c = G.ctl;

	return c->slot_left > 1 || (c->slot + 1ull < G.sched->slots && G.sched->slot[c->slot + 1].thread == t->ordinal);
}

int turn_runs_ahead(const struct thr *t)
{
	const struct replay_ctl *c = G.ctl;

	return turn_parallel() && !G.serial && c->slot > c->ahead_from && c->slot < c->ahead_end[t->ordinal];
}

int turn_next_is(const struct thr *t, enum rlog_kind kind)
{
	return t->log.rd < t->log.rd_end && *t->log.rd == kind;
}

void turn_pass(struct thr *t)
{
	uint32_t next = count_event();
	int given = next && stop_here(t), away;

	t->undone = 0;
	if (unlikely(!next))
		turn_end(t, REPLAY_ENDED);
	if (next != t->ordinal) {
		away = turn_runs_ahead(t);
		t->away = away;
		if (!given)
			give_turn(next);
		if (!away)
			turn_wait(t);
	}
}

void turn_exit(struct thr *t)
{
	uint32_t next, *word = word_of_end();

	dying_tid = (int)raw0(SYS_gettid);
	G.ctl->tid[t->ordinal] = 0;
	t->undone = 0;
	/* this thread ends: if the worker wants a stop here, the thread with the next turn stops */
	next = count_event();
	if (!next)
		turn_end(t, REPLAY_ENDED);
	t->exited = 1;
	G.ctl->dying = (uint64_t)word;
	give_turn(next);
}

static const void *map_ro(const char *path, void *at, uint64_t *len)
{
	int fd = raw_open(path, O_RDONLY, 0);
	long n;
	void *m;

	if (fd < 0)
		return 0;
	n = raw3(SYS_lseek, fd, 0, 2);
	if (n <= 0) {
		raw_close(fd);
		return 0;
	}
	if (at && (uint64_t)at < REPLAY_CTL_ADDR && (uint64_t)at + (uint64_t)n > REPLAY_CTL_ADDR)
		shim_fail("the logs are longer than the room for them");
	m = raw_mmap(at, (size_t)n, PROT_READ, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	raw_close(fd);
	*len = (uint64_t)n;
	return raw_failed(m) ? 0 : m;
}

static const struct rlog_head *map_log_in(const char *dir, const struct thr *t, uint64_t *len)
{
	char path[400], *end = path + sizeof(path), *p = fmt_str(path, end, dir);

	p = fmt_str(p, end, "/p");
	p = fmt_dec(p, end, G.process, 4);
	p = fmt_str(p, end, "/t");
	p = fmt_dec(p, end, t->ordinal, 4);
	fmt_str(p, end, ".log");
	return map_ro(path, G.replay_log_next, len);
}

/* The folder that is shared with the worker; the recording is in it under the name "rec". */
static char *turn_dir(char *buf, char *end)
{
	char *p = fmt_str(buf, end, G.rec);

	while (p > buf && *p != '/')
		*p-- = 0;
	*p = 0;
	return p;
}

int turn_map_log(struct thr *t)
{
	static const uint8_t nothing[1];
	const struct rlog_head *h;
	char dir[300];
	uint64_t len;

	fmt_str(turn_dir(dir, dir + sizeof(dir)), dir + sizeof(dir), "/logs");
	h = map_log_in(dir, t, &len);
	if (!h)
		h = map_log_in(G.rec, t, &len);
	if (!h) {
		t->log.rd = t->log.rd_end = nothing;
		return -1;
	}
	if (!h->magic) { /* the recorded process ended before the thread could begin its log */
		t->log.rd = t->log.rd_end = nothing;
		return -1;
	}
	if (h->magic != RLOG_MAGIC_LOG || h->version != RLOG_VERSION)
		shim_fail("cannot map the log of a thread");
	G.replay_log_next += (len + 8191) & ~4095ull;
	t->log.rd = (const uint8_t *)(h + 1);
	t->log.rd_end = (const uint8_t *)h + len;
	t->last_stamp = h->stamp0;
	t->tid = h->tid;
	return 0;
}

void turn_file(char *buf, char *end, const char *name, uint32_t process)
{
	char *p = fmt_str(turn_dir(buf, end), end, "/");

	p = fmt_str(p, end, name);
	p = fmt_str(p, end, ".");
	fmt_dec(p, end, process, 4);
}

static uint32_t
	scheduled; /* the process whose schedule file is mapped; a child that the replay follows uses its parent's */

#define PAST_END (1ll << 40) /* an offset in the schedule that is beyond its end */
void turn_map_past_end(uint64_t page)
{
	char path[300];
	int fd;

	turn_file(path, path + sizeof(path), "sched", scheduled);
	fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0 || raw_failed(raw_mmap((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
					  MAP_PRIVATE | MAP_FIXED, fd, PAST_END)))
		shim_fail("cannot map what is past the end of a file");
	raw_close(fd);
}

void turn_attach(uint32_t process)
{
	char path[300];
	struct replay_ctl *c;
	uint64_t len;
	int fd;

	turn_file(path, path + sizeof(path), "ctl", process);
	fd = raw_open(path, O_RDWR, 0);
	if (fd < 0)
		shim_fail("no control page");
	c = raw_mmap((void *)REPLAY_CTL_ADDR, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	raw_close(fd);
	if (raw_failed(c) || c->magic != REPLAY_MAGIC || c->version != RLOG_VERSION)
		shim_fail("control page of another version");
	G.ctl = c;
	turn_file(path, path + sizeof(path), "sched", process);
	if (G.sched)
		raw2(SYS_munmap, G.sched, sizeof(*G.sched) + G.sched->slots * sizeof(struct replay_slot));
	scheduled = process;
	G.sched = (struct replay_sched *)map_ro(path, (void *)REPLAY_SCHED_ADDR, &len);
	if (!G.sched || G.sched->magic != RLOG_MAGIC_SCHED)
		shim_fail("no schedule");
}

void turn_attach_again(void)
{
	turn_attach(scheduled);
}

void turn_start(struct thr *t)
{
	if (G.ctl->total == 0)
		turn_end(t, REPLAY_ENDED);
	if (G.ctl->stop_at == 0)
		turn_park(t, REPLAY_PARKED);
	turn_wait(t);
}

/*
 * The FORK event has been compared, and its child runs here. In `follow` mode the control page is the parent's, and the
 * event is not counted yet; else the worker has set up a page for the child.
 */
void turn_fork_child(struct thr *t)
{
	struct replay_ctl *c = G.ctl;

	for (unsigned i = 0; i < RLOG_MAX_THREADS; i++)
		c->tid[i] = 0;
	c->tid[1] = t->tid;
	c->pid = G.pid;
	if (c->process == G.process) { /* own page */
		c->slot = (uint32_t)G.sched->prefix_slots;
		c->turn = G.sched->prefix_total;
		c->total = G.sched->total;
		c->slot_left = c->slot < G.sched->slots ? G.sched->slot[c->slot].count : 0;
		c->owner = 1;
	}
	if (turn_map_log(t))
		shim_fail("cannot map the log of a child's first thread");
	if (c->process != G.process) {
		c->process = G.process;
		if (!count_event())
			turn_end(t, REPLAY_ENDED);
		stop_here(t);
		c->owner = 1;
	} else {
		stop_here(t);
	}
}
