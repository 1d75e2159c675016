/* SPDX-License-Identifier: MIT */
/*
 * timeline.c: makes a timeline: chooses the logs, and where each one ends; and writes it for the shim. See timeline.h.
 */
#include "reclog/timeline.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "reclog/timeline_priv.h"

/* ---- parts ---- */

static int part_open(struct tl_part *part, const struct rec *rec, const struct rec_image *img, struct err *e)
{
	part->process = img->ordinal;
	part->first_thread = img->start ? img->start->thread : 0;
	if (rec_logs_open(rec, img, &part->logs, e))
		return -1;
	part->nthreads = img->nthreads;
	part->threads = xcalloc(part->nthreads + 1, sizeof(*part->threads));
	for (unsigned i = 0; i < part->nthreads; i++) {
		struct tl_thread *t = &part->threads[i];

		t->log = &part->logs[i];
		t->ordinal = t->log->head.thread;
		part->by_ordinal[t->ordinal] = (uint16_t)(i + 1);
	}
	if (part->first_thread && !part->by_ordinal[part->first_thread])
		return err_set(e, ERR_USAGE,
			       "damaged recording: process %u begins with an event of thread %u, which has no log",
			       part->process, part->first_thread);
	return 0;
}

/* Opens the image and its fork ancestors, the eldest first. alone: without the ancestors. */
static int parts_open(struct timeline *tl, const struct rec *rec, uint32_t process, bool alone, struct err *e)
{
	const struct rec_image *img, *chain[RLOG_MAX_PROCESSES];
	unsigned n = 0;

	do {
		if (!(img = rec_image(rec, process, e)))
			return -1;
		chain[n++] = img;
		process = img->head.parent; /* smaller: checked by rec_image_read */
	} while (!alone && img->head.origin == RLOG_ORIGIN_FORK && !img->start && n < RLOG_MAX_PROCESSES);
	tl->base = tl->total = img->start ? img->start->event - 1 : 0;
	tl->cut = rec->cut;
	tl->parts = xcalloc(n, sizeof(*tl->parts));
	for (; tl->nparts < n; tl->nparts++)
		if (part_open(&tl->parts[tl->nparts], rec, chain[n - 1 - tl->nparts], e)) {
			tl->nparts++;
			return -1;
		}
	return 0;
}

/* ---- build ---- */

static int part_merge(struct timeline *tl, unsigned i, const struct rec_live *live, const struct timeline_opts *opts,
		      struct err *e)
{
	struct tl_part *part = &tl->parts[i];
	struct tl_limit limit = {0};
	struct tl_merge m = {.tl = tl, .part = part};
	int r;

	part->first_run = tl->nruns;
	part->first_event = tl->total;
	if (i + 1 < tl->nparts && tl_find_fork(part, tl->parts[i + 1].process, &limit, e))
		return -1;
	if (part->first_thread)
		tl_emit(tl, part, part->first_thread, 1);
	/* what begins at a checkpoint has only one order */
	if (opts && opts->variant && !tl->base) {
		r = tl_merge_variant(tl, part, &limit, opts, e);
	} else {
		m.limit = limit;
		r = tl_merge_part(&m, e);
		tl_merge_fini(&m);
	}
	if (tl->total && live->process == part->process && i + 1 == tl->nparts) {
		tl_emit(tl, part, live->thread, 1);
		tl->live = true;
	}
	part->runs = tl->nruns - part->first_run;
	part->events = tl->total - part->first_event;
	return r;
}

static void clock_init(struct timeline *tl, const struct rec *rec)
{
	const struct rlog_image *first = &rec->images[0].head;
	/*
	 * a finished recording has measured the frequency over its whole time; its first image only until that image
	 * started
	 */
	uint64_t hz = rec->control.tsc_hz ? rec->control.tsc_hz : first->tsc_hz;

	tl->tsc_hz = rec->control.clock == 0 ? (double)hz : 0;
	tl->start_stamp = first->start_stamp;
	if (!tl->start_stamp && tl->parts[0].nthreads)
		tl->start_stamp = tl->parts[0].logs[0].head.stamp0;
}

static int build(const struct rec *rec, uint32_t process, uint64_t prefix, const struct timeline_opts *opts,
		 struct timeline **out, struct err *e)
{
	struct timeline *tl = xcalloc(1, sizeof(*tl));

	*out = NULL;
	tl->process = process;
	if (parts_open(tl, rec, process, prefix != 0, e))
		goto fail;
	if (prefix)
		tl->base = tl->total = prefix;
	clock_init(tl, rec);
	for (unsigned i = 0; i < tl->nparts; i++)
		if (part_merge(tl, i, &rec->live, opts, e))
			goto fail;
	if (tl->total == tl->base && !prefix) {
		err_set(e, ERR_USAGE, "%s: process %u has no events: it was killed before it ran", rec->dir, process);
		goto fail;
	}
	*out = tl;
	return 0;
fail:
	timeline_free(tl);
	return -1;
}

int timeline_build(const struct rec *rec, uint32_t process, const struct timeline_opts *opts, struct timeline **out,
		   struct err *e)
{
	return build(rec, process, 0, opts, out, e);
}

int timeline_build_alone(const struct rec *rec, uint32_t process, uint64_t prefix, struct timeline **out, struct err *e)
{
	return build(rec, process, prefix, NULL, out, e);
}

static void part_free(struct tl_part *part)
{
	for (unsigned i = 0; part->threads && i < part->nthreads; i++) {
		free(part->threads[i].marks.mark);
		free(part->threads[i].runs);
	}
	free(part->threads);
	rec_logs_free(part->logs, part->nthreads);
}

void timeline_free(struct timeline *tl)
{
	if (!tl)
		return;
	for (unsigned i = 0; i < tl->nparts; i++)
		part_free(&tl->parts[i]);
	free(tl->parts);
	free(tl->runs);
	free(tl->run_index);
	free(tl->block_events);
	free(tl);
}

uint64_t timeline_total(const struct timeline *tl)
{
	return tl->total;
}

uint64_t timeline_prefix(const struct timeline *tl)
{
	return tl->parts[tl->nparts - 1].first_event;
}

uint64_t timeline_base(const struct timeline *tl)
{
	return tl->base;
}

uint32_t timeline_process(const struct timeline *tl)
{
	return tl->process;
}

const struct replay_slot *timeline_runs(const struct timeline *tl, uint64_t *n)
{
	*n = tl->nruns;
	return tl->runs;
}

int timeline_write_sched(const struct timeline *tl, const char *path, struct err *e)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct replay_sched head = {
		.magic = RLOG_MAGIC_SCHED,
		.version = RLOG_VERSION,
		.process = tl->process,
		.slots = tl->nruns,
		.total = tl->total,
		.prefix_slots = tl->parts[tl->nparts - 1].first_run,
		.prefix_total = tl->parts[tl->nparts - 1].first_event,
	};

	if (fd < 0 || write_full(fd, &head, sizeof(head)) || write_full(fd, tl->runs, tl->nruns * sizeof(*tl->runs)))
		return err_errno(e, errno == ENOSPC ? ERR_HOST : ERR_INTERNAL, "%s", path);
	return 0;
}
