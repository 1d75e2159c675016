/* SPDX-License-Identifier: MIT */
/* task.c: see task.h. */
#include "hunt/task.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"

#define FRESH_S 60
#define BELOW_MOST 65536u /* processes */

/* ---- who lives ---- */

static json_t *first_line(const char *path)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;

	if (read_file(path, &b, &ignored))
		return json_string("?");
	return json_text(buf_str(&b), strcspn(buf_str(&b), "\n"));
}

json_t *task_self(void)
{
	char host[256] = "?";

	gethostname(host, sizeof(host) - 1);
	return json_pack("{s:o, s:o, s:i}", "host", json_text(host, strlen(host)), "boot",
			 first_line("/proc/sys/kernel/random/boot_id"), "pid", (int)getpid());
}

/* The lock is the process's own (fcntl(2)): a child does not inherit it. */
bool task_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &lock) == 0;
}

static bool is_locked(const char *path)
{
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

bool task_file_is_fresh(const char *path, const char *dir)
{
	cleanup_free char *probe = str_fmt("%s/.clock.%d", dir, (int)getpid());
	struct stat st, now;
	bool known;
	int fd;

	if (stat(path, &st))
		return false;
	fd = open(probe, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	known = fd >= 0 && !fstat(fd, &now);
	if (fd >= 0)
		close(fd);
	unlink(probe);
	return !known || now.st_mtime - st.st_mtime < FRESH_S;
}

bool task_lives(const char *path, const char *dir)
{
	struct err ignored;
	json_auto_t *self = task_self(), *v = json_load_path(path, &ignored);

	if (v && json_equal(json_object_get(self, "boot"), json_object_get(v, "boot")))
		return is_locked(path);
	return task_file_is_fresh(path, dir); /* the writer is on another machine, or the file is about to be written */
}

/* ---- processes left behind ---- */

static bool has_word(pid_t pid, const char *file, const char *word)
{
	cleanup_free char *path = str_fmt("/proc/%d/%s", (int)pid, file);
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return !read_file(path, &b, &ignored) && b.len && memmem(b.data, b.len, word, strlen(word));
}

/* The process that $FRED_HOME/fredd.lock names. 0: none. */
static pid_t daemon_pid(void)
{
	struct err ignored;
	cleanup_free char *home = home_dir(&ignored), *path = home ? path_join(home, "fredd.lock") : NULL;
	cleanup_buf struct buf b = {0};
	cleanup_free char *line = NULL;
	uint64_t pid;

	if (!path || read_file(path, &b, &ignored))
		return 0;
	line = xstrndup(buf_str(&b), strcspn(buf_str(&b), "\n"));
	return str_u64(line, 10, 1, INT32_MAX, &pid) ? 0 : (pid_t)pid;
}

/* Is it a daemon of fred's, or one of its workers? */
static bool is_any_daemon(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/exe", (int)pid);
	char exe[PATH_MAX];
	ssize_t n = readlink(path, exe, sizeof(exe) - 1);

	if (n < 0)
		return false;
	exe[n] = '\0';
	return (str_eq(path_base(exe), "fredd") || str_eq(path_base(exe), "fredd (deleted)")) &&
	       has_word(pid, "cmdline", "--ready-fd");
}

/*
 * Is it the daemon of our $FRED_HOME? A search may have started it, but it serves all commands of the user. The PID in
 * the file is not enough: that daemon may have ended, and another process may have its PID now.
 */
static bool is_daemon(pid_t pid)
{
	return is_any_daemon(pid) && pid == daemon_pid();
}

/* The parent and the state of a process; false: there is no such process. */
static bool stat_of(pid_t pid, int *parent, char *state)
{
	cleanup_free char *path = str_fmt("/proc/%d/stat", (int)pid);
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;

	if (read_file(path, &b, &ignored) || !(p = strrchr(buf_str(&b), ')')))
		return false;
	return sscanf(p, ") %c %d", state, parent) == 2;
}

/* Calls `what` for each process of this PID namespace except this one. */
static void each_process(void (*what)(pid_t pid, void *arg), void *arg)
{
	cleanup_closedir DIR *d = opendir("/proc");
	struct dirent *de;
	uint64_t pid;

	while (d && (de = readdir(d)))
		if (!str_u64(de->d_name, 10, 1, INT32_MAX, &pid) && (pid_t)pid != getpid())
			what((pid_t)pid, arg);
}

struct recorders {
	const char *word; /* in their paths */
	unsigned n;
};

/*
 * A daemon that a --fail-if command has started has inherited the command's environment, but serves other commands,
 * too.
 */
static void end_recorder(pid_t pid, void *recorders)
{
	struct recorders *r = recorders;

	if ((has_word(pid, "environ", r->word) && !is_any_daemon(pid)) || has_word(pid, "maps", r->word)) {
		kill(pid, SIGKILL);
		r->n++;
	}
}

unsigned task_end_recording(const char *begin)
{
	struct recorders r = {.word = begin};

	each_process(end_recorder, &r);
	return r.n;
}

struct task_table {
	struct {
		pid_t pid, parent;
		bool below;
	} v[BELOW_MOST];
	unsigned n;
};

static void add_process(pid_t pid, void *arg)
{
	struct task_table *t = arg;
	int parent;
	char state;

	if (t->n < BELOW_MOST && stat_of(pid, &parent, &state) && state != 'Z') {
		t->v[t->n].pid = pid;
		t->v[t->n].parent = (pid_t)parent;
		t->v[t->n++].below = false;
	}
}

/* sig 0: they are only counted. */
static unsigned signal_below(pid_t top, int sig)
{
	cleanup_free struct task_table *t = xcalloc(1, sizeof(*t));
	unsigned found = 0;
	bool more = true;

	each_process(add_process, t);
	while (more) {
		more = false;
		for (unsigned i = 0; i < t->n; i++) {
			bool below = t->v[i].parent == top;

			for (unsigned k = 0; k < t->n && !below; k++)
				below = t->v[k].below && t->v[k].pid == t->v[i].parent;
			if (below && !t->v[i].below && !is_daemon(t->v[i].pid)) {
				t->v[i].below = more = true;
				found++;
				kill(t->v[i].pid, sig);
			}
		}
	}
	return found;
}

unsigned task_end_below(pid_t top)
{
	return signal_below(top, SIGKILL);
}

unsigned task_count_below(pid_t top)
{
	return signal_below(top, 0);
}
