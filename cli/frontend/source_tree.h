/* SPDX-License-Identifier: MIT */
/* source_tree.h: GDB shown the source files as they were when the program was recorded. */
#ifndef FRED_FRONTEND_SOURCE_TREE_H
#define FRED_FRONTEND_SOURCE_TREE_H

#include "base/str.h"

/*
 * Where files on the disk are not what they were: makes the folder `tree` (private, of the caller) with the recording's copies of
 * them, and links to the others that were compiled in the same place. Adds to `commands` what makes GDB look there, and to
 * `notes` what the user must know. Nothing of this is vital: what cannot be done is left out, and said.
 */
void source_tree_make(const char *rec, const char *tree, struct strv *commands, struct strv *notes);
void source_tree_remove(const char *tree);

#endif
