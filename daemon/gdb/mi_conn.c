/* SPDX-License-Identifier: MIT */
/*
 * mi_conn.c: the pipes to a GDB process and the deadlines on them. The pipes' own ends are
 * non-blocking; every wait is a poll on GDB's output, its standard error and its pidfd together, so
 * that a GDB that dies, closes its output, hangs or stops reading is noticed in each case.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "gdb/mi_conn.h"
#include "gdb/mi_spawn.h"

#define LINE_MAX_BYTES (64u << 20)
#define STDERR_KEEP 4096u
#define INTERRUPT_GRACE_MS 3000
#define TICK_MS 50 /* mi_conn_tick */
#define READ_SIZE 65536u

struct mi_conn {
	struct mi_proc proc;
	struct buf in; /* read from GDB, not yet taken apart */
	struct buf err; /* the tail of its standard error */
	size_t scanned; /* bytes at the head of `in` known to hold no line end */
	int64_t token;
	bool eof;
	bool (*tick)(void *ctx);
	void *tick_ctx;
	char dead[256]; /* why it is of no use any more; empty: it lives */
};

static int64_t now_ms(void)
{
	return (int64_t)(clock_ns() / 1000000);
}

static int remaining_ms(int64_t deadline)
{
	int64_t left = deadline - now_ms();

	return left > 0 ? (int)left : 0;
}

static void keep_stderr_tail(struct mi_conn *c)
{
	char tmp[4096];
	ssize_t n;

	while ((n = read(c->proc.err, tmp, sizeof(tmp))) > 0) {
		buf_add(&c->err, tmp, (size_t)n);
		if (c->err.len > STDERR_KEEP)
			buf_consume(&c->err, c->err.len - STDERR_KEEP);
	}
	if (!n || (errno != EAGAIN && errno != EINTR)) {
		close(c->proc.err);
		c->proc.err = -1;
	}
}

/* The last line that GDB wrote to its standard error, or "". */
static char *last_stderr_line(struct mi_conn *c)
{
	cleanup_strv struct strv lines = {0};

	strv_split(&lines, buf_str(&c->err), "\n");
	return xstrdup(lines.n ? lines.s[lines.n - 1] : "");
}

/* Marks the connection as unusable (the first reason counts), with how GDB has ended. */
static void set_dead(struct mi_conn *c, const char *why)
{
	cleanup_free char *line = NULL;
	siginfo_t si = {0};
	char how[64] = "";

	if (c->dead[0])
		return;
	if (c->proc.err >= 0)
		keep_stderr_tail(c);
	/* Another part of the program may have reaped it: then si stays empty. */
	if (!waitid(P_PIDFD, (id_t)c->proc.pidfd, &si, WEXITED | WNOHANG) && si.si_pid) {
		c->proc.reaped = true;
		snprintf(how, sizeof(how), si.si_code == CLD_EXITED ? " (exit status %d)" : " (signal %d)",
			 si.si_status);
	}
	line = last_stderr_line(c);
	snprintf(c->dead, sizeof(c->dead), "%s%s%s%.120s", why, how, *line ? ": " : "", line);
}

static int fail_dead(struct mi_conn *c, struct err *e)
{
	return err_set(e, ERR_INTERNAL, "GDB is gone: %s", c->dead);
}

static bool read_some(struct mi_conn *c)
{
	ssize_t n = read(c->proc.out, buf_reserve(&c->in, READ_SIZE), READ_SIZE);

	if (n > 0)
		buf_added(&c->in, (size_t)n);
	else if (!n || (errno != EAGAIN && errno != EINTR))
		c->eof = true;
	return n > 0;
}

/*
 * Waits for output (or for room to write: want_write). 0: something happened, look again; 1: the
 * deadline passed; -1: GDB is dead.
 */
static int wait_io(struct mi_conn *c, bool want_write, int64_t deadline, struct err *e)
{
	struct pollfd p[4] = {
		{.fd = c->eof ? -1 : c->proc.out, .events = POLLIN},
		{.fd = c->proc.err, .events = POLLIN},
		{.fd = c->proc.pidfd, .events = POLLIN},
		{.fd = want_write ? c->proc.in : -1, .events = POLLOUT},
	};
	int n = poll(p, 4, remaining_ms(deadline));

	if (n < 0 && errno != EINTR)
		return err_errno(e, ERR_INTERNAL, "cannot wait for GDB");
	if (!n)
		return 1;
	if (n < 0)
		return 0;
	if (p[1].revents)
		keep_stderr_tail(c);
	if (p[0].revents && read_some(c))
		return 0;
	/* Output that is left in the pipe is read before the death is reported. */
	if (c->eof || (p[2].revents && !p[0].revents)) {
		/* At the end of its output GDB is about to exit: waits a moment to see how. */
		struct pollfd dying = {.fd = c->proc.pidfd, .events = POLLIN};

		poll(&dying, 1, 200);
		set_dead(c, c->eof ? "it closed its output" : "it ended");
		return fail_dead(c, e);
	}
	return 0;
}

/* Writes without letting SIGPIPE through to a process that did not ask for it. */
static ssize_t write_no_sigpipe(int fd, const char *p, size_t n)
{
	sigset_t pipe_set, old, pending;
	bool was_pending;
	ssize_t r;
	int saved;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	r = write(fd, p, n);
	saved = errno;
	if (r < 0 && saved == EPIPE && !was_pending)
		sigtimedwait(&pipe_set, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return r;
}

/* 0, 1 (deadline) or -1, as wait_io. */
static int send_all(struct mi_conn *c, const char *p, size_t n, int64_t deadline, struct err *e)
{
	while (n) {
		ssize_t w = write_no_sigpipe(c->proc.in, p, n);
		int r;

		if (w >= 0) {
			p += w;
			n -= (size_t)w;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			set_dead(c, "it closed its input");
			return fail_dead(c, e);
		}
		r = wait_io(c, true, deadline, e);
		if (r)
			return r;
	}
	return 0;
}

/* Takes the next complete line out of the buffer into line; false: there is none yet. */
static bool take_line(struct mi_conn *c, struct buf *line)
{
	char *nl;

	if (c->scanned >= c->in.len)
		return false;
	nl = memchr(c->in.data + c->scanned, '\n', c->in.len - c->scanned);
	if (!nl) {
		c->scanned = c->in.len;
		return false;
	}
	buf_clear(line);
	buf_add(line, c->in.data, (size_t)(nl - c->in.data));
	buf_consume(&c->in, line->len + 1);
	c->scanned = 0;
	return true;
}

static int next_line(struct mi_conn *c, struct buf *line, int64_t deadline, struct err *e)
{
	while (!take_line(c, line)) {
		int r;

		if (c->dead[0])
			return fail_dead(c, e);
		if (c->in.len > LINE_MAX_BYTES) {
			set_dead(c, "it sent a line without an end");
			return fail_dead(c, e);
		}
		r = wait_io(c, false, deadline, e);
		if (r)
			return r;
	}
	return 0;
}

static void add_async(struct mi_reply *r, struct mi_record *rec)
{
	r->async = xreallocarray(r->async, r->async_n + 1, sizeof(struct mi_record *));
	r->async[r->async_n++] = rec;
}

/* Adds rec to r, which owns it from then on. true: it is a result record. */
static bool file_record(struct mi_reply *r, struct mi_record *rec)
{
	switch (rec->type) {
	case MI_RESULT:
		mi_record_free(r->result);
		r->result = rec;
		return true;
	case MI_EXEC:
	case MI_STATUS:
	case MI_NOTIFY:
		add_async(r, rec);
		return false;
	case MI_CONSOLE:
		buf_add(&r->console, rec->text, rec->text_len);
		break;
	case MI_LOG:
	case MI_TARGET:
		buf_add(&r->log, rec->text, rec->text_len);
		break;
	case MI_PROMPT:
		break;
	}
	mi_record_free(rec);
	return false;
}

/* Reads one record; lines that are not MI (a program's own output) are added to the log. Returns as wait_io. */
static int read_record(struct mi_conn *c, struct mi_reply *r, int64_t deadline, struct mi_record **out, struct err *e)
{
	cleanup_buf struct buf line = {0};
	struct err why;

	for (;;) {
		int w = next_line(c, &line, deadline, e);

		if (w)
			return w;
		if (!mi_parse(buf_str(&line), line.len, out, &why))
			return 0;
		buf_add(&r->log, buf_str(&line), line.len);
		buf_add_char(&r->log, '\n');
	}
}

/* Reads until the result with this token. Returns as wait_io. */
static int read_result(struct mi_conn *c, int64_t token, int64_t deadline, struct mi_reply *r, struct err *e)
{
	for (;;) {
		struct mi_record *rec;
		int w = read_record(c, r, deadline, &rec, e);

		if (w)
			return w;
		/* The late result of a command that was given up is dropped. */
		if (rec->type == MI_RESULT && rec->token != token) {
			mi_record_free(rec);
			continue;
		}
		if (file_record(r, rec))
			return 0;
	}
}

static void kill_gdb(struct mi_conn *c)
{
	struct pollfd p = {.fd = c->proc.pidfd, .events = POLLIN};

	if (c->proc.reaped)
		return;
	pidfd_send_signal(c->proc.pidfd, SIGKILL, NULL, 0);
	while (poll(&p, 1, 5000) < 0 && errno == EINTR)
		;
	if (!waitid(P_PIDFD, (id_t)c->proc.pidfd, &(siginfo_t){0}, WEXITED | WNOHANG))
		c->proc.reaped = true;
}

/* The deadline has passed: interrupt, and kill if that does not help. Always -1. */
static int give_up(struct mi_conn *c, const char *cmd, int64_t token, int timeout_ms, struct mi_reply *r, struct err *e)
{
	int64_t deadline = now_ms() + INTERRUPT_GRACE_MS;

	pidfd_send_signal(c->proc.pidfd, SIGINT, NULL, 0);
	if (!read_result(c, token, deadline, r, e))
		return err_set(e, ERR_TIMEOUT, "GDB did not answer within %d ms, and was interrupted, in: %.200s",
			       timeout_ms, cmd);
	if (!c->dead[0]) {
		kill_gdb(c);
		snprintf(c->dead, sizeof(c->dead), "killed after %d ms without an answer to: %.100s", timeout_ms, cmd);
	}
	return err_set(e, ERR_TIMEOUT, "GDB is gone: %s", c->dead);
}

void mi_conn_tick(struct mi_conn *c, bool (*tick)(void *ctx), void *ctx)
{
	c->tick = tick;
	c->tick_ctx = ctx;
}

/* As read_result, but calls the tick meanwhile. */
static int await_result(struct mi_conn *c, int64_t token, int timeout_ms, struct mi_reply *r, struct err *e)
{
	int64_t deadline = now_ms() + timeout_ms;

	for (;;) {
		int64_t slice = now_ms() + TICK_MS;
		int w = read_result(c, token, c->tick && slice < deadline ? slice : deadline, r, e);

		if (w <= 0 || !c->tick || slice >= deadline)
			return w;
		if (c->tick(c->tick_ctx))
			deadline = now_ms() + timeout_ms;
	}
}

int mi_conn_cmd(struct mi_conn *c, const char *cmd, int timeout_ms, struct mi_reply *r, struct err *e)
{
	cleanup_free char *line = NULL;
	int64_t deadline = now_ms() + timeout_ms;
	int64_t token = ++c->token;
	int w;

	mi_reply_fini(r);
	if (c->dead[0])
		return fail_dead(c, e);
	if (strchr(cmd, '\n'))
		return err_set(e, ERR_USAGE, "a GDB command has to be one line");
	line = str_fmt("%lld%s\n", (long long)token, cmd);
	w = send_all(c, line, strlen(line), deadline, e);
	if (!w)
		w = await_result(c, token, timeout_ms, r, e);
	if (w > 0)
		return give_up(c, cmd, token, timeout_ms, r, e);
	if (w < 0)
		return -1;
	if (!strcmp(r->result->klass, "exit"))
		set_dead(c, "it was told to exit");
	return !strcmp(r->result->klass, "error");
}

static const struct mi_record *find_exec(const struct mi_reply *r, const char *klass)
{
	for (size_t i = 0; i < r->async_n; i++)
		if (r->async[i]->type == MI_EXEC && !strcmp(r->async[i]->klass, klass))
			return r->async[i];
	return NULL;
}

int mi_conn_wait(struct mi_conn *c, const char *klass, int timeout_ms, struct mi_reply *r, const struct mi_record **out,
		 struct err *e)
{
	int64_t deadline = now_ms() + timeout_ms;

	while (!(*out = find_exec(r, klass))) {
		struct mi_record *rec;
		int w = read_record(c, r, deadline, &rec, e);

		if (w < 0)
			return -1;
		if (w > 0)
			return err_set(e, ERR_TIMEOUT, "GDB did not report '%s' within %d ms", klass, timeout_ms);
		file_record(r, rec);
	}
	return 0;
}

/* GDB is ready when its first prompt comes; what it prints before is its greeting. */
static int read_first_prompt(struct mi_conn *c, int timeout_ms, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	int64_t deadline = now_ms() + timeout_ms;
	enum mi_type type;

	do {
		struct mi_record *rec;
		int w = read_record(c, &r, deadline, &rec, e);

		if (w > 0)
			return err_set(e, ERR_TIMEOUT, "GDB was not ready within %d ms", timeout_ms);
		if (w < 0) {
			e->kind = ERR_HOST;
			return err_wrap(e, "cannot start GDB");
		}
		type = rec->type;
		file_record(&r, rec);
	} while (type != MI_PROMPT);
	return 0;
}

struct mi_conn *mi_conn_new(char *const argv[], int timeout_ms, struct err *e)
{
	struct mi_conn *c = xcalloc(1, sizeof(*c));

	if (mi_spawn(&c->proc, argv, true, e)) {
		free(c);
		return NULL;
	}
	if (read_first_prompt(c, timeout_ms, e)) {
		mi_conn_free(c);
		return NULL;
	}
	return c;
}

void mi_conn_free(struct mi_conn *c)
{
	if (!c)
		return;
	kill_gdb(c);
	mi_proc_close(&c->proc);
	buf_fini(&c->in);
	buf_fini(&c->err);
	free(c);
}

const char *mi_conn_dead(const struct mi_conn *c)
{
	return c->dead[0] ? c->dead : NULL;
}

const char *mi_reply_error(const struct mi_reply *r)
{
	const char *msg = r->result ? mi_str(r->result->results, "msg") : NULL;

	return msg ? msg : "";
}

void mi_reply_fini(struct mi_reply *r)
{
	mi_record_free(r->result);
	buf_fini(&r->console);
	buf_fini(&r->log);
	for (size_t i = 0; i < r->async_n; i++)
		mi_record_free(r->async[i]);
	free(r->async);
	*r = (struct mi_reply){0};
}
