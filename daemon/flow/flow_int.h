/* SPDX-License-Identifier: MIT */
/* flow_int.h: what the files of flow share. flow.c uses flow_memory.c and flow_register.c, and these flow_value.c. */
#ifndef FRED_FLOW_FLOW_INT_H
#define FRED_FLOW_FLOW_INT_H

#include "chain/inspect.h"
#include "flow/flow.h"

struct flow {
	struct explain *x;
	pid_t tid;
	struct insn_loc l; /* where the value is, in the current state */
	uint8_t value[8]; /* the value, little-endian */
	bool pointer;
	uint64_t last; /* the memory that the last step of the chain was written to; 0: none */
	struct timeline_point stored; /* in front of that write; pc 0: none */
	uint8_t was[8]; /* the bytes that this write replaced */
	bool derived; /* since then, something was added to the value */
	bool result; /* the value became the result of a function of libc, in which it was in registers alone */
	bool compared; /* the value is one that was compared, perhaps as a part of a sum */
	bool trial; /* this is one of several ways that are tried; its steps may be dropped */
	uint64_t adds; /* the instruction that last added to the value's register; 0: none */
	bool to_memory; /* the trial ends where the value was read from memory */
	bool number; /* it is an index, or a part of an address: it may be computed from a number */
	bool read_as_pointer; /* the statement that read it from memory names it as a pointer */
	bool dangling; /* it is the address of a variable whose frame was left */
	uint64_t mark; /* flow_stale.c: a word whose writing ends a life of the memory; 0: none */
	bool crossed; /* such a write was met on the way back ... */
	struct timeline_point crossing; /* ... and this is the position in front of the first one; pc 0: not kept */
	uint64_t held; /* the memory that had the value then; 0: none */
	bool ended; /* such a write ends the trial */
};

enum next { FLOW_ON = 0, FLOW_ENDED = 1, FLOW_TURNED = 2 /* f is about another value now */ };

/* Both move back to where the value was before; enum next, or -1. */
int flow_memory(struct flow *f, struct err *e);
int flow_register(struct flow *f, struct err *e);

/* What had set a register, and where the cursor stands. */
enum setter {
	SETTER_ON = 0, /* inside flow_register.c only */
	SETTER_INSN, /* in front of the instruction that set it: regs, origin */
	SETTER_CALL, /* in front of a call that may pass it on; the search goes on from there */
	SETTER_LIBRARY, /* in front of a call of the recorder, which returned it */
	/* in front of a call of the recorder that did not return yet: perhaps an argument of that call */
	SETTER_INSIDE,
	SETTER_BEGIN, /* at the beginning of a function that the recorder called, or of the thread */
	SETTER_LOST, /* given up: x->end says why */
};
struct flow_setter {
	struct user_regs_struct regs;
	struct insn_origin origin;
	unsigned steps;
	uint64_t marked; /* what the word at flow.mark contained */
	/* the place of the return address of the outermost call through whose return the search went back; 0: none */
	uint64_t returned;
	bool far; /* flow_far_back was tried */
};
void flow_setter_begin(struct flow_setter *s);
/* Is the register kept by functions for their callers? */
bool flow_calls_keep(unsigned reg);
/* Are the PC and the general registers the same? */
bool flow_is_same_state(const struct user_regs_struct *a, const struct user_regs_struct *b);
/* f->l is a register: goes back to what set it: enum setter, or -1. Called again after SETTER_CALL, it goes on. */
int flow_to_setter(struct flow *f, struct flow_setter *s, struct err *e);
/*
 * flow_far.c: from inside a function, over any number of instructions, goes back to the last instruction of the
 * function that may have set f->l, to the state after a call that may have, or to the function's entry. kept: calls
 * keep the register. *regs: of that state. 1: not found, and the cursor stands where it stood.
 */
int flow_far_back(struct flow *f, bool kept, struct user_regs_struct *regs, struct err *e);
/*
 * The value existed when its thread began. If it was the thread's argument, goes to the creation of the thread. 0: f->l
 * is what the creator passed. 1: it did not come from there; 2: it was another value: the chain has ended.
 */
int flow_to_creator(struct flow *f, struct err *e);
/* What a function of libc that copies was called with. entry.pc 0: that is not known. */
struct flow_copy {
	struct timeline_point entry; /* in front of its first instruction */
	uint64_t dest, source, len;
};
/* p stands in a function of libc that fills memory. */
bool flow_is_filling(const struct inspect *p);
/* GDB is attached at `here`, in such a function or one that copies. The cursor stands where it stood. */
int flow_copy_at(struct explain *x, const struct timeline_point *here, struct flow_copy *c, struct err *e);

/* Where the object begins that the store i to l was meant for, by the store's registers. 0: not known. */
uint64_t flow_base_of_store(const struct insn *i, const struct insn_loc *l);
/*
 * flow_overrun.c: the array that the statement of p assigns to, if that is what instruction i was meant to write to,
 * whether l is inside it or not.
 */
bool flow_assigned_array(struct inspect *p, const struct insn *i, const struct insn_loc *l, struct object *o);

/*
 * flow_overrun.c: at `at`, the register is the sum of an address that is mapped and a number: *base is the address, 0:
 * it is not so. The cursor stands where it stood.
 */
int flow_base_of_sum(struct flow *f, const struct timeline_point *at, unsigned reg, uint64_t *base, struct err *e);

/*
 * The operand of the instruction at r->rip that reads f->l from memory. by_pointer: only through a register that is not
 * the stack pointer. false: there is none, or it is the recorder's.
 */
bool flow_access(struct flow *f, const struct user_regs_struct *r, bool by_pointer, struct insn_access *a);
/* The bytes at l in the current state; false: they cannot be read. */
bool flow_read(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l, uint8_t v[8]);
bool flow_is_zero(const struct flow *f);
/* The value as text, malloc'd. */
char *flow_text(const struct flow *f, const uint8_t v[8], unsigned len);
/* Continues with the value at `from`; exactly: it must be the same bytes. */
int flow_go_on(struct flow *f, const struct user_regs_struct *r, const struct insn_loc *from, bool exactly);
/*
 * An invalid pointer was made from f->value: was f->value an invalid pointer already? Then making the one from the
 * other explains nothing.
 */
bool flow_was_wrong(const struct flow *f);
/*
 * flow_index.c: `at` is in front of an instruction that reads f->l, which nothing has written since the program began.
 * If the instruction uses an index, that is what is wrong. FLOW_TURNED: f is about the index now; FLOW_ON: it is not,
 * and the program stands at `at`; -1. The program may stand anywhere before.
 */
int flow_turn_to_index(struct flow *f, const struct timeline_point *at, const char *name, struct err *e);
/*
 * flow_index.c: the same, where f->l is read through a pointer and lies in no block of the heap: f is about the pointer
 * then.
 */
int flow_turn_to_pointer(struct flow *f, const struct timeline_point *at, const char *name, struct err *e);
/*
 * flow_birth.c: the last step of the chain has written f->l, which was `was`: notes whether it copied a null pointer to
 * an object.
 */
void flow_note_kept(struct flow *f, bool copies, enum insn_effect effect, const uint8_t was[8]);
/*
 * A constant null pointer was written over a null pointer. If a copy of it in the chain replaced another pointer, the
 * chain ends at that copy: true.
 */
bool flow_begins_empty(struct flow *f);
/*
 * The program stands where the life of the memory begins or ends: at its allocation or free, or the call of `function`
 * ("": none). o: the object that f->l was read from, by an index or not. enum next, or -1.
 */
int flow_at_birth(struct flow *f, const char *name, const char *function, const struct object *o, bool indexed,
		  struct err *e);
/* Nothing has written f->l since the program began: ends the chain with that. */
void flow_never_written(struct flow *f, const char *name);
/*
 * Does the program stand in front of a call? Any other instruction that writes a return address only overwrites a
 * frame, and does not begin one.
 */
bool flow_is_call(struct explain *x);

/* Does the instruction in front of which the program stands read f->l by an index? */
bool flow_is_indexed(struct flow *f);
/* Which of several operands of an address makes it wrong, or is the index. NULL: not known. */
const struct insn_loc *flow_wrong_one(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o);

/* Did the instruction make the value, so that the chain ends there? */
bool flow_is_made(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o);
/* Continues with the operands of the instruction at the PC, whose effect is o: enum next. name: of the value. */
int flow_take_origin(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o, const char *name);
/*
 * latest.c: several values were compared. The chain follows the one that was written last by another thread:
 * FLOW_ENDED. If no other thread wrote any, f becomes the value that was written last: FLOW_TURNED. If not all were
 * read from memory, the chain follows the only one that does not come from a constant: FLOW_ENDED. FLOW_ON: there is
 * none. The cursor stands in front of the instruction, before and, except for FLOW_ENDED, afterwards; -1.
 */
int flow_latest(struct flow *f, const struct insn_origin *o, struct err *e);
/*
 * latest.c: the cursor stands in front of an instruction that computes a value from o. If o was read from the memory to
 * which the value is written, has another thread written there in between? FLOW_ENDED: yes, that write was lost, which
 * is the cause; FLOW_ON: no, and the cursor stands there again; -1.
 */
int flow_lost_update(struct flow *f, const struct insn_origin *o, struct err *e);
/*
 * latest.c: the memory was read at `at` before anything was written to it: does another thread write it later? That is
 * then the cause. 0: it does; 1: it does not; -1. Afterwards the cursor may stand anywhere.
 */
int flow_too_late(struct explain *x, const struct timeline_point *at, uint64_t addr, unsigned len, const char *name,
		  struct err *e);
/*
 * flow_stale.c: the program stands at `at`, in front of an instruction that reads f->l, in memory, through a pointer.
 * Is the pointer older than what is there now, because the block was freed since, or the frame was left? ret: where the
 * return address of the frame lies that has f->l; 0: it is in none. FLOW_ENDED: the chain ends at the free; FLOW_ON:
 * the pointer is not older, and the program stands there again; FLOW_TURNED: f is now about the pointer; -1.
 */
int flow_stale(struct flow *f, const struct timeline_point *at, const struct object *o, uint64_t ret, const char *name,
	       struct err *e);
/* Is the address in an arena of the recorder's heap? */
bool flow_is_heap(uint64_t addr);
/* Is the address on a stack? */
bool flow_is_stack(struct explain *x, uint64_t addr);
/*
 * flow_stale.c: the instruction or call in front of which the program stands writes f->mark: notes it in f->crossed, if
 * it ends a life there. An allocation does not: the free before it does.
 */
int flow_cross(struct flow *f, struct err *e);
/* As flow_last_write; also notes writes of f->mark on the way. f->ended: such a write ends the trial. */
int flow_last_write_or_mark(struct flow *f, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e);
/*
 * flow_given.c: the level of the frame whose statement called a function that only did to the block at `what` what it
 * is for; if there is none, that of the frame that p is about. -1, and p is closed.
 */
int flow_giver_level(struct inspect *p, uint64_t what, int *level, struct err *e);
#define FLOW_NEAR_STEPS 8u /* from a branch back to the comparison */
/* latest.c: goes back to the instruction that set the flags. 0; 1: none was reached; -1. */
int flow_to_comparison(struct explain *x, pid_t tid, struct insn_origin *o, struct err *e);
/* Follows the value as long as it is only copied, and explain_is_over does not end the search. */
int flow_on(struct flow *f, struct err *e);
/* Is the last step of the chain in the same source line as p? */
bool flow_same_line(const struct explain *x, const struct inspect *p);
/* The event of the library call at the PC, in words; malloc'd. NULL: none. */
char *flow_event(struct explain *x);
extern const char *const flow_freeing[], *const flow_allocating[];
bool flow_is_one_of(const char *name, const char *const *names);

#endif
