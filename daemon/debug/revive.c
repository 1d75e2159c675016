/* SPDX-License-Identifier: MIT */
/* revive.c: see revive.h. */
#define LOG_DOMAIN "revive"
#include "debug/revive.h"

#include "base/log.h"
#include "base/maps.h"
#include "target/advice.h"
#include "timetravel/cursor_int.h"

static bool is_dead(pid_t pid)
{
	return pid > 0 && maps_is_dead(pid);
}

static bool has_dead(const struct cursor *t)
{
	const struct segcur *in = &t->in;
	bool dead = t->mode != CURSOR_NOWHERE && is_dead(t->nav->t.pid);

	if (t->mode != CURSOR_INSIDE)
		return dead;
	for (unsigned i = 0; i < in->marks; i++)
		dead |= is_dead(in->mark[i].pid);
	return dead || is_dead(in->base.pid) || is_dead(in->now.pid) || is_dead(in->end.pid);
}

bool revive_clear(struct debug *d, struct err *e)
{
	struct cursor *t = &d->cursor;
	bool diverted = diversion_is_on(&d->diversion) && is_dead(d->diversion.copy.pid), dead = has_dead(t);
	struct err ignored;

	if (e->kind != ERR_KILLED && !diverted && !dead)
		return false;
	advice_say_killed(&t->nav->t, e);
	diversion_end(&d->diversion);
	if (diverted && !dead)
		return true;
	cursor_leave(t, &ignored);
	target_kill(&t->nav->t);
	return true;
}

bool revive(struct debug *d, struct err *e)
{
	struct err why = *e;
	bool exact;

	if (!revive_clear(d, &why))
		return false;
	*e = why;
	if (d->cursor.mode == CURSOR_NOWHERE &&
	    (!d->state.here.words || mark_goto(&d->cursor, &d->state.here, &exact, &why))) {
		log_warn("the session could not return to event %llu: %s", (unsigned long long)d->state.here.event,
			 why.text);
		return false;
	}
	d->revived = true;
	return true;
}
