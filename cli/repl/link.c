/* SPDX-License-Identifier: MIT */
/* link.c: the connection to GDB: see repl.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "gdb/mi_quote.h"
#include "repl/repl.h"

#define INTERRUPT "\3"
#define BUSY "fred-busy" /* the code that cli/bridge/second_ui.c sends to all clients but the first */
#define TARGET "target:" /* in front of a file that GDB reads from its target */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupts = 1;
}

int link_open(struct link *l, const char *path, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct sigaction sa = {.sa_handler = on_interrupt}; /* without SA_RESTART, so that poll ends */

	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, ERR_USAGE, "%s: too long for a socket's name", path);
	strcpy(a.sun_path, path);
	return l->fd < 0 || connect(l->fd, (struct sockaddr *)&a, sizeof(a)) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

void link_close(struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	buf_fini(&l->in);
	free(l->file);
}

static int ended(struct err *e)
{
	return err_set(e, ERR_HOST, "the session has ended: fredctl debug --resume continues it");
}

/* Reads more bytes from GDB. A Ctrl-C meanwhile interrupts the program. */
static int fill(struct link *l, struct err *e)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	ssize_t n;

	for (;;) {
		if (interrupts) {
			interrupts = 0;
			if (write_full(l->fd, INTERRUPT, 1))
				return ended(e);
		}
		if (poll(&p, 1, -1) >= 0)
			break;
		if (errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "poll");
	}
	n = read(l->fd, buf_reserve(&l->in, 65536), 65536);
	if (n <= 0)
		return ended(e);
	buf_added(&l->in, (size_t)n);
	return 0;
}

/* Parses the next record in the buffer; NULL: there is no whole line. */
static struct mi_record *next(struct link *l)
{
	struct mi_record *r = NULL;
	struct err ignored;
	char *end;

	while (!r && l->in.len && (end = memchr(l->in.data, '\n', l->in.len))) {
		size_t n = (size_t)(end - l->in.data) + 1;

		if (mi_parse(l->in.data, n, &r, &ignored))
			r = NULL;
		buf_consume(&l->in, n);
	}
	return r;
}

static void note_stop(struct link *l, const struct mi_value *v)
{
	const struct mi_value *frame = mi_get(v, "frame");
	const char *file = mi_str(frame, "fullname");

	l->running = false;
	free(l->file);
	l->file = NULL;
	if (!file || mi_int(frame, "line", &l->line))
		return;
	l->file = xstrdup(str_starts(file, TARGET) ? file + strlen(TARGET) : file);
}

static void take(struct link *l, const struct mi_record *r)
{
	if (r->type == MI_EXEC && str_eq(r->klass, "running"))
		l->running = true;
	else if (r->type == MI_EXEC && str_eq(r->klass, "stopped"))
		note_stop(l, r->results);
	else if ((r->type == MI_CONSOLE || r->type == MI_TARGET) && !l->quiet)
		fwrite(r->text, 1, r->text_len, stdout);
}

/* The log stream repeats commands; it is used only if a result does not say what is wrong. */
static struct mi_record *wait_result(struct link *l, struct err *e)
{
	struct mi_record *r;

	for (;;) {
		while ((r = next(l))) {
			if (r->type == MI_RESULT && r->token == l->token)
				return r;
			take(l, r);
			mi_record_free(r);
		}
		fflush(stdout);
		if (fill(l, e))
			return NULL;
	}
}

static struct mi_record *ask(struct link *l, const char *command, const char *arg, struct err *e)
{
	char *quoted = mi_quote(arg);
	cleanup_free char *line = str_fmt("%lld%s %s\n", (long long)++l->token, command, quoted ? quoted : "\"\"");

	free(quoted);
	/* a GDB that has gone may have said why */
	if (write_full(l->fd, line, strlen(line)) && errno != EPIPE) {
		ended(e);
		return NULL;
	}
	return wait_result(l, e);
}

/* Waits until the program has stopped. */
static int wait_stop(struct link *l, struct err *e)
{
	while (l->running) {
		struct mi_record *r = next(l);

		if (r)
			take(l, r);
		mi_record_free(r);
		fflush(stdout);
		if (!r && fill(l, e))
			return -1;
	}
	return 0;
}

static int finish(struct link *l, struct mi_record *r, struct err *e)
{
	bool refused = str_eq(r->klass, "error");
	const char *why = mi_str(r->results, "msg");

	bool busy = refused && str_eq(mi_str(r->results, "code"), BUSY);

	l->running |= str_eq(r->klass, "running");
	if (busy)
		err_set(e, ERR_HOST, "%s", why);
	else if (refused)
		fprintf(stderr, "%s\n", why ? why : "");
	mi_record_free(r);
	if (busy)
		return -1;
	return wait_stop(l, e) ? -1 : refused;
}

int link_command(struct link *l, const char *command, struct err *e)
{
	struct mi_record *r;
	int refused;

	interrupts = 0;
	r = ask(l, "-interpreter-exec console", command, e);
	if (!r)
		return -1;
	refused = finish(l, r, e);
	if (refused < 0)
		return -1;
	/* this prompt is not GDB's: its state is saved, and the command counted, all the same */
	r = ask(l, "-interpreter-exec console", "python at_prompt()", e);
	mi_record_free(r);
	return r ? refused : -1;
}

int link_complete(struct link *l, const char *text, struct strv *out, struct err *e)
{
	struct mi_record *r = ask(l, "-complete", text, e);
	const struct mi_value *matches = r ? mi_get(r->results, "matches") : NULL;

	for (size_t i = 0; matches && i < matches->n; i++)
		if (matches->item[i]->kind == MI_STRING)
			strv_add(out, matches->item[i]->str);
	mi_record_free(r);
	return r ? 0 : -1;
}

int link_hear(struct link *l, struct err *e)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	struct mi_record *r;

	while (poll(&p, 1, 0) > 0)
		if (fill(l, e))
			return -1;
	while ((r = next(l))) {
		take(l, r);
		mi_record_free(r);
	}
	return 0;
}
