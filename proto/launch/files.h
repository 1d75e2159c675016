/* SPDX-License-Identifier: MIT */
/*
 * files.h: starts a program from copies of its files without a root of its own, which needs rights. A folder has the
 * copies by their names, as a root would. The program is executed by a name in another folder; this name is as long as
 * the recorded one, which is then written over it. The copy of the program names its dynamic linker by a link beside
 * it. When the linker opens a file, its path is changed to the one in the folder, and what the kernel tells it about
 * the file is changed to what was recorded.
 */
#ifndef FRED_LAUNCH_FILES_H
#define FRED_LAUNCH_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/err.h"

/* Names in the folder in which a program is executed. */
#define LAUNCH_LINKER "l" /* the link to its dynamic linker */
#define LAUNCH_CWD "c" /* the link to its working directory */

/* What stat(2) says about a copy, and what the linker, which remembers it, is to see instead. */
struct launch_identity {
	uint64_t dev, ino;
	uint64_t shown_dev, shown_ino;
};

struct launch_files {
	const char *root; /* the folder with the files by their names; absolute, without symbolic links */
	const char *dir; /* the folder in which the program is executed, by */
	const char *name; /* a name that is as long as the recorded one */
	const struct launch_identity *shown;
	unsigned nshown;
	/*
	 * the text that the program's header had in place of LAUNCH_LINKER, and its address in the file; 0: there is
	 * none
	 */
	const char *linker;
	uint64_t linker_at, headers_at; /* headers_at: the address of its program headers */
};

/*
 * For a traced process that was just executed in this way: its name, its linker's name and its working directory become
 * those of the recording. placed: as in calls.h. NULL, or what failed.
 */
const char *files_begin(pid_t pid, bool placed, const struct launch_files *f, const char *path);

/* A system call of the linker that was changed. */
struct files_call {
	struct user_regs_struct were; /* its registers */
	uint64_t at; /* here a path was put, over these bytes */
	unsigned n;
	char there[8192];
};

/* At the entry of a system call: changes its path and the registers. 1: changed; 0: unchanged; -1: error. */
int files_enter(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, struct files_call *c,
		struct err *e);
/* At the exit of that call: removes what was put into memory. */
int files_leave(pid_t pid, const struct files_call *c, struct err *e);
/*
 * At the exit of any successful call, whose arguments are in r: changes what it has told about files. *r: its result.
 */
int files_tell(pid_t pid, const struct launch_files *f, struct user_regs_struct *r, bool *changed, struct err *e);

#endif
