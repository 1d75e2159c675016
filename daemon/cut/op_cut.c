/* SPDX-License-Identifier: MIT */
/*
 * op_cut.c: the operation that makes a recording of a window, with only the memory that the window touches. A replay
 * goes to the beginning of the window and takes a checkpoint there. The excerpt is replayed from that, to find out what
 * it needs, and once more with no more than that. If this last replay differs, nothing is left out.
 */
#define LOG_DOMAIN "cut"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cut/copies.h"
#include "cut/excerpt.h"
#include "cut/ops.h"
#include "cut/touched.h"
#include "instrument/instrument.h"
#include "replay/navigate.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "rlog/replay.h"
#include "target/logs.h"
#include "target/root.h"

struct cutting {
	struct op_ctx *ctx;
	struct rec *rec;
	uint32_t process;
	const char *dir;
	uint64_t from, to;
	struct rec_start start;
	/* results */
	uint64_t pages, pages_all; /* pages of memory, kept and in all */
	uint64_t copied, copied_all; /* bytes of files, kept and in all */
	bool counts;
	uint64_t insns; /* if they are counted */
	char *uncounted; /* why not all are counted; NULL: they are */
	char *whole; /* why nothing was left out; NULL: it was */
};

/* ---- the window ---- */

static int resolve(struct cutting *c, struct nav *n, const json_t *params, struct err *e)
{
	const char *from = json_string_value(json_object_get(params, "from")),
		   *to = json_string_value(json_object_get(params, "to"));
	uint64_t first = timeline_prefix(n->t.tl) + 1;
	struct timeline_point a, b;

	if (n->t.variant)
		return err_set(e, ERR_USAGE,
			       "%s replays only with its unsynchronised events in an order that differs from their "
			       "time stamps: no window can be cut out of it",
			       c->rec->dir);
	if (nav_resolve(n, from ? from : "start", &a, e) || nav_resolve(n, to ? to : "end", &b, e))
		return -1;
	c->from = a.event < first ? first : a.event;
	c->to = b.event + (b.pc != 0);
	if (c->to > nav_total(n))
		c->to = nav_total(n);
	if (c->from >= c->to)
		return err_set(e, ERR_USAGE, "there is no event from %s to %s", from ? from : "start", to ? to : "end");
	return 0;
}

static int take_checkpoint(struct cutting *c, struct nav *n, struct err *e)
{
	cleanup_free char *root = str_fmt("%s/p%04u/ckpt", c->dir, c->process);
	const char *files[] = {n->t.ctl_path, NULL};
	struct ckpt_meta m = {.event = nav_at(n), .process = n->t.process, .sched_crc = n->t.sched_crc, .keep = true};
	struct ckpt_store *store;
	int r;

	if (n->t.ctl->no_checkpoint)
		return err_set(e, ERR_USAGE,
			       "no checkpoint can be made at event %" PRIu64 ": begin the window elsewhere", c->from);
	if (ckpt_store_open(root, &store, e))
		return -1;
	r = ckpt_store_add(store, &n->env, n->t.pid, files, &m, e);
	c->start.checkpoint = m.id;
	c->start.root = n->t.root;
	ckpt_store_free(store);
	return r;
}

static void on_insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct cutting *c = ctx;

	(void)i;
	(void)x;
	(void)sp;
	c->insns++;
}

/*
 * Counts instructions in a further, instrumented replay of the window, before pages are left out, which may be the
 * recorder's as well.
 */
static int count(struct cutting *c, struct nav *n, struct err *e)
{
	static const struct instrument_ops ops = {.insn = on_insn};
	struct instrument i;
	struct err why;
	int r;

	if (!c->counts)
		return 0;
	instrument_init(&i, &ops, c);
	r = instrument_run(&i, n, c->from, c->to, &why);
	if (r && why.kind != ERR_CANCELLED)
		c->uncounted = xstrdup(why.text);
	else if (i.report.unseen || i.report.lost)
		c->uncounted =
			str_fmt("%" PRIu64 " segments were not examined completely", i.report.unseen + i.report.lost);
	instrument_fini(&i);
	if (r && why.kind == ERR_CANCELLED) {
		*e = why;
		return -1;
	}
	return 0;
}

static int cut_nav(struct cutting *c, struct nav *n, const json_t *params, struct err *e)
{
	uint64_t bytes;

	if (resolve(c, n, params, e) || timeline_start_at(n->t.tl, c->from, &c->start, &bytes, e))
		return -1;
	n->what = "going to the start of the window";
	n->span_hi = 0.4;
	if (nav_goto(n, c->from, e) || take_checkpoint(c, n, e))
		return -1;
	return excerpt_write(c->rec, n->t.tl, &c->start, &c->to, c->dir, e) || excerpt_seal(c->dir, e) || count(c, n, e)
		       ? -1
		       : 0;
}

static int cut(struct cutting *c, const json_t *params, struct err *e)
{
	struct nav n;
	int r;

	if (!c->rec->control.log_limit)
		/* so that what the checkpoint maps has room for any log */
		c->rec->control.log_limit = EXCERPT_LOG_LIMIT;
	if (nav_init(&n, c->rec, c->process, 0, c->ctx, e))
		return -1;
	r = cut_nav(c, &n, params, e);
	nav_fini(&n);
	return r;
}

/* ---- what it needs ---- */

static char *images_of(const struct cutting *c)
{
	return str_fmt("%s/p%04u/ckpt/%" PRIu64 "/images", c->dir, c->process, c->start.checkpoint);
}

static int note_size(const struct cutting *c, struct err *e)
{
	cleanup_free char *root = str_fmt("%s/p%04u/ckpt", c->dir, c->process);
	struct ckpt_store *store;
	int r;

	if (ckpt_store_open(root, &store, e))
		return -1;
	r = ckpt_store_note_size(store, c->start.checkpoint, e);
	ckpt_store_free(store);
	return r;
}

/* The two files of the image that lose pages, as they are now. */
struct kept_image {
	char *map, *data;
};

static int keep_image(struct kept_image *k, const struct cutting *c, const struct criu_pages *p, struct err *e)
{
	*k = (struct kept_image){path_join(c->dir, "map.tmp"), path_join(c->dir, "pages.tmp")};
	if (link(p->data, k->data))
		return err_errno(e, ERR_HOST, "%s", k->data);
	return copy_file(p->map, k->map, e);
}

static int put_image_back(const struct kept_image *k, const struct criu_pages *p, struct err *e)
{
	return rename(k->data, p->data) || rename(k->map, p->map) ? err_errno(e, ERR_HOST, "%s", p->data) : 0;
}

static void kept_image_fini(struct kept_image *k)
{
	if (k->map)
		unlink(k->map);
	if (k->data)
		unlink(k->data);
	free(k->map);
	free(k->data);
}

/* Reads what a debugger reads from the process in order to know libraries and stacks: that is needed as well. */
static void look_around(const struct target *t)
{
	static const struct gdb_opts opts = {.auto_load = true};
	struct err ignored;
	struct gdb *g = gdb_new(&opts, &ignored);

	if (g && !gdb_attach(g, t->pid, &ignored)) {
		for (unsigned k = 0; k < RLOG_MAX_THREADS; k++)
			if (t->ctl->tid[k])
				json_decref(show_stack(g, t->ctl->tid[k], NULL, &ignored));
		if (!gdb_dead(g))
			gdb_detach(g, &ignored);
	}
	gdb_free(g);
}

static int learn(struct cutting *c, struct nav *n, const struct criu_pages *p, struct touched *x, struct err *e)
{
	cleanup_free char *mount = root_rec();

	n->what = "finding out what the window needs";
	n->span_lo = 0.4;
	n->span_hi = 0.7;
	if (nav_begin(n, e))
		return -1;
	n->t.ctl->flags |= REPLAY_F_TOUCHED;
	if (touched_begin(x, &n->t, p, c->dir, mount, c->from, c->to, e))
		return -1;
	look_around(&n->t);
	if (nav_goto(n, nav_total(n), e))
		return -1;
	look_around(&n->t);
	if (touched_end(x, &n->t, e))
		return -1;
	target_kill(&n->t);
	return 0;
}

static int replay_again(struct nav *n, struct err *e)
{
	n->what = "replaying the window alone";
	n->span_lo = 0.7;
	n->span_hi = 1;
	return nav_begin(n, e) || nav_goto(n, nav_total(n), e) ? -1 : 0;
}

static int prune(struct cutting *c, struct nav *n, const struct rec *excerpt, struct criu_pages *p, struct touched *x,
		 struct kept_image *k, struct err *e)
{
	struct err why;

	if (learn(c, n, p, x, &why)) {
		if (why.kind == ERR_CANCELLED) {
			*e = why;
			return -1;
		}
		c->whole = xstrdup(why.text);
		target_kill(&n->t);
		return replay_again(n, e);
	}
	if (keep_image(k, c, p, e) || criu_pages_prune(p, touched_keeps, x, &c->pages, &c->pages_all, e) ||
	    copies_prune(excerpt, n->t.tl, x, &c->copied, &c->copied_all, e) || note_size(c, e))
		return -1;
	if (!replay_again(n, &why))
		return 0;
	if (why.kind == ERR_CANCELLED) {
		*e = why;
		return -1;
	}
	c->whole = xstrdup(why.text);
	target_kill(&n->t);
	return put_image_back(k, p, e) || copies_restore(c->dir, c->rec, e) || note_size(c, e) || replay_again(n, e)
		       ? -1
		       : 0;
}

static int prune_excerpt(struct cutting *c, struct err *e)
{
	cleanup_free char *images = images_of(c);
	struct kept_image k = {0};
	struct criu_pages p = {0};
	struct touched x = {0};
	struct rec *excerpt;
	struct nav n;
	int r;

	if (rec_open(c->dir, &excerpt, e))
		return -1;
	excerpt->logs_dir = logs_dir();
	r = nav_init(&n, excerpt, c->process, 0, c->ctx, e);
	if (!r) {
		r = criu_pages_read(&p, images, e) || prune(c, &n, excerpt, &p, &x, &k, e) ? -1 : 0;
		nav_fini(&n);
	}
	touched_fini(&x);
	criu_pages_fini(&p);
	kept_image_fini(&k);
	rec_free(excerpt);
	return r || excerpt_seal(c->dir, e) ? -1 : 0;
}

/* ---- the operation ---- */

static json_t *result_of(const struct cutting *c, double since)
{
	json_t *r = json_pack("{s:I, s:I, s:I, s:b}", "from", (json_int_t)c->from, "to", (json_int_t)c->to, "events",
			      (json_int_t)(c->to - c->from), "pruned", c->whole == NULL);

	if (c->counts)
		json_object_set_new(r, "instructions",
				    c->uncounted && !c->insns ? json_null() : json_integer((json_int_t)c->insns));
	if (c->uncounted) {
		cleanup_free char *text = str_fmt("the instructions are not counted completely: %s", c->uncounted);

		show_note(r, text);
	}
	if (c->whole) {
		cleanup_free char *text = str_fmt(
			"the window contains all memory, because a replay with less memory differs: %s", c->whole);

		show_note(r, text);
	} else {
		json_object_set_new(r, "memory",
				    json_pack("{s:I, s:I}", "kept", (json_int_t)(c->pages * CRIU_PAGE), "all",
					      (json_int_t)(c->pages_all * CRIU_PAGE)));
		json_object_set_new(
			r, "files",
			json_pack("{s:I, s:I}", "kept", (json_int_t)c->copied, "all", (json_int_t)c->copied_all));
	}
	show_process(r, c->rec, c->process);
	json_object_set_new(r, "stats", json_pack("{s:f}", "total_s", clock_s() - since));
	return r;
}

int op_cut(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct cutting c = {.ctx = ctx, .dir = json_string_value(json_object_get(params, "dir"))};
	double since = clock_s();
	int r = -1;

	if (pick_rec(params, &c.rec, e))
		return -1;
	c.counts = json_is_true(json_object_get(params, "count"));
	c.process = pick_process(params, c.rec, e);
	if (c.process)
		r = cut(&c, params, e) || prune_excerpt(&c, e) ? -1 : 0;
	if (!r)
		*result = result_of(&c, since);
	free(c.start.threads);
	free(c.whole);
	free(c.uncounted);
	rec_free(c.rec);
	return r;
}
