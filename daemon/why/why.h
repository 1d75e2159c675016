/* SPDX-License-Identifier: MIT */
/*
 * why.h: where a value came from: a tree. A step is a statement that made a value: the program stands in front of the
 * instruction that put it where it is. Its operands are the values that the statement used for it, other than
 * constants; each of these was made by a step, too. What decided that the statement was executed (control dependences),
 * and the addresses by which operands were reached, are not in the tree.
 *
 * (This is the backward dynamic slice of one value, which BugNet, section 6, cites, grouped by statements.)
 */
#ifndef FRED_WHY_WHY_H
#define FRED_WHY_WHY_H

#include "chain/inspect.h"
#include "flow/flow_int.h"

struct why_step;

/* A value that a statement used, or that was asked about. Owns what it points to. */
struct why_operand {
	struct insn_loc l; /* where it is, in the state at `at` of thread tid */
	struct timeline_point at;
	pid_t tid;
	uint8_t value[8]; /* little-endian */
	char *name, *text; /* name NULL: it is in a register, of no variable that is known */
	bool exact; /* the name is an expression that means it there */
	bool pointer; /* it is shown as an address */
	uint64_t birth; /* of memory: the word whose writing begins its life; 0: there is none */
	char *function; /* birth: a frame of this function's; NULL: the heap's */
	bool set; /* of a register: what set it is known */
	struct timeline_point setter;
	bool begins; /* of a register: the thread, or what the recorder called, began with it */
	unsigned depth; /* steps above it */
	struct why_step *from; /* NULL: there is none, or it was not asked for */
	bool again; /* `from` belongs to another operand: it is the same step */
	enum chain_end end; /* why there is no step, or END_OPEN */
	char *end_text;
};

/* Owns what it points to. */
struct why_step {
	struct insn_loc l; /* what was made */
	struct timeline_point at;
	pid_t tid;
	json_t *thread, *location, *backtrace;
	char *name, *before, *after, *words;
	bool exact; /* the name is an expression that means it there */
	bool passes; /* a register got the value from somewhere: that is no step of --depth */
	bool in_library; /* in libc or the loader */
	struct why_operand **v;
	size_t n, cap;
	enum chain_end end; /* why it has no operands, or END_OPEN */
	char *end_text;
	unsigned number; /* in the order in which steps are printed; 0: not yet */
};

struct why {
	struct explain x; /* its chain stays empty */
	unsigned depth, steps_max;
	struct why_operand root;
	struct why_step **steps; /* all, borrowed from their operands */
	size_t n, cap;
	struct why_operand **queue; /* operands whose steps are to be found, in this order; borrowed */
	size_t first, queued, queue_cap;
};

struct why_operand *why_operand_new(const struct insn_loc *l, pid_t tid);
void why_operand_fini(struct why_operand *o);
struct why_step *why_step_new(void);
void why_step_add(struct why_step *s, struct why_operand *o);
void why_queue(struct why *w, struct why_operand *o);
/* Looks a new step up among the known ones. true: the same step is known, and *s becomes that one. */
bool why_know(struct why *w, struct why_step **s);
/* Takes the reason why the search of x ended, and lets x go on. */
void why_take_end(struct why *w, enum chain_end *end, char **text);
void why_set_end(enum chain_end *end, char **text, enum chain_end why, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* target.c: goes to `at` (NULL: the failure, or the end), and makes w->root of what the expression means there. */
int why_target(struct why *w, const char *expr, const char *at, struct err *e);

/* follow.c: finds the steps of the root, and of what these used, down to w->depth. */
int why_follow(struct why *w, struct err *e);

/*
 * input.c: what event n, of the recorder's function `who`, brought into the program, in words: and for memory, which
 * byte of which file. malloc'd; the cursor stands elsewhere afterwards. No inspect may be open.
 */
char *why_input(struct why *w, const char *who, uint64_t n, const struct insn_loc *l, struct err *e);

/*
 * statement.c: the cursor stands in front of the instruction that made `step`, whose origin is o. Adds what the
 * statement used, without names. The cursor stands elsewhere afterwards. No inspect may be open.
 */
int why_statement(struct why *w, struct why_step *step, const struct insn_origin *o, struct err *e);

/* value.c: a value as GDB would print it, of the type that `name` has in the frame of p's statement; malloc'd. */
char *why_text(struct inspect *p, const char *name, const uint8_t value[8], unsigned len, bool pointer);
/* Does the expression mean these bytes in memory, in the frame of p's statement? */
bool why_means(struct inspect *p, const char *expr, const struct insn_loc *l);
/* Fills o's name, text and birth: p is open where its statement stands. */
void why_name(struct inspect *p, struct why_operand *o);

#endif
