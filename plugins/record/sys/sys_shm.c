/* SPDX-License-Identifier: MIT */
/*
 * sys_shm.c: System V shared memory. A replay maps private memory in place of a segment; what other processes wrote
 * there comes from the log (pages.c).
 */
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/sys/sys.h"

#include <sys/shm.h>

static int seg_stat(long id, struct shmid_ds *ds)
{
	return (int)raw3(SYS_shmctl, id, IPC_STAT, ds);
}

static int attach_prot(const long *a)
{
	return PROT_READ | ((a[2] & SHM_RDONLY) ? 0 : PROT_WRITE) | ((a[2] & SHM_EXEC) ? PROT_EXEC : 0);
}

static void attached(const long *a, long at, uint64_t size)
{
	pages_mapped((uint64_t)at, size, attach_prot(a), REGION_SYSV, ~0ull, (uint64_t)a[0], 0, 0);
}

long record_shmat(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct shmid_ds ds = {0};
	uint64_t op[10], size = 0;
	struct piece v = {(uint8_t *)&size, sizeof(size)};
	unsigned n = sys_pack(op, nr, a, 3, 0);
	long ret;

	/* a fresh segment of a single process is private until a fork */
	if (seg_stat(a[0], &ds) == 0 && (ds.shm_nattch || ds.shm_atime || G.control->next_process > 1))
		group_begin(t);
	sys_rec(t, op, n);
	size = ds.shm_segsz;
	ret = raw3(nr, a[0], a[1], a[2]);
	if (ret > 0 || ret < -4095)
		attached(a, ret, size);
	sys_rec_ret(t, ret, &v, 1);
	return ret;
}

long replay_shmat(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10], size;
	unsigned n = sys_pack(op, nr, a, 3, 0);
	struct rlog_rec r;
	long ret;

	group_begin(t);
	sys_replay(t, op, n);
	turn_done(t);
	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	if (sys_is_error(ret))
		return ret;
	if (r.payload_len < sizeof(size))
		shim_fail("the record of a shared memory segment is damaged");
	put_bytes((uint8_t *)&size, r.payload + r.payload_len - sizeof(size), sizeof(size));
	if ((long)raw_mmap((void *)ret, size, attach_prot(a), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != ret)
		shim_fail("cannot map memory at the recorded address");
	attached(a, ret, size);
	return ret;
}

long record_shmdt(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10], len = pages_attached((void *)a[0]);
	long ret;

	sys_rec_stay(t, op, sys_pack(op, nr, a, 1, 0));
	if (len)
		pages_unmapped((uint64_t)a[0], len);
	ret = raw1(nr, a[0]);
	sys_rec_ret_point(t, ret);
	return ret;
}

long replay_shmdt(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10], len = pages_attached((void *)a[0]);
	long ret;

	sys_replay(t, op, sys_pack(op, nr, a, 1, 0));
	if (len && sys_result_ahead(t, &ret) && ret == 0) {
		pages_unmapped((uint64_t)a[0], len);
		raw2(SYS_munmap, a[0], len);
	}
	return sys_replay_end(t, a);
}

long sys_shmctl(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};

	switch ((int)a[1]) {
	case IPC_STAT:
	case SHM_STAT:
		s.out[0] = (struct io){IO_FIXED, 2, 0, sizeof(struct shmid_ds)};
		break;
	case IPC_SET:
		s.in[0] = (struct io){IO_FIXED, 2, 0, sizeof(struct shmid_ds)};
		break;
	case IPC_INFO:
		s.out[0] = (struct io){IO_FIXED, 2, 0, sizeof(struct shminfo)};
		break;
	case SHM_INFO:
		s.out[0] = (struct io){IO_FIXED, 2, 0, sizeof(struct shm_info)};
		break;
	}
	return sys_do(t, &s, SYS_shmctl, a);
}
