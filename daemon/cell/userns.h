/* SPDX-License-Identifier: MIT */
/* userns.h: the user namespace in which an ordinary user's daemon makes its cells (user_namespaces(7)). */
#ifndef FRED_CELL_USERNS_H
#define FRED_CELL_USERNS_H

#include <stdbool.h>

#include "base/err.h"

/* Has the caller CAP_SYS_ADMIN in its user namespace? */
bool userns_has_admin(void);
/*
 * Is the caller in a user namespace that maps only one user, as userns_enter makes it? Then it has no rights beyond
 * those of that user.
 */
bool userns_is_own(void);
/*
 * Without CAP_SYS_ADMIN: moves the calling process into a new user namespace, in which it is user 0 and has all
 * capabilities; outside it stays the user that it is, and may do what that user may. With CAP_SYS_ADMIN nothing
 * happens. The process must have one thread (unshare(2)), and cannot go back. 0, or -1: ERR_HOST says what refused and
 * what to do.
 */
int userns_enter(struct err *e);
/* Sets e to why this user may make no namespaces (error: of the call that failed), and what to do. Returns -1. */
int userns_refused(int error, struct err *e);

#endif
