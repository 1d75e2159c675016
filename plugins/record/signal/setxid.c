/* SPDX-License-Identifier: MIT */
/*
 * setxid.c: a program with several threads changes its user or groups.
 *
 * For the kernel these belong to a thread. libc changes those of all: it sends each thread a signal, whose handler makes
 * the call there, and waits. How far the threads have got with that when one looks is chance, and of no interest: the
 * whole is one event, in which the other threads' handlers run at once and unseen. A replay has the result alone.
 */
#include "record/sync/lib.h"

#include "record/core/sigaction.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>

/* For setxid_signal: somebody in here waits for it. */
static uint32_t waiting;

/* libc set its handler in its own pthread_create, whose calls are not the program's. Its calls are not, either. */
static void take_over(void)
{
	struct ksigaction k = {0};

	if (sig_has_handler(SIG_SETXID) || raw4(SYS_rt_sigaction, SIG_SETXID, 0, &k, 8) || (unsigned long)k.handler <= 1)
		return;
	sig_user[SIG_SETXID] = k;
	sig_apply(SIG_SETXID);
}

static struct thr *begin(uint64_t caller)
{
	/* with one thread it is a system call like others */
	struct thr *t = G.mt ? shim_enter() : 0;

	if (!t)
		return 0;
	t->caller = caller;
	ev(t, RLOG_CALL, 0, RLOG_CALL_SETXID, 0);
	ev_done(t);
	if (G.mode == SHIM_RECORD)
		take_over();
	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	return t;
}

/* ret: what libc's function gave. */
static int end(struct thr *t, int64_t ret)
{
	__atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	if (ret)
		ret = -errno;
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	if (ret)
		errno = (int)-ret;
	return ret ? -1 : 0;
}

#define SETXID(name, params, args)                                                                 \
	LIBC(int, name, params)                                                                    \
	{                                                                                          \
		struct thr *t = begin((uint64_t)__builtin_return_address(0));                      \
                                                                                                   \
		if (!t)                                                                            \
			return REAL(name) args;                                                    \
		return end(t, G.mode == SHIM_RECORD ? REAL(name) args : 0);                        \
	}

SETXID(setuid, (uid_t id), (id))
SETXID(setgid, (gid_t id), (id))
SETXID(seteuid, (uid_t id), (id))
SETXID(setegid, (gid_t id), (id))
SETXID(setreuid, (uid_t r, uid_t e), (r, e))
SETXID(setregid, (gid_t r, gid_t e), (r, e))
SETXID(setresuid, (uid_t r, uid_t e, uid_t s), (r, e, s))
SETXID(setresgid, (gid_t r, gid_t e, gid_t s), (r, e, s))
SETXID(setgroups, (size_t n, const gid_t *groups), (n, groups))

/* As libc's, which would call its own setgroups. */
LIBC(int, initgroups, (const char *user, gid_t group))
{
	gid_t *groups = 0, *more;
	int n = 64, ret;

	if (!G.mt)
		return REAL(initgroups)(user, group);
	do {
		more = realloc(groups, (size_t)n * sizeof(*groups));
		if (!more) {
			free(groups);
			return -1;
		}
		groups = more;
	} while (getgrouplist(user, group, groups, &n) < 0);
	do /* the kernel's limit may be lower than what the database has */
		ret = setgroups((size_t)n, groups);
	while (ret && errno == EINVAL && --n > 0);
	free(groups);
	return ret;
}

int setxid_signal(struct thr *t, int sig, siginfo_t *si, void *uc)
{
	int depth = t->depth;
	char selector = t->selector;

	if (sig != SIG_SETXID || si->si_code != SI_TKILL || !sig_has_handler(sig) ||
	    !__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		return 0;
	t->depth = 1;
	t->selector = 0;
	sig_user[sig].handler(sig, si, uc);
	t->depth = depth;
	t->selector = selector;
	return 1;
}
