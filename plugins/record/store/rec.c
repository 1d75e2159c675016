/* SPDX-License-Identifier: MIT */
/*
 * rec.c: recording: stamps, the mapped window of a thread's log, notes for the user.
 *
 * The window is a shared mapping of a stretch of the log file that was written with zeros beforehand: a full disk is
 * then an error here and not a SIGBUS in the program, and a page costs a fifth of a page fault in the mapping, since
 * the file system allocates many at once. When recording fails, the log ends there, and the program goes on unrecorded.
 */
#include "record/core/maps.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/core/tsc_clock.h"
#include "record/core/util.h"
#include "record/store/keeper.h"
#include "record/store/log.h"
#include "rlog/kinds.h"

#include <sys/uio.h>

#define WINDOW_SPACE (1ull << SHIM_LOG_SHIFT)
#define CHUNK_FIRST                                                                                                    \
	(4u << 10) /* most threads are short-lived, and what is left over is given back at the end, which is slow on   \
		      some disks */
#define CHUNK_MAX (1u << 20) /* larger ones cost more for each page */
#define ZEROS 16384u

/* A stamp is taken after all earlier loads and stores that matter; cs.c says when this needs no fence. */
uint64_t stamp_now(void)
{
	if (unlikely(G.no_tsc) && !G.control->clock)
		return tsc_by_clock();
	if (likely(!G.control->clock)) {
		uint32_t lo, hi;

		__asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
		return (uint64_t)hi << 32 | lo;
	}
	return __atomic_add_fetch(&G.control->next_stamp, 1, __ATOMIC_SEQ_CST);
}

static void log_path(struct thr *t, char *buf, char *end)
{
	char *p = fmt_str(buf, end, G.rec);

	p = fmt_str(p, end, "/p");
	p = fmt_dec(p, end, G.process, 4);
	p = fmt_str(p, end, "/t");
	p = fmt_dec(p, end, t->ordinal, 4);
	fmt_str(p, end, ".log");
}

static void rec_failed(int64_t err, const char *what)
{
	G.mode = SHIM_OFF;
	note(RLOG_NOTE_LOG_FAILED, err, what);
}

/*
 * Notes the place of the next record, which is one of the last: a search for the end of the log need not read what is
 * before it.
 */
static void write_boundary(const struct log *l, int fd, const char *path)
{
	uint64_t at = l->base_off + (uint64_t)(l->cur - l->base);

	keep_write(path, fd, &at, sizeof(at), offsetof(struct rlog_head, boundary));
}

void log_mark(struct thr *t)
{
	char path[400];
	int fd;

	if (G.mode != SHIM_RECORD || !t->log.base)
		return;
	log_path(t, path, path + sizeof(path));
	fd = keep_open(path, O_WRONLY, 0);
	if (fd < 0)
		return;
	write_boundary(&t->log, fd, path);
	raw_close(fd);
}

/* Writes zeros up to `to`, from where the file ends. 0, or -errno. */
static long write_zeros(int fd, uint64_t from, uint64_t to)
{
	static char zeros[ZEROS];
	struct iovec v[CHUNK_MAX / ZEROS];
	long r;

	do /* any signal interrupts it */
		r = raw4(SYS_fallocate, fd, 0, from, to - from);
	while (r == -4 /* EINTR */);
	if (r < 0 && r != -95) /* EOPNOTSUPP: a file system without it */
		return r;
	while (from < to) {
		unsigned n = 0;

		for (uint64_t at = from; at < to && n < CHUNK_MAX / ZEROS; at += v[n++].iov_len) {
			v[n].iov_base = zeros;
			v[n].iov_len = to - at < ZEROS ? to - at : ZEROS;
		}
		r = raw4(SYS_pwritev, fd, v, n, from);
		if (r == -4)
			continue;
		if (r <= 0)
			return r < 0 ? r : -28; /* ENOSPC */
		from += (uint64_t)r;
	}
	return 0;
}

#define FIRST_WAIT 10 /* tenths of a second */

static uint64_t now_tenths(void)
{
	uint64_t now[2]; /* struct timespec */

	raw2(SYS_clock_gettime, CLOCK_MONOTONIC, now);
	return now[0] * 10 + now[1] / 100000000;
}

/*
 * If a bounded recording is full, waits until its oldest part has been removed, unless no process is there to do that.
 * Two kinds of requests do not wait: those for more than half of the bound and, after a while, those for the beginning
 * of a log, since nothing from before a thread's creation can be removed until the thread has a log.
 */
static void wait_room(struct rlog_control *c, uint64_t more, int first)
{
	static const uint64_t look[2] = {0, 100000000};
	uint64_t until = first ? now_tenths() + FIRST_WAIT : UINT64_MAX, now;

	while (more < c->log_limit / 2) {
		uint32_t freed = __atomic_load_n(&c->log_freed, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&c->log_used, __ATOMIC_ACQUIRE) + more <= c->log_limit)
			break;
		now = now_tenths();
		if (now >= until || now >= __atomic_load_n(&c->log_lease, __ATOMIC_ACQUIRE))
			break;
		raw4(SYS_futex, &c->log_freed, FUTEX_WAIT, freed, &look);
	}
	__atomic_add_fetch(&c->log_used, more, __ATOMIC_ACQ_REL);
}

static long log_grow(struct log *l, int fd, const char *path, uint64_t to)
{
	uint64_t from = l->base ? l->base_off + (uint64_t)(l->end - l->base) : 0;

	if (unlikely(G.control->log_limit))
		wait_room(G.control, to - from, !from);
	return keep_limited(to) ? keep_grow(path, from, to) : write_zeros(fd, from, to);
}

static void log_unmap(struct log *l, int fd, const char *path)
{
	if (!l->base)
		return;
	write_boundary(l, fd, path);
	raw2(SYS_munmap, l->base, l->end - l->base);
}

/* The next window. */
struct window {
	struct log *log;
	const char *path;
	uint8_t *at;
	uint64_t off, len; /* in the file */
	int flags;
};

static long map_window(void *arg)
{
	const struct window *w = arg;
	int fd = keep_open(w->path, O_RDWR | w->flags, 0600);
	long r;
	void *m;

	if (fd < 0)
		return fd;
	r = log_grow(w->log, fd, w->path, w->off + w->len);
	if (r == 0) {
		log_unmap(w->log, fd, w->path);
		w->log->base = 0;
		m = raw_mmap(w->at, w->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (long)w->off);
		r = raw_failed(m) ? (long)m : 0;
	}
	raw_close(fd);
	return r;
}

/* Maps a window of at least need bytes at file offset off (page-aligned). */
static int log_map(struct thr *t, uint64_t off, uint64_t need, int flags)
{
	struct log *l = &t->log;
	char path[400];
	struct window w = {l,	path,	  (uint8_t *)(SHIM_LOG_ADDR + ((uint64_t)t->ordinal << SHIM_LOG_SHIFT)),
			   off, l->chunk, flags};
	long r;

	while (w.len < need + 4096)
		w.len *= 2;
	if (w.len > WINDOW_SPACE) {
		rec_failed(27, "one event is larger than 1 GiB");
		return -1;
	}
	log_path(t, path, path + sizeof(path));
	r = keep_with_room(map_window, &w, -1);
	if (r < 0) {
		rec_failed(-r, path);
		return -1;
	}
	l->base = w.at;
	l->base_off = off;
	l->end = w.at + w.len;
	if (l->chunk < (G.control->log_limit ? G.control->log_chunk : CHUNK_MAX))
		l->chunk *= 2;
	return 0;
}

int log_open(struct thr *t)
{
	struct rlog_head *h;

	t->log.base = 0;
	t->log.chunk = CHUNK_FIRST;
	if (log_map(t, 0, 0, O_CREAT | O_EXCL))
		return -1;
	h = (struct rlog_head *)t->log.base;
	h->version = RLOG_VERSION;
	h->process = G.process;
	h->thread = t->ordinal;
	h->tid = t->tid;
	h->own_process = (uint64_t)t->own_process;
	h->stamp0 = t->last_stamp = stamp_now();
	h->magic = RLOG_MAGIC_LOG;
	t->log.cur = t->log.base + sizeof(*h);
	return 0;
}

struct more {
	struct thr *t;
	uint64_t off, need;
	int ret;
};

static void map_more(void *arg)
{
	struct more *m = arg;

	m->ret = log_map(m->t, m->off, m->need, 0);
}

static __attribute__((noinline)) uint8_t *next_window(struct thr *t, uint64_t n)
{
	struct log *l = &t->log;
	uint64_t at = l->base_off + (uint64_t)(l->cur - l->base);
	struct more m = {t, at & ~4095ull, n + 1, 0};

	own_stack_call(t, map_more, &m);
	if (m.ret)
		return 0;
	l->cur = l->base + (at - m.off);
	return l->cur;
}

uint8_t *log_reserve(struct thr *t, uint64_t n)
{
	struct log *l = &t->log;

	if (likely((uint64_t)(l->end - l->cur) > n + 1))
		return l->cur;
	if (!l->base || G.mode != SHIM_RECORD)
		return 0;
	return next_window(t, n);
}

/* A place of a note that was withdrawn, or a new one. */
static uint32_t note_place(struct rlog_control *c, uint32_t seen, uint32_t kind)
{
	for (uint32_t i = 0; i < seen && i < RLOG_NOTES; i++) {
		uint32_t free = RLOG_NOTE_NONE;

		if (c->note[i].ready &&
		    __atomic_compare_exchange_n(&c->note[i].kind, &free, kind, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return __atomic_fetch_add(&c->note_count, 1, __ATOMIC_ACQ_REL);
}

void note(enum rlog_note_kind kind, int64_t number, const char *text)
{
	struct rlog_control *c = G.control;
	uint32_t seen, i;
	struct rlog_note *n;

	if (!c)
		return;
	seen = __atomic_load_n(&c->note_count, __ATOMIC_ACQUIRE);
	for (i = 0; i < seen && i < RLOG_NOTES; i++) {
		n = &c->note[i];
		if (!n->ready || n->kind != kind || n->number != number)
			continue;
		if (__builtin_strncmp(n->text, text, sizeof(n->text) - 1) == 0) {
			__atomic_add_fetch(&n->count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	i = note_place(c, seen, kind);
	if (i >= RLOG_NOTES)
		return;
	n = &c->note[i];
	n->kind = kind;
	n->process = G.process;
	n->count = 1;
	n->number = number;
	fmt_str(n->text, n->text + sizeof(n->text), text);
	__atomic_store_n(&n->ready, 1, __ATOMIC_RELEASE);
}

void note_damage(const struct rlog_damage *d)
{
	struct rlog_control *c = G.control;
	struct rlog_note *n;
	uint32_t i;

	if (!c)
		return;
	i = note_place(c, __atomic_load_n(&c->note_count, __ATOMIC_ACQUIRE), RLOG_NOTE_DAMAGE);
	if (i >= RLOG_NOTES)
		return;
	n = &c->note[i];
	n->kind = RLOG_NOTE_DAMAGE;
	n->process = G.process;
	n->count = 1;
	n->number = (int64_t)d->memory;
	__builtin_memcpy(n->text, d, sizeof(*d));
	__atomic_store_n(&n->ready, 1, __ATOMIC_RELEASE);
}

struct caller_text {
	uint64_t pc;
	char *out, *end;
};

static int describe(const struct map *m, void *arg)
{
	const struct caller_text *at = arg;
	char *p;

	if (at->pc < m->lo || at->pc >= m->hi)
		return 0;
	if (m->path[0] == '/') {
		p = fmt_str(at->out, at->end, m->path);
		p = fmt_str(p, at->end, "+0x");
		fmt_hex(p, at->end, at->pc - m->lo + m->off);
	}
	return 1;
}

static void describe_at(void *at)
{
	maps_each(describe, at);
}

void describe_caller(uint64_t pc, char *out, unsigned n)
{
	struct caller_text at = {pc, out, out + n};
	char *p = fmt_str(out, at.end, "0x");

	fmt_hex(p, at.end, pc);
	if (self)
		own_stack_call(self, describe_at, &at);
	else
		describe_at(&at);
}

const struct rlog_kind_info *shim_kinds(void)
{
	return rlog_kinds;
}
