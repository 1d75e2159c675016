/* SPDX-License-Identifier: MIT */
/*
 * spoken.h: the output of functions that the debugger calls. In the copy in which they run, standard output and error
 * are files in memory, which are read here. Text still in stdio's buffer at the end of a call (glibc's struct _IO_FILE)
 * is part of it; text that was in there before the call is the program's own and is not shown.
 */
#ifndef FRED_DEBUG_SPOKEN_H
#define FRED_DEBUG_SPOKEN_H

#include "base/buf.h"
#include "trace/trace.h"

struct spoken {
	pid_t pid; /* the copy; 0: none yet */
	int fd[2]; /* the files, of 1 and 2 */
	uint64_t read[2]; /* bytes of them */
	struct buf held; /* what stdio held at the last look */
};

/* Before the first call in a copy; fine again. out: libc's _IO_2_1_stdout_, 0: not known. */
int spoken_begin(struct spoken *s, struct trace *copy, uint64_t out, struct err *e);
/* Adds what has come since. The copy may have ended. */
void spoken_take(struct spoken *s, uint64_t out, struct buf *text);
void spoken_fini(struct spoken *s);

#endif
