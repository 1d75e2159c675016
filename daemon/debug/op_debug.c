/* SPDX-License-Identifier: MIT */
/*
 * op_debug.c: a debugger on a recording: the worker connects to a unix socket of the client, which hands it on to GDB,
 * and answers there until it is closed.
 */
#define LOG_DOMAIN "debug"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "debug/monitor.h"
#include "debug/move.h"
#include "debug/ops.h"
#include "debug/recorded_files.h"
#include "debug/revive.h"
#include "debug/threads.h"
#include "reclog/procs.h"
#include "replay/pick.h"
#include "rsp/stub.h"
#include "target/root.h"
#include "visibility/regs.h"
#include "visibility/thread_snapshot.h"

#define STDIO "_IO_2_1_stdout_"

/* A stopped thread, by the debugger's number. */
static struct trace *thread_of(struct debug *d, int tid, struct err *e)
{
	if (diversion_is_on(&d->diversion) && tid == d->cursor.tid)
		return &d->diversion.copy;
	return cursor_thread(&d->cursor, tid, e);
}

static int get_regs(struct debug *d, int id, struct rsp_regs *r, struct err *e)
{
	pid_t tid = threads_tid(d, id);
	struct trace *t = thread_of(d, tid ? tid : id, e);

	if (!t || regs_get(t, r, e))
		return -1;
	/* other threads wait for their turn; this one may wait for a signal handler that is called next */
	if (tid != d->cursor.tid || visibility_is_call_of_handler(&d->cursor.visibility, r->r.rip))
		shim_frames_find(&d->cursor.shim_frames, &d->cursor.visibility, t->pid, &r->r);
	return 0;
}

static int regs(void *arg, int id, struct rsp_regs *r, struct err *e)
{
	struct debug *d = arg;

	return !get_regs(d, id, r, e) || (revive(d, e) && !get_regs(d, id, r, e)) ? 0 : -1;
}

static int set_regs(void *arg, int id, const struct rsp_regs *r, struct err *e)
{
	struct debug *d = arg;
	struct rsp_regs now;

	if (regs(arg, id, &now, e))
		return -1;
	if (!memcmp(&now, r, sizeof(now)))
		return 0;
	if (threads_tid(d, id) != d->cursor.tid)
		return err_set(
			e, ERR_USAGE,
			"functions can be called, and registers set, only in the thread that moved last: thread %u",
			threads_number(d, d->cursor.tid));
	return diversion_begin(&d->diversion, &d->cursor, e) || regs_set(&d->diversion.copy, &now, r, e) ? -1 : 0;
}

static int write_memory(void *arg, uint64_t addr, const void *data, size_t len, struct err *e)
{
	struct debug *d = arg;

	return diversion_begin(&d->diversion, &d->cursor, e) || diversion_write(&d->diversion, addr, data, len, e) ? -1
														   : 0;
}

static size_t read_memory(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct debug *d = arg;
	struct err why = {0};
	size_t n;

	if (unwind_window_is_asked(addr))
		return unwind_window_answer(&d->unwind, &d->cursor.shim_frames, &d->cursor.visibility, debug_memory(d),
					    addr, buf, len);
	n = regs_read_memory(debug_memory(d), addr, buf, len);
	n = n || !revive(d, &why) ? n : regs_read_memory(debug_memory(d), addr, buf, len);
	watched_show(&d->watched, addr, buf, n);
	return n;
}

static int set_point(void *arg, enum rsp_point p, uint64_t addr, unsigned len, bool on, const struct rsp_conditions *c,
		     struct err *e)
{
	struct debug *d = arg;

	return regs_set_point(&d->cursor.breaks, p, addr, len, on, c, debug_memory(d));
}

/*
 * For a function that the debugger calls: it may have a handler for the signal, or be ended by it. Recorded code has
 * had its signals.
 */
static void set_signal(void *arg, int id, int sig)
{
	struct debug *d = arg;

	d->passes = sig;
	if (diversion_is_on(&d->diversion) && threads_tid(d, id) == d->cursor.tid)
		d->diversion.sig = regs_host_signal(sig);
}

/* GDB's $_siginfo */
static int add_siginfo(struct debug *d, struct buf *out, struct err *e)
{
	siginfo_t info;

	if (diversion_is_on(&d->diversion))
		return err_set(e, ERR_NOT_FOUND, "no signal stopped the program");
	if (cursor_siginfo(&d->cursor, &info, e))
		return -1;
	buf_add(out, (const char *)&info, sizeof(info));
	return 0;
}

static int object(void *arg, const char *name, struct buf *out, struct err *e)
{
	struct debug *d = arg;
	const struct rec_image *img = rec_image(d->rec, d->nav.t.root, e);
	char path[64];

	if (!img)
		return -1;
	if (!strcmp(name, "exec-file")) {
		buf_add_str(out, img->exe);
		return 0;
	}
	if (!strcmp(name, "siginfo"))
		return add_siginfo(d, out, e);
	if (strcmp(name, "auxv"))
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)d->nav.t.pid);
	return read_file(path, out, e);
}

static int restart(void *arg, const char *args, struct rsp_stop *out, struct err *e)
{
	struct debug *d = arg;

	(void)args; /* whatever program and arguments the debugger names, the recorded ones are run */
	/* the debugger expects its breakpoints to disappear with the program */
	breaks_fini(&d->cursor.breaks);
	busy_begin(d, true);
	if (debug_goto(d, "start", e) && busy_return(d, e))
		return -1;
	cursor_stop_at_signals(&d->cursor);
	d->jumped = false;
	session_state_stop(&d->state);
	*out = (struct rsp_stop){.why = RSP_STEPPED, .tid = threads_id(d, d->cursor.tid)};
	return 0;
}

static void step_range(void *arg, uint64_t lo, uint64_t hi)
{
	struct debug *d = arg;

	d->range = (struct step_range){.lo = lo, .hi = hi};
}

static void symbol(void *arg, const char *name, uint64_t addr)
{
	struct debug *d = arg;

	if (str_eq(name, STDIO))
		d->stdio = addr;
}

static void pass_signals(void *arg, const int *sigs, unsigned n)
{
	struct debug *d = arg;

	d->cursor.breaks.pass = regs_signal_set(sigs, n);
	d->chooses = true;
}

static void catch_calls(void *arg, bool on, const int *nr, unsigned n)
{
	struct cursor_calls *c = &((struct debug *)arg)->cursor.calls;

	*c = (struct cursor_calls){.on = on, .all = on && !n, .at = c->at};
	for (unsigned i = 0; i < n; i++)
		if (nr[i] >= 0 && nr[i] < CURSOR_CALLS_MAX)
			c->set[nr[i] / 64] |= 1ull << nr[i] % 64;
}

static int open_file(void *arg, const char *path)
{
	struct debug *d = arg;
	uint32_t images[] = {d->process, d->nav.t.root};

	return recorded_files_open(d->rec, images, 2, path);
}

static int connect_client(const char *path, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(a.sun_path)) {
		close(fd);
		return err_set(e, ERR_USAGE, "%s: too long for a socket's name", path);
	}
	strcpy(a.sun_path, path);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	err_errno(e, ERR_HOST, "connect to %s", path);
	close(fd);
	return -1;
}

static int serve_one(struct debug *d, int fd, struct err *e)
{
	static const struct rsp_ops ops = {
		.threads = threads_list,
		.thread_name = threads_name,
		.absent = threads_absent,
		.regs = regs,
		.set_regs = set_regs,
		.write = write_memory,
		.read = read_memory,
		.set_point = set_point,
		.step_range = step_range,
		.resume = debug_resume,
		.object = object,
		.monitor = monitor,
		.restart = restart,
		.open_file = open_file,
		.pass_signals = pass_signals,
		.catch_calls = catch_calls,
		.symbol_wanted = STDIO,
		.symbol = symbol,
		.signal = set_signal,
	};
	struct rsp_stop first = {.why = RSP_STEPPED, .tid = threads_id(d, d->cursor.tid)};
	int r;

	d->conn = (struct rsp_conn){.fd = fd};
	watched_fini(&d->watched);
	d->cursor.breaks.watch_conditions = &d->watched.conditions;
	d->jumped = false;
	diversion_end(&d->diversion);
	cursor_stop_at_signals(&d->cursor);
	r = rsp_serve(&d->conn, &ops, d, &first, e);
	buf_fini(&d->conn.in);
	close(fd);
	/* the breakpoints of a debugger that was killed; one that detached has removed them */
	breaks_fini(&d->cursor.breaks);
	return r;
}

/* Tells the client where a debugger finds the program's files: they are the host's, or the recording's
 * (cli/bridge/bridge.h). */
static int tell_host_files(const struct debug *d, const char *path, struct err *e)
{
	cleanup_free char *folder = path ? path_dir(path) : NULL, *own = path ? path_join(folder, "recorded") : NULL;

	if (!path)
		return 0;
	if (d->nav.t.on_host)
		return write_file(path, "", 0, 0600, e);
	return recorded_files_link_all(d->rec, (const uint32_t[]){d->process, d->nav.t.root}, 2, own, e);
}

/*
 * Serves one debugger; or, with `stay`, one after the other, each at the position where the one before left, as long as
 * the client listens.
 */
static int serve(struct debug *d, const char *socket_path, bool stay, struct err *e)
{
	int fd = connect_client(socket_path, e), r;
	struct err lost;

	if (fd < 0)
		return -1;
	d->cursor.interrupted = busy_beat;
	d->cursor.ctx = d;
	for (;;) {
		r = serve_one(d, fd, e);
		if (!stay)
			return r;
		if (r)
			log_info("the connection to a debugger was lost: %s", e->text);
		fd = connect_client(socket_path, &lost);
		if (fd < 0)
			return 0;
	}
}

/* Notes the process and thread of the snapshot as live: what that thread does next is in no log yet. */
static int set_live(struct rec *rec, const struct thread_snapshot *p, struct err *e)
{
	const struct rec_image *img = NULL;
	struct reader *logs;

	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].head.pid == p->pid)
			img = &rec->images[i];
	if (!img)
		return err_set(e, ERR_USAGE, "process %d has not been recorded yet: it has not reached its first event",
			       (int)p->pid);
	if (rec_logs_open(rec, img, &logs, e))
		return -1;
	rec->live.process = img->ordinal;
	for (unsigned i = 0; i < img->nthreads; i++)
		if (logs[i].head.tid == p->tid)
			rec->live.thread = logs[i].head.thread;
	rec_logs_free(logs, img->nthreads);
	return rec->live.thread ? 0
				: err_set(e, ERR_USAGE, "thread %d has not reached its first event yet", (int)p->tid);
}

/* The image that the request means: with the snapshot of a live program, that program's. 0: e is set. */
static uint32_t choose(struct debug *d, const json_t *params, struct thread_snapshot *p, struct err *e)
{
	const char *live = json_string_value(json_object_get(params, "live"));
	uint32_t process;

	if (!live)
		return pick_process(params, d->rec, e);
	if (thread_snapshot_read(p, live, e) || set_live(d->rec, p, e))
		return 0;
	process = d->rec->live.process;
	if (p->in_call)
		d->rec->live = (struct rec_live){0};
	return process;
}

/* Goes to where the live program stands, where the session was left, or where the user wants to begin. */
static int begin(struct debug *d, const json_t *params, const struct thread_snapshot *live, struct err *e)
{
	const char *at = json_string_value(json_object_get(params, "at"));
	bool stop = json_is_true(json_object_get(params, "stop"));
	int r = session_state_open(&d->state, &d->cursor, json_string_value(json_object_get(params, "session")), e);

	if (!r && live->pid) {
		r = cursor_goto_live(&d->cursor, live, e);
		d->elsewhere = live->in_call;
		return r || !stop ? r : session_state_return(&d->state, stop, e) < 0 ? -1 : 0;
	}
	if (!r && !at)
		r = session_state_return(&d->state, stop, e);
	else if (!r)
		r = 1;
	if (r < 0 || (r && debug_goto(d, at ? at : "start", e)))
		return -1;
	session_state_stop(&d->state);
	return 0;
}

static void find_end(struct debug *d)
{
	struct err ignored;
	const struct rec_image *img = rec_image(d->rec, d->process, &ignored);
	struct procs_ending end = {0};

	if (img)
		end = procs_ending(d->rec, img);
	d->killed_by = end.how == PROCS_CRASHED ? end.value : 0;
}

int op_debug(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	const char *path = json_string_value(json_object_get(params, "socket"));
	bool stay = json_is_true(json_object_get(params, "stay"));
	struct thread_snapshot live = {0};
	struct debug d = {0};
	int r = -1;

	if (pick_rec(params, &d.rec, e))
		return -1;
	d.process = choose(&d, params, &live, e);
	if (d.process && !nav_init(&d.nav, d.rec, d.process, 0, ctx, e)) {
		cursor_init(&d.cursor, &d.nav);
		threads_init(&d);
		find_end(&d);
		r = begin(&d, params, &live, e);
		busy_init(&d, json_is_true(json_object_get(params, "progress")));
		if (!r)
			r = tell_host_files(&d, json_string_value(json_object_get(params, "host_files")), e) ||
					    serve(&d, path, stay, e)
				    ? -1
				    : 0;
		lines_fini(&d.lines);
		watched_fini(&d.watched);
		thread_list_fini(&d.thread_list);
		spoken_fini(&d.spoken);
		free(d.later);
		buf_fini(&d.said);
		diversion_end(&d.diversion);
		session_state_close(&d.state);
		cursor_fini(&d.cursor);
		nav_fini(&d.nav);
	}
	if (!r)
		*result = json_pack("{s:i}", "process", (int)d.process);
	thread_snapshot_fini(&live);
	rec_free(d.rec);
	return r;
}
