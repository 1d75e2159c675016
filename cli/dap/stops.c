/* SPDX-License-Identifier: MIT */
/*
 * stops.c: turns GDB's records that are not answers into events: the program runs, or has stopped, or GDB has printed
 * text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"

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

/* The number of the breakpoint or watchpoint, or 0. */
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

/* The text that the editor shows beside the reason; NULL: none. */
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

	/* a stop without a reason only shows the state when GDB connected, and is no event */
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

void dap_record(struct dap *d, const struct mi_record *r)
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
