/* SPDX-License-Identifier: MIT */
/*
 * wait.c: see wait.h. No signal is lost: the count of SIGCHLDs is read before the child is checked, and the kernel
 * compares both words again before it sleeps; a signal in between has changed the count.
 *
 * The one file-scope variable is there for the signal handler.
 */
#include "cell/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint32_t child_signals; /* futex, private to this process */

static void on_sigchld(int sig)
{
	int saved = errno;

	__atomic_add_fetch(&child_signals, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &child_signals, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
	errno = saved;
}

int cell_wait_setup(struct err *e)
{
	/* No SA_NOCLDSTOP: a target that stops must be noticed. */
	struct sigaction sa = {.sa_handler = on_sigchld, .sa_flags = SA_RESTART};

	if (sigaction(SIGCHLD, &sa, NULL))
		return err_errno(e, ERR_INTERNAL, "cannot handle SIGCHLD");
	return 0;
}

static struct timespec deadline_after(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Sleeps as long as both words are as given. 0: woken, or a word has changed; -1 with errno (ETIMEDOUT, ...). */
static int sleep_on(uint32_t *word, uint32_t old, uint32_t children, const struct timespec *until)
{
	struct futex_waitv w[2] = {
		{.uaddr = (uintptr_t)word, .val = old, .flags = FUTEX_32},
		{.uaddr = (uintptr_t)&child_signals, .val = children, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG},
	};

	if (syscall(SYS_futex_waitv, w, 2, 0, until, CLOCK_MONOTONIC) >= 0)
		return 0;
	return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* CELL_WAIT_NOTIFIED here means that nothing has happened to the target. */
static enum cell_wait look_at(pid_t target, int *wait_status)
{
	pid_t r;

	do
		r = waitpid(target, wait_status, WNOHANG | WUNTRACED | __WALL);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return CELL_WAIT_ERROR;
	if (!r)
		return CELL_WAIT_NOTIFIED;
	return WIFSTOPPED(*wait_status) ? CELL_WAIT_STOPPED : CELL_WAIT_ENDED;
}

int cell_wait_notify(uint32_t *futex_word, uint32_t old, pid_t target, int timeout_ms, int *wait_status)
{
	uint32_t first = __atomic_load_n(&child_signals, __ATOMIC_SEQ_CST);
	struct timespec until = {0};

	if (timeout_ms >= 0)
		until = deadline_after(timeout_ms);
	for (;;) {
		uint32_t children = __atomic_load_n(&child_signals, __ATOMIC_SEQ_CST);

		if (__atomic_load_n(futex_word, __ATOMIC_ACQUIRE) != old)
			return CELL_WAIT_NOTIFIED;
		if (target) {
			enum cell_wait r = look_at(target, wait_status);

			if (r != CELL_WAIT_NOTIFIED)
				return r;
		} else if (children != first) {
			return CELL_WAIT_CHILD;
		}
		if (sleep_on(futex_word, old, children, timeout_ms >= 0 ? &until : NULL))
			return errno == ETIMEDOUT ? CELL_WAIT_TIMEOUT : CELL_WAIT_ERROR;
	}
}
