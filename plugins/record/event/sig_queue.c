/* SPDX-License-Identifier: MIT */
/*
 * sig_queue.c: see sig_queue.h. A few signals have room in the thread's struct. More come at once when a program queues
 * real-time signals while they are blocked. For these there is an area until the queue is empty; it has room for more
 * than the kernel itself keeps for a user by default (RLIMIT_SIGPENDING). The signals of each number are a list, so
 * that neither looking for one that is not blocked nor taking it depends on how many wait. Called in handlers.
 */
#include "record/event/sig_queue.h"
#include "record/core/state.h"
#include "record/store/log.h"

#define STANDARD 0x7fffffffull /* bits of the signals below the first real-time one */
#define MORE_MAX (SHIM_QUEUE_SIZE / sizeof(struct queued))

static struct queued *place(struct thr *t, uint32_t number)
{
	return number <= SIG_QUEUE ? &t->queue.v[number - 1] : &t->queue.more[number - 1 - SIG_QUEUE];
}

/* 0: there is no room. */
static uint32_t room(struct thr *t)
{
	void *area = (void *)(SHIM_QUEUE_ADDR + t->ordinal * SHIM_QUEUE_SIZE);
	uint32_t i = t->queue.unused;

	if (i) {
		t->queue.unused = (uint32_t)place(t, i)->next;
		return i;
	}
	if (unlikely(t->queue.used >= SIG_QUEUE + MORE_MAX))
		return 0;
	if (unlikely(t->queue.used >= SIG_QUEUE && !t->queue.more)) {
		if (raw_failed(raw_mmap(area, SHIM_QUEUE_SIZE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
			return 0;
		t->queue.more = area;
	}
	return ++t->queue.used;
}

/*
 * Is it from a timer whose last signal still waits? As in the kernel, that signal then tells how often the timer has
 * expired.
 */
static int is_overrun(struct thr *t, const siginfo_t *si)
{
	siginfo_t *last;

	if (si->si_code != SI_TIMER || !(t->queue.set & SIG_BIT(si->si_signo)))
		return 0;
	last = &place(t, t->queue.last[si->si_signo])->si;
	if (last->si_code != SI_TIMER || last->si_timerid != si->si_timerid)
		return 0;
	last->si_overrun += si->si_overrun + 1;
	return 1;
}

void sig_queue_put(struct thr *t, const siginfo_t *si)
{
	int sig = si->si_signo;
	struct queued *q;
	uint32_t i;

	if (t->queue.n >= SIG_QUEUE && ((STANDARD & t->queue.set & SIG_BIT(sig)) || is_overrun(t, si)))
		return;
	i = room(t);
	if (!i) {
		note(RLOG_NOTE_UNSUPPORTED, sig, "more signals came at once than could be kept: some were lost");
		return;
	}
	q = place(t, i);
	q->si = *si;
	q->came = t->queue.came++;
	q->next = 0;
	if (t->queue.set & SIG_BIT(sig))
		place(t, t->queue.last[sig])->next = i;
	else
		t->queue.first[sig] = i;
	t->queue.last[sig] = i;
	t->queue.set |= SIG_BIT(sig);
	t->queue.n++;
	t->pending = 1;
}

void sig_queue_drop(struct thr *t)
{
	if (t->queue.more)
		raw2(SYS_munmap, t->queue.more, SHIM_QUEUE_SIZE);
	t->queue.more = 0;
	t->queue.n = t->queue.used = t->queue.unused = 0;
	t->queue.set = 0;
	t->pending = 0;
}

/* 0: all are blocked. */
static int first_of(struct thr *t, uint64_t blocked)
{
	int found = 0;

	for (uint64_t left = t->queue.set & ~blocked; left; left &= left - 1) {
		int sig = __builtin_ctzll(left) + 1;

		if (sig_is_sync(sig))
			return sig;
		if (!found || place(t, t->queue.first[sig])->came < place(t, t->queue.first[found])->came)
			found = sig;
	}
	return found;
}

static void take(struct thr *t, int sig, siginfo_t *si)
{
	uint32_t i = t->queue.first[sig];
	struct queued *q = place(t, i);

	*si = q->si;
	if (q->next)
		t->queue.first[sig] = (uint32_t)q->next;
	else
		t->queue.set &= ~SIG_BIT(sig);
	q->next = t->queue.unused;
	t->queue.unused = i;
	if (--t->queue.n == 0)
		sig_queue_drop(t);
}

int sig_queue_take(struct thr *t, uint64_t blocked, siginfo_t *si)
{
	int sig = first_of(t, blocked);

	if (sig)
		take(t, sig, si);
	return sig != 0;
}

/* Was it certainly sent to the process? SIGPIPE and SIGXFSZ are sent by the kernel to the thread that made the call. */
static int is_for_process(const siginfo_t *si)
{
	int sig = si->si_signo;

	return (si->si_code == SI_USER || si->si_code == SI_KERNEL || (sig == SIGCHLD && si->si_code > 0)) &&
	       sig != SIGPIPE && sig != SIGXFSZ;
}

/* Sends the signal to the kernel, which keeps it until the program unblocks it, waits for it or asks for it. */
static void give_back(struct thr *t, int sig)
{
	siginfo_t si;

	take(t, sig, &si);
	if (is_for_process(&si))
		raw3(SYS_rt_sigqueueinfo, t->tid, sig, &si);
	else
		raw4(SYS_rt_tgsigqueueinfo, raw0(SYS_getpid), t->tid, sig, &si);
}

/* Takes the signals that the kernel has received since, so that they come after those in the queue. */
static void take_later_ones(struct thr *t, int sig)
{
	const struct timespec none = {0, 0};
	uint64_t set = SIG_BIT(sig);
	siginfo_t si;

	while (raw4(SYS_rt_sigtimedwait, &set, &si, &none, 8) == sig)
		sig_queue_put(t, &si);
}

/* which: signals that the kernel blocks. */
static void give_back_all(struct thr *t, uint64_t which)
{
	for (uint64_t left = t->queue.set & which; left; left &= left - 1) {
		int sig = __builtin_ctzll(left) + 1;

		if (!(STANDARD & SIG_BIT(sig)))
			take_later_ones(t, sig);
		while (t->queue.set & SIG_BIT(sig))
			give_back(t, sig);
	}
}

/* For real-time signals to the process: gives one to each other thread, once these have taken the ones before. */
static void offer(struct thr *t)
{
	uint64_t waiting = 0;

	if (raw2(SYS_rt_sigpending, &waiting, 8))
		return;
	for (uint64_t left = t->queue.set & ~(STANDARD | waiting | sig_never_blocked()); left; left &= left - 1) {
		int sig = __builtin_ctzll(left) + 1;

		for (uint32_t i = 2; i < G.next_thread && (t->queue.set & SIG_BIT(sig)); i++) {
			if (!is_for_process(&place(t, t->queue.first[sig])->si))
				break;
			give_back(t, sig);
		}
	}
}

void sig_queue_keep(struct thr *t)
{
	give_back_all(t, STANDARD & ~sig_never_blocked());
	if (G.mt && t->queue.n)
		offer(t);
	t->pending = 0;
}

void sig_queue_show(struct thr *t, long nr)
{
	uint64_t all = SIG_QUEUE_BLOCKS, which = G.signalfd, blocked;

	if (t->wait_mask || nr == SYS_rt_sigtimedwait || nr == SYS_rt_sigpending || nr == SYS_execve ||
	    nr == SYS_execveat)
		which = ~0ull;
	if (!(t->queue.set & which))
		return;
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &blocked, 8);
	give_back_all(t, blocked & which);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, 8);
}
