/* SPDX-License-Identifier: MIT */
/* test_program_code.c: code that the kernel does not forbid to execute is not taken for forbidden. */
#include "scenarios.h"
#include <sys/mman.h>

#include "base/maps.h"
#include "rlog/report.h"
#include "visibility/program_code.h"

#define PAGE 4096ul

static struct replay_report_code codes[4];
static struct replay_report report;

static void refused(void **state)
{
	/* where nothing else is mapped by itself */
	char *p = mmap((void *)0x10000000, 4 * PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	uint64_t at = ADDR(p);
	struct program_code_range v[] = {
		{.at = {at, at + PAGE}, .prot = PROT_READ | PROT_EXEC},
		{.at = {at + PAGE, at + 2 * PAGE}, .prot = PROT_READ | PROT_EXEC},
		{.at = {at + PAGE, at + 4 * PAGE}, .prot = PROT_READ | PROT_EXEC},
	};
	struct program_code c = {.v = v, .n = 2, .report = ADDR(&report)};
	struct mapping m;
	struct target g;

	(void)state;
	report = (struct replay_report){.codes_max = 4, .code_at = ADDR(codes)};
	munmap(p + PAGE, PAGE);
	target_start(&g, scenario_store);
	OK(program_code_forbid(&c, &g.t, GADGET, false, &e));
	assert_true(v[0].forbidden);
	assert_true(maps_find(g.pid, at, &m));
	assert_false(m.exec);
	assert_false(v[1].forbidden); /* nothing is mapped there */
	assert_false(c.allowed);
	assert_true(program_code_is_forbidden(&c, &g.t, at));
	assert_false(program_code_is_forbidden(&c, &g.t, at + PAGE));

	c.n = 3; /* mprotect(2) fails at the page that is not mapped, and leaves the others as they are */
	OK(program_code_forbid(&c, &g.t, GADGET, false, &e));
	assert_false(v[2].forbidden);
	assert_true(c.allowed);
	assert_false(program_code_is_forbidden(&c, &g.t, at + 3 * PAGE));
	target_stop(&g);
	munmap(p, 4 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
