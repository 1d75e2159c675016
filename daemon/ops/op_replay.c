/* SPDX-License-Identifier: MIT */
/*
 * op_replay.c: replays every process image of a recording to its end (or one of them to a position). The
 * shim compares each event, the bytes of each output and the exit status with the log.
 */
#define LOG_DOMAIN "replay"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/plain.h"
#include "ops/operations.h"
#include "replay/navigate.h"
#include "replay/pick.h"
#include "replay/variants.h"
#include "target/line.h"

struct run {
	const struct rec *rec;
	struct op_ctx *ctx;
	bool output, verify, linear, memory;
	/* positions where the program was compared, and those where its memory was compared, too */
	uint64_t looked, compared;
	unsigned parallel; /* processes that were replayed in parallel */
	unsigned forked; /* those that were replayed from their fork on */
	/* how often a process was replayed once more, for more of its children, from a position after its start */
	unsigned resumed;
	uint64_t events;
	struct buf out; /* struct replay_out records of all processes */
	struct branch_set branches;
};

/* Adds the output of the image and its fork ancestors, from each image only its own. */
static int collect_output(struct run *r, const struct nav *n, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/out.%04u", cell_dir(), n->t.process);
	cleanup_buf struct buf b = {0};

	if (access(path, F_OK))
		return 0;
	if (read_file(path, &b, e))
		return -1;
	buf_add(&r->out, b.data, b.len);
	return 0;
}

static int by_stamp(const void *a, const void *b)
{
	const struct replay_out *x = *(const struct replay_out *const *)a;
	const struct replay_out *y = *(const struct replay_out *const *)b;

	if (x->stamp != y->stamp)
		return x->stamp < y->stamp ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Standard output or error if it is a file in which the program moved back and forth: the file's final contents, from
 * the position at which the program began.
 */
struct out_file {
	uint64_t base, at, back; /* positions in the file */
	bool moves;
	struct buf bytes;
};

#define OUT_FILE_MAX (1ull << 30)

static int out_file_put(struct out_file *f, const uint8_t *data, size_t len, struct err *e)
{
	uint64_t at = f->at - f->base, more;

	if (f->at < f->base || at + len > OUT_FILE_MAX)
		return err_set(e, ERR_USAGE,
			       "the program wrote at offset %llu of the file that was its standard output or error, "
			       "which began at offset %llu: output before that cannot be shown",
			       (unsigned long long)f->at, (unsigned long long)f->base);
	if (at + len > f->bytes.len) {
		more = at + len - f->bytes.len;
		memset(buf_reserve(&f->bytes, more), 0, more);
		buf_added(&f->bytes, more);
	}
	if (len)
		memcpy((uint8_t *)f->bytes.data + at, data, len);
	f->at += len;
	return 0;
}

static int out_file_add(struct out_file *f, const struct replay_out *o, struct err *e)
{
	enum replay_out_kind kind = o->fd >> REPLAY_OUT_SHIFT;
	uint64_t at = 0;

	if (kind == REPLAY_OUT_BYTES)
		return out_file_put(f, o->data, o->len, e);
	if (o->len == sizeof(at))
		memcpy(&at, o->data, sizeof(at));
	if (kind == REPLAY_OUT_AT)
		f->back = f->at;
	if (kind == REPLAY_OUT_SIZE) {
		f->back = f->at;
		f->at = at;
		if (at >= f->base && at - f->base < f->bytes.len)
			f->bytes.len = at - f->base;
		else if (out_file_put(f, NULL, 0, e))
			return -1;
		f->at = f->back;
		return 0;
	}
	f->at = kind == REPLAY_OUT_BACK ? f->back : at;
	return 0;
}

static bool is_move(const struct replay_out *o)
{
	return o->fd >> REPLAY_OUT_SHIFT != REPLAY_OUT_BYTES;
}

/* f: the files of standard output and of standard error */
static struct out_file *file_of(struct out_file *f, const struct replay_out *o)
{
	return &f[(o->fd & 3) == 2];
}

static int send_files(struct run *r, const struct replay_out **v, size_t n, struct out_file *f, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct out_file *o = file_of(f, v[i]);

		if (o->moves && out_file_add(o, v[i], e))
			return -1;
	}
	for (int k = 0; k < 2; k++)
		if (f[k].moves && f[k].bytes.len)
			op_output(r->ctx, k + 1, f[k].bytes.data, f[k].bytes.len);
	return 0;
}

/* All processes' output in the order in which it was written. */
static int send_output(struct run *r, struct err *e)
{
	const struct rlog_begin *begin = r->rec->nimages ? &r->rec->images[0].begin : NULL;
	cleanup_free const struct replay_out **v = NULL;
	struct out_file f[2] = {0};
	size_t n = 0, cap = 0;
	int ret;

	for (size_t at = 0; at + sizeof(struct replay_out) <= r->out.len;) {
		const struct replay_out *o = (const void *)((char *)r->out.data + at);

		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			v = xrealloc(v, cap * sizeof(*v));
		}
		v[n++] = o;
		at += sizeof(*o) + o->len;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_stamp);
	for (int k = 0; k < 2; k++)
		f[k].base = f[k].at = begin && r->rec->images[0].has_begin ? begin->out_at[k] : ~0ull;
	for (size_t i = 0; i < n; i++)
		if (is_move(v[i]))
			file_of(f, v[i])->moves = file_of(f, v[i])->base != ~0ull;
	for (size_t i = 0; i < n; i++)
		if (!is_move(v[i]) && !file_of(f, v[i])->moves)
			op_output(r->ctx, (int)v[i]->fd, v[i]->data, v[i]->len);
	ret = send_files(r, v, n, f, e);
	for (int k = 0; k < 2; k++)
		buf_fini(&f[k].bytes);
	return ret;
}

/*
 * Does the process fork? Then its threads are replayed one at a time, and its children are replayed from their forks
 * (target/branch.h). For a single child that does not pay if threads can run in parallel.
 */
static bool has_forks(const struct rec *rec, uint32_t process)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, process, &ignored);
	unsigned forks = 0;

	for (unsigned i = 0; i < rec->nimages; i++)
		forks += rec->images[i].head.origin == RLOG_ORIGIN_FORK && rec->images[i].head.parent == process;
	return forks > (img && img->nthreads > 1);
}

/* What is left of a bounded recording begins with a checkpoint; of one that goes on, more may come. */
static bool may_branch(const struct rec *rec)
{
	return !rec->control.log_limit && !rec->live.process;
}

/*
 * This process was forked when no more children could be kept waiting. Its parent is replayed again, and children are
 * made from this one on. 1: it waits now.
 */
static int make_again(struct run *r, uint32_t process, uint32_t flags)
{
	struct err ignored;
	const struct rec_image *img = rec_image(r->rec, process, &ignored);
	struct timeline_opts opts = {.seed = 1};
	struct nav n;
	uint32_t parent;

	if (!img || img->head.origin != RLOG_ORIGIN_FORK || !may_branch(r->rec))
		return 0;
	parent = img->head.parent;
	opts.variant = (unsigned)variants_of(r->rec, parent);
	if (!branches_want(&r->branches, parent, process, &opts) ||
	    nav_climb(r->rec, parent, flags, false, NULL, &r->branches, r->ctx, &n, &ignored))
		return 0;
	nav_fini(&n);
	if (branches_for(&r->branches, process).waits)
		return 1;
	log_info("process %u does not wait in another replay of process %u either", process, parent);
	return 0;
}

static int climb(struct run *r, uint32_t process, struct memory_check *memory, struct nav *n, struct err *e)
{
	uint32_t flags = r->output ? REPLAY_F_OUTPUT : 0;
	bool forks = may_branch(r->rec) && has_forks(r->rec, process);
	struct err why;

	if (memory) {
		branches_clear(&r->branches); /* as below */
		return nav_climb(r->rec, process, flags, !r->linear && !forks, memory, NULL, r->ctx, n, e);
	}
	if (!nav_branch(r->rec, process, flags, &r->branches, r->ctx, n, &why)) {
		r->forked++;
		return 0;
	}
	if (op_cancelled(r->ctx)) {
		*e = why;
		return -1;
	}
	log_info("process %u is not replayed from its fork on: %s", process, why.text);
	branches_clear(&r->branches); /* nobody may be in the root while it is written to */
	if (make_again(r, process, flags) && !nav_branch(r->rec, process, flags, &r->branches, r->ctx, n, &why)) {
		r->forked++;
		return 0;
	}
	if (op_cancelled(r->ctx)) {
		*e = why;
		return -1;
	}
	branches_clear(&r->branches);
	if (forks) {
		if (!nav_climb(r->rec, process, flags, false, NULL, &r->branches, r->ctx, n, &why))
			return 0;
		branches_clear(&r->branches);
		if (op_cancelled(r->ctx)) {
			*e = why;
			return -1;
		}
		/* processes that wait may have memory and PIDs that it needs */
	}
	return nav_climb(r->rec, process, flags, !r->linear && !forks, NULL, NULL, r->ctx, n, e);
}

static int replay_image(struct run *r, uint32_t process, struct err *e)
{
	struct memory_check memory = {0};
	struct nav n;
	int ret;

	ret = climb(r, process, r->memory ? &memory : NULL, &n, e);
	r->looked += memory.positions;
	r->compared += memory.compares ? memory.positions : 0;
	memory_fini(&memory);
	if (ret)
		return err_wrap(e, "process %u", process);
	r->parallel += n.parallel;
	r->events += nav_total(&n) - timeline_prefix(n.t.tl);
	if (r->output && collect_output(r, &n, e)) {
		nav_fini(&n);
		return -1;
	}
	nav_fini(&n);
	branches_end(&r->branches, process);
	return 0;
}

/* A process that was killed before its first event has no events; its log may have been begun. */
static bool has_events(const struct rec *rec, const struct rec_image *img)
{
	cleanup_free char *packed = str_fmt("%s/p%04u/t0001.zst", rec->dir, img->ordinal);
	struct reader *logs;
	struct err ignored;
	bool any = true;

	if (path_exists(packed))
		return true;
	if (img->nthreads != 1 || rec_logs_open(rec, img, &logs, &ignored))
		return img->nthreads > 0;
	if (!img->start) {
		struct reader_iter it = reader_begin(&logs[0]);
		struct reader_event ev;

		any = reader_next(&it, &ev) == RLOG_READ_OK;
	}
	rec_logs_free(logs, 1);
	return any;
}

/* Replays the images of a tree of forks, parents first. */
static int replay_tree(struct run *r, uint32_t tree, const uint32_t *trees, struct err *e)
{
	int ret = 0;

	branches_init(&r->branches, r->rec);
	for (unsigned i = 0; !ret && i < r->rec->nimages; i++) {
		const struct rec_image *img = &r->rec->images[i];

		if (trees[i] == tree && has_events(r->rec, img))
			ret = replay_image(r, img->ordinal, e);
	}
	r->resumed += r->branches.resumed;
	branches_fini(&r->branches);
	return ret;
}

static int replay_trees(struct run *r, struct err *e)
{
	cleanup_free uint32_t *trees = xcalloc(r->rec->nimages + 1, sizeof(*trees));
	struct err ignored;

	for (unsigned i = 0; i < r->rec->nimages; i++) {
		const struct rec_image *img = &r->rec->images[i], *first;

		first = line_first(r->rec, img->ordinal, false, &ignored);
		trees[i] = first ? first->ordinal : img->ordinal; /* so that its replay reports what is wrong */
	}
	for (unsigned i = 0; i < r->rec->nimages; i++)
		if (trees[i] == r->rec->images[i].ordinal && replay_tree(r, trees[i], trees, e))
			return -1;
	return 0;
}

static int replay_all(struct run *r, json_t **result, struct err *e)
{
	if (replay_trees(r, e)) {
		/* a difference is an answer of --verify, and a failure of anything else */
		if (r->verify && e->kind == ERR_INTERNAL)
			e->kind = ERR_NOT_FOUND;
		return -1;
	}
	if (!r->events)
		return err_set(e, ERR_USAGE, "%s: nothing was recorded: the program was ended before its first event",
			       r->rec->dir);
	if (r->output && send_output(r, e))
		return -1;
	*result = json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "recording", r->rec->dir, "verified", 1, "processes",
			    (json_int_t)r->rec->nimages, "parallel", (json_int_t)r->parallel, "forked",
			    (json_int_t)r->forked, "resumed", (json_int_t)r->resumed, "events", (json_int_t)r->events);
	if (r->memory)
		json_object_set_new(*result, "memory",
				    json_pack("{s:I, s:I}", "positions", (json_int_t)r->looked, "compared",
					      (json_int_t)r->compared));
	return 0;
}

/* A replay shows no state, so it takes no position inside a segment; eval and backtrace do. */
static int refuse_inside(const struct timeline_point *p, const char *until, struct err *e)
{
	return p->pc ? err_set(e, ERR_USAGE, "%s: a replay stops at an event, not inside a segment", until) : 0;
}

static int replay_until(struct run *r, const json_t *params, const char *until, json_t **result, struct err *e)
{
	uint32_t process = pick_process(params, r->rec, e);
	struct timeline_point p;
	struct nav n;
	int ret = -1;

	if (!process)
		return -1;
	if (nav_init(&n, r->rec, process, r->output ? REPLAY_F_OUTPUT : 0, r->ctx, e))
		return -1;
	/* output has to be complete from the start, so no checkpoint is used */
	if (!nav_resolve(&n, until, &p, e) && !refuse_inside(&p, until, e) &&
	    !(r->output ? nav_begin(&n, e) || target_run_to(&n.t, p.event, NULL, e) : nav_goto(&n, p.event, e))) {
		ret = 0;
		*result = json_pack("{s:s, s:i, s:{s:I, s:I}, s:I}", "recording", r->rec->dir, "process", (int)process,
				    "position", "event", (json_int_t)p.event, "events_total", (json_int_t)nav_total(&n),
				    "events", (json_int_t)p.event);
		if (r->output && !(ret = collect_output(r, &n, e)))
			ret = send_output(r, e);
	}
	nav_fini(&n);
	return ret;
}

int op_replay(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	const char *until = json_string_value(json_object_get(params, "until"));
	struct run r = {
		.ctx = ctx,
		.output = json_is_true(json_object_get(params, "output")),
		.verify = json_is_true(json_object_get(params, "verify")),
		.linear = json_is_true(json_object_get(params, "linear")),
		.memory = json_is_true(json_object_get(params, "memory")),
	};
	double began, took;
	struct rec *rec;
	int ret;

	if (until && r.memory)
		return err_set(e, ERR_USAGE, "--verify=memory compares memory in a complete replay: leave out --until");
	if (pick_rec(params, &rec, e))
		return -1;
	r.rec = rec;
	began = clock_s();
	ret = until ? replay_until(&r, params, until, result, e) : replay_all(&r, result, e);
	took = clock_s() - began;
	if (!ret) {
		cleanup_free char *warning = rec_incomplete_text(rec);

		json_object_set_new(*result, "wall_s", json_real(took));
		if (warning)
			json_object_set_new(*result, "warning", json_string(warning));
	}
	buf_fini(&r.out);
	rec_free(rec);
	return ret;
}
