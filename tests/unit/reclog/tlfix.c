/* SPDX-License-Identifier: MIT */
/* tlfix.c: see tlfix.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tlfix.h"

struct rec *tl_open(struct recbuild *rb)
{
	struct rec *rec;
	struct err e = {0};

	if (rec_open(rb->dir, &rec, &e))
		fail_msg("%s", e.text);
	return rec;
}

struct timeline *tl_make(struct rec *rec, uint32_t process, unsigned variant)
{
	struct timeline_opts o = {.variant = variant, .seed = 7};
	struct timeline *tl;
	struct err e = {0};

	if (timeline_build(rec, process, &o, &tl, &e))
		fail_msg("%s", e.text);
	return tl;
}

void tl_expect_runs(struct timeline *tl, const char *want)
{
	char got[400] = "";
	const struct replay_slot *run;
	uint64_t n;

	run = timeline_runs(tl, &n);
	for (uint64_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u*%u", i ? " " : "",
			 run[i].thread, run[i].count);
	assert_string_equal(got, want);
}

void tl_add_log(struct recbuild *rb, uint32_t process, uint32_t thread, struct logbuild *lb)
{
	rb_log(rb, process, thread, lb);
	lb_fini(lb);
}

void tl_two_threads(struct recbuild *rb, struct logbuild *a, struct logbuild *b)
{
	rb_init(rb, 1000);
	rb_image(rb, 1, 0, RLOG_ORIGIN_EXEC, 100);
	lb_init(a, 1, 1, 100);
	lb_init(b, 1, 2, 120);
	lb_add(a, RLOG_START, 100, 0, 0);
	lb_add(a, RLOG_CREATE, 110, 0, 1, 2ul);
	lb_add(a, RLOG_CREATED, 0, 0, 2, 0ul, 9ul);
	lb_add(b, RLOG_START, 120, 0, 0);
}

struct rec *tl_write_two(struct recbuild *rb, struct logbuild *a, struct logbuild *b)
{
	tl_add_log(rb, 1, 1, a);
	tl_add_log(rb, 1, 2, b);
	return tl_open(rb);
}
