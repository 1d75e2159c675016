/* SPDX-License-Identifier: MIT */
/*
 * family.h: finds the processes of a replay, for their parent, the worker. A program can write any number into the
 * control page. In a cell of its own, all PIDs are the cell's; in a plain one (cell/plain.h), only children of the
 * worker are touched.
 */
#ifndef FRED_TARGET_FAMILY_H
#define FRED_TARGET_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

bool family_is_child(pid_t pid);
/* Is it a process of this replay? Always true outside of a plain cell. */
bool family_is_ours(pid_t pid);
/*
 * In a plain cell, when the replaying process of this session has ended: ends the child that was to continue in its
 * place, which may not be noted yet, and the child's children. Copies, which are traced or have sessions of their own,
 * stay.
 */
void family_end_session(pid_t session);

#endif
