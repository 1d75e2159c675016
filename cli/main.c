/* SPDX-License-Identifier: MIT */
/* main.c: fredctl: parses the command line, runs one command, and turns its outcome into an exit code. */
#include <signal.h>
#include <stdio.h>

#include "args/help.h"
#include "base/log.h"
#include "base/path.h"
#include "client/out.h"
#include "cmd/commands.h"

/* For failures of fredctl record itself: they must not be mistaken for exit codes of the program. */
#define EXIT_RECORD 125

/* fredctl bisect --git: a commit that could not be tested (git-bisect(1): 125 skips it). */
#define EXIT_UNKNOWN 125

/* Is this option on the command line? Also works if the command line could not be parsed. */
static bool has_option(char **argv, const char *option)
{
	for (; *argv && !str_eq(*argv, "--"); argv++)
		if (str_eq(*argv, option))
			return true;
	return false;
}

static int exit_code(const struct cli *cli, char **argv, const struct err *e)
{
	if (cli->command == &cmd_bisect && has_option(argv, "--git") && e->kind != ERR_CANCELLED)
		return EXIT_UNKNOWN;
	return cli->command == &cmd_record ? EXIT_RECORD : err_exit_code(e->kind);
}

static void set_log_level(const struct cli *cli)
{
	if (cli->verbose)
		log_set_level(cli->verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	else if (cli->quiet)
		log_set_level(LOG_LEVEL_ERROR);
}

static int print_help(const struct cli *cli, struct err *e)
{
	if (cli->json) {
		json_auto_t *v = help_json(commands);

		return out_json(v, e);
	}
	if (cli->command)
		help_command(stdout, cli->command);
	else
		help_overview(stdout, commands);
	return 0;
}

static int run(struct cli *cli, int argc, char **argv, struct err *e)
{
	if (cli_parse(cli, commands, argc, argv, e)) {
		cli->json |= has_option(argv, "--json");
		return -1;
	}
	set_log_level(cli);
	if (cli->help)
		return print_help(cli, e);
	if (!cli->command) {
		help_overview(stderr, commands);
		return err_set(e, ERR_USAGE, "a command is needed");
	}
	return cli->command->exec(cli, e);
}

/* fred-gdb ARG... is fredctl mi --as-gdb ARG...: an editor's setting for its debugger often takes a path alone. */
static void called_as_gdb(struct strv *words, int argc, char **argv)
{
	if (argc < 1 || !str_eq(path_base(argv[0]), "fred-gdb"))
		return;
	strv_add_all(words, (const char *const[]){argv[0], "mi", "--as-gdb", NULL});
	strv_add_all(words, (const char *const *)argv + 1);
}

static void nothing(int sig)
{
	(void)sig;
}

/*
 * Beyond the limit on the size of files, a write is to fail with an error instead of a signal. Programs that are
 * executed have the signal as it was.
 */
static void survive_size_limit(void)
{
	struct sigaction were, ours = {.sa_handler = nothing, .sa_flags = SA_RESTART};

	if (!sigaction(SIGXFSZ, NULL, &were) && were.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &ours, NULL);
}

int main(int argc, char **argv)
{
	cleanup_strv struct strv words = {0};
	struct cli cli;
	struct err e = {0};
	int r;

	survive_size_limit();
	called_as_gdb(&words, argc, argv);
	r = run(&cli, words.n ? (int)words.n : argc, words.n ? words.s : argv, &e);

	if (r >= 0 && out_finish(&e))
		r = -1;
	if (r < 0) {
		r = exit_code(&cli, argv, &e);
		out_error(&cli, &e, r);
	}
	cli_fini(&cli);
	return r;
}
