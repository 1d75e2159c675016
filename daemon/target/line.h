/* SPDX-License-Identifier: MIT */
/*
 * line.h: the images from the one that is launched to the one that is replayed, which become each other at forks, and
 * the processes that they leave.
 */
#ifndef FRED_TARGET_LINE_H
#define FRED_TARGET_LINE_H

#include "target/target.h"

/* The image that a process is launched as; or, in a bounded recording, the one in which what is left begins. */
const struct rec_image *line_first(const struct rec *rec, uint32_t process, bool with_start, struct err *e);
/* The forks at which the process must become the child: the images from the root's child to the wanted one. */
int line_follow(const struct target *t, uint32_t follow[32], struct err *e);
/*
 * Ends the processes on the way from the first one to the one that is replayed, which become each other at forks, the
 * first one first: a process that has ended forks no more. Their PIDs are wanted again, and one that was just made has
 * not told its own.
 */
void line_end(const struct target *t, uint32_t ordinal);
/* If that image's process is there, and a child of this one. */
void line_end_one(const struct rec *rec, uint32_t process);
/* Up to which place in replay_ctl.branch the target's forks have made children. */
uint32_t line_branches(const struct target *t);
/* Ends the children that no branch took over (target/branch.h). The target itself makes no more of them. */
void line_end_branches(struct target *t);

#endif
