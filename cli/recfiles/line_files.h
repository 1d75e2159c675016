/* SPDX-License-Identifier: MIT */
/* line_files.h: the names of source files in a program's line tables (DWARF), of which only the headers are read. */
#ifndef FRED_RECFILES_LINE_FILES_H
#define FRED_RECFILES_LINE_FILES_H

/*
 * Calls add for each file of each compilation unit; a file may be named many times. dir: the folder of the compilation,
 * absolute, or ""; name: relative to dir, or absolute. 0: done, also for a file without line tables; 1: stopped at the
 * time `until` (clock_s).
 */
int line_files_each(const char *path, double until, void (*add)(void *arg, const char *dir, const char *name),
		    void *arg);

#endif
