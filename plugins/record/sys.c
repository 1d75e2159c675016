/* SPDX-License-Identifier: MIT */
/*
 * sys.c: one system call of the program, recorded or replayed from the table in syscalls.def.
 *
 * Record: SYS (count, nr, args..., check of the inputs), then the call, then SYSRET (result, outputs). The
 * outputs are logged one behind the other, each as a varint length and its bytes, in the table's order.
 * Replay: the same, but the outputs come from the log.
 */
#include "record/shim.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum sys_class { CLASS_UNKNOWN = 0, CLASS_REC, CLASS_MEM, CLASS_RAW, CLASS_FN, CLASS_NOSYS };

enum io_how {
	IO_END = 0, IO_STR, IO_BYTES, IO_FIXED, IO_IOV, IO_MSG, IO_ADDR,
	IO_RET, IO_RETMUL, IO_FIXED_ERR, IO_ARGMUL, IO_VALRES, IO_FDSET,
};

struct io {
	uint8_t how, arg, len_arg;
	uint16_t n;
};

struct sys_info {
	uint8_t cls, nargs;
	struct io in[2], out[4];
};

#define NR_LIMIT 460

#define S(i) {IO_STR, i, 0, 0},
#define B(i, j) {IO_BYTES, i, j, 0},
#define F(i, k) {IO_FIXED, i, 0, k},
#define V(i, j) {IO_IOV, i, j, 0},
#define M(i) {IO_MSG, i, 0, 0},
#define A(i, j) {IO_ADDR, i, j, 0},
#define R(i) {IO_RET, i, 0, 1},
#define RM(i, k) {IO_RETMUL, i, 0, k},
#define E(i, k) {IO_FIXED_ERR, i, 0, k},
#define AM(i, j, k) {IO_ARGMUL, i, j, k},
#define L(i, j) {IO_VALRES, i, j, 0},
#define FD(i) {IO_FDSET, i, 0, 0},
static const struct sys_info sys_table[NR_LIMIT] = {
#define SC(name, nargs, cls, in, out) [__NR_##name] = {CLASS_##cls, nargs, {in}, {out}},
#include "record/syscalls.def"
#undef SC
};
#undef S
#undef B
#undef F
#undef V
#undef M
#undef A
#undef R
#undef RM
#undef E
#undef AM
#undef L
#undef FD

/* ---- inputs ---- */

static uint32_t check_iov(uint32_t crc, const struct iovec *v, unsigned long n)
{
	for (unsigned long i = 0; i < n && i < 1024; i++)
		crc = crc32c(crc, v[i].iov_base, v[i].iov_len);
	return crc;
}

/* Memory that the kernel would find bad must not crash us: such a call fails with EFAULT by itself. */
static int readable(const void *p, size_t n)
{
	uint8_t probe;
	struct iovec l = {&probe, 1}, r = {(void *)p, 1};
	uintptr_t a = (uintptr_t)p, last = a + n - 1;

	if (!p || !n)
		return 0;
	if (a < 4096 || last < a)
		return 0;
	/* the common cases: this stack, the shim's heap */
	if (a >= SHIM_HEAP_MAIN_ADDR && a < SHIM_STACK_ADDR + (RLOG_MAX_THREADS << 26ull))
		return 1;
	if (a - (uintptr_t)&l < (1u << 16))
		return 1;
	for (; a <= last; a = (a & ~4095ull) + 4096) {
		r.iov_base = (void *)a;
		if (raw6(SYS_process_vm_readv, G.pid, (long)&l, 1, (long)&r, 1, 0) != 1)
			return 0;
	}
	return 1;
}

/* The part of a socket address that counts: what lies behind it is often whatever was on the stack. */
static size_t address_len(const uint8_t *p, size_t n)
{
	uint16_t family = (uint16_t)(p[0] | p[1] << 8);
	size_t len = 2;

	if (family == AF_INET)
		return n < 8 ? n : 8;
	if (family != AF_UNIX || n < 3 || !p[2])
		return n;
	while (len < n && p[len])
		len++;
	return len;
}

static uint32_t check_inputs(const struct sys_info *s, const long *a)
{
	uint32_t crc = 0;

	for (int i = 0; i < 2 && s->in[i].how; i++) {
		const struct io *d = &s->in[i];
		const uint8_t *p = (const uint8_t *)a[d->arg];
		size_t n;

		if (!p)
			continue;
		switch (d->how) {
		case IO_STR:
			if ((uintptr_t)p < 4096 || !readable(p, 1))
				break;
			for (n = 0; n < 4096 && p[n]; n++)
				;
			crc = crc32c(crc, p, n);
			break;
		case IO_BYTES:
			n = (size_t)a[d->len_arg];
			if (n && n <= 0x7ffff000 && (n <= 65536 ? readable(p, n) : readable(p, 1)))
				crc = crc32c(crc, p, n);
			break;
		case IO_FIXED:
			if (readable(p, d->n))
				crc = crc32c(crc, p, d->n);
			break;
		case IO_ADDR:
			n = (size_t)a[d->len_arg] & 255;
			if (n >= 2 && readable(p, n))
				crc = crc32c(crc, p, address_len(p, n));
			break;
		case IO_IOV:
			if (readable(p, 16))
				crc = check_iov(crc, (const struct iovec *)p, (unsigned long)a[d->len_arg]);
			break;
		case IO_MSG:
			if (readable(p, sizeof(struct msghdr))) {
				const struct msghdr *m = (const struct msghdr *)p;

				crc = check_iov(crc, m->msg_iov, m->msg_iovlen);
			}
			break;
		}
	}
	return crc;
}

/* ---- outputs: the pieces of memory that a call wrote ---- */

struct piece {
	uint8_t *p;
	uint64_t n;
};

#define PIECES 80

static int add_piece(struct piece *v, int k, void *p, uint64_t n)
{
	if (p && n && k < PIECES) {
		v[k].p = p;
		v[k].n = n;
		k++;
	}
	return k;
}

static int iov_pieces(struct piece *v, int k, const struct iovec *iov, unsigned long cnt, uint64_t left)
{
	for (unsigned long i = 0; i < cnt && left; i++) {
		uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;

		k = add_piece(v, k, iov[i].iov_base, n);
		left -= n;
	}
	return k;
}

/* valres: when recording, the value-result length before the call (the kernel reports the full one) */
static int out_pieces(const struct sys_info *s, const long *a, long ret, const uint32_t *before,
		      struct piece *v)
{
	int k = 0;

	for (int i = 0; i < 4 && s->out[i].how; i++) {
		const struct io *d = &s->out[i];
		void *p = (void *)a[d->arg];

		if (!p || (ret < 0 && d->how != IO_FIXED_ERR))
			continue;
		switch (d->how) {
		case IO_RET:
			k = add_piece(v, k, p, (uint64_t)ret);
			break;
		case IO_RETMUL:
			k = add_piece(v, k, p, (uint64_t)ret * d->n);
			break;
		case IO_FIXED:
		case IO_FIXED_ERR:
			k = add_piece(v, k, p, d->n);
			break;
		case IO_ARGMUL:
			k = add_piece(v, k, p, (uint64_t)a[d->len_arg] * d->n);
			break;
		case IO_FDSET:
			k = add_piece(v, k, p, ((uint64_t)(uint32_t)a[0] + 63) / 64 * 8);
			break;
		case IO_VALRES: {
			uint32_t *lp = (uint32_t *)a[d->len_arg];

			if (!lp)
				break;
			k = add_piece(v, k, lp, 4);
			k = add_piece(v, k, p, *lp < before[i] ? *lp : before[i]);
			break;
		}
		case IO_IOV:
			k = iov_pieces(v, k, p, (unsigned long)a[d->len_arg], (uint64_t)ret);
			break;
		case IO_MSG: {
			struct msghdr *m = p;

			k = add_piece(v, k, &m->msg_namelen, 4);
			k = add_piece(v, k, &m->msg_controllen, 8);
			k = add_piece(v, k, &m->msg_flags, 4);
			k = add_piece(v, k, m->msg_name, m->msg_namelen);
			k = add_piece(v, k, m->msg_control, m->msg_controllen);
			k = iov_pieces(v, k, m->msg_iov, m->msg_iovlen, (uint64_t)ret);
			break;
		}
		}
	}
	return k;
}

static void put_bytes(uint8_t *d, const uint8_t *s, uint64_t n)
{
	__builtin_memcpy(d, s, n);
}

/* ---- the two halves, recording ---- */

static unsigned pack_ops(uint64_t *op, long nr, const long *a, unsigned nargs, uint32_t check)
{
	op[0] = (uint64_t)nr;
	for (unsigned i = 0; i < nargs; i++)
		op[1 + i] = (uint64_t)a[i];
	op[1 + nargs] = check;
	return nargs + 2;
}

static void rec_sys(struct thr *t, const uint64_t *op, unsigned n)
{
	uint8_t *p0 = log_reserve(t, 12 + 10 * (uint64_t)n), *p;
	uint64_t now;

	t->made_event = 1;
	if (!p0)
		return;
	now = stamp_now();
	p = rlog_put(p0 + 1, now - t->last_stamp);
	t->last_stamp = now;
	*p++ = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		p = rlog_put(p, op[i]);
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYS, __ATOMIC_RELEASE);
	t->clean = 1;
	if (unlikely(G.serial))
		gil_point(t);
}

static unsigned varint_len(uint64_t v)
{
	unsigned n = 1;

	while (v >= 0x80) {
		v >>= 7;
		n++;
	}
	return n;
}

static void rec_sysret(struct thr *t, long ret, const struct piece *v, int k)
{
	uint64_t total = 0;
	uint8_t *p0, *p;

	for (int i = 0; i < k; i++)
		total += varint_len(v[i].n) + v[i].n;
	p0 = log_reserve(t, 24 + total);
	if (!p0)
		return;
	p = rlog_put(p0 + 1, rlog_zigzag(ret));
	p = rlog_put(p, total);
	for (int i = 0; i < k; i++) {
		p = rlog_put(p, v[i].n);
		put_bytes(p, v[i].p, v[i].n);
		p += v[i].n;
	}
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYSRET, __ATOMIC_RELEASE);
}

/* ---- replay ---- */

static void replay_sys(struct thr *t, const uint64_t *op, unsigned n)
{
	struct rlog_rec r;
	const char *what = 0;

	if (!turn_peek(t, &r) || r.kind != RLOG_SYS)
		turn_diverge(t, turn_peek(t, &r) ? &r : 0, RLOG_SYS, op, n,
			     "a system call that was not made there when recording");
	if (r.nops != n || r.op[0] != op[0])
		what = "another system call";
	for (unsigned i = 1; !what && i < n; i++)
		if (r.op[i] != op[i])
			what = i == n - 1 ? "the data given to the call differ" : "an argument differs";
	if (what)
		turn_diverge(t, &r, RLOG_SYS, op, n, what);
	turn_take(t, &r, RLOG_SYS);
}

static long replay_sysret(struct thr *t, const struct sys_info *s, const long *a, const uint32_t *before)
{
	struct piece v[PIECES];
	struct rlog_rec r;
	const uint8_t *p, *end;
	uint64_t n;
	long ret;
	int k;

	while (sig_deliver_replay(t))
		;
	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	p = r.payload;
	end = p + r.payload_len;
	if (s->out[0].how == IO_MSG || s->out[0].how == IO_VALRES || s->out[1].how == IO_VALRES) {
		/* the lengths of later pieces are in earlier ones: build the list step by step */
		for (int i = 0; p < end && i < PIECES; i++) {
			k = out_pieces(s, a, ret, before, v);
			p = rlog_get(p, end, &n);
			if (!p || i >= k || n > (uint64_t)(end - p))
				shim_fail("a system call's outputs do not fit its record");
			put_bytes(v[i].p, p, n);
			p += n;
		}
		return ret;
	}
	k = out_pieces(s, a, ret, before, v);
	for (int i = 0; i < k; i++) {
		p = rlog_get(p, end, &n);
		if (!p || n != v[i].n || n > (uint64_t)(end - p))
			shim_fail("a system call's outputs do not fit its record");
		put_bytes(v[i].p, p, n);
		p += n;
	}
	return ret;
}

/* ---- standard output and error, shown on replay ---- */

static uint8_t fd_is_out[1024] = {0, 1, 2};

void sys_set_outputs(uint64_t map)
{
	for (int fd = 0; fd < 16; fd++)
		fd_is_out[fd] = (uint8_t)(map >> (2 * fd) & 3);
}

static void append_out(struct thr *t, uint32_t fd, const void *p, uint32_t n)
{
	struct replay_out h = {t->last_stamp, fd, n};
	char path[64], *q;
	struct iovec v[2] = {{&h, sizeof(h)}, {(void *)p, n}};
	int f;

	q = fmt_str(path, path + sizeof(path), REPLAY_DIR "/out.");
	fmt_dec(q, path + sizeof(path), G.process, 4);
	f = raw_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (f < 0)
		return;
	raw3(SYS_writev, f, v, 2);
	raw_close(f);
}

/* Follows which descriptors are the program's first standard output and error, and shows what goes there. */
static void track_output(struct thr *t, long nr, const long *a, long ret)
{
	unsigned long fd = (unsigned long)a[0];

	if (ret < 0)
		return;
	switch (nr) {
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		if ((unsigned long)ret < 1024)
			fd_is_out[ret] = fd < 1024 ? fd_is_out[fd] : 0;
		return;
	case SYS_fcntl:
		if ((a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC) && ret < 1024 && fd < 1024)
			fd_is_out[ret] = fd_is_out[fd];
		return;
	case SYS_close:
		if (fd < 1024)
			fd_is_out[fd] = 0;
		return;
	case SYS_write:
		if (fd < 1024 && fd_is_out[fd] && (G.ctl->flags & REPLAY_F_OUTPUT))
			append_out(t, fd_is_out[fd], (void *)a[1], (uint32_t)ret);
		return;
	case SYS_writev:
		if (fd < 1024 && fd_is_out[fd] && (G.ctl->flags & REPLAY_F_OUTPUT)) {
			struct piece v[PIECES];
			int k = iov_pieces(v, 0, (void *)a[1], (unsigned long)a[2], (uint64_t)ret);

			for (int i = 0; i < k; i++)
				append_out(t, fd_is_out[fd], v[i].p, (uint32_t)v[i].n);
		}
		return;
	}
}

static void lens_before(const struct sys_info *s, const long *a, uint32_t *before)
{
	for (int i = 0; i < 4; i++) {
		before[i] = 0;
		if (s->out[i].how == IO_VALRES && a[s->out[i].len_arg])
			before[i] = *(uint32_t *)a[s->out[i].len_arg];
	}
}

/* Recorded one thread at a time, these keep the turn; all others give it up, if another wants it. */
static int never_waits(long nr)
{
	static const uint16_t those[] = {
		SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
		SYS_clock_gettime, SYS_gettimeofday, SYS_time, SYS_clock_getres, SYS_lseek, SYS_fstat,
		SYS_newfstatat, SYS_stat, SYS_lstat, SYS_statx, SYS_access, SYS_readlink, SYS_getcwd, SYS_uname,
		SYS_getrusage, SYS_times, SYS_sysinfo, SYS_umask, SYS_getrlimit, SYS_prlimit64,
		SYS_sched_getaffinity, SYS_getcpu, SYS_sched_yield, SYS_ioctl, SYS_epoll_ctl, SYS_socket,
		SYS_pipe, SYS_pipe2, SYS_eventfd2, SYS_dup, SYS_dup2, SYS_dup3, SYS_getsockname, SYS_getsockopt,
		SYS_setsockopt, SYS_prctl, SYS_getrandom,
	};

	for (unsigned i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (those[i] == nr)
			return 1;
	return 0;
}

/* A recordable call: results from the kernel when recording, from the log when replaying. */
static long do_rec(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	struct piece v[PIECES];
	uint64_t op[10];
	uint32_t before[4];
	unsigned n;
	long ret;

	n = pack_ops(op, nr, a, s->nargs, check_inputs(s, a));
	lens_before(s, a, before);
	if (likely(G.mode == SHIM_RECORD)) {
		rec_sys(t, op, n);
		if (unlikely(G.serial) && never_waits(nr)) {
			if (nr == SYS_sched_yield)
				gil_switch(t);
			ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		} else {
			wait_begin_event(t);
			ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
			wait_end(t);
		}
		rec_sysret(t, ret, v, out_pieces(s, a, ret, before, v));
		return ret;
	}
	replay_sys(t, op, n);
	turn_done(t);
	ret = replay_sysret(t, s, a, before);
	track_output(t, nr, a, ret);
	return ret;
}

/* A call that changes the address space: also run when replaying, and must give the same. */
static long do_mem(struct thr *t, long nr, const long *a, unsigned nargs)
{
	static const struct sys_info none;
	uint64_t op[10];
	unsigned n = pack_ops(op, nr, a, nargs, 0);
	long ret, want;

	if (G.mode == SHIM_RECORD) {
		rec_sys(t, op, n);
		ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		rec_sysret(t, ret, 0, 0);
		return ret;
	}
	replay_sys(t, op, n);
	turn_done(t);
	want = replay_sysret(t, &none, a, 0);
	if (want < 0)
		return want;
	ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (ret != want)
		shim_fail("a change of the address space did not give the recorded result");
	return ret;
}

/* ---- mmap: files are copied into the recording, so that a replay maps what the program mapped ---- */

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
	char path[400], tmp[420], proc[40], *p;
	long r = raw2(SYS_fstat, fd, st);
	int from, to;

	if (r < 0)
		return r;
	if ((((uint32_t *)st)[6] & 0170000) != 0100000)
		return -19; /* ENODEV: not a regular file */
	st[17] = 0;
	if (shared || shared_maps)
		st[17] = (uint64_t)G.process << 32 | __atomic_add_fetch(&shared_maps, 1, __ATOMIC_RELAXED);
	file_copy_path(path, path + sizeof(path), st);
	if (raw2(SYS_access, path, 0) == 0)
		return 0;
	p = fmt_str(tmp, tmp + sizeof(tmp), path);
	p = fmt_str(p, tmp + sizeof(tmp), ".");
	fmt_dec(p, tmp + sizeof(tmp), (uint64_t)raw0(SYS_gettid), 1);
	to = raw_open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0)
		return to;
	/* the descriptor may be write-only or at any offset: read through a fresh one */
	p = fmt_str(proc, proc + sizeof(proc), "/proc/self/fd/");
	fmt_dec(p, proc + sizeof(proc), (uint64_t)fd, 1);
	from = raw_open(proc, O_RDONLY, 0);
	r = from < 0 ? from : copy_whole(from, to, st[6]);
	if (from >= 0)
		raw_close(from);
	raw_close(to);
	if (r == 0)
		r = raw2(SYS_rename, tmp, path);
	if (r < 0)
		raw1(SYS_unlink, tmp);
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

static long do_mmap(struct thr *t, const long *a)
{
	int file = !(a[3] & MAP_ANONYMOUS);
	uint64_t op[10], st[18];
	struct piece v = {(uint8_t *)st, 0};
	unsigned n = pack_ops(op, SYS_mmap, a, 6, 0);
	struct rlog_rec r;
	long ret;

	if (G.mode == SHIM_RECORD) {
		rec_sys(t, op, n);
		if (file && keep_file((int)a[4], st, (a[3] & MAP_SHARED) && (a[2] & PROT_WRITE)) == 0)
			v.n = sizeof(st);
		ret = raw6(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (file && !v.n && ret > 0 && !is_dev_zero((int)a[4])) {
			char who[232];

			describe_caller(t->caller, who, sizeof(who));
			note(RLOG_NOTE_UNSUPPORTED, SYS_mmap, who);
		}
		rec_sysret(t, ret, &v, v.n ? 1 : 0);
		return ret;
	}
	replay_sys(t, op, n);
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

static long do_mremap(struct thr *t, const long *a)
{
	static const struct sys_info none;
	uint64_t op[10];
	unsigned n = pack_ops(op, SYS_mremap, a, 5, 0);
	long ret, want;

	if (G.mode == SHIM_RECORD) {
		rec_sys(t, op, n);
		ret = raw6(SYS_mremap, a[0], a[1], a[2], a[3], a[4], 0);
		rec_sysret(t, ret, 0, 0);
		return ret;
	}
	replay_sys(t, op, n);
	turn_done(t);
	want = replay_sysret(t, &none, a, 0);
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

/* ---- ioctl and fcntl: by request ---- */

struct req {
	unsigned long req;
	uint16_t in, out;
};

static const struct req ioctls[] = {
	{0x5401 /* TCGETS */, 0, 36}, {0x5402, 36, 0}, {0x5403, 36, 0}, {0x5404, 36, 0},
	{0x540b /* TCFLSH */, 0, 0}, {0x5409, 0, 0}, {0x540a, 0, 0},
	{0x540e /* TIOCSCTTY */, 0, 0}, {0x540f /* TIOCGPGRP */, 0, 4}, {0x5410, 4, 0},
	{0x5413 /* TIOCGWINSZ */, 0, 8}, {0x5414, 8, 0}, {0x541b /* FIONREAD */, 0, 4},
	{0x5411, 0, 4}, {0x5421 /* FIONBIO */, 4, 0}, {0x5422, 0, 0}, {0x5429, 0, 4},
	{0x5450, 0, 0}, {0x5451, 0, 0}, {0x5452, 4, 0}, {0x80045430, 0, 4}, {0x40045431, 4, 0},
	{0x5441, 0, 0}, {0x40049409 /* FICLONE */, 0, 0}, {0x4020940d, 32, 0},
	{0x8910, 40, 40}, {0x8912, 16, 16}, {0x8913, 40, 40}, {0x8915, 40, 40}, {0x8927, 40, 40},
	{0x8933, 40, 40}, {0x8903, 0, 4}, {0x8904, 0, 4}, {0x8905, 0, 4},
	{0x80081272 /* BLKGETSIZE64 */, 0, 8}, {0x1268, 0, 4}, {0xc020660b /* FIEMAP */, 32, 32},
	{0x80086601, 0, 8}, {0x40086602, 8, 0},
};

static long do_ioctl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};
	unsigned long req = (unsigned int)a[1];
	char who[232];

	for (unsigned i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++) {
		if (ioctls[i].req != req)
			continue;
		if (ioctls[i].in)
			s.in[0] = (struct io){IO_FIXED, 2, 0, ioctls[i].in};
		if (ioctls[i].out)
			s.out[0] = (struct io){IO_FIXED, 2, 0, ioctls[i].out};
		return do_rec(t, &s, SYS_ioctl, a);
	}
	describe_caller(t->caller, who, sizeof(who));
	note(RLOG_NOTE_REFUSED_IOCTL, (int64_t)req, who);
	return -25; /* ENOTTY */
}

static long do_fcntl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};
	long b[6] = {a[0], a[1], a[2]};

	switch ((int)a[1]) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETPIPE_SZ:
	case 1034: /* F_GET_SEALS */
	case F_GETLEASE:
	case F_GETSIG:
		b[2] = 0; /* not an argument: whatever was in the register */
		break;
	case F_GETLK:
	case 36: /* F_OFD_GETLK */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 32};
		/* fall through */
	case F_SETLK:
	case F_SETLKW:
	case 37: /* F_OFD_SETLK */
	case 38: /* F_OFD_SETLKW */
		s.in[0] = (struct io){IO_FIXED, 2, 0, 24};
		break;
	case 16: /* F_GETOWN_EX */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 8};
		break;
	}
	return do_rec(t, &s, SYS_fcntl, b);
}

/* ---- the rest that needs thought ---- */

static long do_prctl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 5, {{0}}, {{0}}};
	long b[6] = {a[0], a[1], 0, 0, 0, 0};

	switch ((int)a[0]) {
	case 15: /* PR_SET_NAME: so that a debugger shows it, also in replay */
		s.in[0] = (struct io){IO_FIXED, 1, 0, 1};
		raw2(SYS_prctl, 15, a[1]);
		s.nargs = 2;
		return do_rec(t, &s, SYS_prctl, b);
	case 16: /* PR_GET_NAME */
		s.nargs = 2;
		s.out[0] = (struct io){IO_FIXED, 1, 0, 16};
		return do_rec(t, &s, SYS_prctl, b);
	case 2: /* PR_GET_PDEATHSIG */
	case 37: /* PR_GET_CHILD_SUBREAPER */
		s.nargs = 2;
		s.out[0] = (struct io){IO_FIXED, 1, 0, 4};
		return do_rec(t, &s, SYS_prctl, b);
	case 22: /* PR_SET_SECCOMP */
	case 26: /* PR_SET_TSC */
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH */
		note(RLOG_NOTE_REFUSED_SYSCALL, SYS_prctl, "prctl: seccomp, TSC or dispatch");
		return -22;
	case 0x53564d41: /* PR_SET_VMA: names for mappings */
		return -22;
	}
	return do_rec(t, &s, SYS_prctl, a);
}

/* sigaltstack: run in both, the old value is what the program set. */
static long do_sigaltstack(struct thr *t, const long *a)
{
	(void)t;
	return raw2(SYS_sigaltstack, a[0], a[1]);
}

static _Noreturn void do_exit_group(struct thr *t, const long *a)
{
	uint64_t op[10];
	unsigned n = pack_ops(op, SYS_exit_group, a, 1, 0);

	if (G.mode == SHIM_RECORD) {
		rec_sys(t, op, n);
	} else if (G.mode == SHIM_REPLAY) {
		replay_sys(t, op, n);
		turn_done(t);
		turn_end(t, REPLAY_ENDED);
	}
	vfork_child_leaves();
	for (;;)
		raw1(SYS_exit_group, a[0]);
}

/* mincore: a byte for each page. */
static long do_mincore(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 2, {{0}}, {{IO_ARGMUL, 2, 3, 1}}};
	long b[6] = {a[0], a[1], a[2], (a[1] + 4095) / 4096};

	return do_rec(t, &s, SYS_mincore, b);
}

/* get_mempolicy: the mask has args[2] bits. */
static long do_get_mempolicy(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 5, {{0}}, {{IO_FIXED, 0, 0, 4}, {IO_ARGMUL, 1, 5, 1}}};
	long b[6] = {a[0], a[1], a[2], a[3], a[4], (long)((unsigned long)a[2] + 63) / 64 * 8};

	return do_rec(t, &s, SYS_get_mempolicy, b);
}

/*
 * sigaction and sigprocmask change only this process's own state: run in both modes. They are events
 * because signals are delivered at the end of events.
 */
static long do_sig(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const struct sys_info none;
	uint64_t op[10];
	unsigned n = pack_ops(op, nr, a, 4, 0);
	long ret;

	if (G.mode == SHIM_RECORD)
		rec_sys(t, op, n);
	else
		replay_sys(t, op, n);
	ret = nr == SYS_rt_sigaction ? sig_action(t, a) : sig_procmask_native(a, uc);
	if (G.mode == SHIM_RECORD) {
		rec_sysret(t, ret, 0, 0);
	} else if (G.mode == SHIM_REPLAY) {
		turn_done(t);
		if (replay_sysret(t, &none, a, 0) != ret)
			shim_fail("sigaction or sigprocmask gave another result");
	}
	return ret;
}

/*
 * The program's own futexes, and locks inside libc. Recorded one thread at a time they are calls like any
 * other, for then each finds the same words again on replay; else their order is not known.
 */
static long do_futex(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 6, {{0}}, {{0}}};
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};

	if (!G.serial)
		return turn_futex(t, a);
	switch ((int)a[1] & 127) {
	case FUTEX_WAKE:
		b[3] = b[4] = b[5] = 0; /* not arguments: whatever was in the registers */
		break;
	case FUTEX_WAIT:
		b[4] = b[5] = 0;
		break;
	case FUTEX_WAIT_BITSET:
		b[4] = 0;
		break;
	case FUTEX_WAKE_OP:
		s.out[0] = (struct io){IO_FIXED, 4, 0, 4};
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		s.out[0] = (struct io){IO_FIXED, 0, 0, 4};
		break;
	}
	/* a thread past its EXIT, or inside the shim, may really wait */
	if (G.mode == SHIM_REPLAY && ((int)a[1] & 127) != FUTEX_WAIT && ((int)a[1] & 127) != FUTEX_WAIT_BITSET)
		raw3(SYS_futex, a[0], FUTEX_WAKE | ((int)a[1] & FUTEX_PRIVATE_FLAG), 0x7fffffff);
	return do_rec(t, &s, SYS_futex, b);
}

static long special(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	switch (nr) {
	case SYS_mmap:
		return do_mmap(t, a);
	case SYS_mremap:
		return do_mremap(t, a);
	case SYS_brk:
		return do_mem(t, nr, a, 1);
	case SYS_madvise:
		/* MADV_FREE drops pages when the kernel likes; MADV_DONTNEED always does */
		return raw3(SYS_madvise, a[0], a[1], a[2] == 8 ? 4 : a[2]);
	case SYS_mincore:
		return do_mincore(t, a);
	case SYS_get_mempolicy:
		return do_get_mempolicy(t, a);
	case SYS_ioctl:
		return do_ioctl(t, a);
	case SYS_fcntl:
		return do_fcntl(t, a);
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
		return do_sig(t, nr, a, uc);
	case SYS_sigaltstack:
		return do_sigaltstack(t, a);
	case SYS_prctl:
		return do_prctl(t, a);
	case SYS_arch_prctl:
	case SYS_personality:
		return raw2(nr, a[0], a[1]);
	case SYS_futex:
		return do_futex(t, a);
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		return trap_clone(t, nr, a, uc);
	case SYS_execve:
	case SYS_execveat:
		return proc_exec(t, nr, a);
	case SYS_exit_group:
		do_exit_group(t, a);
	case SYS_exit:
		thread_exit_event(t);
		for (;;)
			raw1(SYS_exit, a[0]);
	}
	return -38;
}

static long refuse(struct thr *t, long nr)
{
	char who[232];

	/* rseq: only registered by libc itself, which does without */
	if (nr != SYS_rseq && G.mode == SHIM_RECORD) {
		describe_caller(t->caller, who, sizeof(who));
		note(RLOG_NOTE_REFUSED_SYSCALL, nr, who);
	}
	return -38;
}

/* What pthread_cancel does to send its signal, which depends on the other thread: no events. */
static int cancel_call(long nr, const long *a, ucontext_t *uc, long *ret)
{
	switch (nr) {
	case SYS_getpid:
		*ret = G.pid;
		return 1;
	case SYS_rt_sigprocmask:
		*ret = sig_procmask_native(a, uc);
		return 1;
	case SYS_tgkill:
		*ret = G.mode == SHIM_REPLAY ? 0 : raw3(nr, a[0], a[1], a[2]);
		return 1;
	}
	return 0;
}

long sys_event(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	const struct sys_info *s;
	long ret;

	if (unlikely(nr < 0 || nr >= NR_LIMIT))
		return refuse(t, nr);
	if (unlikely(t->cancelling) && cancel_call(nr, a, uc, &ret))
		return ret;
	s = &sys_table[nr];
	switch (s->cls) {
	case CLASS_REC:
		return do_rec(t, s, nr, a);
	case CLASS_MEM:
		return do_mem(t, nr, a, s->nargs);
	case CLASS_RAW:
		return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	case CLASS_FN:
		return special(t, nr, a, uc);
	}
	return refuse(t, nr);
}
