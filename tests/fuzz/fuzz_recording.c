/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recording.c: a recording that somebody has changed: whatever its logs, lists and meta.json say, it is read or
 * refused, as the commands do that read recordings. Sums are not looked at: whoever changes a file can correct them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "describe/counts.h"
#include "describe/damage.h"
#include "describe/describe.h"
#include "describe/traps.h"
#include "rec_made.h"
#include "reclog/files.h"
#include "reclog/host.h"
#include "reclog/procs.h"
#include "reclog/sources.h"
#include "reclog/timeline.h"

enum { EVENTS_MAX = 500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_events(struct timeline *tl)
{
	struct timeline_walk w;
	struct timeline_event ev;
	struct buf text = {0};
	struct err e;

	if (!timeline_walk_init(&w, tl, timeline_base(tl) + 1, &e)) {
		for (unsigned i = 0; i < EVENTS_MAX && timeline_walk_next(&w, &ev, &e) == 1; i++) {
			buf_clear(&text);
			describe_event_text(&text, &ev);
			json_decref(describe_event_json(&ev));
		}
		timeline_walk_fini(&w);
	}
	buf_fini(&text);
}

static void read_timeline(const struct rec *rec, uint32_t process)
{
	struct timeline *tl;
	struct timeline_thread *threads = NULL;
	struct err e;

	for (unsigned variant = 0; variant < 2; variant++) {
		struct timeline_opts o = {.variant = variant, .seed = 1};

		if (timeline_build(rec, process, &o, &tl, &e))
			continue;
		timeline_threads(tl, &threads);
		free(threads);
		if (!variant)
			read_events(tl);
		timeline_write_sched(tl, "/dev/null", &e);
		timeline_free(tl);
	}
}

static void read_sources(const struct rec *rec)
{
	struct sources s;
	struct buf text = {0};
	struct err e;

	sources_init(&s, rec);
	for (size_t i = 0; i < s.n; i++)
		source_read(&s, &s.v[i], &text, &e);
	sources_fini(&s);
	buf_fini(&text);
}

static void read_image(const struct rec *rec, const struct rec_image *img)
{
	struct procs_ending end = procs_ending(rec, img);
	struct rec_files l;
	struct err e;

	free(procs_ending_text(&end));
	if (!rec_files_read(rec, img->ordinal, &l, &e))
		rec_files_fini(&l);
	read_timeline(rec, img->ordinal);
}

static void read_all(const struct rec *rec)
{
	struct err e;

	free(rec_incomplete_text(rec));
	rec_verify_manifest(rec, &e);
	rec_host_check(rec->meta, &e);
	json_decref(counts_json(rec, &e));
	json_decref(traps_json(rec, &e));
	json_decref(procs_json(rec));
	json_decref(damage_list(&rec->control));
	read_sources(rec);
	for (unsigned i = 0; i < rec->nimages; i++)
		read_image(rec, &rec->images[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_made *m = rec_made();
	struct rec *rec;
	struct err e = {0};

	script_run(m->f, m->n, data, size);
	rec_made_write(m);
	if (rec_open(m->dir, &rec, &e)) {
		if (!e.text[0])
			abort(); /* a refusal says why */
		return 0;
	}
	read_all(rec);
	rec_free(rec);
	return 0;
}
