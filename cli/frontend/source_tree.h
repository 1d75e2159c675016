/* SPDX-License-Identifier: MIT */
/* source_tree.h: has GDB show source files as they were when the program was recorded. */
#ifndef FRED_FRONTEND_SOURCE_TREE_H
#define FRED_FRONTEND_SOURCE_TREE_H

#include "base/str.h"

/*
 * If source files have changed since: makes the folder `tree`, private to the caller, with the recording's copies of
 * them, and links to unchanged files that were compiled in the same folders. Adds GDB commands that make it look there
 * to `commands`, and notes for the user to `notes`. Failures are not fatal: they are noted.
 */
void source_tree_make(const char *rec, const char *tree, struct strv *commands, struct strv *notes);
void source_tree_remove(const char *tree);

#endif
