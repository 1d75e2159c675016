/* SPDX-License-Identifier: MIT */
/*
 * sys_map.c: system calls that change the address space. Files are copied into the recording when they are
 * mapped, so that a replay maps what the program mapped.
 *
 * Addresses are like locks: unmapping releases them, and mapping acquires them. Memory becomes free at the stamp of the
 * first half of the event, before the turn is passed on, and an address is taken in the second half. So a replay never
 * unmaps what another thread has mapped there since. In a recording with one thread at a time, the effect of a first
 * half is complete before another thread runs.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/util.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/shm/group.h"
#include "record/store/files.h"
#include "record/store/log.h"
#include "record/sys/sys.h"
#include "record/sys/vfork_share.h"

/* Forgets what was known of memory that is about to be unmapped, or mapped over. */
static void forget(const long *a)
{
	written_unmapped((uint64_t)a[0], (uint64_t)a[1]);
	if (unlikely(pages_range((void *)a[0], (uint64_t)a[1])))
		pages_unmapped((uint64_t)a[0], (uint64_t)a[1]);
}

/* Is it readable code? Not if the file ends before the mapping does: the last page cannot be read then. */
static int is_text(const long *a)
{
	return (a[2] & (PROT_READ | PROT_EXEC)) == (PROT_READ | PROT_EXEC) && a[1] > 0 &&
	       sys_readable((const void *)(a[0] + a[1] - 1), 1);
}

/* Code in shared memory is not patched: other processes would see that. */
static void note_protection(const long *a)
{
	int shared = pages_range((void *)a[0], (uint64_t)a[1]) != 0;

	written_mapped((uint64_t)a[0], (uint64_t)a[1], (int)a[2], shared);
	if (shared)
		pages_protected((uint64_t)a[0], (uint64_t)a[1], (int)a[2]);
	else if (is_text(a))
		patch_made((uint64_t)a[0], (uint64_t)a[1]);
}

/*
 * In a copy that is to fault where the program's code is called (visibility/program_code.h): removes the right to
 * execute. If there is no room to note that it is code, the processor may execute it, unseen.
 */
static void forbid_code(uint64_t lo, uint64_t len, int prot)
{
	if (shim_code_add(lo, lo + len))
		raw3(SYS_mprotect, lo, len, prot & ~PROT_EXEC);
}

static void note_code(uint64_t lo, uint64_t len, int prot)
{
	int is_code = shim_code_has(lo, lo + len);

	shim_code_changed(lo, lo + len);
	if (is_code && (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == (PROT_READ | PROT_EXEC))
		forbid_code(lo, len, prot);
}

static long change(long nr, const long *a)
{
	long ret;

	if (nr == SYS_munmap)
		forget(a);
	ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_mprotect && ret == 0)
		note_protection(a);
	if (unlikely(shim_report) && (nr == SYS_mprotect || nr == SYS_munmap) && ret == 0)
		note_code((uint64_t)a[0], (uint64_t)a[1], nr == SYS_munmap ? 0 : (int)a[2]);
	return ret;
}

static long record_mem(struct thr *t, long nr, const long *a, const uint64_t *op, unsigned n)
{
	long ret;

	if (nr == SYS_mprotect && unlikely(G.group) && !(a[2] & (PROT_READ | PROT_WRITE)) &&
	    pages_range((void *)a[0], (uint64_t)a[1]))
		pages_settle(); /* what the program wrote there cannot be examined later */
	sys_rec_stay(t, op, n);
	ret = change(nr, a);
	vfork_child_maps(nr, a, ret);
	sys_rec_ret_point(t, ret);
	return ret;
}

static long replay_mem(struct thr *t, long nr, const long *a, const uint64_t *op, unsigned n)
{
	long ret;

	sys_replay(t, op, n);
	/* a brk is only reported; a call that met a hole has changed what is before the hole */
	if (sys_result_ahead(t, &ret) && (!sys_is_error(ret) || (nr == SYS_mprotect && ret == -12 /* ENOMEM */)) &&
	    (nr != SYS_brk || ret == a[0]) && change(nr, a) != ret)
		shim_fail("a change of the address space did not give the recorded result");
	return sys_replay_end(t, a);
}

SHIM_CLOSED long sys_mem(struct thr *t, long nr, const long *a, unsigned nargs)
{
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, nargs, 0);

	return (G.mode == SHIM_REPLAY ? replay_mem : record_mem)(t, nr, a, op, n);
}

static int open_recorded(const uint64_t *st)
{
	char path[400];
	int fd;

	files_copy_path(path, path + sizeof(path), st);
	fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		shim_fail("a file that the program mapped is missing from the recording");
	return fd;
}

static long record_ldt(struct thr *t, const long *a, const uint64_t *op, unsigned n)
{
	long ret;

	sys_rec_stay(t, op, n);
	ret = raw3(SYS_modify_ldt, a[0], a[1], a[2]);
	sys_rec_ret_point(t, ret);
	return ret;
}

static long replay_ldt(struct thr *t, const long *a, const uint64_t *op, unsigned n)
{
	long ret;

	sys_replay(t, op, n);
	if (sys_result_ahead(t, &ret) && ret == 0) {
		G.ctl->no_checkpoint = 1;
		if (raw3(SYS_modify_ldt, a[0], a[1], a[2]) != 0)
			shim_fail("cannot make a segment as it was when recording (modify_ldt)");
	}
	return sys_replay_end(t, a);
}

/*
 * Segments of the program's own; the call is also made in a replay. CRIU does not support them: from then on there are
 * no checkpoints.
 */
long sys_ldt(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const struct sys_info read = {CLASS_REC, 3, {{0}}, {{IO_RET, 1, 2, 1}}};
	static const struct sys_info write = {CLASS_REC, 3, {{IO_FIXED, 1, 0, 16}}, {{0}}}; /* struct user_desc */
	uint64_t op[10];
	unsigned n;

	if ((int)a[0] != 1 && (int)a[0] != 0x11)
		return sys_do(t, &read, nr, a);
	if (!sys_readable((const void *)a[1], 16))
		return -14; /* EFAULT */
	n = sys_pack(op, nr, a, 3, sys_check_inputs(&write, a));
	return (G.mode == SHIM_REPLAY ? replay_ldt : record_ldt)(t, a, op, n);
}

/* Replay: maps the recorded file. Past the end of the copy a page is a SIGBUS, as in the original. */
static long map_kept(const uint64_t *st, const long *a, long addr)
{
	int fd = open_recorded(st);
	long r;

	r = (long)raw_mmap((void *)addr, (size_t)a[1], (int)a[2],
			   (int)((a[3] & ~(MAP_SHARED | MAP_SHARED_VALIDATE | 0x100000)) | MAP_PRIVATE | MAP_FIXED |
				 MAP_NORESERVE),
			   fd, a[5]);
	raw_close(fd);
	return r;
}

static void patch_kept(const long *a, long at, const uint64_t *st)
{
	int fd = open_recorded(st);

	patch_mapped(fd, (uint64_t)at, (uint64_t)a[1], (uint64_t)a[5], st);
	raw_close(fd);
}

static int is_dev_zero(int fd)
{
	uint64_t st[18];

	return raw2(SYS_fstat, fd, st) == 0 && (((uint32_t *)st)[6] & 0170000) == 0020000 && st[5] == 0x105;
}

/*
 * Is a file that is mapped read-only written through other mappings, of this process or of others? A file without a
 * name (memfd_create(2), or unlinked), or with a name from shm_open(3), exists to be shared.
 */
static int is_written(const uint64_t *st)
{
	uint64_t shm[18];

	return pages_of_file(st[0], st[1]) || group_has_region(st[0], st[1]) || st[2] == 0 /* st_nlink */ ||
	       (raw2(SYS_stat, "/dev/shm", shm) == 0 && shm[0] == st[0]);
}

/* The kind of shared memory, if other processes may come to share it, or 0. */
static int shared_kind(const long *a)
{
	uint64_t st[18];

	if ((a[3] & 0xf) != MAP_SHARED && (a[3] & 0xf) != MAP_SHARED_VALIDATE)
		return 0;
	if ((a[3] & MAP_ANONYMOUS) || is_dev_zero((int)a[4]))
		return REGION_ANON;
	if (raw2(SYS_fstat, a[4], st) < 0 || (((uint32_t *)st)[6] & 0170000) != 0100000)
		return 0;
	return (raw3(SYS_fcntl, a[4], F_GETFL, 0) & O_ACCMODE) == O_RDWR || is_written(st) ? REGION_FILE : 0;
}

/* Is it worth following from the beginning? As long as there is only one process, large mappings wait for a fork. */
#define SMALL 65536

static void join(struct thr *t, const long *a, int kind)
{
	if (G.mode == SHIM_REPLAY || (kind == REGION_FILE && (G.control->next_process > 1 || a[1] <= SMALL)))
		group_begin(t);
}

static void mapped(const long *a, long at, int kind, const uint64_t *st)
{
	if (!kind || at <= 0)
		return;
	pages_mapped((uint64_t)at, (uint64_t)a[1], (int)a[2], (enum region_kind)kind, kind == REGION_FILE ? st[0] : 0,
		     kind == REGION_FILE ? st[1] : 0, kind == REGION_FILE ? (uint64_t)a[5] : 0,
		     kind == REGION_FILE ? st : 0);
}

/*
 * Is it where the recorder, or a replay, has memory of its own (rlog/replay.h)? Not all of that is mapped while
 * recording.
 */
static int is_recorders(const long *a)
{
	uint64_t lo = (uint64_t)a[0], hi = lo + (uint64_t)a[1];

	return lo && hi > SHIM_OWN_ADDR && lo < SHIM_OWN_END_ADDR && hi > lo;
}

/* As if all of that were mapped, except that the program cannot replace it. */
static long map_elsewhere(const long *a)
{
	char text[120], *end = text + sizeof(text), *p;

	if (a[3] & MAP_FIXED_NOREPLACE)
		return -17; /* EEXIST */
	if (!(a[3] & MAP_FIXED))
		return raw6(SYS_mmap, 0, a[1], a[2], a[3], a[4], a[5]);
	p = fmt_str(text, end, "a mapping at 0x");
	p = fmt_hex(p, end, (uint64_t)a[0]);
	fmt_str(p, end, ", which is the recorder's address (ENOMEM)");
	note(RLOG_NOTE_UNSUPPORTED, SYS_mmap, text);
	return -12;
}

/* In a replay, it is zeros. */
static void note_unread(const struct thr *t)
{
	char text[232], *p = fmt_str(text, text + sizeof(text),
				     "what is read from a mapping of which there is no copy (a device, a socket, a "
				     "full disk); called from ");

	describe_caller(t->caller, p, (size_t)(text + sizeof(text) - p));
	note(RLOG_NOTE_UNSUPPORTED, SYS_mmap, text);
}

/* Is it where heaps and stacks of later threads will be? Nothing else may be there (blocks_is_heap, shim_is_stack). */
static int is_for_threads(const long *a)
{
	uint64_t lo = (uint64_t)a[0], hi = lo + (uint64_t)a[1];

	return hi > SHIM_HEAP_MAIN_ADDR && lo < SHIM_STACK_ADDR + ((RLOG_MAX_THREADS + 2ull) << 26);
}

/* An address that is only a hint need not be used. */
static long map(const long *a)
{
	int hint = !(a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE));

	if (is_recorders(a))
		return map_elsewhere(a);
	return raw6(SYS_mmap, hint && is_for_threads(a) ? 0 : a[0], a[1], a[2], a[3], a[4], a[5]);
}

long record_mmap(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	int file = !(a[3] & MAP_ANONYMOUS), kind = shared_kind(a);
	uint64_t op[10], st[18];
	struct piece v = {(uint8_t *)st, 0};
	unsigned n = sys_pack(op, nr, a, 6, 0);
	long ret;

	if (unlikely(kind))
		join(t, a, kind);
	sys_rec(t, op, n);
	if ((a[3] & MAP_FIXED) && !is_recorders(a))
		forget(a);
	if (file && files_keep((int)a[4], st, (a[3] & MAP_SHARED) && (a[2] & PROT_WRITE)) == 0)
		v.n = sizeof(st);
	ret = map(a);
	if (file && !v.n && ret > 0 && !is_dev_zero((int)a[4]))
		note_unread(t);
	if (ret > 0)
		written_mapped((uint64_t)ret, (uint64_t)a[1], (int)a[2], (a[3] & MAP_SHARED) != 0);
	if (v.n && (a[2] & PROT_EXEC) && ret > 0)
		files_loaded((int)a[4], st, (uint64_t)(ret - a[5]));
	if (v.n && (a[2] & PROT_EXEC) && ret > 0 && !(a[3] & MAP_SHARED))
		patch_mapped((int)a[4], (uint64_t)ret, (uint64_t)a[1], (uint64_t)a[5], st);
	if (kind == REGION_ANON || v.n)
		mapped(a, ret, kind, st);
	vfork_child_maps(nr, a, ret);
	sys_rec_ret(t, ret, &v, v.n ? 1 : 0);
	return ret;
}

/* The recording's copy of a file. st: its struct stat, from the log. */
static void replay_file(const long *a, long at, const uint64_t *st)
{
	if (map_kept(st, a, at) != at)
		shim_fail("cannot map a file of the recording at its place");
	if (a[3] & MAP_SHARED)
		mapped(a, at, REGION_FILE, st);
	else if (a[2] & PROT_EXEC)
		patch_kept(a, at, st);
	if (unlikely(shim_report) && (a[2] & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC && !(a[3] & MAP_SHARED))
		forbid_code((uint64_t)at, (uint64_t)a[1], (int)a[2]);
}

static void replay_anonymous(const long *a, long at)
{
	if ((long)raw_mmap((void *)at, (size_t)a[1], (int)a[2],
			   (int)((a[3] & ~(MAP_FIXED_NOREPLACE | MAP_SHARED | MAP_SHARED_VALIDATE)) | MAP_FIXED |
				 MAP_ANONYMOUS | MAP_PRIVATE | ((a[3] & MAP_SHARED) ? MAP_NORESERVE : 0)),
			   -1, 0) != at)
		shim_fail("cannot map memory at the recorded address");
	if (a[3] & MAP_SHARED)
		mapped(a, at, REGION_ANON, 0);
}

long replay_mmap(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10], st[18];
	unsigned n = sys_pack(op, nr, a, 6, 0);
	struct rlog_rec r;
	long ret;

	if (a[3] & MAP_SHARED)
		join(t, a, 0);
	sys_replay(t, op, n);
	turn_done(t);
	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	if (sys_is_error(ret))
		return ret;
	if (a[3] & MAP_FIXED)
		forget(a);
	if (unlikely(shim_report))
		shim_code_changed((uint64_t)ret, (uint64_t)ret + (uint64_t)a[1]);
	if (r.payload_len > sizeof(st)) {
		put_bytes((uint8_t *)st, r.payload + r.payload_len - sizeof(st), sizeof(st));
		replay_file(a, ret, st);
	} else {
		replay_anonymous(a, ret);
	}
	return ret;
}
