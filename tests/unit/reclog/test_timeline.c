/* SPDX-License-Identifier: MIT */
/*
 * The merge: small cases by hand, and random programs whose linear order must run through: no
 * hand-over reversed, in any variant, whatever ended the process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"
#include "tlfix.h"

/* ---- random programs ---- */

static void check_lookup(struct timeline *tl, uint64_t number, const struct timeline_event *walked)
{
	struct timeline_event ev;
	struct err e = {0};

	assert_int_equal(timeline_read(tl, number, &ev, &e), 0);
	assert_int_equal(ev.where.thread, walked->where.thread);
	assert_int_equal(ev.where.offset, walked->where.offset);
	assert_int_equal(ev.ev.stamp, walked->ev.stamp);
	assert_int_equal(ev.ev.has_result, walked->ev.has_result);
}

/* In variant 0, times never fall. */
static void check_time(unsigned variant, double *last, const struct timeline_event *ev)
{
	if (!variant)
		assert_true(ev->seconds >= *last);
	*last = ev->seconds;
}

static void check_order(const struct sim *s, struct timeline *tl, unsigned seed, unsigned variant)
{
	struct timeline_event ev = {0};
	struct timeline_walk w;
	struct sim_check c;
	struct err e = {0};
	const char *why;
	uint64_t sum = 0;
	double last = 0;

	sim_check_init(&c, s);
	assert_int_equal(timeline_walk_init(&w, tl, 1, &e), 0);
	for (uint64_t n = 1; timeline_walk_next(&w, &ev, &e) == 1; n++) {
		assert_int_equal(ev.where.number, n);
		assert_int_equal(ev.where.index, c.done[ev.where.thread]);
		if ((why = sim_check_step(&c, ev.where.thread)))
			fail_msg("seed %u variant %u: event %lu, thread %u: %s", seed, variant, (unsigned long)n,
				 ev.where.thread, why);
		check_lookup(tl, n, &ev);
		check_time(variant, &last, &ev);
	}
	timeline_walk_fini(&w);
	for (unsigned t = 1; t <= s->nthreads; t++)
		sum += s->thread[t].nops;
	assert_true(timeline_total(tl) <= sum);
	if (!s->end_thread) {
		assert_int_equal(timeline_total(tl), sum);
	} else {
		assert_int_equal(ev.where.thread, s->end_thread);
		assert_int_equal(ev.where.index, s->end_index);
	}
}

/* Every release that was stamped before the end must be there. */
static void check_kept(const struct sim *s, struct timeline *tl)
{
	uint64_t end = s->end_thread ? s->thread[s->end_thread].op[s->end_index].stamp : 0, n;
	const struct replay_slot *runs = timeline_runs(tl, &n);
	uint64_t kept[RLOG_MAX_THREADS + 1] = {0};

	for (uint64_t i = 0; i < n; i++)
		kept[runs[i].thread] += runs[i].count;

	for (unsigned t = 1; s->end_thread && t <= s->nthreads; t++) {
		const struct sim_thread *th = &s->thread[t];

		for (uint64_t i = 0; i < th->nops && th->op[i].stamp < end; i++) {
			if (reader_kind(th->op[i].kind)->flags & RF_S)
				assert_true(i < kept[t]);
		}
	}
}

static void one_program(unsigned seed, enum sim_end end, uint8_t hash_mod)
{
	struct recbuild rb;
	struct sim s;
	struct rec *rec;

	sim_run(&s, seed, 300 + seed % 7 * 400, end, hash_mod);
	rb_init(&rb, 1000);
	rb_image(&rb, 1, 0, RLOG_ORIGIN_EXEC, 1000);
	for (unsigned t = 1; t <= s.nthreads; t++)
		rb_log(&rb, 1, t, &s.thread[t].log);
	rec = tl_open(&rb);
	for (unsigned variant = 0; variant < 4; variant++) {
		struct timeline *tl = tl_make(rec, 1, variant);

		check_order(&s, tl, seed, variant);
		check_kept(&s, tl);
		timeline_free(tl);
	}
	rec_free(rec);
	rb_fini(&rb);
	sim_fini(&s);
}

static void test_random_programs(void **state)
{
	for (unsigned seed = 1; seed <= 240; seed++)
		one_program(seed, seed % 3, seed % 4 ? 251 : 2);
}

/* The checker can fail: an order by thread breaks hand-overs. */
static void test_checker_sees(void **state)
{
	unsigned refused = 0;

	for (unsigned seed = 1; seed <= 20; seed++) {
		struct sim_check c;
		const char *why = NULL;
		struct sim s;

		sim_run(&s, seed, 600, SIM_KILLED, 251);
		sim_check_init(&c, &s);
		for (unsigned t = s.nthreads; t && !why; t--)
			for (uint64_t i = 0; i < s.thread[t].nops && !why; i++)
				why = sim_check_step(&c, t);
		refused += why != NULL;
		sim_fini(&s);
	}
	assert_int_equal(refused, 20);
}

/* ---- by hand ---- */

/* Acquires go with the next release; equal stamps go by thread. */
static void test_slots_and_ties(void **state)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, RLOG_LOCK, 0, 5, 0);
	lb_add(&b, RLOG_UNLOCK, 200, 5, 0);
	lb_add(&a, RLOG_LOCK, 0, 6, 0);
	lb_add(&a, RLOG_UNLOCK, 200, 6, 0);
	lb_add(&b, RLOG_EXIT, 210, 0, 0);
	lb_add(&a, RLOG_EXIT, 220, 0, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, "1*2 2*1 1*2 2*3 1*1");
	assert_int_equal(timeline_total(tl), 9);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

/* A tail comes before what ended the process; slots after that are cut off. */
static void test_tails(void **state)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, RLOG_LOCK, 0, 5, 0); /* and it waits for something until the end */
	lb_add(&a, RLOG_LOCK, 0, 6, 0);
	lb_add(&a, RLOG_SYS, 300, 0, 3, 231ul, 0ul, 0ul);
	lb_add(&a, RLOG_EXIT, 301, 0, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, "1*2 2*2 1*2");
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

/* The same, but the lock of the tail may have come from an unlock that was cut off. */
static void test_tail_lost(void **state)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, RLOG_LOCK, 0, 9, 0);
	lb_add(&b, RLOG_LOCK, 0, 5, 0);
	lb_add(&b, RLOG_LOCK, 0, 10, 0);
	lb_add(&a, RLOG_LOCK, 0, 5, 0);
	lb_add(&a, RLOG_CRASH, 300, 0, 4, 11ul, 1ul, 0ul, 0ul);
	lb_add(&a, RLOG_UNLOCK, 400, 5, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, "1*2 2*2 1*2"); /* the first lock of the tail stays */
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

/* Thread 2's tail, a lock after `second` at 130 and its result; thread 1 crashes at 300 and then does `lost`. */
static void expect_tail(enum rlog_kind second, enum rlog_kind result, enum rlog_kind lost, const char *runs)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, second, 130, 77, 0);
	if (result)
		lb_add(&b, result, 0, 0, 1, 0ul);
	lb_add(&b, RLOG_LOCK, 0, 5, 0);
	lb_add(&a, RLOG_CRASH, 300, 0, 4, 11ul, 1ul, 0ul, 0ul);
	lb_add(&a, lost, 400, 6, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, runs);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

/* Where the log does not say which mutex a wait lets go, or takes back, the tail is cut. */
static void test_tail_waits(void **state)
{
	expect_tail(RLOG_SEM_POST, RLOG_END, RLOG_SEM_POST, "1*2 2*3 1*1");
	expect_tail(RLOG_SEM_POST, RLOG_END, RLOG_COND_WAIT, "1*2 2*2 1*1");
	expect_tail(RLOG_COND_WAIT, RLOG_COND_WOKE, RLOG_SEM_POST, "1*2 2*2 1*1");
	expect_tail(RLOG_BARRIER, RLOG_BARRIER_LEFT, RLOG_SEM_POST, "1*2 2*2 1*1");
}

/* The first of two crashes counts, and an execve that succeeded ends the image too. */
static void test_first_end_counts(void **state)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&a, RLOG_CRASH, 301, 0, 4, 11ul, 1ul, 0ul, 0ul);
	lb_add_v(&b, RLOG_EXEC, 250, 0, 0, NULL, "/nonexistent", 12);
	lb_add(&b, RLOG_EXECRET, 0, 0, 1, -2ul);
	lb_add_v(&b, RLOG_EXEC, 300, 0, 0, NULL, "/bin/true", 9);
	rec = tl_write_two(&rb, &a, &b);
	for (unsigned variant = 0; variant < 3; variant++) {
		tl = tl_make(rec, 1, variant);
		tl_expect_runs(tl, "1*2 2*3");
		timeline_free(tl);
	}
	rec_free(rec);
	rb_fini(&rb);
}

/* A signal to itself ends the process if nothing came after it. */
static void expect_kill(unsigned long nr, unsigned long x, unsigned long y, unsigned long z, bool result,
			const char *runs)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, RLOG_SYS, 300, 0, 5, nr, x, y, z, 99ul);
	if (result)
		lb_add_v(&b, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){0}, "", 0);
	lb_add(&a, RLOG_UNLOCK, 400, 6, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, runs);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

static void test_own_kill(void **state)
{
	static const char ended[] = "1*2 2*2", goes_on[] = "1*2 2*2 1*1";

	expect_kill(234, 1001, 1002, 6, false, ended); /* tgkill(pid, tid, SIGABRT) */
	expect_kill(234, 1001, 1002, 6, true, goes_on);
	expect_kill(234, 1001, 1001, 6, false, goes_on); /* another thread gets it */
	expect_kill(234, 1001, 1002, 0, false, goes_on);
	expect_kill(200, 1002, 6, 0, false, ended); /* tkill(tid, SIGABRT) */
	expect_kill(62, 1001, 9, 0, false, ended); /* kill(pid, SIGKILL) */
	expect_kill(62, 1, 9, 0, false, goes_on);
}

/* Variant 1 moves an unsynchronised segment to its start. */
static void test_variant_moves(void **state)
{
	struct logbuild a, b;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	tl_two_threads(&rb, &a, &b);
	lb_add(&b, RLOG_LOCK, 0, 5, 0);
	lb_add(&b, RLOG_UNLOCK, 130, 5, 0);
	lb_add(&b, RLOG_LOCK, 0, 5, 0); /* its segment is from 130 to 900 */
	lb_add(&b, RLOG_UNLOCK, 900, 5, 0);
	lb_add(&a, RLOG_UNLOCK, 200, 6, 0);
	lb_add(&a, RLOG_UNLOCK, 300, 6, 0);
	rec = tl_write_two(&rb, &a, &b);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, "1*2 2*3 1*2 2*2");
	timeline_free(tl);
	tl = tl_make(rec, 1, 1);
	tl_expect_runs(tl, "1*3 2*5 1*1");
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

static void expect_same_runs(struct timeline *a, struct timeline *b)
{
	const struct replay_slot *x, *y;
	uint64_t n, m;

	x = timeline_runs(a, &n);
	y = timeline_runs(b, &m);
	assert_int_equal(n, m);
	assert_memory_equal(x, y, n * sizeof(*x));
}

/* Randomised variants are reproducible, and differ from each other. */
static void test_variant_random(void **state)
{
	unsigned differ = 0;
	struct recbuild rb;
	struct sim s;
	struct rec *rec;

	sim_run(&s, 5, 3000, SIM_KILLED, 251);
	rb_init(&rb, 1000);
	rb_image(&rb, 1, 0, RLOG_ORIGIN_EXEC, 1000);
	for (unsigned t = 1; t <= s.nthreads; t++)
		rb_log(&rb, 1, t, &s.thread[t].log);
	rec = tl_open(&rb);
	for (unsigned variant = 2; variant < 5; variant++) {
		struct timeline *a = tl_make(rec, 1, variant), *b = tl_make(rec, 1, variant),
				*c = tl_make(rec, 1, variant + 1);
		const struct replay_slot *x, *y;
		uint64_t n, m;

		expect_same_runs(a, b);
		x = timeline_runs(a, &n);
		y = timeline_runs(c, &m);
		differ += n != m || memcmp(x, y, n * sizeof(*x));
		timeline_free(a);
		timeline_free(b);
		timeline_free(c);
	}
	assert_int_equal(differ, 3);
	rec_free(rec);
	rb_fini(&rb);
	sim_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_and_ties),	 cmocka_unit_test(test_tails),
		cmocka_unit_test(test_tail_lost),	 cmocka_unit_test(test_tail_waits),
		cmocka_unit_test(test_first_end_counts), cmocka_unit_test(test_own_kill),
		cmocka_unit_test(test_variant_moves),	 cmocka_unit_test(test_variant_random),
		cmocka_unit_test(test_random_programs),	 cmocka_unit_test(test_checker_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
