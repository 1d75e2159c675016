/* SPDX-License-Identifier: MIT */
/*
 * emulate.h: what a function of a stopped process would return, without running it: its instructions are interpreted,
 * some 50 ns each, over the process's memory as it is; what they write is only kept here. The integer instructions and
 * plain copies through vector registers are known (Intel's manual, volume 2); others are refused: then the function
 * must be run. All that was read is reported, since these words determine the value.
 */
#ifndef FRED_INSN_EMULATE_H
#define FRED_INSN_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMULATE_PAGE 4096u
#define EMULATE_ARGS 6
#define EMULATE_STEPS 200000u /* the most instructions of one call */

enum emulate_end {
	EMULATE_DONE = 0,
	EMULATE_FAULT, /* it accesses memory that is not mapped */
	EMULATE_REFUSED, /* an instruction that is not known here, thread-local memory, or more than EMULATE_STEPS */
};

struct emulate_ops {
	/* Reads the page at addr. 0, or -1: it cannot be read. */
	int (*page)(void *ctx, uint64_t addr, uint8_t out[EMULATE_PAGE]);
	/* The function has read these bytes, which are mapped, and are not on its own stack. */
	void (*has_read)(void *ctx, uint64_t addr, unsigned len);
};

struct emulate;

/* ops->has_read NULL: reads are not reported. The caller frees with emulate_free, which takes NULL. */
struct emulate *emulate_new(const struct emulate_ops *ops);
void emulate_free(struct emulate *m);

/*
 * Forgets the memory that earlier calls have read and written, for another state of the process. ctx is passed to the
 * ops from now on.
 */
void emulate_begin(struct emulate *m, void *ctx);
/*
 * Puts a string onto the stack of the calls, at addresses where no process has memory. Returns its address; 0: it is
 * too long.
 */
uint64_t emulate_string(struct emulate *m, const char *s);
/* Calls a function with these arguments. *result: rax, with EMULATE_DONE. */
enum emulate_end emulate_call(struct emulate *m, uint64_t function, const uint64_t arg[EMULATE_ARGS], uint64_t *result);
/* About how long the calls since emulate_begin take on an idle machine, by the number of their instructions and pages.
 */
uint64_t emulate_cost_ns(const struct emulate *m);
/* Memory as the calls have left it, for their caller. 0 or -1: it cannot be read. */
int emulate_read(struct emulate *m, uint64_t addr, void *out, size_t len);

#endif
