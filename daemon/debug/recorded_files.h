/* SPDX-License-Identifier: MIT */
/* recorded_files.h: the files of a program as they were when it was recorded, for a debugger: the recording's copies.
 */
#ifndef FRED_DEBUG_RECORDED_FILES_H
#define FRED_DEBUG_RECORDED_FILES_H

#include "reclog/rec.h"

/*
 * Opens the copy of the file that these process images knew by this absolute path. A descriptor, or a negative error
 * number. Nothing but the recording's copies can be opened: a debugger may be anybody who reaches the port.
 */
int recorded_files_open(const struct rec *rec, const uint32_t *images, unsigned n, const char *path);

/*
 * Makes the folder dir with links to these copies, each at the place that the program knew it by: a debugger on this
 * machine takes it for the program's file system (`set sysroot`). What is there already stays.
 */
int recorded_files_link_all(const struct rec *rec, const uint32_t *images, unsigned n, const char *dir, struct err *e);

#endif
