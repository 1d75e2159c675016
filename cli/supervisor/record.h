/* SPDX-License-Identifier: MIT */
/* record.h: runs a program under the recorder, and completes its recording. Begin with record_run in record.c. */
#ifndef FRED_SUPERVISOR_RECORD_H
#define FRED_SUPERVISOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/launch.h"
#include "rlog/rlog.h"
#include "supervisor/keeper.h"
#include "supervisor/tsc.h"

struct record_opts {
	const char *dir; /* NULL: a new one in $FRED_HOME/recordings */
	char *const *argv; /* program and arguments, NULL-terminated */
	enum rlog_sched sched;
	enum rlog_malloc malloc_mode;
	uint64_t chaos_seed;
	uint64_t max_log; /* limit of the logs, in bytes; 0: none */
	const char *cwd; /* NULL: the caller's */
	const struct launch_fd *fds; /* the program's descriptors; NULL: the caller's (launch/launch.h) */
	unsigned nfds;
	bool hold; /* for record_start: the program is traced, stopped before its first instruction, in a process group
		      of its own */
	/* for record_run: called when the program has ended; false: the recording is not wanted, and is not completed
	 */
	bool (*ended)(void *arg, int status);
	void *arg;
};

struct record_result {
	char *dir; /* malloc'd */
	json_t *meta; /* the contents of meta.json */
	int exit_code; /* the program's: its own or 128 + signal */
	bool unwanted; /* opts->ended returned false */
};

/* A program that is being recorded. */
struct record_session {
	struct record_opts opts;
	struct record_result result; /* exit_code is set when the program has ended */
	struct rlog_control *control;
	struct keeper *keeper;
	struct tsc_moment begin;
	double start_s;
	pid_t pid; /* a child of the caller, who reaps it */
};

/* Starts the program. -1: it was not started, and nothing is left. record_session_fini in any case. */
int record_start(struct record_session *s, const struct record_opts *o, struct err *e);
/* Waits for the end of the program, and serves its recording meanwhile. *status: as from waitpid. */
int record_wait(struct record_session *s, int *status, struct err *e);
/* Completes the recording, when the program has ended with this status, as from waitpid. */
int record_end(struct record_session *s, int status, struct err *e);
void record_session_fini(struct record_session *s);

/*
 * Records a program. 0 when the program ran, however it ended; -1 when fred failed, before the program ran or while it
 * completed the recording (then r->dir is set). record_result_fini in any case.
 */
int record_run(const struct record_opts *o, struct record_result *r, struct err *e);
void record_result_fini(struct record_result *r);

/* The value of --sched (NULL: parallel) and of --max-log (NULL: no limit). ERR_USAGE. */
int record_set_sched(struct record_opts *o, const char *sched, struct err *e);
int record_set_max_log(struct record_opts *o, const char *size, struct err *e);

#endif
