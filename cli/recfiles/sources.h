/* SPDX-License-Identifier: MIT */
/* sources.h: keeps the program's source files with its recording. */
#ifndef FRED_RECFILES_SOURCES_H
#define FRED_RECFILES_SOURCES_H

#include <jansson.h>

#include "base/str.h"
#include "reclog/rec.h"

/*
 * Copies to a file in REC/files the source files that the line tables of the recorded programs and libraries name, as far as
 * they are small and it takes no longer than `seconds`; those of the system's headers and libraries are left out. "sources" of
 * meta.json (fred-recording(5)), or NULL when there are none.
 */
json_t *sources_keep(const char *rec, double seconds);
/* The names of those that are more recent now than the program that names them: of a recording that keeps none. */
void sources_newer(const struct rec *rec, double seconds, struct strv *names);

#endif
