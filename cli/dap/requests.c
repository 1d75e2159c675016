/* SPDX-License-Identifier: MIT */
/* requests.c: the table of requests, and those that start, move and end the program. */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"

static json_t *filters(void)
{
	static const struct {
		const char *filter, *label;
		bool on;
	} all[] = {{"throw", "C++: throw", false}, {"catch", "C++: catch", false}, {"signals", "Fatal signals", true}};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "filter", all[i].filter, "label", all[i].label,
						      "default", all[i].on));
	return list;
}

static void initialize(struct dap *d, const json_t *request, const json_t *args)
{
	static const char *const can[] = {"supportsConfigurationDoneRequest",
					  "supportsFunctionBreakpoints",
					  "supportsConditionalBreakpoints",
					  "supportsHitConditionalBreakpoints",
					  "supportsEvaluateForHovers",
					  "supportsStepBack",
					  "supportsSteppingGranularity",
					  "supportsRestartRequest",
					  "supportsTerminateRequest",
					  "supportsDataBreakpoints",
					  "supportsInstructionBreakpoints",
					  "supportsDisassembleRequest",
					  "supportsReadMemoryRequest",
					  "supportsSetVariable",
					  "supportsSetExpression",
					  "supportsCompletionsRequest",
					  "supportsExceptionInfoRequest"};
	json_t *o = json_object();

	d->takes_invalidated = json_is_true(json_object_get(args, "supportsInvalidatedEvent"));
	d->columns_from_0 = json_is_false(json_object_get(args, "columnsStartAt1"));
	for (size_t i = 0; i < sizeof(can) / sizeof(can[0]); i++)
		json_object_set_new(o, can[i], json_true());
	json_object_set_new(o, "exceptionBreakpointFilters", filters());
	dap_respond(d, request, o);
}

/* Was the option given on the command line ("--rec=" and the like)? */
static bool given(const struct dap *d, const char *option)
{
	for (size_t i = 0; i < d->command->n; i++)
		if (str_starts(d->command->s[i], option))
			return true;
	return false;
}

/*
 * Handles launch and attach. Arguments: "recording", or "program" for the program's last recording; "position",
 * "process", "stopOnEntry".
 */
static void launch(struct dap *d, const json_t *request, const json_t *args)
{
	static const struct {
		const char *key, *option;
	} names[] = {{"recording", "--rec="}, {"position", "--at="}};
	cleanup_strv struct strv argv = {0};
	struct mi_record *r;
	struct err e;

	if (json_is_true(json_object_get(args, "live"))) {
		dap_refuse(
			d, request,
			"live: an editor debugs recordings; record the program first (fredctl record -- PROGRAM), or "
			"run `fredctl debug -- PROGRAM` in a terminal");
		return;
	}
	strv_add_all(&argv, (const char *const *)d->command->s);
	for (size_t i = 0; i < 2; i++)
		if (*dap_str(args, names[i].key, "") && !given(d, names[i].option))
			strv_addf(&argv, "%s%s", names[i].option, dap_str(args, names[i].key, ""));
	if (dap_int(args, "process", 0) && !given(d, "--process="))
		strv_addf(&argv, "--process=%d", dap_int(args, "process", 0));
	strv_add(&argv, "-q");
	if (*dap_str(args, "program", ""))
		strv_add(&argv, dap_str(args, "program", ""));
	d->stop_on_entry = json_is_true(json_object_get(args, "stopOnEntry"));
	d->placed = *dap_str(args, "position", "") || given(d, "--at=");
	if (d->gdb.pid || dap_start_gdb(d, &argv, &e)) {
		dap_refuse(d, request, d->gdb.pid ? "a program is being debugged already" : e.text);
		return;
	}
	r = dap_mi(d, "-list-target-features");
	if (r) {
		dap_respond(d, request, NULL);
		dap_event(d, "initialized", NULL);
	} else {
		dap_refuse(d, request, d->complaint.len ? buf_str(&d->complaint) : dap_error(NULL));
	}
	mi_record_free(r);
}

static int only_thread(struct dap *d)
{
	struct mi_record *r = dap_mi(d, "-thread-info");
	int id = 1;

	if (r)
		mi_int(r->results, "current-thread-id", &id);
	mi_record_free(r);
	return id;
}

static void start_off(struct dap *d, const json_t *request, const json_t *args)
{
	dap_respond(d, request, NULL);
	d->entry = d->stop_on_entry;
	if (d->stop_on_entry && d->placed) {
		d->entry = false;
		dap_event(d, "stopped",
			  json_pack("{s:s, s:i, s:b}", "reason", "entry", "threadId", only_thread(d),
				    "allThreadsStopped", 1));
		return;
	}
	if (d->stop_on_entry)
		mi_record_free(dap_mi(d, "-break-insert -t -f main"));
	mi_record_free(dap_mi(d, "-exec-continue"));
}

static void threads(struct dap *d, const json_t *request, const json_t *args)
{
	struct mi_record *r = dap_mi(d, "-thread-info");
	const struct mi_value *list = r ? mi_get(r->results, "threads") : NULL;
	json_t *out = json_array();

	for (size_t i = 0; list && i < list->n; i++) {
		const char *name = mi_str(list->item[i], "name"), *target = mi_str(list->item[i], "target-id");
		const char *shown = name ? name : target ? target : "";
		int id = 0;

		if (mi_str(list->item[i], "details"))
			continue; /* it has not begun, or has ended (daemon/visibility/thread_list.h) */
		mi_int(list->item[i], "id", &id);
		json_array_append_new(out, json_pack("{s:i, s:o}", "id", id, "name", json_text(shown, strlen(shown))));
	}
	dap_respond(d, request, json_pack("{s:o}", "threads", out));
	mi_record_free(r);
}

static const struct move {
	const char *request, *command, *instruction; /* instruction: GDB's command for single instructions */
	const char *options;
} moves[] = {
	{"continue", "-exec-continue", "-exec-continue", ""},
	{"reverseContinue", "-exec-continue", "-exec-continue", "--reverse"},
	{"next", "-exec-next", "-exec-next-instruction", ""},
	{"stepIn", "-exec-step", "-exec-step-instruction", ""},
	{"stepOut", "-exec-finish", "-exec-finish", ""},
	{"stepBack", "-exec-next", "-exec-next-instruction", "--reverse"},
};

static void move(struct dap *d, const json_t *request, const json_t *args)
{
	bool one = str_eq(dap_str(args, "granularity", ""), "instruction");
	cleanup_free char *command = NULL;
	const struct move *m = moves;

	while (!str_eq(m->request, dap_str(request, "command", "")))
		m++;
	command = str_fmt("%s --thread %d %s", one ? m->instruction : m->command, dap_int(args, "threadId", 1),
			  m->options);
	d->back = *m->options;
	d->by_console = false;
	dap_refs_clear(d);
	if (dap_try(d, NULL, request, command))
		dap_respond(d, request, json_pack("{s:b}", "allThreadsContinued", 1));
}

/* GDB would remember an interrupt of a stopped program, and stop it when it is resumed next. */
static void pause_it(struct dap *d, const json_t *request, const json_t *args)
{
	dap_listen(d);
	if (!d->running) {
		dap_respond(d, request, NULL);
		return;
	}
	if (d->by_console)
		kill(d->gdb.pid, SIGINT);
	if (d->by_console || dap_try(d, NULL, request, "-exec-interrupt"))
		dap_respond(d, request, NULL);
}

static void restart(struct dap *d, const json_t *request, const json_t *args)
{
	d->back = d->by_console = false;
	dap_refs_clear(d);
	if (dap_try(d, NULL, request, "-exec-run"))
		dap_respond(d, request, NULL);
}

static void terminate(struct dap *d, const json_t *request, const json_t *args)
{
	dap_stop_gdb(d);
	dap_respond(d, request, NULL);
	dap_event(d, "terminated", NULL);
}

static void disconnect(struct dap *d, const json_t *request, const json_t *args)
{
	dap_stop_gdb(d);
	dap_respond(d, request, NULL);
	d->done = true;
}

static const struct {
	const char *name;
	dap_fn fn;
	bool always; /* also handled when there is no program */
} requests[] = {
	{"initialize", initialize, true},
	{"launch", launch, true},
	{"attach", launch, true},
	{"setBreakpoints", dap_set_breakpoints, false},
	{"setFunctionBreakpoints", dap_set_functions, false},
	{"setInstructionBreakpoints", dap_set_instructions, false},
	{"setExceptionBreakpoints", dap_set_exceptions, false},
	{"dataBreakpointInfo", dap_data_info, false},
	{"setDataBreakpoints", dap_set_data, false},
	{"exceptionInfo", dap_exception_info, false},
	{"readMemory", dap_read_memory, false},
	{"writeMemory", dap_write_memory, true},
	{"disassemble", dap_disassemble, false},
	{"setVariable", dap_set_variable, false},
	{"setExpression", dap_set_expression, false},
	{"completions", dap_completions, false},
	{"fred/position", dap_position, false},
	{"fred/goto", dap_goto, false},
	{"fred/reverseWatch", dap_reverse_watch, false},
	{"fred/checkpoints", dap_checkpoints, false},
	{"fred/checkpoint", dap_checkpoint, false},
	{"fred/bookmark", dap_bookmark, false},
	{"fred/explain", dap_explain, false},
	{"fred/check", dap_check, false},
	{"configurationDone", start_off, false},
	{"threads", threads, false},
	{"stackTrace", dap_stack, false},
	{"scopes", dap_scopes, false},
	{"variables", dap_variables, false},
	{"evaluate", dap_evaluate, false},
	{"continue", move, false},
	{"reverseContinue", move, false},
	{"next", move, false},
	{"stepIn", move, false},
	{"stepOut", move, false},
	{"stepBack", move, false},
	{"pause", pause_it, false},
	{"restart", restart, false},
	{"terminate", terminate, true},
	{"disconnect", disconnect, true},
};

void dap_request(struct dap *d, const json_t *request)
{
	const char *name = dap_str(request, "command", "");

	if (!str_eq(dap_str(request, "type", ""), "request"))
		return;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (!str_eq(requests[i].name, name))
			continue;
		if (d->gdb.pid || requests[i].always)
			requests[i].fn(d, request, json_object_get(request, "arguments"));
		else
			dap_refuse(d, request, "no program is being debugged");
		return;
	}
	dap_refuse(d, request, "not supported");
}
