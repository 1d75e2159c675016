/* SPDX-License-Identifier: MIT */
/*
 * link.c: GDB: commands and their results, and its other records, which become events for the editor. With mi-async GDB
 * answers a command at once even while the program runs, so the adapter waits for each answer.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

#define LAST_WORDS_MS 1000

int dap_start_gdb(struct dap *d, const struct strv *args, struct err *e)
{
	if (mi_spawn(&d->gdb, args->s, false, e)) {
		d->gdb.pid = 0;
		return -1;
	}
	return 0;
}

const char *dap_error(const struct mi_record *r)
{
	const char *msg = r ? mi_str(r->results, "msg") : NULL;

	return msg ? msg : "the debugging session has ended";
}

/* Reads what is there. Returns the number of bytes; 0: the end. */
static ssize_t take(int fd, struct buf *b)
{
	ssize_t n = read(fd, buf_reserve(b, 65536), 65536);

	buf_added(b, n > 0 ? (size_t)n : 0);
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 1 : n;
}

/* GDB may close its standard error before its other descriptors. */
static void take_complaint(struct dap *d)
{
	size_t had = d->complaint.len;

	if (take(d->gdb.err, &d->complaint) <= 0) {
		close(d->gdb.err);
		d->gdb.err = -1;
	}
	if (d->complaint.len > had)
		dap_output(d, "stderr", d->complaint.data + had, d->complaint.len - had);
}

/* GDB has ended: reads the rest of its output. */
static void hear_last_words(struct dap *d)
{
	struct pollfd p = {.fd = d->gdb.err, .events = POLLIN};

	while (d->gdb.pid && d->gdb.err >= 0 && poll(&p, 1, LAST_WORDS_MS) > 0)
		take_complaint(d);
}

static void gone(struct dap *d)
{
	hear_last_words(d);
	mi_proc_close(&d->gdb);
	d->gdb.pid = 0;
	d->running = false;
	d->on_gone(d);
}

/* Reads GDB's output, and waits for some if `wait`. false: GDB has ended. */
static bool fill(struct dap *d, bool wait)
{
	struct pollfd p[] = {{.fd = d->gdb.out, .events = POLLIN}, {.fd = d->gdb.err, .events = POLLIN}};

	while (poll(p, 2, wait ? -1 : 0) < 0)
		if (errno != EINTR)
			return false;
	if (p[1].revents)
		take_complaint(d);
	return !p[0].revents || take(d->gdb.out, &d->said) > 0;
}

void dap_refs_clear(struct dap *d)
{
	for (size_t i = 0; i < d->nrefs; i++)
		free(d->refs[i].object);
	free(d->refs);
	d->refs = NULL;
	d->nrefs = 0;
}

/* Parses the next whole line; NULL: there is none, or it is not MI. *any: there was a line. */
static struct mi_record *next(struct dap *d, bool *any)
{
	const char *end = d->said.len ? memchr(d->said.data, '\n', d->said.len) : NULL;
	struct mi_record *r = NULL;
	struct err ignored;

	*any = end != NULL;
	if (!end)
		return NULL;
	if (mi_parse(d->said.data, (size_t)(end - d->said.data), &r, &ignored))
		r = NULL;
	buf_consume(&d->said, (size_t)(end - d->said.data) + 1);
	return r;
}

void dap_listen(struct dap *d)
{
	bool open = fill(d, false), any = true;

	while (any && d->gdb.pid) {
		struct mi_record *r = next(d, &any);

		if (r)
			d->on_record(d, r);
		mi_record_free(r);
	}
	if (open)
		return;
	gone(d);
	dap_event(d, "terminated", NULL);
}

static bool send_line(struct dap *d, const char *line)
{
	size_t len = strlen(line);

	while (len) {
		ssize_t n = write(d->gdb.in, line, len);
		struct pollfd p = {.fd = d->gdb.in, .events = POLLOUT};

		if (n < 0 && errno == EAGAIN)
			n = poll(&p, 1, -1) > 0 ? 0 : -1;
		if (n < 0 && errno != EINTR)
			return false;
		line += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

struct mi_record *dap_mi(struct dap *d, const char *fmt, ...)
{
	cleanup_free char *command = NULL, *line = NULL;
	bool any, open = d->gdb.pid != 0;
	va_list ap;

	va_start(ap, fmt);
	command = str_vfmt(fmt, ap);
	va_end(ap);
	line = str_fmt("%d%s\n", ++d->token, command);
	open = open && send_line(d, line);
	while (open) {
		struct mi_record *r = next(d, &any);

		if (r && r->type == MI_RESULT && r->token == d->token) {
			d->running |= str_eq(r->klass, "running");
			return r;
		}
		if (r)
			d->on_record(d, r);
		else if (!any)
			open = fill(d, true);
		mi_record_free(r);
	}
	hear_last_words(d);
	return NULL;
}

bool dap_try(struct dap *d, struct mi_record **out, const json_t *request, const char *command)
{
	struct mi_record *r = dap_mi(d, "%s", command);
	bool good = r && !str_eq(r->klass, "error");

	if (!good)
		dap_refuse(d, request, dap_error(r));
	if (good && out)
		*out = r;
	else
		mi_record_free(r);
	return good;
}

/*
 * Executes a command line, or evaluates an expression, in a frame. Returns the record, and what was printed meanwhile.
 */
static struct mi_record *in_frame(struct dap *d, int thread, int frame, const char *command, const char *text,
				  struct buf *printed)
{
	cleanup_free char *quoted = mi_quote(text),
			  *at = thread ? str_fmt("--thread %d --frame %d ", thread, frame) : NULL;
	const char *space = strchr(command, ' ');
	int verb = (int)(space ? space - command : (ptrdiff_t)strlen(command));
	struct buf *was = d->capture;
	struct mi_record *r;

	d->capture = printed;
	r = dap_mi(d, "%.*s %s%s %s", verb, command, at ? at : "", space ? space + 1 : "", quoted);
	d->capture = was;
	return r;
}

struct mi_record *dap_new_object(struct dap *d, int thread, int frame, const char *expr)
{
	cleanup_free char *quoted = mi_quote(expr);

	return thread ? dap_mi(d, "-var-create --thread %d --frame %d - * %s", thread, frame, quoted)
		      : dap_mi(d, "-var-create - @ %s", quoted);
}

static char *refused(const struct mi_record *r, char **why)
{
	if (why)
		*why = xstrdup(dap_error(r));
	return NULL;
}

char *dap_console(struct dap *d, int thread, int frame, const char *line, char **why)
{
	cleanup_buf struct buf printed = {0};
	struct mi_record *r = in_frame(d, thread, frame, "-interpreter-exec console", line, &printed);
	char *text = r && !str_eq(r->klass, "error") ? xstrdup(buf_str(&printed)) : refused(r, why);

	mi_record_free(r);
	return text;
}

char *dap_value(struct dap *d, int thread, int frame, const char *expr, char **why)
{
	cleanup_buf struct buf printed = {0};
	struct mi_record *r = in_frame(d, thread, frame, "-data-evaluate-expression", expr, &printed);
	const char *value = r && !str_eq(r->klass, "error") ? mi_str(r->results, "value") : NULL;
	char *text = value ? xstrdup(value) : refused(r, why);

	mi_record_free(r);
	return text;
}

void dap_stop_gdb(struct dap *d)
{
	if (!d->gdb.pid)
		return;
	mi_record_free(dap_mi(d, "-gdb-exit"));
	while (fill(d, true))
		buf_clear(&d->said);
	gone(d);
}
