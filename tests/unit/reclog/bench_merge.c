/* SPDX-License-Identifier: MIT */
/*
 * bench_merge: builds the timeline of a made-up recording of a contended lock and prints what an
 * event costs. bench_merge [EVENTS [THREADS]]. Aim: 15 ns an event.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "logbuild.h"
#include "reclog/timeline.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Thread t locks and unlocks at random distances. */
static void fill(struct logbuild *lb, uint32_t thread, uint64_t events)
{
	uint64_t stamp = 1000 + thread;
	unsigned seed = thread;

	lb_init(lb, 1, thread, 1000);
	lb_add(lb, RLOG_START, stamp, 0, 0);
	for (uint64_t i = 1; i < events; i += 2) {
		stamp += 20 + (unsigned)rand_r(&seed) % 400;
		lb_add(lb, RLOG_LOCK, 0, 5, 0);
		lb_add(lb, RLOG_UNLOCK, stamp, 5, 0);
	}
}

static int measure(const char *dir, unsigned variant)
{
	struct timeline_opts opts = {.variant = variant};
	struct timeline *tl;
	struct timeline_where w;
	struct rec *rec;
	struct err e = {0};
	uint64_t runs, total;
	double t0 = now(), t1, t2;

	if (rec_open(dir, &rec, &e) || timeline_build(rec, 1, &opts, &tl, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	t1 = now();
	total = timeline_total(tl);
	if (timeline_find(tl, total / 2, &w, &e))
		return 1;
	t2 = now();
	timeline_runs(tl, &runs);
	printf("variant %u: %" PRIu64 " events, %" PRIu64
	       " runs, %.1f ns an event; first lookup %.1f ms\n",
	       variant, total, runs, (t1 - t0) * 1e9 / (double)total, (t2 - t1) * 1e3);
	timeline_free(tl);
	rec_free(rec);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 4;
	struct recbuild rb;
	int r;

	rb_init(&rb, 1000000000);
	rb_image(&rb, 1, 0, RLOG_ORIGIN_EXEC, 1000);
	for (unsigned t = 1; t <= threads; t++) {
		struct logbuild lb;

		fill(&lb, t, events / threads);
		rb_log(&rb, 1, t, &lb);
		lb_fini(&lb);
	}
	r = measure(rb.dir, 0) || measure(rb.dir, 0) || measure(rb.dir, 2);
	rb_fini(&rb);
	return r;
}
