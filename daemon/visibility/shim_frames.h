/* SPDX-License-Identifier: MIT */
/*
 * shim_frames.h: where a thread in the shim came from. One that waits its turn stands deep in there; what a user wants to see
 * is the library call that it is in: the shim's frame that the program called, or, where a signal handler of the shim's
 * interrupted it, that place.
 */
#ifndef FRED_VISIBILITY_SHIM_FRAMES_H
#define FRED_VISIBILITY_SHIM_FRAMES_H

#include <elfutils/libdwfl.h>

#include "visibility/visibility.h"

struct shim_frames {
	Dwfl *dwfl; /* knows how frames of the shim and libc are unwound; NULL: not opened yet */
	int mem; /* /proc/PID/mem of the process that is looked at */
	const struct user_regs_struct *from;
};

/* Where code is, and how frames are unwound, in one process. */
struct process_view {
	const struct visibility *visibility;
	struct shim_frames *shim_frames;
};

/*
 * *r, the registers of a stopped thread of pid, become those of that frame: what a call does not preserve is not to
 * be relied on there. Unchanged when the thread is not in the shim, or its frames cannot be unwound.
 */
void shim_frames_find(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/*
 * A thread stands in the shim: where the program goes on behind that, if no event and no signal comes before: rip and rsp. false:
 * it is not known.
 */
bool shim_frames_behind(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/*
 * shim_frames_find for a thread that may also be in a function of libc's which the shim called. Is it in a call of the shim's? Else *r
 * is unchanged.
 */
bool shim_frames_of_call(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/*
 * A thread in the shim, libc or the loader may have got there from libc that the shim itself called: shim_call->hidden says
 * so, else it is zeroed.
 */
void shim_frames_shim_call(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r,
		  struct shim_call *shim_call);
/* Is this state in a function that the shim has called, be it libc's, the loader's or its own? Then it is not visible. */
bool shim_frames_hides(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
/* As that; or in the shim, but not at the entry of a function. */
bool shim_frames_is_within(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
/*
 * visibility_sees, and more: what a function of the program's returns to is not visible either when the shim has called that,
 * as the loader behind a library's constructor. So a state is visible or not, whichever way the thread was followed.
 */
bool shim_frames_sees(struct shim_frames *o, const struct visibility *s, struct shim_call *g, pid_t pid, uint64_t before,
		  const struct user_regs_struct *now, bool handler);
void shim_frames_fini(struct shim_frames *o);

#endif
