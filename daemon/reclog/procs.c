/* SPDX-License-Identifier: MIT */
/* procs.c: see procs.h. */
#include "reclog/procs.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"

#define NO_EVENT 9 /* the rank of a process that was killed before its first event */

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

static enum procs_end end_of_event(const struct reader_event *ev, int32_t pid, int *value)
{
	const struct rlog_rec *r = &ev->rec;

	if (r->kind == RLOG_CRASH) {
		*value = (int)r->op[0];
		return PROCS_CRASHED;
	}
	if (r->kind == RLOG_EXEC && !ev->has_result)
		return PROCS_EXECED;
	if (r->kind == RLOG_SYS && r->op[0] == SYS_exit_group) {
		*value = (int)(r->op[1] & 0xff);
		return *value ? PROCS_FAILED : PROCS_EXITED;
	}
	if (!ev->has_result && is_own_kill(r, pid, value))
		return PROCS_CRASHED;
	return PROCS_RUNNING;
}

/* How one thread's log ends. */
static struct procs_ending end_of_log(const struct reader *log, int32_t pid)
{
	struct reader_iter it = reader_begin(log);
	struct procs_ending end = {.how = PROCS_RUNNING};
	struct reader_event ev, last = {0};

	while (reader_next(&it, &ev) == RLOG_READ_OK) {
		last = ev;
		end.events++;
	}
	if (end.events)
		end.how = end_of_event(&last, pid, &end.value);
	end.when = end.last = last.stamp;
	return end;
}

/*
 * Adds a thread: the end of the process is that of the thread whose log shows one; the last stamp and the number of
 * events are of all threads.
 */
static void add_ending(struct procs_ending *sum, const struct procs_ending *one)
{
	if (one->how > sum->how) {
		sum->how = one->how;
		sum->value = one->value;
		sum->when = one->when;
	}
	sum->last = one->last > sum->last ? one->last : sum->last;
	sum->events += one->events;
}

struct procs_ending procs_ending(const struct rec *rec, const struct rec_image *img)
{
	struct procs_ending sum = {.how = PROCS_RUNNING};
	struct reader *logs;
	struct err ignored;

	if (rec_logs_open(rec, img, &logs, &ignored))
		return sum;
	for (unsigned i = 0; i < img->nthreads; i++) {
		struct procs_ending one = end_of_log(&logs[i], img->head.pid);

		if (!logs[i].head.own_process)
			add_ending(&sum, &one);
		else
			sum.events += one.events;
	}
	rec_logs_free(logs, img->nthreads);
	return sum;
}

/* The last image of the process that the user has started. */
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

/*
 * The rank of a process: a crash, or a failure that the program itself cannot have noticed, comes before the program,
 * unless the program failed, too.
 */
static int rank_of(const struct procs_ending *end, const struct procs_ending *program, bool is_main)
{
	static const int ranks[] = {
		[PROCS_CRASHED] = 0, [PROCS_FAILED] = 2, [PROCS_RUNNING] = 6, [PROCS_EXITED] = 6, [PROCS_EXECED] = 8,
	};
	int rank = ranks[end->how];

	if (is_main)
		return rank < 4 ? rank - 1 : 4;
	return end->how == PROCS_FAILED && program->how == PROCS_EXITED && end->when < program->when ? 5 : rank;
}

/* Is the image a descendant of the process with this PID? */
static bool descends(const struct rec *rec, const struct rec_image *img, int64_t pid)
{
	struct err ignored;

	while (img && img->head.parent) {
		img = rec_image(rec, img->head.parent, &ignored);
		if (img && img->head.pid == pid)
			return true;
	}
	return false;
}

/* Among a process's descendants that ended before it did, the last one to end; -1: none. */
static int last_child(const struct rec *rec, const struct procs_ending *end, int at)
{
	int last = -1;

	for (unsigned i = 0; i < rec->nimages; i++) {
		const struct rec_image *img = &rec->images[i];

		if (img->head.pid != rec->images[at].head.pid && img->nthreads && end[i].how != PROCS_EXECED &&
		    end[i].when < end[at].when && (last < 0 || end[i].when > end[last].when) &&
		    descends(rec, img, rec->images[at].head.pid))
			last = (int)i;
	}
	return last;
}

/* Did the parent end as a shell does when its child has failed? */
static bool passes_on(const struct procs_ending *child, const struct procs_ending *parent)
{
	if (child->how == PROCS_CRASHED)
		return parent->how == PROCS_CRASHED
			       ? child->value == parent->value
			       : parent->how == PROCS_FAILED && parent->value == 128 + child->value;
	return child->how == PROCS_FAILED && parent->how == PROCS_FAILED && child->value == parent->value;
}

/* Puts the process that failed before those that only passed its failure on. */
static void put_cause_first(const struct rec *rec, const struct procs_ending *end, uint32_t *ordinals, unsigned n)
{
	int at = 0, child;

	while (n && rec->images[at].ordinal != ordinals[0])
		at++;
	while (n && (child = last_child(rec, end, at)) >= 0 && passes_on(&end[child], &end[at])) {
		unsigned was = 0;

		while (ordinals[was] != rec->images[child].ordinal)
			was++;
		memmove(ordinals + 1, ordinals, was * sizeof(*ordinals));
		ordinals[0] = rec->images[child].ordinal;
		at = child;
	}
}

unsigned procs_order(const struct rec *rec, uint32_t *ordinals)
{
	uint32_t first = main_image(rec);
	cleanup_free int *rank = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(int));
	cleanup_free struct procs_ending *end = xcalloc(rec->nimages ? rec->nimages : 1, sizeof(*end));
	struct procs_ending program = {.how = PROCS_RUNNING};
	unsigned n = 0;

	for (unsigned i = 0; i < rec->nimages; i++) {
		end[i] = procs_ending(rec, &rec->images[i]);
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
	put_cause_first(rec, end, ordinals, n);
	return n;
}

char *procs_ending_text(const struct procs_ending *end)
{
	static const char *const texts[] = {
		[PROCS_RUNNING] = "was ended from outside, or with its recording",
		[PROCS_EXECED] = "became another program",
		[PROCS_EXITED] = "exited with 0",
	};

	if (end->how == PROCS_CRASHED)
		return str_fmt("was killed by SIG%s", sigabbrev_np(end->value) ? sigabbrev_np(end->value) : "?");
	if (end->how == PROCS_FAILED)
		return str_fmt("exited with %d", end->value);
	return xstrdup(texts[end->how]);
}

uint32_t procs_default(const struct rec *rec)
{
	cleanup_free uint32_t *order = xcalloc(rec->nimages + 1, sizeof(*order));

	return procs_order(rec, order) ? order[0] : 0;
}

/* A fork has its parent's program and arguments. */
static const struct rec_image *program_of(const struct rec *rec, const struct rec_image *img)
{
	struct err ignored;

	while (img->head.origin == RLOG_ORIGIN_FORK) {
		const struct rec_image *parent = rec_image(rec, img->head.parent, &ignored);

		if (!parent)
			break;
		img = parent;
	}
	return img;
}

char *const *procs_argv(const struct rec *rec, const struct rec_image *img)
{
	return program_of(rec, img)->argv;
}

static bool is_named(const struct rec *rec, const struct rec_image *img, const char *name)
{
	const struct rec_image *program = program_of(rec, img);
	const char *argv0 = program->argv[0] ? program->argv[0] : "";

	return str_eq(path_base(program->exe), name) || str_eq(path_base(argv0), name) || str_eq(program->exe, name);
}

static uint32_t find_pid(const struct rec *rec, uint64_t pid)
{
	for (unsigned i = rec->nimages; i > 0; i--)
		if ((uint64_t)rec->images[i - 1].head.pid == pid)
			return rec->images[i - 1].ordinal;
	return 0;
}

uint32_t procs_find(const struct rec *rec, const char *name, struct err *e)
{
	cleanup_free uint32_t *order = xcalloc(rec->nimages + 1, sizeof(*order));
	struct err ignored;
	uint32_t found = 0;
	uint64_t n;

	if (!str_u64(name, 10, 1, INT32_MAX, &n)) {
		found = rec_image(rec, (uint32_t)n, &ignored) ? (uint32_t)n : find_pid(rec, n);
	} else {
		unsigned all = procs_order(rec, order);

		for (unsigned i = 0; i < all && !found; i++)
			if (is_named(rec, rec_image(rec, order[i], &ignored), name))
				found = order[i];
	}
	if (!found)
		err_set(e, ERR_USAGE,
			"--process: there is no process '%s' among the %u of %s: a number, a PID or a program's name "
			"(fredctl ps lists them)",
			name, rec->nimages, rec->dir);
	return found;
}

/* ---- JSON ---- */

static json_t *strings(char *const *list)
{
	json_t *a = json_array();

	for (; *list; list++)
		json_array_append_new(a, json_text(*list, strlen(*list)));
	return a;
}

/* The image that an execve of this one led to; 0: none. */
static uint32_t exec_of(const struct rec *rec, uint32_t ordinal)
{
	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].head.origin == RLOG_ORIGIN_EXEC && rec->images[i].head.parent == ordinal)
			return rec->images[i].ordinal;
	return 0;
}

/*
 * The end of a process. About the program itself, `fredctl record` knows more than the logs, for example a signal from
 * outside.
 */
static json_t *end_json(const struct rec *rec, const struct rec_image *img, const struct procs_ending *end)
{
	bool told = img->ordinal == main_image(rec) && rec->end != REC_END_UNKNOWN;

	switch (end->how) {
	case PROCS_CRASHED:
		return json_pack("{s:i}", "signal", end->value);
	case PROCS_EXECED:
		return json_pack("{s:i}", "exec", (int)exec_of(rec, img->ordinal));
	case PROCS_EXITED:
	case PROCS_FAILED:
		return json_pack("{s:i}", "code", end->value);
	case PROCS_RUNNING:
		break;
	}
	return told ? json_pack("{s:i}", rec->end == REC_END_SIGNAL ? "signal" : "code", rec->end_value) : json_null();
}

static json_t *seconds(const struct rec *rec, uint64_t stamp)
{
	const struct rlog_image *first = &rec->images[0].head;

	if (!first->tsc_hz || !stamp)
		return json_null();
	return json_real(stamp < first->start_stamp ? 0 : (double)(stamp - first->start_stamp) / (double)first->tsc_hz);
}

static json_t *process_json(const struct rec *rec, const struct rec_image *img, bool chosen)
{
	struct procs_ending end = procs_ending(rec, img);
	const struct rec_image *program = program_of(rec, img);

	return json_pack("{s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:b}", "process", (int)img->ordinal,
			 "pid", (int)img->head.pid, "parent", (int)img->head.parent, "ppid", (int)img->head.ppid,
			 "origin", img->head.origin == RLOG_ORIGIN_FORK ? "fork" : "exec", "exe",
			 json_text(program->exe, strlen(program->exe)), "argv", strings(program->argv), "end",
			 end_json(rec, img, &end), "events", (json_int_t)end.events, "started_s",
			 seconds(rec, img->head.start_stamp), "ended_s", seconds(rec, end.last), "default", chosen);
}

json_t *procs_json(const struct rec *rec)
{
	uint32_t first = procs_default(rec);
	json_t *list = json_array();

	for (unsigned i = 0; i < rec->nimages; i++)
		json_array_append_new(list, process_json(rec, &rec->images[i], rec->images[i].ordinal == first));
	return list;
}
