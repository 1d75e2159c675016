/* SPDX-License-Identifier: MIT */
/*
 * emulate.h: what a function of a stopped process would return, without running it: its instructions are interpreted,
 * some 50 ns each, over the process's memory as it stands; what they write stays here. It knows the integer
 * instructions and plain copies through vector registers (Intel's manual, volume 2), and refuses the rest: then the
 * function has to be run. What it read is reported, since those words decide its value.
 */
#ifndef FRED_INSN_EMULATE_H
#define FRED_INSN_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMULATE_PAGE 4096u
#define EMULATE_ARGS 6
#define EMULATE_STEPS 200000u /* instructions of one call */

enum emulate_end {
	EMULATE_DONE = 0,
	EMULATE_FAULT, /* it accesses memory that is not mapped */
	EMULATE_REFUSED, /* an instruction that is not known here, thread-local memory, or more than EMULATE_STEPS */
};

struct emulate_ops {
	/* Reads the page at addr. 0, or -1: it cannot be read. */
	int (*page)(void *ctx, uint64_t addr, uint8_t out[EMULATE_PAGE]);
	/* The function has read these bytes, which are there, and not of its own stack. */
	void (*has_read)(void *ctx, uint64_t addr, unsigned len);
};

struct emulate;

/* NULL ops->has_read: not told. The caller frees with emulate_free, which takes NULL. */
struct emulate *emulate_new(const struct emulate_ops *ops);
void emulate_free(struct emulate *m);

/*
 * Forgets the memory that calls have seen and written: the process is in another state. ctx is for the ops, from now
 * on.
 */
void emulate_begin(struct emulate *m, void *ctx);
/* Puts a string onto the calls' stack, which is where no process has memory. Its address; 0: it is too long. */
uint64_t emulate_string(struct emulate *m, const char *s);
/* Calls a function with these arguments. *result: rax, with EMULATE_DONE. */
enum emulate_end emulate_call(struct emulate *m, uint64_t function, const uint64_t arg[EMULATE_ARGS], uint64_t *result);
/* About how long the calls since emulate_begin take on an idle machine, by the number of their instructions and pages.
 */
uint64_t emulate_cost_ns(const struct emulate *m);
/* Memory as the calls have left it, for their caller. 0 or -1: it cannot be read. */
int emulate_read(struct emulate *m, uint64_t addr, void *out, size_t len);

#endif
