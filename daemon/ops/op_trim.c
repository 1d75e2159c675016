/* SPDX-License-Identifier: MIT */
/*
 * op_trim.c: removes the oldest part of a bounded recording (record --max-log), as a flight recorder does. A replay of
 * the recording goes to the event that is to become the first one. A checkpoint is taken there, from which later
 * replays begin (BugNet's header of an interval). The recorded program goes on meanwhile. Of processes that have ended,
 * the oldest are removed completely.
 *
 * The order makes it safe to be killed: the checkpoint is on the disk before pNNNN/start names it, and pNNNN/start is
 * written before the logs lose the events before it.
 */
#define LOG_DOMAIN "trim"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "ops/operations.h"
#include "reclog/procs.h"
#include "replay/navigate.h"
#include "replay/pick.h"

#define PAGE 4096u
#define WORTH (64u << 10) /* a smaller part is not removed */
#define SEEN_S 0.1 /* a file's time may be this much older, since it is that of a coarse clock */

struct trim {
	struct rec *rec;
	struct op_ctx *ctx;
	uint64_t freed, kept;
	json_t *processes;
	const json_t *running; /* {at, pids}: the processes that recorded at that moment; NULL: not known */
};

/* ---- the checkpoint ---- */

static int sync_file(int dir, const char *name)
{
	cleanup_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : fsync(fd);
}

static int sync_folder(const char *path, struct err *e)
{
	cleanup_closedir DIR *d = opendir(path);
	struct dirent *de;

	if (!d)
		return err_errno(e, ERR_HOST, "%s", path);
	while ((de = readdir(d)))
		if (de->d_type == DT_REG && sync_file(dirfd(d), de->d_name))
			return err_errno(e, ERR_HOST, "%s/%s", path, de->d_name);
	return fsync(dirfd(d)) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

static int sync_checkpoint(const char *root, uint64_t id, struct err *e)
{
	cleanup_free char *dir = str_fmt("%s/%llu", root, (unsigned long long)id);
	cleanup_free char *images = path_join(dir, "images"), *files = path_join(dir, "files");

	return sync_folder(images, e) || sync_folder(files, e) || sync_folder(dir, e) || sync_folder(root, e) ? -1 : 0;
}

/* Removes the checkpoints of earlier starts, and what a killed trim left. */
static void remove_others(struct ckpt_store *store, uint64_t id)
{
	struct ckpt_list l = {0};
	struct err ignored;

	if (ckpt_store_gc(store, NULL, NULL, &ignored) || ckpt_store_list(store, &l, &ignored))
		return;
	for (size_t i = 0; i < l.n; i++)
		if (l.v[i].id != id && ckpt_store_remove(store, l.v[i].id, &ignored) < 0)
			log_warn("%s", ignored.text);
	ckpt_list_fini(&l);
}

static int take_checkpoint(struct nav *n, const char *root, struct ckpt_store *store, uint64_t *id, struct err *e)
{
	const char *files[] = {n->t.ctl_path, NULL};
	struct ckpt_meta m = {.event = nav_at(n), .process = n->t.process, .sched_crc = n->t.sched_crc, .keep = true};

	if (ckpt_store_add(store, &n->env, n->t.pid, files, &m, e) || sync_checkpoint(root, m.id, e))
		return -1;
	*id = m.id;
	return 0;
}

/* ---- the logs ---- */

/* Raises the boundary: a search for the log's end that began at the first records would find nothing. */
static int raise_boundary(int fd, uint64_t to)
{
	uint64_t at = 0;

	if (pread_full(fd, &at, sizeof(at), offsetof(struct rlog_head, boundary)) != sizeof(at))
		return -1;
	return at >= to ? 0 : pwrite_full(fd, &to, sizeof(to), offsetof(struct rlog_head, boundary));
}

static int cut_log(struct trim *t, uint32_t process, const struct rec_start_thread *at, struct err *e)
{
	cleanup_free char *path = rec_log_path(t->rec, process, at->thread);
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	off_t end = (off_t)(at->offset & ~(uint64_t)(PAGE - 1));
	struct stat before, after;

	if (fd < 0 || fstat(fd, &before))
		return err_errno(e, ERR_HOST, "%s", path);
	if (at->over) /* also removes the part that was allocated ahead of the thread */
		end = before.st_size;
	if (end <= (off_t)PAGE)
		return 0;
	if (raise_boundary(fd, at->offset) ||
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, end - (off_t)PAGE) || fstat(fd, &after))
		return err_errno(e, ERR_HOST, "%s", path);
	if (after.st_blocks < before.st_blocks)
		t->freed += (uint64_t)(before.st_blocks - after.st_blocks) * 512;
	return 0;
}

static int cut_logs(struct trim *t, uint32_t process, const struct rec_start *s, struct err *e)
{
	for (unsigned i = 0; i < s->nthreads; i++)
		if (cut_log(t, process, &s->threads[i], e))
			return -1;
	return 0;
}

/* ---- where to begin ---- */

/* An image, and where it is to begin. */
struct trim_plan {
	struct rec_image *img;
	struct timeline *tl;
	struct rec_start s;
	uint64_t bytes, left; /* of its logs; after the new start */
	uint64_t stamp; /* the stamp of that event */
	uint32_t *children; /* images that were forked before */
	unsigned nchildren;
};

static void plan_fini(struct trim_plan *p)
{
	timeline_free(p->tl);
	free(p->s.threads);
	free(p->children);
}

static int start_at(struct trim_plan *p, uint64_t number, uint64_t *bytes, struct err *e)
{
	free(p->s.threads);
	p->s.threads = NULL;
	return timeline_start_at(p->tl, number, &p->s, bytes, e);
}

/* Finds the first event in [lo, hi] after which no more than `part` of all logs' bytes is left. */
static int choose(struct trim_plan *p, uint64_t lo, uint64_t hi, double part, struct err *e)
{
	if (start_at(p, lo, &p->bytes, e))
		return -1;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (start_at(p, mid, &p->left, e))
			return -1;
		if ((double)p->left <= part * (double)p->bytes)
			hi = mid;
		else
			lo = mid + 1;
	}
	return start_at(p, lo, &p->left, e);
}

static bool has_thread(const struct rec_image *img, uint64_t thread)
{
	for (unsigned i = 0; i < img->nthreads; i++)
		if (img->threads[i] == thread)
			return true;
	return false;
}

static struct rec_image *begun(const struct rec *rec, uint64_t process)
{
	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].ordinal == process && rec->images[i].nthreads)
			return &rec->images[i];
	return NULL;
}

/*
 * A thread or process that has been made, but whose log has not begun yet: the checkpoint would contain it without a
 * log. A fork is counted among the children.
 */
static bool is_unborn(const struct trim *t, struct trim_plan *p, const struct reader_event *ev)
{
	if (ev->rec.kind == RLOG_CREATE)
		return !has_thread(p->img, ev->rec.op[0]) && !(ev->has_result && (int64_t)ev->result.op[0]);
	if (ev->rec.kind != RLOG_FORK || (ev->has_result && (int64_t)ev->result.op[0] < 0))
		return false;
	if (!ev->has_result || !begun(t->rec, ev->result.op[1]))
		return true;
	p->children = xreallocarray(p->children, p->nchildren + 1, sizeof(*p->children));
	p->children[p->nchildren++] = (uint32_t)ev->result.op[1];
	return false;
}

/* Finds the place before the first of these events; 0: there is none. */
static int before_unborn(const struct trim *t, struct trim_plan *p, uint64_t first, uint64_t *number, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int got;

	*number = p->s.event;
	if (timeline_walk_init(&w, p->tl, first, e))
		return -1;
	while (w.number <= p->s.event && (got = timeline_walk_next(&w, &ev, e)) == 1)
		if (is_unborn(t, p, &ev.ev)) {
			*number = ev.where.number > first ? ev.where.number - 1 : 0;
			break;
		}
	timeline_walk_fini(&w);
	return got < 0 ? -1 : 0;
}

/*
 * 0: p->s says where the image is to begin; 1: there is no such place. The last event of all can be used only if the
 * process has ended.
 */
static int plan_init(const struct trim *t, struct trim_plan *p, struct rec_image *img, double part, struct err *e)
{
	struct timeline_event ev;
	uint64_t first, last, number;

	*p = (struct trim_plan){.img = img};
	if (timeline_build(t->rec, img->ordinal, NULL, &p->tl, e))
		return -1;
	first = timeline_prefix(p->tl) + 1;
	last = timeline_total(p->tl) - (procs_ending(t->rec, img).how == PROCS_RUNNING);
	if (first > last)
		return 1;
	if (choose(p, first, last, part, e) || before_unborn(t, p, first, &number, e))
		return -1;
	if (!number)
		return 1;
	if (start_at(p, number, &p->left, e) || timeline_read(p->tl, number, &ev, e))
		return -1;
	p->stamp = ev.ev.stamp;
	return 0;
}

static int new_start(struct trim *t, struct nav *n, struct rec_start *s, struct err *e)
{
	cleanup_free char *root = nav_start_store(t->rec, n->t.process);
	cleanup_free char *path = str_fmt("%s/p%04u/start", t->rec->dir, n->t.process);
	struct ckpt_store *store;
	int r;

	if (nav_goto(n, s->event, e) || ckpt_store_open(root, &store, e))
		return -1;
	s->root = n->t.root;
	r = take_checkpoint(n, root, store, &s->checkpoint, e) || rec_start_write(path, s, e) ||
			    cut_logs(t, n->t.process, s, e)
		    ? -1
		    : 0;
	if (!r)
		remove_others(store, s->checkpoint);
	ckpt_store_free(store);
	return r;
}

/* ---- a process, and those that were forked from it ---- */

static int trim_image(struct trim *t, struct rec_image *img, double part, bool needed, struct err *e);

/*
 * Has it ended? A process that ran when the caller looked counts as running, even if its log has got its end since:
 * processes that it left, or that were killed before, may still look as if they ran. A process whose log has no end
 * and that the caller did not see was killed; one that had just begun may have been overlooked.
 */
enum ended { RUNS, PERHAPS, ENDED };

static bool was_seen(const struct trim *t, const struct rec_image *img)
{
	const struct rec_image *after = t->rec->images + t->rec->nimages;
	json_t *pid;
	size_t i;

	json_array_foreach(json_object_get(t->running, "pids"), i, pid) if (json_integer_value(pid) == img->head.pid)
	{
		for (const struct rec_image *later = img + 1; later < after; later++)
			if (later->head.pid == img->head.pid)
				return false; /* the PID belongs to that process now */
		return true;
	}
	return false;
}

static enum ended has_ended(const struct trim *t, const struct rec_image *img)
{
	cleanup_free char *path = str_fmt("%s/p%04u/image", t->rec->dir, img->ordinal);
	double at = json_number_value(json_object_get(t->running, "at"));
	struct stat st;

	if (!img->head.cell_pid && was_seen(t, img))
		return RUNS;
	if (procs_ending(t->rec, img).how != PROCS_RUNNING)
		return ENDED;
	if (at <= 0 || img->head.cell_pid || stat(path, &st))
		return RUNS;
	return (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9 < at - SEEN_S ? ENDED : PERHAPS;
}

static uint64_t last_stamp(const struct trim *t, const struct rec_image *img)
{
	uint64_t stamp = 1;
	struct reader *logs;
	struct err ignored;

	if (rec_logs_open(t->rec, img, &logs, &ignored))
		return 0;
	for (unsigned i = 0; i < img->nthreads; i++) {
		struct reader_iter it = reader_begin(&logs[i]);
		struct rlog_rec rec;

		while (reader_next_record(&it, &rec) == RLOG_READ_OK)
			;
		stamp = it.stamp > stamp ? it.stamp : stamp;
	}
	rec_logs_free(logs, img->nthreads);
	return stamp;
}

static bool ended_before(const struct trim *t, const struct rec_image *img, uint64_t stamp)
{
	uint64_t end = has_ended(t, img) == ENDED ? last_stamp(t, img) : 0;

	return end && end < stamp;
}

/* Removes all events of an image; they count as gone from the moment at which that is written to the disk. */
static int drop_image(struct trim *t, struct rec_image *img, struct err *e)
{
	static const struct rec_start nothing;
	cleanup_free char *start = str_fmt("%s/p%04u/start", t->rec->dir, img->ordinal);
	cleanup_free char *ckpt = nav_start_store(t->rec, img->ordinal);

	if (rec_start_write(start, &nothing, e) || rm_rf(ckpt, e))
		return -1;
	rec_start_free(img->start);
	img->start = NULL;
	for (; img->nthreads; img->nthreads--) {
		cleanup_free char *path = rec_log_path(t->rec, img->ordinal, img->threads[img->nthreads - 1]);

		t->freed += path_disk_usage(path);
		if (unlink(path))
			return err_errno(e, ERR_HOST, "%s", path);
	}
	return 0;
}

/*
 * An image that was forked needs its parent's events, unless it has a start of its own. It now gets one or, if it
 * ended before the part that is left, is removed as a whole. 1: neither is possible.
 */
static int free_of_parent(struct trim *t, struct rec_image *img, uint64_t stamp, double part, struct err *e)
{
	if (!img->nthreads || img->start)
		return 0;
	if (!ended_before(t, img, stamp))
		return trim_image(t, img, part, true, e) ? -1 : !img->start;
	for (unsigned i = 0; i < t->rec->nimages; i++) {
		struct rec_image *child = &t->rec->images[i];

		if (child->head.origin == RLOG_ORIGIN_FORK && child->head.parent == img->ordinal) {
			int r = free_of_parent(t, child, stamp, part, e);

			if (r)
				return r;
		}
	}
	return drop_image(t, img, e);
}

static int free_children(struct trim *t, const struct trim_plan *p, double part, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < p->nchildren && !r; i++) {
		struct rec_image *child = begun(t->rec, p->children[i]);

		r = child ? free_of_parent(t, child, p->stamp, part, e) : 0;
	}
	return r;
}

static int apply(struct trim *t, struct trim_plan *p, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/p%04u/start", t->rec->dir, p->img->ordinal);
	struct nav n;
	int r;

	if (nav_init(&n, t->rec, p->img->ordinal, 0, t->ctx, e))
		return -1;
	r = new_start(t, &n, &p->s, e);
	nav_fini(&n);
	if (r)
		return -1;
	json_array_append_new(t->processes, json_pack("{s:i, s:I}", "process", (int)p->img->ordinal, "event",
						      (json_int_t)p->s.event));
	rec_start_free(p->img->start);
	return rec_start_read(path, &p->img->start, e);
}

/* part: how much of its logs stays; needed: it gets a new start even if that alone frees little. */
static int trim_image(struct trim *t, struct rec_image *img, double part, bool needed, struct err *e)
{
	struct trim_plan p;
	int r = plan_init(t, &p, img, part, e);

	if (!r && (needed || p.left + WORTH < p.bytes))
		r = free_children(t, &p, part, e);
	else if (!r)
		r = 1;
	if (!r)
		r = apply(t, &p, e);
	plan_fini(&p);
	return r < 0 ? err_wrap(e, "process %u", img->ordinal) : 0;
}

/* ---- all of them ---- */

static uint64_t image_usage(const struct trim *t, const struct rec_image *img)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < img->nthreads; i++) {
		cleanup_free char *path = rec_log_path(t->rec, img->ordinal, img->threads[i]);

		sum += path_disk_usage(path);
	}
	return sum;
}

static uint64_t all_usage(const struct trim *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->rec->nimages; i++)
		sum += image_usage(t, &t->rec->images[i]);
	return sum;
}

/* Can another image be replayed only with this one's events? */
static bool is_needed(const struct rec *rec, uint32_t process)
{
	for (unsigned i = 0; i < rec->nimages; i++) {
		const struct rec_image *img = &rec->images[i];

		if (img->head.origin == RLOG_ORIGIN_FORK && img->head.parent == process && img->nthreads && !img->start)
			return true;
	}
	return false;
}

struct old {
	struct rec_image *img;
	enum ended ended;
	uint64_t stamp;
};

static int by_stamp(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->stamp < y->stamp ? -1 : x->stamp > y->stamp;
}

/*
 * Removes whole processes that have ended, the oldest first, as long as enough is left without them. It stops at the
 * first that may still run, since that one would be next.
 */
static int drop_ended(struct trim *t, uint64_t *all, uint64_t keep, struct err *e)
{
	cleanup_free struct old *v = xcalloc(t->rec->nimages + 1, sizeof(*v));
	size_t n = 0;

	for (unsigned i = 0; i < t->rec->nimages; i++) {
		struct rec_image *img = &t->rec->images[i];

		v[n] = (struct old){.img = img, .ended = img->nthreads ? has_ended(t, img) : RUNS};
		n += v[n].ended != RUNS && (v[n].stamp = last_stamp(t, img));
	}
	qsort(v, n, sizeof(*v), by_stamp);
	for (size_t i = 0; i < n; i++) {
		uint64_t usage = image_usage(t, v[i].img);

		if (v[i].ended == PERHAPS || *all < keep + usage)
			break;
		if (is_needed(t->rec, v[i].img->ordinal))
			continue;
		*all -= usage;
		if (drop_image(t, v[i].img, e))
			return -1;
	}
	return 0;
}

static int trim_all(struct trim *t, uint64_t keep, struct err *e)
{
	uint64_t all = all_usage(t);
	double part;

	if (all > keep && drop_ended(t, &all, keep, e))
		return -1;
	part = all > keep ? (double)keep / (double)all : 1;
	for (unsigned i = 0; i < t->rec->nimages && all > keep; i++)
		if (t->rec->images[i].nthreads && trim_image(t, &t->rec->images[i], part, false, e))
			return -1;
	t->kept = all_usage(t);
	return 0;
}

int op_trim(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct trim t = {.ctx = ctx, .processes = json_array(), .running = json_object_get(params, "running")};
	json_int_t keep = json_integer_value(json_object_get(params, "keep"));
	int r = -1;

	if (pick_rec(params, &t.rec, e))
		goto out;
	if (!t.rec->control.log_limit || t.rec->complete)
		err_set(e, ERR_USAGE, "%s: not a bounded recording that is being made", t.rec->dir);
	else
		r = trim_all(&t, keep > 0 ? (uint64_t)keep : 0, e);
	if (!r)
		*result = json_pack("{s:I, s:I, s:O}", "freed", (json_int_t)t.freed, "kept", (json_int_t)t.kept,
				    "processes", t.processes);
	rec_free(t.rec);
out:
	json_decref(t.processes);
	return r;
}
