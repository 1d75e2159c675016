/* SPDX-License-Identifier: MIT */
/*
 * explain.h: from a failure back to its cause, without an expression. The program is brought to its failure, which is told apart by
 * how it ended and by the functions of libc on its stack (failure.h); what was wrong there is searched: an expression that the
 * program itself has checked by reverse-watch (condition.h), a value by following it back from instruction to
 * instruction (flow.h). Each step of the chain is a state in which the program stood; nothing is claimed that was not seen there.
 *
 * The folder stands above daemon/debug, whose cursor.h moves the program through time.
 */
#ifndef FRED_EXPLAIN_EXPLAIN_H
#define FRED_EXPLAIN_EXPLAIN_H

#include <jansson.h>

#include "base/buf.h"
#include "base/str.h"
#include "timetravel/cursor.h"
#include "explain/chain.h"
#include "gdb/gdb.h"
#include "insn/insn.h"
#include "reclog/procs.h"
#include "replay/navigate.h"
#include "replay/operation.h"

struct explain {
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
	bool no_code; /* it stands at the end, at a PC without code, or for another reason in a state that is not met again by its PC */
	struct chain_failure failure;
	struct chain chain;
	struct strv notes;
	json_t *threads; /* as in fredctl(1); NULL: not shown */
	uint64_t memory; /* where a value was followed to last; 0: to none */
	enum chain_end end;
	char *end_text;
	bool found; /* the chain leads to a cause */
	unsigned depth; /* steps at most */
	double until; /* clock_s() after which nothing more is begun */
};

/* The chain ends here. The first call counts. */
void explain_end(struct explain *x, enum chain_end end, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As explain_end, whatever was said before. */
void explain_end_instead(struct explain *x, enum chain_end end, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void explain_note(struct explain *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * A step back has failed: is it one that has taken too long, or a state that the debugger could not find again? Then what was found so
 * far holds. The program stands nowhere any more.
 */
bool explain_may_go_on(struct explain *x, const struct err *e);
/* Is there neither time nor room for a further step? Then the chain ends, and says so. */
bool explain_is_over(struct explain *x);
/* The program stands at its failure again. */
int explain_goto_failure(struct explain *x, struct err *e);
/* Registers of the thread that the program stands at. */
int explain_regs(struct explain *x, pid_t tid, struct user_regs_struct *r, struct err *e);
/* The instruction at its PC: code has room for INSN_BYTES. */
int explain_insn(struct explain *x, const struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e);

#endif
