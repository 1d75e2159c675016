/* SPDX-License-Identifier: MIT */
/*
 * state.h: what the recorder knows of this process image (G) and of each of its threads (struct thr). All other headers
 * of libfred-record.so build on it.
 *
 * One shape for all wrappers. A thread that runs the program's code has depth 0. A wrapper calls shim_enter(); NULL
 * means "call the real function and nothing else" (recording is off, or the call comes from inside the recorder). Then
 * it writes or compares its event, makes the real call, and calls shim_leave(), which delivers signals that waited.
 * While depth > 0 the thread's system calls are not trapped.
 *
 * Forbidden in the recorder: anything in libc that allocates, locks, prints, or ends the process. System calls go
 * through common/raw.h. errno is left as it was, or set last.
 */
#ifndef FRED_RECORD_STATE_H
#define FRED_RECORD_STATE_H

#include "common/raw.h"
#include "rlog/replay.h"
#include "rlog/rlog.h"

#include <elf.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/*
 * For functions from which, in a replay, the program's code is called only through signal handlers
 * (replay_ctl.closed_lo).
 */
#define SHIM_CLOSED __attribute__((noinline, section("fred_closed")))
#define SIG_BIT(sig) (1ull << ((sig)-1)) /* in the kernel's sets of signals */

enum shim_mode { SHIM_OFF = 0, SHIM_RECORD = 1, SHIM_REPLAY = 2 };

struct arena;

/* The part of a thread's log that is being written (recording), or the whole log (replay). */
struct log {
	uint8_t *cur, *end; /* next byte; end of the window */
	uint8_t *base; /* start of the window */
	uint64_t base_off; /* its offset in the file */
	uint64_t chunk; /* size of the next window */
	const uint8_t *rd, *rd_end; /* replay: next record, end of the log */
};

#define SIG_QUEUE 64
#define SIG_NUMBERS 65

/*
 * A signal that has arrived and waits. `next` is 1 + the index of the next one with the same number in the queue, or 0.
 */
struct queued {
	siginfo_t si;
	uint64_t came; /* a sequence number: the oldest signal has the lowest */
	uint64_t next;
};

#define LIB_HELD 16
#define HELD_SIGNALS 2

struct lib_lock;
struct lib_held {
	struct lib_lock *lock;
	struct _IO_FILE *file; /* or a FILE's own lock */
};

/* A piece of memory that a system call wrote */
struct piece {
	uint8_t *p;
	uint64_t n;
	const struct iovec *iov; /* n bytes in all, spread over these; else at p */
};

#define INTERRUPTED_BY_US 1 /* the recorder's own signal */
#define INTERRUPTED_BY_HANDLER 2 /* one that the program handles */

struct iovec;
enum { CREATES_NOT, CREATES_KEEPS, CREATES_LETS_GO };

struct thr {
	/* members that each lock uses come first, in as few cache lines as possible */
	volatile char selector; /* Syscall User Dispatch: 0 lets calls through, 1 traps them */
	int depth; /* > 0: inside the shim */
	volatile int blocking; /* in a call that may block: a signal runs its handler at once */
	/* by what the blocking call was interrupted since this was set to 0: INTERRUPTED_BY_... */
	volatile int interrupted;
	int unrecorded; /* ... the record of that is written after it */
	/* ... if it is a wait that only another thread of the process, or a handler, ends: its kind */
	enum wait_kind internal;
	const void *waits[2]; /* ... the objects that it waits for */
	const void *released; /* chaos: the object of its last event */
	volatile int pending; /* signals are in the queue, and perhaps not all of them are blocked */
	int made_event; /* this call made an event: signals may be delivered at its end */
	int clean; /* recording: the last record is stamped, and no code of the program ran since */
	/* recording in parallel, see cs.c */
	uint32_t mutexes; /* held */
	int cs; /* has the turn */
	int cs_paused; /* gave it up for a call that may wait */
	int fence; /* has acquired something outside the turn since its last stamp */
	uint64_t last_stamp;
	uint64_t caller; /* return address of the call in progress, for messages */
	struct log log;
	uint32_t ordinal;
	int tid; /* in the kernel */
	int shown_tid; /* in the program's view: in a replay, that of the recording */
	struct arena *arena;
	int exit_rounds; /* see thread.c: destructor rounds seen */
	int exited; /* after its EXIT event: runs without the turn */
	sem_t ended; /* recording: posted at EXIT, if that is its last action */
	volatile int creates; /* serial: it is in libc's pthread_create, and keeps the turn; CREATES_... */
	struct {
		struct queued v[SIG_QUEUE], *more; /* further ones than v has room for; NULL: there were none yet */
		/* for each signal: 1 + indices of its first and last ones */
		uint32_t first[SIG_NUMBERS], last[SIG_NUMBERS];
		uint32_t n, used,
			unused; /* in the queue; places that were used; the first of those that are free again */
		uint64_t set; /* the signals that are in the queue, as bits */
		uint64_t came;
	} queue; /* signals that have arrived: sig_queue.c */
	/* running handlers of asynchronous signals; those that were left by a longjmp are still counted */
	uint32_t handlers;
	const struct piece
		/* recording serially, in a call that may wait: memory to which the kernel may write at any time */
		*flight;
	uint32_t nflight;
	const uint64_t *wait_mask; /* in a call that waits with another signal mask: that mask */
	/* signals that the program has blocked, but the kernel does not, since the recorder needs them */
	uint64_t hidden;
	struct {
		stack_t alt; /* the program's alternate signal stack; size 0: none */
		uint64_t own; /* the address of the recorder's own one; 0: none */
		ucontext_t *uc; /* the state of the program that the recorder's handler has interrupted */
	} stack; /* own_stack.c */
	struct {
		int timer; /* its number + 1; 0: not made yet */
		int armed;
		int due; /* the thread is to be interrupted, so that others can run */
		int sampled; /* a signal that asks whether it spins is pending */
		int spins; /* it is to be interrupted because it spins */
		int stands; /* it was interrupted, and does not go on yet */
		volatile int joins; /* it is interrupted because one thread runs at a time from now on */
		uint64_t mark_cpu, mark_stamp; /* CPU time in ns and stamp, when it was last seen to make an event */
		uint64_t left_cpu; /* CPU time at the last task_not_computing() */
		uint64_t sure_cpu; /* CPU time at which a tick first found the computation; 0: none has yet */
		const uint8_t *mark_cur; /* the end of its log at that time */
		int seeking; /* replay: on the way to the place of a PREEMPT record: seek.c */
	} preempt; /* interrupt.c */
	struct copied *copied; /* recording: sys_copy.c */
	struct {
		int in; /* the call in progress was trapped */
		int over, left; /* the call has its result; a handler has changed where the program goes on */
		int mask_set; /* a handler has returned: this mask is to be kept instead of the trap's own */
	} trap; /* start/trap.c */
	struct {
		void *(*fn)(void *); /* the program's function, and its argument */
		void *arg;
		uint64_t mask; /* signal mask at its start */
		void *stack;
		uint64_t stack_len;
		int detached; /* not 0: nobody may wait for its end. Only of threads with a stack of the recorder's */
		/*
		 * an address on its stack, above which libc's and the libraries' data of the thread are; 0: there are
		 * none
		 */
		uint64_t frames_end;
		pid_t want_tid; /* replay: TID of the thread that is being created, 0: any */
		int arrived; /* futex: replay: the new thread stands in the shim */
	} born; /* how the thread was made: thread.c */
	struct {
		uint32_t donor; /* ordinal of the thread in whose turn this one runs; 0: its own */
		uint32_t mark; /* the last round in which it got a turn */
		const uint32_t *word; /* futex that it waits for */
		int donating; /* another thread runs in its turn */
		const uint32_t
			/* the word that the kernel clears when this thread ends, for which others do not wait */
			*late_word;
	} donate; /* replay: donate.c */
	int at_event; /* replay: it stands before its next event */
	struct {
		int sends; /* inside pthread_cancel */
		int waits; /* in a wait of cancel.h */
		/*
		 * replay, see io.c: this call is not cancelled at its beginning, though cancellation may be requested
		 * already
		 */
		int late;
	} cancel;
	/* library locks that this thread holds, for its end: see lib.c */
	struct lib_held held[LIB_HELD], *held_more;
	uint32_t kept; /* bits of kept_si, and one of held.c */
	siginfo_t kept_si[HELD_SIGNALS];
	int nheld, unheld; /* there was no memory to note all of them */
	struct {
		int on; /* holds it, or waits for it */
		uint32_t go; /* futex: 1: this thread has been given it */
		uint32_t next; /* ordinal of the next thread that waits; 0: none */
		int queued; /* waits for it */
	} gil; /* recording serially: gil.c */
	uint32_t *ctid; /* the kernel clears this word when it has ended: made by clone with CLONE_CHILD_CLEARTID */
	int own_process; /* recorded as a process of its own that shares the memory, see adopt.c */
	struct {
		int coming; /* it is being created, and has not asked for the gil yet */
		int sleeps; /* in a sleep that is over after a number of events of others */
		/*
		 * it is to be interrupted here, at a place that it has passed this many times since its last event; 0:
		 * not
		 */
		uint64_t place_hits;
		int gone; /* it has ended, and the kernel has forgotten it */
	} chaos; /* sched/chaos.c and the folder chaos */
	int libc_start; /* made by libc itself, and has yet to register its restartable sequences */
	uint32_t filter; /* seccomp.c: number of the program's newest one */
	int no_tsc;
	int tsc_faults; /* the program wants it so: PR_SET_TSC */
	struct {
		const uint8_t *to; /* the end of its log after its last sleep */
		uint32_t nr; /* the number of that call */
	} slept; /* recording in parallel: spin_watch.c */
	uint64_t past_end; /* replay: its next access to this page raises SIGBUS; 0: no page */
	int undone; /* replay: an event has been taken from the log, but not counted yet */
	int away; /* replay, in parallel: runs without the turn */
	struct replay_stand stand; /* replay: what it waits for: the turn, or a lock */
	uint32_t asleep; /* replay: it sleeps in the kernel until it has the turn */
} __attribute__((aligned(64)));

struct shim {
	int mode; /* enum shim_mode */
	int mt; /* a second thread was created at some time */
	uint64_t signalfd; /* signals of the program's signalfds: any read or poll may look whether one is pending */
	int serial;
	int chaos; /* recording with --sched chaos */
	int deadlock; /* recording: all threads wait for each other, and that is noted */
	int spins; /* recording: a thread that waits for memory was seen */
	int counted; /* recording: stamps are a counter, not the TSC */
	int system_heap; /* glibc's heap, not fred's: --malloc system */
	int no_tsc; /* rdtsc faults in threads that have asked for it: see tsc.c */
	int group; /* in a group of processes that share memory */
	int waits_told; /* other processes know where the threads' waits are published */
	int lookahead; /* replay: this is a copy that looks ahead, see lookahead.h */
	int file_maps; /* had a writable shared mapping of a file */
	int own_processes; /* had processes that share its memory, see adopt.c */
	int patched; /* instructions that bring input in fault: see patch.c */
	int auxv_files; /* has opened its auxiliary vector in /proc, see vdso_image.c */
	int mem_files; /* has opened a file that may be its own memory, see mem_file.c */
	uint32_t process; /* ordinal of this image */
	uint32_t next_thread;
	int pid; /* as the kernel has it here; in a replay of an inner PID namespace not the recorded one */
	int shown_pid; /* as the program has it */
	int shown_ppid; /* replay: its parent's, when the image began */
	int pid_ns; /* it is in a PID namespace that the program made, or was when recorded: see pid_ns.c */
	int no_clone3; /* replay: the recorded kernel answered ENOSYS to it */
	int children_ns; /* recording: its children will be in another one */
	uint64_t text_lo, text_hi; /* the shim's executable segment */
	char rec[256]; /* path of the recording */
	char shim_path[512];
	struct rlog_control *control;
	struct replay_ctl *ctl;
	struct replay_sched *sched;
	struct thr *thr; /* RLOG_MAX_THREADS */
	uint8_t *replay_log_next; /* where the next log is mapped */
};
RLOG_AREA_FITS(SHIM_THREADS_ADDR, RLOG_MAX_THREADS * sizeof(struct thr), SHIM_TRAPS_ADDR);

extern struct shim G;
extern __thread struct thr *self __attribute__((tls_model("initial-exec")));

#define SIG_PREEMPT 64 /* interrupts a computation that makes no events */

static inline int interrupt_in_shim(const ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

	return pc >= G.text_lo && pc < G.text_hi;
}

#endif
