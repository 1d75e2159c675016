/* SPDX-License-Identifier: MIT */
/* sources.h: keeps the program's source files with its recording. */
#ifndef FRED_RECFILES_SOURCES_H
#define FRED_RECFILES_SOURCES_H

#include <jansson.h>

#include "base/str.h"
#include "reclog/rec.h"

/*
 * Copies the source files that the line tables of the recorded programs and libraries name into one file in REC/files:
 * those that are small, for `seconds` at most; files of the system's headers and libraries are left out. Returns
 * "sources" of meta.json (fred-recording(5)), or NULL when there are none.
 */
json_t *sources_keep(const char *rec, double seconds);
/* For a recording without copies: the names of source files that are newer than the program that names them. */
void sources_newer(const struct rec *rec, double seconds, struct strv *names);

#endif
