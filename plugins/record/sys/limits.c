/* SPDX-License-Identifier: MIT */
/*
 * limits.c: RLIMIT_NOFILE. A program that must not open anything more sets both its limits to 0 or 1; the recorder
 * could then not open a log any more. So the kernel's hard limit stays a little higher than the program has set it; the
 * program is shown, and bound by, the limit that it has set. The kernel's soft limit is the program's; the recorder
 * raises it only where the program does not notice (keeper.c).
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/shm/group.h"
#include "record/sys/sys.h"

#include <errno.h>
#include <sys/resource.h>

#define FEW 16 /* descriptors: the recorder needs fewer */
#define CAP_RESOURCE 24u /* CAP_SYS_RESOURCE */

static uint64_t told_max; /* the hard limit that the program has set, if the kernel's is higher: lowered */
static int lowered;

static int may_raise(void)
{
	uint32_t head[2] = {0x20080522, 0}, data[6] = {0};

	return raw2(SYS_capget, head, data) == 0 && (data[0] & 1u << CAP_RESOURCE);
}

static long set(const uint64_t *now, const uint64_t *want)
{
	uint64_t kernel[2] = {want[0], want[1]}, max = lowered ? told_max : now[1];
	long ret;

	if (want[0] > want[1])
		return -EINVAL;
	if (want[1] > max && !may_raise())
		return -EPERM;
	if (want[1] < FEW && now[1] > want[1])
		kernel[1] = now[1] < FEW ? now[1] : FEW;
	ret = raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, kernel, 0);
	if (ret == 0) {
		told_max = want[1];
		lowered = kernel[1] != want[1];
	}
	return ret;
}

/* As in the kernel: *old is the former limit, even if the new one is refused because of its address. */
static long change(const uint64_t *want, void *old)
{
	uint64_t now[2], to[2], before[2];
	long ret = raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, now);

	if (ret)
		return ret;
	before[0] = now[0];
	before[1] = lowered ? told_max : now[1];
	if (want) {
		if (!sys_readable(want, sizeof(to)))
			return -EFAULT;
		__builtin_memcpy(to, want, sizeof(to));
		ret = set(now, to);
	}
	return ret == 0 && old ? sys_put(old, before, sizeof(before)) : ret;
}

int limits_are_ours(long nr, const long *a)
{
	if (nr != SYS_prlimit64)
		return (int)a[0] == RLIMIT_NOFILE;
	return (int)a[1] == RLIMIT_NOFILE && (a[0] == 0 || (int)a[0] == G.shown_pid);
}

long limits_call(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	struct piece v[PIECES];
	uint32_t before[4] = {0};
	uint64_t op[10];
	unsigned n;
	long ret;

	if (G.mode == SHIM_REPLAY)
		return sys_do(t, s, nr, a);
	n = sys_pack(op, nr, a, s->nargs, sys_check_inputs(s, a));
	sys_rec(t, op, n);
	if (nr == SYS_prlimit64)
		ret = change((const uint64_t *)a[2], (void *)a[3]);
	else if (nr == SYS_setrlimit)
		ret = a[1] ? change((const uint64_t *)a[1], 0) : -EFAULT;
	else
		ret = a[1] ? change(0, (void *)a[1]) : -EFAULT;
	sys_rec_ret(t, ret, v, sys_out_pieces(s, a, ret, before, v));
	return ret;
}

void limits_before_exec(void)
{
	uint64_t limit[2];

	if (!lowered || raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, limit))
		return;
	limit[1] = told_max;
	if (raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, 0) == 0)
		lowered = 0;
}
