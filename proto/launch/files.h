/* SPDX-License-Identifier: MIT */
/*
 * files.h: starts a program from copies of its files without a root of its own, which needs rights. A folder has them
 * by their names, as a root would. The program is executed by a name in another folder that is as long as the recorded
 * one, and then has that one written over it; the copy of the program names its dynamic linker by a link beside that.
 * The paths by which the linker opens files are led into the folder, and what it is told of them is as recorded.
 */
#ifndef FRED_LAUNCH_FILES_H
#define FRED_LAUNCH_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/err.h"

/* In the folder of which a program is executed. */
#define LAUNCH_LINKER "l" /* the link to its dynamic linker */
#define LAUNCH_CWD "c" /* the link to its working directory */

/* What stat(2) says of a copy, and what the linker is to see, which remembers it. */
struct launch_identity {
	uint64_t dev, ino;
	uint64_t shown_dev, shown_ino;
};

struct launch_files {
	const char *root; /* with the files by their names; absolute, without symbolic links */
	const char *dir; /* where the program is executed, by */
	const char *name; /* as long as the recorded name */
	const struct launch_identity *shown;
	unsigned nshown;
	/* what the program's header had in the place of LAUNCH_LINKER, and where, in addresses of the file; 0: nothing
	 */
	const char *linker;
	uint64_t linker_at, headers_at; /* headers_at: of its program headers */
};

/*
 * A process that is traced, and just executed so: its name, its linker's name and its working directory become those
 * of the recording. placed: as in calls.h. NULL, or what failed.
 */
const char *files_begin(pid_t pid, bool placed, const struct launch_files *f, const char *path);

/* A call of the linker's that was changed. */
struct files_call {
	struct user_regs_struct were; /* its registers */
	uint64_t at; /* a path was put here, in the place of these */
	unsigned n;
	char there[8192];
};

/* At the entry of a call with these registers, which are changed: its path. 1: they were; 0: not; -1. */
int files_enter(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, struct files_call *c,
		struct err *e);
/* At its exit: what was put into memory is removed. */
int files_leave(pid_t pid, const struct files_call *c, struct err *e);
/* At the exit of any call that has succeeded, whose arguments are in r: what it tells of files. *r: its result. */
int files_tell(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, bool *changed, struct err *e);

#endif
