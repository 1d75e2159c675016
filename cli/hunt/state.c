/* SPDX-License-Identifier: MIT */
/* state.c: see state.h. */
#include "hunt/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "hunt/task.h"

#define BEAT_S 10.0
#define MAX_TASKS 100000u

static const char *const folders[] = {"tasks", "journal", "claims", "runs", "failures"};

char *state_path(const struct hunt_state *s, const char *a, const char *b)
{
	return str_fmt("%s/%s%s%s", s->dir, a, b ? "/" : "", b ? b : "");
}

bool state_exists(const char *dir)
{
	cleanup_free char *path = path_join(dir, "hunt.json");

	return path_exists(path);
}

static int init(struct hunt_state *s, const char *dir, struct err *e)
{
	*s = (struct hunt_state){.dir = path_absolute(dir), .lock = -1, .journal = {.fd = -1}};
	return s->dir ? 0 : err_errno(e, ERR_HOST, "%s", dir);
}

int state_open(struct hunt_state *s, const char *dir, json_t **spec, struct err *e)
{
	cleanup_free char *path = NULL;

	*spec = NULL;
	if (init(s, dir, e))
		return -1;
	path = state_path(s, "hunt.json", NULL);
	if (!path_exists(path))
		return err_set(e, ERR_USAGE, "%s: there is no hunt: it has no hunt.json", s->dir);
	*spec = json_load_path(path, e);
	return *spec ? 0 : -1;
}

/* Makes hunt.json; if several tasks start at once, the first one does. */
static int publish_spec(struct hunt_state *s, const json_t *spec, struct err *e)
{
	cleanup_free char *path = state_path(s, "hunt.json", NULL);
	cleanup_free char *temp = str_fmt("%s/.hunt.%d.%llu", s->dir, (int)getpid(), (unsigned long long)clock_ns());
	int r;

	if (json_write_path(temp, spec, 0600, e)) {
		e->kind = ERR_HOST;
		return -1;
	}
	r = link(temp, path) && errno != EEXIST ? err_errno(e, ERR_HOST, "%s", path) : 0;
	unlink(temp);
	return r;
}

static int same_spec(const struct hunt_state *s, const json_t *a, const json_t *b, struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)a, key, v)
	{
		/* without --seed each start gets a new one; the fields of when to stop may be changed */
		if (str_eq(key, "seed") || str_eq(key, "runs") || str_eq(key, "until_failure") ||
		    str_eq(key, "timeout_s") || str_eq(key, "budget_s") || json_equal(v, json_object_get(b, key)))
			continue;
		return err_set(e, ERR_USAGE, "%s is of another hunt: its %s differs; choose another --state", s->dir,
			       key);
	}
	return 0;
}

int state_create(struct hunt_state *s, const char *dir, const json_t *spec, struct err *e)
{
	json_auto_t *there = NULL;
	cleanup_free char *path = NULL;

	if (init(s, dir, e))
		return -1;
	if (mkdir_p(s->dir, 0700, e))
		goto host;
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		cleanup_free char *folder = state_path(s, folders[i], NULL);

		if (mkdir_p(folder, 0700, e))
			goto host;
	}
	if (publish_spec(s, spec, e))
		return -1;
	path = state_path(s, "hunt.json", NULL);
	there = json_load_path(path, e);
	return there ? same_spec(s, spec, there, e) : -1;
host:
	e->kind = ERR_HOST;
	return -1;
}

void state_fini(struct hunt_state *s)
{
	journal_close(&s->journal);
	if (s->lock >= 0)
		close(s->lock);
	free(s->dir);
	free(s->task);
	*s = (struct hunt_state){.lock = -1, .journal = {.fd = -1}};
}

/* ---- tasks ---- */

static char *task_path(const struct hunt_state *s, const char *task)
{
	cleanup_free char *name = str_fmt("%s.json", task);

	return state_path(s, "tasks", name);
}

static int take_name(struct hunt_state *s, struct err *e)
{
	json_auto_t *self = task_self();
	cleanup_free char *text = json_dumps(self, JSON_COMPACT);

	for (unsigned n = 1; n < MAX_TASKS; n++) {
		cleanup_free char *name = str_fmt("t%04u", n), *path = task_path(s, name);
		cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0 || !task_lock(fd) || write_full(fd, text, strlen(text)))
			return err_errno(e, ERR_HOST, "%s", path);
		s->task = steal_ptr(&name);
		s->lock = steal_fd(&fd);
		return 0;
	}
	return err_set(e, ERR_HOST, "%s/tasks: too many tasks", s->dir);
}

/*
 * Ends the processes of runs that dead tasks of this machine had begun, and removes their folders. Runs of other
 * machines are left to their tasks.
 */
static void clean_runs(struct hunt_state *s)
{
	cleanup_free char *runs = state_path(s, "runs", NULL);
	cleanup_closedir DIR *d = opendir(runs);
	struct dirent *de;
	struct err ignored;

	while (d && (de = readdir(d))) {
		cleanup_free char *task = xstrndup(de->d_name, strcspn(de->d_name, "."));
		cleanup_free char *path = path_join(runs, de->d_name), *about = task_path(s, task), *within = NULL;

		if (de->d_name[0] == '.' || str_eq(task, s->task) || task_lives(about, s->dir))
			continue;
		within = str_fmt("%s/", path);
		task_end_recording(within);
		rm_rf(path, &ignored);
	}
}

int state_join(struct hunt_state *s, struct err *e)
{
	cleanup_free char *name = NULL, *path = NULL;

	if (take_name(s, e))
		return -1;
	name = str_fmt("%s.jsonl", s->task);
	path = state_path(s, "journal", name);
	if (journal_create(&s->journal, path, e))
		return -1;
	s->beat_s = clock_s();
	clean_runs(s);
	return 0;
}

void state_beat(struct hunt_state *s)
{
	cleanup_free char *path = NULL;

	if (clock_s() - s->beat_s < BEAT_S)
		return;
	s->beat_s = clock_s();
	path = task_path(s, s->task);
	/* if this fails, other tasks may take this one for dead and repeat its runs, which does no harm */
	utimensat(AT_FDCWD, path, NULL, 0);
}

/* ---- claims ---- */

static char *claim_path(const struct hunt_state *s, const char *what, unsigned n)
{
	cleanup_free char *name = str_fmt("%s.%u", what, n);

	return state_path(s, "claims", name);
}

/*
 * Does the owner of a claim live? If the file is empty, its owner may be about to write his name; if that is not so
 * within a minute, he died before.
 */
static bool owner_lives(const struct hunt_state *s, const char *path)
{
	cleanup_buf struct buf b = {0};
	cleanup_free char *about = NULL;
	struct err ignored;

	if (read_file(path, &b, &ignored))
		return false;
	if (!b.len)
		return task_file_is_fresh(path, s->dir);
	if (str_eq(buf_str(&b), s->task))
		return true;
	about = task_path(s, buf_str(&b));
	return task_lives(about, s->dir);
}

int state_claim(struct hunt_state *s, const char *what, struct err *e)
{
	unsigned n = 0;

	for (;;) {
		cleanup_free char *path = claim_path(s, what, n), *next = claim_path(s, what, n + 1);
		cleanup_close int fd = -1;

		if (path_exists(next)) {
			n++;
			continue;
		}
		if (path_exists(path) && owner_lives(s, path))
			return 0;
		/*
		 * there is no claim yet, or the owner of the last one is dead: this task makes the next one, unless
		 * another task is faster
		 */
		fd = open(path_exists(path) ? next : path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0 || write_full(fd, s->task, strlen(s->task)))
			return err_errno(e, ERR_HOST, "%s", path);
		return 1;
	}
}

void state_release(struct hunt_state *s, const char *what)
{
	unsigned n = 0;

	for (;; n++) {
		cleanup_free char *path = claim_path(s, what, n);

		if (!path_exists(path))
			break;
	}
	while (n--) {
		cleanup_free char *path = claim_path(s, what, n);

		unlink(path);
	}
}
