/* SPDX-License-Identifier: MIT */
/*
 * gdb_args.c: see gdb_args.h. GDB takes its options with one dash or two, and the value of one joined by `=` or as the
 * next word (GDB manual, "Choosing Files", "Choosing Modes").
 */
#include "frontend/gdb_args.h"

#include <string.h>

enum { HAS_VALUE = 1, NAMES_PROGRAM = 2, CHOOSES = 4, TELLS = 8, ATTACHES = 16 };

static const struct {
	const char *name;
	unsigned what;
} options[] = {
	{"interpreter", HAS_VALUE | CHOOSES},
	{"i", HAS_VALUE | CHOOSES},
	{"ui", HAS_VALUE | CHOOSES},
	{"tui", CHOOSES},
	{"exec", HAS_VALUE | NAMES_PROGRAM},
	{"e", HAS_VALUE | NAMES_PROGRAM},
	{"se", HAS_VALUE | NAMES_PROGRAM},
	{"symbols", HAS_VALUE},
	{"s", HAS_VALUE},
	{"core", HAS_VALUE},
	{"c", HAS_VALUE},
	{"pid", HAS_VALUE | ATTACHES},
	{"p", HAS_VALUE | ATTACHES},
	{"command", HAS_VALUE},
	{"x", HAS_VALUE},
	{"eval-command", HAS_VALUE},
	{"ex", HAS_VALUE},
	{"init-command", HAS_VALUE},
	{"ix", HAS_VALUE},
	{"init-eval-command", HAS_VALUE},
	{"iex", HAS_VALUE},
	{"early-init-command", HAS_VALUE},
	{"eix", HAS_VALUE},
	{"early-init-eval-command", HAS_VALUE},
	{"eiex", HAS_VALUE},
	{"directory", HAS_VALUE},
	{"d", HAS_VALUE},
	{"cd", HAS_VALUE},
	{"data-directory", HAS_VALUE},
	{"D", HAS_VALUE},
	{"tty", HAS_VALUE},
	{"t", HAS_VALUE},
	{"b", HAS_VALUE},
	{"l", HAS_VALUE},
	{"version", TELLS},
	{"v", TELLS},
	{"help", TELLS},
	{"h", TELLS},
	{"configuration", TELLS},
};

static unsigned what_is(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == len && !strncmp(options[i].name, name, len))
			return options[i].what;
	return 0;
}

/* An option at word i; gives the index of its last word. */
static size_t option(const struct strv *words, size_t i, struct gdb_args *a)
{
	const char *name = words->s[i] + 1 + (words->s[i][1] == '-');
	size_t len = strcspn(name, "=");
	unsigned what = what_is(name, len);
	const char *value = name[len] ? name + len + 1 : NULL;

	if ((what & HAS_VALUE) && !value && i + 1 < words->n)
		value = words->s[++i];
	a->interpreter |= (what & CHOOSES) != 0;
	a->mi |= (what & CHOOSES) && value && !strncmp(value, "mi", 2);
	a->only_tells |= (what & TELLS) != 0;
	if ((what & NAMES_PROGRAM) && value)
		a->name = value;
	if ((what & ATTACHES) && value)
		a->pid = value;
	return i;
}

void gdb_args_read(const struct strv *words, struct gdb_args *a)
{
	*a = (struct gdb_args){.program = words->n};
	for (size_t i = 0; i < words->n; i++) {
		if (words->s[i][0] == '-' && words->s[i][1]) {
			i = option(words, i, a);
			continue;
		}
		/* what follows is a core file or, with --args, the program's own */
		a->program = i;
		a->name = words->s[i];
		return;
	}
}
