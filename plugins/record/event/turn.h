/* SPDX-License-Identifier: MIT */
/* turn.h: replay: whose turn it is (turn.c), and the records of a thread (replay.c). */
#ifndef FRED_RECORD_TURN_H
#define FRED_RECORD_TURN_H

#include "record/core/state.h"

/* Reports that the recorder cannot go on in a replay (the worker shows the text), and stops this process. */
_Noreturn void shim_fail(const char *text);

struct rlog_rec;
void turn_skip(struct thr *t); /* gives the turn up as the next record says, without a call */
int turn_next_is(const struct thr *t,
		 enum rlog_kind kind); /* is the next record of this kind, which may be a yield? Only looks */
int turn_peek(struct thr *t, struct rlog_rec *r); /* 1: there is a record; does not consume */
/*
 * After the first half of an event: the record of its second half, if it has one. Only looks. Other threads may have
 * run in between: what they wrote to shared memory comes before it.
 */
int turn_result_ahead(const struct thr *t, struct rlog_rec *r);
/* The record at *p, or the one after pages and yields there; *p becomes its end. 0: the log has none. Only looks. */
int turn_record_ahead(const struct thr *t, const uint8_t **p, struct rlog_rec *r);
/* Is the next record that of such a CALL? Waits for the thread's turn. */
int turn_next_call_is(struct thr *t, enum rlog_call which);
int turn_call_ahead(const struct thr *t, enum rlog_call which); /* as turn_next_call_is; only looks, does not wait */
void turn_skip_page(struct thr *t); /* as turn_skip, for a PAGE that has been taken over */
void turn_take(struct thr *t, struct rlog_rec *r, enum rlog_kind kind); /* consumes; diverges on another kind */
void turn_done(struct thr *t);
void turn_seek(struct thr *t); /* begins the search if t is to be interrupted before its next event */
void turn_wait(struct thr *t); /* until this thread owns the turn */
void turn_exit(struct thr *t); /* hands the turn on for good */
_Noreturn void turn_end(struct thr *t, int state);
_Noreturn void turn_diverge(struct thr *t, const struct rlog_rec *want, enum rlog_kind got, const uint64_t *ops,
			    unsigned nops, const char *text);
/* Replay in parallel: waits for the turn of t, which comes to a record or is about to read what others may change. */
static inline void turn_await(struct thr *t)
{
	if (unlikely(t->away))
		turn_wait(t);
}
/* The same, where the thread's next record is that of an event: a donated turn ends here. */
void turn_before_event(struct thr *t);
int turn_map_log(struct thr *t); /* maps the log of t. -1: it has no log, and no event */
void turn_start(struct thr *t); /* position 0: stops there if wanted, then waits for its turn */
void turn_fork_child(struct thr *t); /* goes on as the child of a fork */
void turn_map_past_end(uint64_t page); /* accesses there are past the end of a file: SIGBUS */
/* The path of a file of an image in the folder that is shared with the worker (rlog/replay.h). */
void turn_file(char *buf, char *end, const char *name, uint32_t process);
void turn_attach(uint32_t process); /* maps the control page and the schedule of an image */
void turn_attach_again(void); /* the same, when the worker has written them anew */

/* ---- for the files of this folder ---- */

void give_turn(uint32_t to);

enum { STANDS = 1, STANDS_INSIDE = 2 };

/* May t run on when the turn goes to another thread? Not if its next slot lies beyond the bound. */
int turn_runs_ahead(const struct thr *t);
/* Is the event after the present one t's as well? */
int turn_stays(const struct thr *t);

static inline int has_turn(const struct thr *t)
{
	const struct replay_ctl *c = G.ctl;

	/* another process: the parent of a followed fork, about to end, while the child goes on */
	return __atomic_load_n(&c->owner, __ATOMIC_SEQ_CST) == t->ordinal && c->process == G.process;
}

/* Do threads run on after their slots, up to the next record? */
static inline int turn_parallel(void)
{
	return G.ctl->turn < G.ctl->ahead_until;
}

/* The event is counted, and the turn goes to the thread whose slot is next; returns when it is back. */
void turn_pass(struct thr *t);
/*
 * bytes that turn_scrub() clears: what a wait, or an earlier event without one, left on the stack would show in later
 * frames at the same place
 */
#define LEFT_DEEP 1024u /* bytes: turn_scrub() wipes them */
void turn_scrub(void);
/*
 * The same at the end of an event. A wait clears memory further down, so this clears as far down as a wait does: data
 * that the program itself has left there (such as the dynamic linker, when it bound a function) is cleared whether the
 * thread waited or not.
 */
#define LEFT_DEEP_DONE (LEFT_DEEP + 512u)
void turn_scrub_done(void);

#endif
