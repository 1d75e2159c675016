/* SPDX-License-Identifier: MIT */
/*
 * test_expr_float.c: expressions with floating-point numbers give, without GDB, what GDB's print gives. argv[1]: the
 * program that has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/expr_float.h"

#include "../gdb/live.h"

static const char *program;

static const char *const same[] = {
	"half > 0",
	"half >= 0.5",
	"half <= 0.5",
	"half < 0.5",
	"half == 0.5",
	"half != 0.5",
	"half > three",
	"three > half",
	"three | half > 0",
	"three & half > 0",
	"three ^ half > 0 == 1",
	"half * three == 1.5",
	"half + three * 2 - 1 == 5.5",
	"(half + three) * 2 == 7",
	"-half < 0",
	"- half < -.25",
	"!half",
	"!nothing",
	"!!half",
	"half && nothing",
	"half || nothing",
	"nothing || minus",
	"half && three",
	"nothing && three",
	"three > 2 && half > 0.25",
	"three > 2 || *(double *)0 > 1",
	"three < 2 && *(double *)0 > 1",
	"minus / 2 == -3.875",
	"minus / nothing < 0",
	"(long)minus",
	"(int)minus",
	"(int)half",
	"(unsigned char)(half * 1000)",
	"(short)minus == -7",
	"(float)half == half",
	"(double)third == third",
	"(double)three / 2 == 1.5",
	"(double)three/2 == 1.5",
	"third == 1 / 3.0",
	"third == (float)(1 / 3.0)",
	"third * 3 == 1",
	"tenth == 0.1",
	"tenth == 0.1f",
	"tenth + tenth + tenth == 0.3f",
	"tenth * tenth == 0.01f",
	"not_a_number == not_a_number",
	"not_a_number != not_a_number",
	"not_a_number < 1",
	"not_a_number > 1",
	"not_a_number <= 1",
	"not_a_number >= 1",
	"!not_a_number",
	"endless > huge",
	"endless == endless + 1",
	"endless - endless == 0",
	"huge < 1e301",
	"huge > 1e+299",
	"huge > 1.0e-3",
	"big == 9007199254740992.0",
	"big > half",
	"biggest > huge",
	"biggest > 1e19",
	"biggest == 18446744073709551616.0",
	"four - half == 3.5",
	"four > -half",
	"small < half",
	"small * half == -2.5",
	"moon.mass < earth.mass",
	"earth.next->mass * 2 < .5",
	"earth.next->speed[1] < 0",
	"earth.speed[three - 1] < -1e30",
	"earth.rings > half",
	"local > 2",
	"local * 2 == 5",
	"wide + 1 == wide",
	"wide + 1.0 == wide",
	"(half) > 0",
	"((half > 0))",
	"half>0",
	"half>0&&minus<0",
	"half > 0 == 1",
	"(int)huge == (int)huge",
	"*&half > 0",
	"(&earth)->mass == 1",
	"half > 1e-310",
	"0x10 > half",
	"(int)local > 1 && (int)local < 3",
	"(int)local == 2 || !local",
};

/* Not ours: GDB evaluates them, or refuses them too. */
static const char *const refused[] = {
	"half",
	"half + 1",
	"three > 2",
	"three",
	"half > 0 ? 1 : 2",
	"half % 2 > 0",
	"three % half > 0",
	"half = 1",
	"&earth > half",
	"half > 0, three > 1",
	"half >",
	"(half > 0",
	"half > 0)",
	"> half",
	"half > nobody",
	"half > 1.5L",
	"half > 1.5x",
	"half << 1 > 0",
	"~half > 0",
	"earth.speed > half",
	"half > \"a\"",
	"(bool)half > 0",
	"half > 'a' > $pc",
	"(short)minus + 0 == -7",
	"",
};

static char *ours(struct live *l, const char *text, int *r)
{
	struct live_memory mem = {l->pid};
	cleanup_free uint8_t *code = NULL;
	struct expr_locals locals = {0};
	struct agent_result out;
	struct err e = {0};
	size_t len;

	*r = expr_float_compile(l->gdb, text, &l->at, &code, &len, &locals, NULL, &e);
	if (*r)
		return e.text[0] ? NULL : xstrdup("no reason");
	assert_int_equal(agent_run(code, len, &live_agent_ops, &mem, &out), AGENT_OK);
	return str_fmt("%lld", (long long)out.value);
}

static int set_up(void **state)
{
	static struct live l;

	live_in(&l, program, "main");
	*state = &l;
	return 0;
}

static int tear_down(void **state)
{
	live_end(*state);
	return 0;
}

static void test_same(void **state)
{
	struct live *l = *state;

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		cleanup_free char *truth = str_fmt("(long)(%s)", same[i]), *want = NULL, *got = NULL;
		struct err e = {0};
		int r;

		got = ours(l, same[i], &r);
		if (r)
			fail_msg("%s: not compiled", same[i]);
		if (gdb_eval(l->gdb, truth, 0, l->at.frame, 0, &want, &e))
			fail_msg("%s: %s", truth, e.text);
		if (strcmp(got, want))
			fail_msg("%s: %s, GDB says %s", same[i], got, want);
	}
}

static void test_refused(void **state)
{
	struct live *l = *state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int r;
		cleanup_free char *got = ours(l, refused[i], &r);

		if (r != 1 || got)
			fail_msg("%s: %d, %s", refused[i], r, got ? got : "refused");
	}
}

static void test_memory(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} t[] = {{"half > 0", 1}, {"nothing && huge > 1", 1}, {"half && huge > 1", 2}, {"earth.next->mass > 0", 2}};
	struct live *l = *state;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct live_memory mem = {l->pid};
		cleanup_free uint8_t *code = NULL;
		struct expr_locals locals = {0};
		struct agent_result out;
		struct err e = {0};
		size_t len;

		assert_int_equal(expr_float_compile(l->gdb, t[i].text, &l->at, &code, &len, &locals, NULL, &e), 0);
		assert_false(locals.any);
		assert_int_equal(agent_run(code, len, &live_agent_ops, &mem, &out), AGENT_OK);
		assert_int_equal(out.ranges_n, t[i].n);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_memory),
	};

	if (argc < 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests_name("session-expr-float", tests, set_up, tear_down);
}
