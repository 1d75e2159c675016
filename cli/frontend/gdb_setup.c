/* SPDX-License-Identifier: MIT */
/*
 * gdb_setup.c: see gdb_setup.h. fred's commands are GDB user-defined commands over `monitor`: they need nothing of GDB
 * but what every build of it has. One that moves the program ends with a `stepi`, by which GDB learns where it stands
 * now. Commands that take expressions, and those that save GDB's state, need a GDB with Python (cli/gdb).
 */
#include "frontend/gdb_setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"

#define ALL "@ARGS@" /* stands for all arguments of a command, since GDB 13 has only one name for each */
#define WELCOME                                                                                                        \
	"reverse-continue and reverse-step go back; reverse-watch EXPR finds the statement that made EXPR what it "    \
	"is; help fred: all commands"
#define ARGS_MAX 24u
#define ARRIVE "fred-arrive" /* the command that does the step; commands.py has another version of it */

/* The scripts that are made here. */
#define COMMANDS_GDB "commands.gdb"
#define MAIN_GDB "main.gdb"

static const char *const default_settings[] = {
	"set breakpoint pending on",
	"set remotetimeout 3600",
	"set startup-with-shell off",
	/* a function call is made in a copy of the program, and what it left on the stack is gone with that */
	"set stack-cache off",
};

static const struct {
	const char *name, *body, *help;
	bool of_gdb; /* a subcommand of a GDB command: only its name can be listed */
} commands[] = {
	{"when", "monitor when", "Prints the current position: event, time, thread."},
	{"goto", "monitor later goto " ALL "\n" ARRIVE,
	 "goto POS: goes to a position of the recording, as `when` prints it; +N and -N: events from here; ckpt:N: "
	 "checkpoint "
	 "N."},
	{"reverse-watch", "monitor later reverse-watch " ALL "\n" ARRIVE,
	 "reverse-watch [--good POS] [--bad POS] [--insn] EXPR: goes back to the statement that gave EXPR its present "
	 "value "
	 "(good: the first checkpoint, else start)."},
	{"last", "watch -location " ALL "\nreverse-continue\ndelete $bpnum",
	 "last EXPR: goes back to the last change, before here, of the object that EXPR is now."},
	{"history", "echo fred: history needs a GDB with Python\\n",
	 "history EXPR: lists all changes of a value in memory up to here, with positions that `goto` takes."},
	{"explain", "echo fred: explain needs a GDB with Python\\n",
	 "explain [--depth N]: goes from the failure back to its cause; each step has a position that `goto` takes."},
	{"why", "echo fred: why needs a GDB with Python\\n",
	 "why [--depth N] EXPR: shows where the value of EXPR came from, with positions that `goto` takes."},
	{"check", "echo fred: check needs a GDB with Python\\n",
	 "check memory|races [--uninitialised]: lists memory errors or data races of the whole recording; `check N` "
	 "goes to "
	 "the "
	 "Nth of them."},
	{"trace", "echo fred: trace needs a GDB with Python\\n",
	 "trace --calls|--lines|--insn|--memory [--from POS] [--to POS] [--all]: lists what was executed from POS "
	 "(start) up "
	 "to "
	 "POS (here)."},
	{"live", "monitor live\nstepi",
	 "Returns from the program's past to the running program (fredctl debug -- PROGRAM)."},
	{"bookmark", "monitor bookmark " ALL, "bookmark [NAME]: names this position, by default with a number."},
	{"bookmarks", "monitor bookmarks", "Lists the bookmarks."},
	{"goto-bookmark", "monitor later goto-bookmark $arg0\n" ARRIVE, "goto-bookmark NAME: goes to a bookmark."},
	{"info bookmarks", "monitor bookmarks", "Lists the bookmarks.", true},
	{"delete bookmark", "monitor delete-bookmark " ALL,
	 "delete bookmark [NAME...]: forgets these bookmarks, or all.", true},
	{"checkpoint", "monitor checkpoint",
	 "Names this position by a number, and saves an image of the program there."},
	{"checkpoints", "monitor checkpoints", "Lists the checkpoints."},
	{"info checkpoints", "monitor checkpoints", "Lists the checkpoints.", true},
	{"restart", "monitor later restart " ALL "\n" ARRIVE,
	 "restart N: goes to checkpoint N. GDB's own state stays as it is."},
	{"delete checkpoint", "monitor delete-checkpoint " ALL,
	 "delete checkpoint [N...]: forgets these checkpoints, or all.", true},
	{"undo", "monitor later undo " ALL "\n" ARRIVE,
	 "undo [N]: takes back the last N commands that moved the program."},
};

/* Names from the FReD paper for commands that GDB already has. */
static const char *const of_paper[] = {
	"list",		"break",	"print",	  "backtrace", "continue",
	"next",		"step",		"finish",	  "until",     "reverse-continue",
	"reverse-next", "reverse-step", "reverse-finish",
};

/* The files of cli/gdb with the parts in Python. */
static const struct {
	const char *name, *text;
} pythons[] = {
	{
		"state.py",
#include "state.py.inc"
	},
	{
		"points.py",
#include "points.py.inc"
	},
	{
		"conditions.py",
#include "conditions.py.inc"
	},
	{
		"settings.py",
#include "settings.py.inc"
	},
	{
		"printers.py",
#include "printers.py.inc"
	},
	{
		"commands.py",
#include "commands.py.inc"
	},
	{
		"core.py",
#include "core.py.inc"
	},
	{
		"explain.py",
#include "explain.py.inc"
	},
	{
		"frames.py",
#include "frames.py.inc"
	},
	{
		"altered.py",
#include "altered.py.inc"
	},
	{
		"calls.py",
#include "calls.py.inc"
	},
};

enum { PYTHONS = sizeof(pythons) / sizeof(pythons[0]) };

/* Adds a body; one that contains ALL is added for each number of arguments. */
static void add_body(struct buf *b, const char *body)
{
	const char *all = strstr(body, ALL);

	if (!all) {
		buf_addf(b, "%s\n", body);
		return;
	}
	for (unsigned n = 0; n <= ARGS_MAX; n++) {
		buf_addf(b, "if $argc == %u\n%.*s", n, (int)(all - body), body);
		for (unsigned i = 0; i < n; i++)
			buf_addf(b, "%s$arg%u", i ? " " : "", i);
		buf_addf(b, "%s\nend\n", all + strlen(ALL));
	}
}

static void add_command(struct buf *b, const char *prefix, size_t i)
{
	buf_addf(b, "define %s%s\n", prefix, commands[i].name);
	add_body(b, commands[i].body);
	buf_addf(b, "end\ndocument %s%s\n%s\nend\n", prefix, commands[i].name, commands[i].help);
}

/* `help fred` */
static void add_overview(struct buf *b)
{
	buf_add_str(b, "define fred\nhelp fred\nend\ndocument fred\nfred's commands, beside GDB's own and its "
		       "reverse-step, reverse-next, "
		       "reverse-finish, reverse-continue\n(each fred-NAME, too; help NAME says more):\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *colon = strstr(commands[i].help, ": ");
		bool usage = colon && !strncmp(commands[i].help, commands[i].name, strlen(commands[i].name));

		buf_addf(b, "\n  %-28.*s %s", usage ? (int)(colon - commands[i].help) : (int)strlen(commands[i].name),
			 usage ? commands[i].help : commands[i].name, usage ? colon + 2 : commands[i].help);
	}
	buf_add_str(b, "\nend\n");
}

static void add_commands(struct buf *b)
{
	buf_add_str(b, "define " ARRIVE "\nstepi\nend\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		add_command(b, "", i);
		if (!commands[i].of_gdb)
			add_command(b, "fred-", i);
	}
	for (size_t i = 0; i < sizeof(of_paper) / sizeof(of_paper[0]); i++)
		buf_addf(b, "alias fred-%s = %s\n", of_paper[i], of_paper[i]);
	add_overview(b);
	buf_add_str(b, "if $_fred_python == 1\npython add_commands()\npython add_core_commands()\npython "
		       "add_explain()\npython fred_names = '");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!commands[i].of_gdb)
			buf_addf(b, "%s fred-%s ", commands[i].name, commands[i].name);
	for (size_t i = 0; i < sizeof(of_paper) / sizeof(of_paper[0]); i++)
		buf_addf(b, "fred-%s ", of_paper[i]);
	buf_add_str(b, "'.split()\nend\n");
}

/*
 * Adds the text as it must be inside a GDB string: so that it cannot end the string or the line, and does not depend on
 * the locale.
 */
static void add_escaped(struct buf *b, const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			buf_addf(b, "\\%03o", (unsigned char)*text);
		else
			buf_addf(b, "%s%c", *text == '\\' || *text == '"' ? "\\" : "", *text);
}

/* Sets convenience variables such as $_fred_recording, for programs that drive GDB. */
static void add_path(struct buf *b, const char *name, const char *path)
{
	buf_addf(b, "set $%s = \"", name);
	add_escaped(b, path);
	buf_add_str(b, "\"\n");
}

/* Without Python, only the program's position is saved, and breakpoints as far as GDB can write them. */
static void add_state(struct buf *b, const char *state)
{
	cleanup_free char *breakpoints = str_fmt("%s.breakpoints", state ? state : "");

	if (!state) {
		buf_add_str(b, "if $_fred_python == 1\npython begin_session(None)\nelse\ndefine hook-stop\nmonitor "
			       "prompt\nend\nend\n");
		return;
	}
	add_path(b, "_fred_state", state);
	buf_add_str(b, "if $_fred_python == 1\npython begin_session(path_in('_fred_state'))\nelse\n");
	buf_addf(b, "echo fred: this GDB has no Python: of its own state, only breakpoints are saved\\n\n");
	if (!access(breakpoints, F_OK))
		buf_addf(b, "source %s\n", breakpoints);
	buf_addf(b, "define hook-stop\nmonitor prompt\nsave breakpoints %s\nend\nend\n", breakpoints);
}

/* Has GDB print a line for the user. */
static void add_echo(struct buf *b, const char *text)
{
	buf_add_str(b, "echo fred: ");
	add_escaped(b, text);
	buf_add_str(b, "\\n\n");
}

static void add_main(struct buf *b, const struct gdb_setup *g, const char *commands_path)
{
	cleanup_free char *self = realpath("/proc/self/exe", NULL);

	buf_add_str(b, "init-if-undefined $_fred_python = 0\n");
	for (size_t i = 0; i < sizeof(default_settings) / sizeof(default_settings[0]); i++)
		buf_addf(b, "%s\n", default_settings[i]);
	if (g->recording)
		add_path(b, "_fred_recording", g->recording);
	if (self)
		add_path(b, "_fredctl", self);
	if (g->sysroot)
		buf_addf(b, "set sysroot %s\n", g->sysroot);
	for (const char *const *s = g->settings; s && *s; s++)
		buf_addf(b, "%s\n", *s);
	for (size_t i = 0; g->sources && i < g->sources->n; i++)
		buf_addf(b, "%s\n", g->sources->s[i]);
	for (size_t i = 0; g->notes && i < g->notes->n; i++)
		add_echo(b, g->notes->s[i]);
	/* without this, GDB asks whether its own checkpoint and restart are to be redefined */
	buf_addf(b, "with confirm off -- source %s\n", commands_path);
	if (!g->mi)
		buf_add_str(b, "if $_fred_python == 1\npython add_over()\nend\n");
	/* GDB 13 goes on writing what `monitor` says to the new one, unless its output was redirected meanwhile */
	if (g->tty)
		buf_addf(b, "if $_fred_python == 1\npython quietly('new-ui mi3 %s')\nend\n", g->tty);
	buf_addf(b, "target extended-remote %s\n", g->socket_path);
	add_state(b, g->state);
	if (!g->mi && (!g->state || access(g->state, F_OK)))
		add_echo(b, WELCOME);
}

/* Writes a script into the session's folder, and adds it to GDB's arguments unless another script calls it. */
static int put_script(const struct gdb_setup *g, const char *name, const char *text, struct strv *argv, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/%s", g->dir, name);

	if (write_file(path, text, strlen(text), 0600, e))
		return -1;
	if (argv) {
		strv_add(argv, "-x");
		strv_add(argv, path);
	}
	return 0;
}

int gdb_setup_scripts(const struct gdb_setup *g, struct strv *argv, struct err *e)
{
	cleanup_free char *commands_path = str_fmt("%s/" COMMANDS_GDB, g->dir);
	struct buf commands_text = {0}, main_text = {0};
	int r = 0;

	add_commands(&commands_text);
	add_main(&main_text, g, commands_path);
	for (size_t i = 0; i < PYTHONS && !r; i++)
		r = put_script(g, pythons[i].name, pythons[i].text, argv, e);
	r = r ? r : put_script(g, COMMANDS_GDB, commands_text.data, NULL, e);
	r = r ? r : put_script(g, MAIN_GDB, main_text.data, argv, e);
	buf_fini(&commands_text);
	buf_fini(&main_text);
	return r;
}

static void remove_script(const struct gdb_setup *g, const char *name)
{
	cleanup_free char *path = str_fmt("%s/%s", g->dir, name);

	unlink(path);
}

void gdb_setup_remove(const struct gdb_setup *g)
{
	for (size_t i = 0; i < PYTHONS; i++)
		remove_script(g, pythons[i].name);
	remove_script(g, COMMANDS_GDB);
	remove_script(g, MAIN_GDB);
}
