/* SPDX-License-Identifier: MIT */
/* Tests of base/cpu: against what the kernel says. */
#include "base/cpu.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "test.h"

/* The words after "flags" in /proc/cpuinfo. */
static void kernel_flags(struct strv *out)
{
	cleanup_buf struct buf b = {0};
	cleanup_free char *line = NULL;
	struct err e;
	const char *p;

	assert_int_equal(read_file("/proc/cpuinfo", &b, &e), 0);
	p = strstr(buf_str(&b), "\nflags");
	assert_non_null(p);
	p = strchr(p, ':') + 1;
	line = xstrndup(p, strcspn(p, "\n"));
	strv_split(out, line, " ");
}

static void test_known_to_the_kernel(void **state)
{
	cleanup_strv struct strv ours = {0}, theirs = {0};

	cpu_features(&ours);
	kernel_flags(&theirs);
	assert_true(ours.n >= 4); /* fred's minimum: x86-64 with SSE 4.2 and XSAVE is what all have */
	assert_true(strv_has(&ours, "pni"));
	for (size_t i = 0; i < theirs.n; i++) {
		static const char *const both[] = {"pni",  "ssse3", "sse4_2", "popcnt", "fma",
						   "bmi2", "erms",  "fsrm",   "xsavec", "abm"};

		for (size_t k = 0; k < sizeof(both) / sizeof(both[0]); k++)
			if (str_eq(theirs.s[i], both[k]) && !strv_has(&ours, both[k]))
				fail_msg("the kernel sees %s", both[k]);
	}
	for (size_t i = 0; i < ours.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ours.s[i], ours.s[k]);
}

static void test_xcr0(void **state)
{
	cleanup_strv struct strv names = {0}, ours = {0};
	uint64_t x = cpu_xcr0();

	cpu_features(&ours);
	if (strv_has(&ours, "avx"))
		assert_int_equal(x & 7, 7);
	cpu_xcr0_names(0x7 | 1ull << 9 | 1ull << 63, &names);
	assert_int_equal(names.n, 5);
	assert_string_equal(names.s[2], "avx");
	assert_string_equal(names.s[3], "pkru");
	assert_string_equal(names.s[4], "xcr0_63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_to_the_kernel),
		cmocka_unit_test(test_xcr0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
