/* SPDX-License-Identifier: MIT */
/* revive.c: see revive.h. */
#define LOG_DOMAIN "revive"
#include "debug/revive.h"

#include "base/log.h"
#include "base/maps.h"
#include "debug/travel_int.h"
#include "session/advice.h"

static bool is_dead(pid_t pid)
{
	return pid > 0 && maps_is_dead(pid);
}

static bool has_dead(const struct travel *t)
{
	const struct inside *in = &t->in;
	bool dead = t->mode != TRAVEL_NOWHERE && is_dead(t->nav->t.pid);

	if (t->mode != TRAVEL_INSIDE)
		return dead;
	for (unsigned i = 0; i < in->marks; i++)
		dead |= is_dead(in->mark[i].pid);
	return dead || is_dead(in->base.pid) || is_dead(in->now.pid) || is_dead(in->end.pid);
}

bool revive_clear(struct debug *d, struct err *e)
{
	struct travel *t = &d->travel;
	bool diverted = divert_is_on(&d->divert) && is_dead(d->divert.copy.pid), dead = has_dead(t);
	struct err ignored;

	if (e->kind != ERR_KILLED && !diverted && !dead)
		return false;
	advice_say_killed(&t->nav->t, e);
	divert_end(&d->divert);
	if (diverted && !dead)
		return true;
	travel_leave(t, &ignored);
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
	if (d->travel.mode == TRAVEL_NOWHERE && (!d->here.words || spot_goto(&d->travel, &d->here, &exact, &why))) {
		log_warn("the session does not come back to event %llu: %s", (unsigned long long)d->here.event, why.text);
		return false;
	}
	d->revived = true;
	return true;
}
