/* SPDX-License-Identifier: MIT */
/* flow_int.h: what the files of flow share. */
#ifndef FRED_EXPLAIN_FLOW_INT_H
#define FRED_EXPLAIN_FLOW_INT_H

#include "explain/flow.h"
#include "explain/inspect.h"

struct flow {
	struct explain *x;
	pid_t tid;
	struct insn_loc l; /* where the value is, in the state in which the travel stands */
	uint8_t value[8]; /* of it, little-endian */
	bool pointer;
	uint64_t last; /* the memory whose writing was told last; 0: none */
	bool derived; /* since then, something was added to the value */
};

enum next { FLOW_ON = 0, FLOW_ENDED = 1 };

/* Both: from where the value is to where it was before; enum next, or -1. */
int flow_memory(struct flow *f, struct err *e);
int flow_register(struct flow *f, struct err *e);

/* The bytes at a place, in the state in which the travel stands; false: they cannot be read. */
bool flow_read(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l, uint8_t v[8]);
/* As a user reads it, malloc'd. */
char *flow_text(const struct flow *f, const uint8_t v[8], unsigned len);
/* The value comes from there; exactly: it must be the same bytes. */
int flow_go_on(struct flow *f, const struct user_regs_struct *r, const struct insn_loc *from, bool exactly);
/* Does the chain end at the instruction, since it made the value? */
bool flow_is_made(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o);
/* What an instruction, in front of which it stands, makes of its operands: enum next. */
int flow_take_origin(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o, const char *name);
/* Is the last step of the chain at the statement of p? */
bool flow_same_line(const struct explain *x, const struct inspect *p);
/* The event that a call of the library makes here, in words; malloc'd. NULL: none. */
char *flow_event(struct explain *x);
extern const char *const flow_freeing[], *const flow_allocating[];
bool flow_is_one_of(const char *name, const char *const *names);

#endif
