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

#define NO_EVENT 9 /* a rank: killed before its first event */

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

struct ending {
	enum pick_end how;
	int value;
	uint64_t when; /* a stamp */
};

/* One thread's. */
static struct ending end_of_log(const struct reader *log, int32_t pid)
{
	struct reader_iter it = reader_begin(log);
	struct reader_event ev, last = {0};
	struct ending end = {.how = PICK_RUNNING};
	bool any = false;

	while (reader_next(&it, &ev) == RLOG_READ_OK) {
		last = ev;
		any = true;
	}
	if (any)
		end.how = end_of_event(&last, pid, &end.value);
	end.when = last.stamp;
	return end;
}

static struct ending end_of(const struct rec *rec, const struct rec_image *img)
{
	struct ending best = {.how = PICK_RUNNING};
	struct reader *logs;
	struct err ignored;

	if (rec_logs_open(rec, img, &logs, &ignored))
		return best;
	for (unsigned i = 0; i < img->nthreads; i++) {
		struct ending end = logs[i].head.own_process ? best : end_of_log(&logs[i], img->head.pid);

		if (end.how > best.how)
			best = end;
	}
	rec_logs_free(logs, img->nthreads);
	return best;
}

enum pick_end pick_how_ended(const struct rec *rec, const struct rec_image *img, int *value)
{
	struct ending end = end_of(rec, img);

	*value = end.value;
	return end.how;
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

/* Before the program itself, if that has not failed too, comes a crash, and a failure of which it cannot know any more. */
static int rank_of(const struct ending *end, const struct ending *program, bool is_main)
{
	static const int ranks[] = {
		[PICK_CRASHED] = 0, [PICK_FAILED] = 2, [PICK_RUNNING] = 6, [PICK_EXITED] = 6, [PICK_EXECED] = 8,
	};
	int rank = ranks[end->how];

	if (is_main)
		return rank < 4 ? rank - 1 : 4;
	return end->how == PICK_FAILED && program->how == PICK_EXITED && end->when < program->when ? 5 : rank;
}

unsigned pick_order(const struct rec *rec, uint32_t *ordinals)
{
	uint32_t first = main_image(rec);
	cleanup_free int *rank = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(int));
	cleanup_free struct ending *end = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(*end));
	struct ending program = {.how = PICK_RUNNING};
	unsigned n = 0;

	for (unsigned i = 0; i < rec->nimages; i++) {
		end[i] = end_of(rec, &rec->images[i]);
		if (rec->images[i].ordinal == first)
			program = end[i];
	}
	for (unsigned i = 0; i < rec->nimages; i++)
		rank[i] = rec->images[i].nthreads ? rank_of(&end[i], &program, rec->images[i].ordinal == first)
						  : NO_EVENT;
	for (int r = -1; r < NO_EVENT; r++)
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
