/* SPDX-License-Identifier: MIT */
/*
 * places.h: the source of instructions. GDB is attached to a copy of the process, which is made again when the
 * process has mapped other code since. Each address is asked about once.
 */
#ifndef FRED_EXECUTED_PLACES_H
#define FRED_EXECUTED_PLACES_H

#include "base/table.h"
#include "gdb/gdb.h"
#include "reclog/sources.h"
#include "segcursor/segcursor.h"

struct code_place {
	uint64_t pc;
	char *function, *file, *text; /* NULL: unknown; text: the line of source */
	int line; /* 0: unknown */
	char *code; /* the instruction, as text, once places_code was called */
};

struct places {
	struct gdb *g;
	pid_t copy; /* 0: none */
	uint64_t mapped; /* a hash of where the copy has code */
	struct sources sources;
	struct table at; /* by address: the places that were asked for */
};

void places_init(struct places *p, const struct rec *rec);
void places_fini(struct places *p);
/* At the beginning of a segment: t is a copy of the process there. */
int places_see(struct places *p, const struct segcur *in, struct trace *t, struct err *e);
/* Of the instruction at pc. Valid until places_fini. Where GDB fails, nothing is known of it. */
const struct code_place *places_at(struct places *p, uint64_t pc);
/* The instruction as text, in the syntax that GDB uses by default. */
const char *places_code(struct places *p, const struct code_place *at);

#endif
