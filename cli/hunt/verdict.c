/* SPDX-License-Identifier: MIT */
/* verdict.c: see verdict.h. */
#include "hunt/verdict.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "hunt/tool.h"

#define SKIP 125 /* as with git bisect run */

struct verdict {
	const struct hunt_spec *spec;
	const struct hunt_run *run;
	char *rec, *output;
	json_t *fail; /* NULL: it has not failed so far */
	json_t *unknown; /* an invariant that has no value, and why; NULL: all have one */
	bool skip;
	bool unasked; /* the invariants of a run that failed by itself could not be evaluated */
};

bool verdict_is_needed(const struct hunt_spec *spec)
{
	return spec->fail_if || spec->invariants.n;
}

/* 0: the run fails; 1: it does not; 125: it does not count. Any other status is an error of the command. */
static int ask_command(struct verdict *v, struct err *e)
{
	const struct hunt_outcome *o = v->run->outcome;
	cleanup_strv struct strv vars = {0};
	int status;

	if (chdir(v->spec->cwd)) /* the command may have a relative path */
		return err_errno(e, ERR_HOST, "%s", v->spec->cwd);
	strv_addf(&vars, "FRED_STATUS=%d", o->signal ? 128 + o->signal : o->code);
	strv_addf(&vars, "FRED_TIMED_OUT=%d", o->timed_out);
	strv_addf(&vars, "FRED_OUTPUT=%s", v->output);
	strv_addf(&vars, "FRED_RECORDING=%s", v->rec);
	strv_addf(&vars, "FRED_RUN=%llu", (unsigned long long)v->run->n);
	status = tool_shell(v->spec->fail_if, v->output, (const char *const *)vars.s, e);
	if (status < 0)
		return err_wrap(e, "--fail-if");
	v->skip = status == SKIP;
	if (status > 1 && !v->skip)
		return err_set(
			e, ERR_USAGE,
			"--fail-if: '%s' ended with %d: 0 says that the run fails, 1 that it does not, 125 that it "
			"does not count",
			v->spec->fail_if, status);
	if (!status && !v->fail)
		v->fail = json_pack("{s:s, s:o, s:o}", "kind", "fail-if", "text",
				    json_sprintf("--fail-if says that it fails: %s", v->spec->fail_if), "command",
				    json_text(v->spec->fail_if, strlen(v->spec->fail_if)));
	return 0;
}

/* Is it a value, as GDB prints it, that is false in C? */
static bool is_false(const char *value)
{
	static const char *const words[] = {"0", "false", "0x0", "0.0", "'\\000'", "0 '\\000'", "NULL", "nullptr"};
	const char *last = value ? strrchr(value, ' ') : NULL;

	for (unsigned i = 0; value && i < sizeof(words) / sizeof(words[0]); i++)
		if (str_eq(value, words[i]) || (value[0] == '(' && last && str_eq(last + 1, words[i])))
			return true;
	return false;
}

/*
 * Notes that invariants are false. If the run has failed by itself, that stays its failure, but the search for the
 * cause begins with the invariant.
 */
static void broken(struct verdict *v, const json_t *list, const char *when)
{
	if (!v->fail)
		v->fail = json_pack(
			"{s:s, s:o}", "kind", "invariant", "text",
			json_sprintf("the invariant %s is false %s", json_string_value(json_array_get(list, 0)), when));
	json_object_set(v->fail, "invariants", (json_t *)list);
}

/* Evaluates all invariants at a position. One without a value is neither true nor false. */
static int ask_at(struct verdict *v, const char *at, const char *when, struct err *e)
{
	json_auto_t *result = NULL, *list = json_array();
	cleanup_buf struct buf why = {0};
	cleanup_strv struct strv words = {0};
	json_t *item;
	size_t i;
	int status;

	json_decref(v->unknown);
	v->unknown = NULL;
	strv_add_all(&words, (const char *const[]){"eval", v->rec, "--at", at, "--", NULL});
	for (i = 0; i < v->spec->invariants.n; i++)
		strv_add(&words, v->spec->invariants.s[i]);
	status = tool_fredctl((const char *const *)words.s, &result, &why, e);
	if (status < 0)
		return -1;
	/*
	 * the run has failed in any case, and the search will say that its recording does not replay; but if the daemon
	 * has died, it is an error
	 */
	v->unasked = v->fail && status == err_exit_code(ERR_INTERNAL) && !strstr(buf_str(&why), "fredd") &&
		     !json_is_array(json_object_get(result, "values"));
	if (v->unasked)
		return 0;
	if (!json_is_array(json_object_get(result, "values")))
		return err_set(e, status == 77 ? ERR_HOST : ERR_INTERNAL,
			       "the invariants of run %llu cannot be evaluated: %.*s", (unsigned long long)v->run->n,
			       700, buf_str(&why));
	json_array_foreach(json_object_get(result, "values"), i, item)
	{
		if (is_false(json_string_value(json_object_get(item, "value"))))
			json_array_append(list, json_object_get(item, "expr"));
		if (!v->unknown && json_is_string(json_object_get(item, "error")))
			v->unknown = json_sprintf("%s: %s", json_string_value(json_object_get(item, "expr")),
						  json_string_value(json_object_get(item, "error")));
	}
	if (json_array_size(list))
		broken(v, list, when);
	return 0;
}

/* Did the program come to its end by itself, perhaps inside of exit? */
static bool has_exited(const struct verdict *v)
{
	const char *kind = json_string_value(json_object_get(v->fail, "kind"));

	return !kind || str_eq(kind, "exit") || str_eq(kind, "fail-if");
}

/*
 * Evaluates the invariants at the end; and at the call of exit, as reverse-watch does, since the program's destructors
 * may clear what they read.
 */
static int ask_at_end(struct verdict *v, struct err *e)
{
	if (ask_at(v, "end", "at the end", e))
		return -1;
	if (v->unasked || !has_exited(v) || json_object_get(v->fail, "invariants"))
		return 0;
	return ask_at(v, "exit", "where the program called exit", e);
}

/* Searches for the first invariant that was false at some time, though it is true at the end. */
static int ask_always(struct verdict *v, struct err *e)
{
	for (size_t i = 0; i < v->spec->invariants.n && !json_object_get(v->fail, "invariants"); i++) {
		const char *expr = v->spec->invariants.s[i];
		const char *words[] = {"reverse-watch", "--anywhere", v->rec, "--", expr, NULL};
		json_auto_t *result = NULL, *list = NULL;
		cleanup_buf struct buf why = {0};
		int status = tool_fredctl(words, &result, &why, e);

		if (status < 0)
			return -1;
		if (status == 77)
			return err_set(e, ERR_HOST, "%.*s", 700, buf_str(&why));
		if (status || !json_is_true(json_object_get(result, "found")) ||
		    !is_false(json_string_value(json_object_get(result, "after"))))
			continue;
		list = json_pack("[o]", json_text(expr, strlen(expr)));
		broken(v, list, "at some time");
		json_object_set_new(v->fail, "always", json_true());
	}
	return 0;
}

static int ask(struct verdict *v, struct err *e)
{
	if (v->spec->fail_if && ask_command(v, e))
		return -1;
	if (v->skip || !v->spec->invariants.n)
		return 0;
	if (ask_at_end(v, e))
		return -1;
	return v->spec->watch_always && !v->unasked ? ask_always(v, e) : 0;
}

static _Noreturn void child(struct verdict *v)
{
	cleanup_free char *path = path_join(v->run->dir, "verdict.json");
	struct err e = {0}, ignored;
	json_t *answer;
	bool failed;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	failed = ask(v, &e) < 0;
	answer =
		json_pack("{s:o, s:b, s:b, s:o, s:o, s:s}", "fail", v->fail && !v->skip ? v->fail : json_null(), "skip",
			  v->skip, "unasked", v->unasked, "unknown", v->unknown ? v->unknown : json_null(), "error",
			  failed ? json_text(e.text, strlen(e.text)) : json_null(), "kind", err_kind_name(e.kind));
	json_write_path(path, answer, 0600, &ignored);
	_exit(0);
}

pid_t verdict_start(const struct hunt_spec *spec, const struct hunt_run *r, const json_t *fail, struct err *e)
{
	struct verdict v = {.spec = spec, .run = r, .fail = fail ? json_deep_copy(fail) : NULL};
	pid_t pid = fork();

	if (!pid) {
		v.rec = path_join(r->dir, "rec");
		v.output = path_join(r->dir, "output");
		child(&v);
	}
	json_decref(v.fail);
	return pid < 0 ? err_fork(e, "fork") : pid;
}

json_t *verdict_read(const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "verdict.json");
	json_t *v = json_load_path(path, e);
	const char *error;

	if (!v)
		return NULL;
	error = json_string_value(json_object_get(v, "error"));
	if (!error)
		return v;
	err_set(e, err_kind_from_name(json_string_value(json_object_get(v, "kind"))), "%s", error);
	json_decref(v);
	return NULL;
}
