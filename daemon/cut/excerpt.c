/* SPDX-License-Identifier: MIT */
/* excerpt.c: see excerpt.h. Offsets in a log are those in the whole log: what is left out is a hole. */
#include "cut/excerpt.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "reclog/frames.h"

#define PAGE 4096u
#define CHUNK (1u << 18)

struct excerpt {
	const struct rec *rec;
	struct timeline *tl;
	const char *dir;
};

static int copy(const struct excerpt *x, const char *name, bool must, struct err *e)
{
	cleanup_free char *from = path_join(x->rec->dir, name), *to = path_join(x->dir, name);

	if ((!must && !path_exists(from)) || path_exists(to))
		return 0;
	return copy_file(from, to, e);
}

/* ---- logs ---- */

/* Copies the part in [from, to); a hole stays one. */
static int copy_range(int in, int out, uint64_t from, uint64_t to, struct err *e)
{
	cleanup_free char *chunk = xmalloc(CHUNK);

	while (from < to) {
		size_t want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		ssize_t n = pread_full(in, chunk, want, (off_t)from);

		if (n < 0 || pwrite_full(out, chunk, (size_t)n, (off_t)from))
			return err_errno(e, ERR_HOST, "copying a log");
		if (!n)
			return 0;
		from += (uint64_t)n;
	}
	return 0;
}

static int write_log(int in, int out, uint64_t from, uint64_t to, struct err *e)
{
	struct rlog_head head;
	struct stat st;

	if (fstat(in, &st) || pread_full(in, &head, sizeof(head), 0) != sizeof(head))
		return err_errno(e, ERR_USAGE, "the log has no head");
	if (to > (uint64_t)st.st_size)
		to = (uint64_t)st.st_size;
	if (from < sizeof(head))
		from = sizeof(head);
	head.boundary = from > sizeof(head) ? from : 0;
	if (copy_range(in, out, from, to, e))
		return -1;
	/* zeros at the end, as in a log whose thread has room for more */
	if (pwrite_full(out, &head, sizeof(head), 0) || ftruncate(out, (off_t)((to / PAGE + 2) * PAGE)))
		return err_errno(e, ERR_HOST, "writing a log");
	return 0;
}

static int cut_log(const struct excerpt *x, uint32_t process, uint32_t thread, uint64_t from, uint64_t to,
		   struct err *e)
{
	cleanup_free char *log = rec_log_path(x->rec, process, thread), *whole = path_join(x->dir, "log.tmp"),
			  *path = str_fmt("%s/p%04u/t%04u.log", x->dir, process, thread);
	cleanup_close int in = open(whole, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
			  out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r;

	if (in < 0 || out < 0)
		return err_errno(e, ERR_HOST, "%s", in < 0 ? whole : path);
	r = frames_unpack(log, in, 0, e) || write_log(in, out, from, to, e) ? -1 : 0;
	unlink(whole);
	return r ? err_wrap(e, "%s", log) : 0;
}

/*
 * Where a thread's log ends; without `ends`, its real end. The log of a thread without events in the window has only a
 * head.
 */
static uint64_t end_of(const struct rec_start *ends, uint32_t thread)
{
	const struct rec_start_thread *t = rec_start_of(ends, thread);

	return !ends ? UINT64_MAX : t ? t->offset : 0;
}

static int cut_logs(const struct excerpt *x, const struct rec_image *img, const struct rec_start *start, uint64_t to,
		    struct err *e)
{
	struct rec_start ends = {0};
	bool is_end = to == timeline_total(x->tl);
	uint64_t bytes;
	int r = is_end ? 0 : timeline_start_at(x->tl, to + 1, &ends, &bytes, e);

	for (unsigned k = 0; k < img->nthreads && !r; k++) {
		uint32_t thread = img->threads[k];
		const struct rec_start_thread *from = rec_start_of(start, thread);

		r = cut_log(x, img->ordinal, thread, from ? from->offset : 0, end_of(is_end ? NULL : &ends, thread), e);
	}
	free(ends.threads);
	return r;
}

/* ---- images ---- */

/*
 * Copies all files: a replay finds out later which of them the process has mapped, or reads from (copies.h). They share
 * blocks with those of the recording, if the file system can do that.
 */
static int copy_files(const struct excerpt *x, struct err *e)
{
	cleanup_free char *folder = path_join(x->rec->dir, "files");
	cleanup_closedir DIR *d = opendir(folder);
	struct dirent *de;

	if (!d)
		return err_errno(e, ERR_USAGE, "%s", folder);
	while ((de = readdir(d))) {
		cleanup_free char *name = path_join("files", de->d_name);

		if (*de->d_name != '.' && copy(x, name, true, e))
			return -1;
	}
	return 0;
}

/* Copies the image itself, or one that it was forked from, of which no events remain. */
static int copy_image(const struct excerpt *x, const struct rec_image *img, const struct rec_start *start,
		      struct err *e)
{
	static const char *const names[] = {"image", "files", "traps"};
	static const struct rec_start nothing;
	cleanup_free char *folder = str_fmt("%s/p%04u", x->dir, img->ordinal), *path = path_join(folder, "start");

	if (mkdir_p(folder, 0700, e))
		return -1;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		cleanup_free char *name = str_fmt("p%04u/%s", img->ordinal, names[k]);

		if (copy(x, name, !k, e))
			return -1;
	}
	return rec_start_write(path, start ? start : &nothing, e);
}

/* The process in the checkpoint has the logs of its ancestors mapped: makes files for them (target/logs.h). */
static int head_logs(const struct excerpt *x, const struct rec_image *img, struct err *e)
{
	cleanup_free char *folder = str_fmt("%s/p%04u", x->rec->dir, img->ordinal);
	cleanup_closedir DIR *d = img->nthreads ? NULL : opendir(folder); /* in a window, its threads are not listed */
	struct dirent *de;

	for (unsigned k = 0; k < img->nthreads; k++)
		if (cut_log(x, img->ordinal, img->threads[k], 0, 0, e))
			return -1;
	while (d && (de = readdir(d))) {
		cleanup_free char *name = str_fmt("p%04u/%s", img->ordinal, de->d_name);

		if (*de->d_name == 't' && str_ends(name, ".log") && copy(x, name, true, e))
			return -1;
	}
	return 0;
}

static int copy_images(const struct excerpt *x, const struct rec_image *img, const struct rec_start *start,
		       struct err *e)
{
	while (!copy_image(x, img, img->ordinal == timeline_process(x->tl) ? start : NULL, e)) {
		if (img->ordinal != timeline_process(x->tl) && head_logs(x, img, e))
			return -1;
		if (img->head.origin != RLOG_ORIGIN_FORK)
			return 0;
		img = rec_image(x->rec, img->head.parent, e);
		if (!img)
			break;
	}
	return -1;
}

char *excerpt_copy_name(const struct rlog_ref *ref)
{
	char *name = str_fmt("%llx-%llx-%llx-%llx", (unsigned long long)ref->dev, (unsigned long long)ref->ino,
			     (unsigned long long)ref->size, (unsigned long long)ref->mtime_ns);

	if (ref->part)
		str_set(&name, "%s-%llx", name, (unsigned long long)ref->part);
	return name;
}

/* ---- control page and meta.json ---- */

static int write_control(const struct excerpt *x, struct err *e)
{
	cleanup_free char *from = path_join(x->rec->dir, "control"), *to = path_join(x->dir, "control");
	cleanup_buf struct buf b = {0};
	uint64_t limit = x->rec->control.log_limit ? x->rec->control.log_limit : EXCERPT_LOG_LIMIT;

	if (read_file(from, &b, e))
		return -1;
	if (b.len < offsetof(struct rlog_control, log_limit) + sizeof(limit))
		return err_set(
			e, ERR_USAGE,
			"%s: this recording was made by an older recorder: no window can be cut out; record again",
			from);
	memcpy(b.data + offsetof(struct rlog_control, log_limit), &limit, sizeof(limit));
	return write_file(to, b.data, b.len, 0600, e);
}

static int write_meta(const struct excerpt *x, const struct rec_start *start, uint64_t to, struct err *e)
{
	cleanup_free char *path = path_join(x->dir, "meta.json");
	json_auto_t *meta = json_deep_copy(x->rec->meta);

	if (to < timeline_total(x->tl))
		json_object_del(meta, "exit"); /* the end of the program is not in the window */
	json_object_set_new(meta, "window",
			    json_pack("{s:i, s:I, s:I}", "process", (int)timeline_process(x->tl), "from",
				      (json_int_t)start->event, "to", (json_int_t)to));
	json_object_set_new(meta, "complete", json_true());
	json_object_set_new(meta, "manifest", json_array());
	rec_seal_meta(meta);
	return json_write_path(path, meta, 0600, e);
}

int excerpt_seal(const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "meta.json");
	json_auto_t *meta = json_load_path(path, e);
	json_t *list = meta ? rec_make_manifest(dir, e) : NULL;

	if (!list)
		return -1;
	json_object_set_new(meta, "manifest", list);
	rec_seal_meta(meta);
	return json_write_path(path, meta, 0600, e);
}

/* ---- the order of events ---- */

/* Does the timeline of the excerpt have the same events at the same numbers? */
static int has_same_order(const struct excerpt *x, uint64_t to, bool *same, struct err *e)
{
	struct timeline *tl;
	struct rec *cut;
	int r;

	if (rec_open(x->dir, &cut, e))
		return -1;
	r = timeline_build(cut, timeline_process(x->tl), NULL, &tl, e);
	if (!r) {
		*same = timeline_total(tl) == to;
		for (uint64_t n = timeline_base(tl) + 1; *same && !r && n <= to; n++) {
			struct timeline_where a, b;

			r = timeline_find(x->tl, n, &a, e) || timeline_find(tl, n, &b, e) ? -1 : 0;
			*same = !r && a.thread == b.thread && a.offset == b.offset;
		}
		timeline_free(tl);
	}
	rec_free(cut);
	return r;
}

int excerpt_write(const struct rec *rec, struct timeline *tl, const struct rec_start *start, uint64_t *to,
		  const char *dir, struct err *e)
{
	struct excerpt x = {.rec = rec, .tl = tl, .dir = dir};
	const struct rec_image *img = rec_image(rec, timeline_process(tl), e);
	cleanup_free char *files = path_join(dir, "files");
	uint64_t total = timeline_total(tl);
	bool same = false;

	if (!img || mkdir_p(files, 0700, e) || write_control(&x, e) || copy_images(&x, img, start, e) ||
	    copy_files(&x, e))
		return -1;
	for (uint64_t more = 1; !same; more *= 2) {
		if (cut_logs(&x, img, start, *to, e) || write_meta(&x, start, *to, e))
			return -1;
		if (*to == total)
			break;
		if (has_same_order(&x, *to, &same, e))
			return -1;
		if (!same)
			*to = total - *to < more ? total : *to + more;
	}
	return 0;
}
