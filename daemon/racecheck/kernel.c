/* SPDX-License-Identifier: MIT */
/* kernel.c: see kernel.h. */
#include "racecheck/kernel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"

#define SOCKETS 1u /* all that were not made as a pair */
#define TIMERS 0u /* as a signal's number: those of timers */

void kernel_init(struct kernel *c, struct syncs *syncs, struct detect *d)
{
	*c = (struct kernel){.syncs = syncs, .d = d, .fd = xcalloc(KERNEL_FDS, sizeof(uint32_t)), .objects = SOCKETS};
}

void kernel_fini(struct kernel *c)
{
	free(c->fd);
	*c = (struct kernel){0};
}

/* The operands are the number, the arguments, and a checksum after them. */
static uint64_t arg(const struct rlog_rec *rec, unsigned i)
{
	return i + 2u < rec->nops ? rec->op[i + 1] : 0;
}

static uint64_t object_of(const struct kernel *c, uint64_t fd)
{
	uint32_t known = fd < KERNEL_FDS ? c->fd[fd] : 0;

	return known ? known : (1ull << 32) + (uint32_t)fd;
}

static void name_fd(struct kernel *c, uint64_t fd, uint32_t object)
{
	if (fd < KERNEL_FDS)
		c->fd[fd] = object;
}

enum call_how {
	CALL_NONE = 0,
	CALL_WRITES, /* writes to what its first argument refers to: before the call */
	CALL_READS, /* reads from that: after it */
	CALL_BOTH,
	CALL_SENDS_1, /* sends a signal, whose number is in this argument */
	CALL_SENDS_2,
	CALL_TIMER,
	CALL_TAKES, /* takes a signal, which is the result */
	CALL_FUTEX,
	CALL_PAIR, /* two descriptors, the last bytes of what it writes */
	CALL_SOCKET, /* a descriptor, the result */
	CALL_COPIES, /* a descriptor is another one, the result */
	CALL_CLOSES,
	CALL_MAPS,
	CALL_UNMAPS,
	CALL_REMAPS,
};

static const uint8_t hows[] = {
	[SYS_read] = CALL_READS,
	[SYS_readv] = CALL_READS,
	[SYS_pread64] = CALL_READS,
	[SYS_preadv] = CALL_READS,
	[SYS_recvfrom] = CALL_READS,
	[SYS_recvmsg] = CALL_READS,
	[SYS_recvmmsg] = CALL_READS,
	[SYS_epoll_wait] = CALL_READS,
	[SYS_epoll_pwait] = CALL_READS,
	[SYS_flock] = CALL_BOTH,
	[SYS_write] = CALL_WRITES,
	[SYS_writev] = CALL_WRITES,
	[SYS_pwrite64] = CALL_WRITES,
	[SYS_pwritev] = CALL_WRITES,
	[SYS_sendto] = CALL_WRITES,
	[SYS_sendmsg] = CALL_WRITES,
	[SYS_sendmmsg] = CALL_WRITES,
	[SYS_shutdown] = CALL_WRITES,
	[SYS_epoll_ctl] = CALL_WRITES,
	[SYS_connect] = CALL_WRITES,
	[SYS_kill] = CALL_SENDS_1,
	[SYS_tkill] = CALL_SENDS_1,
	[SYS_rt_sigqueueinfo] = CALL_SENDS_1,
	[SYS_tgkill] = CALL_SENDS_2,
	[SYS_rt_tgsigqueueinfo] = CALL_SENDS_2,
	[SYS_setitimer] = CALL_TIMER,
	[SYS_timer_settime] = CALL_TIMER,
	[SYS_alarm] = CALL_TIMER,
	[SYS_rt_sigtimedwait] = CALL_TAKES,
	[SYS_futex] = CALL_FUTEX,
	[SYS_pipe] = CALL_PAIR,
	[SYS_pipe2] = CALL_PAIR,
	[SYS_socketpair] = CALL_PAIR,
	[SYS_socket] = CALL_SOCKET,
	[SYS_accept] = CALL_SOCKET,
	[SYS_accept4] = CALL_SOCKET,
	[SYS_dup] = CALL_COPIES,
	[SYS_dup2] = CALL_COPIES,
	[SYS_dup3] = CALL_COPIES,
	[SYS_fcntl] = CALL_COPIES,
	[SYS_close] = CALL_CLOSES,
	[SYS_mmap] = CALL_MAPS,
	[SYS_munmap] = CALL_UNMAPS,
	[SYS_mremap] = CALL_REMAPS,
};

static enum call_how how(const struct rlog_rec *rec)
{
	uint64_t nr = rec->nops ? rec->op[0] : ~0ull;

	return nr < sizeof(hows) ? (enum call_how)hows[nr] : CALL_NONE;
}

static bool wakes(uint64_t op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_UNLOCK_PI:
		return true;
	default:
		return false;
	}
}

bool kernel_reads(const struct rlog_rec *rec, const struct rlog_rec *result, uint64_t *addr, uint64_t *len)
{
	uint64_t nr = rec->nops ? rec->op[0] : ~0ull;
	int64_t ret = result->nops ? (int64_t)result->op[0] : 0;

	*addr = arg(rec, 1);
	*len = ret > 0 ? (uint64_t)ret : 0;
	return (nr == SYS_write || nr == SYS_pwrite64 || nr == SYS_sendto) && *len && *len <= arg(rec, 2);
}

void kernel_begin(struct kernel *c, uint32_t thread, const struct rlog_rec *rec)
{
	switch (how(rec)) {
	case CALL_WRITES:
	case CALL_BOTH:
	case CALL_CLOSES:
		syncs_release(c->syncs, thread, SYNC_FD, object_of(c, arg(rec, 0)));
		break;
	case CALL_SENDS_1:
		syncs_release(c->syncs, thread, SYNC_SIGNAL, arg(rec, 1));
		break;
	case CALL_SENDS_2:
		syncs_release(c->syncs, thread, SYNC_SIGNAL, arg(rec, 2));
		break;
	case CALL_TIMER:
		syncs_release(c->syncs, thread, SYNC_SIGNAL, TIMERS);
		break;
	case CALL_FUTEX:
		if (wakes(arg(rec, 1)))
			syncs_release(c->syncs, thread, SYNC_FUTEX, arg(rec, 0));
		break;
	case CALL_UNMAPS:
		detect_renew(c->d, arg(rec, 0), arg(rec, 1));
		break;
	default:
		break;
	}
}

static void made_pair(struct kernel *c, const struct rlog_rec *result)
{
	int32_t fds[2];

	if (result->payload_len < sizeof(fds))
		return;
	memcpy(fds, result->payload + result->payload_len - sizeof(fds), sizeof(fds));
	c->objects++;
	name_fd(c, (uint32_t)fds[0], c->objects);
	name_fd(c, (uint32_t)fds[1], c->objects);
}

static bool copies(const struct rlog_rec *rec)
{
	return rec->op[0] != SYS_fcntl || arg(rec, 1) == F_DUPFD || arg(rec, 1) == F_DUPFD_CLOEXEC;
}

void kernel_end(struct kernel *c, uint32_t thread, const struct rlog_rec *rec, const struct rlog_rec *result)
{
	int64_t ret = result->nops ? (int64_t)result->op[0] : 0;

	if (ret < 0)
		return;
	switch (how(rec)) {
	case CALL_READS:
	case CALL_BOTH:
		syncs_acquire(c->syncs, thread, SYNC_FD, object_of(c, arg(rec, 0)));
		break;
	case CALL_TAKES:
		kernel_signal(c, thread, (uint64_t)ret);
		break;
	case CALL_FUTEX:
		if (!wakes(arg(rec, 1)))
			syncs_acquire(c->syncs, thread, SYNC_FUTEX, arg(rec, 0));
		break;
	case CALL_PAIR:
		made_pair(c, result);
		break;
	case CALL_SOCKET:
		name_fd(c, (uint64_t)ret, SOCKETS);
		syncs_acquire(c->syncs, thread, SYNC_FD, SOCKETS);
		break;
	case CALL_COPIES:
		if (copies(rec))
			name_fd(c, (uint64_t)ret,
				(uint32_t)(object_of(c, arg(rec, 0)) >> 32 ? 0 : object_of(c, arg(rec, 0))));
		break;
	case CALL_CLOSES:
		name_fd(c, arg(rec, 0), 0);
		break;
	case CALL_MAPS:
		detect_renew(c->d, (uint64_t)ret, arg(rec, 1));
		break;
	case CALL_REMAPS:
		detect_renew(c->d, arg(rec, 0), arg(rec, 1));
		if ((uint64_t)ret != arg(rec, 0))
			detect_renew(c->d, (uint64_t)ret, arg(rec, 2));
		break;
	default:
		break;
	}
}

void kernel_signal(struct kernel *c, uint32_t thread, uint64_t signo)
{
	syncs_acquire(c->syncs, thread, SYNC_SIGNAL, signo);
	syncs_acquire(c->syncs, thread, SYNC_SIGNAL, TIMERS);
}
