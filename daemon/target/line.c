/* SPDX-License-Identifier: MIT */
/* line.c: see line.h. */
#include "target/line.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cell/plain.h"
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

uint32_t *line_images(const struct target *t, const struct rec_image *root, struct err *e)
{
	uint32_t *images = xcalloc(t->rec->nimages + 33, sizeof(*images));
	unsigned n = 0;
	struct err ignored;

	if (line_follow(t, images, e)) {
		free(images);
		return NULL;
	}
	for (unsigned i = 0; t->branch.end > t->branch.from && i < t->rec->nimages; i++) {
		const struct rec_image *img = &t->rec->images[i];

		if (img != root && line_first(t->rec, img->ordinal, false, &ignored) == root)
			images[n++] = img->ordinal;
	}
	return images;
}

static pid_t recorded_pid(const struct rec *rec, uint32_t process)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, process, &ignored);

	return img ? rec_image_pid(img) : 0;
}

void line_end_pid(pid_t pid)
{
	if (pid <= 1 || !family_is_child(pid))
		return;
	kill(pid, SIGKILL);
	trace_reap(pid);
}

void line_end_one(const struct rec *rec, uint32_t process)
{
	line_end_pid(recorded_pid(rec, process));
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

pid_t line_branch_pid(const struct target *t, uint32_t place)
{
	pid_t pid;

	if (!cell_is_plain())
		return recorded_pid(t->rec, t->ctl->branch[place].process);
	pid = __atomic_load_n(&t->ctl->branch_pid[place], __ATOMIC_ACQUIRE);
	return pid > 1 && t->session > 0 && getsid(pid) == t->session && family_is_child(pid) ? pid : 0;
}

uint32_t line_branches(const struct target *t)
{
	uint32_t n = __atomic_load_n(&t->ctl->branches, __ATOMIC_ACQUIRE);

	if (n < t->branch.from)
		return t->branch.from;
	return n < t->branch.end ? n : t->branch.end;
}

void line_branches_until(struct target *t, uint32_t end)
{
	if (cell_is_plain())
		t->ctl->other_branches_end = end;
	else
		t->ctl->branches_end = end;
}

void line_end_branches(struct target *t)
{
	uint32_t n = line_branches(t);

	/* n is included: the process may have been killed after the fork, before it was counted */
	for (uint32_t i = t->branch.from; i <= n && i < t->branch.end; i++)
		line_end_pid(line_branch_pid(t, i));
	t->ctl->branches = t->branch.from;
}
