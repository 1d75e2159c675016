/* SPDX-License-Identifier: MIT */
/* test_questions.c: hits that a second copy tells, or cannot tell; and the most accesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "instrument/instrument.h"

#define ID 7
#define WRONG 0x200000000020ull /* what it should not access */

static const uint8_t code[INSN_BYTES] = {0x8b, 0x08}; /* mov (%rax), %ecx */
static const uint8_t call[INSN_BYTES] = {0xe8}; /* call */

struct seen {
	struct instrument i;
	struct trace t;
	bool right; /* the hits were right already */
	unsigned told;
	uint64_t pc, hits;
};

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct seen *s = ctx;

	if (a->addr == WRONG)
		s->right = instrument_ask(i, a->insn, ID);
}

static int shadow(void *ctx, struct instrument *i, pid_t pid, uint64_t at, struct err *e)
{
	(void)ctx;
	(void)i;
	(void)pid;
	(void)at;
	(void)e;
	return 1;
}

static void position(void *ctx, struct instrument *i, size_t id, uint64_t pc, uint64_t hits)
{
	struct seen *s = ctx;

	(void)i;
	assert_int_equal(id, ID);
	s->told++;
	s->pc = pc;
	s->hits = hits;
}

static int tell(struct seen *s, uint64_t addr)
{
	const uint64_t v[] = {(uint64_t)REPORT_ACCESS << REPORT_KIND_SHIFT | (uint64_t)(uintptr_t)code, addr};
	struct err e;

	return s->i.report.ops->entries(&s->i, v, 2, &s->t, &e);
}

static void begin(struct seen *s)
{
	static const struct instrument_ops ops = {.access = access_, .shadow = shadow, .position = position};
	static const struct segcur in = {.seg = {.thread = 1}};
	struct err e;

	*s = (struct seen){.t.pid = getpid()};
	instrument_init(&s->i, &ops, s);
	assert_int_equal(s->i.report.ops->begun(&s->i, &in, &s->t, &e), 0);
	s->i.report.filter = REPORT_SHADOW;
}

/* As often as there are questions: another copy. */
static size_t begin_again(struct seen *s)
{
	uint64_t pcs[REPORT_ONLY_MAX];
	size_t n = s->i.report.ops->again(&s->i, pcs);

	for (size_t k = 0; k < n; k++)
		assert_int_equal(pcs[k], (uintptr_t)code);
	return n;
}

static void answered(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_false(s.right);
	assert_int_equal(begin_again(&s), 1);
	assert_int_equal(tell(&s, WRONG - 8), 0);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(s.told, 1);
	assert_int_equal(s.pc, (uintptr_t)code);
	assert_int_equal(s.hits, 2);
	instrument_fini(&s.i);
}

static void lost_in_first_copy(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	s.i.report.lost = 1;
	assert_int_equal(tell(&s, WRONG), 0);
	assert_false(s.right);
	assert_int_equal(begin_again(&s), 0);
	instrument_fini(&s.i);
}

static void lost_without_filter(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	s.i.report.filter = REPORT_ALL;
	assert_int_equal(tell(&s, WRONG), 0);
	assert_true(s.right);
	s.i.report.lost = 1;
	assert_int_equal(tell(&s, WRONG), 0);
	assert_false(s.right);
	instrument_fini(&s.i);
}

static struct timeline_point called(struct seen *s, uint64_t sp)
{
	const uint64_t v[] = {(uint64_t)REPORT_CALL << REPORT_KIND_SHIFT | (uint64_t)(uintptr_t)call, sp};
	const struct instrument_insn in_libc = {.pc = (uintptr_t)code, .hits = 1};
	struct timeline_point p;
	struct err e;

	s->i.visibility.libc = (struct text){(uintptr_t)code, (uintptr_t)code + sizeof(code)};
	assert_int_equal(s->i.report.ops->entries(&s->i, v, 2, &s->t, &e), 0);
	instrument_here(&s->i, &in_libc, &p);
	return p;
}

/* A call keeps what was not known of it, also in the copies after that. */
static void lost_before_call(void **state)
{
	static const struct segcur in = {.seg = {.thread = 1}};
	struct seen s;
	struct err e;

	(void)state;
	begin(&s);
	assert_int_equal(called(&s, 0x7000).hits, 1);
	s.i.report.lost = 1;
	assert_int_equal(called(&s, 0x6000).hits, 0);
	assert_int_equal(s.i.report.ops->begun(&s.i, &in, &s.t, &e), 0);
	assert_int_equal(s.i.stack->v[0].hits, 1);
	assert_int_equal(s.i.stack->v[1].hits, 0);
	instrument_fini(&s.i);
}

static void lost_in_second_copy(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(begin_again(&s), 1);
	s.i.report.lost = 1;
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(s.told, 0);
	instrument_fini(&s.i);
}

/* Those count that have no entries. What has entries is told first. */
static void most(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	s.i.report.most = 10;
	s.i.report.accesses = 10;
	assert_int_equal(tell(&s, WRONG - 8), 0);
	s.i.report.accesses = 1;
	assert_int_equal(tell(&s, WRONG), -1);
	assert_true(s.i.enough);
	assert_int_equal(begin_again(&s), 1);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(s.told, 1);
	instrument_fini(&s.i);
}

static void tell_three(struct seen *s, enum replay_report_kind kind, const uint8_t *pc, uint64_t a, uint64_t b)
{
	const uint64_t v[] = {(uint64_t)kind << REPORT_KIND_SHIFT | (uint64_t)(uintptr_t)pc, a, b, 0};
	struct err e;

	assert_int_equal(s->i.report.ops->entries(&s->i, v, kind == REPORT_CALLED ? 4 : 3, &s->t, &e), 0);
}

/* The second copy tells calls that have no entries in the first one. */
static void without_entries(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	tell_three(&s, REPORT_CALLED, call, 5, 0x7000);
	assert_int_equal(s.i.stack->n, 1);
	assert_int_equal(s.i.stack->v[0].hits, 5);
	tell_three(&s, REPORT_STANDS, NULL, 0x6ff8, 2);
	assert_int_equal(s.i.stack->n, 1);
	assert_int_equal(tell(&s, WRONG), 0);
	tell_three(&s, REPORT_STANDS, NULL, 0x7000, 2);
	assert_int_equal(s.i.stack->n, 0);
	assert_int_equal(begin_again(&s), 1);
	called(&s, 0x7000);
	called(&s, 0x6000);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(s.told, 0);
	called(&s, 0x5000);
	assert_int_equal(tell(&s, WRONG), 0);
	assert_int_equal(s.told, 1);
	assert_int_equal(s.hits, 2);
	instrument_fini(&s.i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(answered),
					   cmocka_unit_test(lost_in_first_copy),
					   cmocka_unit_test(lost_without_filter),
					   cmocka_unit_test(lost_in_second_copy),
					   cmocka_unit_test(lost_before_call),
					   cmocka_unit_test(without_entries),
					   cmocka_unit_test(most)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
