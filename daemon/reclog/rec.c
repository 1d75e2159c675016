/* SPDX-License-Identifier: MIT */
/* rec.c: see rec.h. */
#include "reclog/rec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/frames.h"
#include "reclog/host.h"
#include "reclog/torn.h"

/* ---- meta.json ---- */

/* The checksum that meta.json has of itself: it is over the values, so white space does not count. */
static void meta_sum(const json_t *meta, char hex[9])
{
	json_auto_t *rest = json_copy((json_t *)meta);
	cleanup_free char *text = NULL;

	json_object_del(rest, "crc32c");
	text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
	snprintf(hex, 9, "%08x", text ? crc32c(0, text, strlen(text)) : 0);
}

void rec_seal_meta(json_t *meta)
{
	char hex[9];

	meta_sum(meta, hex);
	json_object_set_new(meta, "crc32c", json_string(hex));
}

static int meta_check(const json_t *meta, struct err *e)
{
	const char *told = "none";
	char hex[9];

	if (json_opt_str(meta, "crc32c", &told, e))
		return -1;
	meta_sum(meta, hex);
	if (strcmp(hex, told))
		return err_set(e, ERR_USAGE, "damaged: the checksum of its values is %s, not %s", told, hex);
	return 0;
}

static int meta_exit(struct rec *r, struct err *e)
{
	json_t *x = NULL;
	int64_t v = -1;

	if (json_opt_obj(r->meta, "exit", &x, e))
		return -1;
	if (!x)
		return 0;
	if (json_opt_i64(x, "code", &v, e))
		return -1;
	r->end = v >= 0 ? REC_END_CODE : REC_END_UNKNOWN;
	if (r->end == REC_END_UNKNOWN) {
		if (json_opt_i64(x, "signal", &v, e))
			return -1;
		r->end = v > 0 ? REC_END_SIGNAL : REC_END_UNKNOWN;
	}
	r->end_value = r->end == REC_END_UNKNOWN ? 0 : (int)v;
	return 0;
}

static int meta_fields(struct rec *r, struct err *e)
{
	json_t *m = r->meta, *list = NULL;
	int64_t format = 0;

	r->program = r->cwd = r->sched = r->malloc_mode = r->version = "";
	if (!json_is_object(m))
		return err_set(e, ERR_USAGE, "not an object");
	if (json_get_i64(m, "format", &format, e))
		return -1;
	if (reader_version_check("format", format, e))
		return -1;
	if (json_opt_str(m, "version", &r->version, e) || json_opt_str(m, "program", &r->program, e) ||
	    json_opt_str(m, "cwd", &r->cwd, e) || json_opt_str(m, "sched", &r->sched, e) ||
	    json_opt_str(m, "malloc", &r->malloc_mode, e) || json_opt_real(m, "wall_s", &r->wall_s, e) ||
	    json_opt_bool(m, "complete", &r->complete, e) || json_opt_bool(m, "without_data", &r->without_data, e) ||
	    json_opt_arr(m, "manifest", &list, e))
		return -1;
	if (r->complete && !list)
		return err_set(e, ERR_USAGE, "damaged: complete, but without a manifest");
	if ((r->complete || json_object_get(m, "crc32c")) && meta_check(m, e))
		return -1;
	r->cut = json_is_object(json_object_get(m, "window"));
	r->torn = !r->complete && rec_host_rebooted(m);
	return meta_exit(r, e);
}

static int meta_read(struct rec *r, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/meta.json", r->dir);

	if (access(path, F_OK) && errno == ENOENT)
		return err_set(e, ERR_USAGE, "%s: not a recording: there is no meta.json in it", r->dir);
	r->meta = json_load_path(path, e);
	if (!r->meta) {
		e->kind = ERR_USAGE;
		return err_wrap(e, "damaged recording");
	}
	if (meta_fields(r, e))
		return err_wrap(e, "%s", path);
	return 0;
}

/* ---- control page ---- */

static int control_read(struct rec *r, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/control", r->dir);
	cleanup_buf struct buf b = {0};
	struct rlog_control *c = &r->control;

	if (read_file(path, &b, e))
		return err_wrap(e, "damaged recording");
	if (b.len < offsetof(struct rlog_control, log_limit))
		return err_set(e, ERR_USAGE, "%s: truncated at offset %zu: it takes %zu bytes", path, b.len,
			       sizeof(*c));
	memcpy(c, b.data, b.len < sizeof(*c) ? b.len : sizeof(*c));
	if (c->magic != RLOG_MAGIC_CONTROL)
		return err_set(e, ERR_USAGE, "%s: damaged at offset 0: not a control page", path);
	if (reader_version_check(path, c->version, e))
		return -1;
	for (unsigned i = 0; i < RLOG_NOTES; i++)
		c->note[i].text[sizeof(c->note[i].text) - 1] = 0;
	return 0;
}

/* ---- process images ---- */

/* The number in a name like p0001 or t0001.log; 0 if it is another file. */
static uint32_t name_ordinal(const char *name, char prefix, const char *suffix, uint32_t max)
{
	size_t digits = strspn(name + 1, "0123456789");
	cleanup_free char *s = NULL;
	uint64_t v;

	if (name[0] != prefix || digits < 4 || strcmp(name + 1 + digits, suffix))
		return 0;
	s = xstrndup(name + 1, digits);
	return str_u64(s, 10, 1, max, &v) ? 0 : (uint32_t)v;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The ordinals of the entries of a folder, ascending, in a malloc'd array. */
static int list_ordinals(const char *dir, char prefix, const char *suffix, uint32_t max, uint32_t **out, unsigned *n,
			 struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;
	uint32_t v;

	*out = NULL;
	*n = 0;
	if (!d)
		return err_errno(e, errno == ENOENT ? ERR_USAGE : ERR_INTERNAL, "%s", dir);
	while ((de = readdir(d))) {
		if (!(v = name_ordinal(de->d_name, prefix, suffix, max)))
			continue;
		*out = xreallocarray(*out, *n + 1, sizeof(**out));
		(*out)[(*n)++] = v;
	}
	if (*n)
		qsort(*out, *n, sizeof(**out), compare_u32);
	return 0;
}

/*
 * Does a log belong to a thread that has not run? The recorder makes the file first, and writes its head before the
 * thread's first record. (The sizes of a complete recording's files are in its manifest.)
 */
static bool log_is_blank(const char *path, bool complete)
{
	static const struct rlog_head unstarted = {0};
	struct rlog_head head = {0};
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read_full(fd, &head, sizeof(head));

	if (n < 0)
		return false;
	if (n < (ssize_t)sizeof(head))
		return !n || !complete;
	return !memcmp(&head, &unstarted, sizeof(head));
}

static int image_threads(struct rec *r, struct rec_image *img, const char *dir, struct err *e)
{
	unsigned n, kept = 0;

	if (list_ordinals(dir, 't', ".log", RLOG_MAX_THREADS, &img->threads, &n, e))
		return -1;
	for (unsigned i = 0; i < n; i++) {
		cleanup_free char *path = rec_log_path(r, img->ordinal, img->threads[i]);

		if (!log_is_blank(path, r->complete))
			img->threads[kept++] = img->threads[i];
	}
	img->nthreads = kept;
	return 0;
}

/* Does the manifest of a complete recording name this file? */
static bool in_manifest(const struct rec *r, uint32_t ordinal)
{
	cleanup_free char *path = str_fmt("p%04u/image", ordinal);
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(r->meta, "manifest"), i, entry)
	{
		const char *s = json_string_value(json_object_get(entry, "path"));

		if (s && !strcmp(s, path))
			return true;
	}
	return false;
}

/* *gone: no threads remain, even if there still are logs. */
static int read_start(struct rec_image *img, const char *path, bool *gone, struct err *e)
{
	if (rec_start_read(path, &img->start, e))
		return -1;
	*gone = img->start && !img->start->event;
	if (*gone) {
		rec_start_free(img->start);
		img->start = NULL;
	}
	return 0;
}

/*
 * A process that was killed between making its folder and its image leaves no image: it has not run
 * any of the program's code.
 */
static int image_add(struct rec *r, uint32_t ordinal, struct err *e)
{
	cleanup_free char *dir = str_fmt("%s/p%04u", r->dir, ordinal);
	cleanup_free char *path = str_fmt("%s/image", dir), *start = str_fmt("%s/start", dir);
	struct rec_image *img;
	bool gone;
	struct stat st;

	if (ordinal > 1 && (stat(path, &st) ? !in_manifest(r, ordinal) : !st.st_size))
		return 0;
	if (rec_image_read(&r->images[r->nimages], path, ordinal, e))
		return r->torn && ordinal > 1 ? 0 : -1; /* the image was never written to the disk */
	img = &r->images[r->nimages++];
	if (read_start(img, start, &gone, e))
		return -1;
	return gone ? 0 : image_threads(r, img, dir, e);
}

static int images_read(struct rec *r, struct err *e)
{
	cleanup_free uint32_t *ordinals = NULL;
	unsigned n;

	if (list_ordinals(r->dir, 'p', "", RLOG_MAX_PROCESSES, &ordinals, &n, e))
		return -1;
	if (!n)
		return err_set(e, ERR_USAGE, "%s: no process was recorded: the program did not load fred's recorder",
			       r->dir);
	r->images = xcalloc(n, sizeof(*r->images));
	for (unsigned i = 0; i < n; i++)
		if (image_add(r, ordinals[i], e))
			return err_wrap(e, "damaged recording");
	return 0;
}

/* ---- the whole ---- */

int rec_open(const char *dir, struct rec **out, struct err *e)
{
	struct rec *r = xcalloc(1, sizeof(*r));
	struct stat st;

	*out = NULL;
	r->dir = xstrdup(dir);
	if (stat(dir, &st)) {
		err_errno(e, ERR_USAGE, "no such recording: %s", dir);
		goto fail;
	}
	if (!S_ISDIR(st.st_mode)) {
		err_set(e, ERR_USAGE, "%s: not a recording: not a directory", dir);
		goto fail;
	}
	if (meta_read(r, e) || control_read(r, e) || images_read(r, e))
		goto fail;
	*out = r;
	return 0;
fail:
	rec_free(r);
	return -1;
}

void rec_free(struct rec *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->nimages; i++)
		rec_image_fini(&r->images[i]);
	free(r->images);
	json_decref(r->meta);
	free(r->dir);
	free(r);
}

const struct rec_image *rec_image(const struct rec *r, uint32_t ordinal, struct err *e)
{
	for (unsigned i = 0; i < r->nimages; i++)
		if (r->images[i].ordinal == ordinal)
			return &r->images[i];
	err_set(e, ERR_USAGE, "%s: there is no process %u in this recording", r->dir, ordinal);
	return NULL;
}

bool rec_one_order(const struct rec *r, uint32_t process)
{
	struct err ignored;
	const struct rec_image *img = rec_image(r, process, &ignored);

	return r->control.sched != RLOG_SCHED_PARALLEL || (img && img->nthreads == 1);
}

char *rec_log_path(const struct rec *r, uint32_t process, uint32_t thread)
{
	return str_fmt("%s/p%04u/t%04u.log", r->dir, process, thread);
}

bool rec_log_changes(const struct rec *r, const char *path)
{
	cleanup_free char *frames = frames_path(path);

	return !r->complete || r->control.log_limit || !access(frames, F_OK);
}

/* Opens the replay's own copy of the log if there is one, else the log itself. */
static int log_open_where(const struct rec *r, uint32_t process, uint32_t thread, const char *path, struct reader *log,
			  struct err *e)
{
	cleanup_free char *ready = r->logs_dir ? str_fmt("%s/p%04u/t%04u.log", r->logs_dir, process, thread) : NULL;

	if (!ready || access(ready, F_OK))
		return (rec_log_changes(r, path) ? reader_open_whole : reader_open)(log, path, e);
	if (reader_open(log, ready, e))
		return -1;
	free(log->name);
	log->name = xstrdup(path);
	return 0;
}

static int log_open(const struct rec *r, const struct rec_image *img, uint32_t thread, struct reader *log,
		    struct err *e)
{
	cleanup_free char *path = rec_log_path(r, img->ordinal, thread);
	const struct rec_start_thread *start;

	if (log_open_where(r, img->ordinal, thread, path, log, e))
		return -1;
	if (log->head.process != img->ordinal || log->head.thread != thread)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: it is the log of process %u, thread %u", path,
			       offsetof(struct rlog_head, process), log->head.process, log->head.thread);
	if ((start = rec_start_of(img->start, thread))) {
		log->start = start->offset;
		log->start_stamp = start->stamp;
	}
	log->lenient = !r->complete;
	log->pid = img->head.pid;
	return 0;
}

/* Has a bounded recording, which is still being made, been trimmed since it was opened? */
static bool was_cut(const struct rec *r, const struct rec_image *img)
{
	cleanup_free char *path = str_fmt("%s/p%04u/start", r->dir, img->ordinal);
	struct rec_start *now = NULL;
	struct err ignored;
	bool cut;

	if (r->complete || !r->control.log_limit)
		return false;
	cut = rec_start_read(path, &now, &ignored) != 0;
	if (now && !now->event)
		cut = img->nthreads != 0;
	else if (now)
		cut = !img->start || now->event != img->start->event;
	rec_start_free(now);
	return cut;
}

int rec_logs_open(const struct rec *r, const struct rec_image *img, struct reader **out, struct err *e)
{
	struct reader *logs = xcalloc(img->nthreads + 1, sizeof(*logs));

	*out = NULL;
	for (unsigned i = 0; i < img->nthreads; i++) {
		if (log_open(r, img, img->threads[i], &logs[i], e)) {
			rec_logs_free(logs, i + 1);
			return err_wrap(e, "damaged recording");
		}
	}
	if (was_cut(r, img)) {
		rec_logs_free(logs, img->nthreads);
		return err_set(e, ERR_USAGE, "%s: its oldest part was removed while it was read (--max-log): try again",
			       r->dir);
	}
	if (r->torn)
		torn_cut(logs, img->nthreads);
	*out = logs;
	return 0;
}

void rec_logs_free(struct reader *logs, unsigned n)
{
	for (unsigned i = 0; logs && i < n; i++)
		reader_fini(&logs[i]);
	free(logs);
}
