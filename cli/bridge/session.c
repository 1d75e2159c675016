/* SPDX-License-Identifier: MIT */
/* session.c: see session.h. */
#include "bridge/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/out.h"

#define VERSION 1
#define KEPT_MAX 50u /* disposable sessions; when a new one begins, older ones are removed */

/* ---- the lock ---- */

/* The process that runs the session; 0: none. It does not see locks of this process itself. */
static pid_t runner(const char *dir)
{
	cleanup_free char *path = path_join(dir, "lock");
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock l = {.l_type = F_WRLCK};

	return fd >= 0 && !fcntl(fd, F_GETLK, &l) && l.l_type != F_UNLCK ? l.l_pid : 0;
}

static int lock(struct session *s, struct err *e)
{
	cleanup_free char *path = path_join(s->dir, "lock");
	struct flock l = {.l_type = F_WRLCK};

	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (!fcntl(s->lock, F_SETLK, &l))
		return 0;
	if (errno != EACCES && errno != EAGAIN)
		return err_errno(e, ERR_HOST, "%s", path);
	return err_set(e, ERR_USAGE, "session %s is running (PID %d): end it, or use fredctl repl %s", s->id,
		       (int)runner(s->dir), s->id);
}

/* ---- one ---- */

static void named(struct session *s, const char *dir)
{
	*s = (struct session){.id = xstrdup(path_base(dir)), .dir = xstrdup(dir), .lock = -1};
	s->state = path_join(s->dir, "gdb.json");
}

void session_fini(struct session *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->id);
	free(s->dir);
	free(s->state);
	*s = (struct session){.lock = -1};
}

void session_discard(struct session *s)
{
	struct err ignored;

	rm_rf(s->dir, &ignored);
}

static json_t *now_text(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	return json_string(text);
}

static uint64_t number_of(const char *id)
{
	uint64_t n;

	return str_u64(id, 10, 1, 1u << 30, &n) ? 0 : n;
}

/* Is it disposable: not running, and without bookmarks and checkpoints? */
static bool is_disposable(const struct session_info *s)
{
	return !s->pid && !s->bookmarks && !s->checkpoints;
}

static void remove_oldest(void)
{
	struct session_infos all;
	struct err ignored;
	size_t disposable = 0;

	if (session_list(&all, &ignored))
		return;
	for (size_t i = 0; i < all.n; i++)
		disposable += is_disposable(&all.v[i]);
	for (size_t i = 0; i < all.n && disposable > KEPT_MAX; i++) {
		if (!is_disposable(&all.v[i]))
			continue;
		session_remove(all.v[i].id, &ignored);
		disposable--;
	}
	session_infos_fini(&all);
}

static int make_numbered(struct session *s, const char *all, struct err *e)
{
	cleanup_closedir DIR *d = opendir(all);
	uint64_t n = 0;
	struct dirent *de;

	while (d && (de = readdir(d)))
		n = number_of(de->d_name) > n ? number_of(de->d_name) : n;
	for (;;) {
		cleanup_free char *dir = str_fmt("%s/%llu", all, (unsigned long long)++n);

		session_fini(s);
		named(s, dir);
		if (!mkdir(s->dir, 0700))
			return 0;
		if (errno != EEXIST) /* EEXIST: another process was quicker */
			return err_errno(e, ERR_HOST, "%s", s->dir);
	}
}

int session_new(struct session *s, const json_t *params, struct err *e)
{
	cleanup_free char *all = home_subdir("sessions", e), *path = NULL;
	json_auto_t *about = NULL;

	*s = (struct session){.lock = -1};
	if (!all)
		return -1;
	remove_oldest();
	if (make_numbered(s, all, e) || lock(s, e))
		return -1;
	about = json_pack("{s:i, s:O, s:o, s:O*}", "version", VERSION, "recording", json_object_get(params, "rec"),
			  "created", now_text(), "process", json_object_get(params, "process"));
	path = path_join(s->dir, "session.json");
	return json_write_path(path, about, 0600, e);
}

/* The params of the method `debug` for this session. */
static json_t *read_params(const struct session *s, struct err *e)
{
	cleanup_free char *path = path_join(s->dir, "session.json");
	json_auto_t *about = json_load_path(path, e);
	int64_t version;

	if (!about || json_get_i64(about, "version", &version, e))
		return NULL;
	if (version != VERSION) {
		err_set(e, ERR_USAGE, "%s: version %lld, this fredctl knows %d", path, (long long)version, VERSION);
		return NULL;
	}
	return json_pack("{s:O, s:O*}", "rec", json_object_get(about, "recording"), "process",
			 json_object_get(about, "process"));
}

int session_resume(struct session *s, const char *id, json_t **params, struct err *e)
{
	cleanup_session_info struct session_info one = {0};

	*s = (struct session){.lock = -1};
	*params = NULL;
	if (session_find(id, false, &one, e))
		return -1;
	named(s, one.dir);
	if (lock(s, e))
		return -1;
	*params = read_params(s, e);
	return *params ? 0 : -1;
}

/* ---- all ---- */

static time_t last_used(const char *dir)
{
	static const char *const files[] = {"session.json", "position", "program.json", "gdb.json"};
	time_t last = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cleanup_free char *path = path_join(dir, files[i]);
		struct stat st;

		if (!stat(path, &st) && st.st_mtim.tv_sec > last)
			last = st.st_mtim.tv_sec;
	}
	return last;
}

static size_t count_places(const json_t *program, const char *key)
{
	return json_array_size(json_object_get(json_object_get(program, key), "places"));
}

static json_t *load(const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);
	struct err ignored;

	return path_exists(path) ? json_load_path(path, &ignored) : NULL;
}

/* -1: there is no session in this folder. */
static int read_info(char *dir, struct session_info *s)
{
	*s = (struct session_info){.dir = dir, .id = path_base(dir), .about = load(dir, "session.json")};
	if (!s->about) {
		session_info_fini(s);
		return -1;
	}
	s->program = load(dir, "program.json");
	s->recording = out_str(s->about, "recording", "");
	s->pid = runner(dir);
	s->used = last_used(dir);
	s->bookmarks = count_places(s->program, "bookmarks");
	s->checkpoints = count_places(s->program, "checkpoints");
	return 0;
}

void session_info_fini(struct session_info *s)
{
	free(s->dir);
	json_decref(s->about);
	json_decref(s->program);
	*s = (struct session_info){0};
}

json_t *session_info_json(const struct session_info *s)
{
	static const char *const of_program[] = {"event", "events_total", "pc", "tid", "commands"};
	json_t *o = json_pack("{s:s, s:O*, s:O*, s:s, s:o, s:O*, s:I, s:I, s:I}", "id", s->id, "recording",
			      json_object_get(s->about, "recording"), "process", json_object_get(s->about, "process"),
			      "state", s->pid ? "running" : "saved", "pid", s->pid ? json_integer(s->pid) : json_null(),
			      "created", json_object_get(s->about, "created"), "used", (json_int_t)s->used, "bookmarks",
			      (json_int_t)s->bookmarks, "checkpoints", (json_int_t)s->checkpoints);

	for (size_t i = 0; i < sizeof(of_program) / sizeof(of_program[0]); i++)
		if (json_object_get(s->program, of_program[i]))
			json_object_set(o, of_program[i], json_object_get(s->program, of_program[i]));
	return o;
}

/* By the time of the last use, then by number. */
static int compare(const void *va, const void *vb)
{
	const struct session_info *a = va, *b = vb;
	uint64_t na = number_of(a->id), nb = number_of(b->id);

	if (a->used != b->used)
		return a->used < b->used ? -1 : 1;
	return (na > nb) - (na < nb);
}

int session_list(struct session_infos *out, struct err *e)
{
	cleanup_free char *all = home_subdir("sessions", e);
	cleanup_closedir DIR *d = all ? opendir(all) : NULL;
	struct dirent *de;

	*out = (struct session_infos){0};
	if (!d)
		return all ? err_errno(e, ERR_HOST, "%s", all) : -1;
	while ((de = readdir(d))) {
		struct session_info s;

		if (de->d_name[0] == '.' || read_info(path_join(all, de->d_name), &s))
			continue;
		out->v = xreallocarray(out->v, out->n + 1, sizeof(s));
		out->v[out->n++] = s;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(out->v[0]), compare);
	return 0;
}

void session_infos_fini(struct session_infos *all)
{
	for (size_t i = 0; i < all->n; i++)
		session_info_fini(&all->v[i]);
	free(all->v);
	*all = (struct session_infos){0};
}

static bool is_wanted(const struct session_info *s, const char *id, bool running)
{
	return (s->pid || !running) && (!id || str_eq(id, "latest") || str_eq(id, s->id));
}

int session_find(const char *id, bool running, struct session_info *out, struct err *e)
{
	const char *that = running ? " that runs" : "";
	struct session_infos all;
	bool found = false;

	if (session_list(&all, e))
		return -1;
	for (size_t i = all.n; i-- > 0 && !found;) {
		found = is_wanted(&all.v[i], id, running);
		if (found) {
			*out = all.v[i];
			all.v[i] = (struct session_info){0};
		}
	}
	session_infos_fini(&all);
	if (found)
		return 0;
	return id ? err_set(e, ERR_USAGE, "there is no session '%s'%s (fredctl sessions)", id, that)
		  : err_set(e, ERR_USAGE, "there is no session%s: fredctl debug starts one", that);
}

/* Removes a checkpoint; renames it first, as the daemon does (daemon/ckpt/store.h). */
static void remove_image(const char *store, json_int_t image)
{
	cleanup_free char *path = str_fmt("%s/%lld", store, (long long)image);
	cleanup_free char *gone = str_fmt("%s/tmp.gone%lld", store, (long long)image);
	struct err ignored;

	if (!rename(path, gone))
		rm_rf(gone, &ignored);
}

/* The checkpoints in the recording that belong to this session alone. */
static void remove_images(const struct session_info *s)
{
	cleanup_free char *store = path_join(s->recording, "checkpoints");
	json_t *place;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(s->program, "checkpoints"), "places"), i,
			   place) if (out_int(place, "image")) remove_image(store, out_int(place, "image"));
}

int session_remove(const char *id, struct err *e)
{
	cleanup_session_info struct session_info one = {0};

	if (session_find(id, false, &one, e))
		return -1;
	if (one.pid)
		return err_set(e, ERR_USAGE, "session %s is running (PID %d)", id, (int)one.pid);
	remove_images(&one);
	return rm_rf(one.dir, e);
}
