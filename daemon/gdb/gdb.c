/* SPDX-License-Identifier: MIT */
/* gdb.c: GDB's life: start, settings, attach, detach, threads, and the commands below everything else. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/str.h"
#include "gdb/gdb.h"
#include "gdb/gdb_int.h"
#include "gdb/mi_quote.h"

#define NO_DEBUG_FILES "/nonexistent"
/* the most bytes in the cache of symbol indexes; if it is larger, it is emptied */
#define MOST_INDEXES (256ull << 20)

struct gdb {
	struct mi_conn *conn;
	int timeout_ms;
	char *debug_dir; /* the folders that this GDB was built with */
	bool debug_read; /* the debug files of the target's libraries were read */
	pid_t target;
	bool has_sysroot; /* the last target had another root */
	char *library_dirs; /* the folders as GDB was last told; NULL: never */
	bool target_was_stopped; /* in a job-control stop when attached */
	struct gdb_thread *threads; /* as last listed */
	size_t threads_n;
	unsigned detached; /* how many times */
	struct strv kept; /* libraries whose symbols stay read */
};

/* Sent once, in this order. A setting that this GDB does not know is skipped: none is vital. */
static const char *const settings[] = {
	"confirm off",
	"pagination off",
	"width 0",
	"height 0",
	"style enabled off",
	"history save off",
	"startup-with-shell off",
	"print thread-events off",
	"print inferior-events off",
	"print frame-arguments scalars",
	"print elements 200",
	"print repeats 10",
	"print static-members off",
	"backtrace past-main off",
	"unwindonsignal on",
	"unwind-on-terminating-exception on",
	"max-value-size 1048576",
	"breakpoint pending on",
	"detach-on-fork on",
	"follow-fork-mode parent",
	"stop-on-solib-events 0",
	"debuginfod enabled off",
};

int gdb_cmd(struct gdb *g, int timeout_ms, struct mi_reply *r, struct err *e, const char *fmt, ...)
{
	cleanup_free char *cmd = NULL;
	va_list ap;

	va_start(ap, fmt);
	cmd = str_vfmt(fmt, ap);
	va_end(ap);
	return mi_conn_cmd(g->conn, cmd, timeout_ms ? timeout_ms : g->timeout_ms, r, e);
}

int gdb_must(int r, const struct mi_reply *reply, enum err_kind kind, struct err *e)
{
	if (r <= 0)
		return r;
	gdb_refusal(mi_reply_error(reply), e);
	if (e)
		e->kind = kind;
	return err_wrap(e, "GDB");
}

static int set_debug_dir(struct gdb *g, const char *dir, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};

	return gdb_must(gdb_cmd(g, 0, &r, e, "-gdb-set debug-file-directory %s", dir), &r, ERR_INTERNAL, e);
}

static int keep_debug_dir(struct gdb *g, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const char *dir;

	if (gdb_must(gdb_cmd(g, 0, &r, e, "-gdb-show debug-file-directory"), &r, ERR_INTERNAL, e))
		return -1;
	dir = mi_str(r.result->results, "value");
	g->debug_dir = xstrdup(dir ? dir : "");
	return gdb_debug_files(g, false, e);
}

/*
 * GDB's cache of symbol indexes is used while the libraries are read: so the next GDB need not index them again, which
 * for libc alone takes as long as the rest of GDB's start. The program's own index is not kept, since each build would
 * leave one. Without a folder, or with a GDB that has no such cache, nothing changes; two GDBs may use it at a time.
 * GDB finds an index only by its build ID, which a library in a recording from elsewhere may share with another
 * library: so only the host's own libraries are indexed.
 */
static void use_index_cache(struct gdb *g, bool on)
{
	struct err ignored;
	cleanup_free char *dir = on && !g->has_sysroot ? home_subdir("gdb-index", &ignored) : NULL, *set = NULL;

	if (dir && path_disk_usage(dir) > MOST_INDEXES && (rm_rf(dir, &ignored) || mkdir(dir, 0700)))
		return;
	if (dir) {
		set = str_fmt("set index-cache directory %s", dir);
		gdb_console(g, set, NULL, &ignored);
	}
	gdb_console(g, dir ? "set index-cache enabled on" : "set index-cache enabled off", NULL, &ignored);
}

int gdb_debug_files(struct gdb *g, bool on, struct err *e)
{
	int r;

	if (set_debug_dir(g, on ? g->debug_dir : NO_DEBUG_FILES, e))
		return -1;
	if (!on || !g->target || g->debug_read)
		return 0;
	g->debug_read = true;
	use_index_cache(g, true);
	r = gdb_console(g, "nosharedlibrary", NULL, e) || gdb_console(g, "sharedlibrary", NULL, e);
	use_index_cache(g, false);
	return r ? err_wrap(e, "reading the debug files of libraries") : 0;
}

static int send_settings(struct gdb *g, struct err *e)
{
	if (keep_debug_dir(g, e))
		return -1;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		cleanup_mi_reply struct mi_reply r = {0};

		if (gdb_cmd(g, 0, &r, e, "-gdb-set %s", settings[i]) < 0)
			return -1;
	}
	/* GDB 13 has an internal error when it compares __int128: with this setting it only ends the command */
	if (gdb_console(g, "maintenance set internal-error quit no", NULL, e) ||
	    gdb_console(g, "maintenance set internal-error corefile no", NULL, e))
		return -1;
	/* The shim's traps are part of how a recorded program works, not news for the user. */
	if (gdb_console(g, "handle SIGSYS nostop noprint pass", NULL, e))
		return -1;
	/* Stop signals are how a process is kept still that GDB attaches to: none of a call's business. */
	return gdb_console(g, "handle SIGSTOP SIGCONT nostop noprint nopass", NULL, e);
}

/*
 * What must hold before GDB reads its first file. libthread_db stays on, for thread-local variables:
 * only scripts are left out.
 */
static void build_argv(struct strv *v, const struct gdb_opts *o)
{
	static const char *const scripts[] = {"gdb-scripts", "python-scripts", "guile-scripts", "local-gdbinit"};

	strv_add(v, o->program ? o->program : "gdb");
	strv_add(v, "--interpreter=mi3");
	strv_add(v, "-nx");
	strv_add(v, "-q");
	strv_add(v, "-iex");
	strv_add(v, "set debuginfod enabled off");
	for (size_t i = 0; !o->auto_load && i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		strv_add(v, "-iex");
		strv_addf(v, "set auto-load %s off", scripts[i]);
	}
}

const struct gdb_opts gdb_with_scripts = {.auto_load = true};

struct gdb *gdb_new(const struct gdb_opts *opts, struct err *e)
{
	static const struct gdb_opts none;
	cleanup_strv struct strv argv = {0};
	cleanup_gdb struct gdb *g = xcalloc(1, sizeof(*g));

	if (!opts)
		opts = &none;
	g->timeout_ms = opts->timeout_ms ? opts->timeout_ms : GDB_DEFAULT_TIMEOUT_MS;
	build_argv(&argv, opts);
	g->conn = mi_conn_new(argv.s, g->timeout_ms, e);
	if (!g->conn || send_settings(g, e))
		return NULL;
	return steal_ptr(&g);
}

void gdb_free(struct gdb *g)
{
	struct err ignored;

	if (!g)
		return;
	g->detached = 0; /* from here on nothing that is kept is of use */
	if (g->conn && g->target && !gdb_dead(g))
		gdb_detach(g, &ignored);
	mi_conn_free(g->conn);
	gdb_threads_free(g->threads, g->threads_n);
	free(g->debug_dir);
	free(g->library_dirs);
	strv_fini(&g->kept);
	free(g);
}

void gdb_tick(struct gdb *g, bool (*tick)(void *ctx), void *ctx)
{
	mi_conn_tick(g->conn, tick, ctx);
}

const char *gdb_dead(const struct gdb *g)
{
	return mi_conn_dead(g->conn);
}

int gdb_check(const struct gdb *g, struct err *e)
{
	return gdb_dead(g) ? err_set(e, ERR_INTERNAL, "GDB is gone: %s", gdb_dead(g)) : 0;
}

pid_t gdb_target(const struct gdb *g)
{
	return g->target;
}

/* The state letter of a process; 0: there is no such process. */
static char process_state(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/stat", pid);

	return maps_state(path);
}

static int refresh_threads(struct gdb *g, struct err *e)
{
	gdb_threads_free(g->threads, g->threads_n);
	g->threads = NULL;
	g->threads_n = 0;
	return gdb_threads(g, &g->threads, &g->threads_n, e);
}

/* The root of a process's files, if it differs from this process's root; else "". */
static void root_of(pid_t pid, char root[PATH_MAX])
{
	cleanup_free char *link = str_fmt("/proc/%d/root", pid), *exe = str_fmt("/proc/%d/exe", pid);
	ssize_t n = readlink(link, root, PATH_MAX - 1);
	char *slash;

	root[n > 1 ? n : 0] = '\0';
	if (n != 1)
		return;
	n = readlink(exe, root, PATH_MAX - 1);
	root[n > 0 ? n : 0] = '\0';
	while ((slash = strrchr(root, '/'))) {
		cleanup_free char *mark = NULL;

		*slash = '\0';
		mark = str_fmt("%s" GDB_TREE, root);
		if (root[0] && path_is_dir(mark))
			return;
	}
}

/*
 * The files of a process that has another root than ours are found below that; if they are the same here, better here:
 * scripts of libraries, such as the printers of libstdc++, go by their paths.
 */
static int follow_root(struct gdb *g, pid_t pid, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_free char *same = NULL;
	char root[PATH_MAX];
	bool apart;

	root_of(pid, root);
	same = str_fmt("%s" GDB_SAME_FILES, root);
	apart = root[0] && access(same, F_OK);
	if (!apart && !g->has_sysroot)
		return 0;
	g->has_sysroot = apart;
	return gdb_must(gdb_cmd(g, 0, &r, e, "-gdb-set sysroot %s", apart ? root : "target:"), &r, ERR_INTERNAL, e);
}

/*
 * A library that was opened by a relative name ("./plugin.so") has that name in the linker's list. GDB looks for it in
 * its own working directory, and then by its file name in these folders, which are those of all mapped files.
 */
static int tell_library_dirs(struct gdb *g, pid_t pid, struct err *e)
{
	cleanup_strv struct strv dirs = {0};
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_maps struct maps m = {0};
	cleanup_buf struct buf b = {0};
	char root[PATH_MAX] = "";
	struct err ignored;
	struct mapping v;

	if (g->has_sysroot)
		root_of(pid, root);
	if (maps_open(&m, pid, &ignored))
		return 0;
	while (maps_next(&m, &v)) {
		/* the path below that root */
		const char *path = str_starts(v.path, root) ? v.path + strlen(root) : v.path;
		cleanup_free char *dir = v.exec && path[0] == '/' ? path_dir(path) : NULL;

		if (dir && !path_is_system(path) && !strchr(dir, ':') && !strv_has(&dirs, dir))
			strv_add(&dirs, dir);
	}
	for (size_t i = 0; i < dirs.n; i++)
		buf_addf(&b, "%s%s%s", i ? ":" : "", root, dirs.s[i]);
	buf_add_str(&b, "");
	if (g->library_dirs && !strcmp(g->library_dirs, b.data))
		return 0;
	free(g->library_dirs);
	g->library_dirs = xstrdup(b.data);
	return gdb_must(gdb_cmd(g, 0, &r, e, "-gdb-set solib-search-path %s", b.data), &r, ERR_INTERNAL, e);
}

static int attach_and_wait(struct gdb *g, pid_t pid, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_record *stop;

	if (gdb_must(gdb_cmd(g, 0, &r, e, "-target-attach %d", pid), &r, ERR_HOST, e))
		return -1;
	g->target = pid;
	/* GDB 13 answers ^done first; the *stopped comes when it has read the libraries. */
	if (gdb_wait_stop(g, 0, &r, &stop, e))
		return -1;
	/* A call into the program must not let the other threads run. Needs a process to be set. */
	return gdb_must(gdb_cmd(g, 0, &r, e, "-gdb-set scheduler-locking on"), &r, ERR_INTERNAL, e);
}

int gdb_attach(struct gdb *g, pid_t pid, struct err *e)
{
	char state = process_state(pid);

	if (g->target)
		return err_set(e, ERR_INTERNAL, "GDB is already attached to process %d", g->target);
	if (!state || state == 'Z')
		return err_set(e, ERR_USAGE, "cannot attach: there is no process %d", pid);
	g->target_was_stopped = state == 'T';
	if (follow_root(g, pid, e) || tell_library_dirs(g, pid, e) || attach_and_wait(g, pid, e) ||
	    refresh_threads(g, e))
		return err_wrap(e, "attaching to process %d", pid);
	return 0;
}

/*
 * Keeps the symbols of libraries between two processes. GDB forgets them at a detach, and reading them takes 0.2 s each
 * time; but all of its inferiors share what it has read of a file, as long as one of them has it open. So a second
 * inferior, which never has a process, gets the libraries of the first one. A file that has changed is read again,
 * since GDB also compares its identity.
 */

/* Finds the files of the libraries that are loaded and not kept yet. */
static int find_libraries(struct gdb *g, const struct strv *kept, struct strv *found, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_value *list;

	if (gdb_must(gdb_cmd(g, 0, &r, e, "-file-list-shared-libraries"), &r, ERR_INTERNAL, e))
		return -1;
	list = mi_get(r.result->results, "shared-libraries");
	for (size_t i = 0; list && i < list->n; i++) {
		const char *file = mi_str(list->item[i], "host-name"), *read = mi_str(list->item[i], "symbols-loaded");

		/* add-symbol-file does not accept quoted blanks and remote files everywhere */
		if (file && file[0] == '/' && !strpbrk(file, " \t\"'\\") && read && read[0] == '1' &&
		    !strv_has(kept, file))
			strv_add(found, file);
	}
	return 0;
}

static void keep_library(struct gdb *g, struct strv *kept, const char *file)
{
	cleanup_free char *cmd = str_fmt("add-symbol-file %s", file);
	struct err ignored;

	gdb_console(g, cmd, NULL, &ignored); /* if a library cannot be kept, it is read each time */
	strv_add(kept, file);
}

static int keep_libraries(struct gdb *g, struct strv *kept, struct err *e)
{
	cleanup_strv struct strv found = {0};
	struct err ignored;

	if (find_libraries(g, kept, &found, e))
		return -1;
	if (!found.n)
		return 0;
	if (!kept->n && gdb_console(g, "add-inferior -no-connection", NULL, &ignored))
		return gdb_check(g, e);
	if (gdb_console(g, "inferior 2", NULL, &ignored))
		return gdb_check(g, e);
	for (size_t i = 0; i < found.n; i++)
		keep_library(g, kept, found.s[i]);
	return gdb_console(g, "inferior 1", NULL, e);
}

int gdb_detach(struct gdb *g, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct err why;

	if (!g->target)
		return 0;
	/* a caller that has attached twice is likely to attach many more times */
	if (g->detached++ && !gdb_dead(g) && keep_libraries(g, &g->kept, e))
		return -1;
	/* A pending SIGSTOP stops every thread at the detach, before it executes anything. */
	if (g->target_was_stopped)
		kill(g->target, SIGSTOP);
	/* a call into the program may have ended it */
	if (gdb_must(gdb_cmd(g, 0, &r, &why, "-target-detach"), &r, ERR_INTERNAL, &why) &&
	    gdb_reason_of(&why) != GDB_NOT_RUNNING) {
		*e = why;
		return err_wrap(e, "detaching from process %d", g->target);
	}
	g->target = 0;
	g->debug_read = false;
	return 0;
}

/* "Thread 0x7f.. (LWP 12)", "LWP 12" or "process 12". */
static pid_t tid_of(const char *target_id)
{
	const char *p = target_id ? strstr(target_id, "LWP ") : NULL;

	if (p)
		return atoi(p + 4);
	p = target_id ? strstr(target_id, "process ") : NULL;
	return p ? atoi(p + 8) : 0;
}

int gdb_threads(struct gdb *g, struct gdb_thread **threads, size_t *n, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_value *list;
	struct gdb_thread *t;

	if (gdb_must(gdb_cmd(g, 0, &r, e, "-thread-info"), &r, ERR_INTERNAL, e))
		return -1;
	list = mi_get(r.result->results, "threads");
	*n = list ? list->n : 0;
	*threads = t = xcalloc(*n + 1, sizeof(*t));
	for (size_t i = 0; i < *n; i++) {
		const struct mi_value *v = list->item[i];
		const char *name = mi_str(v, "name");

		mi_int(v, "id", &t[i].id);
		t[i].tid = tid_of(mi_str(v, "target-id"));
		t[i].name = name ? xstrdup(name) : NULL;
	}
	return 0;
}

void gdb_threads_free(struct gdb_thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(threads[i].name);
	free(threads);
}

static int known_thread(const struct gdb *g, pid_t tid)
{
	for (size_t i = 0; i < g->threads_n; i++)
		if (g->threads[i].tid == tid)
			return g->threads[i].id;
	return 0;
}

/* GDB's number of a TID; lists the threads again if it is new. */
static int thread_id(struct gdb *g, pid_t tid, int *id, struct err *e)
{
	*id = known_thread(g, tid);
	if (!*id && refresh_threads(g, e))
		return -1;
	*id = known_thread(g, tid);
	if (!*id)
		return err_set(e, ERR_USAGE, "process %d has no thread %d", g->target, tid);
	return 0;
}

int gdb_scope(struct gdb *g, pid_t tid, int frame, char **out, struct err *e)
{
	int id = 0;

	if (tid && thread_id(g, tid, &id, e))
		return -1;
	if (!tid && g->threads_n)
		id = g->threads[0].id;
	if (!id)
		*out = xstrdup("");
	else if (frame < 0)
		*out = str_fmt("--thread %d", id);
	else
		*out = str_fmt("--thread %d --frame %d", id, frame);
	return 0;
}

int gdb_select(struct gdb *g, pid_t tid, int frame, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int id;

	if (tid) {
		if (thread_id(g, tid, &id, e) ||
		    gdb_must(gdb_cmd(g, 0, &r, e, "-thread-select %d", id), &r, ERR_USAGE, e))
			return -1;
	}
	return gdb_must(gdb_cmd(g, 0, &r, e, "-stack-select-frame %d", frame), &r, ERR_USAGE, e);
}

char *gdb_python_text(const char *text)
{
	struct buf b = {0};

	buf_add_str(&b, "bytes.fromhex('");
	for (; *text; text++)
		buf_addf(&b, "%02x", (unsigned char)*text);
	buf_add_str(&b, "').decode(errors='surrogateescape')");
	return b.data;
}

int gdb_console_at(struct gdb *g, pid_t tid, int frame, int timeout_ms, const char *cmd, char **output, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_free char *scope = NULL, *q = mi_quote(cmd);
	int w;

	if (gdb_scope(g, tid, frame, &scope, e))
		return -1;
	w = gdb_cmd(g, timeout_ms, &r, e, "-interpreter-exec %s console %s", scope, q);
	if (w > 0)
		return gdb_refusal(mi_reply_error(&r), e);
	if (!w && output)
		*output = buf_steal(&r.console);
	if (!w && output && !*output)
		*output = xstrdup("");
	return w;
}

int gdb_console(struct gdb *g, const char *cmd, char **output, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_free char *q = mi_quote(cmd);

	if (gdb_must(gdb_cmd(g, 0, &r, e, "-interpreter-exec console %s", q), &r, ERR_USAGE, e))
		return -1;
	if (output) {
		*output = buf_steal(&r.console);
		if (!*output)
			*output = xstrdup("");
	}
	return 0;
}

int gdb_wait_stop(struct gdb *g, int timeout_ms, struct mi_reply *r, const struct mi_record **stop, struct err *e)
{
	return mi_conn_wait(g->conn, "stopped", timeout_ms ? timeout_ms : g->timeout_ms, r, stop, e);
}
