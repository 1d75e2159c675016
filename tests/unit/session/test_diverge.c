/* SPDX-License-Identifier: MIT */
/* test_diverge.c: a divergence in words: where, which thread, both sides, and from where it was called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/diverge.h"

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

/* The caller is named by file and offset into it, as addr2line wants it. */
static void test_caller(void **state)
{
	static struct replay_ctl ctl;
	char self[256], line[512];
	unsigned long want = 0, pc = (unsigned long)(uintptr_t)test_caller;
	const char *from, *plus;
	struct err e;
	FILE *f = fopen("/proc/self/maps", "r");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(f && n > 0);
	self[n] = 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long lo, hi, off;

		if (sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 && lo <= pc && pc < hi)
			want = pc - lo + off;
	}
	fclose(f);
	ctl.diverge = (struct replay_diverge){
		.thread = 1, .event = 7, .got_kind = RLOG_START, .caller = pc, .text = "x"};
	explain(&ctl, &e);
	from = strstr(e.text, "called from ");
	assert_non_null(from);
	from += strlen("called from ");
	plus = strrchr(from, '+');
	assert_non_null(plus);
	assert_int_equal((size_t)(plus - from), strlen(self));
	assert_memory_equal(from, self, strlen(self));
	assert_int_equal(strtoul(plus + 1, NULL, 16), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_end_of_log),
		cmocka_unit_test(test_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
