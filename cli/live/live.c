/* SPDX-License-Identifier: MIT */
/* live.c: see live.h: the child, and what GDB asks about the live program. */
#include "live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "client/out.h"
#include "live/internal.h"
#include "supervisor/wait.h"
#include "visibility/regs.h"

#define OPTIONS (PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)

#ifndef KCMP_VM
#define KCMP_VM 1
#endif

static unsigned threads(void *arg, int *tids, unsigned max)
{
	struct live *l = arg;
	unsigned n = 0;

	for (unsigned i = 0; i < l->group.n && n < max; i++)
		if (!l->group.v[i]->dying)
			tids[n++] = l->group.v[i]->t.tid;
	return n;
}

static void thread_name(void *arg, int tid, char *buf, size_t size)
{
	regs_thread_name(((struct live *)arg)->group.pid, tid, buf, size);
}

static struct trace *thread_of(struct live *l, int tid, struct err *e)
{
	struct group_thread *th = group_find(&l->group, tid);

	if (th)
		return &th->t;
	err_set(e, ERR_USAGE, "there is no thread %d", tid);
	return NULL;
}

static int regs(void *arg, int tid, struct rsp_regs *r, struct err *e)
{
	struct live *l = arg;
	struct trace *t = thread_of(l, tid, e);

	if (!t || regs_get(t, r, e))
		return -1;
	if (tid != l->stop.tid || (l->stop.why != RSP_BREAKPOINT && l->stop.why != RSP_LIBRARY))
		live_in_call(l, t, &r->r);
	return 0;
}

/* Writes go to a copy, since a change of the program itself would not be recorded. */
static int write_aside(struct live *l, struct err *e)
{
	int r = live_write_aside(l, e);

	if (r < 0)
		/* GDB does not show the reason */
		out_failure("nothing was written, and no function was called: %s", e->text);
	return r;
}

static int set_regs(void *arg, int tid, const struct rsp_regs *r, struct err *e)
{
	struct rsp_regs now;

	if (regs(arg, tid, &now, e))
		return -1;
	now.r.orig_rax = r->r.orig_rax; /* GDB sets this one together with the PC, to the value that it has anyway */
	return memcmp(&now, r, sizeof(now)) ? write_aside(arg, e) : 0;
}

static int write_memory(void *arg, uint64_t addr, const void *data, size_t len, struct err *e)
{
	(void)addr, (void)data, (void)len;
	return write_aside(arg, e);
}

static size_t read_memory(void *arg, uint64_t addr, void *buf, size_t len)
{
	return regs_read_memory(((struct live *)arg)->group.pid, addr, buf, len);
}

static int set_point(void *arg, enum rsp_point p, uint64_t addr, unsigned len, bool on, const struct rsp_conditions *c,
		     struct err *e)
{
	struct live *l = arg;

	(void)e;
	return regs_set_point(&l->breaks, p, addr, len, on, c, l->group.pid);
}

static int add_siginfo(struct live *l, struct buf *out, struct err *e)
{
	siginfo_t si;

	if (l->stop.why != RSP_SIGNALLED || ptrace(PTRACE_GETSIGINFO, l->stop.tid, 0, &si))
		return err_set(e, ERR_NOT_FOUND, "no signal stopped the program");
	buf_add(out, (const char *)&si, sizeof(si));
	return 0;
}

static int object(void *arg, const char *name, struct buf *out, struct err *e)
{
	struct live *l = arg;
	char path[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)l->group.pid, strcmp(name, "auxv") ? "exe" : "auxv");
	if (!l->group.n) /* GDB has been offered this object, and does not expect it to disappear */
		return err_set(e, ERR_NOT_FOUND, "the program is not being run");
	if (!strcmp(name, "auxv"))
		return read_file(path, out, e);
	if (!strcmp(name, "siginfo"))
		return add_siginfo(l, out, e);
	if (strcmp(name, "exec-file"))
		return 1;
	n = readlink(path, exe, sizeof(exe));
	if (n < 0)
		return err_errno(e, ERR_INTERNAL, "%s", path);
	buf_add(out, exe, (size_t)n);
	return 0;
}

static int open_file(void *arg, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? -errno : fd;
}

/* A thread can be given a signal only if a signal stopped it; after another kind of stop the signal would be lost. */
static bool takes_signal(pid_t tid)
{
	siginfo_t si = {0};

	return !ptrace(PTRACE_GETSIGINFO, tid, 0, &si) && si.si_code >> 8 != PTRACE_EVENT_STOP;
}

static void set_signal(void *arg, int tid, int sig)
{
	struct live *l = arg;
	struct group_thread *th = group_find(&l->group, tid);

	if (!th)
		return;
	l->passed = regs_host_signal(sig);
	if (takes_signal(th->t.tid)) {
		th->sig = l->passed;
	} else {
		l->sent = l->passed;
		syscall(SYS_tgkill, l->group.pid, tid, l->sent);
	}
}

static void pass_signals(void *arg, const int *sigs, unsigned n)
{
	((struct live *)arg)->breaks.pass = regs_signal_set(sigs, n);
}

static void program_signals(void *arg, const int *sigs, unsigned n)
{
	((struct live *)arg)->kept_back = ~regs_signal_set(sigs, n);
}

/* ---- its life ---- */

static void forked(void *arg, pid_t child)
{
	struct live *l = arg;
	struct err e = {0};

	/* a vfork shares the memory, and with it the breakpoints, until its exec */
	if (syscall(SYS_kcmp, child, l->group.pid, KCMP_VM, 0, 0) && breaks_clean_copy(&l->breaks, child, &e))
		out_failure("process %d: %s", (int)child, e.text);
}

/* Sets a variable of this process, from which the program inherits it. */
static void set_env(void *arg, const char *variable)
{
	struct live *l = arg;
	cleanup_free char *name = xstrdup(variable ? variable : "");
	char *is = strchr(name, '=');

	if (!variable) {
		clearenv();
		for (char **v = l->env.s; v && *v; v++)
			putenv(*v);
	} else if (is) {
		*is = '\0';
		setenv(name, is + 1, 1);
	} else {
		unsetenv(name);
	}
}

static void set_cwd(void *arg, const char *dir)
{
	struct live *l = arg;

	free(l->cwd);
	l->cwd = *dir ? xstrdup(dir) : NULL;
}

/* Would a shell take the word for a redirection? */
static bool is_redirection(const char *word)
{
	char c = word[strspn(word, "012&")];

	return c == '<' || c == '>';
}

/*
 * The line that GDB's user has typed, if these words are what it consists of. NULL: they are not, or a shell would
 * change nothing.
 */
static const char *typed_line(const struct live *l, const struct strv *words)
{
	cleanup_strv struct strv of_line = {0};

	if (!l->line || !live_shell_is_needed(l->line))
		return NULL;
	live_shell_split(l->line, &of_line);
	for (size_t i = 0; of_line.n + 1 == words->n && i < of_line.n; i++)
		if (strcmp(of_line.s[i], words->s[i + 1]) != 0)
			return NULL;
	return of_line.n + 1 == words->n ? l->line : NULL;
}

/* vRun's arguments: FILE;ARG..., each in hexadecimal; without a file the program that was named at first. */
static int take_args(struct live *l, const char *args, struct live_start *start, struct err *e)
{
	cleanup_strv struct strv v = {0};
	const char *line;

	for (const char *p = strchr(args, ';'); p; p = strchr(p, ';')) {
		char word[RSP_PACKET_MAX / 2];

		word[rsp_unhex(++p, word, sizeof(word) - 1)] = '\0';
		strv_add(&v, word);
	}
	if (!v.n)
		return 0;
	line = typed_line(l, &v);
	if (line) {
		if (live_shell_start(line, l->cwd, start, e))
			return -1;
		while (v.n > 1)
			free(v.s[--v.n]);
		v.s[v.n] = NULL;
		strv_add_all(&v, (const char *const *)start->args.s);
	}
	for (size_t i = 1; i < v.n && !line && (l->line || !l->told); i++)
		if (is_redirection(v.s[i]))
			out_note(l->o->cli,
				 "no shell starts the program: '%s' is an argument of its own (`set args`, then `run`)",
				 v.s[i]);
	if (!v.s[0][0]) {
		free(v.s[0]);
		v.s[0] = xstrdup(l->o->program.s[0]);
	}
	strv_fini(&l->o->program);
	l->o->program = v;
	v = (struct strv){0};
	return 0;
}

static int start_program(struct live *l, const struct live_start *start, struct err *e)
{
	struct record_opts o = l->o->record;

	o.argv = l->o->program.s;
	o.cwd = l->cwd ? l->cwd : o.cwd;
	o.hold = true;
	o.fds = start->fds;
	o.nfds = start->nfds;
	if (record_start(&l->rec, &o, e)) {
		record_session_fini(&l->rec);
		return -1;
	}
	l->o->record.dir = NULL; /* the next recording gets another folder */
	out_note(l->o->cli, "recording %s (%s)", l->rec.result.dir,
		 o.sched == RLOG_SCHED_SERIAL ? "serial: one thread at a time"
					      : "not serial: threads other than the one that "
						"stopped may stand elsewhere in the past");
	l->ending = false;
	l->sent = 0;
	l->group = (struct group){.mortal = true, .options = OPTIONS, .forked = forked, .arg = l};
	l->term.program = 0;
	l->tid = l->rec.pid;
	return trace_prepare(false, e) || group_adopt(&l->group, l->rec.pid, e) ? -1 : 0;
}

static int restart(void *arg, const char *args, struct rsp_stop *stop, struct err *e)
{
	struct live *l = arg;
	struct live_start start = {0};
	struct err ignored;
	int r;

	if (live_kill(l, e))
		return -1;
	breaks_fini(&l->breaks);
	rm_rf(l->session, &ignored);
	if (l->stuck)
		r = err_set(e, ERR_HOST,
			    "the last program died while GDB stepped it over a breakpoint: this GDB cannot run another "
			    "one; quit it and start again");
	else
		r = take_args(l, args, &start, e) || start_program(l, &start, e) ? -1 : 0;
	live_start_fini(&start);
	free(steal_ptr(&l->line));
	if (r) {
		out_failure("%s", e->text); /* GDB does not show the reason */
		return -1;
	}
	l->stop = *stop = (struct rsp_stop){.why = RSP_STEPPED, .tid = l->tid};
	return 0;
}

/*
 * Reports the stop again: GDB ignores a stop at a breakpoint that it has deleted meanwhile, and would resume the
 * program.
 */
static int tell_again(struct live *l, int tid, struct rsp_stop *stop, struct err *e)
{
	struct trace *t = thread_of(l, l->stop.tid, e);
	struct user_regs_struct r;

	l->jumped = false;
	*stop = l->stop;
	stop->jumped = true;
	if (!t || trace_get_regs(t, &r, e))
		return -1;
	if (stop->why != RSP_SIGNALLED && (stop->why != RSP_BREAKPOINT || !breaks_has(&l->breaks, r.rip)))
		stop->why = tid == stop->tid ? RSP_STEPPED : RSP_ELSEWHERE;
	return 0;
}

static int resume(void *arg, enum rsp_resume how, int tid, struct rsp_stop *stop, struct err *e)
{
	struct live *l = arg;
	bool over = how == RSP_STEP && l->stop.why == RSP_BREAKPOINT; /* a step over that breakpoint */
	int r;

	if (l->jumped)
		return tell_again(l, tid, stop, e);
	if (!l->group.n)
		return err_set(e, ERR_USAGE, "the program is not being run");
	live_term_to_program(&l->term, l->group.pid);
	r = live_resume(l, how, tid, stop, e);
	live_term_to_debugger(&l->term);
	if (!r && (stop->why == RSP_EXITED || stop->why == RSP_DIED))
		live_finish(l, l->group.status);
	l->stuck |= !r && over && (stop->why == RSP_EXITED || stop->why == RSP_DIED);
	return r;
}

/* All commands are answered by live_relay. */
static int monitor(void *arg, const char *text, struct buf *out, struct err *e)
{
	(void)arg, (void)out;
	return err_set(e, ERR_USAGE, "%s: no such command", text);
}

static int serve(struct live *l, struct err *e)
{
	static const struct rsp_ops ops = {
		.threads = threads,
		.thread_name = thread_name,
		.regs = regs,
		.set_regs = set_regs,
		.write = write_memory,
		.read = read_memory,
		.set_point = set_point,
		.resume = resume,
		.object = object,
		.monitor = monitor,
		.restart = restart,
		.open_file = open_file,
		.pass_signals = pass_signals,
		.program_signals = program_signals,
		.signal = set_signal,
		.kill = live_kill,
		.detach = live_detach,
		.set_env = set_env,
		.set_cwd = set_cwd,
		.relay = live_relay,
	};
	static const struct rsp_stop none = {.tid = 0};
	struct err ignored;
	int r;

	for (char **v = environ; *v; v++)
		strv_add(&l->env, *v);
	live_term_init(&l->term);
	r = rsp_serve(&l->conn, &ops, l, &none, e);
	live_kill(l, &ignored); /* GDB is gone */
	rm_rf(l->session, &ignored);
	breaks_fini(&l->breaks);
	buf_fini(&l->conn.in);
	free(l->lines);
	strv_fini(&l->later);
	free(l->cwd);
	free(l->line);
	clearenv();
	strv_fini(&l->env);
	for (unsigned i = 0; i < LIVE_CHOICES; i++)
		free(l->chosen[i]);
	return r;
}

int live_start(struct bridge *b, struct live_opts *o, int *code, struct err *e)
{
	struct live l = {.o = o,
			 .view = {&l.visibility, &l.shim_frames},
			 .breaks = {.view = &l.view, .libraries = true, .signals = true}};
	int fd[2], life[2];
	pid_t self = getpid();

	if (bridge_open(b, o->cli, e))
		return -1;
	snprintf(l.snapshot, sizeof(l.snapshot), "%s/snapshot", b->dir);
	snprintf(l.session, sizeof(l.session), "%s/session", b->dir);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return err_errno(e, ERR_HOST, "socketpair");
	if (pipe2(life, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	b->runner = fork();
	if (b->runner < 0)
		return err_fork(e, "fork");
	if (b->runner) {
		close(fd[1]);
		close(life[1]);
		b->worker = fd[0];
		b->life = life[0];
		return 0;
	}
	bridge_in_child(b, self);
	close(fd[0]);
	close(life[0]);
	l.conn.fd = fd[1];
	l.life = life[1];
	wait_prepare(); /* a Ctrl-C is for GDB, before the first program too */
	*code = live_tell_life(&l, e) || serve(&l, e) ? -1 : 0;
	return 1;
}
