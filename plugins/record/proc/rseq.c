/* SPDX-License-Identifier: MIT */
/*
 * rseq.c: libc has registered each thread for rseq before the recorder sees it; the kernel then writes the number of
 * its processor there. Without it, programs ask for the number by a call.
 */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/proc/thread.h"

#include <dlfcn.h>

static char *rseq_offset; /* of a thread's area from its thread pointer; NULL: this libc has none */

void thread_find_rseq(void)
{
	const ptrdiff_t *at = REAL(dlsym)(RTLD_DEFAULT, "__rseq_offset");
	const unsigned *size = REAL(dlsym)(RTLD_DEFAULT, "__rseq_size");

	rseq_offset = at && size && *size ? (char *)*at : 0;
}

void thread_leave_rseq(void)
{
	if (rseq_offset)
		raw4(SYS_rseq, (uint64_t)__builtin_thread_pointer() + (uint64_t)rseq_offset, 32, 1 /* UNREGISTER */,
		     0x53053053);
}
