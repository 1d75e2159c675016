/* SPDX-License-Identifier: MIT */
/*
 * instrument.h: an instrumented replay: the segments of a part of the timeline, one after the other, and for each what
 * its thread did, told to a consumer in the order of execution. The program's memory, addresses and schedule are the
 * recorded ones: all that is reported is observed in copies of the process.
 *
 * Instructions of the program and its libraries are reported. What the recorder does for the program (it calls some
 * functions of libc itself, and writes the outputs of system calls) is not, except for changes of the heap, and for
 * what is called back of the program. Nor are accesses to the stack by push, pop, call and ret.
 */
#ifndef FRED_INSTRUMENT_INSTRUMENT_H
#define FRED_INSTRUMENT_INSTRUMENT_H

#include "base/table.h"
#include "insn/insn.h"
#include "instrument/code.h"
#include "instrument/elements.h"
#include "replay/navigate.h"
#include "rlog/report.h"
#include "segcursor/segcursor_report.h"

/* An instruction that makes accesses or calls. Each is made once, and lives until code has gone: `unmapped`. */
struct instrument_insn {
	uint64_t pc;
	struct insn_shape shape;
	uint32_t mark; /* for the consumer; 0 at first */
	bool changes; /* another instruction may be there in a later segment */
	uint8_t bytes, code[INSN_BYTES]; /* what was read at pc when it was decoded: so many bytes */
	uint64_t segment; /* 1 + the event before the segment in which it was executed last */
	uint64_t hits; /* how often in that one, up to now: the HITS of a position */
};

struct instrument_access {
	struct instrument_insn *insn;
	uint64_t addr, len;
	bool reads, writes;
};

/* A call that has not returned. */
struct instrument_frame {
	uint64_t pc; /* of the call */
	uint64_t sp; /* where its return address stands */
	uint64_t event, hits; /* the position of the call: EVENT/PC#HITS; hits 0: they are not known */
	bool native; /* it has called the recorder, and code of the program was called back from there */
};

struct instrument;

/* What a plain access needs that is told very often: the same instruction, found by the first word of its entry. */
#define INSTRUMENT_QUICK 2048 /* a power of two */
struct instrument_quick {
	uint64_t word; /* 0: none */
	struct instrument_insn *insn;
	int64_t scaled;
	uint32_t bytes;
	bool reads, writes;
};

struct instrument_ops {
	/*
	 * access() is told of these addresses; of others only those by calls, jumps, string instructions and masks. hi
	 * 0: of all.
	 */
	uint64_t lo, hi;
	bool locals; /* access() is told of thread-local variables, too */
	/*
	 * Called before anything else of a segment, or of several of one thread; may be NULL. t: a copy at the event
	 * before it. 0 or -1.
	 */
	int (*begun)(void *ctx, struct instrument *i, struct trace *t, struct err *e);
	/* The functions below may be NULL, too. */
	/*
	 * Code that was mapped has gone: what is known by the address of an instruction is to be forgotten. After this
	 * no struct instrument_insn is valid any more.
	 */
	void (*unmapped)(void *ctx, struct instrument *i);
	/* Called before anything else of each segment. 0 or -1. */
	int (*segment)(void *ctx, struct instrument *i, struct err *e);
	void (*access)(void *ctx, struct instrument *i, const struct instrument_access *a);
	/* This address may be accessed later (far), or soon, or not: to have what is known of it in the processor's
	 * cache by then. */
	void (*soon)(void *ctx, uint64_t addr, bool far);
	/* kind: ALLOC, FREE, RESIZE, ALIGN; a, b: see rlog/report.h; of ALLOC and RESIZE, i->block has
	 * REPORT_BLOCK_.... */
	void (*heap)(void *ctx, struct instrument *i, enum replay_report_kind kind, uint64_t a, uint64_t b);
	void (*call)(void *ctx, struct instrument *i, const struct instrument_insn *insn);
	/* kind: enum rlog_kind; object, value: SYNC of rlog/report.h. A lock is told in front of what is done under it,
	 * and its release after that. */
	void (*sync)(void *ctx, struct instrument *i, unsigned kind, uint64_t object, uint64_t value);
	/* A function of libc, or of the recorder, calls one of the program's, which comes next. */
	void (*calls_back)(void *ctx, struct instrument *i);
	/* Before each instruction that is translated, and what else is told of it; sp: the stack pointer. */
	void (*insn)(void *ctx, struct instrument *i, struct instrument_insn *insn, uint64_t sp);
	/* A call or jump by memory, after the access that reads where it goes; or of the recorder, pc being its
	 * function's. reg: the ARGS of rlog/report.h. Older recorders do not tell it. */
	void (*args)(void *ctx, struct instrument *i, uint64_t pc, const uint64_t reg[REPORT_ARG_REGS]);
	/* Before the return, in translated code, to the address that stands at sp. Without args: never. */
	void (*result)(void *ctx, struct instrument *i, uint64_t sp, uint64_t rax);
	/* With insn, after it: VALUES of rlog/report.h. */
	void (*values)(void *ctx, struct instrument *i, uint64_t operand, uint64_t other);
	/* The same: VECTOR of a first (0) or second (1) source, of ELEMENTS_BYTES. */
	void (*vector)(void *ctx, struct instrument *i, unsigned which, const uint8_t *bytes);
	/* After the access: bytes that an instruction of libc reads; not of all of its instructions.
	 * Older recorders do not tell it. */
	void (*loaded)(void *ctx, struct instrument *i, uint64_t addr, const uint8_t *bytes, size_t n);
	/* The recorder has written to this memory. */
	void (*written)(void *ctx, struct instrument *i, uint64_t addr, uint64_t len);
	/* A system call, or libc for the recorder, reads here. Older recorders do not tell it. */
	void (*read)(void *ctx, struct instrument *i, uint64_t addr, uint64_t len, bool by_libc);
	/*
	 * May be NULL: then access() is told of all accesses in [lo, hi). Else only of those that the shadow that this
	 * has written does not allow, with hits that are not those of the position: see instrument_ask. As the shadow
	 * of segcursor_report.h. Without insn.
	 */
	int (*shadow)(void *ctx, struct instrument *i, pid_t pid, uint64_t at, struct err *e);
	/*
	 * May be NULL: then access() is told of all accesses. Else an access by an instruction of which this says
	 * SEGCUR_NEW is left out if the thread has made it before in the same epoch (rlog/report.h, struct
	 * replay_known). When it would say something else than before, i->report.sorted is to go up. Without insn.
	 */
	enum segcur_sort (*sort)(void *ctx, struct instrument *i, struct instrument_insn *insn);
	/* Answers instrument_ask: the position's pc and hits; id: the caller's. */
	void (*position)(void *ctx, struct instrument *i, size_t id, uint64_t pc, uint64_t hits);
	/* Called after everything else of each segment, which ends with event i->event + 1. 0 or -1. */
	int (*ended)(void *ctx, struct instrument *i, struct err *e);
};

/* The calls that a thread is in. */
struct instrument_stack {
	struct instrument_frame *v; /* the outermost first */
	size_t n, cap;
	uint64_t sp; /* the last one that is known */
};

/* An access whose hits were asked for by instrument_ask. */
struct instrument_question {
	size_t id;
	uint64_t event, steps; /* the first access after so many steps of this segment... */
	uint64_t pc, operand; /* ... by this instruction, with this word in its entry */
	bool answered;
};

struct instrument {
	const struct instrument_ops *ops;
	void *ctx;
	const char *progress; /* a consumer may set this: text of the progress that instrument_run shows */
	struct op_ctx *op; /* of the nav: asked whether to cancel; may be NULL */
	/* where it is */
	uint64_t event; /* before the segment */
	uint32_t thread; /* ordinal */
	struct visibility visibility; /* of the process: where libc and the loader are */
	struct instrument_stack *stack; /* of that thread */
	const struct segcur *in; /* while ops->begun is called */
	uint64_t fs; /* with ops->locals: the base of FS */
	unsigned block; /* see ops->heap */
	/* a consumer may set this: nothing more is told but the segment's end; so it is after report.most accesses */
	bool enough;
	/* counts, over all */
	uint64_t accesses, irregular; /* irregular: not told, for it is not known what they access */
	struct segcur_report report;
	struct code code;
	/* its own */
	struct instrument_stack *stacks; /* by ordinal */
	struct table insns; /* of struct instrument_insn */
	struct instrument_insn *last; /* the one that was told last; NULL: none */
	struct instrument_quick *quick; /* INSTRUMENT_QUICK of them */
	struct instrument_insn *string; /* begun, and its registers */
	uint64_t rdi, rsi, mask, rax;
	struct elements elements; /* of the access that comes next */
	uint64_t loads; /* the address of what is told next of what an instruction loads */
	bool has_rax;
	bool insns_told;
	bool sees_code; /* other code may be mapped than before: see_code */
	uint64_t operand; /* of the last entry of an access */
	uint64_t steps; /* in this segment: calls, returns and changes of the heap that had entries */
	uint64_t none; /* and calls and returns that had none, up to the last STANDS */
	struct instrument_question *question; /* REPORT_ONLY_MAX */
	size_t questions;
	uint64_t lost; /* as of the report, when the copy began */
	struct { /* while the copy's segments are told once more */
		bool on;
		uint64_t from; /* their beginning */
		uint64_t event, steps;
		uint64_t pc[REPORT_ONLY_MAX], hits[REPORT_ONLY_MAX];
		size_t n;
	} again;
	bool between; /* nothing of this segment has been told yet */
	struct shim_frames shim_frames;
	struct trace *t;
};

/* Are hits, as they are now, those of positions? Not after entries of this copy were lost. */
static inline bool instrument_has_hits(const struct instrument *i)
{
	return i->report.lost == i->lost;
}

/*
 * *p: the position of the instruction that is told, or, where that is in libc or in the loader, of the call in the
 * program that led there: the recorder calls functions of libc, too, so that passes there are not counted as a user's
 * position counts them. pc 0: the event alone is known.
 */
void instrument_here(const struct instrument *i, const struct instrument_insn *x, struct timeline_point *p);

/*
 * In access(): the hits of this access are wanted. true: they are right already. false: ops->position tells them before
 * anything of the next copy is told, or instrument_run returns; or it does not, and they are not known: there are too
 * many questions, the second copy did not come to this access, or entries were lost.
 */
bool instrument_ask(struct instrument *i, const struct instrument_insn *x, size_t id);

void instrument_init(struct instrument *i, const struct instrument_ops *ops, void *ctx);
void instrument_fini(struct instrument *i);

/*
 * The segments from event `from` to event `to`; the process stands at `to` afterwards, or is on its way there. When a
 * consumer has enough, it ends earlier.
 */
int instrument_run(struct instrument *i, struct nav *nav, uint64_t from, uint64_t to, struct err *e);

#endif
