/* SPDX-License-Identifier: MIT */
/* chain.c: see chain.h. */
#include "chain/chain.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"

static const char *const role_names[] = {
	[STEP_FAILURE] = "failure",	[STEP_ACQUIRE] = "acquire",
	[STEP_ALLOC] = "alloc",		[STEP_CALL] = "call",
	[STEP_CLOSE] = "close",		[STEP_COPY] = "copy",
	[STEP_FREE] = "free",		[STEP_INPUT] = "input",
	[STEP_LATE] = "late",		[STEP_LOAD] = "load",
	[STEP_RECURSION] = "recursion", [STEP_RETURN] = "return",
	[STEP_THROW] = "throw",		[STEP_TRANSITION] = "transition",
	[STEP_TEST] = "test",		[STEP_WAKE] = "wake",
	[STEP_WAIT] = "wait",		[STEP_WRITE] = "write",
};

static const char *const end_names[] = {
	[END_CLOSED] = "closed",
	[END_COMPUTED] = "computed",
	[END_CONSTANT] = "constant",
	[END_CYCLE] = "cycle",
	[END_DECIDED] = "decided",
	[END_FREED] = "freed",
	[END_INITIAL] = "initial",
	[END_INPUT] = "input",
	[END_LATE] = "late",
	[END_LIMIT] = "limit",
	[END_LOST_UPDATE] = "lost-update",
	[END_NEVER_WRITTEN] = "never-written",
	[END_RECURSION] = "recursion",
	[END_THROWN] = "thrown",
	[END_TRANSITION] = "transition",
	[END_UNKNOWN] = "unknown",
	[END_WAKE_UP] = "wake-up",
};

void chain_add(struct chain *c, const struct step *s)
{
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 16;
		c->v = xreallocarray(c->v, c->cap, sizeof(*c->v));
	}
	c->v[c->n++] = *s;
}

static void step_fini(struct step *s)
{
	free(s->words);
	free(s->expression);
	free(s->before);
	free(s->after);
	json_decref(s->thread);
	json_decref(s->location);
	json_decref(s->backtrace);
}

void chain_cut(struct chain *c, size_t n)
{
	while (c->n > n)
		step_fini(&c->v[--c->n]);
}

void chain_drop(struct chain *c, size_t i)
{
	step_fini(&c->v[i]);
	c->n--;
	memmove(&c->v[i], &c->v[i + 1], (c->n - i) * sizeof(*c->v));
}

void chain_fini(struct chain *c)
{
	chain_cut(c, 0);
	free(c->v);
}

bool chain_has(const struct chain *c, enum step_role role)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].role == role)
			return true;
	return false;
}

bool chain_same_place(const json_t *a, const json_t *b, bool line)
{
	return json_equal(json_object_get(a, "function"), json_object_get(b, "function")) &&
	       json_equal(json_object_get(a, "file"), json_object_get(b, "file")) &&
	       (!line || json_equal(json_object_get(a, "line"), json_object_get(b, "line")));
}

const char *chain_end_name(enum chain_end end)
{
	return end_names[end];
}

bool chain_led_nowhere(enum chain_end end)
{
	return end == END_UNKNOWN || end == END_LIMIT;
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static char *position_text(const struct step *s)
{
	if (s->at_end)
		return xstrdup("end");
	if (!s->at.hits)
		return str_fmt("%llu/0x%llx", (unsigned long long)s->at.event, (unsigned long long)s->at.pc);
	return str_fmt("%llu/0x%llx#%llu", (unsigned long long)s->at.event, (unsigned long long)s->at.pc,
		       (unsigned long long)s->at.hits);
}

bool chain_has_argument(const json_t *frame, uint64_t number, bool only)
{
	const char *args = json_string_value(json_object_get(frame, "args"));
	bool has = false;

	for (const char *s = args; s && (s = strchr(s, '=')); s++) { /* "n=1, p=p@entry=0x1234 <name>" */
		char *end;

		has |= strtoull(s + 1, &end, 0) == number && end > s + 1 && strchr(", ", *end);
	}
	return has && !(only && strstr(args, ", "));
}

json_t *chain_step_json(const struct step *s, uint32_t process, uint64_t total)
{
	cleanup_free char *at = position_text(s);
	json_t *position = json_pack("{s:I, s:I, s:O}", "event", (json_int_t)s->at.event, "events_total",
				     (json_int_t)total, "thread", s->thread);

	if (!s->at_end)
		json_object_set_new(position, "pc", json_sprintf("0x%llx", (unsigned long long)s->at.pc));
	if (!s->at_end && s->at.hits)
		json_object_set_new(position, "hits", json_integer((json_int_t)s->at.hits));
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:O, s:o, s:o, s:o, s:O}", "role", role_names[s->role], "words",
			 text_or_null(s->words), "at", at, "process", (int)process, "position", position, "location",
			 s->location, "expression", text_or_null(s->expression), "before", text_or_null(s->before),
			 "after", text_or_null(s->after), "backtrace", s->backtrace);
}

static void set_text(json_t *o, const char *key, const char *text)
{
	if (text)
		json_object_set_new(o, key, json_text(text, strlen(text)));
}

json_t *chain_failure_json(const struct chain_failure *f)
{
	json_t *o = json_object();

	if (f->signal)
		json_object_set_new(o, "signal", json_integer(f->signal));
	if (f->signal && sigabbrev_np(f->signal))
		json_object_set_new(o, "signal_name", json_sprintf("SIG%s", sigabbrev_np(f->signal)));
	set_text(o, "address", f->address);
	set_text(o, "kind", f->kind);
	set_text(o, "text", f->text);
	set_text(o, "expression", f->expression);
	set_text(o, "type", f->type);
	set_text(o, "what", f->what);
	if (f->code >= 0)
		json_object_set_new(o, "code", json_integer(f->code));
	return o;
}

void chain_failure_fini(struct chain_failure *f)
{
	free(f->text);
	free(f->address);
	free(f->expression);
	free(f->type);
	free(f->what);
}
