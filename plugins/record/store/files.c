/* SPDX-License-Identifier: MIT */
/*
 * files.c: copies of files in REC/files, and pNNNN/files, the list of those that a process needs to start: what the
 * kernel and the dynamic linker had read before the recorder was there. Later ones that hold code are added to it, so
 * that a debugger finds them.
 */
#include "record/store/files.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/store/keeper.h"

#include <link.h>
#include <sys/vfs.h>

#define MAX_SCRIPT_DEPTH 4

/* st[17], a spare word of struct stat, distinguishes copies of a file that is changed through mappings. */
static char *copy_name(char *p, char *end, const uint64_t *st)
{
	/* struct stat: dev 0, ino 1, size 6, mtime 11 and 12 in 64-bit words */
	p = fmt_hex(p, end, st[0]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[1]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[6]);
	p = fmt_str(p, end, "-");
	p = fmt_hex(p, end, st[11] * 1000000000ull + st[12]);
	if (st[17]) {
		p = fmt_str(p, end, "-");
		p = fmt_hex(p, end, st[17]);
	}
	return p;
}

void files_copy_path(char *buf, char *end, const uint64_t *st)
{
	char *p = fmt_str(buf, end, G.rec);

	p = fmt_str(p, end, "/files/");
	copy_name(p, end, st);
}

int files_copy_range(int from, int to, uint64_t off, uint64_t end)
{
	while (off < end) {
		uint64_t in = off, out = off;
		long r = raw6(SYS_copy_file_range, from, (long)&in, to, (long)&out, (long)(end - off), 0);

		if (r <= 0) {
			char buf[4096];

			r = raw4(SYS_pread64, from, buf, end - off < sizeof(buf) ? end - off : sizeof(buf), off);
			if (r <= 0)
				return r < 0 ? -1 : 0;
			if (raw4(SYS_pwrite64, to, buf, r, off) != r)
				return -1;
		}
		off += (uint64_t)r;
	}
	return 0;
}

static char *fd_path(char *buf, char *end, int fd)
{
	char *p = fmt_str(buf, end, "/proc/self/fd/");

	return fmt_dec(p, end, (uint64_t)fd, 1);
}

/*
 * Copies a sparse file, as runtimes and databases make them to reserve address space, without its holes. Looking for
 * data moves a descriptor's position, which others may share; and closing a descriptor of our own would end the
 * process's record locks on the file. So a process that shares all memory with this one, but no descriptors, does it.
 */
struct sparse {
	int from, to, failed;
};

static long copy_sparse(void *arg)
{
	struct sparse *s = arg;
	char path[64];
	long at = 0, end, fd;

	fd_path(path, path + sizeof(path), s->from);
	fd = raw_open(path, O_RDONLY, 0);
	while (fd >= 0 && !s->failed && (at = raw3(SYS_lseek, fd, at, 3 /* SEEK_DATA */)) >= 0) {
		end = raw3(SYS_lseek, fd, at, 4 /* SEEK_HOLE */);
		s->failed = end < 0 || files_copy_range((int)fd, s->to, (uint64_t)at, (uint64_t)end);
		at = end;
	}
	return s->failed || fd < 0 || (at < 0 && at != -6 /* ENXIO: no more */) ? -1 : 0;
}

static int is_sparse(const uint64_t *st)
{
	/* struct stat: size 6, blocks of 512 bytes 8 */
	return st[6] > (1ul << 20) && st[8] * 512 < st[6] / 2;
}

static int copy_clone(int from, int to, const uint64_t *st)
{
	if (keep_limited(st[6]))
		return -1;
	return raw3(SYS_ioctl, to, 0x40049409 /* FICLONE */, from) < 0 ? -1 : 0;
}

static int copy_whole(int from, int to, const uint64_t *st)
{
	struct sparse s = {.from = from, .to = to};

	if (copy_clone(from, to, st) == 0)
		return 0;
	if (is_sparse(st) && !G.children_ns)
		return apart(copy_sparse, &s) || raw2(SYS_ftruncate, to, st[6]) < 0 ? -1 : 0;
	return files_copy_range(from, to, 0, st[6]);
}

/* ---- copies that earlier recordings have ---- */

/*
 * Writes through a mapping change the time when they begin, and after the kernel has written the page back: by default
 * 30 s later.
 */
#define SETTLED_S 60

/* Is the file on a file system of disks, whose times the kernel sets itself? f_type of statfs(2). */
static int keeps_times(int fd)
{
	static const uint32_t types[] = {
		0xef53 /* ext4 */,    0x58465342 /* xfs */,	  0x9123683e /* btrfs */,    0xf2f52010 /* f2fs */,
		0x2fc12fc1 /* zfs */, 0x794c7630 /* overlayfs */, 0x73717368 /* squashfs */, 0xe0f5e1e2 /* erofs */};
	struct statfs s;

	if (raw2(SYS_fstatfs, fd, &s) < 0)
		return 0;
	for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)s.f_type == types[i])
			return 1;
	return 0;
}

/*
 * REC/known has links to such copies (recfiles/shared_files.h). A file that only root can write, and that has not
 * changed since, need not be copied again: only the kernel can set its time of last change (ctime).
 */
static int is_settled(int fd, const uint64_t *st)
{
	uint64_t now[2];
	uint32_t mode = ((const uint32_t *)st)[6], uid = ((const uint32_t *)st)[7];

	return !st[17] && !uid && !(mode & 022) && raw2(SYS_clock_gettime, CLOCK_REALTIME, now) == 0 &&
	       now[0] > st[13] + SETTLED_S && keeps_times(fd);
}

static void known_path(char *buf, char *end, const uint64_t *st)
{
	char *p = fmt_str(buf, end, G.rec);

	p = fmt_str(p, end, "/known/");
	p = copy_name(p, end, st);
	p = fmt_str(p, end, "-");
	fmt_hex(p, end, st[13] * 1000000000ull + st[14]);
}

/* Makes path a link to such a copy. A change of the copy would show in its time, which is the original's. */
static int link_known(const char *known, const char *path, const uint64_t *st)
{
	uint64_t now[18];

	if (keep_link(known, path))
		return -1;
	if (raw2(SYS_stat, path, now) == 0 && now[6] == st[6] && now[11] == st[11] && now[12] == st[12])
		return 0;
	keep_unlink(path);
	return -1;
}

struct copying {
	int fd;
	const uint64_t *st;
	int (*copy)(int, int, const uint64_t *);
};

/* Makes the copy that st names, unless it exists: a copy under its final name is whole. 0, or -errno. */
static long make_copy(void *arg)
{
	const struct copying *c = arg;
	const uint64_t times[4] = {0, 0x3ffffffe /* UTIME_OMIT */, c->st[11], c->st[12]};
	char path[400], tmp[420], known[420], *p;
	int settled = is_settled(c->fd, c->st), to;
	long r;

	files_copy_path(path, path + sizeof(path), c->st);
	if (keep_exists(path))
		return 0;
	known_path(known, known + sizeof(known), c->st);
	if (settled && link_known(known, path, c->st) == 0)
		return 0;
	p = fmt_str(tmp, tmp + sizeof(tmp), path);
	p = fmt_str(p, tmp + sizeof(tmp), ".");
	fmt_dec(p, tmp + sizeof(tmp), (uint64_t)raw0(SYS_gettid), 1);
	to = keep_open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	if (to < 0)
		return to;
	/* a replay may execute it; and a checkpoint that maps it needs it unchanged */
	raw2(SYS_fchmod, to, 0555);
	/*
	 * Uses the program's own descriptor: closing another one would end the process's record locks on the file. What
	 * cannot be read cannot be mapped.
	 */
	r = c->copy == copy_whole && keep_limited(c->st[6]) ? keep_copy(tmp, c->fd, 0, c->st[6])
							    : c->copy(c->fd, to, c->st);
	raw4(SYS_utimensat, to, 0, times, 0);
	raw_close(to);
	if (r == 0)
		r = keep_rename(tmp, path);
	if (r < 0)
		keep_unlink(tmp);
	else if (settled)
		keep_link(path, known);
	return r;
}

static long keep_as(int fd, const uint64_t *st, int (*copy)(int, int, const uint64_t *))
{
	struct copying c = {fd, st, copy};

	return keep_with_room(make_copy, &c, fd);
}

/* ---- files that the process can change through mappings, which struct stat need not show ---- */

#define WRITTEN 64u /* with more of them, any file may be one */

static struct written {
	uint64_t dev, ino; /* set after dev; 0: not set yet */
} written[WRITTEN];
static uint32_t nwritten; /* entries; more than WRITTEN: some files are missing */

static int is_written(const uint64_t *st)
{
	uint32_t n = __atomic_load_n(&nwritten, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < WRITTEN; i++)
		if (__atomic_load_n(&written[i].ino, __ATOMIC_ACQUIRE) == st[1] && written[i].dev == st[0])
			return 1;
	return n > WRITTEN;
}

static void add_written(const uint64_t *st)
{
	uint32_t i;

	if (is_written(st))
		return;
	i = __atomic_fetch_add(&nwritten, 1, __ATOMIC_ACQ_REL);
	if (i >= WRITTEN)
		return;
	written[i].dev = st[0];
	__atomic_store_n(&written[i].ino, st[1], __ATOMIC_RELEASE);
}

long files_keep(int fd, uint64_t *st, int shared)
{
	static uint32_t copies;
	long r = raw2(SYS_fstat, fd, st);

	if (r < 0)
		return r;
	if ((((uint32_t *)st)[6] & 0170000) != 0100000)
		return -19; /* ENODEV: not a regular file */
	st[17] = 0;
	if (shared)
		add_written(st);
	if (is_written(st))
		st[17] = (uint64_t)G.process << 32 | __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED);
	return keep_as(fd, st, copy_whole);
}

long files_clone(int fd, const uint64_t *st)
{
	return keep_as(fd, st, copy_clone);
}

/* ---- pNNNN/files ---- */

/* Entries that are to be added to the list by one write. */
struct list {
	size_t n;
	char text[12288];
};

static void list_flush(struct list *l)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);

	p = fmt_str(p, path + sizeof(path), "/p");
	p = fmt_dec(p, path + sizeof(path), G.process, 4);
	fmt_str(p, path + sizeof(path), "/files");
	if (l->n)
		keep_append(path, l->text, l->n);
	l->n = 0;
}

static void list_add(struct list *l, const char *copy, const char *path, int fd, uint64_t base)
{
	size_t most = __builtin_strlen(copy) + __builtin_strlen(path) + 4096 + 32;
	char proc[40], *p, *end = l->text + sizeof(l->text);
	long n;

	if (most > sizeof(l->text) - l->n)
		list_flush(l);
	if (most > sizeof(l->text))
		return;
	p = fmt_str(l->text + l->n, end, copy) + 1;
	p = fmt_str(p, end, path) + 1;
	fd_path(proc, proc + sizeof(proc), fd);
	n = raw3(SYS_readlink, proc, p, 4095);
	p += n > 0 ? n : 0;
	*p++ = 0;
	p = fmt_hex(p, end, base) + 1;
	l->n = (size_t)(p - l->text);
}

/* Copies the file of fd, and lists it; path: as it was named, "": unknown. */
static void add_fd(struct list *l, int fd, const char *path, uint64_t base)
{
	char copy[128];
	uint64_t st[18];

	if (files_keep(fd, st, 0))
		return;
	copy_name(copy, copy + sizeof(copy), st);
	list_add(l, copy, path, fd, base);
}

static void add_path(struct list *l, const char *path, uint64_t base)
{
	int fd = raw_open(path, O_RDONLY, 0);

	if (fd < 0)
		return;
	if (__builtin_strcmp(path, G.shim_path) == 0)
		list_add(l, RLOG_SHIM_NAME, path, fd, base); /* fredctl has put it there */
	else
		add_fd(l, fd, path, base);
	raw_close(fd);
}

/* Lists the program and, if it is a script, its interpreters, up to the one that is an ELF file. */
static void add_program(struct list *l, const char *path)
{
	char line[257], *interp = line, *end;
	long n;

	for (int depth = 0; depth <= MAX_SCRIPT_DEPTH; depth++) {
		add_path(l, path, 0);
		n = read_head(path, line, sizeof(line) - 1);
		if (n < 3 || line[0] != '#' || line[1] != '!')
			return;
		line[n] = 0;
		for (interp = line + 2; *interp == ' ' || *interp == '\t'; interp++)
			;
		for (end = interp; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
			;
		*end = 0;
		__builtin_memmove(line, interp, (size_t)(end - interp) + 1);
		path = line;
	}
}

void files_start(const char *execfn)
{
	static struct list l; /* used before there is a second thread */
	int exe = raw_open("/proc/self/exe", O_RDONLY, 0);

	if (exe >= 0) {
		add_fd(&l, exe, "", _r_debug.r_map ? _r_debug.r_map->l_addr : 0);
		raw_close(exe);
	}
	add_program(&l, execfn);
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (m->l_name[0])
			add_path(&l, m->l_name, m->l_addr);
	add_path(&l, "/etc/ld.so.cache", 0);
	add_path(&l, "/etc/ld.so.preload", 0);
	list_flush(&l);
}

void files_loaded(int fd, const uint64_t *st, uint64_t base)
{
	struct list *l = raw_mmap(0, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char copy[128];

	if (raw_failed(l))
		return;
	copy_name(copy, copy + sizeof(copy), st);
	list_add(l, copy, "", fd, base);
	list_flush(l);
	raw2(SYS_munmap, l, sizeof(*l));
}
