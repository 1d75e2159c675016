/* SPDX-License-Identifier: MIT */
/* whole.c: see whole.h. */
#include "replay/whole.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "replay/variants.h"

/* What "whole N" is in variants.json. */
enum {
	WHOLE_REPLAYS = 1,
	WHOLE_DIVERGES, /* by all variants */
};

static bool has_threads(const struct nav *n)
{
	struct timeline_thread *threads = NULL;
	unsigned count = timeline_threads(n->t.tl, &threads);

	free(threads);
	return count > 1;
}

int nav_init_whole(struct nav *n, const struct rec *rec, uint32_t process, struct op_ctx *ctx, struct err *e)
{
	cleanup_free char *key = str_fmt("whole %u", process);
	struct nav whole;
	struct err why;
	bool found;

	if (nav_init(n, rec, process, 0, ctx, e))
		return -1;
	if (rec_one_order(rec, process) || rec->live.process == process || n->t.variant || !has_threads(n) ||
	    variants_known(rec, key))
		return 0;
	nav_fini(n);
	found = !nav_climb(rec, process, 0, false, NULL, NULL, ctx, &whole, &why);
	if (found) {
		nav_fini(&whole);
	} else if (why.kind == ERR_CANCELLED) {
		*e = why;
		return -1;
	}
	variants_note(rec, key, found ? WHOLE_REPLAYS : WHOLE_DIVERGES);
	ctx->all_tried = !found;
	ctx->diverged = 0; /* the operation has not begun */
	free(steal_ptr(&ctx->diverged_in));
	return nav_init(n, rec, process, 0, ctx, e);
}

bool whole_has_other_variant(struct op_ctx *ctx, const struct err *divergence)
{
	struct rec *rec;
	struct err why;
	struct nav n;
	bool found;

	if (!ctx->diverged || rec_open(ctx->diverged_in, &rec, &why))
		return false;
	variants_tell(ctx, divergence);
	found = !nav_climb(rec, ctx->diverged, 0, false, NULL, NULL, ctx, &n, &why);
	if (found) {
		found = n.t.variant != 0;
		nav_fini(&n);
	}
	rec_free(rec);
	return found;
}
