/* SPDX-License-Identifier: MIT */
/*
 * hist.h: the debug history: the debugger commands issued since a checkpoint, in order. Pure. Equal
 * commands in a row are one entry with a count. A history is also a place: where one stands after
 * it.
 */
#ifndef FRED_HIST_HIST_H
#define FRED_HIST_HIST_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From coarse to fine; a command can be expanded into finer ones (FReD 2.1, 4). */
enum hist_cmd {
	HIST_CONTINUE = 0,
	HIST_FINISH,
	HIST_UNTIL,
	HIST_NEXT,
	HIST_STEP,
	HIST_STEPI,
	HIST_CMDS
};

struct hist_entry {
	enum hist_cmd cmd;
	uint64_t count; /* > 0 */
};

struct hist {
	struct hist_entry *v;
	size_t n, cap;
};

void hist_init(struct hist *h);
void hist_fini(struct hist *h);
/* 0, or -1 without memory; then h is unchanged. */
int hist_append(struct hist *h, enum hist_cmd cmd, uint64_t count, struct err *e);
int hist_append_all(struct hist *h, const struct hist *more, struct err *e);
int hist_copy(struct hist *to, const struct hist *from, struct err *e);
/* Single commands in it. */
uint64_t hist_length(const struct hist *h);
/* Keeps the first `length` single commands. */
void hist_truncate(struct hist *h, uint64_t length);
/* The single command with index i, below hist_length. */
enum hist_cmd hist_at(const struct hist *h, uint64_t i);
/* "continue", "next", ... as GDB calls them; and back: HIST_CMDS for an unknown one. */
const char *hist_cmd_name(enum hist_cmd cmd);
enum hist_cmd hist_cmd_from_name(const char *name);
/* "continue, next 3, step": allocated, NULL without memory. */
char *hist_format(const struct hist *h);

#endif
