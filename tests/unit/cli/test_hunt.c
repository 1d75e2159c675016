// SPDX-License-Identifier: MIT
/* test_hunt.c: what of bisect is pure: the plan of schedules, journals that were cut, words of the command line, keys,
 * groups. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/path.h"
#include "hunt/cause.h"
#include "hunt/groups.h"
#include "hunt/journal.h"
#include "hunt/plan.h"
#include "hunt/spec.h"
#include "hunt/state.h"

#define ALL 7u

/* ---- the plan ---- */

static void count(struct plan *p, uint64_t epoch, unsigned n[HUNT_CLASSES])
{
	memset(n, 0, HUNT_CLASSES * sizeof(*n));
	for (unsigned i = 0; i < PLAN_EPOCH; i++)
		n[plan_class(p, epoch * PLAN_EPOCH + i)]++;
}

static void test_plan_begins_with_the_prior(void **state)
{
	unsigned n[HUNT_CLASSES];
	struct plan p;

	(void)state;
	plan_init(&p, ALL);
	count(&p, 0, n);
	assert_int_equal(n[HUNT_PARALLEL], PLAN_EPOCH * 3 / 16);
	assert_int_equal(n[HUNT_SERIAL], PLAN_EPOCH / 16);
	assert_int_equal(n[HUNT_CHAOS], PLAN_EPOCH * 12 / 16);
	plan_fini(&p);
	plan_init(&p, 1u << HUNT_SERIAL);
	count(&p, 5, n);
	assert_int_equal(n[HUNT_SERIAL], PLAN_EPOCH);
	plan_fini(&p);
}

/* What failed gets more turns, but two epochs later only, and nothing gets none. */
static void test_plan_follows_failures(void **state)
{
	unsigned before[HUNT_CLASSES], n[HUNT_CLASSES];
	struct plan p;

	(void)state;
	plan_init(&p, ALL);
	for (uint64_t i = 0; i < 4 * PLAN_EPOCH; i++) {
		enum hunt_class c = plan_class(&p, i);

		plan_note(&p, i, c, c == HUNT_PARALLEL && i < PLAN_EPOCH);
	}
	count(&p, 0, before);
	count(&p, PLAN_LAG, n);
	assert_memory_equal(before, n, sizeof(n));
	count(&p, PLAN_LAG + 1, n);
	assert_true(n[HUNT_PARALLEL] > 2 * before[HUNT_PARALLEL]);
	assert_true(n[HUNT_SERIAL] >= 1 && n[HUNT_CHAOS] >= PLAN_EPOCH / 4);
	assert_int_equal(plan_needs((PLAN_LAG + 1) * PLAN_EPOCH), PLAN_EPOCH);
	assert_int_equal(plan_needs(PLAN_LAG * PLAN_EPOCH), 0);
	plan_fini(&p);
}

/* In whatever order outcomes come, it is the same. */
static void test_plan_is_a_function(void **state)
{
	struct plan p, q;

	(void)state;
	plan_init(&p, ALL);
	plan_init(&q, ALL);
	for (uint64_t i = 0; i < PLAN_EPOCH; i++)
		plan_note(&p, i, (enum hunt_class)(i % 3), i % 5 == 0);
	for (uint64_t i = PLAN_EPOCH; i--;)
		plan_note(&q, i, (enum hunt_class)(i % 3), i % 5 == 0);
	for (uint64_t i = 0; i < PLAN_EPOCH; i++)
		assert_int_equal(plan_class(&p, 3 * PLAN_EPOCH + i), plan_class(&q, 3 * PLAN_EPOCH + i));
	plan_fini(&p);
	plan_fini(&q);
}

/* ---- journals ---- */

static void take_line(void *arg, const json_t *v)
{
	unsigned *n = arg;

	assert_int_equal(json_integer_value(json_object_get(v, "n")), *n);
	(*n)++;
}

static void test_journal_without_its_end(void **state)
{
	char dir[] = "/tmp/fred-hunt.XXXXXX";
	char *path;
	struct journal j;
	struct err e;
	uint64_t offset = 0;
	unsigned n = 0, lost = 0;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	path = path_join(dir, "j");
	assert_int_equal(journal_read(path, &offset, take_line, &n, &lost, &e), 0);
	assert_int_equal(journal_create(&j, path, &e), 0);
	for (int i = 0; i < 3; i++) {
		json_t *v = json_pack("{s:i}", "n", i);

		assert_int_equal(journal_add(&j, v, i == 1, &e), 0);
		json_decref(v);
	}
	journal_close(&j);
	assert_int_equal(journal_create(&j, path, &e), -1); /* nobody writes after another one's end */
	journal_close(&j);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"n\":3", 6), 6);
	assert_int_equal(journal_read(path, &offset, take_line, &n, &lost, &e), 0);
	assert_int_equal(n, 3);
	assert_int_equal(lost, 0);
	assert_int_equal(write(fd, "}\n\0\0garbage\n{\"n\":4}\n", 21), 21);
	close(fd);
	assert_int_equal(journal_read(path, &offset, take_line, &n, &lost, &e), 0);
	assert_int_equal(n, 5);
	assert_int_equal(lost, 1);
	rm_rf(dir, &e);
	free(path);
}

/* ---- claims ---- */

static void test_claims(void **state)
{
	char dir[] = "/tmp/fred-hunt.XXXXXX";
	json_t *spec = json_pack("{s:i}", "format", 1);
	struct hunt_state a, b;
	struct err e;
	char *path, *from;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(state_create(&a, dir, spec, &e), 0);
	assert_int_equal(state_create(&b, dir, spec, &e), 0);
	json_object_set_new(spec, "format", json_integer(2));
	state_fini(&b);
	assert_int_equal(state_create(&b, dir, spec, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(state_join(&a, &e), 0);
	assert_int_equal(state_claim(&a, "b1", &e), 1);
	assert_int_equal(state_claim(&a, "b1", &e), 0);
	/* of one who is dead: of this boot, and without the lock of a process that lives */
	path = path_join(dir, "tasks/t0099.json");
	from = path_join(dir, "tasks/t0001.json");
	assert_int_equal(copy_file(from, path, &e), 0);
	free(from);
	free(path);
	path = path_join(dir, "claims/b2.0");
	assert_int_equal(write_file(path, "t0099", 5, 0600, &e), 0);
	assert_int_equal(state_claim(&a, "b2", &e), 1);
	assert_int_equal(state_claim(&a, "b2", &e), 0);
	state_release(&a, "b2");
	assert_false(path_exists(path));
	free(path);
	json_decref(spec);
	state_fini(&a);
	state_fini(&b);
	rm_rf(dir, &e);
}

/* ---- words ---- */

static void test_words(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {{"90", 90},	   {"90s", 90},	    {"15m", 900},   {"1h30m", 5400},
		    {"0.5s", 0.5}, {"250ms", 0.25}, {"2d", 172800}, {"3min", 180}};
	static const char *const bad[] = {"", "s", "-1", "1x", "0", "1h-3m", "nan", "inf", "1e999"};
	struct err e;
	uint64_t bytes, seed = 7;
	unsigned scheds;
	double s;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(hunt_parse_duration(good[i].text, &s, &e), 0);
		assert_true(fabs(s - good[i].seconds) < 1e-9);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hunt_parse_duration(bad[i], &s, &e), -1);
	assert_int_equal(hunt_parse_size("3G", &bytes, &e), 0);
	assert_int_equal(bytes, 3ull << 30);
	assert_int_equal(hunt_parse_size("G", &bytes, &e), -1);
	assert_int_equal(hunt_parse_size("99999999999G", &bytes, &e), -1);
	assert_int_equal(hunt_parse_scheds("chaos:12,serial", &scheds, &seed, &e), 0);
	assert_int_equal(scheds, 1u << HUNT_CHAOS | 1u << HUNT_SERIAL);
	assert_int_equal(seed, 12);
	assert_int_equal(hunt_parse_scheds("chaos:x", &scheds, &seed, &e), -1);
	assert_int_equal(hunt_parse_scheds(",", &scheds, &seed, &e), -1);
}

/* ---- keys ---- */

static char *key(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);
	char *k;

	assert_non_null(v);
	k = cause_key(v);
	json_decref(v);
	return k;
}

#define FRAME(f, l) "{\"function\":\"" f "\",\"file\":\"/a/x.c\",\"line\":" l ",\"module\":\"x\"}"
#define LIBC "{\"function\":\"abort\",\"file\":\"/l/abort.c\",\"line\":9,\"module\":\"libc.so.6\"}"
#define CULPRIT "\"culprit\":{\"function\":\"f\",\"file\":\"/a/x.c\",\"line\":3}"

static void test_keys(void **state)
{
	char *a = key("{\"found\":true," CULPRIT ",\"backtrace\":[" FRAME("f", "3") "," FRAME("main", "9") "]}");
	/* deeper recursion, another line of the caller, another folder: the same cause */
	char *b = key("{\"found\":true," CULPRIT ",\"backtrace\":[" LIBC
		      "," FRAME("f", "3") "," FRAME("f", "5") "," FRAME("main", "8") "]}");
	/* another caller */
	char *c = key("{\"found\":true," CULPRIT
		      ",\"backtrace\":[" FRAME("f", "3") "," FRAME("g", "3") "," FRAME("main", "9") "]}");
	/* where it failed is no cause */
	char *d = key("{\"found\":false," CULPRIT ",\"backtrace\":[" FRAME("f", "3") "," FRAME("main", "9") "]}");
	char *none = key("{\"found\":false,\"culprit\":null}");

	(void)state;
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_string_not_equal(a, d);
	assert_string_equal(none, "");
	free(a);
	free(b);
	free(c);
	free(d);
	free(none);
}

/* ---- exit codes ---- */

static int code(const char *why, int failed, int searched, int unexplained)
{
	json_t *v = json_pack("{s:s, s:{s:i}, s:i, s:i}", "stopped", why, "runs", "failed", failed, "searched",
			      searched, "unexplained", unexplained);
	int r = hunt_exit_code(v);

	json_decref(v);
	return r;
}

static void test_exit_codes(void **state)
{
	(void)state;
	assert_int_equal(code("runs", 0, 0, 0), 1);
	assert_int_equal(code("budget", 0, 0, 0), 75);
	assert_int_equal(code("budget", 2, 2, 0), 0);
	assert_int_equal(code("budget", 2, 1, 1), 75);
	assert_int_equal(code("runs", 2, 2, 0), 0);
	assert_int_equal(code("runs", 2, 2, 1), 70);
	assert_int_equal(code("interrupted", 2, 2, 0), 130);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_begins_with_the_prior),
		cmocka_unit_test(test_plan_follows_failures),
		cmocka_unit_test(test_plan_is_a_function),
		cmocka_unit_test(test_journal_without_its_end),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_exit_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
