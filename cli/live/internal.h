/* SPDX-License-Identifier: MIT */
/* internal.h: what the files of this folder share; read live.h and live.c first. */
#ifndef FRED_LIVE_INTERNAL_H
#define FRED_LIVE_INTERNAL_H

#include <termios.h>

#include "live/live.h"
#include "rsp/stub.h"
#include "visibility/breakpoints.h"
#include "visibility/shim_frames.h"

#define LIVE_CHOICES 3

/* The terminal belongs to GDB while the program is stopped, and to the program while it runs. */
struct live_term {
	bool on; /* there is a terminal, and it was this process's */
	pid_t debugger; /* its process group */
	pid_t program; /* the process group that had the terminal last; 0: none */
	bool known; /* program_modes are set */
	struct termios debugger_modes, program_modes;
};

/* The program that a shell would start. */
struct live_start {
	struct strv args; /* without the program */
	struct launch_fd *fds; /* this process's; live_start_fini closes them */
	unsigned nfds;
};

struct live {
	struct live_opts *o;
	char snapshot[108]; /* path of a file, see visibility/thread_snapshot.h */
	char session[108]; /* a folder with what replays keep for the next one, such as bookmarks */
	struct rsp_conn conn; /* GDB's */
	int life; /* bridge/bridge.h */
	struct record_session rec;
	struct group group; /* pid 0: no program runs */
	struct breaks breaks;
	struct visibility visibility;
	struct shim_frames shim_frames;
	struct process_view view; /* both, for breaks */
	struct live_term term;
	struct strv env; /* the environment that there was at first */
	/* the arguments of the next program for a shell, as GDB's user has typed them; NULL: none, or not known */
	char *line;
	bool told; /* GDB tells what was typed */
	char *cwd; /* of the next program; NULL: this process's */
	pid_t tid; /* the thread of the last stop */
	struct rsp_stop stop; /* the last one */
	int passed; /* the signal with which its thread is resumed now; 0: none */
	uint64_t kept_back; /* bit N - 1: signal N is not for the program (GDB's `handle ... nopass`) */
	int sent; /* a signal that GDB has sent and that has not arrived: it does not stop the program again; 0: none */
	/*
	 * GDB 13 never ends a step over a breakpoint if the program dies in it, and resumes no other program afterwards
	 */
	bool stuck;
	bool ending; /* the program stands in its exit */
	bool jumped; /* the PC was changed; GDB gets it from its next step */

	bool back; /* GDB speaks with a replay */
	struct bridge bridge; /* to it */
	struct rsp_conn past;
	unsigned lost; /* how many workers have died one after the other, while GDB speaks with a replay */
	bool aside; /* the replay is only for a call or a write, at the place where the program stands */
	struct strv later; /* text for the user, held back until GDB can take it */
	bool quiet; /* GDB cannot take text now */
	int selected; /* the thread that GDB's user looks at; 0: not known */
	char *lines; /* the packet `monitor lines` of the command that is being executed; NULL: none */
	char *chosen[LIVE_CHOICES]; /* GDB's last packets Hg, Hc and QPassSignals; NULL: none */
};

/* ---- terminal.c ---- */

void live_term_init(struct live_term *t);
void live_term_to_program(struct live_term *t, pid_t pid);
void live_term_to_debugger(struct live_term *t);

/* ---- run.c ---- */

/* Resumes the program until an event that must be reported to GDB. */
int live_resume(struct live *l, enum rsp_resume how, pid_t tid, struct rsp_stop *out, struct err *e);
/* Is the stopped thread in a call of the recorder's? Then *r becomes the registers of the caller. */
bool live_in_call(struct live *l, struct trace *t, struct user_regs_struct *r);

/* ---- signal.c ---- */

/* Is it a signal that the recorder or libc uses internally? GDB does not see it. */
bool live_is_internal(struct trace *t, const siginfo_t *si);
/* Has it been sent to the stopped process, and is there a thread to take it when the process is resumed? */
bool live_is_coming(const struct group *g, int sig);
/* Has the process a handler for it? */
bool live_is_caught(pid_t pid, int sig);

/* ---- end.c ---- */

/* The program has ended, with this status as from waitpid: completes its recording. */
void live_finish(struct live *l, int status);
/* rsp_ops.kill: 0, also when no program runs. If it has stopped by a fatal signal, it dies of that one, as recorded. */
int live_kill(void *arg, struct err *e);
/* rsp_ops.detach: the program runs on, and is recorded to its end by this process; the one that returns is another. */
int live_detach(void *arg, struct err *e);
/* Writes the PID of this process into the pipe `life` (bridge/bridge.h). */
int live_tell_life(struct live *l, struct err *e);

/* ---- shell.c ---- */

/*
 * The arguments and descriptors that $SHELL (or /bin/sh) would give to the program in `exec PROGRAM ARGS`, in folder
 * cwd (NULL: this one). live_start_fini in any case.
 */
int live_shell_start(const char *args, const char *cwd, struct live_start *s, struct err *e);
void live_start_fini(struct live_start *s);
/* Does the command line use anything of the shell but spaces between words? */
bool live_shell_is_needed(const char *args);
/* Splits a command line as GDB does for a remote program: libiberty's buildargv. */
void live_shell_split(const char *args, struct strv *words);

/* ---- history.c ---- */

/* Before a write to memory or registers: makes a replay at the position of the program, which gets it. 1: live_relay
 * answers from now on. */
int live_write_aside(struct live *l, struct err *e);
/* rsp_ops.relay. */
int live_relay(void *arg, const char *packet, struct buf *answer, struct err *e);
/* Ends the replay, if there is one. */
void live_return(struct live *l);

#endif
