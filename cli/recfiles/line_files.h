/* SPDX-License-Identifier: MIT */
/* line_files.h: the source files that a program's line tables name. Their headers are read, not the lines. */
#ifndef FRED_RECFILES_LINE_FILES_H
#define FRED_RECFILES_LINE_FILES_H

/*
 * Calls add for each file of each compilation unit (the same one may come often). dir: where it was compiled, absolute, or
 * ""; name: relative to that, or absolute. Ends at the time `until` (clock_s) with 1; else 0: a file without line tables, or
 * that is no program, has none.
 */
int line_files_each(const char *path, double until, void (*add)(void *arg, const char *dir, const char *name), void *arg);

#endif
