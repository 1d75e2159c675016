/* SPDX-License-Identifier: MIT */
/*
 * flow.h: where a value came from. Follows it back over loads, stores and moves, as long as these only
 * copied it or added constants, to the statement that made it.
 */
#ifndef FRED_FLOW_FLOW_H
#define FRED_FLOW_FLOW_H

#include "chain/explain.h"
#include "chain/inspect.h"

/*
 * The program stands in thread tid, where the value is at l. Adds steps to the chain and sets why it ends. pointer: the
 * value is an address, or was meant to be one. -1: the replay failed.
 */
int flow_follow(struct explain *x, pid_t tid, const struct insn_loc *l, bool pointer, struct err *e);
/* The same for an index, or a part of an address. */
int flow_follow_index(struct explain *x, pid_t tid, const struct insn_loc *l, struct err *e);
/* The same for the value that the instruction at the PC writes to memory; the chain has that step already. */
int flow_follow_write(struct explain *x, pid_t tid, struct err *e);
/*
 * Moves back to the state before the last write to [addr, addr + len), at most 8 bytes, or, if that is later, to the 8
 * bytes at `birth`, whose writing begins the life of the object (0: none); *is_birth then. 1: nothing was written since
 * the program began; 2: given up, the chain has ended.
 */
int flow_last_write(struct explain *x, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e);
/*
 * The program stands at a branch that decides whether a loop goes on: follows what the loop's counter was compared
 * with. 0: the chain has ended; 1: that is not known, or a constant; -1.
 */
int flow_follow_bound(struct explain *x, pid_t tid, struct err *e);
/*
 * The program stands at a branch. Does it depend on two values that were read from the same memory, which is not on a
 * stack, at two times, without a write in between? 1: *place is the memory; 0: no, or that is not known; -1. Moves the
 * cursor.
 */
int flow_compares_with_itself(struct explain *x, pid_t tid, struct insn_loc *place, struct err *e);
/*
 * The same, where the program stands at a call, of the first branch after that: the compiler leaves out a test in front
 * of a loop of whose result it is certain.
 */
int flow_will_compare_with_itself(struct explain *x, pid_t tid, struct insn_loc *place, struct err *e);
/* The same for the last write to any of n places, at most 4: *which of them it was. */
int flow_last_write_of(struct explain *x, const struct insn_loc *l, unsigned n, unsigned *which, struct err *e);

/*
 * flow_overrun.c: the instruction at `at`, of the statement at `location`, has written to l, and meant `object`. Where
 * the compiler has made one store of several statements, that statement does not name the object: adds the one that
 * made the value, if it assigns to the object. The cursor may stand anywhere afterwards.
 */
int flow_tell_assignment(struct explain *x, const struct timeline_point *at, const json_t *location,
			 const struct insn_loc *l, const char *object, struct err *e);

/* A call that has not returned. */
struct flow_call {
	char function[128];
	bool inlined; /* the compiler has put the function into its caller */
	/* the stack pointer after its return; 0: the call is over, and the same function was called again */
	uint64_t cfa;
	uint64_t pc;
	int line; /* in the caller */
};
#define FLOW_CALLS 24u
/* The calls in which a block was freed. */
struct flow_stack {
	struct flow_call calls[FLOW_CALLS];
	unsigned n;
};
/* The calls from the frame that p is about outwards. */
void flow_calls(struct inspect *p, struct flow_stack *out);
/* Is one of them the same call, as far as the stacks tell? */
bool flow_has_call(const struct flow_stack *calls, const struct flow_call *call);
/*
 * flow_given.c: p stands where the block that begins at `what` is freed, or where a null pointer is written to the
 * variable at `what`. If the functions that did this did it only to what they were given, adds a step for the statement
 * that called the outermost of them. second: the calls at another free of the same block, else NULL: a call that is in
 * both has done more than it was given to do. 1; 0: there is none; -1, and p is closed.
 */
int flow_tell_giver(struct inspect *p, uint64_t what, bool block, const struct flow_stack *second, struct err *e);
/* Is `name` an argument of the function in that frame? */
bool flow_has_argument(struct inspect *p, int level, const char *name);
/*
 * Is `name` an argument of the function in that frame, and does nothing but the function's arguments decide that its
 * statement is reached?
 */
bool flow_does_to(struct inspect *p, int level, const char *name);
/*
 * flow_count.c: p stands where the block o is freed. Was it freed because a reference count in it became 0, and did a
 * call drop more references than it had taken, unlike earlier calls of its function? Then adds a step for the drop that
 * was one too many: 1. 0: that is not known, and p is open again, at the free; -1, and p is closed. held: memory, not
 * on a stack, that had a pointer to the block after the free, or 0. If each call has dropped what it had taken, the
 * step is about the call that copied the pointer to there from another object without taking a reference.
 */
int flow_tell_count(struct inspect *p, const struct object *o, uint64_t held, struct err *e);
/* flow_history.c: notes the variables that the condition compares, of a frame of p, for flow_lost_before. */
void flow_note_compared(struct inspect *p, int level, const char *expr);
/*
 * Did the instruction at `at` write to the place a value that was made from an earlier value of the place, perhaps by
 * way of variables on the stack, and not from the value that the place had just before; and are there several threads?
 * The cursor may stand anywhere afterwards.
 */
bool flow_is_stale(struct explain *x, const struct insn_loc *place, const struct timeline_point *at,
		   const uint8_t was[8]);
/*
 * The chain has ended. If before that a variable that was noted lost a thread's update, the chain leads there instead;
 * else it stays as it was. 0; -1. The cursor may stand anywhere afterwards.
 */
int flow_lost_before(struct explain *x, struct err *e);
/*
 * As inspect_look_past, but also past functions whose only argument is `what`, even where GDB does not know their
 * arguments. -1, and p is closed.
 */
int flow_look_past(struct inspect *p, uint64_t what, struct err *e);

#endif
