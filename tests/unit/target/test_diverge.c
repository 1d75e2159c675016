/* SPDX-License-Identifier: MIT */
/* test_diverge.c: a divergence in words: where, which thread, both sides, and from where it was called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/diverge.h"

static void explain(struct replay_ctl *ctl, struct err *e)
{
	struct target t = {.ctl = ctl, .pid = getpid()};

	*e = (struct err){0};
	assert_int_equal(diverge_explain(&t, e), -1);
	assert_int_equal(e->kind, ERR_INTERNAL);
	assert_null(strchr(e->text, '\n'));
}

static void test_calls(void **state)
{
	static struct replay_ctl ctl;
	struct replay_diverge *d = &ctl.diverge;
	struct err e;

	*d = (struct replay_diverge){
		.thread = 3,
		.event = 41,
		.expected_kind = RLOG_SYS,
		.expected = {SYS_write, 1, 0x1000, 12, 99},
		.expected_n = 5,
		.got_kind = RLOG_SYS,
		.got = {SYS_write, 2, 0x1000, 12, 99},
		.got_n = 5,
		.caller = 16,
		.text = "an argument differs",
	};
	explain(&ctl, &e);
	assert_string_equal(e.text, "the replay diverged at event 41, thread 3: an argument differs; "
				    "expected: write(1, 4096, 12); got: write(2, 4096, 12); "
				    "called from 0x10");
}

/* Past the end of a log there is nothing to expect. */
static void test_end_of_log(void **state)
{
	static struct replay_ctl ctl;
	struct err e;

	ctl.diverge = (struct replay_diverge){
		.thread = 1, .event = 7, .got_kind = RLOG_START, .caller = 16, .text = "too long"};
	explain(&ctl, &e);
	assert_non_null(strstr(e.text, "expected: no more events of this thread; got: "));
}

static __attribute__((noinline)) uint64_t here(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* The caller is named by function and line, of the call and not of what comes after it. */
static void test_caller(void **state)
{
	static struct replay_ctl ctl;
	uint64_t pc;
	char want[64];
	struct err e;

	pc = here();
	snprintf(want, sizeof(want), "test_diverge.c:%d", __LINE__ - 1);
	ctl.diverge = (struct replay_diverge){
		.thread = 1, .event = 7, .got_kind = RLOG_START, .caller = pc, .text = "another kind"};
	explain(&ctl, &e);
	assert_non_null(strstr(e.text, "; called from test_caller at "));
	assert_string_equal(e.text + strlen(e.text) - strlen(want), want);
}

/* In a file that knows no lines: its own address, as addr2line and nm have it. */
static void test_caller_without_lines(void **state)
{
	const void *at = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	static struct replay_ctl ctl;
	char want[64];
	Dl_info info;
	struct err e;

	assert_true(at && dladdr(at, &info));
	ctl.diverge = (struct replay_diverge){.thread = 1,
					      .event = 7,
					      .got_kind = RLOG_START,
					      .caller = (uint64_t)(uintptr_t)at + 4,
					      .text = "another kind"};
	explain(&ctl, &e);
	assert_non_null(strstr(e.text, "; called from gnu_get_libc_version "));
	snprintf(want, sizeof(want), "+0x%lx", (unsigned long)((const char *)at + 4 - (const char *)info.dli_fbase));
	assert_true(strstr(e.text, want) || strstr(e.text, ".c:")); /* the latter: with libc's debug information */
}

/* Two objects are told apart by what the log keeps of their addresses. */
static void test_objects(void **state)
{
	static struct replay_ctl ctl;
	char want[128];
	struct err e;

	ctl.diverge = (struct replay_diverge){.thread = 1,
					      .event = 7,
					      .expected_kind = RLOG_LOCK,
					      .expected_hash = 0x5a,
					      .got_kind = RLOG_LOCK,
					      .got = {0x7fffe000},
					      .got_n = 1,
					      .caller = 16,
					      .text = "another object"};
	explain(&ctl, &e);
	snprintf(want, sizeof(want), "expected: pthread_mutex_lock [5a]; got: pthread_mutex_lock(0x7fffe000) [%02x]; ",
		 rlog_hash_addr((const void *)0x7fffe000));
	assert_non_null(strstr(e.text, want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	cmocka_unit_test(test_end_of_log),
		cmocka_unit_test(test_caller),	cmocka_unit_test(test_caller_without_lines),
		cmocka_unit_test(test_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
