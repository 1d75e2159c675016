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
	if (mi_spawn(&d->gdb, args->s, e)) {
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

/* How many bytes came; 0: the end. */
static ssize_t take(int fd, struct buf *b)
{
	ssize_t n = read(fd, buf_reserve(b, 65536), 65536);

	buf_added(b, n > 0 ? (size_t)n : 0);
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 1 : n;
}

/* Its standard error may be closed before the rest. */
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

/* GDB has ended: its last output may not have been read yet. */
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
	dap_waiting_gone(d);
}

/* Reads what is there: false when GDB has ended. Waits, if told so. */
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

static const struct {
	const char *gdb, *reason;
} reasons[] = {
	{"breakpoint-hit", "breakpoint"},
	{"end-stepping-range", "step"},
	{"function-finished", "step"},
	{"watchpoint-trigger", "data breakpoint"},
	{"signal-received", "exception"},
	{"no-history", "pause"},
	{"read-watchpoint-trigger", "data breakpoint"},
	{"access-watchpoint-trigger", "data breakpoint"},
};

static const char *const catches[][2] = {{GROUP_THROW, "thrown"}, {GROUP_CATCH, "caught"}};
static const char *const watchpoints[] = {"wpt", "hw-rwpt", "hw-awpt"};

static const char *reason_of(const struct dap *d, const struct mi_value *results)
{
	const char *why = mi_str(results, "reason"), *sig = mi_str(results, "signal-name");

	if (d->entry)
		return "entry";
	if (d->stop_id)
		return "exception";
	if (str_eq(sig, "SIGINT") || str_eq(sig, "0"))
		return "pause";
	for (size_t i = 0; why && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (str_eq(reasons[i].gdb, why))
			return reasons[i].reason;
	return "pause";
}

/* The breakpoint, or the watchpoint, or 0. */
static int number_of(const struct mi_value *results)
{
	int number = 0;

	mi_int(results, "bkptno", &number);
	for (size_t i = 0; !number && i < sizeof(watchpoints) / sizeof(watchpoints[0]); i++)
		mi_int(mi_get(results, watchpoints[i]), "number", &number);
	return number;
}

static void remember_exception(struct dap *d, const struct mi_value *results)
{
	const char *sig = mi_str(results, "signal-name"), *text = mi_str(results, "signal-meaning");

	free(steal_ptr(&d->stop_id));
	free(steal_ptr(&d->stop_text));
	for (size_t i = 0; i < 2; i++)
		if (dap_breakpoint_is(d, number_of(results), catches[i][0])) {
			d->stop_id = str_fmt("C++ exception %s", catches[i][1]);
			d->stop_text = str_fmt("A C++ exception is %s here", catches[i][1]);
		}
	if (sig && !str_eq(sig, "SIGINT") && !str_eq(sig, "0")) {
		d->stop_id = xstrdup(sig);
		d->stop_text = str_dup(text);
	}
}

/* What the editor shows beside the reason; NULL: nothing. */
static json_t *describe(const struct dap *d, const struct mi_value *results)
{
	const struct mi_value *value = mi_get(results, "value");
	const char *old = mi_str(value, "old"), *new = mi_str(value, "new"), *sig = mi_str(results, "signal-meaning");

	if (str_eq(mi_str(results, "reason"), "no-history"))
		return json_string(d->back ? "The recording begins here" : "The recording ends here");
	if (d->stop_text || sig)
		return dap_text(d->stop_text ? d->stop_text : sig);
	if (old && new) {
		cleanup_free char *text = str_fmt("%s -> %s", old, new);

		return dap_text(text);
	}
	return NULL;
}

static void stopped(struct dap *d, const struct mi_value *results)
{
	const char *why = mi_str(results, "reason");
	json_t *body, *description;
	int number = number_of(results);
	bool arrived, waited = d->waiting;

	d->running = false;
	arrived = dap_arrived(d);

	/* without a reason: the state when GDB connected, which is no event */
	if (!why)
		return;
	dap_refs_clear(d);
	mi_int(results, "thread-id", &d->thread);
	remember_exception(d, results);
	body = json_pack("{s:s, s:i, s:b}", "reason",
			 arrived  ? "goto"
			 : waited ? "pause"
				  : reason_of(d, results),
			 "threadId", d->thread, "allThreadsStopped", 1);
	description = describe(d, results);
	if (description)
		json_object_set_new(body, "description", description);
	if (number)
		json_object_set_new(body, "hitBreakpointIds", json_pack("[i]", number));
	d->entry = false;
	dap_event(d, "stopped", body);
}

static void tell(struct dap *d, const struct mi_record *r)
{
	static const char *const categories[] = {[MI_CONSOLE] = "console", [MI_TARGET] = "stdout", [MI_LOG] = "stderr"};

	bool text = r->type == MI_CONSOLE || r->type == MI_TARGET || r->type == MI_LOG;

	if (r->type == MI_EXEC && str_eq(r->klass, "stopped"))
		stopped(d, r->results);
	else if (r->type == MI_EXEC)
		d->running = true;
	if (text && d->capture)
		buf_add(d->capture, r->text, r->text_len);
	else if (text)
		dap_output(d, categories[r->type], r->text, r->text_len);
	if (r->type == MI_TARGET && d->waiting)
		buf_add(&d->moved, r->text, r->text_len);
}

/* The next whole line; NULL: there is none, or it is no MI. *any: there was one. */
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
			tell(d, r);
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
			tell(d, r);
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

/* A command line, or an expression, in a frame: the record, and what was printed meanwhile. */
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
