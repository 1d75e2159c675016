/* SPDX-License-Identifier: MIT */
/*
 * gdb.h: an unmodified GDB (13 or later) as a tool: attach to a stopped process, evaluate, unwind, look
 * up lines. Synchronous; every call has a deadline. Nothing here lets the process run, except
 * expressions with calls into it (gdb_eval) and commands given to gdb_console or gdb_cmd.
 *
 * tid: a thread by its kernel TID, as GDB sees it; 0: the one selected last (after attaching: the
 * first). frame: a level, 0 the innermost.
 *
 * Results of the functions that evaluate:
 *   0  done
 *   1  (GDB_UNAVAILABLE) well-formed, but has no value in this state of the program: memory not mapped,
 *      optimized out, a call that crashed. e says why (ERR_NOT_FOUND); nothing else is wrong.
 *  -1  ERR_USAGE: GDB does not accept it (syntax, unknown symbol), with GDB's message and reason (refusal.h);
 *      ERR_TIMEOUT: the deadline; ERR_INTERNAL: GDB died. gdb_dead tells whether it can still be used.
 */
#ifndef FRED_GDB_GDB_H
#define FRED_GDB_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "gdb/mi_conn.h"
#include "gdb/refusal.h"

#define GDB_UNAVAILABLE 1
#define GDB_DEFAULT_TIMEOUT_MS 30000

struct gdb_opts {
	const char *program; /* NULL: "gdb" */
	int timeout_ms; /* for each command; 0: GDB_DEFAULT_TIMEOUT_MS */
	bool auto_load; /* load the printers and methods that come with libraries (slower) */
};

/* The file ROOT + this exists if a process whose root is ROOT has the same files as this process. */
#define GDB_SAME_FILES ".same"
/* The folder TREE + this exists if a process whose program is below TREE has all its files there, as below a root. */
#define GDB_TREE ".exec"

struct gdb;

/* auto_load: libstdc++ brings printers of strings and containers, and the methods that were inlined, such as size(). */
extern const struct gdb_opts gdb_with_scripts;

/* Starts GDB and sets it up. opts: NULL for the defaults. ERR_HOST: there is no usable GDB. */
struct gdb *gdb_new(const struct gdb_opts *opts, struct err *e);
/* Detaches if it can (see gdb_detach), kills GDB, frees. Takes NULL. */
void gdb_free(struct gdb *g);
static inline void gdb_free_p(struct gdb **g)
{
	gdb_free(*g);
}
#define cleanup_gdb __attribute__((cleanup(gdb_free_p)))
/* Why GDB cannot be used any more; NULL: it can. */
const char *gdb_dead(const struct gdb *g);
/* -1 with ERR_INTERNAL when it cannot be used any more. */
int gdb_check(const struct gdb *g, struct err *e);
/* As mi_conn_tick. */
void gdb_tick(struct gdb *g, bool (*tick)(void *ctx), void *ctx);

/*
 * Attaches: all threads stop where they are (in a system call, or in a job-control stop) and execute nothing. From then
 * on only one thread runs at a time ("scheduler-locking on"). ERR_HOST when ptrace is not permitted, ERR_USAGE when
 * there is no such process.
 */
int gdb_attach(struct gdb *g, pid_t pid, struct err *e);
/* Detaches; a process that was in a job-control stop (T) when attached is in one again. */
int gdb_detach(struct gdb *g, struct err *e);
/*
 * Switches the reading of separate debug files (as of libc6-dbg) on or off: those of the libraries are read at once,
 * others from the next attach on. At first they are not read: reading libc's takes 0.1 s.
 */
int gdb_debug_files(struct gdb *g, bool on, struct err *e);
/* The process it is attached to; 0: none. */
pid_t gdb_target(const struct gdb *g);

struct gdb_thread {
	int id; /* GDB's number */
	pid_t tid;
	char *name; /* NULL: unknown */
};
int gdb_threads(struct gdb *g, struct gdb_thread **threads, size_t *n, struct err *e);
void gdb_threads_free(struct gdb_thread *threads, size_t n);
/* Selects the thread and frame for console commands. */
int gdb_select(struct gdb *g, pid_t tid, int frame, struct err *e);

struct gdb_frame {
	int level;
	uint64_t addr; /* PC; in callers the return address */
	char *func; /* NULL: unknown */
	char *file; /* as compiled; NULL: no debug information */
	char *fullname; /* absolute; NULL as above */
	char *module; /* base name of the mapped file that holds addr; NULL: none */
	int line; /* 0: unknown */
	char *args; /* "n=3, p=0x..."; NULL: not asked for, or unknown */
	bool signal_handler; /* this "frame" is the kernel's signal frame */
};
/* The innermost max frames of a thread (0: 200). */
int gdb_backtrace(struct gdb *g, pid_t tid, int max, struct gdb_frame **frames, size_t *n, struct err *e);
/*
 * Adds the arguments of a thread's frames, printed as GDB's `backtrace` does: `...` stands for structures. What GDB
 * cannot tell is left out.
 */
int gdb_add_args(struct gdb *g, pid_t tid, struct gdb_frame *frames, size_t n, struct err *e);
void gdb_frame_fini(struct gdb_frame *f);
void gdb_frames_free(struct gdb_frame *frames, size_t n);
/*
 * The level of the first frame that the program's own code owns: the innermost one with a known source
 * file outside of module `shim` (NULL: any), else the innermost one outside of it, else 0.
 */
int gdb_frames_user(const struct gdb_frame *frames, size_t n, const char *shim);

/* Registers 0..23 in GDB's order for x86-64: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 rip eflags cs.. */
#define GDB_REGS 24
#define GDB_REG_PC 16
#define GDB_REG_SP 7
struct gdb_regs {
	uint64_t value[GDB_REGS];
	uint32_t valid; /* bit i: value[i] is known in this frame */
	uint64_t scope_pc; /* an address inside the statement that the frame stands in */
};
/* The registers as unwound to this frame. */
int gdb_frame_regs(struct gdb *g, pid_t tid, int frame, struct gdb_regs *regs, struct err *e);

/* What GDB knows about the code at an address. Free it with gdb_line_fini. */
struct gdb_line {
	char *func; /* the innermost function, inlined ones included; NULL: unknown */
	char *file, *fullname; /* NULL: no debug information */
	int line; /* 0: unknown */
	struct strv around; /* the functions that func is inlined in, innermost first; a GDB without Python: none */
};
/* Of the instruction at pc (for a return address give addr - 1). Unknown code is no error. */
int gdb_line_at(struct gdb *g, uint64_t pc, struct gdb_line *line, struct err *e);
void gdb_line_fini(struct gdb_line *line);
/* Finds the instruction that ends where pc begins. 1: pc is the first of a function, or in no function. */
int gdb_prev_insn(struct gdb *g, uint64_t pc, uint64_t *prev, struct err *e);

/*
 * Evaluates as `print` does, in a thread and frame. *value (the caller's) is GDB's text. A call into
 * the program lets that thread run; if it crashes or is interrupted at the deadline, GDB unwinds it.
 * timeout_ms 0: the default.
 */
int gdb_eval(struct gdb *g, const char *expr, pid_t tid, int frame, int timeout_ms, char **value, struct err *e);
/* Is the value not zero? */
int gdb_eval_bool(struct gdb *g, const char *expr, pid_t tid, int frame, int timeout_ms, bool *value, struct err *e);

/*
 * Sets the language to that of this frame's code for good, so that it is also used in code of unknown language. If the
 * frame has no source, it is the language of main. Fields that GDB does not know are left unchanged.
 */
int gdb_keep_language(struct gdb *g, pid_t tid, int frame, struct err *e);

/* A console command; *output (the caller's, may be NULL) is what it printed. */
int gdb_console(struct gdb *g, const char *cmd, char **output, struct err *e);
/* A text as an expression for a `python` command. The text may be anything, since names come from the program. */
char *gdb_python_text(const char *text);
/* A console command in a thread and frame. 0, 1 or -1 as gdb_eval. timeout_ms 0: the default. */
int gdb_console_at(struct gdb *g, pid_t tid, int frame, int timeout_ms, const char *cmd, char **output, struct err *e);
/* Any MI command. Returns as mi_conn_cmd: 1 is GDB's ^error, not yet in e. */
int gdb_cmd(struct gdb *g, int timeout_ms, struct mi_reply *r, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/*
 * After a command that lets the program run (-exec-continue ...): waits for it to stop. *stop is
 * borrowed from r: fields reason, frame, thread-id, ...
 */
int gdb_wait_stop(struct gdb *g, int timeout_ms, struct mi_reply *r, const struct mi_record **stop, struct err *e);

#endif
