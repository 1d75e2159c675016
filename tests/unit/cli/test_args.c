// SPDX-License-Identifier: MIT
/* test_args.c: command lines, by the real tables of commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/commands.h"

/* Parses a command line given as one string of words; an underscore is a blank in a word. */
static int parse(struct cli *cli, const char *words, struct err *e)
{
	cleanup_strv struct strv v = {0};

	strv_add(&v, "fredctl");
	strv_split(&v, words, " ");
	for (size_t i = 0; i < v.n; i++)
		for (char *p = v.s[i]; (p = strchr(p, '_'));)
			*p = ' ';
	return cli_parse(cli, commands, (int)v.n, v.s, e);
}

static void tables(void **state)
{
	const struct cli cli = {.commands = commands};
	struct err e;

	for (const struct cli_command *const *c = commands; *c; c++) {
		size_t n = 0;

		assert_ptr_equal(cli_command_find(&cli, (*c)->name, &e), *c);
		assert_non_null((*c)->help);
		assert_non_null((*c)->usage);
		assert_non_null((*c)->exec);
		for (const struct cli_option *o = (*c)->options; o && o->name; o++, n++) {
			assert_non_null(o->help);
			for (const struct cli_option *g = cli_global_options(); g->name; g++) {
				assert_string_not_equal(o->name, g->name);
				assert_true(!o->letter || o->letter != g->letter);
			}
			/* the usage line names what there is */
			if (o->letter)
				continue;
			if (!strstr((*c)->usage, o->name))
				fail_msg("%s: usage lacks --%s", (*c)->name, o->name);
		}
		assert_true(n <= CLI_MAX_OPTIONS);
	}
}

static void globals_before_and_after(void **state)
{
	static const char *const lines[] = {"--json -q -vv status", "status -q --json -v -v", "-q status -vqv --json"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct err e = {0};
		struct cli cli;

		assert_int_equal(parse(&cli, lines[i], &e), 0);
		assert_string_equal(cli.command->name, "status");
		assert_true(cli.json && cli.quiet);
		assert_int_equal(cli.verbose, 2);
		cli_fini(&cli);
	}
}

static void options_between_arguments(void **state)
{
	struct err e = {0};
	struct cli cli;

	assert_int_equal(parse(&cli, "eval rec --at 5/0x40#2 a+b --json c", &e), 0);
	assert_string_equal(cli_value(&cli, "at"), "5/0x40#2");
	assert_int_equal(cli.args.n, 3);
	assert_string_equal(cli.args.s[2], "c");
	assert_true(cli.json);
	cli_fini(&cli);
	assert_int_equal(parse(&cli, "eval --at=end -- -x --json", &e), 0);
	assert_string_equal(cli_value(&cli, "at"), "end");
	assert_int_equal(cli.args.n, 2);
	assert_string_equal(cli.args.s[0], "-x");
	assert_false(cli.json);
	cli_fini(&cli);
}

/* What belongs to the recorded program is its own. */
static void program_arguments(void **state)
{
	static const char *const lines[] = {"record -odir --sched chaos:7 -- ./a --json -o x --",
					    "record -o dir --sched=chaos:7 ./a --json -o x --"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct err e = {0};
		struct cli cli;

		assert_int_equal(parse(&cli, lines[i], &e), 0);
		assert_string_equal(cli_value(&cli, "output"), "dir");
		assert_string_equal(cli_value(&cli, "sched"), "chaos:7");
		assert_false(cli.json);
		assert_int_equal(cli.args.n, 5);
		assert_string_equal(cli.args.s[0], "./a");
		assert_string_equal(cli.args.s[4], "--");
		cli_fini(&cli);
	}
}

static void expressions_are_arguments(void **state)
{
	static const char *const given[] = {"-1<x",    "-x<5",	 "-q>-8",    "-(x)",	  "-*p",    "--n<3",
					    "-a_>_-8", "-x_<_5", "--n_==_3", "-q->n_<_5", "-q_==_3"};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		cleanup_free char *words = str_fmt("reverse-watch -q %s", given[i]);
		struct err e = {0};
		struct cli cli;

		if (parse(&cli, words, &e))
			fail_msg("%s: %s", words, e.text);
		assert_int_equal(cli.args.n, 1);
		for (char *p = cli.args.s[0]; (p = strchr(p, ' '));)
			*p = '_';
		assert_string_equal(cli.args.s[0], given[i]);
		cli_fini(&cli);
	}
}

static void joined_values_may_have_blanks(void **state)
{
	struct err e = {0};
	struct cli cli;

	assert_int_equal(parse(&cli, "record -qoa_<_b ./a", &e), 0);
	assert_string_equal(cli_value(&cli, "output"), "a < b");
	assert_true(cli.quiet);
	cli_fini(&cli);
}

static void refused(void **state)
{
	static const char *const bad[][2] = {
		{"nope", "unknown command 'nope'; see"},
		{"reverse-wacth", "did you mean reverse-watch?"},
		{"replya", "did you mean replay?"},
		{"back", "did you mean backtrace?"},
		{"/bin/sh", "fredctl record -- /bin/sh"},
		{"reverse-watch --proces 3 x", "unknown option '--proces'; did you mean --process?"},
		{"replay --utnil=3", "did you mean --until?"},
		{"replay --jsno", "did you mean --json?"},
		{"replay --frobnicate", "'--frobnicate'; see fredctl help replay"},
		{"status --nope", "unknown option '--nope'"},
		{"status -z", "unknown option '-z'"},
		{"record --envv=A=b_c ./a", "unknown option '--envv=A=b c'"},
		{"record --outputt_<x ./a", "unknown option"},
		{"record -zo_b ./a", "unknown option"},
		{"eval --at end --envv=A<b x", "unknown option"},
		{"eval --at end -zx_b x", "unknown option"},
		{"status x", "too many arguments"},
		{"eval x", "--at POS is needed"},
		{"eval --at", "--at needs a value"},
		{"eval --at end", "too few arguments"},
		{"eval --at 1 --at 2 x", "given twice"},
		{"replay --output=yes", "takes no value"},
		{"--json=1 status", "takes no value"},
		{"reverse-watch x --on-error maybe", "none of"},
		{"record --sched serially -- a", "none of"},
		{"record", "too few arguments"},
		{"record --", "too few arguments"},
		{"rm", "too few arguments"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};
		struct cli cli;

		assert_int_equal(parse(&cli, bad[i][0], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.text, bad[i][1]))
			fail_msg("%s: '%s' does not say '%s'", bad[i][0], e.text, bad[i][1]);
		cli_fini(&cli);
	}
}

static void help_needs_nothing_else(void **state)
{
	struct err e = {0};
	struct cli cli;

	assert_int_equal(parse(&cli, "eval --help", &e), 0);
	assert_true(cli.help);
	cli_fini(&cli);
	assert_int_equal(parse(&cli, "--version", &e), 0);
	assert_string_equal(cli.command->name, "version");
	cli_fini(&cli);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(globals_before_and_after),
		cmocka_unit_test(options_between_arguments),
		cmocka_unit_test(program_arguments),
		cmocka_unit_test(expressions_are_arguments),
		cmocka_unit_test(joined_values_may_have_blanks),
		cmocka_unit_test(refused),
		cmocka_unit_test(help_needs_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
