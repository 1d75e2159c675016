/* SPDX-License-Identifier: MIT */
/* cause.c: see cause.h. */
#include "hunt/cause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "hunt/good.h"
#include "hunt/tool.h"

/* times that a command is tried while its daemon dies: each task of a cluster may end a daemon once */
#define TRIES 10
#define WHY_BYTES 600

struct search {
	const json_t *fail;
	const char *rec;
	json_t *out; /* of cause.json */
};

static void add_error(struct search *s, const char *command, int status, const struct buf *why)
{
	const char *text = buf_str(why);

	text += str_starts(text, "fred: ") ? 6 : 0;
	json_array_append_new(json_object_get(s->out, "errors"),
			      json_sprintf("%s (exit %d): %.*s", command, status,
					   (int)(strcspn(text, "\n") < WHY_BYTES ? strcspn(text, "\n") : WHY_BYTES),
					   text));
}

/*
 * Did the command fail because of the daemon? A daemon that is told to end cancels its operations. (A user who
 * interrupts the hunt ends this process, too.)
 */
static bool is_lost(int status, const struct buf *why)
{
	return (status == TOOL_LOST_DAEMON && strstr(buf_str(why), "fredd has closed")) || status == TOOL_CANCELLED;
}

/* Runs the command, again if it fails because of the daemon. */
static int fredctl(struct search *s, const char *const *words, json_t **result)
{
	struct err e;
	int status = -1;

	for (int i = 0; i < TRIES; i++) {
		cleanup_buf struct buf why = {0};

		json_decref(*result);
		*result = NULL;
		status = tool_fredctl(words, result, &why, &e);
		if (is_lost(status, &why) && i + 1 < TRIES)
			continue;
		if (status && !(*result && !json_object_get(*result, "error")))
			add_error(s, words[0], status, &why);
		break;
	}
	return status;
}

/* A field of an answer, and its name in the cause (NULL: the same). */
struct field {
	const char *from, *to;
};

static const struct field of_replay[] = {{"events"}, {0}};
static const struct field of_watch[] = {
	{"location", "culprit"}, {"backtrace"}, {"position"}, {"expr"}, {"before"}, {"after"},
	{"may_be_later"},	 {"notes"},	{"stats"},    {0}};
static const struct field of_explain[] = {{"failure"}, {"chain"}, {"threads"}, {"end"}, {"candidates"}, {"notes"}, {0}};
static const struct field of_step[] = {{"location", "culprit"}, {"backtrace"}, {"position"}, {"at"}, {"words"},
				       {"expression", "expr"},	{"before"},    {"after"},    {0}};
static const struct field of_threads[] = {{"threads"}, {0}};
static const struct field of_frames[] = {{"backtrace"}, {"position"}, {0}};

/* Copies fields into the cause; those that are absent or null are left out. */
static void copy(struct search *s, const json_t *from, const struct field *fields)
{
	for (const struct field *f = fields; f->from; f++) {
		json_t *v = json_object_get(from, f->from);

		if (v && !json_is_null(v))
			json_object_set(s->out, f->to ? f->to : f->from, v);
	}
}

static bool verify(struct search *s)
{
	const char *words[] = {"replay", "--verify", s->rec, NULL};
	json_t *result = NULL;
	int status = fredctl(s, words, &result);

	copy(s, result, of_replay);
	json_object_set_new(s->out, "replays", json_boolean(!status));
	json_decref(result);
	return !status;
}

/* "281/0x555555555319#1" */
static void set_at(struct search *s, const json_t *position)
{
	const json_t *pc = json_object_get(position, "pc"), *hits = json_object_get(position, "hits");
	json_int_t event = json_integer_value(json_object_get(position, "event"));

	if (!position)
		return;
	if (json_is_string(pc))
		json_object_set_new(s->out, "at",
				    json_sprintf("%lld/%s#%lld", (long long)event, json_string_value(pc),
						 (long long)(hits ? json_integer_value(hits) : 1)));
	else
		json_object_set_new(s->out, "at", json_sprintf("%lld", (long long)event));
}

static bool by_watch(struct search *s)
{
	json_t *list = json_object_get(s->fail, "invariants");
	const char *expr = json_string_value(json_array_get(list, 0));
	const char *words[] = {"reverse-watch", s->rec, "--", expr, NULL, NULL};
	json_t *result = NULL;
	bool found = false;

	if (json_is_true(json_object_get(s->fail, "always")))
		memcpy(words, (const char *[]){"reverse-watch", "--anywhere", s->rec, "--", expr, NULL}, sizeof(words));
	if (expr && !fredctl(s, words, &result) && json_is_true(json_object_get(result, "found"))) {
		found = true;
		json_object_set_new(s->out, "by", json_string("reverse-watch"));
		copy(s, result, of_watch);
		set_at(s, json_object_get(result, "position"));
		json_object_set_new(s->out, "words", json_sprintf("%s turned", expr));
	}
	json_decref(result);
	return found;
}

static bool has_diverged(int status, const json_t *result)
{
	const char *end = json_string_value(json_object_get(json_object_get(result, "end"), "text"));

	return status == TOOL_LOST_DAEMON || (end && str_starts(end, "the replay diverged"));
}

/*
 * A replay may diverge once and not the next time, for example where the recorded program was interrupted in a
 * computation. If the recording has replayed before, a second try is worth while.
 */
static void explain_twice(struct search *s, json_t **result)
{
	const char *words[] = {"explain", s->rec, NULL};
	json_t *errors = json_object_get(s->out, "errors");
	size_t before = json_array_size(errors);

	if (!has_diverged(fredctl(s, words, result), *result) || !json_is_true(json_object_get(s->out, "replays")))
		return;
	while (json_array_size(errors) > before)
		json_array_remove(errors, json_array_size(errors) - 1);
	fredctl(s, words, result);
}

/* Replaces the beginning of the text, if it begins so. */
static void begin_instead(json_t *o, const char *key, const char *begin, const char *instead)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (text && str_starts(text, begin))
		json_object_set_new(o, key, json_sprintf("%s%s", instead, text + strlen(begin)));
}

/*
 * If a run has taken too long, the hunt has ended it, and the signal for that is not how it failed. What explain says
 * of its threads, for example a deadlock, stays.
 */
static void name_timeout(struct search *s)
{
	json_t *failure = json_object_get(s->out, "failure");
	const char *text = json_string_value(json_object_get(s->fail, "text")),
		   *was = json_string_value(json_object_get(failure, "text"));

	if (!text || !was || !str_eq(json_string_value(json_object_get(s->fail, "kind")), "timeout") ||
	    !str_eq(json_string_value(json_object_get(failure, "kind")), "signal"))
		return;
	begin_instead(s->out, "words", was, text);
	begin_instead(json_array_get(json_object_get(s->out, "chain"), 0), "words", was, text);
	json_object_set_new(s->out, "failure", json_pack("{s:s, s:s}", "kind", "timeout", "text", text));
}

/* The last step of explain's chain is the cause. Without a cause, the first step says where the program failed. */
static bool by_explain(struct search *s)
{
	json_t *result = NULL, *step;
	bool found;

	explain_twice(s, &result);
	step = json_object_get(result, "cause");
	found = json_is_true(json_object_get(result, "found")) && json_is_object(step);
	if (!json_is_object(step))
		step = json_array_get(json_object_get(result, "chain"), 0);
	copy(s, result, of_explain);
	if (json_is_object(step)) {
		json_object_set_new(s->out, "by", json_string("explain"));
		copy(s, step, of_step);
	}
	name_timeout(s);
	json_decref(result);
	return found;
}

/* Is the frame the program's own: with a source line, and not in libc or the loader? */
static bool is_own(const json_t *frame)
{
	static const char *const others[] = {"libc.so",	     "ld-linux",    "libpthread.so", "libfred-record.so",
					     "libstdc++.so", "libgcc_s.so", "libm.so"};
	const char *module = json_string_value(json_object_get(frame, "module"));

	for (unsigned i = 0; module && i < sizeof(others) / sizeof(others[0]); i++)
		if (str_starts(module, others[i]))
			return false;
	return json_is_string(json_object_get(frame, "file"));
}

static json_t *own_frame(const json_t *frames)
{
	json_t *frame;
	size_t i;

	json_array_foreach((json_t *)frames, i, frame) if (is_own(frame)) return frame;
	return NULL;
}

/* Notes where the run ended: the stacks of all threads. */
static void by_backtrace(struct search *s)
{
	const char *words[] = {"backtrace", s->rec, "--at", "end", NULL};
	json_t *result = NULL, *frames, *frame;

	fredctl(s, words, &result);
	frames = json_object_get(result, "backtrace");
	frame = own_frame(frames);
	if (!json_object_get(s->out, "threads"))
		copy(s, result, of_threads);
	if (frames && !json_is_string(json_object_get(s->out, "by"))) {
		json_object_set_new(s->out, "by", json_string("backtrace"));
		copy(s, result, of_frames);
		set_at(s, json_object_get(result, "position"));
		if (frame)
			json_object_set_new(s->out, "culprit",
					    json_pack("{s:O, s:O, s:O, s:n}", "function",
						      json_object_get(frame, "function"), "file",
						      json_object_get(frame, "file"), "line",
						      json_object_get(frame, "line"), "text"));
	}
	json_decref(result);
}

/*
 * Notes where the run first differs from one that passed. The cause is complete without this, so an error here is not
 * reported.
 */
static void by_diff(struct search *s, const char *good)
{
	const char *words[] = {"diff", good, s->rec, NULL};
	json_t *result = NULL, *diff;
	cleanup_buf struct buf why = {0};
	struct err ignored;

	tool_fredctl(words, &result, &why, &ignored);
	if (json_is_true(json_object_get(result, "differ"))) {
		diff = json_pack("{s:s}", "good", good);
		json_object_set(diff, "parts", json_object_get(result, "parts"));
		json_object_set(diff, "order", json_object_get(result, "order"));
		json_object_set_new(s->out, "diff", diff);
	}
	json_decref(result);
}

/* ---- keys ---- */

static void add_place(struct buf *b, const json_t *place)
{
	const char *file = json_string_value(json_object_get(place, "file"));
	const char *function = json_string_value(json_object_get(place, "function"));

	buf_addf(b, "%s:%lld %s", file ? path_base(file) : "?",
		 (long long)json_integer_value(json_object_get(place, "line")), function ? function : "?");
}

/*
 * Functions that call themselves count once, since the depth of a recursion varies. The frames below main or a thread's
 * function are left out.
 */
static void add_stack(struct buf *b, const json_t *frames)
{
	const char *last = NULL;
	json_t *frame;
	size_t i;

	json_array_foreach((json_t *)frames, i, frame)
	{
		const char *function = json_string_value(json_object_get(frame, "function"));

		if (!function || !is_own(frame) || str_eq(function, last))
			continue;
		buf_addf(b, " < %s", function);
		last = function;
	}
}

/* Adds the places of all threads, sorted, since the order of the threads varies. */
static bool add_threads(struct buf *b, const json_t *threads)
{
	cleanup_strv struct strv places = {0};
	cleanup_free char *all = NULL;
	json_t *t;
	size_t i;

	json_array_foreach((json_t *)threads, i, t)
	{
		json_t *frame = own_frame(json_object_get(t, "backtrace"));
		cleanup_buf struct buf place = {0};

		if (!frame)
			continue;
		add_place(&place, frame);
		if (!strv_has(&places, buf_str(&place)))
			strv_add(&places, buf_str(&place));
	}
	strv_sort(&places);
	all = strv_join(&places, ", ");
	buf_addf(b, " [%s]", all ? all : "");
	return places.n > 0;
}

char *cause_key(const json_t *cause)
{
	bool found = json_is_true(json_object_get(cause, "found"));
	struct buf b = {0};

	if (!found)
		buf_add_str(&b, "failed at ");
	if (!found && json_is_true(json_object_get(cause, "hangs")) &&
	    add_threads(&b, json_object_get(cause, "threads")))
		return buf_steal(&b);
	if (json_is_object(json_object_get(cause, "culprit"))) {
		add_place(&b, json_object_get(cause, "culprit"));
		add_stack(&b, json_object_get(cause, "backtrace"));
		return buf_steal(&b);
	}
	buf_fini(&b);
	return xstrdup("");
}

/* ---- the child ---- */

static void look(struct search *s)
{
	const char *kind = json_string_value(json_object_get(s->fail, "kind"));
	bool hangs = str_eq(kind, "timeout") || str_eq(kind, "deadlock"), found;

	json_object_set_new(s->out, "hangs", json_boolean(hangs));
	if (!verify(s))
		return;
	found = json_object_get(s->fail, "invariants") && by_watch(s);
	if (!found && !str_eq(kind, "invariant"))
		found = by_explain(s);
	json_object_set_new(s->out, "found", json_boolean(found));
	if (!found || (hangs && !json_object_get(s->out, "threads")))
		by_backtrace(s);
}

json_t *cause_of(const char *rec, const json_t *fail, const char *good)
{
	struct search s = {.fail = fail, .rec = rec};
	cleanup_free char *key = NULL;

	s.out = json_pack("{s:b, s:b, s:n, s:n, s:[]}", "replays", 0, "found", 0, "by", "culprit", "errors");
	look(&s);
	if (good && json_is_true(json_object_get(s.out, "replays")))
		by_diff(&s, good);
	key = cause_key(s.out);
	json_object_set_new(s.out, "key", json_text(key, strlen(key)));
	return s.out;
}

static _Noreturn void child(const struct failure *f)
{
	cleanup_free char *path = path_join(f->dir, "cause.json"), *rec = path_join(f->dir, "rec"),
			  *good = good_of(f->dir, f->sched);
	struct err ignored;
	json_t *cause;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cause = cause_of(rec, f->fail, good);
	_exit(json_write_path(path, cause, 0600, &ignored) ? 1 : 0);
}

pid_t cause_start(const struct failure *f, struct err *e)
{
	pid_t pid = fork();

	if (!pid)
		child(f);
	return pid < 0 ? err_fork(e, "fork") : pid;
}

json_t *cause_read(const struct failure *f, struct err *e)
{
	cleanup_free char *path = path_join(f->dir, "cause.json");

	return json_load_path(path, e);
}
