/* SPDX-License-Identifier: MIT */
/* reading.c: see reading.h. */
#include "reclog/reading.h"

#include <sys/syscall.h>

bool reading_of(const struct reader_event *ev, struct input_read *r)
{
	const struct rlog_rec *rec = &ev->rec;
	int64_t got = ev->has_result && ev->result.nops ? (int64_t)ev->result.op[0] : 0;

	/* number, arguments */
	if (rec->kind != RLOG_SYS || rec->nops < 4 || got <= 0)
		return false;
	*r = (struct input_read){
		.nr = rec->op[0], .fd = (int)rec->op[1], .buffer = rec->op[2], .got = (uint64_t)got, .offset = -1};
	switch (r->nr) {
	case SYS_pread64:
		r->offset = rec->nops > 4 ? (int64_t)rec->op[4] : -1;
		return true;
	case SYS_read:
	case SYS_recvfrom:
		return true;
	case SYS_getrandom:
		r->fd = -1;
		r->buffer = rec->op[1];
		return true;
	default:
		return false;
	}
}
