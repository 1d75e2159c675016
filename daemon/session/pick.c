/* SPDX-License-Identifier: MIT */
/* pick.c: see pick.h. */
#include "session/pick.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/host.h"
#include "rlog/replay.h"

static int check_replayable(const struct rec *rec, struct err *e)
{
	if (rec->without_data)
		return err_set(e, ERR_USAGE,
			       "%s was packed without its data: ls, info and events work, a replay needs the data", rec->dir);
	return rec_host_check(rec->meta, e) ? err_wrap(e, "%s", rec->dir) : 0;
}

int pick_rec(const json_t *params, struct rec **out, struct err *e)
{
	const char *dir = json_string_value(json_object_get(params, "rec"));

	if (rec_open(dir, out, e))
		return -1;
	(*out)->logs_dir = REPLAY_LOGS;
	if (check_replayable(*out, e) || rec_verify_manifest(*out, e)) {
		rec_free(*out);
		*out = NULL;
		return -1;
	}
	return 0;
}

/* A signal that a thread sends to its own process, and that ends it: abort(), raise(). */
static bool is_own_kill(const struct rlog_rec *r, int32_t pid, int *sig)
{
	uint64_t nr = r->op[0];

	if (r->kind != RLOG_SYS)
		return false;
	if ((nr == SYS_tgkill && (int32_t)r->op[1] == pid) ||
	    ((nr == SYS_kill || nr == SYS_tkill) && (int32_t)r->op[1] == pid)) {
		*sig = (int)(nr == SYS_tgkill ? r->op[3] : r->op[2]);
		return *sig > 0;
	}
	return false;
}

static enum pick_end end_of_event(const struct reader_event *ev, int32_t pid, int *value)
{
	const struct rlog_rec *r = &ev->rec;

	if (r->kind == RLOG_CRASH) {
		*value = (int)r->op[0];
		return PICK_CRASHED;
	}
	if (r->kind == RLOG_EXEC && !ev->has_result)
		return PICK_EXECED;
	if (r->kind == RLOG_SYS && r->op[0] == SYS_exit_group) {
		*value = (int)(r->op[1] & 0xff);
		return *value ? PICK_FAILED : PICK_EXITED;
	}
	if (!ev->has_result && is_own_kill(r, pid, value))
		return PICK_CRASHED;
	return PICK_RUNNING;
}

enum pick_end pick_how_ended(const struct rec *rec, const struct rec_image *img, int *value)
{
	enum pick_end best = PICK_RUNNING;
	struct reader *logs;
	struct err ignored;

	if (rec_logs_open(rec, img, &logs, &ignored))
		return PICK_RUNNING;
	for (unsigned i = 0; i < img->nthreads; i++) {
		struct reader_iter it = reader_begin(&logs[i]);
		struct reader_event ev, last = {0};
		bool any = false;
		enum pick_end end;
		int v = 0;

		if (logs[i].head.own_process)
			continue;
		while (reader_next(&it, &ev) == RLOG_READ_OK) {
			last = ev;
			any = true;
		}
		end = any ? end_of_event(&last, img->head.pid, &v) : PICK_RUNNING;
		if (end > best) {
			best = end;
			*value = v;
		}
	}
	rec_logs_free(logs, img->nthreads);
	return best;
}

/* The image that runs at the end in the process that the user started. */
static uint32_t main_image(const struct rec *rec)
{
	uint32_t cur = rec->nimages ? rec->images[0].ordinal : 0;

	for (unsigned i = 1; i < rec->nimages; i++) {
		const struct rlog_image *h = &rec->images[i].head;

		if (h->origin == RLOG_ORIGIN_EXEC && h->pid == rec->images[0].head.pid && !h->cell_pid)
			cur = rec->images[i].ordinal;
	}
	return cur;
}

unsigned pick_order(const struct rec *rec, uint32_t *ordinals)
{
	uint32_t first = main_image(rec);
	cleanup_free int *rank = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(int));
	unsigned n = 0;

	for (unsigned i = 0; i < rec->nimages; i++) {
		int value = 0;
		enum pick_end end = pick_how_ended(rec, &rec->images[i], &value);
		bool is_main = rec->images[i].ordinal == first;

		if (!rec->images[i].nthreads) { /* killed before its first event */
			rank[i] = 9;
			continue;
		}
		rank[i] = end == PICK_CRASHED ? 0 : end == PICK_FAILED ? 2 : end == PICK_EXECED ? 8 : 6;
		if (is_main)
			rank[i] = rank[i] < 4 ? rank[i] - 1 : 4;
	}
	for (int r = -1; r <= 8; r++)
		for (unsigned i = 0; i < rec->nimages; i++)
			if (rank[i] == r)
				ordinals[n++] = rec->images[i].ordinal;
	return n;
}

uint32_t pick_process(const json_t *params, const struct rec *rec, struct err *e)
{
	json_int_t given = json_integer_value(json_object_get(params, "process"));
	cleanup_free uint32_t *order = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(*order));

	if (given) {
		const struct rec_image *img = rec_image(rec, (uint32_t)given, e);

		return img ? img->ordinal : 0;
	}
	if (!rec->nimages) {
		err_set(e, ERR_USAGE, "%s: the recording holds no process", rec->dir);
		return 0;
	}
	pick_order(rec, order);
	return order[0];
}
