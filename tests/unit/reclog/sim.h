/* SPDX-License-Identifier: MIT */
/*
 * sim.h: a made-up multi-threaded program, run with random scheduling and recorded as the recorder
 * would: a release takes its stamp at its entry and has its effect later, an acquire is written
 * when it has been got, without a stamp. And a checker that runs the same operations in another
 * order, and refuses when a lock is held, a semaphore 0, a thread not there.
 */
#ifndef FRED_TEST_SIM_H
#define FRED_TEST_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "logbuild.h"

#define SIM_MUTEXES 4u
#define SIM_SEMS    2u
#define SIM_CONDS   2u
#define SIM_THREADS 9u

enum sim_end { SIM_KILLED, SIM_CRASH, SIM_EXIT_GROUP };

struct sim_op {
	uint8_t kind;	       /* enum rlog_kind */
	uint8_t object, mutex; /* COND_WAIT: both */
	uint32_t peer;	       /* CREATE, JOIN: the thread; COND_SIGNAL: who wakes, 0: none */
	uint64_t stamp;	       /* real time, of acquires too */
};

struct sim_thread {
	struct sim_op *op;
	uint64_t nops, cap;
	struct logbuild log;
	int state;	     /* sim.c */
	struct sim_op doing; /* what it waits for, or whose effect is still to come */
	uint32_t held;	     /* set of mutexes */
};

struct sim {
	unsigned nthreads;			   /* created so far */
	struct sim_thread thread[SIM_THREADS + 1]; /* by ordinal */
	uint32_t owner[SIM_MUTEXES], sem[SIM_SEMS];
	uint64_t now;
	unsigned seed;
	uint8_t hash_mod;    /* few values: hashes collide */
	uint32_t end_thread; /* who ended the process, 0: killed */
	uint64_t end_index;
};

/*
 * Runs it for about `steps` steps; after the end the others go on for a moment. Free with sim_fini.
 */
void sim_run(struct sim *s, unsigned seed, unsigned steps, enum sim_end end, uint8_t hash_mod);
void sim_fini(struct sim *s);

struct sim_check {
	const struct sim *s;
	uint64_t done[SIM_THREADS + 1];
	bool created[SIM_THREADS + 1], exited[SIM_THREADS + 1], waits[SIM_THREADS + 1];
	unsigned woken[SIM_THREADS + 1]; /* signals that its waits have not used */
	uint8_t wants[SIM_THREADS + 1];	 /* mutex + 1 to get back after a wait */
	uint32_t owner[SIM_MUTEXES], sem[SIM_SEMS];
};

void sim_check_init(struct sim_check *c, const struct sim *s);
/* The thread's next operation happens now. NULL, or why it cannot. */
const char *sim_check_step(struct sim_check *c, uint32_t thread);

#endif
