/* SPDX-License-Identifier: MIT */
/*
 * line.h: the images between the one that is launched and the one that is replayed (at each fork, the process becomes
 * the child), and the processes that are left on the way.
 */
#ifndef FRED_TARGET_LINE_H
#define FRED_TARGET_LINE_H

#include "target/target.h"

/* The image that a process is launched as; or, in a bounded recording, the image in which the remaining part begins. */
const struct rec_image *line_first(const struct rec *rec, uint32_t process, bool with_start, struct err *e);
/* The forks at which the process must become the child: the images from the root's child to the wanted one. */
int line_follow(const struct target *t, uint32_t follow[32], struct err *e);
/*
 * The images besides `root` whose files a replay that begins with `root` needs: those on the way to the process; if it
 * makes branches, all that forks have made of it. A list that ends with 0, to be freed; NULL: an error.
 */
uint32_t *line_images(const struct target *t, const struct rec_image *root, struct err *e);
/*
 * Ends the processes on the way from the first one to the one that is replayed, which become each other at forks, the
 * first one first: a process that has ended forks no more. Their PIDs are wanted again, and one that was just made has
 * not told its own.
 */
void line_end(const struct target *t, uint32_t ordinal);
/* Ends the process of that image if it exists, and is a child of this process. */
void line_end_one(const struct rec *rec, uint32_t process);
/*
 * The process that waits at this place in replay_ctl.branch, as a child of this one; 0: there is none. The program can
 * write that page: in a plain cell it must be of the session that the replay was started as.
 */
pid_t line_branch_pid(const struct target *t, uint32_t place);
/* Ends that process, if it is a child of this one. */
void line_end_pid(pid_t pid);
/* Up to which place in replay_ctl.branch the target's forks have made children. */
uint32_t line_branches(const struct target *t);
/* The target is to make no children from this place on. */
void line_branches_until(struct target *t, uint32_t end);
/* Ends the children that no branch took over (target/branch.h). The target itself makes no more of them. */
void line_end_branches(struct target *t);

#endif
