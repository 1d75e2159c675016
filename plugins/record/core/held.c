/* SPDX-License-Identifier: MIT */
/* held.c: see held.h: recording: signals that were sent, and that only the program has blocked. */
#include "record/core/held.h"
#include "record/core/sigaction.h"

#define SHOWN (1u << 31) /* in t->kept: what is in t->hidden is blocked, between held_show() and held_hide() */
enum { EMPTY, BUSY, FULL };

/* A standard signal is pending once, for a thread or for the process. */
static const int kept_signals[HELD_SIGNALS] = {SIGSEGV, SIGTRAP};
static struct {
	uint32_t state;
	siginfo_t si;
} of_process[HELD_SIGNALS];

static long send_self(const struct thr *t, const siginfo_t *si)
{
	return raw4(SYS_rt_tgsigqueueinfo, raw0(SYS_getpid), t->tid, si->si_signo, si);
}

static int number_of(int sig)
{
	for (int i = 0; i < HELD_SIGNALS; i++)
		if (kept_signals[i] == sig)
			return i;
	return -1;
}

static int is_for_process(const siginfo_t *si)
{
	return si->si_code != SI_TKILL;
}

/* Sends the signal to a thread that does not block it, as the kernel would have done. */
static int pass_on(const struct thr *t, const siginfo_t *si)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		struct thr *x = &G.thr[i];

		if (x != t && x->tid && !x->exited && !x->own_process && !(x->hidden & SIG_BIT(si->si_signo)) &&
		    send_self(x, si) == 0)
			return 1;
	}
	return 0;
}

int held_keep(struct thr *t, const siginfo_t *si)
{
	uint32_t empty = EMPTY;
	int i = number_of(si->si_signo);

	if (!t || i < 0 || G.mode != SHIM_RECORD || si->si_code > 0 || !(t->hidden & SIG_BIT(si->si_signo)))
		return 0;
	if ((t->kept & SHOWN) && t->wait_mask && !(*t->wait_mask & SIG_BIT(si->si_signo)))
		return 0; /* the thread is in a wait that does not block it */
	if (!is_for_process(si)) {
		if (!(t->kept & 1u << i))
			t->kept_si[i] = *si;
		t->kept |= 1u << i;
	} else if (!pass_on(t, si) && __atomic_compare_exchange_n(&of_process[i].state, &empty, BUSY, 0,
								  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		of_process[i].si = *si;
		__atomic_store_n(&of_process[i].state, FULL, __ATOMIC_RELEASE);
	}
	return 1;
}

static void give_back(struct thr *t, int i)
{
	uint32_t full = FULL;
	siginfo_t si;

	if (t->kept & 1u << i) {
		si = t->kept_si[i];
		t->kept &= ~(1u << i);
		send_self(t, &si);
	}
	if (__atomic_load_n(&of_process[i].state, __ATOMIC_RELAXED) == FULL &&
	    __atomic_compare_exchange_n(&of_process[i].state, &full, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		si = of_process[i].si;
		__atomic_store_n(&of_process[i].state, EMPTY, __ATOMIC_RELEASE);
		send_self(t, &si);
	}
}

static int any(const struct thr *t)
{
	int n = (t->kept & ~SHOWN) != 0;

	for (int i = 0; i < HELD_SIGNALS; i++)
		n |= __atomic_load_n(&of_process[i].state, __ATOMIC_RELAXED) == FULL;
	return n;
}

void held_release(struct thr *t)
{
	if (G.mode == SHIM_RECORD && t->queue.n)
		t->pending = 1;
	if (G.mode != SHIM_RECORD || !any(t))
		return;
	for (int i = 0; i < HELD_SIGNALS; i++)
		if (!(t->hidden & SIG_BIT(kept_signals[i])))
			give_back(t, i);
}

static uint64_t blocked(const struct thr *t)
{
	return t->hidden & (SIG_BIT(SIGSEGV) | SIG_BIT(SIGTRAP));
}

int held_shows(const struct thr *t, long nr)
{
	return blocked(t) && ((G.signalfd & blocked(t)) || t->wait_mask || nr == SYS_rt_sigtimedwait || any(t));
}

void held_show(struct thr *t)
{
	uint64_t set = blocked(t);

	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	t->kept |= SHOWN;
	for (int i = 0; i < HELD_SIGNALS; i++)
		if (set & SIG_BIT(kept_signals[i]))
			give_back(t, i);
}

void held_hide(struct thr *t)
{
	uint64_t set = blocked(t);

	t->kept &= ~SHOWN;
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, 0, 8);
}

void held_fork_child(struct thr *t)
{
	t->kept = 0;
	for (int i = 0; i < HELD_SIGNALS; i++)
		of_process[i].state = EMPTY;
}
