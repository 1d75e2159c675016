/* SPDX-License-Identifier: MIT */
/*
 * shim.h: the inside of libfred-record.so: what its files share.
 *
 * One shape for all wrappers. A thread that runs the program's code has depth 0. A wrapper calls
 * shim_enter(); NULL means "call the real function and nothing else" (recording is off, or the call comes from
 * inside the shim). Then it writes or compares its event, does the real thing, and calls shim_leave(), which
 * delivers signals that waited. While depth > 0 the thread's system calls are not trapped.
 *
 *   recording: ev() writes the record (stamped ones before the release takes effect)
 *   replaying: ev() compares it with the log; ev_done() hands the turn on and returns when it is back
 *
 * Forbidden in here: anything in libc that allocates, locks, prints, or ends the process. System calls
 * go through common/raw.h. errno is left as it was, or set last.
 */
#ifndef FRED_RECORD_SHIM_H
#define FRED_RECORD_SHIM_H

#include "common/raw.h"
#include "rlog/replay.h"
#include "rlog/rlog.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define SIG_BIT(sig) (1ull << ((sig) - 1)) /* in the kernel's sets of signals */

enum shim_mode { SHIM_OFF = 0, SHIM_RECORD = 1, SHIM_REPLAY = 2 };

struct arena;

/* The end of a thread's log that is being written (recording) or the whole log (replay). */
struct log {
	uint8_t *cur, *end; /* next byte; end of the window */
	uint8_t *base; /* start of the window */
	uint64_t base_off; /* its offset in the file */
	uint64_t chunk; /* size of the next window */
	const uint8_t *rd, *rd_end; /* replay: next record, end of the log */
};

#define SIG_QUEUE 64
#define LIB_HELD 16

struct lib_lock;
struct lib_held {
	struct lib_lock *lock;
	struct _IO_FILE *file; /* or a FILE's own lock */
};

struct piece;
struct more;
struct thr {
	/* what each lock touches comes first, in as few cache lines as can be */
	volatile char selector; /* Syscall User Dispatch: 0 lets calls through, 1 traps them */
	int depth; /* > 0: inside the shim */
	volatile int blocking; /* in a call that may block: a signal runs its handler at once */
	int unrecorded; /* ... whose record comes behind it */
	enum wait_kind internal; /* ... and only another thread of the process, or a handler, ends it */
	const void *waits[2]; /* ... for a release of these */
	const void *released; /* chaos: the object of its last event */
	volatile int pending; /* signals that arrived while the program's code ran: how many are in queue */
	int made_event; /* this call made an event: signals may be delivered at its end */
	int clean; /* recording: the last record is stamped, and no code of the program ran since */
	/* recording in parallel, see cs.c */
	uint32_t mutexes; /* held */
	int cs; /* has the turn */
	int cs_paused; /* gave it up for a call that may wait */
	int fence; /* since its last stamp it has acquired something outside of the turn */
	uint64_t last_stamp;
	uint64_t caller; /* return address of the call in progress, for messages */
	struct log log;
	uint32_t ordinal;
	int tid;
	struct arena *arena;
	int exit_rounds; /* see thread.c: destructor rounds seen */
	int exited; /* past its EXIT event: runs free */
	int arrived; /* futex: replay: the new thread stands in the shim */
	siginfo_t queue[SIG_QUEUE]; /* sig_queue.c, as the next two */
	struct more *more;
	uint32_t first;
	uint32_t handlers; /* of asynchronous signals that run; those that were left by a jump count on */
	uint32_t in_place; /* of others, the same */
	const struct piece *flight; /* recording serially, in a call that may wait: what the kernel may write to at any time */
	uint32_t nflight;
	const uint64_t *wait_mask; /* in a call that waits with another signal mask: that */
	uint64_t hidden; /* signals that the program has blocked, but the recorder needs: they are not */
	int mask_set; /* by a handler's return: in a trap, it is to be kept over the trap's own */
	/* own_stack.c: the program's alternate signal stack, size 0: none; where its own one is, 0: nowhere; what that interrupted */
	stack_t alt;
	uint64_t own_stack;
	ucontext_t *own_uc;
	/* interrupt.c; late_timer: its number + 1 */
	int late_timer, late_armed, preempt, poked, sampled;
	int spins; /* it is to be interrupted because it spins */
	volatile int joins; /* it is interrupted because one thread runs at a time from now on */
	uint64_t mark_cpu, mark_stamp;
	const uint8_t *mark_cur; /* of the log, then */
	struct copied *copied; /* recording: sys_copy.c */
	int in_trap; /* the call in progress came by a trap */
	int call_over, call_left; /* in_trap: it has its result; a handler went on elsewhere */
	int seeking; /* replay, see seek.c */
	/* a new thread's start */
	void *(*start)(void *);
	uint64_t first_mask; /* of signals, then */
	void *arg;
	void *stack;
	uint64_t frames_end; /* on its stack: above this lies what libc and all libraries keep of the thread; 0: nothing does */
	uint64_t stack_len;
	pid_t want_tid; /* replay: TID of the thread that is being created, 0: any */
	/* replay, see turn.c: whose turn this thread runs in; it lends its own; it stands before its next event */
	uint32_t lender, lend_mark;
	const uint32_t *lend_word;
	int lending, at_event;
	int cancelling; /* inside pthread_cancel */
	int cancellable; /* in a wait of cancel.h */
	int cancel_late; /* replay, see io.c: not cancelled before this call, as it may be already */
	/* library locks that this thread holds, for its end: see libc.c */
	struct lib_held held[LIB_HELD], *held_more;
	int nheld, unheld; /* there was no memory to note so many */
	/* recording serially, see gil.c */
	int gil; /* holds it, or waits to get it */
	uint32_t gil_go, gil_next;
	uint32_t *ctid; /* the kernel clears this word when it has ended: made by clone with CLONE_CHILD_CLEARTID */
	int own_process; /* recorded as a process of its own that shares the memory, see adopt.c */
	int queued; /* waits for it */
	int coming; /* it is being made, and has not come for it yet */
	int sleeps; /* chaos: in a sleep that is over after so many events */
	uint64_t place_hits; /* chaos: it is to be interrupted here, which it came to so many times since its last event; 0: not */
	int gone; /* chaos: it has ended, and the kernel has forgotten it */
	int libc_start; /* made by libc itself, and has yet to register its restartable sequences */
	uint32_t filter; /* seccomp.c: number of the program's newest one */
	int no_tsc;
	int tsc_faults; /* the program wants it so: PR_SET_TSC */
	/* recording in parallel, see spin_watch.c: the end of its log behind its last sleep, the number of that call */
	const uint8_t *slept_to;
	uint32_t slept_nr;
	int undone; /* replay: an event is taken that has not been counted */
	int away; /* replay, in parallel: runs without the turn */
	struct replay_stand stand; /* replay: waits for the turn, or for a lock */
	const uint32_t *late_word; /* replay, see lend.c: what the kernel clears at its end, which others do not wait for */
	uint32_t asleep; /* replay: waits for the turn in the kernel */
} __attribute__((aligned(64)));

struct shim {
	int mode; /* enum shim_mode */
	int mt; /* a second thread was created at some time */
	int serial;
	int chaos; /* recording with --sched chaos */
	int deadlock; /* recording: all threads wait for each other, and that is noted */
	int spins; /* recording: a thread that waits for memory was seen */
	int counted; /* recording: stamps are a counter, not the TSC */
	int no_tsc; /* rdtsc faults, in threads that have reached that: see tsc.c */
	int group; /* in a group of processes that share memory */
	int waits_told; /* where the threads' waits are is known outside */
	int scout; /* replay: this is a copy that looks ahead, see scout.h */
	int file_maps; /* had a writable shared mapping of a file */
	int own_processes; /* had such, see adopt.c */
	int patched; /* instructions that bring input in fault: see patch.c */
	int auxv_files; /* has opened its auxiliary vector in /proc, see vdso_image.c */
	int mem_files; /* has opened a file that may be its own memory, see mem_file.c */
	uint32_t process; /* ordinal of this image */
	uint32_t next_thread;
	int pid; /* as the kernel has it here; on replay in an inner PID namespace not the recorded one */
	int shown_pid; /* as the program has it */
	int shown_ppid; /* replay: its parent's, when the image began */
	int pid_ns; /* recording, and on replay of what was so: in a PID namespace that the program made, see pid_ns.c */
	int children_ns; /* recording: its children will be in another one */
	uint64_t text_lo, text_hi; /* the shim's executable segment */
	char rec[256]; /* path of the recording */
	char preload_env[1100]; /* "LD_PRELOAD=..." and "FRED=..." for exec */
	char shim_path[512];
	struct rlog_control *control;
	struct replay_ctl *ctl;
	struct replay_sched *sched;
	struct thr *thr; /* RLOG_MAX_THREADS */
	uint8_t *replay_log_next; /* where the next log is mapped */
};

extern struct shim G;
extern __thread struct thr *self __attribute__((tls_model("initial-exec")));

/* --- init.c --- */
/* The real function behind a wrapper; resolved once at start. */
#define REAL(name) ((__typeof__(&name))real_table[REAL_##name])
enum real_id {
#define REALFN(name, version) REAL_##name,
#define REALOPT(name) REAL_##name,
#include "record/core/real.def"
#undef REALOPT
#undef REALFN
	REAL_COUNT
};
extern void *real_table[REAL_COUNT];
void *real_late(enum real_id id); /* of a library that the program may load when it already runs */
void *dl_find_real(const char *name); /* libc_dl.c: a function of the first library that is not the shim */
/* Reports that the shim cannot go on in replay (the worker shows text) and stops this process. */
_Noreturn void shim_fail(const char *text);
/* After a fork: make this process image recorded (or replayed) under a new ordinal. */
void init_fork_child(struct thr *t, uint32_t process, uint32_t parent);
pid_t init_image_pid(uint32_t process); /* the PID that it has in a replay; 0: it is not in the recording */
void arm_thread(struct thr *t); /* recording: switch the trap on for the calling thread */

/* --- rec.c: writing logs --- */
uint64_t stamp_now(void);
int log_open(struct thr *t); /* 0, or -1: recording has been switched off */
/* Makes room for n bytes; returns the write position or NULL when recording failed. */
uint8_t *log_reserve(struct thr *t, uint64_t n);
void log_mark(struct thr *t); /* t's next record is its last: notes its place, so that the end is found fast */
void note(enum rlog_note_kind kind, int64_t number, const char *text);
/* Describes an address as "/lib/libfoo.so+0x12", or if it is in no file as a number, into out. */
void describe_caller(uint64_t pc, char *out, unsigned n);

/*
 * What the shim leaves below the program's stack differs between the modes, and programs do write bytes that they
 * never set (padding, the rest of a buffer): so it is wiped behind a system call.
 */
void scrub_stack(void); /* trap.c */
void scrub_stack_bytes(uint64_t n); /* a multiple of 8 */

/* --- ev.c: events in both modes --- */

/* Serial: what a call finds below its caller's frames, and what it leaves there, is the same in a replay. */
void shim_scrub(void);

static inline struct thr *shim_enter(void)
{
	struct thr *t = self;

	if (unlikely(!t || t->depth || !G.mode))
		return 0;
	t->selector = 0;
	t->depth = 1;
	t->made_event = 0;
	if (unlikely(G.serial)) /* the handler of a signal that comes now sees the holes in frames, the kernel's and the shim's */
		shim_scrub();
	return t;
}

/* For calls that made no event. */
static inline void shim_leave_quiet(struct thr *t)
{
	t->depth = 0;
	t->selector = 1;
}

/* Delivers waiting signals first, if the call made an event. */
void shim_leave(struct thr *t);

/* An event with up to 4 operands. kind's flags say how many count. */
void ev(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t a, uint64_t b);
/* The second half of an event. Recording: writes it. Replay: checks the kind and gives the operands. */
void ev_half(struct thr *t, enum rlog_kind kind, int64_t *a, uint64_t *b);
/* Replay: like ev() for an event whose first operand is its result: gives it. */
int64_t ev_result(struct thr *t, enum rlog_kind kind, const void *obj, uint64_t *b);
/*
 * The second half of a CALL. Recording: writes ret and *len bytes (len may be NULL: none). Replay: gives the
 * recorded ones; the payload is in the log.
 */
const uint8_t *ev_callret(struct thr *t, int64_t *ret, const void *payload, uint64_t *len);
/*
 * Recording: writes a stamped record of nops operands and, unless bytes is NULL, n bytes. Whether it may count as `clean`, its
 * caller knows. -1: there is no room for it.
 */
int ev_bytes(struct thr *t, enum rlog_kind kind, const uint64_t *op, unsigned nops, const void *bytes, uint64_t n);
/* The event has taken effect: replay hands the turn on and waits until it is back. */
void ev_done(struct thr *t);

/* --- turn.c: replay --- */
struct rlog_rec;
void turn_skip(struct thr *t); /* gives the turn up as the next record says, without a call */
int turn_next_is(const struct thr *t, enum rlog_kind kind); /* looks only: yields and all */
int turn_peek(struct thr *t, struct rlog_rec *r); /* 1: there is a record; does not consume */
int turn_next_call_is(struct thr *t, enum rlog_call which); /* the same for a CALL; its thread comes to the record */
void turn_skip_page(struct thr *t); /* the same for a PAGE that has been taken over */
void turn_take(struct thr *t, struct rlog_rec *r, enum rlog_kind kind); /* consumes; diverges on another kind */
void turn_done(struct thr *t);
void turn_seek(struct thr *t); /* is t to be interrupted before its next event? */
void turn_wait(struct thr *t); /* until this thread owns the turn */
void turn_exit(struct thr *t); /* hands the turn on for good */
_Noreturn void turn_end(struct thr *t, int state);
_Noreturn void turn_diverge(struct thr *t, const struct rlog_rec *want, enum rlog_kind got,
			    const uint64_t *ops, unsigned nops, const char *text);
/* Replay in parallel: waits for the turn of t, which comes to a record, or asks what others may change. */
static inline void turn_await(struct thr *t)
{
	if (unlikely(t->away))
		turn_wait(t);
}
/* The same, where the thread's next record is that of an event: a lent turn ends here. */
void turn_before_event(struct thr *t);
/* A futex call of libc. In replay a wait lends the turn to those who may hold the lock: see lend.c. */
long turn_futex(struct thr *t, const long *a);
int turn_map_log(struct thr *t); /* maps the log of t. -1: it has none, and no event */
void turn_start(struct thr *t); /* position 0: stops there if wanted, then waits for its turn */
void turn_fork_child(struct thr *t); /* goes on as the child of a fork */
void turn_attach(uint32_t process); /* maps the control page and the schedule of an image */

/* --- maps.c --- */
struct map {
	uint64_t lo, hi, off, inode; /* inode 0: of no file */
	const char *perms; /* "rwxp" */
	const char *path; /* or a name as "[stack]", or nothing; the end of a very long one is missing */
};
/*
 * Calls fn for each mapping of this process until one gives other than 0: gives that. -1: they cannot be listed. The texts are
 * there until fn returns.
 */
int maps_each(int (*fn)(const struct map *m, void *arg), void *arg);

/* --- vdso.c, vdso_image.c --- */
void vdso_init(char **envp); /* as it is at the exec, the auxiliary vector behind it */
Elf64_auxv_t *vdso_entry(char **envp); /* the hidden one's; NULL: there is none */
void vdso_give(char **envp); /* behind vdso_init */

/* --- sys.c --- */
/* One system call of the program, recorded or replayed. uc: the trap's context, NULL from a wrapper. */
long sys_event(struct thr *t, long nr, const long *a, ucontext_t *uc);

/* One by int 0x80, whose numbers and structures are those of 32-bit programs: refused, with a note. */
long sys_refuse_32bit(struct thr *t, long nr);
void sys_set_outputs(uint64_t map); /* replay: rlog_image.outputs */

/* --- sig.c --- */
/* Runs the program's handler for a signal that a call raised. 0: it has none. */
int sig_call_sync(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc);
/* The process ends by this signal, here, in both modes. */
_Noreturn void sig_die(struct thr *t, int sig);
void sig_deliver_pending(struct thr *t); /* recording */
void sig_entry(int sig, siginfo_t *si, void *uc); /* the handler of the program's signals */
int sig_deliver_replay(struct thr *t); /* replay: runs the handler, if the next record is a SIGNAL; 0: it is not */
int sig_deliver_waiting(struct thr *t); /* the same where a record begins: also if it came in a wait before that */

/* --- sigaction.c --- */
void sig_init(void);
/* What the program finds at its exec: bits of ignored and of blocked signals; and to set it so. */
void sig_inherited(uint64_t *ignored, uint64_t *blocked);
void sig_inherit(uint64_t ignored, uint64_t blocked);
void sig_arm_traps(void); /* (re)installs the handlers that the shim itself needs */
long sig_action(struct thr *t, const long *a);
void sig_need_segv(struct thr *t); /* never blocked from here on; the program may believe so */
void sig_show_hidden(const struct thr *t, int blocked); /* around an exec: what the program believes to be blocked is */
long sig_procmask_native(const long *a, ucontext_t *uc);

/* --- traps.c --- */
void traps_count(uint64_t pc, long nr); /* recording: a system call was trapped behind pc */

/* --- trap.c --- */
void trap_find_vectors(void); /* for scrub_stack */
void trap_start_replay(void); /* catches the system calls of a replay; new threads and fork children: */
void arm_replay_thread(void);
void trap_handler(int sig, siginfo_t *si, void *uc);
/* clone/clone3/vfork/fork from the program or libc. */
long trap_clone(struct thr *t, long nr, const long *a, ucontext_t *uc);
struct clone_args;

/* --- proc.c --- */
long proc_fork(struct thr *t, struct clone_args *c, uint64_t sp, ucontext_t *uc);

/* --- exec.c --- */
void exec_reap_helper(void); /* in a PID namespace: the one that started this image is still a child */
long proc_exec(struct thr *t, long nr, const long *a);
/* clone with a function, on a new stack, without libc; ctid: for CLONE_CHILD_CLEARTID */
long clone_fn(unsigned long flags, void *stack_top, int (*fn)(void *), void *arg, uint32_t *ctid);

/* --- vfork.c --- */
struct share;
struct share *vfork_begin(ucontext_t *uc);
void vfork_child(struct share *s);
void vfork_child_leaves(void);
void vfork_child_maps(long nr, const long *a, long ret); /* behind a call that changes the address space; recording */
void vfork_end(struct thr *t, struct share *s, ucontext_t *uc);

/* --- leave.c --- */
_Noreturn void thread_leave(long status); /* SYS_exit, behind the EXIT event */

/* --- thread.c --- */
void thread_init(void);
void thread_find_rseq(void);
void thread_leave_rseq(void);
void thread_exit_event(struct thr *t); /* EXIT: the thread's last event */
struct thr *thread_slot(uint32_t ordinal);
uint64_t thread_tls_room(const struct thr *t); /* the end of a part of its stack's slot that the stack does not use */
/* A thread that libc or the program makes by clone: before (NULL: no more can be numbered) and behind the clone. Gives the result. */
struct thr *thread_adopt_begin(struct thr *t);
long thread_adopt_end(struct thr *t, struct thr *c, long ret);

/* --- pid_ns.c --- */
uint64_t pid_ns_cell_pid(uint32_t process); /* recording: for the image of a process in an inner namespace */
void pid_ns_child(uint64_t flags); /* in a new process, of which clone had these flags */
void pid_ns_moved(void); /* behind an unshare or a setns */
/* Replay, in what was an inner namespace: writes the recorded number where the kernel has written another one. */
void pid_ns_show(int *word, int tid);
void pid_ns_show_self(int tid); /* in the word that is cleared at the calling thread's end */

/* --- adopt.c: threads and processes made by clone with CLONE_VM --- */
void adopt_init(void);
int adopt_is_thread_pointer(uint64_t tp); /* libc's: with a pointer to itself, and thread-local variables below it */
uint64_t adopt_tls(const struct thr *c); /* a copy of the calling thread's; gives its thread pointer, 0: no memory */
uint64_t adopt_replay_flags(uint64_t flags); /* of a process: those of clone */
/* Replay: a thread has waited for the word of such a one, which the kernel clears when it is killed. */
void adopt_settle(const uint32_t *word);
void adopt_waited(long nr, const long *a, long ret); /* the same behind a call that may have waited for a process */
/* The end of such a one; nr: exit or exit_group. */
_Noreturn void adopt_exit(struct thr *t, long nr, long status);

/* --- heap.c --- */
struct arena *heap_arena(uint32_t ordinal);
struct arena *heap_arena_main(void);
void heap_init(void);
void heap_use_system(void); /* glibc's from here on */
uint32_t heap_check(void); /* of the lists of a process without other threads: it changes with each allocation */
void heap_thread_end(struct thr *t); /* gives what the thread has freed to the others */

/* --- gil.c: recording one thread at a time --- */
#define SIG_PREEMPT 64
void gil_init(struct thr *t); /* the calling thread, the only one, holds it */
void gil_acquire(struct thr *t);
/* A wait of t until *end has expired: goes over from parallel to serial if it was short and others run. */
void gil_start(struct thr *t, const struct timespec *end);
/* The same at once, whatever others do. */
void gil_start_now(struct thr *t);
void gil_start_replay(struct thr *t); /* either on replay, if it was recorded here */
void gil_join(struct thr *t); /* at the end of an event: a thread that ran in parallel until now */
void gil_release(struct thr *t); /* behind a stamped record */
int gil_lets_create(struct thr *t); /* t is about to create a thread. 1: the gil was released */
void gil_created(const struct thr *c); /* chaos: waits until it comes for the gil */
void gil_point(struct thr *t); /* behind a stamped record: lets others run if the slice is over */
void gil_before(struct thr *t); /* chaos: the same in front of an acquire, whose record is sure to come */
void gil_switch(struct thr *t); /* the same at once */
void gil_look(struct thr *t); /* behind a stamped record: who looks at the clock all the time perhaps waits for others */
void gil_block(struct thr *t); /* before a call that may wait */
void gil_unblock(struct thr *t);
void gil_leave(struct thr *t); /* it ends */
void deadlock_look(const struct thr *t); /* deadlock.c: t, which runs, is about to wait for another thread, or to end */
void deadlock_over(void); /* a thread goes on */
void waits_tell(void); /* waits.c: says outside where this process keeps what its threads wait for: rlog/waits.h */
void gil_sleeps(struct thr *t, uint64_t ns); /* before a call that does nothing but wait for so long */
int gil_wanted(const struct thr *t); /* t holds it and others wait */
uint64_t gil_slice_start(uint64_t *cpu_ns); /* a stamp, and its thread's CPU time then */
void gil_preempt(struct thr *t); /* behind the PREEMPT record of t */

/* --- interrupt.c: computations without events --- */
void interrupt_late(struct thr *t); /* recording: a signal waits for the next event of t */
void interrupt_disarm(struct thr *t);
void interrupt_poke(struct thr *t); /* for a thread that waits for t: it makes no event */
void interrupt_sample(struct thr *t); /* the same, if it spins */
void interrupt_handler(int sig, siginfo_t *si, void *uc); /* of SIG_PREEMPT, in both modes */
void interrupt_take(struct thr *t, ucontext_t *uc); /* in a signal handler: here, and others may go on */
int interrupt_in_shim(const ucontext_t *uc);

/* --- seek.c: the same on replay --- */
void seek_begin(struct thr *t); /* the next record of t is a PREEMPT */
void seek_tick(struct thr *t, ucontext_t *uc);
int seek_trap(siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was for it */

/* --- patch.c and tsc.c --- */
void patch_loaded(void); /* what the linker has loaded at the start */
/* A file was mapped to be executed: len bytes from its offset off on. st: its struct stat */
void patch_mapped(int fd, uint64_t at, uint64_t len, uint64_t off, const uint64_t *st);
void tsc_begin(struct thr *t); /* the calling thread's rdtsc is an event from here on */
void tsc_arm(void); /* in the calling thread, again */
void tsc_release(void); /* before an exec */
long tsc_set(struct thr *t, long how); /* PR_SET_TSC */
uint64_t tsc_by_clock(void);
int tsc_fault(void *uc); /* was it one? */

/* --- ending.c: recording one thread at a time --- */
void ending_begin(const struct thr *t); /* the calling thread ends, and is about to let the next one go on */
void ending_wait(void); /* which does so here */

/* --- own_locks.c --- */
/* Goes over to serial if a library or the program, or one loaded since the last look, has locks of its own. */
void own_locks_look(struct thr *t);
/* The same at a futex call that is not libc's own. */
void own_locks_futex(struct thr *t);

/*
 * How to wait for what is let go soon, before a sleep in the kernel, which costs more than most critical sections: look
 * from time to time. Each look takes the cache line away from the owner, and whoever gets a busy lock at once
 * makes its owner wait in turn: so the pauses grow.
 */
#define SPIN_LOOKS 9
static inline void spin_pause(unsigned look) /* from 0 */
{
	for (unsigned i = 8u << (look < 3 ? look : 3); i; i--)
		__builtin_ia32_pause();
}

/* --- cs.c: recording in parallel: one critical section at a time --- */
void cs_acquire(struct thr *t);
void cs_release(struct thr *t);
void cs_outside(struct thr *t); /* t lets go of a mutex, without the turn, behind the record of that */
void cs_pause(struct thr *t); /* before a call that may wait */
void cs_resume(struct thr *t);
void cs_exit(struct thr *t);
void cs_fork_child(struct thr *t);

/*
 * Replay: from where an acquire waits for its turn until it has it, for those who look at a position: the object tells whether it
 * waits for that, too.
 */
static inline void wait_is_shown(struct thr *t, const void *obj, enum wait_kind kind)
{
	if (unlikely(G.mode != SHIM_REPLAY))
		return;
	if (unlikely(!G.ctl->waits.threads))
		waits_tell();
	t->internal = kind;
	t->waits[0] = obj;
}

static inline void wait_was_shown(struct thr *t)
{
	if (unlikely(G.mode == SHIM_REPLAY))
		t->internal = 0;
}

/* Before wait_begin: for what. kind: WAIT_OTHER with a time limit. A thread's end: obj is its struct thr, or NULL. */
static inline void wait_of(struct thr *t, const void *obj, enum wait_kind kind)
{
	if (unlikely(!G.waits_told))
		waits_tell();
	t->internal = kind;
	t->waits[0] = obj;
}

/*
 * Before wait_begin, recording in parallel: the object is not free. A record says so, so that a replay shows the thread in this
 * call for as long as it waits, also when the recording ends meanwhile. One thread at a time, and with the turn of cs.c, a wait
 * has that record in any case.
 */
static inline void wait_is_seen(struct thr *t)
{
	if (G.mode == SHIM_RECORD && !G.serial && !t->cs)
		ev(t, RLOG_YIELD, 0, 0, 0);
}

/*
 * Recording: from here on a handler runs at once, and writes its records where it interrupts: so those of signals that wait are
 * written while others still queue.
 */
static inline void wait_lets_signals_in(struct thr *t)
{
	t->blocking = 1;
	while (unlikely(t->pending)) {
		t->blocking = 0;
		sig_deliver_pending(t);
		t = self;
		t->blocking = 1;
	}
}

/* Recording: around a real call that may wait, behind its stamped record: a handler runs at once. */
static inline void wait_begin_event(struct thr *t)
{
	if (unlikely(G.serial) && G.mode == SHIM_RECORD) {
		gil_block(t);
		return;
	}
	if (unlikely(t->cs))
		cs_pause(t);
	wait_lets_signals_in(t);
}

/* The same in an acquire, whose record comes behind the wait. */
static inline void wait_begin(struct thr *t)
{
	t->clean = 0;
	t->unrecorded = 1;
	wait_begin_event(t);
}

static inline void wait_end(struct thr *t)
{
	t->blocking = t->unrecorded = 0;
	t->internal = 0;
	t->waits[0] = t->waits[1] = 0;
	if (unlikely(G.serial))
		gil_unblock(t);
	else if (unlikely(t->cs_paused))
		cs_resume(t);
}

/* --- libc.c --- */
void lib_thread_end(struct thr *t); /* gives back what the thread still holds */
void lib_fork_child(uint32_t was, struct thr *now); /* was: the ordinal that the thread had in the parent */

/* --- util.c --- */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
char *fmt_str(char *p, char *end, const char *s);
char *fmt_dec(char *p, char *end, uint64_t v, int width);
char *fmt_hex(char *p, char *end, uint64_t v);
/* Up to size bytes from the start of a file, as many as one read gives. Their number, or -errno. */
long read_head(const char *path, void *buf, size_t size);
char read_task_state(const char *stat); /* the letter in a "/proc/PID/stat"; 0: there is none */
/* "/proc/self/task/TID/FILE" in path, which is returned. */
char *task_path(char *path, char *end, const struct thr *x, const char *file);
char task_state(const struct thr *x); /* as proc(5) has it; 0: it is gone */
/* The digits up to the first other character, which is skipped. Lower case. */
uint64_t parse_number(const char **s, unsigned base);
/* *bias: what is added to the addresses in the program's file. -1: its headers do not say where they are. */
int image_bias(const Elf64_Phdr *p, uint64_t n, uint64_t *bias);

#endif
