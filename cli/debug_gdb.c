/* SPDX-License-Identifier: MIT */
/*
 * debug_gdb.c: see debug_gdb.h. fred's commands are GDB user-defined commands over `monitor`: they need nothing of GDB
 * but what every build of it has. One that moves the program ends with a `stepi`, by which GDB learns where
 * it stands now.
 */
#include "cli/debug_gdb.h"

#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"

#define ALL "@ARGS@" /* all arguments: GDB 13 knows them one by one only */
#define ARGS_MAX 24u

static const char *const settings[] = {
	"set breakpoint pending on",
	"set remotetimeout 3600",
	"set startup-with-shell off",
	"set stack-cache off", /* a call is made in a copy: what it left on the stack is gone with it */
};

static const struct {
	const char *name, *body, *help;
} commands[] = {
	{"when", "monitor when", "Where this is: event, time, thread."},
	{"goto", "monitor later goto $arg0\nstepi", "goto POS: to a position of the recording, as `when` says it."},
	{"reverse-watch", "monitor later reverse-watch " ALL "\nstepi",
	 "reverse-watch [--good POS] EXPR: back to the statement that made EXPR what it is here (good: start)."},
	{"last", "watch " ALL "\nreverse-continue\ndelete $bpnum", "last EXPR: back to its last change before here."},
	{"bookmark", "monitor bookmark " ALL, "bookmark [NAME]: names this position; without a name, a number does."},
	{"bookmarks", "monitor bookmarks", "Lists the bookmarks."},
	{"goto-bookmark", "monitor later restart $arg0\nstepi", "goto-bookmark NAME: to a bookmark."},
	{"undo", "if $argc == 0\nreverse-stepi\nelse\nreverse-stepi $arg0\nend",
	 "undo [N]: takes back the last N instructions."},
};

/* A body with ALL, for each number of arguments. */
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

int debug_gdb_script(const char *path, const char *socket_path, const char *const *more, struct err *e)
{
	cleanup_buf struct buf b = {0};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		buf_addf(&b, "%s\n", settings[i]);
	for (; more && *more; more++)
		buf_addf(&b, "%s\n", *more);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		add_command(&b, "", i);
		add_command(&b, "fred-", i); /* the FReD paper's names */
	}
	buf_add_str(&b, "alias fred-checkpoint = bookmark\nalias fred-restart = goto-bookmark\n");
	buf_addf(&b, "target extended-remote %s\n", socket_path);
	return write_file(path, b.data, b.len, 0600, e);
}
