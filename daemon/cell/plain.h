/* SPDX-License-Identifier: MIT */
/*
 * plain.h: cells where no namespaces can be made, as in Docker's default sandbox (cell_start_plain in cell.h). They
 * have the host's files and PIDs; what such a cell replays is confined by launch/confine.h alone.
 */
#ifndef FRED_CELL_PLAIN_H
#define FRED_CELL_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is the caller in a plain cell? */
bool cell_is_plain(void);
/* The private folder of the caller's cell: CELL_RUN_DIR, or that of a plain cell. Lives as long as the process. */
const char *cell_dir(void);

/*
 * For cell.c: makes the cell's folder, whose name is put into dir, and starts the guard, and its child with the other
 * end of this socket (handshake.h). -1, errno: nothing is left.
 */
pid_t plain_fork(int (*init)(void *arg), void *arg, int sock, char *dir, size_t size);
/*
 * For cell.c, in a cell with namespaces: the caller is not in a plain cell, even if the process that started this cell
 * is.
 */
void plain_forget(void);

#endif
