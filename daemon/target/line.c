/* SPDX-License-Identifier: MIT */
/* line.c: see line.h. */
#include "target/line.h"

#include <signal.h>
#include <string.h>

#include "target/family.h"
#include "trace/trace.h"

const struct rec_image *line_first(const struct rec *rec, uint32_t process, bool with_start, struct err *e)
{
	const struct rec_image *img = rec_image(rec, process, e);

	for (unsigned depth = 0; img && img->head.origin == RLOG_ORIGIN_FORK && !(with_start && img->start); depth++) {
		if (depth > RLOG_MAX_PROCESSES) {
			err_set(e, ERR_USAGE, "process %u: its ancestors form a circle", process);
			return NULL;
		}
		img = rec_image(rec, img->head.parent, e);
	}
	return img;
}

int line_follow(const struct target *t, uint32_t follow[32], struct err *e)
{
	const struct rec_image *img = rec_image(t->rec, t->process, e);
	unsigned n = 0;

	memset(follow, 0, 32 * sizeof(*follow));
	while (img && img->ordinal != t->base) {
		if (n == 31)
			return err_set(e, ERR_USAGE, "process %u: more than 31 forks without an exec", t->process);
		follow[n++] = img->ordinal;
		img = rec_image(t->rec, img->head.parent, e);
	}
	return img ? 0 : -1;
}

void line_end_one(const struct rec *rec, uint32_t process)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, process, &ignored);
	pid_t pid = img ? rec_image_pid(img) : 0;

	if (pid <= 1 || !family_is_child(pid))
		return;
	kill(pid, SIGKILL);
	trace_reap(pid);
}

void line_end(const struct target *t, uint32_t ordinal)
{
	struct err ignored;
	const struct rec_image *img = rec_image(t->rec, ordinal, &ignored);

	if (!img)
		return;
	if (ordinal != t->base)
		line_end(t, img->head.parent);
	line_end_one(t->rec, ordinal);
}

uint32_t line_branches(const struct target *t)
{
	uint32_t n = __atomic_load_n(&t->ctl->branches, __ATOMIC_ACQUIRE);

	if (n < t->branch.from)
		return t->branch.from;
	return n < t->branch.end ? n : t->branch.end;
}

void line_end_branches(struct target *t)
{
	uint32_t n = line_branches(t);

	/* n itself: it may have been killed between the fork and the count */
	for (uint32_t i = t->branch.from; i <= n && i < t->branch.end; i++)
		line_end_one(t->rec, t->ctl->branch[i].process);
	t->ctl->branches = t->branch.from;
}
