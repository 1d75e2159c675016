/* SPDX-License-Identifier: MIT */
/*
 * world.h: a made-up process for the timeline cursor: real logs give the events and threads; a script gives the visible
 * states between them. Operations that are used wrongly end the test.
 */
#ifndef FRED_TEST_TIMETRAVEL_WORLD_H
#define FRED_TEST_TIMETRAVEL_WORLD_H

#include "../base/test.h"

#include "../reclog/tlfix.h"
#include "timetravel/cursor_int.h"
#include "timetravel/mark.h"

#define WORLD_STATES 400
#define WORLD_WORDS 8
#define WORLD_NEVER 0xffu

/* A visible state: what its instruction, which comes next, does. */
struct world_state {
	uint64_t segment; /* the event before it */
	uint64_t pc;
	uint32_t thread;
	unsigned word; /* this word of memory is changed; WORLD_NEVER: none */
};

struct world {
	struct cursor t;
	struct nav nav;
	struct replay_ctl ctl;
	struct recbuild rb;
	struct rec *rec;
	struct world_state state[WORLD_STATES];
	unsigned states;
	unsigned at; /* the state in which it stands, CURSOR_INSIDE or CURSOR_GROUP */
	bool fresh; /* CURSOR_GROUP: it stands at event nav_at, and has made nothing of the segment after that */
	uint64_t ckpt; /* there is a checkpoint at this event; 0: none */
	uint64_t interrupted; /* the segment after this event ends in the middle of the program; 0: none */
	uint64_t fork; /* this event makes another process of it; 0: none */
	bool counts; /* who goes inside counts the stops on the way */
	unsigned runs, entered; /* how often it ran with all threads, and entered a segment */
	/* what is in memory: each word counts its changes; the stack has the number of the state on top */
	uint64_t word[WORLD_WORDS], stack[2 * MARK_WORDS];
};

/*
 * Two threads; events by thread, in order: 1 1 2 1 1 1p 2 1 2 1s 1, where p is an interruption in the middle of the
 * program, and s a system call number 39. script[n]: the states after event n: letters are addresses, and a digit after
 * one says that its instruction changes that word.
 */
#define WORLD_EVENTS 11
void world_begin(struct world *w, const char *const script[WORLD_EVENTS]);
/* A process that was forked by event 3 of its parent, whose thread is thread 1 from then on: events 1 1 1f 1 1 1. */
#define WORLD_FORK_EVENTS 6
void world_begin_fork(struct world *w, const char *const script[WORLD_FORK_EVENTS]);
void world_end(struct world *w);

/* An address of a script. */
uint64_t world_pc(char c);
pid_t world_tid(uint32_t thread);
/* A stop of b at state i: at its address, or after a change. 0: none. */
enum stop_kind world_stop(struct world *w, const struct breaks *b, unsigned i);
/* Where the cursor stands; asserts that the cursor believes so too. */
unsigned world_at(struct world *w);
/* Stands inside, in state i. */
void world_stand(struct world *w, unsigned i);

#endif
