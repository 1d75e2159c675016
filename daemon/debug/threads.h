/* SPDX-License-Identifier: MIT */
/* threads.h: the threads of a session, as a debugger sees them (visibility/thread_list.h): operations of rsp/stub.h,
 * arg is a struct debug. */
#ifndef FRED_DEBUG_THREADS_H
#define FRED_DEBUG_THREADS_H

#include "debug/debug.h"

/* Once, when the timeline is known. */
void threads_init(struct debug *d);

unsigned threads_list(void *arg, int *ids, unsigned max);
void threads_name(void *arg, int id, char *buf, size_t size);
const char *threads_absent(void *arg, int id);

/* The TID of the live thread that the debugger calls by this id; 0: that thread does not exist now. */
pid_t threads_tid(const struct debug *d, int id);
/* The id by which the debugger calls a live thread; and its number. */
int threads_id(struct debug *d, pid_t tid);
unsigned threads_number(struct debug *d, pid_t tid);

/* As monitor commands: the debugger is to select the thread that moved last; its id. */
int threads_select_mover(struct debug *d, const char *args, struct buf *out, struct err *e);
/* The ids of the threads that do not exist now, each with the reason, a line each. */
int threads_tell_absent(struct debug *d, const char *args, struct buf *out, struct err *e);

#endif
