/* SPDX-License-Identifier: MIT */
/*
 * landlock.h: what a process may still do with files, and to other processes, where it cannot have namespaces of its
 * own (Landlock, Linux 5.13; it needs no rights). Without namespaces this stands for the root and the PID namespace
 * that a cell has: a process in such a domain can trace, or access the memory of, processes of the domain only.
 */
#ifndef FRED_LAUNCH_LANDLOCK_H
#define FRED_LAUNCH_LANDLOCK_H

#include <stdbool.h>

/* Absolute paths of what is left; the lists end with NULL. What does not exist is left out. */
struct landlock_paths {
	char *const *read; /* files, or folders with all that is in them: read and executed */
	char *const *write; /* files that are read and written as well */
};

/* A variable of the environment, for tests: as on a kernel with this version, a digit, or an older one. */
#define LANDLOCK_MOST "FRED_LANDLOCK"
/* The kernel's version of it; 0: it has none. */
int landlock_version(void);
/* From this version on, it keeps signals inside, too (Linux 6.12). */
#define LANDLOCK_SIGNALS 6
/*
 * For the calling thread and what it makes and executes, for ever; it must have no_new_privs. /proc stays readable.
 * Calls nothing that is not async-signal-safe. -1, errno.
 */
int landlock_self(const struct landlock_paths *p);

#endif
