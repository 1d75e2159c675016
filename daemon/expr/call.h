/* SPDX-License-Identifier: MIT */
/*
 * call.h: calls into the program without GDB. An expression such as `list_len(head) <= 10` is taken apart
 * once: GDB compiles the arguments, and the rest with each call replaced by an object at an address where
 * nothing can be mapped (CALL_RESULTS). To evaluate, a throw-away copy of the process makes the calls one
 * after the other, held by ptrace; that takes a millisecond, where attaching GDB takes a hundred.
 */
#ifndef FRED_EXPR_CALL_H
#define FRED_EXPR_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent.h"
#include "base/err.h"
#include "expr/compile.h"
#include "expr/locals.h"
#include "gdb/gdb.h"

#define CALL_MAX 8
#define CALL_ARGS 6 /* the number of arguments that are passed in registers */
#define CALL_RESULTS 0x1000ull /* result I is at + I * 16: below vm.mmap_min_addr */

struct call_arg {
	uint8_t *code; /* agent bytecode; NULL: a string */
	size_t len;
	char *string;
};

struct call {
	char *name; /* as the expression has it */
	uint64_t function;
	bool indirect; /* the function returns the address of the one to call (STT_GNU_IFUNC) */
	bool is_virtual; /* it is in the table of virtual functions of the first argument, the object */
	unsigned slot;
	bool floating; /* returns a float or double */
	unsigned nargs, wanted; /* given arguments; the least number that the function takes (0: unknown) */
	struct call_arg arg[CALL_ARGS];
};

struct call_still;

struct calls {
	unsigned n;
	struct call call[CALL_MAX]; /* in the order in which they are made */
	/* The rest of the expression, over the results. */
	uint8_t *code;
	size_t len;
	struct expr_locals locals; /* of arguments and rest */
	struct call_still *still; /* for calls_still; NULL: the functions have to be run */
};

/*
 * Takes text apart in the scope of a place. 0: done, *outer (the caller's) is the rest; calls_fini
 * frees. 1: it has no calls, or calls that only GDB can make (with floating-point arguments, overloaded virtual
 * functions, structs by value ...). -1: GDB failed, or arguments are missing (ERR_USAGE).
 */
int calls_init(struct calls *c, struct gdb *g, const char *text, const struct expr_place *at, char **outer,
	       struct err *e);
void calls_fini(struct calls *c);
/*
 * -1 (ERR_USAGE): text calls a function that the compiler has altered (altered.h), so that a call would return a wrong
 * value; or GDB failed.
 */
int calls_check(struct gdb *g, const char *text, const struct expr_place *at, struct err *e);

/*
 * The value of the whole expression in process pid, a stopped copy with one thread. A call is made when its result is
 * first read: so never, if it is in an operand of && || or ?: that is not evaluated. Afterwards the copy is held by
 * ptrace: its memory can be read, and it must be killed. 0: *s and *out are as from agent_run. 1: a call did not
 * return, and e says why: it crashed, needed or slept timeout_ms (ERR_TIMEOUT), or waits for a lock whose owner does
 * not exist in the copy.
 */
int calls_run(const struct calls *c, pid_t pid, int timeout_ms, enum agent_status *s, struct agent_result *out,
	      struct err *e);

/*
 * The value of the whole expression without running anything: the functions are interpreted (insn/emulate.h) over the
 * memory of pid, which is stopped; out->range: all that was read, also by the functions. 0: if *ended is false, a call
 * faulted, and there is no value; else *s and *out are as from agent_run. 1: the value cannot be found in this way.
 */
int calls_still(const struct calls *c, pid_t pid, bool *ended, enum agent_status *s, struct agent_result *out);
/* The time that is counted for the last calls_still (emulate_cost_ns). */
uint64_t calls_still_cost_ns(const struct calls *c);
/* They are not to be interpreted any more. */
void calls_no_still(struct calls *c);

/*
 * Guards calls that GDB makes in a copy with one thread: a call that waits for another thread's lock would wait for
 * ever, and a call may compute or sleep for longer than limit_ms (overran). In both cases the copy is killed, so that
 * GDB answers, and call_guard_end returns true and says why. GDB evaluates between begin and end, which come in pairs.
 */
struct call_guard {
	pid_t copy;
	uint64_t limit_ns, cpu_from, seen;
	unsigned calls; /* how many may follow the present one, each with a limit of its own */
	uint64_t switches; /* voluntary context switches of the copy at the last check: it waits between two calls */
	uint64_t call_from, slept_ns; /* of this call */
	uint64_t used_ns; /* of the limit, when it was seen */
	bool asleep; /* it was, when it was seen */
	bool ended, overran;
	struct err why;
};
/* limit_ms: of each call; calls: how many there are at most (call_guard_count). */
void call_guard_begin(struct call_guard *c, struct gdb *g, pid_t copy, int limit_ms, unsigned calls);
/* How many calls an expression may make, by its text. */
unsigned call_guard_count(const char *expr);
bool call_guard_end(struct call_guard *c, struct gdb *g, struct err *e);

/*
 * The memory of pid for the bytecode, with the results at CALL_RESULTS. Each call is made when its result is first
 * read.
 */
struct call_memory {
	pid_t pid;
	unsigned n;
	uint64_t result[CALL_MAX];
	bool made[CALL_MAX];
	/* Makes call i. If it returns not 0, the call has no result, and this value becomes `failed`. */
	int (*make)(void *ctx, unsigned i, uint64_t *result);
	void *ctx;
	int failed;
};
int calls_read(void *memory, uint64_t addr, void *out, size_t len);

#endif
