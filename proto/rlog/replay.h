/* SPDX-License-Identifier: MIT */
/*
 * replay.h: what the daemon's worker and the shim of a replaying process share. Freestanding.
 *
 * In a cell, /run/fred is a private tmpfs. Where no namespaces can be made it is a private folder with another name,
 * which the recorder takes from FRED, and `rec` is a symbolic link:
 *   /run/fred/rec          the recording (bind mount)
 *   /run/fred/logs         pNNNN/tNNNN.log: used instead of the recording's log if that is compressed or may change
 *   /run/fred/ctl.NNNN     struct replay_ctl, mapped at REPLAY_CTL_ADDR
 *   /run/fred/sched.NNNN   struct replay_sched: a linear timeline, with the events of fork ancestors before the image's
 *                          own, mapped at REPLAY_SCHED_ADDR
 *   /run/fred/out.NNNN     with REPLAY_F_OUTPUT: struct replay_out records, appended
 *
 * A replay starts at an image of origin EXEC, whose ordinal is NNNN and stands in the environment variable
 * FRED=p:NNNN:/run/fred/rec. To replay an image of origin FORK, start its nearest ancestor of origin EXEC with
 * the timeline of the wanted image and its ancestors of origin FORK in `follow`: at such a fork the process
 * becomes the child and keeps the control page (the parent ends).
 *
 * Turn-taking. `turn` counts the events done. The thread that sched names owns the turn; every other
 * thread waits on its own futex word wake[ordinal]. Position N is the state in which events 1..N have
 * taken effect; then the thread that did event N stands in the shim (in a futex wait on `go`), all
 * others in theirs. The worker writes stop_at, adds 1 to `go`, wakes it, and waits until `notify`
 * changes; `state` then says why.
 *
 * In parallel: up to event ahead_until, a thread whose slot is over runs on, and waits where its next record begins.
 * After its last slot before ahead_until it does not run on; so at that event all threads stand as in a linear replay.
 */
#ifndef FRED_RLOG_REPLAY_H
#define FRED_RLOG_REPLAY_H

#include <stddef.h>

#include "rlog/report.h"
#include "rlog/rlog.h"

#define REPLAY_DIR "/run/fred"
#define REPLAY_MAGIC 0x4c50524452ull
/*
 * The address plan. All of it lies far below where the kernel places mappings on its own, so that the
 * shim's mappings, which differ between recording and replay, never move the program's. What collectors and
 * sanitizers map at fixed addresses stays free: all up to SHIM_OWN_ADDR (Java's ZGC: 4, 8 and 16 TiB; ASan's shadow),
 * and some at SHIM_OWN_END_ADDR (CLISP has its objects from 16 TiB upwards, and from 32 TiB downwards).
 */
#define SHIM_OWN_ADDR 0x110000000000ull /* from here to SHIM_OWN_END_ADDR all is the recorder's, or a replay's */
#define SHIM_OWN_END_ADDR 0x1f8000000000ull
#define REPLAY_CTL_ADDR 0x1e0000000000ull
#define REPLAY_SCHED_ADDR 0x1e1000000000ull
#define SHIM_CONTROL_ADDR 0x1e2000000000ull /* struct rlog_control while recording */
#define SHIM_GROUP_ADDR 0x1e2800000000ull /* recording: the page of a group of processes, see group.c */
#define SHIM_THREADS_ADDR 0x1e3000000000ull /* the shim's table of threads */
#define SHIM_TRAPS_ADDR 0x1e4000000000ull /* struct rlog_traps while recording */
#define SHIM_REFS_ADDR                                                                                                 \
	0x1e5000000000ull /* recording: parts of recorded files, to compare with, see plugins/record/sys/refs.c */
#define SHIM_HOT_ADDR                                                                                                  \
	0x1e6000000000ull /* recording: of thread N at + N << SHIM_HOT_SHIFT: see plugins/record/chaos/chaos_hot.c */
#define SHIM_HOT_SHIFT 14
#define SHIM_POINT_ADDR                                                                                                \
	0x1e8000000000ull /* of thread N at + N << SHIM_POINT_SHIFT: see plugins/record/preempt/point.h */
#define SHIM_POINT_SHIFT 20
#define SHIM_HOLES_ADDR 0x1ef000000000ull /* recording: uint64_t[SHIM_HOLES], see plugins/record/preempt/ignored.h */
#define SHIM_HOLES 512u
#define SHIM_VDSO_ADDR 0x1efc00000000ull /* a page: see plugins/record/dispatch/vdso_image.c */
#define SHIM_PAGES_ADDR 0x1efd00000000ull /* what is known of shared memory: see plugins/record/shm/pages.c */
#define SHIM_HOLE_BITS 47 /* the address of such a word's object; its bytes are in the bits above */
#define SHIM_HELD_ADDR                                                                                                 \
	0x1ee000000000ull /* locks inside libc that thread N holds, when they are many: at + N * SIZE                  \
			   */
#define SHIM_HELD_SIZE (1ull << 20)
#define REPLAY_MOVED_ADDR SHIM_LOG_ADDR /* replay: mappings between the halves of an mremap, up to REPLAY_LOG_ADDR */
#define SHIM_SIGNALS_ADDR 0x1ea000000000ull /* of thread N at + N << 20: see plugins/record/core/own_stack.h */
#define SHIM_SIGNALS_SHIFT 20
#define SHIM_QUEUE_ADDR 0x1eb000000000ull /* recording: signals of thread N that wait, at + N * SIZE */
#define SHIM_QUEUE_SIZE (1ull << 24)
#define SHIM_DIRTY_ADDR                                                                                                \
	0x1ed000000000ull /* recording: shared pages that were written, see plugins/record/shm/pages.c */
#define SHIM_LOG_ADDR 0x110000000000ull /* recording: window of thread N at + N << SHIM_LOG_SHIFT */
#define SHIM_LOG_SHIFT 30
#define SHIM_SITES_ADDR                                                                                                \
	0x190000000000ull /* recording: where blocks of the heap were allocated, see plugins/record/sync/heap_detect.c \
			   */
#define REPLAY_LOG_ADDR 0x190000000000ull /* replay: whole logs, one after the other */
/* In a copy: struct replay_report (rlog/report.h), what translates code for it, and the shadow: within 2 GiB. */
#define REPLAY_REPORT_ADDR 0x147fe0000000ull
#define REPLAY_KNOWN_ADDR 0x147fe8000000ull
#define REPLAY_XLATE_ADDR 0x147ff0000000ull
#define REPLAY_SHADOW_ADDR 0x148000000000ull
#define SHIM_HEAP_MAIN_ADDR 0x200000000000ull /* arena of the first thread, 8 TiB */
#define SHIM_HEAP_ADDR 0x280000000000ull /* arena N at + N << 32 */
#define SHIM_STACK_ADDR 0x500000000000ull /* stack of thread N at + N << 26 */
#define SHIM_LARGE_STACK_ADDR 0x580000000000ull /* at + N << 32, when it has no room there */
#define SHIM_LARGE_STACKS 0x1600u /* N is below this */

/* No area may reach into the next one. What has no bound here is checked where it is mapped. */
#define RLOG_AREA_FITS(addr, size, next) _Static_assert((addr) + (size) <= (next), #addr " reaches into " #next)
#define RLOG_THREADS_FIT(addr, shift, next) RLOG_AREA_FITS(addr, (uint64_t)RLOG_MAX_THREADS << (shift), next)

_Static_assert(SHIM_LOG_ADDR >= SHIM_OWN_ADDR, "the log windows are the recorder's");
/* Is the address where the recorder, or a replay, has its own memory? */
static inline int shim_owns(uint64_t addr)
{
	return addr >= SHIM_OWN_ADDR && addr < SHIM_OWN_END_ADDR;
}

RLOG_THREADS_FIT(SHIM_LOG_ADDR, SHIM_LOG_SHIFT, SHIM_SITES_ADDR);
_Static_assert(REPLAY_MOVED_ADDR < REPLAY_REPORT_ADDR, "there is room for mappings that are moved");
RLOG_AREA_FITS(REPLAY_SHADOW_ADDR, REPORT_SHADOW_BYTES, REPLAY_LOG_ADDR);
RLOG_AREA_FITS(REPLAY_KNOWN_ADDR, sizeof(struct replay_known), REPLAY_XLATE_ADDR);
RLOG_AREA_FITS(REPLAY_KNOWN_ADDR, sizeof(struct replay_calls), REPLAY_XLATE_ADDR);
/* a byte for 8 of all arenas */
RLOG_AREA_FITS(SHIM_SITES_ADDR, (SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32) - SHIM_HEAP_MAIN_ADDR) / 8,
	       REPLAY_CTL_ADDR);
_Static_assert(REPLAY_SCHED_ADDR < SHIM_CONTROL_ADDR, "the schedule lies below the control page");
RLOG_AREA_FITS(SHIM_CONTROL_ADDR, sizeof(struct rlog_control), SHIM_GROUP_ADDR);
_Static_assert(SHIM_GROUP_ADDR < SHIM_THREADS_ADDR && SHIM_THREADS_ADDR < SHIM_TRAPS_ADDR, "in ascending order");
RLOG_AREA_FITS(SHIM_TRAPS_ADDR, sizeof(struct rlog_traps), SHIM_REFS_ADDR);
_Static_assert(SHIM_REFS_ADDR < SHIM_HOT_ADDR, "in ascending order");
RLOG_THREADS_FIT(SHIM_HOT_ADDR, SHIM_HOT_SHIFT, SHIM_POINT_ADDR);
RLOG_THREADS_FIT(SHIM_POINT_ADDR, SHIM_POINT_SHIFT, SHIM_SIGNALS_ADDR);
RLOG_THREADS_FIT(SHIM_SIGNALS_ADDR, SHIM_SIGNALS_SHIFT, SHIM_QUEUE_ADDR);
RLOG_AREA_FITS(SHIM_QUEUE_ADDR, RLOG_MAX_THREADS *SHIM_QUEUE_SIZE, SHIM_DIRTY_ADDR);
_Static_assert(SHIM_DIRTY_ADDR < SHIM_HELD_ADDR, "in ascending order");
RLOG_AREA_FITS(SHIM_HELD_ADDR, RLOG_MAX_THREADS *SHIM_HELD_SIZE, SHIM_HOLES_ADDR);
RLOG_AREA_FITS(SHIM_HOLES_ADDR, SHIM_HOLES * sizeof(uint64_t), SHIM_VDSO_ADDR);
_Static_assert(SHIM_VDSO_ADDR < SHIM_PAGES_ADDR && SHIM_PAGES_ADDR < SHIM_OWN_END_ADDR, "in ascending order");
#define REPORT_HEAP_THREADS (((2ull << REPORT_HEAP_BIT) - SHIM_HEAP_ADDR) >> 32)
_Static_assert(REPORT_HEAP_PART(SHIM_HEAP_MAIN_ADDR) && REPORT_HEAP_PART(SHIM_HEAP_ADDR), "the arenas begin there");
_Static_assert(SHIM_HEAP_MAIN_ADDR < SHIM_HEAP_ADDR, "the first thread's arena comes first");
RLOG_THREADS_FIT(SHIM_HEAP_ADDR, 32, SHIM_STACK_ADDR);
/* a program without an address of its own lies there: see SHIM_STACK_ADDR's use below */
RLOG_AREA_FITS(SHIM_STACK_ADDR, (RLOG_MAX_THREADS + 2ull) << 26, 0x555555554000ull);
_Static_assert(SHIM_LARGE_STACK_ADDR > 0x555555554000ull, "a program lies between the two areas of stacks");
/* libraries and mappings of an ordinary user's process that is moved are below 0x6f0000000000 (launch/place.h) */
RLOG_AREA_FITS(SHIM_LARGE_STACK_ADDR, (uint64_t)SHIM_LARGE_STACKS << 32, 0x6e0000000000ull);

/* Of a thread other than the first one. A program, and what brk gives it, lies between the two areas. */
static inline int shim_is_stack(uint64_t addr)
{
	return addr - SHIM_STACK_ADDR < (RLOG_MAX_THREADS + 2ull) << 26 ||
	       addr - SHIM_LARGE_STACK_ADDR < (uint64_t)SHIM_LARGE_STACKS << 32;
}

enum replay_state {
	REPLAY_RUNNING = 0,
	REPLAY_PARKED = 1, /* at stop_at */
	REPLAY_ENDED = 2, /* all events are done; the thread stands at the last one */
	REPLAY_DIVERGED = 3, /* see struct replay_diverge; the thread stands in the shim */
	REPLAY_FAILED = 4, /* the shim has failed: text says how */
	REPLAY_UNFIT = 5, /* in parallel: a thread waits for a lock inside libc, which no thread releases */
};

enum replay_flags {
	REPLAY_F_OUTPUT = 1, /* append what goes to standard output and error to out.NNNN */
	/* the program is still being recorded: the last event has not happened yet, and is in no log */
	REPLAY_F_LIVE = 4,
	/* system calls are caught by Syscall User Dispatch, since CRIU without privileges does not dump filters */
	REPLAY_F_DISPATCH = 8,
	/* private memory may be mapped from a file, so its pages are replaced instead of dropped */
	REPLAY_F_TOUCHED = 16,
	REPLAY_F_OTHER_PIDS = 32, /* the kernel chooses PIDs and TIDs; the program is shown the recorded ones */
};

enum replay_cmd {
	REPLAY_CMD_RUN = 0,
	/*
	 * Fork a copy that leaves the timeline: one thread, calls go straight to libc, nothing is compared. cmd_result
	 * is its PID or -errno.
	 */
	REPLAY_CMD_SNAP = 1,
};

struct replay_diverge {
	uint32_t thread; /* ordinal */
	uint32_t expected_kind, got_kind; /* enum rlog_kind; 0: end of the log */
	uint64_t expected[8], got[8]; /* SYS: count, nr, args, check; else operands */
	uint32_t expected_n, got_n;
	uint64_t event; /* number of the event that did not match */
	uint64_t caller; /* return address in the program */
	char text[196]; /* what differs, NUL-terminated */
	uint32_t expected_hash; /* of the object, if the kind has one */
};

/*
 * Where a thread waits in the shim: the registers that its caller needs, with rsp and rip as they are after the wait.
 */
struct replay_stand {
	uint64_t reg[8]; /* rbx, rbp, r12, r13, r14, r15, rsp, rip */
	uint32_t there; /* 0: the thread runs; 1: it waits; 2: it is inside an event, and may hold a lock inside libc */
	uint32_t reserved;
};

/*
 * A child of a fork in the replay, if the worker wants children: it stands at the fork, while its parent continues,
 * until `go` is not 0. Then it has its own copy of the control page and the schedule, and continues.
 */
#define REPLAY_BRANCHES 1024u
struct replay_branch {
	uint32_t process; /* image ordinal */
	uint32_t go; /* futex */
};

struct replay_ctl {
	uint64_t magic;
	uint32_t version;
	uint32_t process; /* ordinal of the image that uses this page */
	uint32_t flags;
	uint32_t variant; /* of the schedule: how many replays before this one diverged (reclog/timeline.h) */
	uint32_t follow[32]; /* at a fork of one of these images: become the child; 0: end of the list */
	uint32_t state;
	uint32_t notify; /* futex: +1 at every change of state or end of a command */
	uint32_t go; /* futex: +1 lets the parked thread continue */
	uint32_t cmd;
	int64_t cmd_result;
	uint64_t stop_at; /* event number to stop after; ~0: none */
	uint64_t turn;
	uint64_t total; /* events on the timeline */
	uint32_t slot; /* index into sched */
	uint32_t slot_left; /* events left in it */
	uint32_t owner; /* thread ordinal whose turn it is */
	uint32_t parked; /* ordinal of the thread that waits on `go` */
	int32_t pid; /* of this image, as seen in the cell */
	uint32_t epoch; /* the worker adds 1 after a restore */
	uint64_t mode_addr; /* address of the shim's mode word: 0 written there lets calls go straight to libc */
	uint64_t dying; /* address of the TID word of a thread that is past its EXIT, 0: none */
	struct replay_diverge diverge;
	char text[256];
	uint32_t wake[RLOG_MAX_THREADS]; /* futex words, by ordinal */
	int32_t tid[RLOG_MAX_THREADS]; /* by ordinal, 0: not alive */
	uint64_t stand_addr, stand_size; /* of thread N: struct replay_stand at stand_addr + N * stand_size */
	uint64_t ahead_until; /* threads run in parallel up to this event; 0: the replay is linear */
	uint64_t ahead_from; /* index of the image's own first slot: only later ones run in parallel */
	uint32_t
		ahead_end[RLOG_MAX_THREADS]; /* by ordinal: 1 + index of its last slot that begins before ahead_until */
	uint64_t walk_addr; /* rlog/walk.h; 0: this recorder is older than that */
	/*
	 * Of traced threads. Not 0: the tracer observes the program's own code only at int3s, so that threads may run
	 * in translated code. The number changes when the int3s do.
	 */
	uint32_t blind;
	/*
	 * In a copy that leaves the timeline. Not 0: a computation that was interrupted in the recording is not
	 * interrupted there, but runs on, at most to its next call, which counts as an event.
	 */
	uint32_t endless;
	struct rlog_waits waits; /* of an older recorder: all 0 */
	uint32_t no_checkpoint; /* CRIU cannot save part of the state */
	uint32_t aliases; /* the program has mapped some memory more than once: plugins/record/shm/alias.c */
	/*
	 * The address of the recorder's word that holds the address of a struct replay_report (rlog/report.h), or 0. 0:
	 * an older recorder cannot report, or the heap is glibc's.
	 */
	uint64_t report_addr;
	/* how many kinds of entries the recorder writes: REPORT_KIND_COUNT; an older recorder: 0 */
	uint64_t report_kinds;
	uint32_t learns_ids; /* with REPLAY_F_OTHER_PIDS, a thread that waited takes `pid` and `tid` from here; an older
				recorder: 0 */
	/*
	 * A function of the recorder that takes long (it searches the program's text) and calls nothing of the program:
	 * a thread that is stepped may run to its return. 0: an older recorder.
	 */
	uint64_t search_addr;
	uint64_t report_filters; /* not 0: replay_report.filter is understood; an older recorder: 0; see
				    REPORT_FILTERS_NEW */
	/* incremented for each piece of long work of the recorder's own, to show that it makes progress */
	uint64_t own_work;
	uint32_t branches, branches_end; /* in branch[]: the next free one, and where the usable ones end */
	struct replay_branch branch[REPLAY_BRANCHES];
	uint64_t walk_codes; /* REPLAY_WALK_CODES of rlog/walk.h; an older recorder: 0 */
	uint64_t walks_threads; /* not 0: several threads of a copy may walk (rlog/walk.h); an older recorder: 0 */
	/*
	 * Functions of the recorder, in this range, that reach the program's code only by calls of signal handlers: a
	 * thread that is stepped may run to their return, with a breakpoint at these calls. An older recorder: 0.
	 */
	uint64_t closed_lo, closed_hi;
	/*
	 * With REPLAY_F_OTHER_PIDS, in the place of `branches_end`: an older recorder makes none. The PIDs of those in
	 * branch[], each of which has a process group of its own in the session of the first process.
	 */
	uint32_t other_branches_end, reserved;
	int32_t branch_pid[REPLAY_BRANCHES];
};

RLOG_AREA_FITS(REPLAY_CTL_ADDR, sizeof(struct replay_ctl), REPLAY_SCHED_ADDR);
/* A recording contains the recorder that made it: so new fields come at the end. */
_Static_assert(offsetof(struct replay_ctl, walk_addr) == 99200 && offsetof(struct replay_ctl, waits) == 99216 &&
		       offsetof(struct replay_ctl, report_addr) == 99304 &&
		       offsetof(struct replay_ctl, search_addr) == 99328 &&
		       offsetof(struct replay_ctl, own_work) == 99344 &&
		       offsetof(struct replay_ctl, branches) == 99352 && offsetof(struct replay_ctl, branch) == 99360 &&
		       offsetof(struct replay_ctl, walk_codes) == 107552 &&
		       offsetof(struct replay_ctl, walks_threads) == 107560 &&
		       offsetof(struct replay_ctl, closed_lo) == 107568 &&
		       offsetof(struct replay_ctl, other_branches_end) == 107584 &&
		       offsetof(struct replay_ctl, branch_pid) == 107592,
	       "struct replay_ctl");

struct replay_slot {
	uint32_t thread; /* ordinal */
	uint32_t count; /* events the thread does before it hands over; the last one carries a stamp */
};

struct replay_sched {
	uint64_t magic;
	uint32_t version;
	uint32_t process;
	uint64_t slots;
	uint64_t total; /* events: sum of count */
	uint64_t prefix_slots; /* of those, slots that belong to fork ancestors */
	uint64_t prefix_total;
	uint64_t reserved[2];
	struct replay_slot slot[];
};

struct replay_out {
	uint64_t stamp; /* of the write, to merge several processes */
	uint32_t fd; /* 1 or 2; else see below */
	uint32_t len;
	uint8_t data[];
};

/*
 * Records that hold a uint64_t instead of bytes: the output is a file, and the program moves in it. fd is then 1 or 2,
 * plus the kind shifted by REPLAY_OUT_SHIFT.
 */
#define REPLAY_OUT_SHIFT 8
enum replay_out_kind {
	REPLAY_OUT_BYTES,
	REPLAY_OUT_SEEK, /* the position at which the following output is written */
	REPLAY_OUT_AT, /* the same up to REPLAY_OUT_BACK, after which the position is the former one */
	REPLAY_OUT_BACK,
	REPLAY_OUT_SIZE, /* the file's new size */
};

#endif
