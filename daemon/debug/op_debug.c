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
#include "debug/called.h"
#include "debug/monitor.h"
#include "debug/ops.h"
#include "debug/recorded_files.h"
#include "debug/revive.h"
#include "debug/threads.h"
#include "reclog/procs.h"
#include "replay/pick.h"
#include "replay/root.h"
#include "rsp/stub.h"
#include "visibility/regs.h"
#include "visibility/thread_snapshot.h"

#define STDIO "_IO_2_1_stdout_"

/* A stopped thread as the debugger sees it. */
static struct trace *thread_of(struct debug *d, int tid, struct err *e)
{
	if (diversion_is_on(&d->diversion) && tid == d->cursor.tid)
		return &d->diversion.copy;
	return cursor_thread(&d->cursor, tid, e);
}

static pid_t memory_of(struct debug *d)
{
	return diversion_is_on(&d->diversion) ? d->diversion.copy.pid : cursor_memory(&d->cursor);
}

static int get_regs(struct debug *d, int id, struct rsp_regs *r, struct err *e)
{
	pid_t tid = threads_tid(d, id);
	struct trace *t = thread_of(d, tid ? tid : id, e);

	if (!t || regs_get(t, r, e))
		return -1;
	/* others wait their turn; it may wait for a handler of signals that is called next */
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
		return err_set(e, ERR_USAGE,
			       "functions are called, and registers set, in the thread that moved last (%u)",
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
		return unwind_window_answer(&d->unwind, &d->cursor.shim_frames, &d->cursor.visibility, memory_of(d),
					    addr, buf, len);
	n = regs_read_memory(memory_of(d), addr, buf, len);
	return n || !revive(d, &why) ? n : regs_read_memory(memory_of(d), addr, buf, len);
}

static int set_point(void *arg, enum rsp_point p, uint64_t addr, unsigned len, bool on, const struct rsp_conditions *c,
		     struct err *e)
{
	struct debug *d = arg;

	return regs_set_point(&d->cursor.breaks, p, addr, len, on, c, memory_of(d));
}

static void translate(struct debug *d, const struct stop *s, struct rsp_stop *out)
{
	static const enum rsp_why why[] = {
		[STOP_STEP] = RSP_STEPPED,	  [STOP_BREAK] = RSP_BREAKPOINT, [STOP_WATCH] = RSP_WATCHPOINT,
		[STOP_SIGNAL] = RSP_SIGNALLED,	  [STOP_OVER] = RSP_ELSEWHERE,	 [STOP_LIMIT] = RSP_STEPPED,
		[STOP_INTERRUPT] = RSP_SIGNALLED, [STOP_BEGIN] = RSP_BEGIN,	 [STOP_END] = RSP_END,
		[STOP_CALL] = RSP_SYSCALL,	  [STOP_LIBRARY] = RSP_LIBRARY,	 [STOP_FIRST] = RSP_ELSEWHERE,
		[STOP_HANDLER] = RSP_SIGNALLED};

	*out = (struct rsp_stop){
		.why = why[s->kind],
		.tid = threads_id(d, d->cursor.tid),
		.sig = s->kind == STOP_INTERRUPT ? SIGINT : regs_gdb_signal(s->sig),
		.addr = s->addr,
		.point = s->watch == GROUP_ACCESS ? RSP_ACCESS : RSP_WRITE,
	};
}

/* Its text, or why it could not be done, goes to the user. */
static void run_later(struct debug *d)
{
	cleanup_free char *command = steal_ptr(&d->later);
	cleanup_buf struct buf text = {0};
	struct err why = {0};

	if (monitor_later(d, command, &text, &why))
		buf_addf(&text, "fred: %s\n", why.text);
	rsp_say(&d->conn, text.data, text.len, &why);
}

static int move(struct debug *d, enum rsp_resume how, int tid, struct stop *stop, struct err *e)
{
	struct cursor *t = &d->cursor;

	if (d->later) {
		run_later(d);
		d->jumped = true;
	}
	/* a command has moved it: the debugger is told by its next step */
	if (d->jumped) {
		d->jumped = false;
		stop->kind = STOP_STEP;
		return 0;
	}
	/* of a command of many short steps, none asks by itself */
	if (busy_is_over(d)) {
		stop->kind = STOP_INTERRUPT;
		return 0;
	}
	switch (how) {
	case RSP_CONTINUE:
		return cursor_continue(t, stop, e);
	case RSP_STEP:
		return d->range.lo < d->range.hi ? range_step(d, tid, stop, e) : cursor_step(t, tid, stop, e);
	case RSP_BACK_CONTINUE:
		return cursor_back_continue(t, stop, e);
	case RSP_BACK_STEP:
		return lines_back_step(d, tid, stop, e);
	}
	return err_set(e, ERR_INTERNAL, "no such way to go on");
}

static int move_or_call(struct debug *d, enum rsp_resume how, int tid, struct stop *stop, struct err *e)
{
	bool call;

	if (diversion_in_call(&d->diversion, &d->cursor.breaks, &call, e))
		return -1;
	if (call && (how == RSP_STEP || how == RSP_CONTINUE))
		return called_run(d, how == RSP_STEP, stop, e);
	debug_end_diversion(d);
	return move(d, how, tid, stop, e);
}

/* To a function that the debugger calls: it may have a handler, or die. What is recorded has had its signals. */
static void set_signal(void *arg, int id, int sig)
{
	struct debug *d = arg;

	d->passes = sig;
	if (diversion_is_on(&d->diversion) && threads_tid(d, id) == d->cursor.tid)
		d->diversion.sig = regs_host_signal(sig);
}

/*
 * A program that was killed by a signal that no instruction raised, as abort() has it, ends with that signal: once,
 * before its end is the end of history.
 */
static void tell_end(struct debug *d, struct stop *stop)
{
	if (stop->kind == STOP_END && d->killed_by && d->told != d->killed_by)
		*stop = (struct stop){.kind = STOP_SIGNAL, .sig = d->killed_by};
	if (stop->kind != STOP_END)
		d->told = stop->kind == STOP_SIGNAL ? stop->sig : 0;
}

/* GDB does not say which thread goes a step back, unless it locks the others: the one that its user has selected. */
static pid_t stepped_back(struct debug *d)
{
	pid_t tid = d->selected ? threads_tid(d, d->selected) : 0;

	return tid ? tid : d->cursor.tid;
}

/* Where the command began, if that is behind event n, too: breakpoints that have been met are not met again. */
static int go_behind(struct debug *d, uint64_t n, struct err *e)
{
	const struct busy *b = &d->busy;
	bool exact;

	if (b->known && b->from.event >= n && !mark_goto(&d->cursor, &b->from, &exact, e))
		return 0;
	return cursor_goto(&d->cursor, n, e);
}

/* The replay does not match any more: the last event up to which it did is the end of what can be shown. -1: it is not
 * that. */
static int stay_true(struct debug *d, struct stop *stop)
{
	uint64_t n = d->nav.t.ctl ? d->nav.t.ctl->turn : 0;
	cleanup_free char *text = NULL;
	struct err why, ignored;

	if (diversion_is_on(&d->diversion) || !n || !target_is_lost(&d->nav.t, &why))
		return -1;
	if (go_behind(d, n, &ignored) && go_behind(d, n - 1, &ignored))
		return -1;
	text = str_fmt("fred: %s\nfred: up to event %llu, behind which it stands now, the replay was as recorded\n",
		       why.text, (unsigned long long)cursor_event(&d->cursor));
	debug_say(d, text);
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

/* A thread that is not there makes no step. */
static bool cannot_step(struct debug *d, int id)
{
	cleanup_free char *text = NULL;

	if (threads_tid(d, id) || d->later || d->jumped)
		return false;
	text = str_fmt("fred: this thread %s here: `continue`, or select another one\n", threads_absent(d, id));
	debug_say(d, text);
	return true;
}

/* Back to where it stood; of what was killed another one comes there. 0: *stop is what the debugger is told. */
static int has_failed(struct debug *d, struct stop *stop, struct err *e)
{
	bool killed = revive_clear(d, e);
	cleanup_free char *text = killed ? str_fmt("fred: %s\n", e->text) : NULL;

	if (killed)
		debug_say(d, text);
	if (busy_return(d, e))
		return -1;
	stop->kind = killed ? STOP_OVER : STOP_INTERRUPT;
	return 0;
}

static int resume(void *arg, enum rsp_resume how, int id, struct rsp_stop *out, struct err *e)
{
	struct debug *d = arg;
	struct stop stop = {0};
	pid_t tid = threads_tid(d, id);
	bool jumped = d->later || d->jumped;

	if (how == RSP_STEP && cannot_step(d, id)) {
		*out = (struct rsp_stop){.why = RSP_ELSEWHERE, .tid = threads_id(d, d->cursor.tid)};
		return 0;
	}
	if (how == RSP_BACK_STEP && !tid)
		tid = stepped_back(d);
	tid = tid ? tid : d->cursor.tid;
	debug_tell_signal(d, how == RSP_CONTINUE || how == RSP_STEP);
	busy_begin(d, true);
	if (move_or_call(d, how, tid, &stop, e) && stay_true(d, &stop) && has_failed(d, &stop, e))
		return -1;
	if (stop.kind == STOP_FIRST)
		debug_say(d, "fred: this thread begins here; reverse-continue goes on to what was before\n");
	tell_end(d, &stop);
	d->signalled = stop.kind == STOP_SIGNAL || stop.kind == STOP_HANDLER;
	translate(d, &stop, out);
	d->signal = out->sig;
	out->jumped = jumped;
	if (stop.kind == STOP_FIRST)
		out->tid = threads_id(d, tid); /* which has not moved, and stays selected */
	if (stop.kind == STOP_STEP && out->tid != threads_id(d, tid))
		out->why = RSP_ELSEWHERE;
	/* who was selected before that is not any more; of commands that are made by one, no prompt will tell */
	if (how == RSP_CONTINUE || how == RSP_STEP)
		d->selected = 0;
	if (!diversion_is_on(&d->diversion) && stop.kind != STOP_LIBRARY)
		session_state_stop(&d->state);
	return 0;
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

	(void)args; /* whatever program and arguments are named: they are the recorded ones */
	/* the debugger counts on its breakpoints being gone with the program */
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
		.resume = resume,
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
	d->jumped = false;
	diversion_end(&d->diversion);
	cursor_stop_at_signals(&d->cursor);
	r = rsp_serve(&d->conn, &ops, d, &first, e);
	buf_fini(&d->conn.in);
	close(fd);
	/* those of a debugger that died; one that left has taken them with it */
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
	if (!d->nav.t.own_root[0] && !root_has_other_recorder())
		return write_file(path, "", 0, 0600, e);
	return recorded_files_link_all(d->rec, (const uint32_t[]){d->process, d->nav.t.root}, 2, own, e);
}

/* One debugger; or with `stay` one after the other, each where the one before left, as long as the client listens. */
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
			log_info("a debugger was lost: %s", e->text);
		fd = connect_client(socket_path, &lost);
		if (fd < 0)
			return 0;
	}
}

/* The thread of the process that the stance is of: what it will do next is on no log yet. */
static int set_live(struct rec *rec, const struct thread_snapshot *p, struct err *e)
{
	const struct rec_image *img = NULL;
	struct reader *logs;

	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].head.pid == p->pid)
			img = &rec->images[i];
	if (!img)
		return err_set(e, ERR_USAGE, "process %d has not been recorded yet: it has not come to its first event",
			       (int)p->pid);
	if (rec_logs_open(rec, img, &logs, e))
		return -1;
	rec->live.process = img->ordinal;
	for (unsigned i = 0; i < img->nthreads; i++)
		if (logs[i].head.tid == p->tid)
			rec->live.thread = logs[i].head.thread;
	rec_logs_free(logs, img->nthreads);
	return rec->live.thread ? 0
				: err_set(e, ERR_USAGE, "thread %d has not come to its first event yet", (int)p->tid);
}

/* The image that is meant; with the stance of a live program that one's. 0: e is set. */
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

/* Where the live program stands, where the session left it, or where the user wants to begin. */
static int begin(struct debug *d, const json_t *params, const struct thread_snapshot *live, struct err *e)
{
	const char *at = json_string_value(json_object_get(params, "at"));
	bool stop = json_is_true(json_object_get(params, "stop"));
	int r = session_state_open(&d->state, &d->cursor, json_string_value(json_object_get(params, "session")), e);

	if (!r && live->pid) {
		r = cursor_goto_live(&d->cursor, live, e);
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
