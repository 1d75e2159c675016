/* SPDX-License-Identifier: MIT */
/*
 * debug_gdb.c: see debug_gdb.h. fred's commands are GDB user-defined commands over `monitor`: they need nothing of GDB
 * but what every build of it has. One that moves the program ends with a `stepi`, by which GDB learns where
 * it stands now.
 */
#include "cli/debug_gdb.h"

#include "base/buf.h"
#include "base/fdio.h"

static const char *const settings[] = {
	"set sysroot /",
	"set breakpoint pending on",
	"set remotetimeout 3600",
	"set startup-with-shell off",
};

static const struct {
	const char *name, *body, *help;
} commands[] = {
	{"when", "monitor when", "Where this is: event, time, thread."},
	{"goto", "monitor goto $arg0\nstepi", "goto POS: to a position of the recording."},
	{"undo", "if $argc == 0\nreverse-stepi\nelse\nreverse-stepi $arg0\nend",
	 "undo [N]: takes back the last N instructions."},
};

static void add_command(struct buf *b, const char *prefix, size_t i)
{
	buf_addf(b, "define %s%s\n%s\nend\ndocument %s%s\n%s\nend\n", prefix, commands[i].name, commands[i].body,
		 prefix, commands[i].name, commands[i].help);
}

int debug_gdb_script(const char *path, const char *socket_path, struct err *e)
{
	cleanup_buf struct buf b = {0};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		buf_addf(&b, "%s\n", settings[i]);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		add_command(&b, "", i);
		add_command(&b, "fred-", i); /* the FReD paper's names */
	}
	buf_addf(&b, "target extended-remote %s\n", socket_path);
	return write_file(path, b.data, b.len, 0600, e);
}
