/* SPDX-License-Identifier: MIT */
/* busy.c: see busy.h. */
#define LOG_DOMAIN "busy"
#include "debug/busy.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "debug/debug.h"
#include "debug/revive.h"

#define SHOW_AFTER_S 1.0
#define SHOW_EVERY_S 0.25
#define RETURN_S 0.7
/* the replacement of a killed process starts at a checkpoint, or at the start */
#define RETURN_KILLED_S 5

void busy_init(struct debug *d, bool shown)
{
	d->busy = (struct busy){.shown = shown};
	d->op = (struct op_ctx){.fd = -1, .cancelled = busy_beat, .arg = d};
	d->nav.ctx = &d->op;
}

void busy_begin(struct debug *d, bool resumed)
{
	struct err ignored;

	d->busy.resumed = resumed;
	d->busy.stop = false;
	d->busy.since = clock_s();
	d->busy.known = !mark_take(&d->cursor, &d->busy.from, &ignored) ||
			(revive(d, &ignored) && !mark_take(&d->cursor, &d->busy.from, &ignored));
	d->busy.from.event = cursor_event(&d->cursor);
}

bool busy_is_over(void *arg)
{
	struct debug *d = arg;
	struct busy *b = &d->busy;

	if (b->deaf)
		return false;
	b->stop |= rsp_interrupted(&d->conn);
	return b->stop || (b->until > 0 && clock_s() > b->until);
}

/* Called in loops: most sessions need not read the clock for it. */
static bool is_due(const struct busy *b)
{
	double now;

	if (!b->shown || b->since <= 0)
		return false;
	now = clock_s();
	return now - b->since >= SHOW_AFTER_S && now - b->said >= SHOW_EVERY_S;
}

void busy_show(struct debug *d, double fraction, const char *text)
{
	cleanup_buf struct buf note = {0};
	struct err ignored;
	char line[160];

	if (!is_due(&d->busy))
		return;
	d->busy.said = clock_s();
	snprintf(line, sizeof(line), "%.3f;%.100s, %.0f s", fraction, text, d->busy.said - d->busy.since);
	buf_add_str(&note, BUSY_NOTE);
	rsp_hex(&note, line, strlen(line));
	rsp_note(&d->conn, note.data, note.len, &ignored);
}

static void show_place(struct debug *d)
{
	uint64_t at = cursor_event(&d->cursor), total = cursor_total(&d->cursor);
	char text[64];

	if (!total) /* nothing is being replayed */
		return;
	snprintf(text, sizeof(text), "event %llu of %llu", (unsigned long long)at, (unsigned long long)total);
	busy_show(d, (double)at / (double)total, text);
}

bool busy_beat(void *arg)
{
	struct debug *d = arg;

	if (is_due(&d->busy))
		show_place(d);
	return busy_is_over(d);
}

/*
 * Was the command ended by the user, or because a process was killed? Then going back should take a few seconds only.
 */
static bool is_short(const struct err *e)
{
	return e->kind == ERR_CANCELLED || e->kind == ERR_KILLED;
}

/* Has nothing moved? */
static bool still_stands(struct debug *d, const struct err *e)
{
	struct err ignored;
	struct mark here;

	if (diversion_is_on(&d->diversion))
		return true;
	if (d->cursor.mode == CURSOR_NOWHERE)
		return false;
	if (!d->busy.known)
		return e->kind != ERR_CANCELLED;
	return !mark_take(&d->cursor, &here, &ignored) && mark_same(&d->busy.from, &here);
}

/* Goes to a checkpoint before event n. */
static int go_near(struct debug *d, uint64_t n, struct err *e)
{
	uint64_t at = nav_first(&d->nav);
	int r;

	nav_ckpt_before(&d->nav, n, &at);
	d->busy.deaf = true;
	r = cursor_goto(&d->cursor, at, e);
	d->busy.deaf = false;
	return r;
}

static void tell(struct debug *d)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "fred: going back to the earlier position takes long: the program is now after event %llu%s\n",
		 (unsigned long long)cursor_event(&d->cursor),
		 d->busy.resumed ? " (`undo` goes back)" : ", as `stepi` will show");
	debug_say(d, text);
}

int busy_return(struct debug *d, const struct err *e)
{
	struct busy *b = &d->busy;
	bool exact = false;
	struct err why;
	int r = -1;

	if (still_stands(d, e))
		return is_short(e) ? 0 : -1;
	/*
	 * A request other than a step leaves the program where the debugger believes it to be, unless the user insists.
	 */
	b->stop = false;
	b->until = b->resumed && is_short(e) ? clock_s() + (e->kind == ERR_KILLED ? RETURN_KILLED_S : RETURN_S) : 0;
	if (b->known)
		r = mark_goto(&d->cursor, &b->from, &exact, &why);
	b->until = 0;
	if (r)
		r = go_near(d, b->from.event, &why);
	if (r)
		log_warn("the session could not return to event %llu: %s", (unsigned long long)b->from.event, why.text);
	else if (!exact)
		tell(d);
	d->jumped |= !exact && !b->resumed;
	return is_short(e) && !r ? 0 : -1;
}
