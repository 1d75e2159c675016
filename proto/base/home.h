/* SPDX-License-Identifier: MIT */
/* home.h: where fred keeps recordings, sessions and its socket. */
#ifndef FRED_BASE_HOME_H
#define FRED_BASE_HOME_H

#include "base/err.h"

/*
 * $FRED_HOME, or ${XDG_DATA_HOME:-~/.local/share}/fred, as an absolute path. Made, with mode 0700, if it
 * does not exist. malloc'd, or NULL: ERR_HOST, the message says what to do.
 */
char *home_dir(struct err *e);
/* home_dir()/name, made with mode 0700 if it does not exist. malloc'd, or NULL. */
char *home_subdir(const char *name, struct err *e);
/*
 * For a process that is about to become GDB: compiled Python files are read and written below home_dir()/python.
 * Debian's GDB has its Python files as source alone, in a folder that users cannot write to; to compile them each time
 * is a third of its start. If the folder cannot be made, nothing changes;
 * where files cannot be written whole, they are read alone.
 */
void home_use_python_cache(void);

#endif
