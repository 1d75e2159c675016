/* SPDX-License-Identifier: MIT */
/*
 * io.c: hot system calls that the program makes through libc: the same event as by the trap, without
 * its cost. Number and arguments are those that glibc 2.36 uses on x86-64.
 *
 * A cancellation point lets pthread_cancel act at once while it may block, as libc does: the type is
 * set outside of the shim, since acting means that the thread never comes back here.
 */
#include "record/core/real.h"
#include "record/core/scrub.h"
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sync/lib.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static inline long io_result(long r)
{
	if (unlikely(r < 0 && r > -4096)) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

/*
 * pthread_cancel requests cancellation after its event, and a thread that checks in between does not see the request: a
 * replay follows the log. If the call was made, it may still have been ended by a cancellation: then its wait contains
 * a signal.
 */
static inline int call_was_made(struct thr *t)
{
	turn_await(t);
	t->cancel.late = G.mode == SHIM_REPLAY && turn_next_is(t, RLOG_SYS);
	return t->cancel.late;
}

static inline int cancel_begin(void)
{
	int old = PTHREAD_CANCEL_DEFERRED;

	if (likely(!G.mt))
		return old;
	if (self && call_was_made(self))
		return PTHREAD_CANCEL_ASYNCHRONOUS; /* nothing is to be restored */
	REAL(pthread_setcanceltype)(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	return old;
}

static inline void cancel_end(int old)
{
	if (unlikely(G.mt)) {
		if (self)
			self->cancel.late = 0;
		if (old != PTHREAD_CANCEL_ASYNCHRONOUS)
			REAL(pthread_setcanceltype)(old, &old);
	}
	scrub_stack(); /* also what the call left; pthread_setcanceltype is not called in every replay */
}

/* It leaves the wiping of the stack to its caller. */
static inline long io_event(struct thr *t, uint64_t caller, long nr, const long *a)
{
	long r;

	t->caller = caller;
	r = sys_event(t, nr, a, 0);
	shim_leave(self);
	return r;
}

static inline long io_call(struct thr *t, uint64_t caller, long nr, const long *a)
{
	long r = io_event(t, caller, nr, a);

	scrub_stack();
	return io_result(r);
}

#define CALLER() ((uint64_t)__builtin_return_address(0))

/* A call that is not a cancellation point; ...: the system call's arguments. */
#define IO(type, name, params, args, nr, ...)                                                                          \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		struct thr *t = shim_enter();                                                                          \
		long a[6] = {__VA_ARGS__};                                                                             \
                                                                                                                       \
		if (!t)                                                                                                \
			return REAL_W(name) args;                                                                      \
		return (type)io_call(t, CALLER(), nr, a);                                                              \
	}

/* A call that is a cancellation point. */
#define IO_CANCEL(type, name, params, args, nr, ...)                                                                   \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		int old = cancel_begin();                                                                              \
		struct thr *t = shim_enter();                                                                          \
		long a[6] = {__VA_ARGS__};                                                                             \
		type ret;                                                                                              \
                                                                                                                       \
		ret = t ? (type)io_result(io_event(t, CALLER(), nr, a)) : REAL_W(name) args;                           \
		cancel_end(old);                                                                                       \
		return ret;                                                                                            \
	}

/* ---- files ---- */

IO_CANCEL(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), SYS_read, fd, (long)p, (long)n)
IO_CANCEL(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), SYS_write, fd, (long)p, (long)n)
IO_CANCEL(ssize_t, pread, (int fd, void *p, size_t n, off_t off), (fd, p, n, off), SYS_pread64, fd, (long)p, (long)n,
	  off)
IO_CANCEL(ssize_t, pread64, (int fd, void *p, size_t n, off64_t off), (fd, p, n, off), SYS_pread64, fd, (long)p,
	  (long)n, off)
IO_CANCEL(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off), SYS_pwrite64, fd, (long)p,
	  (long)n, off)
IO_CANCEL(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t off), (fd, p, n, off), SYS_pwrite64, fd, (long)p,
	  (long)n, off)
IO_CANCEL(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), SYS_readv, fd, (long)v, n)
IO_CANCEL(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), SYS_writev, fd, (long)v, n)
IO_CANCEL(int, close, (int fd), (fd), SYS_close, fd)
IO(off_t, lseek, (int fd, off_t off, int whence), (fd, off, whence), SYS_lseek, fd, off, whence)
IO(off64_t, lseek64, (int fd, off64_t off, int whence), (fd, off, whence), SYS_lseek, fd, off, whence)

static int open_mode(int flags, va_list ap)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, int) : 0;
}

static inline int do_openat(void *real, uint64_t caller, int dir, const char *path, int flags, int mode)
{
	int old = cancel_begin(), ret;
	struct thr *t = shim_enter();
	long a[6] = {dir, (long)path, flags, mode};

	if (t)
		ret = (int)io_result(io_event(t, caller, SYS_openat, a));
	else
		ret = ((__typeof__(&openat))real)(dir, path, flags, mode);
	cancel_end(old);
	return ret;
}

#define OPEN(name, params, real, dir)                                                                                  \
	LIBC(int, name, params)                                                                                        \
	{                                                                                                              \
		va_list ap;                                                                                            \
		int mode;                                                                                              \
                                                                                                                       \
		va_start(ap, flags);                                                                                   \
		mode = open_mode(flags, ap);                                                                           \
		va_end(ap);                                                                                            \
		return do_openat(real_table[REAL_##real], CALLER(), dir, path, flags, mode);                           \
	}

OPEN(open, (const char *path, int flags, ...), openat, AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), openat64, AT_FDCWD)
OPEN(openat, (int dir, const char *path, int flags, ...), openat, dir)
OPEN(openat64, (int dir, const char *path, int flags, ...), openat64, dir)

#define STAT(name, type)                                                                                               \
	IO(int, name, (const char *path, struct type *st), (path, st), SYS_newfstatat, AT_FDCWD, (long)path, (long)st, \
	   0)
#define LSTAT(name, type)                                                                                              \
	IO(int, name, (const char *path, struct type *st), (path, st), SYS_newfstatat, AT_FDCWD, (long)path, (long)st, \
	   AT_SYMLINK_NOFOLLOW)
#define FSTATAT(name, type)                                                                                            \
	IO(int, name, (int dir, const char *path, struct type *st, int flags), (dir, path, st, flags), SYS_newfstatat, \
	   dir, (long)path, (long)st, flags)
STAT(stat, stat)
STAT(stat64, stat64)
LSTAT(lstat, stat)
LSTAT(lstat64, stat64)
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

#define FSTAT(name, type)                                                                                              \
	LIBC(int, name, (int fd, struct type *st))                                                                     \
	{                                                                                                              \
		struct thr *t = shim_enter();                                                                          \
		long a[6] = {fd, (long)"", (long)st, AT_EMPTY_PATH};                                                   \
                                                                                                                       \
		if (!t)                                                                                                \
			return REAL_W(name)(fd, st);                                                                   \
		if (fd < 0) {                                                                                          \
			shim_leave_quiet(t);                                                                           \
			errno = EBADF;                                                                                 \
			return -1;                                                                                     \
		}                                                                                                      \
		return (int)io_call(t, CALLER(), SYS_newfstatat, a);                                                   \
	}
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

/* ---- sockets and waiting ---- */

IO_CANCEL(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), SYS_sendto, fd, (long)p,
	  (long)n, flags)
IO_CANCEL(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), SYS_recvfrom, fd, (long)p, (long)n,
	  flags)
IO_CANCEL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), SYS_sendmsg, fd, (long)m,
	  flags)
IO_CANCEL(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), SYS_recvmsg, fd, (long)m, flags)
IO_CANCEL(int, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), SYS_poll, (long)fds, (long)n,
	  timeout)
IO_CANCEL(int, epoll_wait, (int fd, struct epoll_event *ev, int n, int timeout), (fd, ev, n, timeout), SYS_epoll_wait,
	  fd, (long)ev, n, timeout)
IO(int, epoll_ctl, (int fd, int op, int of, struct epoll_event *ev), (fd, op, of, ev), SYS_epoll_ctl, fd, op, of,
   (long)ev)

/* ---- time and identity ---- */

LIBC(int, clock_gettime, (clockid_t clock, struct timespec *ts))
{
	struct thr *t = shim_enter();
	long a[6] = {clock, (long)ts};

	if (!t)
		return (int)io_result(raw2(SYS_clock_gettime, clock, ts));
	return (int)io_call(t, CALLER(), SYS_clock_gettime, a);
}

IO(int, gettimeofday, (struct timeval * tv, void *tz), (tv, tz), SYS_gettimeofday, (long)tv, (long)tz)
IO(time_t, time, (time_t * when), (when), SYS_time, (long)when)
/* A call that a debugger makes runs in a copy, which is a process of its own: its IDs are not the program's. */
#define IO_ID(name, nr, shown)                                                                                         \
	LIBC(pid_t, name, (void))                                                                                      \
	{                                                                                                              \
		struct thr *t = shim_enter();                                                                          \
		long a[6] = {0};                                                                                       \
                                                                                                                       \
		if (!t)                                                                                                \
			return G.mode == SHIM_OFF && G.ctl ? (shown) : REAL_W(name)();                                 \
		return (pid_t)io_call(t, CALLER(), nr, a);                                                             \
	}

IO_ID(getpid, SYS_getpid, G.shown_pid)
IO_ID(getppid, SYS_getppid, G.shown_ppid)
IO_ID(gettid, SYS_gettid, self->ordinal == 1 ? G.shown_pid : self->shown_tid)
IO(uid_t, getuid, (void), (), SYS_getuid, 0)
IO(int, sched_yield, (void), (), SYS_sched_yield, 0)

/* ---- which processor: the answer is libc's own, from memory that the kernel writes ---- */

LIBC(int, sched_getcpu, (void))
{
	struct thr *t = shim_enter();
	int64_t ret = 0;

	if (!t)
		return REAL(sched_getcpu)();
	t->caller = CALLER();
	ev(t, RLOG_CALL, 0, RLOG_CALL_GETCPU, 0);
	ev_done(t);
	if (G.mode != SHIM_REPLAY)
		ret = REAL(sched_getcpu)();
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	return (int)ret;
}

/* ---- std::random_device: takes its numbers from the processor (rdrand), which nothing traps ---- */

LIBC(unsigned, _ZNSt13random_device9_M_getvalEv, (void *device))
{
	struct thr *t = shim_enter();
	int64_t ret = 0;

	if (!t)
		return REAL_LATE(_ZNSt13random_device9_M_getvalEv)(device);
	t->caller = CALLER();
	ev(t, RLOG_CALL, 0, RLOG_CALL_RANDOM_DEVICE, 0);
	ev_done(t);
	if (G.mode != SHIM_REPLAY)
		ret = REAL_LATE(_ZNSt13random_device9_M_getvalEv)(device);
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	return (unsigned)ret;
}
