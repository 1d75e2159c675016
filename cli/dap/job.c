/* SPDX-License-Identifier: MIT */
/*
 * job.c: fred/explain and fred/check: `fredctl --json explain`, or check, of the recording that is debugged, which
 * takes long; one at a time.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"

static void answer(struct dap *d)
{
	struct err e = {0};
	json_t *result = d->job_out.len ? json_parse(d->job_out.data, d->job_out.len, &e) : NULL,
	       *message = json_object_get(json_object_get(result, "error"), "text");
	const char *why = json_string_value(message);

	if (json_is_array(json_object_get(result, d->job_list)))
		dap_respond(d, d->job_request, json_incref(result));
	else
		dap_refuse(d, d->job_request,
			   why		    ? why
			   : d->job_err.len ? buf_str(&d->job_err)
					    : "fredctl has ended without an answer");
	json_decref(result);
}

void dap_job_stop(struct dap *d)
{
	if (d->job.pid)
		mi_proc_close(&d->job);
	d->job.pid = 0;
	json_decref(d->job_request);
	d->job_request = NULL;
	buf_clear(&d->job_out);
	buf_clear(&d->job_err);
}

/* false: the output has ended. */
static bool take(int fd, struct buf *b)
{
	ssize_t n = read(fd, buf_reserve(b, 65536), 65536);

	buf_added(b, n > 0 ? (size_t)n : 0);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void dap_job_listen(struct dap *d)
{
	struct pollfd p[] = {{.fd = d->job.out, .events = POLLIN}, {.fd = d->job.err, .events = POLLIN}};

	if (!d->job.pid || poll(p, 2, 0) <= 0)
		return;
	if (p[1].revents && !take(d->job.err, &d->job_err)) {
		close(d->job.err);
		d->job.err = -1;
	}
	if (!p[0].revents || take(d->job.out, &d->job_out))
		return;
	while (d->job.err >= 0 && poll(&p[1], 1, -1) > 0 && take(d->job.err, &d->job_err))
		;
	answer(d);
	dap_job_stop(d);
}

/* words: the command, ended by NULL. list: the name of the array in its answer. */
static void begin(struct dap *d, const json_t *request, const json_t *args, const char *const *words, const char *list)
{
	const char *rec = dap_str(args, "recording", "");
	cleanup_strv struct strv argv = {0};
	struct err e;

	if (d->job.pid || !*rec) {
		cleanup_free char *why = d->job.pid ? xstrdup("explain or check is already running")
						    : str_fmt("%s: which recording?", words[0]);

		dap_refuse(d, request, why);
		return;
	}
	strv_add_all(&argv, (const char *const[]){d->command->s[0], "--json", "--quiet", NULL});
	strv_add_all(&argv, words);
	strv_add(&argv, rec);
	if (dap_int(args, "process", 0))
		strv_addf(&argv, "--process=%d", dap_int(args, "process", 0));
	if (mi_spawn(&d->job, argv.s, false, &e)) {
		d->job.pid = 0;
		dap_refuse(d, request, e.text);
		return;
	}
	d->job_list = list;
	d->job_request = json_deep_copy(request);
}

void dap_explain(struct dap *d, const json_t *request, const json_t *args)
{
	begin(d, request, args, (const char *const[]){"explain", NULL}, "chain");
}

/* "what": "memory" or "races"; "uninitialised" */
void dap_check(struct dap *d, const json_t *request, const json_t *args)
{
	const char *what = dap_str(args, "what", "");
	bool follows = json_is_true(json_object_get(args, "uninitialised"));

	if (!str_eq(what, "memory") && !str_eq(what, "races"))
		dap_refuse(d, request, "check: \"what\" is memory or races");
	else
		begin(d, request, args, (const char *const[]){"check", what, follows ? "--uninitialised" : NULL, NULL},
		      "findings");
}
