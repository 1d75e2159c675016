/* SPDX-License-Identifier: MIT */
/* unwind_window.c: see unwind_window.h. */
#include "visibility/unwind_window.h"

#include <string.h>

#define ASKED 0xfdu
#define ANSWER 0xffu

bool unwind_window_is_asked(uint64_t addr)
{
	return addr >> 56 == ASKED;
}

static uint64_t both(const struct unwind_window *b, unsigned i)
{
	return (uint64_t)b->half[2 * i + 1] << 32 | b->half[2 * i];
}

size_t unwind_window_answer(struct unwind_window *b, struct shim_frames *o, const struct visibility *s, pid_t pid,
			    uint64_t addr, void *buf, size_t len)
{
	unsigned what = addr >> 48 & 0xff;
	struct user_regs_struct r = {.rip = both(b, 0),
				     .rsp = both(b, 1),
				     .rbp = both(b, 2),
				     .rbx = both(b, 3),
				     .r12 = both(b, 4),
				     .r13 = both(b, 5),
				     .r14 = both(b, 6),
				     .r15 = both(b, 7)};

	if (what < 2 * UNWIND_WINDOW_REGISTERS && len == 1) {
		b->half[what] = (uint32_t)addr;
		memset(buf, 0, len);
		return len;
	}
	if (what != ANSWER || len != UNWIND_WINDOW_REGISTERS * sizeof(uint64_t) || !shim_frames_caller(o, s, pid, &r))
		return 0;
	memcpy(buf, (const uint64_t[UNWIND_WINDOW_REGISTERS]){r.rip, r.rsp, r.rbp, r.rbx, r.r12, r.r13, r.r14, r.r15},
	       len);
	return len;
}
