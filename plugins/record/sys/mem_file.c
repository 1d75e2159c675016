/* SPDX-License-Identifier: MIT */
/*
 * mem_file.c: what the program writes to /proc/self/mem changes its memory. That is logged as a call of its own after
 * the write, with the address. A replay writes the same bytes in the same way, also where the memory is
 * write-protected, as the generated code of JIT compilers is.
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <string.h>
#include <sys/mman.h>

void mem_file_opened(const char *path, long flags, long fd)
{
	size_t n = sys_is_error(fd) || (flags & O_ACCMODE) == O_RDONLY ? 0 : strnlen(path, 4096);

	if (n >= 4 && !memcmp(path + n - 4, "/mem", 4))
		G.mem_files = 1;
}

static int writes(long nr)
{
	return nr == SYS_write || nr == SYS_pwrite64 || nr == SYS_writev || nr == SYS_pwritev || nr == SYS_pwritev2;
}

enum mem_of { MEM_NONE, MEM_SELF, MEM_OTHER };

/* Whose memory is behind the descriptor: "/proc/PID/mem", "/proc/PID/task/TID/mem". */
static enum mem_of mem_of(long fd)
{
	char path[64], link[64], own[32], *p = fmt_str(path, path + sizeof(path), "/proc/self/fd/");
	long n, k;

	fmt_dec(p, path + sizeof(path), (uint64_t)fd, 1);
	n = raw3(SYS_readlink, path, link, sizeof(link) - 1);
	if (n < 11 || memcmp(link, "/proc/", 6) || memcmp(link + n - 4, "/mem", 4))
		return MEM_NONE;
	/* not by PID: /proc may be that of another PID namespace */
	k = raw3(SYS_readlink, "/proc/self", own, sizeof(own));
	return k > 0 && k < n - 6 && !memcmp(link + 6, own, (size_t)k) && link[6 + k] == '/' ? MEM_SELF : MEM_OTHER;
}

static int64_t address_of(long nr, const long *a, long written)
{
	int at_position = nr == SYS_write || nr == SYS_writev || (nr == SYS_pwritev2 && a[3] == -1);

	return at_position ? raw3(SYS_lseek, a[0], 0, 1 /* SEEK_CUR */) - written : a[3];
}

struct place {
	uint64_t at, hi;
	long protection;
};

static int see_place(const struct map *m, void *arg)
{
	struct place *p = arg;

	if (p->at < m->lo || p->at >= m->hi)
		return 0;
	p->hi = m->hi;
	p->protection = (m->perms[0] == 'r' ? PROT_READ : 0) | (m->perms[1] == 'w' ? PROT_WRITE : 0) |
			(m->perms[2] == 'x' ? PROT_EXEC : 0);
	return 1;
}

/* For replays without namespaces, in which the file may not be opened. */
static long write_plainly(const char *from, long n, int64_t at)
{
	long done = 0;

	while (done < n) {
		struct place p = {.at = (uint64_t)at + (uint64_t)done};
		struct iovec to = {(void *)p.at, (size_t)(n - done)}, part = {(char *)from + done, 0};
		uint64_t page = p.at & ~4095ull;
		long k;

		if (maps_each(see_place, &p) != 1)
			break;
		if (to.iov_len > p.hi - p.at)
			to.iov_len = p.hi - p.at;
		part.iov_len = to.iov_len;
		if (!(p.protection & PROT_WRITE))
			raw3(SYS_mprotect, page, p.at + to.iov_len - page, p.protection | PROT_READ | PROT_WRITE);
		k = raw6(SYS_process_vm_writev, raw0(SYS_getpid), (long)&part, 1, (long)&to, 1, 0);
		if (!(p.protection & PROT_WRITE))
			raw3(SYS_mprotect, page, p.at + to.iov_len - page, p.protection);
		if (k <= 0)
			break;
		done += k;
	}
	return done;
}

static void write_again(long nr, const long *a, int64_t at, long n)
{
	struct iovec one = {(void *)a[1], (size_t)n};
	const struct iovec *v = nr == SYS_write || nr == SYS_pwrite64 ? &one : (const struct iovec *)a[1];
	int fd = raw_open("/proc/self/mem", O_RDWR, 0);

	for (; n > 0; v++) {
		long k = (long)v->iov_len < n ? (long)v->iov_len : n;

		if (k && (fd < 0 ? write_plainly(v->iov_base, k, at) : raw4(SYS_pwrite64, fd, v->iov_base, k, at)) != k)
			break;
		at += k;
		n -= k;
	}
	if (fd >= 0)
		raw_close(fd);
	if (n > 0)
		shim_fail("cannot write what the program wrote to its memory by /proc");
}

void mem_file_written(struct thr *t, long nr, const long *a, long ret)
{
	int64_t at = 0;

	if (!writes(nr) || ret <= 0)
		return;
	if (G.mode != SHIM_REPLAY) {
		enum mem_of of = mem_of(a[0]);

		if (of == MEM_OTHER)
			note(RLOG_NOTE_UNSUPPORTED, nr, "a write into the memory of another process, by /proc");
		if (of != MEM_SELF)
			return;
		at = address_of(nr, a, ret);
	} else if (!turn_next_call_is(t, RLOG_CALL_SELF_MEM)) {
		return;
	}
	ev(t, RLOG_CALL, 0, RLOG_CALL_SELF_MEM, 0);
	ev_done(t);
	ev_callret(t, &at, 0, 0);
	if (G.mode == SHIM_REPLAY)
		write_again(nr, a, at, ret);
}
