/* SPDX-License-Identifier: MIT */
/*
 * sys_map.c: system calls that change the address space. Files are copied into the recording when they are
 * mapped, so that a replay maps what the program mapped.
 */
#include "record/sys.h"

/* A call that changes the address space: also run when replaying, and must give the same. */
long sys_mem(struct thr *t, long nr, const long *a, unsigned nargs)
{
	static const struct sys_info none;
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, nargs, 0);
	long ret, want;

	if (G.mode == SHIM_RECORD) {
		sys_rec(t, op, n);
		ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		sys_rec_ret(t, ret, 0, 0);
		return ret;
	}
	sys_replay(t, op, n);
	turn_done(t);
	want = sys_replay_ret(t, &none, a, 0);
	if (want < 0)
		return want;
	ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (ret != want)
		shim_fail("a change of the address space did not give the recorded result");
	return ret;
}

/* st[17], a spare word of struct stat: set apart copies of a file that is changed through mappings. */
static void file_copy_path(char *buf, char *end, const uint64_t *st)
{
	char *p = fmt_str(buf, end, G.rec);

	/* struct stat: dev 0, ino 1, size 6, mtime 11 and 12 in 64-bit words */
	p = fmt_str(p, end, "/files/");
	p = fmt_hex(p, end, st[0]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[1]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[6]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[11] * 1000000000ull + st[12]);
	if (st[17]) {
		p = fmt_str(p, end, "-");
		fmt_hex(p, end, st[17]);
	}
}

static int copy_whole(int from, int to, uint64_t size)
{
	uint64_t off = 0;

	if (raw3(SYS_ioctl, to, 0x40049409 /* FICLONE */, from) == 0)
		return 0;
	while (off < size) {
		uint64_t in = off, out = off;
		long r = raw6(SYS_copy_file_range, from, (long)&in, to, (long)&out, (long)(size - off), 0);

		if (r <= 0) {
			char buf[4096];

			r = raw4(SYS_pread64, from, buf, sizeof(buf), off);
			if (r <= 0)
				return r < 0 ? -1 : 0;
			if (raw4(SYS_pwrite64, to, buf, r, off) != r)
				return -1;
		}
		off += (uint64_t)r;
	}
	return 0;
}

/* Copies the file behind fd into the recording, once. Gives st (144 bytes). 0, or -errno. */
static long keep_file(int fd, uint64_t *st, int shared)
{
	static uint32_t shared_maps;
	char path[400], tmp[420], *p;
	long r = raw2(SYS_fstat, fd, st);
	int to;

	if (r < 0)
		return r;
	if ((((uint32_t *)st)[6] & 0170000) != 0100000)
		return -19; /* ENODEV: not a regular file */
	st[17] = 0;
	if (shared || shared_maps)
		st[17] = (uint64_t)G.process << 32 | __atomic_add_fetch(&shared_maps, 1, __ATOMIC_RELAXED);
	file_copy_path(path, path + sizeof(path), st);
	if (keep_exists(path))
		return 0;
	p = fmt_str(tmp, tmp + sizeof(tmp), path);
	p = fmt_str(p, tmp + sizeof(tmp), ".");
	fmt_dec(p, tmp + sizeof(tmp), (uint64_t)raw0(SYS_gettid), 1);
	to = keep_open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0)
		return to;
	/*
	 * Through the program's own descriptor: to close another one would end the process's record locks on the
	 * file. What cannot be read cannot be mapped.
	 */
	r = copy_whole(fd, to, st[6]);
	raw_close(to);
	if (r == 0)
		r = keep_rename(tmp, path);
	if (r < 0)
		keep_unlink(tmp);
	return r;
}

/* Replay: maps the kept copy. Past the end of the copy a page is a SIGBUS, as in the original. */
static long map_kept(const uint64_t *st, const long *a, long addr)
{
	char path[400];
	int fd;
	long r;

	file_copy_path(path, path + sizeof(path), st);
	fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		shim_fail("a file that the program mapped is missing from the recording");
	r = (long)raw_mmap((void *)addr, (size_t)a[1], (int)a[2],
			   (int)((a[3] & ~(MAP_SHARED | MAP_SHARED_VALIDATE | 0x100000)) | MAP_PRIVATE | MAP_FIXED),
			   fd, a[5]);
	raw_close(fd);
	return r;
}

static int is_dev_zero(int fd)
{
	uint64_t st[18];

	return raw2(SYS_fstat, fd, st) == 0 && (((uint32_t *)st)[6] & 0170000) == 0020000 &&
	       st[5] == 0x105;
}

long sys_mmap(struct thr *t, const long *a)
{
	int file = !(a[3] & MAP_ANONYMOUS);
	uint64_t op[10], st[18];
	struct piece v = {(uint8_t *)st, 0};
	unsigned n = sys_pack(op, SYS_mmap, a, 6, 0);
	struct rlog_rec r;
	long ret;

	if (G.mode == SHIM_RECORD) {
		sys_rec(t, op, n);
		if (file && keep_file((int)a[4], st, (a[3] & MAP_SHARED) && (a[2] & PROT_WRITE)) == 0)
			v.n = sizeof(st);
		ret = raw6(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (file && !v.n && ret > 0 && !is_dev_zero((int)a[4])) {
			char who[232];

			describe_caller(t->caller, who, sizeof(who));
			note(RLOG_NOTE_UNSUPPORTED, SYS_mmap, who);
		}
		sys_rec_ret(t, ret, &v, v.n ? 1 : 0);
		return ret;
	}
	sys_replay(t, op, n);
	turn_done(t);
	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	if (ret < 0 && ret > -4096)
		return ret;
	if (r.payload_len > sizeof(st)) {
		put_bytes((uint8_t *)st, r.payload + r.payload_len - sizeof(st), sizeof(st));
		if (map_kept(st, a, ret) != ret)
			shim_fail("cannot map a file of the recording at its place");
		return ret;
	}
	if ((long)raw_mmap((void *)ret, (size_t)a[1], (int)a[2],
			   (int)((a[3] & ~(MAP_FIXED_NOREPLACE | (file ? MAP_SHARED : 0))) | MAP_FIXED |
				 (file ? MAP_ANONYMOUS | MAP_PRIVATE : 0)),
			   -1, 0) != ret)
		shim_fail("cannot map memory at the recorded address");
	return ret;
}

long sys_mremap(struct thr *t, const long *a)
{
	static const struct sys_info none;
	uint64_t op[10];
	unsigned n = sys_pack(op, SYS_mremap, a, 5, 0);
	long ret, want;

	if (G.mode == SHIM_RECORD) {
		sys_rec(t, op, n);
		ret = raw6(SYS_mremap, a[0], a[1], a[2], a[3], a[4], 0);
		sys_rec_ret(t, ret, 0, 0);
		return ret;
	}
	sys_replay(t, op, n);
	turn_done(t);
	want = sys_replay_ret(t, &none, a, 0);
	if (want < 0 && want > -4096)
		return want;
	if (want == a[0])
		ret = raw6(SYS_mremap, a[0], a[1], a[2], 0, 0, 0);
	else
		ret = raw6(SYS_mremap, a[0], a[1], a[2], a[3] | MREMAP_MAYMOVE | MREMAP_FIXED, want, 0);
	if (ret != want)
		shim_fail("cannot move a mapping to its recorded place");
	return ret;
}
