/* SPDX-License-Identifier: MIT */
/*
 * refs.c: if a program reads from a large file to which nobody writes, the log does not contain the bytes: REC/files
 * gets a copy of the file, and the log says where in it they are.
 *
 * This does not rely on the file staying the same: the bytes that the program got are compared with the copy each time,
 * and bytes that are not in the copy go into the log. Bytes of a copy are never overwritten. Either the file system
 * shares its blocks with the file, so that the copy is complete at once, or the copy grows with what has been read of
 * the file, from its beginning on; each process then has a copy of its own, which is at most about twice as long as
 * what it has read. So a file of which only the head or some parts are read costs no more than what was read. If the
 * time of the file shows that it has changed, no more references to it are made.
 *
 * One thread at a time does this; if another thread reads meanwhile, its bytes go into the log.
 */
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/util.h"
#include "record/event/turn.h"
#include "record/store/files.h"
#include "record/store/keeper.h"
#include "record/sys/sys.h"

#include <string.h>
#include <sys/uio.h>

#define FILE_LEAST (64u << 10)
#define READ_LEAST 4096
#define HEAD 8192 /* bytes that are read of a file when it is opened, to find out its type */
#define SKIP (1u << 20) /* the most that is copied at once without having been read */
#define AHEAD (4u << 20)
#define WINDOW (8u << 20)
#define STEP (32u << 10) /* is compared in two passes: the second one finds it in a cache */
#define KEPT 32
#define MISSES 8

static struct kept {
	uint64_t st[18]; /* struct stat: dev 0, ino 1, size 6, mtime 11 and 12; 17: as in its name */
	uint64_t have; /* bytes that the copy has */
	uint64_t used; /* number of its last use */
	const uint8_t *map; /* the copy, mapped from map_at on; NULL: not mapped */
	uint64_t map_at;
	int started, misses;
	int bad; /* it is written to, or cannot be copied */
} kept[KEPT];
static uint64_t now; /* counts uses */
static uint32_t busy;
static uint64_t no_clones; /* a device whose files cannot share blocks */

static int is_regular(const uint64_t *st)
{
	return (((const uint32_t *)st)[6] & 0170000) == 0100000;
}

/* Where in its file the call began to read; negative: not known. */
static long offset_of(long nr, const long *a, long ret)
{
	switch (nr) {
	case SYS_pread64:
	case SYS_preadv:
		return a[3];
	case SYS_preadv2:
		if (a[3] != -1)
			return a[3];
		__attribute__((fallthrough));
	case SYS_read:
	case SYS_readv:
		/* where others read by the same description this is wrong, and the bytes will differ */
		return raw3(SYS_lseek, a[0], 0, 1 /* SEEK_CUR */) - ret;
	}
	return -1;
}

static void forget(struct kept *k)
{
	if (k->map)
		raw2(SYS_munmap, k->map, WINDOW);
	memset(k, 0, sizeof(*k));
}

/* The entry of a file, by its device and inode. NULL: the file is not copied. */
static struct kept *find(const uint64_t *st)
{
	struct kept *oldest = kept;

	for (struct kept *k = kept; k < kept + KEPT; k++) {
		if (k->used && k->st[0] == st[0] && k->st[1] == st[1]) {
			k->used = ++now;
			k->bad |= k->st[6] != st[6] || k->st[11] != st[11] || k->st[12] != st[12];
			return k->bad ? 0 : k;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	forget(oldest);
	memcpy(oldest->st, st, sizeof(oldest->st));
	oldest->st[17] = 0;
	oldest->used = ++now;
	return oldest;
}

static int start(struct kept *k, int fd)
{
	k->started = 1;
	/* the program will write what it has opened for writing */
	if ((raw3(SYS_fcntl, fd, F_GETFL, 0) & O_ACCMODE) != O_RDONLY)
		return -1;
	if (k->st[0] != no_clones && files_clone(fd, k->st) == 0) {
		k->have = k->st[6];
		return 0;
	}
	no_clones = k->st[0];
	k->st[17] = (uint64_t)G.process << 32;
	return 0;
}

static int open_copy(const struct kept *k, int flags)
{
	char path[400];

	files_copy_path(path, path + sizeof(path), k->st);
	return keep_open(path, flags, 0600);
}

/* Extends the copy, at least up to end, or to the end of the file. */
static int grow(struct kept *k, int fd, uint64_t end)
{
	uint64_t to = end + (end < AHEAD ? end : AHEAD), st[18];
	int copy = open_copy(k, O_WRONLY | O_CREAT), limited, r;

	if (copy < 0)
		return -1;
	to = to < k->st[6] ? to : k->st[6];
	limited = keep_limited(to);
	if (limited) {
		char path[400];

		files_copy_path(path, path + sizeof(path), k->st);
		r = (int)keep_copy(path, fd, k->have, to);
	} else {
		r = files_copy_range(fd, copy, k->have, to);
	}
	if (r && !limited) /* a full disk, most likely */
		raw2(SYS_ftruncate, copy, k->have);
	else if (raw2(SYS_fstat, copy, st) == 0)
		k->have = st[6];
	raw_close(copy);
	return r;
}

/* Does the copy have these bytes, or get them now? */
static int have(struct kept *k, int fd, uint64_t off, uint64_t end)
{
	if (end <= k->have)
		return 1;
	if (end > k->st[6] || (!k->have && end <= HEAD))
		return 0;
	if (!k->started)
		k->bad = start(k, fd) != 0;
	if (!k->bad && end > k->have && off <= k->have + SKIP)
		k->bad = grow(k, fd, end) != 0;
	return end <= k->have;
}

RLOG_AREA_FITS(SHIM_REFS_ADDR, KEPT *(uint64_t)WINDOW, SHIM_HOT_ADDR);

/* The copy's bytes from off on; *n: how many are wanted, and then how many there are. */
static const uint8_t *bytes_at(struct kept *k, uint64_t off, uint64_t *n)
{
	uint64_t at = off & ~(WINDOW - 1ull), left = at + WINDOW - off;
	uint8_t *place = (uint8_t *)SHIM_REFS_ADDR + (uint64_t)(k - kept) * WINDOW;
	int fd;

	if (*n > left)
		*n = left;
	if (*n > STEP)
		*n = STEP;
	if (k->map && k->map_at == at)
		return k->map + (off - at);
	fd = open_copy(k, O_RDONLY);
	if (fd < 0)
		return 0;
	place = raw_mmap(place, WINDOW, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (long)at);
	raw_close(fd);
	k->map = raw_failed(place) ? 0 : place;
	k->map_at = at;
	return k->map ? k->map + (off - at) : 0;
}

/*
 * Are the bytes that were read those of the copy? *sum: their checksum, as the program may change what it has already.
 */
static int same(struct kept *k, uint64_t off, const struct piece *v, uint32_t *sum)
{
	struct iovec one = {v->p, v->n};
	const struct iovec *i = v->iov ? v->iov : &one;
	uint64_t left = v->n, at = 0, n;

	for (*sum = 0; left; left -= n, off += n, at += n) {
		const uint8_t *copy;

		for (; at == i->iov_len; i++)
			at = 0;
		n = i->iov_len - at < left ? i->iov_len - at : left;
		copy = bytes_at(k, off, &n);
		if (!copy || memcmp((uint8_t *)i->iov_base + at, copy, n))
			return 0;
		*sum = crc32c(*sum, copy, n);
	}
	return 1;
}

/*
 * Whether reading a descriptor has led to references. If a file is written to, or it is no file, fewer and fewer reads
 * are examined: that costs calls, and makes the kernel store the time of each later write in the inode.
 */
static struct hope {
	uint8_t skip, next;
} hopes[256];

void refs_opened(long fd)
{
	if (fd >= 0)
		hopes[fd & 255] = (struct hope){0, 0};
}

static int is_hopeless(struct hope *h)
{
	if (!h->skip)
		return 0;
	h->skip--;
	return 1;
}

static void lose_hope(struct hope *h)
{
	h->next = h->next < 63 ? 2 * h->next + 1 : 63;
	h->skip = h->next;
}

static int look(struct hope *h, int fd, uint64_t off, const struct piece *v, const uint64_t *st, struct rlog_ref *ref)
{
	struct kept *k = find(st);

	if (!k)
		lose_hope(h);
	else
		h->next = 0;
	if (!k || !have(k, fd, off, off + v->n))
		return 0;
	*ref = (struct rlog_ref){st[0], st[1], st[6], st[11] * 1000000000ull + st[12], k->st[17], off, 0, 0};
	if (same(k, off, v, &ref->sum))
		return 1;
	k->bad = ++k->misses >= MISSES;
	return 0;
}

int refs_find(long nr, const long *a, long ret, const struct piece *v, struct rlog_ref *ref)
{
	struct hope *h = &hopes[a[0] & 255];
	uint64_t st[18];
	long off;
	int r;

	if (ret < READ_LEAST || (uint64_t)ret != v->n || G.control->log_limit) /* copies are never removed */
		return 0;
	if (is_hopeless(h))
		return 0;
	off = offset_of(nr, a, ret);
	if (off < 0 || raw2(SYS_fstat, a[0], st) < 0 || !is_regular(st)) {
		lose_hope(h);
		return 0;
	}
	if (st[6] < FILE_LEAST)
		return 0;
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return 0;
	r = look(h, (int)a[0], (uint64_t)off, v, st, ref);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return r;
}

void refs_fork_child(void)
{
	if (now)
		raw2(SYS_munmap, SHIM_REFS_ADDR, KEPT * (uint64_t)WINDOW);
	memset(kept, 0, sizeof(kept));
	busy = 0;
}

/* ---- replay ---- */

/* No debug register sees what the kernel writes: stores the same bytes once more, so that a watchpoint there is hit. */
static void touch(uint8_t *p, uint64_t n)
{
	volatile uint8_t *b = p;

	for (; n && (uint64_t)b % 8; n--, b++)
		*b = *b;
	for (; n >= 8; n -= 8, b += 8)
		*(volatile uint64_t *)b = *(volatile uint64_t *)b;
	for (; n; n--, b++)
		*b = *b;
}

static void fill(int fd, uint64_t off, uint8_t *p, uint64_t n)
{
	while (n) {
		long r = raw4(SYS_pread64, fd, p, n, off);

		if (r <= 0)
			shim_fail("a file that the program read is shorter in the recording");
		touch(p, (uint64_t)r);
		p += r;
		off += (uint64_t)r;
		n -= (uint64_t)r;
	}
}

void refs_read(const struct rlog_ref *ref, const struct piece *v)
{
	uint64_t st[18] = {[0] = ref->dev,
			   [1] = ref->ino,
			   [6] = ref->size,
			   [11] = ref->mtime_ns / 1000000000u,
			   [12] = ref->mtime_ns % 1000000000u,
			   [17] = ref->part};
	struct iovec one = {v->p, v->n};
	const struct iovec *i = v->iov ? v->iov : &one;
	uint64_t left = v->n, off = ref->offset, n;
	uint32_t sum = 0;
	char path[400];
	int fd;

	files_copy_path(path, path + sizeof(path), st);
	fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		shim_fail("a file that the program read is missing from the recording");
	for (; left; left -= n, off += n, i++) {
		n = i->iov_len < left ? i->iov_len : left;
		fill(fd, off, i->iov_base, n);
		shim_tell_written(i->iov_base, n);
		sum = crc32c(sum, i->iov_base, n);
	}
	raw_close(fd);
	if (sum != ref->sum)
		shim_fail("a file that the program read has other bytes in the recording");
}
