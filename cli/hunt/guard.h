/* SPDX-License-Identifier: MIT */
/*
 * guard.h: a process that ends what a hunt's runs have started, if the hunt itself is killed: also a program that
 * ignores SIGTERM, and a daemon that has left its session.
 */
#ifndef FRED_HUNT_GUARD_H
#define FRED_HUNT_GUARD_H

#include "base/err.h"

/*
 * begin: of the paths that this hunt's runs record into, and no other's. The guard is a child of the calling thread,
 * with which it ends; it is in no session of the caller's, and holds none of its files.
 */
int guard_start(const char *begin, struct err *e);

#endif
