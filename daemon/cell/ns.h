/* SPDX-License-Identifier: MIT */
/* ns.h: sets up a new cell from inside: mounts and network. Used by cell.c in the cell's pid 1. */
#ifndef FRED_CELL_NS_H
#define FRED_CELL_NS_H

#include "base/err.h"

/*
 * Leaves the mount, net and ipc namespaces of the caller and furnishes the new ones (cell.h says
 * how).
 */
int ns_enter(struct err *e);
/* Makes "/" a private mount of the caller's mount namespace, which must be a new one; in a chroot too. */
int ns_root_private(struct err *e);

#endif
