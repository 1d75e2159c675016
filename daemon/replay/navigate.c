/* SPDX-License-Identifier: MIT */
/* navigate.c: see navigate.h. */
#define LOG_DOMAIN "nav"
#include "replay/navigate.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/plain.h"
#include "replay/parallel.h"
#include "replay/variants.h"
#include "target/line.h"

#define VARIANTS 14 /* reclog/timeline.h */
#define VARIANTS_ONE_ORDER 3 /* ways to find where computations were interrupted: plugins/record/preempt/seek.c */
#define STALLS                                                                                                         \
	2 /* replays that got no further, each of which takes some seconds: another order of events is no help         \
	   */
#define MAX_CKPTS 64
#define MAX_CKPT_BYTES (4ull << 30)
#define RESTART_S 0.05

static void show_progress(void *arg, uint64_t event, uint64_t total)
{
	struct nav *n = arg;
	double f = total ? (double)event / (double)total : 0;

	if (n->ctx)
		op_progress(n->ctx, n->span_lo + f * (n->span_hi - n->span_lo), n->what);
}

static bool is_cancelled(void *arg)
{
	return op_cancelled(((struct nav *)arg)->ctx);
}

static int init_variant(struct nav *n, const struct rec *rec, uint32_t process, unsigned variant, uint32_t flags,
			const struct target_branches *branches, struct op_ctx *ctx, struct err *e)
{
	cleanup_free char *root = path_join(rec->dir, "checkpoints");
	struct ckpt_limits limits = {.max_count = MAX_CKPTS, .max_bytes = MAX_CKPT_BYTES};
	struct err why;

	memset(n, 0, sizeof(*n));
	n->ctx = ctx;
	n->what = "replaying";
	n->span_hi = 1;
	if (target_init(&n->t, rec, process, variant, flags, branches, e)) {
		nav_fini(n);
		return -1;
	}
	n->t.cpu = sched_getcpu(); /* where the kernel put this worker: replays side by side get several */
	if (sched_getaffinity(0, sizeof(n->t.cpus), &n->t.cpus))
		n->t.cpu = -1;
	n->t.progress = show_progress;
	n->t.cancelled = is_cancelled;
	n->t.progress_ctx = n;
	/* without a folder for checkpoints everything still works, each time from the start */
	if (!cell_is_plain() && ckpt_store_open(root, &n->store, &why))
		log_warn("no checkpoints: %s", why.text);
	limits.total = nav_total(n);
	if (n->store && ckpt_store_gc(n->store, &limits, NULL, &why))
		log_warn("%s", why.text);
	return 0;
}

int nav_init(struct nav *n, const struct rec *rec, uint32_t process, uint32_t flags, struct op_ctx *ctx, struct err *e)
{
	return init_variant(n, rec, process, (unsigned)variants_of(rec, process), flags, NULL, ctx, e);
}

bool nav_may_have_variants(const struct nav *n)
{
	return !n->t.variant && !rec_one_order(n->t.rec, n->t.process);
}

/* Notes the divergence for whole_has_other_variant. */
static void note_divergence(const struct nav *n)
{
	struct op_ctx *ctx = n->ctx;

	if (!ctx || !n->t.diverged || ctx->diverged || !nav_may_have_variants(n))
		return;
	ctx->diverged = n->t.process;
	ctx->diverged_in = xstrdup(n->t.rec->dir);
}

void nav_fini(struct nav *n)
{
	note_divergence(n);
	forked_drop_all(&n->forked);
	target_fini(&n->t);
	ckpt_store_free(n->store);
	memset(n, 0, sizeof(*n));
}

uint64_t nav_at(const struct nav *n)
{
	return n->t.ctl->turn;
}

uint64_t nav_total(const struct nav *n)
{
	return target_total(&n->t);
}

uint64_t nav_first(const struct nav *n)
{
	uint64_t base = timeline_base(n->t.tl);

	return base ? base + 1 : 0;
}

static struct ckpt_meta like(const struct nav *n, uint64_t event)
{
	return (struct ckpt_meta){
		.event = event,
		.process = n->t.process,
		.variant = n->t.variant,
		.sched_crc = n->t.sched_crc,
	};
}

/* The checkpoint that a bounded recording begins with. */
static int restore_start(struct nav *n, const struct rec_image *base, struct err *e)
{
	cleanup_free char *root = nav_start_store(n->t.rec, base->ordinal);
	struct ckpt_store *store;
	struct ckpt_meta m;
	pid_t pid;
	int r;

	target_kill(&n->t);
	if (ckpt_store_open(root, &store, e))
		return -1;
	r = ckpt_store_get(store, base->start->checkpoint, &m, e) || ckpt_store_restore(store, &n->env, &m, &pid, e) ||
			    target_adopt_start(&n->t, pid, e)
		    ? -1
		    : 0;
	ckpt_store_free(store);
	return r ? err_wrap(e, "process %u begins with a checkpoint, which cannot be used", base->ordinal) : 0;
}

char *nav_start_store(const struct rec *rec, uint32_t process)
{
	return str_fmt("%s/p%04u/ckpt", rec->dir, process);
}

int nav_begin(struct nav *n, struct err *e)
{
	const struct rec_image *base = rec_image(n->t.rec, n->t.base, e);
	double t0 = clock_s();
	int r = !base ? -1 : base->start ? restore_start(n, base, e) : target_launch(&n->t, e);

	n->stats.restarts++;
	n->stats.restart_s += clock_s() - t0;
	return r;
}

/* 1: this checkpoint cannot be used; the next one may. */
static int restore(struct nav *n, const struct ckpt_meta *m, struct err *e)
{
	double t0 = clock_s();
	pid_t pid;
	int r;

	target_kill(&n->t);
	r = ckpt_store_restore(n->store, &n->env, m, &pid, e);
	if (r) {
		log_warn("checkpoint %llu is of no use: %s", (unsigned long long)m->id, e->text);
		return 1;
	}
	target_adopt(&n->t, pid);
	if (nav_at(n) != m->event) {
		log_warn("checkpoint %llu stands at event %llu", (unsigned long long)m->id,
			 (unsigned long long)nav_at(n));
		return 1;
	}
	n->stats.restarts++;
	n->stats.restart_s += clock_s() - t0;
	return 0;
}

/* Restores the nearest forked checkpoint. 1: there is none that can be used. */
static int restore_forked(struct nav *n, uint64_t at_most, uint64_t *at)
{
	double t0 = clock_s();
	struct err why = {0};

	while (forked_before(&n->forked, at_most, at)) {
		if (!forked_restore(&n->forked, *at, &n->t, &why)) {
			log_info("back to the forked checkpoint at event %llu", (unsigned long long)*at);
			n->stats.restarts++;
			n->stats.restart_s += clock_s() - t0;
			return 0;
		}
		log_warn("the forked checkpoint at %llu is of no use: %s", (unsigned long long)*at, why.text);
		forked_drop(&n->forked, *at);
	}
	return 1;
}

int nav_restart(struct nav *n, uint64_t at_most, uint64_t *at, struct err *e)
{
	struct ckpt_meta want = like(n, at_most), m;
	struct err ignored;

	if (!restore_forked(n, at_most, at))
		return 0;
	while (n->store && ckpt_store_nearest(n->store, &want, &m, &ignored) == 1) {
		if (restore(n, &m, &ignored) == 0) {
			*at = nav_at(n);
			return 0;
		}
		if (ckpt_store_remove(n->store, m.id, &ignored))
			break; /* the same checkpoint would be found again */
	}
	if (nav_begin(n, e))
		return -1;
	*at = nav_at(n);
	return 0;
}

static int run_to(struct nav *n, uint64_t to, bool *diverged, struct err *e)
{
	if (n->ctx) /* shows progress at once, however short the run is */
		op_progress(n->ctx, n->span_lo, n->what);
	return target_run_to(&n->t, to, diverged, e);
}

static double seconds_at(struct nav *n, uint64_t event)
{
	struct timeline_event ev;
	struct err ignored;

	return event && !timeline_read(n->t.tl, event, &ev, &ignored) ? ev.seconds : -1;
}

/* Is a restart from the checkpoint at `near` quicker than running there, by the recorded time in between? */
static bool worth_restart(struct nav *n, uint64_t near)
{
	double from = seconds_at(n, nav_at(n)), to = seconds_at(n, near);

	return from < 0 || to < 0 || to - from > RESTART_S;
}

/* The event at which the process will stop: one that was released in a segment still runs to the event after it. */
static uint64_t comes_to(const struct nav *n)
{
	const struct replay_ctl *c = n->t.ctl;

	return c->stop_at > c->turn && c->stop_at <= c->total ? c->stop_at : c->turn;
}

static int take_forked(struct nav *n, struct err *e)
{
	double t0 = clock_s();
	int r = forked_take(&n->forked, &n->t, e);

	n->stats.checkpoints += !r;
	n->stats.checkpoint_s += clock_s() - t0;
	return r;
}

#define FORKED_APART 1000u /* events */
/*
 * Runs to an event. A debugger that goes to a position mostly goes back from there, so forked checkpoints are the
 * denser, the nearer they are to it.
 */
static int run_near(struct nav *n, uint64_t to, struct err *e)
{
	struct err ignored;

	while (to > nav_at(n) + FORKED_APART) {
		if (run_to(n, nav_at(n) + (to - nav_at(n)) / 2, NULL, e))
			return -1;
		if (take_forked(n, &ignored))
			break;
	}
	return run_to(n, to, NULL, e);
}

int nav_goto(struct nav *n, uint64_t to, struct err *e)
{
	uint64_t at, near;

	if (to > nav_total(n))
		return err_set(e, ERR_USAGE, "position %llu is past the end (%llu)", (unsigned long long)to,
			       (unsigned long long)nav_total(n));
	if (!n->t.pid || to < comes_to(n) ||
	    (nav_ckpt_before(n, to, &near) && near > nav_at(n) && worth_restart(n, near)))
		if (nav_restart(n, to, &at, e))
			return -1;
	return cell_is_plain() ? run_near(n, to, e) : run_to(n, to, NULL, e);
}

static int dump(struct nav *n, struct ckpt_meta *m, struct err *e)
{
	const char *files[] = {n->t.ctl_path, NULL};
	double t0 = clock_s();

	if (ckpt_store_add(n->store, &n->env, n->t.pid, files, m, e))
		return -1;
	n->stats.checkpoints++;
	n->stats.checkpoint_s += clock_s() - t0;
	return 0;
}

int nav_checkpoint(struct nav *n, struct err *e)
{
	struct ckpt_meta m = like(n, nav_at(n));
	uint64_t at;

	if (cell_is_plain())
		return take_forked(n, e);
	if (!n->store || n->t.ctl->no_checkpoint)
		return 1;
	if (nav_ckpt_before(n, nav_at(n), &at) && at == nav_at(n))
		return 0;
	return dump(n, &m, e);
}

int nav_keep(struct nav *n, uint64_t *id, struct err *e)
{
	struct ckpt_meta m = like(n, nav_at(n));

	m.keep = true;
	if (!n->store || n->t.ctl->no_checkpoint)
		return 1;
	if (dump(n, &m, e))
		return -1;
	*id = m.id;
	return 0;
}

bool nav_ckpt_before(struct nav *n, uint64_t event, uint64_t *at)
{
	struct ckpt_meta want = like(n, event), m;
	struct err ignored;

	if (!n->store)
		return forked_before(&n->forked, event, at);
	if (ckpt_store_nearest(n->store, &want, &m, &ignored) != 1)
		return false;
	*at = m.event;
	return true;
}

static bool same_timeline(const struct nav *n, const struct ckpt_meta *m)
{
	return m->process == n->t.process && m->variant == n->t.variant && m->sched_crc == n->t.sched_crc;
}

bool nav_ckpt_after(struct nav *n, uint64_t event, uint64_t *at)
{
	struct ckpt_list l = {0};
	struct err ignored;
	bool found = false;

	if (!n->store)
		return forked_after(&n->forked, event, at);
	if (ckpt_store_list(n->store, &l, &ignored))
		return false;
	for (size_t i = 0; i < l.n; i++) {
		if (!same_timeline(n, &l.v[i]) || l.v[i].event <= event || (found && l.v[i].event >= *at))
			continue;
		*at = l.v[i].event;
		found = true;
	}
	ckpt_list_fini(&l);
	return found;
}

int nav_drop_checkpoint(struct nav *n, uint64_t event, struct err *e)
{
	struct ckpt_meta want = like(n, event), m;

	forked_drop(&n->forked, event);
	if (!n->store || ckpt_store_nearest(n->store, &want, &m, e) != 1 || m.event != event || m.keep)
		return 0;
	/* another search of this recording may be restoring it, or has removed it since it was listed */
	return ckpt_store_remove(n->store, m.id, e) >= 0 || e->kind == ERR_USAGE ? 0 : -1;
}

int nav_run_with_checkpoints(struct nav *n, uint64_t to, unsigned count, struct err *e)
{
	uint64_t cuts[2 * NAV_CUTS_MAX];
	unsigned k = nav_cuts(n, nav_at(n), to, count, cuts);
	struct err why;

	for (unsigned i = 0; i < k; i++) {
		if (run_to(n, cuts[i], NULL, e))
			return -1;
		if (nav_checkpoint(n, &why) < 0)
			log_warn("no checkpoint at %llu: %s", (unsigned long long)cuts[i], why.text);
	}
	return run_to(n, to, NULL, e);
}

static int resolve_ckpt(struct nav *n, const char *id_text, struct timeline_point *p, struct err *e)
{
	struct ckpt_meta m;
	uint64_t id;

	if (!n->store || str_u64(id_text, 10, 1, UINT64_MAX, &id))
		return err_set(e, ERR_USAGE, "ckpt:%s: there is no such checkpoint", id_text);
	if (ckpt_store_get(n->store, id, &m, e))
		return -1;
	if (!same_timeline(n, &m))
		return err_set(e, ERR_USAGE, "ckpt:%s is a checkpoint of process %u", id_text, m.process);
	*p = (struct timeline_point){.event = m.event};
	return 0;
}

int nav_resolve(struct nav *n, const char *text, struct timeline_point *p, struct err *e)
{
	struct pos pos;

	if (pos_parse(text, &pos, e))
		return -1;
	if (pos.kind == POS_CKPT)
		return resolve_ckpt(n, pos.ckpt, p, e);
	return timeline_resolve(n->t.tl, &pos, p, e);
}

/* Did the process replay to its end with its threads side by side? If not, that proves nothing, but is noted. */
static bool try_parallel(struct nav *n)
{
	cleanup_free char *key = str_fmt("linear %u", n->t.process);
	struct err why = {0};
	uint64_t bound;

	if (n->t.variant || variants_known(n->t.rec, key) || !(bound = parallel_bound(&n->t)))
		return false;
	if (!nav_begin(n, &why)) {
		parallel_begin(&n->t, bound);
		n->parallel = !run_to(n, nav_total(n), NULL, &why);
	}
	if (n->parallel)
		return true;
	log_info("process %u, in parallel: %s", n->t.process, why.text);
	variants_note(n->t.rec, key, 1);
	parallel_end(&n->t);
	return false;
}

static int run_to_end(struct nav *n, struct memory_check *memory, bool *diverged, struct err *e)
{
	if (!memory)
		return run_to(n, nav_total(n), diverged, e);
	memory_begin(memory, &n->t);
	for (unsigned i = 1; i <= MEMORY_POSITIONS; i++) {
		uint64_t at = memory_position(&n->t, i);

		if (at <= nav_at(n))
			continue;
		if (run_to(n, at, diverged, e) || memory_look(memory, &n->t, e))
			return -1;
	}
	return memory_end(memory, e);
}

/* None of the children that it and its ancestors fork on the way to that event waits. */
static int run_past_others(struct nav *n, const struct branch_set *b, bool *diverged, struct err *e)
{
	uint64_t at = b->until ? b->after : timeline_prefix(n->t.tl);

	line_branches_until(&n->t, n->t.branch.from);
	if (at > nav_at(n) && run_to(n, at, diverged, e))
		return -1;
	line_branches_until(&n->t, n->t.branch.end);
	return 0;
}

#define KEEP_S 0.2 /* longer than making and restoring a checkpoint takes */
/*
 * If it took long to come here, makes a checkpoint, from which another replay can fork the children that could not wait
 * any more. Drops the checkpoint before.
 */
static void keep_for_more(struct nav *n, struct branch_set *b, double began)
{
	bool keep = b->more && clock_s() - began > KEEP_S && !cell_is_plain(); /* a forked one ends with this replay */
	uint64_t *kept = &branches_process(b, n->t.process)->kept, was = *kept, at;
	struct err why;

	if (!keep && (b->more || !was))
		return;
	*kept = 0;
	if (keep && !(nav_ckpt_before(n, nav_at(n), &at) && at == nav_at(n)) && !nav_checkpoint(n, &why))
		*kept = nav_at(n);
	if (was && nav_drop_checkpoint(n, was, &why))
		log_info("%s", why.text);
}

static int begin_for_branches(struct nav *n, struct branch_set *b, struct err *e)
{
	uint64_t at;

	if (!b->until)
		return nav_begin(n, e);
	if (nav_restart(n, b->after, &at, e))
		return -1;
	b->resumed += at && at == branches_process(b, n->t.process)->kept;
	/* a checkpoint has the branches of the replay that made it */
	n->t.ctl->branches = n->t.branch.from;
	memset(&n->t.ctl->branch[n->t.branch.from], 0,
	       (n->t.branch.end - n->t.branch.from) * sizeof(n->t.ctl->branch[0]));
	return 0;
}

static int run_for_branches(struct nav *n, struct branch_set *b, bool *diverged, struct err *e)
{
	double began = clock_s();

	if (begin_for_branches(n, b, e) || run_past_others(n, b, diverged, e) ||
	    run_to(n, b->until ? b->until : nav_total(n), diverged, e))
		return -1;
	if (b->until)
		keep_for_more(n, b, began);
	return 0;
}

int nav_branch(const struct rec *rec, uint32_t process, uint32_t flags, struct branch_set *branches, struct op_ctx *ctx,
	       struct nav *out, struct err *e)
{
	const struct target_branches these = branches_for(branches, process);
	unsigned known = (unsigned)variants_of(rec, process);

	if (!these.waits || (known && known != these.variant))
		return err_set(e, ERR_NOT_FOUND, "process %u waits in no replay by its variant", process);
	if (init_variant(out, rec, process, these.variant, flags, &these, ctx, e))
		return -1;
	if (branch_launch(branches, &out->t, e) || run_to(out, nav_total(out), NULL, e)) {
		out->t.diverged = false; /* it is replayed again */
		nav_fini(out);
		return -1;
	}
	variants_set(rec, process, these.variant);
	branches_take(branches, &out->t);
	return 0;
}

int nav_climb(const struct rec *rec, uint32_t process, uint32_t flags, bool parallel, struct memory_check *memory,
	      struct branch_set *branches, struct op_ctx *ctx, struct nav *out, struct err *e)
{
	const struct target_branches these = branches ? branches_for(branches, process) : (struct target_branches){0};
	unsigned first = (unsigned)variants_of(rec, process);
	unsigned variants = rec_one_order(rec, process) ? VARIANTS_ONE_ORDER : VARIANTS;
	bool told = ctx && ctx->diverged == process; /* whole_has_other_variant has told the user */
	struct err why = {0};
	unsigned stalls = 0;

	for (unsigned i = 0; i < variants && stalls < STALLS; i++) {
		unsigned variant = i == 0 ? first : i <= first ? i - 1 : i;
		bool diverged = false, one_order;
		struct err *to = i ? &why : e;

		if (init_variant(out, rec, process, variant, flags, &these, ctx, to))
			return -1;
		if (parallel && !memory && !i && try_parallel(out))
			return 0;
		if (!(branches ? run_for_branches(out, branches, &diverged, to)
			       : nav_begin(out, to) || run_to_end(out, memory, &diverged, to))) {
			variants_set(rec, process, variant);
			if (branches)
				branches_take(branches, &out->t);
			return 0;
		}
		log_info("process %u, variant %u: %s", process, variant, to->text);
		one_order = timeline_base(out->t.tl) != 0;
		stalls += out->t.stalls;
		nav_fini(out);
		if (one_order) /* from a checkpoint on */
			return -1;
		if (i && !diverged && (to->kind == ERR_NOT_FOUND || to->kind == ERR_CANCELLED))
			*e = *to;
		if (!diverged)
			return -1;
		if (!i && variants > 1 && !told)
			variants_tell(ctx, e);
	}
	return -1;
}
