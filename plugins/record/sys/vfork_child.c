/* SPDX-License-Identifier: MIT */
/* vfork_child.c: what a vfork child does to its address space is kept for its parent (proc/vfork.c). */
#include "record/core/state.h"
#include "record/store/log.h"
#include "record/sys/sys.h"
#include "record/sys/vfork_share.h"

#include <string.h>

struct share *vfork_share; /* in a vfork child */

void vfork_child(struct share *s)
{
	vfork_share = s;
}

void vfork_add_piece(struct share *s, uint64_t at, uint32_t len)
{
	if (s->n == PIECES_MAX) {
		note(RLOG_NOTE_UNSUPPORTED, SYS_vfork, "a vfork child that writes much of its parent's memory");
		s->n++;
	}
	if (s->n > PIECES_MAX)
		return;
	s->piece[s->n].at = at;
	s->piece[s->n].len = len;
	memcpy(s->bytes[s->n++], (void *)at, len);
}

void vfork_child_maps(long nr, const long *a, long ret)
{
	struct share *s = vfork_share;
	int file = nr == SYS_mmap && !(a[3] & MAP_ANONYMOUS), shared = nr == SYS_mmap && (a[3] & MAP_SHARED);

	if (likely(!s) || sys_is_error(ret) || (nr == SYS_brk && ret != a[0]))
		return;
	if (file || shared || nr == SYS_mremap || s->calls == CALLS_MAX) {
		note(RLOG_NOTE_UNSUPPORTED, SYS_vfork,
		     file || shared ? "a vfork child that maps a file or shared memory, which its parent has then"
				    : "a vfork child that changes much of its parent's address space");
		return;
	}
	s->call[s->calls].nr = nr;
	memcpy(s->call[s->calls].a, a, sizeof(s->call[0].a));
	if (nr == SYS_mmap) {
		s->call[s->calls].a[0] = ret;
		if (!(a[3] & MAP_FIXED))
			s->call[s->calls].a[3] |= MAP_FIXED_NOREPLACE;
	}
	s->calls++;
}
