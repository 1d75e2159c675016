/* SPDX-License-Identifier: MIT */
/*
 * target.h: the replaying process of a recording, inside a cell. One at a time per cell.
 *
 * The caller is pid 1 of the cell. It makes a target for a process image of the recording, launches it (position 0),
 * and moves it forward; going back is a new launch or a checkpoint (ckpt/store.h).
 */
#ifndef FRED_TARGET_TARGET_H
#define FRED_TARGET_TARGET_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "reclog/rec.h"
#include "reclog/timeline.h"
#include "rlog/replay.h"
#include "target/family.h"
#include "target/tids.h"

#define TARGET_KILLED_BY                                                                                               \
	"by somebody, or by the kernel because memory ran out (see `dmesg`); the recording is unchanged, and the "     \
	"command can be repeated"
#define TARGET_KILLED_TOLD 1 /* reason of an ERR_KILLED whose message says that */
#define TARGET_SLOW_S 1.0

/*
 * The children for branches (target/branch.h) that the process makes: those with a place in replay_ctl.branch from
 * `from` to before `end`. waits: it is such a child itself, at `place`.
 */
struct target_branches {
	uint32_t from, end;
	bool waits;
	uint32_t place;
	unsigned variant; /* of the replay that made it */
	uint64_t prefix; /* how many events come before its own; 0: not known */
};

struct target {
	const struct rec *rec; /* borrowed */
	struct timeline *tl;
	uint32_t process; /* the image whose timeline this is */
	uint32_t root; /* its nearest ancestor of origin EXEC: what is launched, and whose control page it has */
	uint32_t base; /* the image that it begins with: root, or in a bounded recording one that has a start */
	unsigned variant;
	bool diverged; /* at least once */
	struct target_branches branch;
	char own_root[64]; /* the folder in which the process is started: see root.h */
	bool on_host; /* the host still has the program's files unchanged */
	uint32_t flags; /* enum replay_flags */
	uint32_t sched_crc; /* identifies the timeline: a checkpoint of another timeline cannot be used */
	struct replay_ctl *ctl; /* shared with the process */
	char ctl_path[64]; /* its file in the cell */
	pid_t pid; /* 0: none is alive */
	/* in a plain cell: the session of the process, or of the one that it was before; 0: none since target_kill */
	pid_t session;
	struct timeline_thread *threads; /* in a plain cell: all threads of the timeline, with their recorded TIDs */
	unsigned nthreads;
	struct tids tids; /* also in a plain cell: with those of its earlier processes */
	int cpu; /* the core it is pinned to; -1: none */
	cpu_set_t cpus; /* cpu not -1: the cores that the worker may use */
	double slow_s; /* CPU time between two events beyond the recorded time: see stall.h */
	unsigned stalls; /* how many runs made no progress */
	/* set by a caller that moves the process in another way, if it makes no progress; kind 0: it does */
	struct err lost;
	/* called while a run goes on, some times a second; may be NULL */
	void (*progress)(void *ctx, uint64_t event, uint64_t total);
	/* is the run to end, with ERR_CANCELLED? Called as often as progress; may be NULL */
	bool (*cancelled)(void *ctx);
	void *progress_ctx;
};

/*
 * Binds the recording into the cell, merges the timeline of the image by this schedule variant and
 * writes it where the shim finds it. branches: NULL for none.
 */
int target_init(struct target *t, const struct rec *rec, uint32_t process, unsigned variant, uint32_t flags,
		const struct target_branches *branches, struct err *e);
/* Kills the process and frees the rest. Can be called on a zeroed struct. */
void target_fini(struct target *t);

uint64_t target_total(const struct target *t);

/*
 * Starts the process, which then stands at position 0; an earlier one is killed. Not if it begins with a checkpoint:
 * see start.h.
 */
int target_launch(struct target *t, struct err *e);
/*
 * The two parts of a start, for callers that start the process in another way: making the control page anew, and
 * waiting until it stands still.
 */
int target_start_over(struct target *t, struct err *e);
int target_await_start(struct target *t, struct err *e);
/* Takes over a restored process, whose control page is in place. */
void target_adopt(struct target *t, pid_t pid);
/*
 * As target_adopt, for a process that stands at the beginning of the remaining timeline; it continues by the present
 * timeline.
 */
int target_adopt_start(struct target *t, pid_t pid, struct err *e);
void target_kill(struct target *t);

/*
 * Lets the process run to position n (0 to total). A divergence is ERR_INTERNAL with both sides of the difference;
 * *diverged (may be NULL) tells it from other failures.
 */
int target_run_to(struct target *t, uint64_t n, bool *diverged, struct err *e);
/* Is it where the replay does not match, or cannot continue? *e says why. */
bool target_is_lost(const struct target *t, struct err *e);
/* Lets it run towards n + 1 without waiting, for a tracer that follows it. */
void target_release(struct target *t, uint64_t n);

/*
 * Makes a copy of the process that is off the timeline: it has one thread, which stands in the shim, and its calls into
 * the shim go straight to libc. It is a child of the caller; kill it with target_snap_kill.
 */
int target_snap(struct target *t, pid_t *pid, struct err *e);
void target_snap_kill(pid_t pid);

/* TID of a thread by ordinal, 0 when it is not alive. */
static inline pid_t target_tid(const struct target *t, uint32_t thread)
{
	return thread < RLOG_MAX_THREADS ? t->ctl->tid[thread] : 0;
}

/* Notes the TIDs of its threads, for target_now. */
static inline void target_note_tids(struct target *t)
{
	if (t->flags & REPLAY_F_OTHER_PIDS)
		tids_note(&t->tids, t->ctl);
}

/* The present TID of a thread that had this one, perhaps before the process was started again. */
static inline pid_t target_now(const struct target *t, pid_t tid)
{
	return t->flags & REPLAY_F_OTHER_PIDS ? tids_now(&t->tids, t->ctl, tid) : tid;
}

/* The number by which users know this thread: the recorded TID, which in a plain cell is not the kernel's. */
pid_t target_shown_tid(const struct target *t, uint32_t thread, pid_t tid);

#endif
