/* SPDX-License-Identifier: MIT */
/*
 * past.h: the debug history of a session (FReD 2.1): where the program stood at each prompt of the debugger, in a file
 * that grows with it. To take a command back is to go to the place before: positions are exact, so that nothing need
 * be issued again.
 */
#ifndef FRED_DEBUG_PAST_H
#define FRED_DEBUG_PAST_H

#include "debug/spot.h"

struct past {
	struct spot *v; /* the last one is the last prompt's */
	unsigned n;
	int fd; /* -1: no file */
};

/* Goes on with the file, which is made if need be; NULL: in memory alone. What was torn by a crash is dropped. */
int past_open(struct past *p, const char *path, struct err *e);
void past_close(struct past *p);
/* The debugger is at its prompt, and the program here; nothing happens when it has not moved. */
int past_prompt(struct past *p, const struct spot *here, struct err *e);
/* Where it stood n commands ago; NULL and e set: there were not so many. */
const struct spot *past_find(const struct past *p, uint64_t n, struct err *e);
/* They have been taken back: it stands `here`. */
int past_forget(struct past *p, uint64_t n, const struct spot *here, struct err *e);

#endif
