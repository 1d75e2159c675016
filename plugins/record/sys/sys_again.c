/* SPDX-License-Identifier: MIT */
/*
 * sys_again.c: recording: if the recorder's own signal, of which the program knows nothing, interrupts a waiting system
 * call, the call is made again for the rest of its time, or for the rest of its data (sys_rest.c). signal(7) says which
 * calls end with EINTR although the handler has SA_RESTART, and what they do with their time.
 */
#include "record/core/held.h"
#include "record/core/util.h"
#include "record/event/sig_queue.h"
#include "record/shm/group.h"
#include "record/sys/sys.h"

#include <errno.h>
#include <time.h>

#define NS 1000000000ll
#define MS 1000000ll

enum unit { NONE, MILLISECONDS, TIMESPEC, SLEEP };

/* Of the others, the kernel itself stores what is left, in the structure that it was given. */
static enum unit time_of(long nr, const long *a, unsigned *arg)
{
	switch (nr) {
	case SYS_poll:
		*arg = 2;
		return a[2] > 0 ? MILLISECONDS : NONE;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		*arg = 3;
		return (int)a[3] > 0 ? MILLISECONDS : NONE;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		*arg = 3;
		return TIMESPEC;
	case SYS_futex:
		*arg = 3;
		return (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ? TIMESPEC : NONE;
	case SYS_rt_sigtimedwait:
		*arg = 2;
		return TIMESPEC;
	case SYS_io_getevents:
		*arg = 4;
		return TIMESPEC;
	case SYS_nanosleep:
		*arg = 0;
		return SLEEP;
	case SYS_clock_nanosleep:
		*arg = 2;
		return (a[1] & TIMER_ABSTIME) ? NONE : SLEEP;
	}
	return NONE;
}

static long make(long nr, const long *a)
{
	return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Has no handler of the program's run since the wait began? */
static int only_ours(const struct thr *t)
{
	return t->interrupted == INTERRUPTED_BY_US;
}

static int64_t now(void)
{
	struct timespec ts;

	raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS + ts.tv_nsec;
}

/* The kernel stores what is left of the time: the program is to see it only if a handler of its own ended the sleep. */
static long sleep_on(struct thr *t, long nr, const long *a, unsigned arg)
{
	struct timespec left, want;
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, ret;

	b[arg + 1] = (long)&left;
	while ((ret = make(nr, b)) == -EINTR && only_ours(t)) {
		want = left;
		b[arg] = (long)&want;
	}
	return ret == -EINTR && a[arg + 1] && sys_put((void *)a[arg + 1], &left, sizeof(left)) ? -EFAULT : ret;
}

static long wait_on(struct thr *t, long nr, const long *a, unsigned arg, enum unit unit)
{
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, ret;
	int64_t end = now(), left;
	struct timespec ts;

	ret = make(nr, b);
	if (ret != -EINTR || !only_ours(t))
		return ret;
	if (unit == MILLISECONDS)
		end += (int)a[arg] * MS;
	else
		end += ((struct timespec *)a[arg])->tv_sec * NS + ((struct timespec *)a[arg])->tv_nsec;
	do {
		left = end - now();
		left = left < 0 ? 0 : left;
		ts = (struct timespec){left / NS, left % NS};
		b[arg] = unit == MILLISECONDS ? (left + MS - 1) / MS : (long)&ts;
		ret = make(nr, b);
	} while (ret == -EINTR && only_ours(t));
	return ret;
}

static long wait_call(struct thr *t, long nr, const long *a)
{
	unsigned arg = 0;
	enum unit unit = time_of(nr, a, &arg);
	uint64_t control = sys_control_room(nr, a);
	long ret;

	t->interrupted = 0;
	if (unit == SLEEP)
		return sleep_on(t, nr, a, arg);
	if (unit == MILLISECONDS || (unit == TIMESPEC && a[arg]))
		return wait_on(t, nr, a, arg, unit);
	ret = make(nr, a);
	return likely(!only_ours(t)) ? ret : sys_wait_rest(t, nr, a, ret, control);
}

long sys_wait_call(struct thr *t, long nr, const long *a)
{
	long ret;

	if (unlikely(t->queue.n))
		sig_queue_show(t, nr);
	if (likely(!held_shows(t, nr)))
		return wait_call(t, nr, a);
	held_show(t);
	ret = wait_call(t, nr, a);
	held_hide(t);
	return ret;
}
