/* SPDX-License-Identifier: MIT */
/* failure.c: see failure.h. */
#define LOG_DOMAIN "explain"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "timetravel/cursor_int.h"
#include "explain/condition.h"
#include "explain/failure.h"
#include "explain/flow.h"
#include "explain/place.h"
#include "base/jsonx.h"

void failure_set_kind(struct explain *x, const char *kind, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = str_vfmt(fmt, ap);
	va_end(ap);
	json_object_set_new(x->failure, "kind", json_string(kind));
	json_object_set_new(x->failure, "text", json_text(text, strlen(text)));
	free(text);
}

void failure_set(struct explain *x, const char *key, const char *text)
{
	json_object_set_new(x->failure, key, json_text(text, strlen(text)));
}

const char *failure_text(const struct explain *x)
{
	return json_string_value(json_object_get(x->failure, "text"));
}

/* ---- back to the call of a function ---- */

/* To the last entry of one of these functions. 0; 1: there is none, and it stands at its failure; -1. */
int failure_to_entry(struct explain *x, const char *const *functions, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct stop stop = {0};
	struct place p = {0};
	int r = 0;

	if (place_open(&p, x, e))
		r = -1;
	for (const char *const *f = functions; !r && *f; f++) {
		cleanup_free char *at = str_fmt("&'%s'", *f), *plain = str_fmt("&%s", *f);
		uint64_t addr;

		if (place_number(&p, 0, plain, &addr) || place_number(&p, 0, at, &addr))
			breaks_add(b, addr, 0);
	}
	place_close(&p);
	if (!r && !b->n)
		return 1;
	if (!r)
		r = cursor_back_continue(&x->t, &stop, e);
	breaks_fini(b);
	if (r && (e->kind != ERR_CANCELLED || op_cancelled(x->ctx)))
		return -1;
	if (!r && stop.kind == STOP_BREAK)
		return 0;
	return explain_goto_failure(x, e) ? -1 : 1;
}

/* From here on this is where it failed. */
int failure_is_here(struct explain *x, struct err *e)
{
	x->tid = x->t.in.seg.tid;
	return cursor_where(&x->t, &x->at, e);
}

uint64_t failure_word(struct explain *x, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(cursor_memory(&x->t), addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/* A step for the failure, where it stands. */
int failure_tell(struct explain *x, struct place *p, struct err *e)
{
	if (place_open(p, x, e))
		return -1;
	place_step(p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
	return 0;
}

/* The innermost frame behind `level` that has source. */
int failure_with_source(const struct place *p, int level)
{
	for (size_t i = (size_t)level; i < p->nframes; i++)
		if (p->frames[i].fullname && p->frames[i].line > 0)
			return (int)i;
	return -1;
}
