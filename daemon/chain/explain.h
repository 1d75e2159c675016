/* SPDX-License-Identifier: MIT */
/*
 * explain.h: from a failure back to its cause, without an expression of the user's. The replay goes to the failure,
 * whose kind follows from how the program ended and from the libc functions on its stack (explain/failure.h). Then the
 * search goes back: for a condition that the program itself has checked, by reverse-watch (explain/condition_search.h);
 * for a value, from instruction to instruction (flow/flow.h). Each step of the chain is a state in which the program
 * stood; nothing is claimed that was not seen there.
 *
 * The program is moved along the timeline by timetravel/cursor.h.
 */
#ifndef FRED_CHAIN_EXPLAIN_H
#define FRED_CHAIN_EXPLAIN_H

#include <jansson.h>

#include "base/buf.h"
#include "base/str.h"
#include "chain/chain.h"
#include "gdb/gdb.h"
#include "insn/insn.h"
#include "reclog/procs.h"
#include "replay/navigate.h"
#include "replay/operation.h"
#include "timetravel/cursor.h"

struct explain;
struct flow;
/* Functions that files in lower layers of this folder call in higher ones. op_explain.c sets them. */
struct explain_ways {
	int (*flow_on)(struct flow *f, struct err *e); /* flow_int.h */
	int (*timed_out)(struct explain *x, struct err *e); /* vain.h */
	int (*closed)(struct explain *x, struct err *e); /* descriptor.h */
	bool (*begins_empty)(struct flow *f); /* flow_int.h */
	bool (*is_stale)(struct explain *x, const struct insn_loc *place, const struct timeline_point *at,
			 const uint8_t was[8]); /* flow.h */
};

/* A write beyond the end of [lo, lo + len): the last of `steps` writes. steps 0: there was none. */
struct explain_overrun {
	struct timeline_point at;
	uint64_t lo, len;
	uint64_t hit; /* a byte there that it wrote */
	size_t steps;
};

#define EXPLAIN_COMPARED 4u
/* A variable, not on a stack, that the first searched condition compares. */
struct explain_compared {
	struct insn_loc place;
	char name[64];
};

struct explain {
	const struct explain_ways *ways;
	struct rec *rec;
	struct op_ctx *ctx;
	uint32_t process;
	struct procs_ending ending;
	struct nav nav;
	bool have_nav;
	struct cursor t;
	struct gdb *g;
	pid_t tid; /* of the thread that failed */
	struct timeline_point at; /* its last visible state */
	bool no_code; /* its last state cannot be reached by its PC, for example since there is no code there */
	struct chain_failure failure;
	struct chain chain;
	struct strv notes;
	json_t *damage; /* as in fredctl(1); NULL: the heap was not damaged, or was not examined */
	json_t *threads; /* as in fredctl(1); NULL: not shown */
	bool counted; /* the value that was followed is the counter of a loop, or a pointer that a loop moves */
	/*
	 * flow_register.c: where a null pointer, or a 0 that was compared, was last returned: the return of the
	 * function, the place of its return address, and how many steps the chain had; slot 0: nowhere
	 */
	struct {
		struct timeline_point at;
		uint64_t slot;
		size_t steps;
	} returned;
	bool allocated; /* the value that was followed is the address of a new block */
	uint64_t memory; /* the address to which a value was last followed; 0: none */
	/* flow_birth.c: the number of steps up to the last copy of the value into an object's memory; 0: none */
	size_t kept;
	size_t emptied; /* ... up to the first step that set a pointer to null */
	struct explain_overrun overrun; /* the last such write */
	struct explain_compared compared[EXPLAIN_COMPARED];
	unsigned ncompared;
	struct timeline_point compared_at; /* its state */
	int compared_level; /* the level of its frame */
	char *compared_expr; /* the condition that should have been true; NULL: no condition was searched */
	enum chain_end end;
	char *end_text;
	bool found; /* the chain leads to a cause */
	unsigned depth; /* the most steps */
	uint64_t until; /* t.work must not exceed this; a limit in seconds would give other answers under load */
};

/* Starts the replay of x->process of x->rec. explain_fini in any case. */
int explain_begin(struct explain *x, struct err *e);
/*
 * Runs to the end for the first time, and makes checkpoints on the way. 0: the program is at the end; 1: there were
 * checkpoints already, and it is at the start; -1. what: the text of the progress, of which this is the first 30 %.
 */
int explain_first_way(struct explain *x, const char *what, struct err *e);
/* Frees what x owns. Can be called on a zeroed struct. */
void explain_fini(struct explain *x);

/* Sets why the chain ends; later calls change nothing. */
void explain_end(struct explain *x, enum chain_end end, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, but replaces an earlier reason. */
void explain_end_instead(struct explain *x, enum chain_end end, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Forgets why the chain ends. */
void explain_reopen(struct explain *x);
/* As chain_cut and chain_drop; also forgets what x knows about these steps. */
void explain_cut(struct explain *x, size_t n);
void explain_drop(struct explain *x, size_t i);
void explain_note(struct explain *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Moving back has failed with e. true if that is because it took too long, or because a state was not found again: then
 * the chain so far is valid. The replay is ended, and the program is nowhere.
 */
bool explain_may_go_on(struct explain *x, const struct err *e);
#define EXPLAIN_MOST 100000u /* the most t.work */
/* Sets x->until to `most` more than now, unless it is less already; returns the old value. */
uint64_t explain_limit(struct explain *x, uint64_t most);
/* Has the chain ended, or is there no time or room for a further step? Then sets why it ends. */
bool explain_is_over(struct explain *x);
/* Moves the program to its failure again. */
int explain_goto_failure(struct explain *x, struct err *e);
/* The registers of a thread in the present state. */
int explain_regs(struct explain *x, pid_t tid, struct user_regs_struct *r, struct err *e);
/* The instruction at the PC; code has room for INSN_BYTES. */
int explain_insn(struct explain *x, const struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e);

#endif
