/* SPDX-License-Identifier: MIT */
/* setxid.c: the wrappers of functions by which a program changes its user or groups. See signal/setxid.c. */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/shm/group_page.h"
#include "record/signal/sig.h"
#include "record/sync/lib.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>

#define SETXID(name, params, args)                                                                                     \
	LIBC(int, name, params)                                                                                        \
	{                                                                                                              \
		struct thr *t = setxid_begin((uint64_t)__builtin_return_address(0));                                   \
                                                                                                                       \
		if (!t)                                                                                                \
			return REAL(name) args;                                                                        \
		return setxid_end(t, G.mode != SHIM_REPLAY ? REAL(name) args : 0);                                     \
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

/* As libc's own, which would call libc's own setgroups. */
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
