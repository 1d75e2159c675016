/* SPDX-License-Identifier: MIT */
/*
 * compress.c: see compress.h. Being killed at any time is safe: a part is written to the file of frames, and while the
 * program runs also synced, before it is cut out of the log. A thread writes its log after rlog_head.boundary only. A
 * sync may delay the program's own writes, so one is made for many parts together, or when there is nothing else to do.
 *
 * While the program runs there are two threads: one reads and writes files; the other, of idle priority (SCHED_IDLE),
 * only compresses. One thread must not do both: while it is not scheduled, it could hold a lock of the file system that
 * the program waits for.
 */
#include "recfiles/compress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "recfiles/pause.h"
#include "reclog/frames.h"
#include "rlog/rlog.h"

#define PAGE 4096u
#define PART (1u << 20)
#define WORTH (64u << 10) /* smaller logs stay as they are */
#define CUT_LEAST (32u << 20) /* the least that is cut out of a log that is still being written */
#define BUSY_MS 100 /* between two passes */
#define QUIET_MS 500 /* ... at most: while there is nothing to do, the time doubles */
#define LEVEL_IDLE 3
#define LEVEL_WAITED_FOR 1

/* One part of a log, and its compressed form. */
struct part {
	ZSTD_CCtx *z;
	uint8_t *raw;
	uint32_t bytes;
	struct rlog_frame *out; /* a head, and after it room for a frame */
	size_t packed; /* as from ZSTD_compress2 */
};

struct compressor {
	char *rec;
	pthread_t files, idle;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct part part;
	/* under lock */
	bool stop;
	struct part *work; /* for the idle thread; NULL again: it is done */
	unsigned users; /* threads; the last one frees it, as the idle one is not joined */
};

/* One pass over a recording. When its time is up, parts that are compressed are still cut out. */
struct pass {
	struct compressor *running; /* NULL: all recorded processes have ended */
	double until; /* when the pass is to end (CLOCK_MONOTONIC) */
	struct part *part;
	bool did; /* has compressed something */
};

static bool is_over(const struct pass *p)
{
	bool stop;

	if (!p->running)
		return clock_s() > p->until;
	pthread_mutex_lock(&p->running->lock);
	stop = p->running->stop;
	pthread_mutex_unlock(&p->running->lock);
	return stop;
}

/*
 * Where the part of the log that can be compressed ends: while the program runs, at the boundary that its thread has
 * set.
 */
static uint64_t done_with(const struct pass *p, int log, const struct stat *st)
{
	uint64_t at = 0;

	if (!p->running)
		return (uint64_t)st->st_size;
	if (pread_full(log, &at, sizeof(at), offsetof(struct rlog_head, boundary)) != sizeof(at))
		return 0;
	return at & ~(uint64_t)(PAGE - 1);
}

static void compress(struct part *p)
{
	p->packed = ZSTD_compress2(p->z, p->out + 1, ZSTD_compressBound(PART), p->raw, p->bytes);
}

/* Lets the idle thread compress a part. false: the compressor was stopped first. */
static bool compress_idle(struct compressor *s, struct part *p)
{
	bool done;

	pthread_mutex_lock(&s->lock);
	s->work = p;
	pthread_cond_broadcast(&s->wake);
	while (s->work && !s->stop)
		pthread_cond_wait(&s->wake, &s->lock);
	done = !s->work;
	pthread_mutex_unlock(&s->lock);
	return done;
}

/*
 * Compresses log[at, at + n), and adds it to the frames at *size. 1: the compressor was stopped, and nothing was added.
 */
static int add_frame(struct pass *pass, int log, int frames, uint64_t at, uint32_t n, uint64_t *size, struct err *e)
{
	struct part *p = pass->part;
	size_t len;

	if (pread_full(log, p->raw, n, (off_t)at) != (ssize_t)n)
		return err_errno(e, ERR_HOST, "reading");
	p->bytes = n;
	if (!pass->running)
		compress(p);
	else if (!compress_idle(pass->running, p))
		return 1;
	if (ZSTD_isError(p->packed))
		return err_set(e, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(p->packed));
	*p->out = (struct rlog_frame){RLOG_FRAME_MAGIC, sizeof(*p->out) - 8, at, n, (uint32_t)p->packed};
	len = sizeof(*p->out) + p->packed;
	if (pwrite_full(frames, p->out, len, (off_t)*size))
		return err_errno(e, ERR_HOST, "writing");
	*size += len;
	return 0;
}

/* Cuts out of the log what is in frames now. A finished log that is all in frames is truncated to its first page. */
static int cut_out(const struct pass *p, int log, int frames, uint64_t from, uint64_t to, bool all, struct err *e)
{
	if (p->running && fdatasync(frames))
		return err_errno(e, ERR_HOST, "fdatasync");
	if (all ? ftruncate(log, RLOG_FRAME_START)
		: fallocate(log, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)))
		return errno == EOPNOTSUPP ? 0 : err_errno(e, ERR_HOST, "cutting");
	return 0;
}

/*
 * Where the data of a log begin, after the holes that trimming and cut_out have made. If no data are left: far behind
 * the log's end.
 */
static uint64_t first_data(int log)
{
	return (uint64_t)lseek(log, RLOG_FRAME_START, SEEK_DATA);
}

/* Compresses the log up to `end`, which its thread does not write before any more. */
static int compress_open(struct pass *p, int log, int out, const struct frames *had, uint64_t end, struct err *e)
{
	uint64_t cut = first_data(log), from = had->size ? had->end : cut, at = from, size = had->size;

	/* left by a process that was killed in add_frame: it could be taken for the end of the new frames */
	if (had->mapped > had->size && ftruncate(out, (off_t)had->size))
		return err_errno(e, ERR_HOST, "cutting");
	while (at < end && !is_over(p)) {
		uint32_t n = end - at < PART ? (uint32_t)(end - at) : PART;
		int r = p->running && n < PART ? 1 : add_frame(p, log, out, at, n, &size, e);

		if (r > 0)
			break;
		if (!r) {
			at += n;
			continue;
		}
		/*
		 * the disk is probably full: the incomplete frame is removed, and cutting out what is compressed makes
		 * room
		 */
		if (ftruncate(out, (off_t)size) || at <= cut || cut_out(p, log, out, cut, at, false, e))
			return -1;
		cut = at;
	}
	p->did |= at > from;
	if (at <= cut || (p->running && at > from && at - cut < CUT_LEAST))
		return 0;
	return cut_out(p, log, out, cut, at, !p->running && at == end, e);
}

static int compress_log(struct pass *p, const char *path, struct err *e)
{
	cleanup_close int log = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), out = -1;
	cleanup_free char *to = frames_path(path);
	struct frames had;
	struct stat st;
	uint64_t end;
	int r = 0;

	if (log < 0 || fstat(log, &st) || (uint64_t)st.st_blocks * 512 < WORTH)
		return 0;
	end = done_with(p, log, &st);
	if (frames_open(&had, path, e))
		return -1;
	if (had.end > first_data(log) ||
	    (!is_over(p) && end >= (had.size ? had.end : RLOG_FRAME_START) + (p->running ? PART : 1))) {
		out = open(to, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		r = out < 0 ? err_errno(e, ERR_HOST, "%s", to) : compress_open(p, log, out, &had, end, e);
	}
	frames_close(&had);
	return r ? err_wrap(e, "%s", path) : 0;
}

static int compress_process(struct pass *p, const char *dir, struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d)) && !(p->running && is_over(p))) {
		cleanup_free char *path = NULL;

		if (de->d_name[0] != 't' || !str_ends(de->d_name, ".log"))
			continue;
		path = path_join(dir, de->d_name);
		if (compress_log(p, path, e))
			return -1;
	}
	return 0;
}

static int compress_all(struct pass *p, const char *rec, struct err *e)
{
	int r = 0;

	for (unsigned i = 1; i <= RLOG_MAX_PROCESSES && !r && !(p->running && is_over(p)); i++) {
		cleanup_free char *dir = str_fmt("%s/p%04u", rec, i);

		if (!path_is_dir(dir))
			break;
		r = compress_process(p, dir, e);
	}
	return r;
}

static void part_init(struct part *p, int level)
{
	p->z = ZSTD_createCCtx();
	p->raw = xmalloc(PART);
	p->out = xmalloc(sizeof(*p->out) + ZSTD_compressBound(PART));
	ZSTD_CCtx_setParameter(p->z, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(p->z, ZSTD_c_checksumFlag, 1);
}

static void part_fini(struct part *p)
{
	ZSTD_freeCCtx(p->z);
	free(p->raw);
	free(p->out);
}

int compress_rest(const char *rec, double seconds, struct err *e)
{
	struct part part;
	struct pass p = {.until = clock_s() + seconds, .part = &part};
	int r;

	part_init(&part, LEVEL_WAITED_FOR);
	r = compress_all(&p, rec, e);
	part_fini(&part);
	return r;
}

/* ---- while the program runs ---- */

static void leave(struct compressor *s)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	last = !--s->users;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	part_fini(&s->part);
	free(s->rec);
	free(s);
}

static void *work_files(void *arg)
{
	struct compressor *s = arg;
	struct pass p = {.running = s, .part = &s->part};
	struct err ignored;
	unsigned ms = BUSY_MS;

	/* if it fails (for example since the disk is full), the recording is only larger */
	while (!pause_ms(&s->lock, &s->wake, &s->stop, ms) && !compress_all(&p, s->rec, &ignored)) {
		ms = p.did ? BUSY_MS : 2 * ms < QUIET_MS ? 2 * ms : QUIET_MS;
		p.did = false;
	}
	leave(s);
	return NULL;
}

static void *work_idle(void *arg)
{
	static const struct sched_param none;
	struct compressor *s = arg;

	sched_setscheduler(0, SCHED_IDLE, &none);
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct part *p = s->work;

		if (!p) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		compress(p);
		pthread_mutex_lock(&s->lock);
		s->work = NULL;
		pthread_cond_broadcast(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	leave(s);
	return NULL;
}

static void stop(struct compressor *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

static int start_threads(struct compressor *s)
{
	s->users = 2;
	if (pthread_create(&s->files, NULL, work_files, s))
		return -1;
	/* without it nothing is compressed until the end */
	if (pthread_create(&s->idle, NULL, work_idle, s))
		leave(s);
	else
		pthread_detach(s->idle);
	return 0;
}

struct compressor *compressor_start(const char *rec)
{
	struct compressor *s = xcalloc(1, sizeof(*s));
	sigset_t all, was;
	int r;

	s->rec = xstrdup(rec);
	part_init(&s->part, LEVEL_IDLE);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	r = start_threads(s);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!r)
		return s;
	s->users = 1;
	leave(s);
	return NULL;
}

void compressor_stop(struct compressor *s)
{
	pthread_t files;

	if (!s)
		return;
	files = s->files;
	stop(s);
	pthread_join(files, NULL);
}
