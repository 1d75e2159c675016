/* SPDX-License-Identifier: MIT */
/* summary.c: see summary.h. */
#include "instrument/summary.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "replay/show.h"

json_t *summary_add(json_t *r, const struct instrument *i, struct nav *nav, const struct moment_describer *d,
		    const char *errors, double since)
{
	const struct segcur_report *s = &i->report;
	uint64_t total = nav_total(nav);
	json_t *stats = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "events", (json_int_t)total, "accesses",
				  (json_int_t)i->accesses, "stepped", (json_int_t)s->stepped, "unseen",
				  (json_int_t)s->unseen, "lost", (json_int_t)s->lost, "irregular",
				  (json_int_t)i->irregular, "total_s", clock_s() - since);

	for (size_t k = 0; k < d->notes.n; k++)
		show_note(r, d->notes.s[k]);
	if (s->unseen || s->lost) {
		cleanup_free char *text = str_fmt(
			"the accesses of %llu of %llu segments were not all examined: %s there are not reported",
			(unsigned long long)(s->unseen + s->lost), (unsigned long long)total, errors);

		show_note(r, text);
	}
	json_object_set_new(r, "stats", stats);
	return stats;
}
