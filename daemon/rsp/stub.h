/* SPDX-License-Identifier: MIT */
/*
 * stub.h: the remote side of GDB's remote serial protocol, with reverse execution (`bs`, `bc`), over a vtable.
 * See the GDB manual, "Packets", "Stop Reply Packets", "General Query Packets".
 */
#ifndef FRED_RSP_STUB_H
#define FRED_RSP_STUB_H

#include "rsp/packet.h"
#include "rsp/regs.h"

enum rsp_resume { RSP_CONTINUE, RSP_STEP, RSP_BACK_CONTINUE, RSP_BACK_STEP };
enum rsp_why { RSP_STEPPED, RSP_ELSEWHERE, RSP_BREAKPOINT, RSP_WATCHPOINT, RSP_SIGNALLED, RSP_BEGIN, RSP_END, RSP_EXITED, RSP_DIED, RSP_EXECED,
	       RSP_SYSCALL, RSP_LIBRARY /* the list of libraries may have changed; the debugger goes on */ };
/* As the Z packets number them. */
enum rsp_point { RSP_SW_BREAK, RSP_HW_BREAK, RSP_WRITE, RSP_READ, RSP_ACCESS };

/* Of a breakpoint, as agent expression bytecode: it stops when one of them is true, or there are none. */
#define RSP_CONDITIONS_MAX 16
struct rsp_conditions {
	unsigned n;
	struct {
		const uint8_t *code;
		size_t len;
	} v[RSP_CONDITIONS_MAX];
};

struct rsp_stop {
	enum rsp_why why;
	int tid;
	int sig; /* RSP_SIGNALLED, RSP_DIED: as GDB numbers them; RSP_EXITED: the exit code */
	uint64_t addr; /* RSP_WATCHPOINT; RSP_SYSCALL: the number of the call that comes next */
	enum rsp_point point;
	bool jumped; /* a command of fred's has moved it, whichever thread the debugger resumed */
};

#define RSP_THREADS_MAX 8192

/* The program. Functions that return int: 0, or -1 with e set. */
struct rsp_ops {
	/* Names (TIDs, mostly) of the threads; how many. */
	unsigned (*threads)(void *ctx, int *tids, unsigned max);
	/* Why a listed thread has no registers ("has ended"); NULL: it has. May be NULL itself: all have. */
	const char *(*absent)(void *ctx, int tid);
	/* A name for the list of threads; "" if it has none. */
	void (*thread_name)(void *ctx, int tid, char *buf, size_t size);
	int (*regs)(void *ctx, int tid, struct rsp_regs *r, struct err *e);
	/*
	 * Takes these registers, and memory, for what the program has: in a copy that is thrown away when it moves. 1: `relay` is to
	 * be asked again, and does.
	 */
	int (*set_regs)(void *ctx, int tid, const struct rsp_regs *r, struct err *e);
	int (*write)(void *ctx, uint64_t addr, const void *data, size_t len, struct err *e);
	/* How many bytes could be read from addr on. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* 1: not of this kind, or not so many. Setting one again gives it other conditions. */
	int (*set_point)(void *ctx, enum rsp_point p, uint64_t addr, unsigned len, bool on,
			 const struct rsp_conditions *c, struct err *e);
	/* tid: which steps; of a step back 0: the debugger does not say. */
	int (*resume)(void *ctx, enum rsp_resume how, int tid, struct rsp_stop *stop, struct err *e);
	/* The whole of an object: "auxv", "exec-file", "siginfo" (-1: no signal stopped it). 1: there is none of that name. */
	int (*object)(void *ctx, const char *name, struct buf *out, struct err *e);
	/* A command of fred's own; its text goes to the user. */
	int (*monitor)(void *ctx, const char *command, struct buf *out, struct err *e);
	/* Runs the program anew: back to its beginning. args: those of vRun, undecoded; "" for R. */
	int (*restart)(void *ctx, const char *args, struct rsp_stop *stop, struct err *e);
	/* One of the program's files, to be read: a descriptor (the caller closes it), or a negative error number. */
	int (*open_file)(void *ctx, const char *path);

	/* From now on these signals, as GDB numbers them, are no stops; NULL: all are. */
	void (*pass_signals)(void *ctx, const int *sigs, unsigned n);
	/* When it is let go of or killed, only these signals are for the program, as GDB numbers them. NULL: it is not told. */
	void (*program_signals)(void *ctx, const int *sigs, unsigned n);
	/* From now on these calls of the kernel are stops (n 0: all), or none are. NULL: they cannot be. */
	void (*catch_calls)(void *ctx, bool on, const int *nr, unsigned n);
	/* The next resume lets the thread go with this signal, as GDB numbers them. */
	void (*signal)(void *ctx, int tid, int sig);

	/* A symbol of the program's, and where the debugger says that it is (again with each library). NULL: none is of interest. */
	const char *symbol_wanted;
	void (*symbol)(void *ctx, const char *name, uint64_t addr);

	/* Of a program that really runs; NULL for a recorded one: */

	int (*kill)(void *ctx, struct err *e);
	/* For the next restart: "NAME=VALUE", or "NAME": without that one; NULL: the environment as it was at first. */
	void (*set_env)(void *ctx, const char *variable);
	/* ... and in which folder; "": as at first. */
	void (*set_cwd)(void *ctx, const char *dir);
	int (*detach)(void *ctx, struct err *e);
	/* A packet before it is answered here. 1: somebody else has, *answer is what to send; 0; -1 with e set. */
	int (*relay)(void *ctx, const char *packet, struct buf *answer, struct err *e);
};

/*
 * Answers a debugger until it detaches or closes: 0, or -1 with e set. first: how the program stands; tid 0: there is none yet. While `resume`
 * runs it may ask rsp_interrupted(c).
 */
int rsp_serve(struct rsp_conn *c, const struct rsp_ops *ops, void *ctx, const struct rsp_stop *first,
	      struct err *e);

#endif
