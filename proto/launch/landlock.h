/* SPDX-License-Identifier: MIT */
/*
 * landlock.h: restricts what a process can do with files and to other processes, where it cannot have namespaces of its
 * own (Landlock, Linux 5.13; needs no rights). It replaces the root and the PID namespace of a cell: a process in such
 * a domain can only trace processes of the domain, and only access their memory.
 */
#ifndef FRED_LAUNCH_LANDLOCK_H
#define FRED_LAUNCH_LANDLOCK_H

#include <stdbool.h>

/* Absolute paths of what stays accessible; the lists end with NULL. Paths that do not exist are left out. */
struct landlock_paths {
	char *const *read; /* files, or folders with all that is in them: read and executed */
	char *const *write; /* files that are read and written as well */
};

/* An environment variable for tests, a digit: acts as on a kernel with this version, if the kernel's is not older. */
#define LANDLOCK_MOST "FRED_LANDLOCK"
/* The kernel's version of it; 0: it has none. */
int landlock_version(void);
/* From this version on, signals are restricted, too (Linux 6.12). */
#define LANDLOCK_SIGNALS 6
/*
 * Restricts the calling thread and all that it makes and executes, for good; it must have no_new_privs. /proc stays
 * readable. Calls only async-signal-safe functions. -1, errno.
 */
int landlock_self(const struct landlock_paths *p);

#endif
