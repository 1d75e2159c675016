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
#define KEPT_MAX 50u /* of those that do not run and hold no bookmark or checkpoint; older ones go when a new one begins */

char *session_folder(struct err *e)
{
	return home_subdir("sessions", e);
}

/* ---- the lock ---- */

/* Who runs it; 0: nobody. Not for the one that this process runs. */
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

static void named(struct session *s, const char *all, const char *id)
{
	*s = (struct session){.id = xstrdup(id), .dir = path_join(all, id), .lock = -1};
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

/* Nobody has named anything in it. */
static bool is_nothing_special(const json_t *v)
{
	return str_eq(out_str(v, "state", ""), "saved") && !out_int(v, "bookmarks") && !out_int(v, "checkpoints");
}

/* The oldest of too many. */
static void thin(struct err *e)
{
	json_auto_t *all = session_list(e);
	size_t saved = 0, i;
	json_t *v;

	json_array_foreach(all, i, v)
		saved += is_nothing_special(v);
	json_array_foreach(all, i, v) {
		if (saved <= KEPT_MAX)
			return;
		if (!is_nothing_special(v))
			continue;
		session_remove(out_str(v, "id", ""), e);
		saved--;
	}
}

static int make_numbered(struct session *s, const char *all, struct err *e)
{
	cleanup_closedir DIR *d = opendir(all);
	uint64_t n = 0;
	struct dirent *de;

	while (d && (de = readdir(d)))
		n = number_of(de->d_name) > n ? number_of(de->d_name) : n;
	for (;;) {
		cleanup_free char *id = str_fmt("%llu", (unsigned long long)++n);

		session_fini(s);
		named(s, all, id);
		if (!mkdir(s->dir, 0700))
			return 0;
		if (errno != EEXIST) /* else another one was quicker */
			return err_errno(e, ERR_HOST, "%s", s->dir);
	}
}

int session_new(struct session *s, const json_t *params, struct err *e)
{
	cleanup_free char *all = session_folder(e), *path = NULL;
	json_auto_t *about = NULL;
	struct err ignored;

	*s = (struct session){.lock = -1};
	if (!all)
		return -1;
	thin(&ignored);
	if (make_numbered(s, all, e) || lock(s, e))
		return -1;
	about = json_pack("{s:i, s:O, s:o, s:O*}", "version", VERSION, "recording", json_object_get(params, "rec"), "created",
			  now_text(), "process", json_object_get(params, "process"));
	path = path_join(s->dir, "session.json");
	return json_write_path(path, about, 0600, e);
}

/* What `debug` is told of it. */
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
	cleanup_free char *all = session_folder(e);
	json_auto_t *one = all ? session_find(id, 0, e) : NULL;

	*s = (struct session){.lock = -1};
	*params = NULL;
	if (!one)
		return -1;
	named(s, all, out_str(one, "id", ""));
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

/* NULL: there is no session there. */
static json_t *describe(const char *all, const char *id)
{
	cleanup_free char *dir = path_join(all, id), *about_path = path_join(dir, "session.json");
	cleanup_free char *program_path = path_join(dir, "program.json");
	struct err ignored;
	json_auto_t *about = path_exists(about_path) ? json_load_path(about_path, &ignored) : NULL;
	json_auto_t *program = path_exists(program_path) ? json_load_path(program_path, &ignored) : NULL;
	static const char *const of_program[] = {"event", "events_total", "pc", "tid", "commands"};
	pid_t pid = runner(dir);
	json_t *o;

	if (!about)
		return NULL;
	o = json_pack("{s:s, s:O*, s:O*, s:s, s:o, s:O*, s:I, s:I, s:I}", "id", id, "recording",
		      json_object_get(about, "recording"), "process", json_object_get(about, "process"), "state",
		      pid ? "running" : "saved", "pid", pid ? json_integer(pid) : json_null(), "created",
		      json_object_get(about, "created"), "used", (json_int_t)last_used(dir), "bookmarks",
		      (json_int_t)count_places(program, "bookmarks"), "checkpoints",
		      (json_int_t)count_places(program, "checkpoints"));
	for (size_t i = 0; i < sizeof(of_program) / sizeof(of_program[0]); i++)
		if (json_object_get(program, of_program[i]))
			json_object_set(o, of_program[i], json_object_get(program, of_program[i]));
	return o;
}

/* By when it was used last, then by number. */
static int is_later(const json_t *a, const json_t *b)
{
	json_int_t ta = out_int(a, "used"), tb = out_int(b, "used");

	return ta != tb ? ta > tb : number_of(out_str(a, "id", "")) > number_of(out_str(b, "id", ""));
}

json_t *session_list(struct err *e)
{
	cleanup_free char *all = session_folder(e);
	cleanup_closedir DIR *d = all ? opendir(all) : NULL;
	struct dirent *de;
	json_t *list;

	if (!d) {
		if (all)
			err_errno(e, ERR_HOST, "%s", all);
		return NULL;
	}
	list = json_array();
	while ((de = readdir(d))) {
		json_t *o = de->d_name[0] == '.' ? NULL : describe(all, de->d_name);
		size_t at = json_array_size(list);

		if (!o)
			continue;
		while (at && is_later(json_array_get(list, at - 1), o))
			at--;
		json_array_insert_new(list, at, o);
	}
	return list;
}

static int is_wanted(const json_t *v, const char *id, int running)
{
	if (running && !str_eq(out_str(v, "state", ""), "running"))
		return 0;
	return !id || str_eq(id, "latest") || str_eq(id, out_str(v, "id", ""));
}

json_t *session_find(const char *id, int running, struct err *e)
{
	json_auto_t *all = session_list(e);

	for (size_t i = json_array_size(all); i-- > 0;)
		if (is_wanted(json_array_get(all, i), id, running))
			return json_incref(json_array_get(all, i));
	if (all && id)
		err_set(e, ERR_USAGE, "there is no session '%s'%s (fredctl sessions)", id, running ? " that runs" : "");
	else if (all)
		err_set(e, ERR_USAGE, "there is no session%s: fredctl debug begins one", running ? " that runs" : "");
	return NULL;
}

/* A checkpoint appears and goes by one rename (daemon/ckpt/store.h). */
static void remove_image(const char *store, json_int_t image)
{
	cleanup_free char *path = str_fmt("%s/%lld", store, (long long)image);
	cleanup_free char *gone = str_fmt("%s/tmp.gone%lld", store, (long long)image);
	struct err ignored;

	if (!rename(path, gone))
		rm_rf(gone, &ignored);
}

/* Those that are kept in the recording for this session alone. */
static void remove_images(const char *dir, const char *rec)
{
	cleanup_free char *path = path_join(dir, "program.json"), *store = path_join(rec, "checkpoints");
	struct err ignored;
	json_auto_t *program = path_exists(path) ? json_load_path(path, &ignored) : NULL;
	json_t *place;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(program, "checkpoints"), "places"), i, place)
		if (out_int(place, "image"))
			remove_image(store, out_int(place, "image"));
}

int session_remove(const char *id, struct err *e)
{
	json_auto_t *one = session_find(id, 0, e);
	cleanup_free char *all = one ? session_folder(e) : NULL;
	cleanup_free char *dir = all ? path_join(all, id) : NULL;

	if (!dir)
		return -1;
	if (str_eq(out_str(one, "state", ""), "running"))
		return err_set(e, ERR_USAGE, "session %s is running (PID %lld)", id, (long long)out_int(one, "pid"));
	remove_images(dir, out_str(one, "recording", ""));
	return rm_rf(dir, e);
}
