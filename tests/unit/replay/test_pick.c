/* SPDX-License-Identifier: MIT */
/* test_pick.c: how processes of made-up recordings ended, and which of them an operation is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fdio.h"
#include "logbuild.h"
#include "reclog/procs.h"
#include "replay/pick.h"

enum how { RUNNING, EXIT_0, EXIT_3, CRASH, OWN_KILL, REFUSED_KILL, EXEC, EXEC_FAILED, NO_LOG };

/* An image with one thread that begins then, and soon ends like this. */
static void add_at(struct recbuild *rb, uint32_t process, uint32_t parent, enum rlog_origin origin, enum how how, uint64_t at)
{
	uint64_t pid = 1000ul * process + 1;
	struct logbuild lb;

	rb_image(rb, process, parent, origin, at);
	if (how == NO_LOG)
		return;
	lb_init(&lb, process, 1, at);
	lb_add(&lb, RLOG_START, at, 0, 0);
	switch (how) {
	case EXIT_0:
		lb_add(&lb, RLOG_SYS, at + 1, 0, 3, (uint64_t)SYS_exit_group, 0ul, 9ul);
		break;
	case EXIT_3:
		lb_add(&lb, RLOG_SYS, at + 1, 0, 3, (uint64_t)SYS_exit_group, 0x103ul, 9ul);
		break;
	case CRASH:
		lb_add(&lb, RLOG_CRASH, at + 1, 0, 4, (uint64_t)SIGSEGV, 1ul, 0ul, 0x401136ul);
		break;
	case OWN_KILL:
	case REFUSED_KILL:
		lb_add(&lb, RLOG_SYS, at + 1, 0, 5, (uint64_t)SYS_tgkill, pid, pid, (uint64_t)SIGABRT, 9ul);
		if (how == REFUSED_KILL)
			lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){(uint64_t)-1}, "", 0);
		break;
	case EXEC:
	case EXEC_FAILED:
		lb_add(&lb, RLOG_EXEC, at + 1, 0, 0);
		if (how == EXEC_FAILED)
			lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){(uint64_t)-2}, "", 0);
		break;
	default:
		break;
	}
	rb_log(rb, process, 1, &lb);
	lb_fini(&lb);
}

static void add(struct recbuild *rb, uint32_t process, uint32_t parent, enum rlog_origin origin, enum how how)
{
	add_at(rb, process, parent, origin, how, 1000ul * process);
}

static struct rec *open_it(struct recbuild *rb)
{
	struct err e = {0};
	struct rec *rec;

	rb_finish(rb);
	if (rec_open(rb->dir, &rec, &e))
		fail_msg("%s", e.text);
	return rec;
}

static void expect_order(const struct rec *rec, unsigned n, const uint32_t *want)
{
	uint32_t got[16] = {0};

	assert_int_equal(procs_order(rec, got), n);
	assert_memory_equal(got, want, n * sizeof(*want));
}

static void test_how_ended(void **state)
{
	static const struct {
		enum how how;
		enum procs_end end;
		int value;
	} rows[] = {
		{RUNNING, PROCS_RUNNING, 0},   {EXIT_0, PROCS_EXITED, 0},
		{EXIT_3, PROCS_FAILED, 3},     {CRASH, PROCS_CRASHED, SIGSEGV},
		{OWN_KILL, PROCS_CRASHED, SIGABRT}, {REFUSED_KILL, PROCS_RUNNING, 0},
		{EXEC, PROCS_EXECED, 0},
	};
	struct recbuild rb;
	struct rec *rec;

	rb_init(&rb, 1000000);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add(&rb, i + 1, i ? 1 : 0, i ? RLOG_ORIGIN_FORK : RLOG_ORIGIN_EXEC, rows[i].how);
	rec = open_it(&rb);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct procs_ending end = procs_ending(rec, &rec->images[i]);

		assert_int_equal(end.how, rows[i].end);
		assert_int_equal(end.value, rows[i].value);
	}
	rec_free(rec);
	rb_fini(&rb);
}

/* The thread that says how it ended counts, not the first one. */
static void test_any_thread(void **state)
{
	struct recbuild rb;
	struct logbuild lb;
	struct procs_ending end;
	struct rec *rec;

	rb_init(&rb, 1000000);
	rb_image(&rb, 1, 0, RLOG_ORIGIN_EXEC, 100);
	lb_init(&lb, 1, 1, 100);
	lb_add(&lb, RLOG_START, 100, 0, 0);
	lb_add(&lb, RLOG_CREATE, 110, 0, 1, 2ul);
	lb_add(&lb, RLOG_CREATED, 0, 0, 2, 0ul, 1002ul);
	rb_log(&rb, 1, 1, &lb);
	lb_fini(&lb);
	lb_init(&lb, 1, 2, 120);
	lb_add(&lb, RLOG_START, 120, 0, 0);
	lb_add(&lb, RLOG_CRASH, 130, 0, 4, (uint64_t)SIGBUS, 1ul, 0ul, 0x401136ul);
	rb_log(&rb, 1, 2, &lb);
	lb_fini(&lb);
	rec = open_it(&rb);
	end = procs_ending(rec, &rec->images[0]);
	assert_int_equal(end.how, PROCS_CRASHED);
	assert_int_equal(end.value, SIGBUS);
	assert_int_equal(end.when, 130);
	assert_int_equal(end.events, 4);
	rec_free(rec);
	rb_fini(&rb);
}

/* A crash anywhere, then a failure, then the program itself, then the others; never what has no events. */
static void test_order(void **state)
{
	struct recbuild rb;
	struct rec *rec;

	rb_init(&rb, 1000000);
	add(&rb, 1, 0, RLOG_ORIGIN_EXEC, EXIT_0);
	add(&rb, 2, 1, RLOG_ORIGIN_FORK, EXEC);
	add(&rb, 3, 1, RLOG_ORIGIN_FORK, EXIT_0);
	add(&rb, 4, 1, RLOG_ORIGIN_FORK, EXIT_3);
	add(&rb, 5, 1, RLOG_ORIGIN_FORK, CRASH);
	add(&rb, 6, 1, RLOG_ORIGIN_FORK, NO_LOG);
	rec = open_it(&rb);
	expect_order(rec, 5, (const uint32_t[]){5, 4, 1, 3, 2});
	rec_free(rec);
	rb_fini(&rb);
}

/* A child that fails while the program goes on and succeeds is not what the user asks about; one that crashes is. */
static void test_dealt_with(void **state)
{
	struct recbuild rb;
	struct rec *rec;

	rb_init(&rb, 1000000);
	add_at(&rb, 1, 0, RLOG_ORIGIN_EXEC, EXIT_0, 5000);
	add_at(&rb, 2, 1, RLOG_ORIGIN_FORK, EXIT_3, 2000);
	add_at(&rb, 3, 1, RLOG_ORIGIN_FORK, CRASH, 3000);
	add_at(&rb, 4, 1, RLOG_ORIGIN_FORK, EXIT_3, 6000);
	rec = open_it(&rb);
	expect_order(rec, 4, (const uint32_t[]){3, 4, 1, 2});
	rec_free(rec);
	rb_fini(&rb);
}

/* Of two that crashed, and of two that failed, the program itself comes first. */
static void test_main_first(void **state)
{
	struct recbuild rb;
	struct rec *rec;

	rb_init(&rb, 1000000);
	add(&rb, 1, 0, RLOG_ORIGIN_EXEC, EXIT_3);
	add(&rb, 2, 1, RLOG_ORIGIN_FORK, EXIT_3);
	add(&rb, 3, 1, RLOG_ORIGIN_FORK, CRASH);
	rec = open_it(&rb);
	expect_order(rec, 3, (const uint32_t[]){3, 1, 2});
	rec_free(rec);
	rb_fini(&rb);
}

static void test_process(void **state)
{
	struct recbuild rb;
	struct rec *rec;
	struct err e = {0};
	json_t *none = json_object(), *two = json_pack("{s:i}", "process", 2),
	       *nine = json_pack("{s:i}", "process", 9);

	rb_init(&rb, 1000000);
	add(&rb, 1, 0, RLOG_ORIGIN_EXEC, CRASH);
	add(&rb, 2, 1, RLOG_ORIGIN_FORK, EXIT_0);
	rec = open_it(&rb);
	assert_int_equal(pick_process(none, rec, &e), 1);
	assert_int_equal(pick_process(two, rec, &e), 2);
	assert_int_equal(pick_process(nine, rec, &e), 0);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "9"));
	json_decref(none);
	json_decref(two);
	json_decref(nine);
	rec_free(rec);
	rb_fini(&rb);
}

/* A recording whose files were changed is refused before anything runs. */
static void test_damage(void **state)
{
	struct recbuild rb;
	struct rec *rec = NULL;
	struct err e = {0};
	json_t *params;

	rb_init(&rb, 1000000);
	add(&rb, 1, 0, RLOG_ORIGIN_EXEC, EXIT_0);
	rb_finish(&rb);
	params = json_pack("{s:s}", "rec", rb.dir);
	assert_int_equal(pick_rec(params, &rec, &e), 0);
	rec_free(rec);
	rec = NULL;
	assert_int_equal(write_file(rb_path(&rb, "p0001/t0001.log"), "x", 1, 0600, &e), 0);
	assert_int_equal(pick_rec(params, &rec, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_null(rec);
	json_decref(params);
	rb_fini(&rb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_ended), cmocka_unit_test(test_any_thread),
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_main_first),
		cmocka_unit_test(test_dealt_with),
		cmocka_unit_test(test_process),	  cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
