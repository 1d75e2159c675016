/* SPDX-License-Identifier: MIT */
/*
 * failure.h: the kinds of failure, and what their files share: the failure in words, going to the call that failed, and
 * adding the step for it.
 */
#ifndef FRED_EXPLAIN_FAILURE_H
#define FRED_EXPLAIN_FAILURE_H

#include "chain/inspect.h"
#include "explain/condition_search.h"

/* From the recorded event (siginfo_t). */
struct failure_fault {
	int sig, code;
	uint64_t addr, pc;
};

/* fault.c, aborted.c, exited.c: the program stands at its end. */
int failure_fault(struct explain *x, const struct failure_fault *f, struct err *e);
int failure_abort(struct explain *x, struct err *e);
int failure_exit(struct explain *x, struct err *e);
/* jump.c: it went to an address without code. */
int failure_jump(struct explain *x, const struct failure_fault *f, struct err *e);
/* thrown.c: std::terminate was called, perhaps for an exception. */
int failure_exception(struct explain *x, struct err *e);

/*
 * smashed.c: a function found its canary overwritten: __stack_chk_fail was called. The program stands at its end.
 */
int failure_smashed(struct explain *x, struct err *e);
/*
 * The program stands at a return to an invalid address, and the chain has that step: finds what overwrote the return
 * address, which is at `slot`.
 */
int failure_overwritten_return(struct explain *x, uint64_t slot, struct err *e);

/*
 * broken.c: malloc or free found the heap damaged, and the chain has that step: finds what overwrote malloc's own data
 * in the arena of addr. 0: the chain ends at that write, or x->end says why it is not found; 1: nothing is damaged, and
 * the program stands where it stood; -1.
 */
int failure_broken_heap(struct explain *x, uint64_t addr, struct err *e);

/*
 * mapping.c: memory cannot be accessed, and the chain has the failure: has the program unmapped or protected it? 0:
 * yes, the chain ends at that call; 1: no, and the program stands at its failure; -1.
 */
int failure_taken_away(struct explain *x, uint64_t addr, bool writes, struct err *e);
/* The same for a SIGBUS: was the mapped file shortened so that it ends before the address? */
int failure_cut_off(struct explain *x, uint64_t addr, struct err *e);

/* The failure in words. */
void failure_set_kind(struct explain *x, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Moves back to the last entry of one of these functions. 0; 1: there is none, and it stands at its failure; -1. */
int failure_to_entry(struct explain *x, const char *const *functions, struct err *e);
/* Makes the current state the failure's. */
int failure_is_here(struct explain *x, struct err *e);
/*
 * A step at the last change of a block's header, its allocation or its free: "the block was WHAT here, by FUNCTION",
 * and `more`. 0; 1: there is none; -1.
 */
int failure_tell_block(struct explain *x, uint64_t header, enum step_role role, const char *what, const char *more,
		       struct err *e);
/*
 * If the failure is in something that a function of the recorder called, the program's call of that function becomes
 * the failure's state.
 */
int failure_to_shim_call(struct explain *x, struct err *e);
/* Adds the failure's step at the current state. p is opened; close it in any case. */
int failure_tell(struct explain *x, struct inspect *p, struct err *e);
/* The level of the innermost frame, from `level` outwards, that has source; -1: none. */
int failure_with_source(const struct inspect *p, int level);
/* 8 bytes of memory, 0 where there is none. */
uint64_t failure_word(struct explain *x, uint64_t addr);
/* What a register, as r has it, or the 8 bytes of memory at l hold. */
uint64_t failure_value(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l);
/* The string there, malloc'd; NULL: there is none, or it is empty. */
char *failure_text(struct explain *x, uint64_t addr);

/*
 * returned.c: the chain has followed a pointer to nothing that a function of the program's returned. Since which
 * statement does that function return nothing? The end of the chain is as it was if that is not known.
 */
int failure_returned(struct explain *x, struct err *e);

/*
 * setter.c: the argument at *s in the text of a call, malloc'd; *s is then at the comma or the closing bracket. NULL:
 * the argument has brackets or quotes in it.
 */
char *failure_next_argument(const char **s);
/*
 * setter.c: the chain has ended. If the value was set by a function whose only purpose that is, adds a step for its
 * call.
 */
int failure_setter(struct explain *x, struct err *e);
/* A variable that a condition compared with a constant. */
struct compared_place {
	uint64_t addr; /* 0: there is none */
	unsigned len;
	char *name, *frozen; /* in the condition, and with the variables of its frame replaced; malloc'd */
	char *value; /* GDB's, at the failure; malloc'd */
};
/* expr: the condition, of a frame of p. compared_place_fini frees. */
void failure_compared_place(struct inspect *p, int level, const char *expr, struct compared_place *out);
void compared_place_fini(struct compared_place *c);
/*
 * The chain ended at what turned the condition, which is false at `bad`. If the variable was set to another constant
 * after that, the check found that constant: adds that step. 0; -1. The cursor may stand anywhere afterwards.
 */
int failure_set_later(struct explain *x, const struct compared_place *c, const char *bad, struct err *e);
/* An array of characters without a null, which a condition passes to a function of libc that takes a string. */
struct unterminated {
	uint64_t addr;
	unsigned len;
	char *name; /* malloc'd; NULL: there is none */
};
/* expr: the condition, of a frame of p. The caller frees the name. */
void failure_unterminated(struct inspect *p, int level, const char *expr, struct unterminated *out);
/* As failure_set_later: if what turned the condition is not the statement that filled the array, adds that. */
int failure_tell_unterminated(struct explain *x, const struct unterminated *t, const char *bad, struct err *e);

/*
 * because.c: why the statement of a frame was executed, by the `if` around it. p is open at that state, and is closed
 * here. called: the program stands at the entry of a function that the statement calls. 0: a cause was found; 1: none;
 * -1.
 */
int because_of_condition(struct explain *x, struct inspect *p, int level, bool called, enum condition_of of,
			 struct err *e);
/*
 * The same for a branch in the frame's own line, as an assertion has one. begins: the search for its condition has
 * returned CONDITION_BEGINS.
 */
int because_of_line(struct explain *x, struct inspect *p, int level, bool begins, struct err *e);
/*
 * Is the condition, which is false, about what the loop around the statement of a frame counts? Then searches for why
 * the loop went on. p is open. 0: found, p is closed; 1: it is not, or that is not known: p is open, perhaps opened
 * again; -1.
 */
int because_of_count(struct explain *x, struct inspect *p, int level, const char *expr, struct err *e);
/*
 * Back in the function to the branch in the lines of the condition, passing over what the function called. 0: there; 1:
 * none was reached; -1.
 */
int because_to_branch(struct explain *x, const struct condition *c, struct err *e);
/*
 * The chain ended at a counter that a loop had made too large: finds where the loop's bound came from. If that is not
 * known, the end of the chain stays as it was.
 */
int because_of_bound(struct explain *x, struct err *e);
/*
 * guard.c: the chain ended at a write past the end of an object: finds the comparison that let it through. If there is
 * none, the end of the chain stays as it was.
 */
int because_of_guard(struct explain *x, struct err *e);
/*
 * For a chain that ended at its first step: the origin of the value is no explanation then, so searches for the
 * condition under which the statement was executed.
 */
int because_here(struct explain *x, struct err *e);
/* The number of the last event of a thread before event n, at least 1; or of all. 0: it has none. */
uint64_t failure_event_before(struct explain *x, uint32_t thread, uint64_t n);
uint64_t failure_last_event(struct explain *x, uint32_t thread);

#endif
