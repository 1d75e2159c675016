/* SPDX-License-Identifier: MIT */
/* main.c: reads lines from a terminal, with readline, or from another kind of standard input; see repl.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/path.h"
#include "repl/repl.h"

#define PROMPT "(fred) "
#define HISTORY_LINES 1000

/* For readline's callbacks, which have no argument of ours. */
static struct link *the_link;

/* GDB completes whole lines, readline its last word. */
static char **complete(const char *text, int start, int end)
{
	cleanup_free char *line = xstrndup(rl_line_buffer, (size_t)end);
	cleanup_strv struct strv all = {0};
	char **matches = NULL;
	struct err ignored;
	size_t n = 0;

	(void)text;
	rl_attempted_completion_over = 1;
	if (link_complete(the_link, line, &all, &ignored) || !all.n)
		return NULL;
	matches = xcalloc(all.n + 2, sizeof(*matches));
	for (size_t i = 0; i < all.n; i++)
		if (strlen(all.s[i]) >= (size_t)start)
			matches[++n] = xstrdup(all.s[i] + start);
	/* the first one is what they have in common */
	matches[0] = n ? xstrdup(matches[1]) : NULL;
	for (size_t i = 2; i <= n; i++)
		for (size_t k = 0; matches[0][k]; k++)
			if (matches[0][k] != matches[i][k])
				matches[0][k] = '\0';
	if (n == 1) {
		free(matches[1]);
		matches[1] = NULL;
	}
	return matches;
}

/* Ctrl-C: a new line. */
static int cancel_line(void)
{
	putchar('\n');
	rl_replace_line("", 0);
	rl_on_new_line();
	rl_redisplay();
	return 0;
}

static void set_up(struct link *l, const char *history)
{
	the_link = l;
	rl_readline_name = "fred";
	rl_attempted_completion_function = complete;
	rl_signal_event_hook = cancel_line;
	rl_basic_word_break_characters = " \t\n\"\\'`@$><=;|&{(,+-*/%!?:[";
	using_history();
	read_history(history);
	stifle_history(HISTORY_LINES);
}

static char *read_line(bool terminal)
{
	char *line = NULL;
	size_t cap = 0;

	if (terminal)
		return readline(PROMPT);
	if (getline(&line, &cap, stdin) >= 0)
		return line;
	free(line);
	return NULL;
}

static int run(struct link *l, const char *line, struct err *e)
{
	int r = link_command(l, line, e);

	if (r >= 0 && l->file && !l->quiet)
		source_show(l->file, l->line);
	free(l->file);
	l->file = NULL;
	fflush(stdout);
	return r;
}

/* As in GDB, an empty line repeats the last one. */
static int prompt(struct link *l, const char *history, struct err *e)
{
	cleanup_free char *last = xstrdup("");
	bool terminal = isatty(0);
	int r = 0;

	while (r >= 0) {
		cleanup_free char *line = link_hear(l, e) ? NULL : read_line(terminal);

		if (!line)
			return e->text[0] ? -1 : 0;
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " \t")] && !str_eq(line, last)) {
			add_history(line);
			write_history(history);
		}
		if (line[strspn(line, " \t")] || !terminal)
			str_set(&last, "%s", line);
		if (str_eq(last, "quit") || str_eq(last, "q") || str_eq(last, "exit"))
			return 0;
		if (*last)
			r = run(l, last, e);
	}
	return -1;
}

static int commands(struct link *l, char **argv, struct err *e)
{
	int r = 0;

	l->quiet = 1;
	for (; *argv && !r; argv++)
		r = run(l, *argv, e);
	return r;
}

int main(int argc, char **argv)
{
	struct link l = {.fd = -1};
	cleanup_free char *home = NULL, *history = NULL;
	struct err e = {0};
	int r;

	if (argc < 3) {
		fprintf(stderr, "fred: this is a part of fredctl repl\n");
		return 2;
	}
	home = home_dir(&e);
	r = home ? link_open(&l, argv[1], &e) : -1;
	if (!r && argc > 3 && str_eq(argv[3], "--quiet")) {
		r = commands(&l, argv + 4, &e);
	} else if (!r) {
		history = path_join(home, "repl.history");
		set_up(&l, history);
		r = prompt(&l, history, &e);
	}
	link_close(&l);
	if (r < 0)
		fprintf(stderr, "fred: %s\n", e.text);
	return r < 0 ? err_exit_code(e.kind) : r;
}
