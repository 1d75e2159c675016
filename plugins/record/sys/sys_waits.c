/* SPDX-License-Identifier: MIT */
/* sys_waits.c: which system calls may wait, for how long, and with which signal mask. */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/sched/gil.h"
#include "record/sys/sys.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/time.h>

static int is_regular(long fd)
{
	uint64_t st[18];

	return raw2(SYS_fstat, fd, st) == 0 && ((uint32_t)st[3] & S_IFMT) == S_IFREG;
}

static int is_nonblocking(long fd)
{
	long flags = raw3(SYS_fcntl, fd, F_GETFL, 0);

	return flags >= 0 && (flags & O_NONBLOCK);
}

/*
 * The same where it depends on the descriptor: one that does not block; and, in a group of processes, a regular file,
 * as giving up the turn and getting it back takes much longer than reading or writing.
 */
int sys_answers_at_once(long nr, const long *a)
{
	if (likely(!G.serial) || G.chaos)
		return 0;
	switch (nr) {
	case SYS_sendto:
	case SYS_recvfrom:
	case SYS_sendmsg:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return is_nonblocking(a[0]);
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
		return is_nonblocking(a[0]) || (G.group && is_regular(a[0]));
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_preadv:
	case SYS_pwritev:
	case SYS_ftruncate:
		return G.group && is_regular(a[0]);
	case SYS_kill:
	case SYS_tgkill:
		return G.group && a[0] != G.shown_pid && a[0] != G.pid &&
		       a[0] > 0; /* a signal to itself is delivered in the call */
	}
	return 0;
}

/*
 * Recording one thread at a time: a thread that yields or asks for the time again and again may wait for what another
 * one does.
 */
void sys_let_others(struct thr *t, long nr)
{
	switch (nr) {
	case SYS_sched_yield:
		gil_switch(t);
		break;
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_time:
		gil_look(t);
		break;
	}
}

static uint64_t ns_of(const struct timespec *ts)
{
	return sys_readable(ts, sizeof(*ts)) ? (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec : 0;
}

uint64_t sys_sleep_ns(long nr, const long *a)
{
	switch (nr) {
	case SYS_nanosleep:
		return ns_of((const struct timespec *)a[0]);
	case SYS_clock_nanosleep:
		return a[1] ? 0 : ns_of((const struct timespec *)a[2]);
	case SYS_poll:
		return a[1] == 0 && a[2] > 0 ? (uint64_t)a[2] * 1000000u : 0;
	case SYS_pselect6:
		return a[0] == 0 && a[4] ? ns_of((const struct timespec *)a[4]) : 0;
	case SYS_select:
		return a[0] == 0 && a[4] && sys_readable((void *)a[4], sizeof(struct timeval))
			       ? (uint64_t)((struct timeval *)a[4])->tv_sec * 1000000000u +
					 (uint64_t)((struct timeval *)a[4])->tv_usec * 1000u
			       : 0;
	}
	return 0;
}

/* A call that waits with another signal mask runs handlers with that, too. */
const uint64_t *sys_waits_with(long nr, const long *a)
{
	const uint64_t *m = 0;

	switch (nr) {
	case SYS_rt_sigsuspend:
		m = (const uint64_t *)a[0];
		break;
	case SYS_ppoll:
		m = (const uint64_t *)a[3];
		break;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		m = (const uint64_t *)a[4];
		break;
	case SYS_pselect6:
		if (a[5] && sys_readable((const void *)a[5], 8))
			m = *(const uint64_t **)a[5];
		break;
	}
	return m && sys_readable(m, 8) ? m : 0;
}
