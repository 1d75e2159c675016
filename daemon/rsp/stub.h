/* SPDX-License-Identifier: MIT */
/*
 * stub.h: the server side of GDB's remote serial protocol, with reverse execution (`bs`, `bc`), over a
 * vtable. See the GDB manual, "Packets", "Stop Reply Packets", "General Query Packets".
 */
#ifndef FRED_RSP_STUB_H
#define FRED_RSP_STUB_H

#include "rsp/packet.h"
#include "rsp/regs.h"

enum rsp_resume { RSP_CONTINUE, RSP_STEP, RSP_BACK_CONTINUE, RSP_BACK_STEP };
enum rsp_why {
	RSP_STEPPED,
	RSP_ELSEWHERE,
	RSP_BREAKPOINT,
	RSP_WATCHPOINT,
	RSP_SIGNALLED,
	RSP_BEGIN,
	RSP_END,
	RSP_EXITED,
	RSP_DIED,
	RSP_EXECED,
	RSP_SYSCALL,
	RSP_LIBRARY /* the list of libraries may have changed; the debugger resumes the program */
};
/* As the Z packets number them. */
enum rsp_point { RSP_SW_BREAK, RSP_HW_BREAK, RSP_WRITE, RSP_READ, RSP_ACCESS };

/* Conditions of a breakpoint, as agent expression bytecode: it stops if one of them is true, or if there are none. */
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
	bool jumped; /* a monitor command has moved the program, whichever thread the debugger resumed */
};

#define RSP_THREADS_MAX 8192

/* The program, for the stub. Functions that return int: 0, or -1 with e set. */
struct rsp_ops {
	/* Lists the threads by the numbers that the debugger is to see (mostly TIDs). Returns how many. */
	unsigned (*threads)(void *ctx, int *tids, unsigned max);
	/* Why a listed thread has no registers ("has ended"); NULL: it has some. The function may be NULL: all threads
	 * have. */
	const char *(*absent)(void *ctx, int tid);
	/* A name for the list of threads; "" if it has none. */
	void (*thread_name)(void *ctx, int tid, char *buf, size_t size);
	int (*regs)(void *ctx, int tid, struct rsp_regs *r, struct err *e);
	/*
	 * Changes registers, or memory, in a copy of the program that is dropped when the program moves. 1: the packet
	 * is to be given to `relay` again, which executes it.
	 */
	int (*set_regs)(void *ctx, int tid, const struct rsp_regs *r, struct err *e);
	int (*write)(void *ctx, uint64_t addr, const void *data, size_t len, struct err *e);
	/* Reads memory from addr on; returns how many bytes could be read. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* 1: this kind, or this number, is not supported. Setting one again replaces its conditions. */
	int (*set_point)(void *ctx, enum rsp_point p, uint64_t addr, unsigned len, bool on,
			 const struct rsp_conditions *c, struct err *e);
	/*
	 * Called before each resume: RSP_STEP continues while the thread is in [lo, hi), and nothing else stops it; lo
	 * == hi: it is a step of one instruction. NULL: steps are always of one instruction.
	 */
	void (*step_range)(void *ctx, uint64_t lo, uint64_t hi);
	/* tid: the thread that steps; 0 for a step back if the debugger does not say. */
	int (*resume)(void *ctx, enum rsp_resume how, int tid, struct rsp_stop *stop, struct err *e);
	/* The whole of an object: "auxv", "exec-file", "siginfo" (-1: no signal stopped it). 1: there is none of that
	 * name. */
	int (*object)(void *ctx, const char *name, struct buf *out, struct err *e);
	/* A `monitor` command; its text goes to the user. */
	int (*monitor)(void *ctx, const char *command, struct buf *out, struct err *e);
	/* Runs the program again from its beginning. args: the arguments of vRun, not decoded; "" for R. */
	int (*restart)(void *ctx, const char *args, struct rsp_stop *stop, struct err *e);
	/* Opens one of the program's files for reading: a descriptor, which the caller closes, or a negative error
	 * number. */
	int (*open_file)(void *ctx, const char *path);

	/* From now on these signals (GDB's numbers) do not stop the program. NULL: all stop it. */
	void (*pass_signals)(void *ctx, const int *sigs, unsigned n);
	/* Only these signals (GDB's numbers) are delivered to the program. NULL: not of interest. */
	void (*program_signals)(void *ctx, const int *sigs, unsigned n);
	/* From now on these system calls stop the program (n 0: all), or none does. NULL: not supported. */
	void (*catch_calls)(void *ctx, bool on, const int *nr, unsigned n);
	/* The next resume delivers this signal (GDB's number) to the thread. */
	void (*signal)(void *ctx, int tid, int sig);

	/* A symbol of the program, and a function that is called with its address (again for each library). NULL: none
	 * is wanted. */
	const char *symbol_wanted;
	void (*symbol)(void *ctx, const char *name, uint64_t addr);

	/* For a program that really runs; NULL for a recorded one: */

	int (*kill)(void *ctx, struct err *e);
	/* For the next restart: sets "NAME=VALUE", or removes "NAME"; NULL: restores the first environment. */
	void (*set_env)(void *ctx, const char *variable);
	/* For the next restart: the folder; "": the first one. */
	void (*set_cwd)(void *ctx, const char *dir);
	int (*detach)(void *ctx, struct err *e);
	/* Called with each packet first. 1: it was handled, *answer is to be sent; 0: the stub handles it; -1 with e
	 * set. */
	int (*relay)(void *ctx, const char *packet, struct buf *answer, struct err *e);
};

/*
 * Serves a debugger until it detaches or closes the connection: 0, or -1 with e set. first: the current stop; tid 0:
 * there is no program yet. `resume` may call rsp_interrupted(c) while it runs.
 */
int rsp_serve(struct rsp_conn *c, const struct rsp_ops *ops, void *ctx, const struct rsp_stop *first, struct err *e);

#endif
