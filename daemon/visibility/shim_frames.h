/* SPDX-License-Identifier: MIT */
/*
 * shim_frames.h: the frames of the shim on a thread's stack. A thread that waits for its turn stands deep inside the
 * shim; a user is shown the library call that it is in, which is the outermost of those frames. Where a signal handler
 * of the shim interrupted the program, it is the interrupted frame.
 */
#ifndef FRED_VISIBILITY_SHIM_FRAMES_H
#define FRED_VISIBILITY_SHIM_FRAMES_H

#include <elfutils/libdwfl.h>

#include "visibility/visibility.h"

struct shim_frames {
	Dwfl *dwfl; /* libdw's unwinder for the shim and libc; NULL: not opened yet */
	int mem; /* while it unwinds: /proc/PID/mem */
	const struct user_regs_struct *from; /* while it unwinds: the innermost frame */
};

/* Both parts of a process's view. */
struct process_view {
	const struct visibility *visibility;
	struct shim_frames *shim_frames;
};

/*
 * *r, the registers of a stopped thread of pid, become those of the frame that a user is shown. Only registers that a
 * call preserves are valid in it. *r is unchanged when the thread is not in the shim, or its frames cannot be unwound.
 */
void shim_frames_find(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/*
 * The thread is in the shim: *r becomes the program's frame that the shim returns to (rip, rsp and the registers that a
 * call preserves). false: the thread is not in the shim, or that frame is not known.
 */
bool shim_frames_caller(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/*
 * As shim_frames_find, for a thread that may also be in a function of libc which the shim called. false: it is in no
 * call of the shim, and *r is unchanged.
 */
bool shim_frames_of_call(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r);
/* Finds out by unwinding whether a thread is in a function of libc or the loader that the shim has called. */
void shim_frames_find_shim_call(struct shim_frames *o, const struct visibility *s, pid_t pid,
				const struct user_regs_struct *r, struct shim_call *shim_call);
/*
 * The thread is in the shim, in a function whose code is in `code`. Among the innermost frames, which are all the
 * shim's: *r becomes the frame that the outermost call of such functions returns to (rip, rsp and the registers that a
 * call preserves).
 */
bool shim_frames_returns_from(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct text *code,
			      struct user_regs_struct *r);
/* Is this state in a function that the shim has called: libc's, the loader's or its own? Then it is not visible. */
bool shim_frames_hides(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
/* As shim_frames_hides; also true anywhere in the shim, except at the entry of a function. */
bool shim_frames_is_within(struct shim_frames *o, const struct visibility *s, pid_t pid,
			   const struct user_regs_struct *r);
/*
 * As visibility_sees, and unwinds where a function of the program has returned into libc or the loader: that is not
 * visible when the shim has called it, such as the loader after a library's constructor. So whether a state is visible
 * does not depend on how the thread was followed to it.
 */
bool shim_frames_sees(struct shim_frames *o, const struct visibility *s, struct shim_call *g, pid_t pid,
		      uint64_t before, const struct user_regs_struct *now, bool handler);
void shim_frames_fini(struct shim_frames *o);

#endif
