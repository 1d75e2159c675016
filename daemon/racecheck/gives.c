/* SPDX-License-Identifier: MIT */
/* gives.c: see gives.h. */
#include "racecheck/gives.h"

/* Functions that return several blocks count as well: all that they allocate and do not free is the caller's. */
static const char *const names[] = {
	"strdup",	   "__strdup",
	"strndup",	   "__strndup",
	"wcsdup",	   "asprintf",
	"vasprintf",	   "__asprintf_chk",
	"__vasprintf_chk", "realpath",
	"__realpath_chk",  "canonicalize_file_name",
	"getcwd",	   "get_current_dir_name",
	"tempnam",	   "scandir",
	"scandir64",	   "getline",
	"getdelim",	   "__getdelim",
};

struct gives_call {
	uint64_t pc;
	bool gives;
};

void gives_init(struct gives *g)
{
	imports_init(&g->imports, names, sizeof(names) / sizeof(names[0]));
	table_init(&g->calls, sizeof(struct gives_call));
}

void gives_fini(struct gives *g)
{
	imports_fini(&g->imports);
	table_fini(&g->calls);
}

void gives_forget(struct gives *g)
{
	imports_forget(&g->imports);
	table_fini(&g->calls);
	table_init(&g->calls, sizeof(struct gives_call));
}

bool gives_is_call(struct gives *g, pid_t pid, uint64_t pc)
{
	struct gives_call *c = table_find(&g->calls, pc);
	uint64_t slot;

	if (c)
		return c->gives;
	slot = imports_slot_called(pid, pc);
	c = table_add(&g->calls, pc);
	c->gives = slot && imports_find(&g->imports, pid, slot) >= 0;
	return c->gives;
}
