/* SPDX-License-Identifier: MIT */
/* hunt.c: see hunt.h. The loop: keeps --jobs children busy, ends those that take too long, and stops when there is a
 * reason. */
#include "hunt/hunt.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonx.h"
#include "hunt/good.h"
#include "hunt/groups.h"
#include "hunt/guard.h"
#include "hunt/hunt_int.h"
#include "hunt/task.h"
#include "hunt/verdict.h"

#define TICK_MS 1000
#define ENDING_MS 50 /* between two looks at what is being ended */
#define BLOCK_MOST 16u
#define FIRST_TIMEOUT_S 600.0 /* while no run has passed yet */
#define LEAST_TIMEOUT_S 10.0
#define TIMES_LONGEST 20.0

/* ---- what to do next ---- */

static bool holds(const struct hunt *h, uint64_t local)
{
	for (unsigned i = 0; i < h->njobs; i++)
		if ((h->jobs[i].kind == JOB_RUN || h->jobs[i].kind == JOB_VERDICT) && h->jobs[i].run.local == local)
			return true;
	return false;
}

static bool block_is_done(const struct hunt *h, uint64_t first)
{
	for (uint64_t i = first; i < first + h->block && i < h->limit; i++)
		if (!ledger_is_done(&h->ledger, i))
			return false;
	return true;
}

static bool read_others(struct hunt *h)
{
	struct err e;

	h->read_s = clock_s();
	if (!ledger_read(&h->ledger, &e))
		return true;
	hunt_fail(h, &e);
	return false;
}

/*
 * Claims the first block of runs that no task does. What other tasks have done meanwhile is read after the claim; if
 * the block is done by then, the claim is given back. false: no block is left, or none can be claimed now.
 */
static bool claim_block(struct hunt *h)
{
	for (uint64_t first = h->ledger.prefix / h->block * h->block; first < h->limit; first += h->block) {
		cleanup_free char *name = settle_block(h, first);
		struct err e;
		int r;

		if (plan_needs(first + h->block - 1) > h->ledger.prefix)
			return false;
		if (block_is_done(h, first))
			continue;
		r = state_claim(&h->state, name, &e);
		if (r < 0)
			hunt_fail(h, &e);
		if (r < 0)
			return false;
		if (!r)
			continue;
		if (!read_others(h))
			return false;
		if (block_is_done(h, first)) {
			state_release(&h->state, name);
			continue;
		}
		h->next = first;
		h->end = first + h->block < h->limit ? first + h->block : h->limit;
		return true;
	}
	return false;
}

static bool next_run(struct hunt *h, uint64_t *local)
{
	while (h->nagain) {
		*local = h->again[--h->nagain];
		if (!ledger_is_done(&h->ledger, *local))
			return true;
	}
	do
		for (; h->next < h->end; h->next++)
			if (!ledger_is_done(&h->ledger, h->next) && !holds(h, h->next)) {
				*local = h->next++;
				return true;
			}
	while (claim_block(h));
	return false;
}

static struct job *free_job(struct hunt *h)
{
	for (unsigned i = 0; i < h->njobs; i++)
		if (h->jobs[i].kind == JOB_NONE)
			return &h->jobs[i];
	return NULL;
}

static double timeout_of(const struct hunt *h)
{
	double least = TIMES_LONGEST * h->ledger.longest_s;

	if (h->spec->timeout_s == HUNT_TIMEOUT_NONE)
		return INFINITY;
	if (h->spec->timeout_s > 0)
		return h->spec->timeout_s;
	if (h->ledger.longest_s <= 0)
		return FIRST_TIMEOUT_S;
	return least > LEAST_TIMEOUT_S ? least : LEAST_TIMEOUT_S;
}

static void begin_run(struct hunt *h, struct job *j, uint64_t local)
{
	struct hunt_run *r = &j->run;
	cleanup_free char *name = NULL;
	struct err e;

	*r = (struct hunt_run){.local = local,
			       .n = ledger_global(&h->ledger, local),
			       .sched = plan_class(&h->ledger.plan, local),
			       .out = -1};
	r->seed = h->spec->seed + r->n;
	name = str_fmt("%s.%010llu", h->state.task, (unsigned long long)r->n);
	r->dir = state_path(&h->state, "runs", name);
	j->kind = JOB_RUN;
	h->busy++;
	if (run_start(r, h->spec, h->hooks, verdict_is_needed(h->spec) || good_is_wanted(&h->state, r->sched), &e)) {
		hunt_fail(h, &e);
		run_fini(r);
		j->kind = JOB_NONE;
		h->busy--;
		return;
	}
	r->deadline_s = r->started_s + timeout_of(h);
}

static void begin_cause(struct hunt *h, struct job *j, const struct failure *f)
{
	struct err e;

	j->pid = cause_start(f, &e);
	if (j->pid < 0) {
		hunt_fail(h, &e);
		return;
	}
	j->kind = JOB_CAUSE;
	j->n = f->n;
	h->busy++;
}

static bool all_done(const struct hunt *h)
{
	return h->ledger.prefix >= h->limit;
}

/* Begins searches for causes before runs, so that --until-failure ends soon. */
static void begin(struct hunt *h)
{
	struct job *j;
	uint64_t local;

	while (!h->hurry && (j = free_job(h))) {
		const struct failure *f = settle_next_cause(h);

		if (f)
			begin_cause(h, j, f);
		else if (!h->stopping && !h->full && next_run(h, &local))
			begin_run(h, j, local);
		else
			break;
	}
}

/* ---- what happens meanwhile ---- */

static void reap(struct hunt *h)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < h->njobs; i++) {
			struct job *j = &h->jobs[i];

			if (j->kind == JOB_NONE || pid != (j->kind == JOB_RUN ? j->run.pid : j->pid))
				continue;
			settle(h, j, status);
			break;
		}
}

static void end_job(struct job *j, const char *reason)
{
	if (j->kind == JOB_RUN) {
		run_end(&j->run, reason);
		return;
	}
	task_end_below(j->pid);
	kill(j->pid, SIGKILL);
}

static void end_late(struct hunt *h)
{
	double now = clock_s();

	for (unsigned i = 0; i < h->njobs; i++) {
		struct job *j = &h->jobs[i];

		/* with --until-failure, runs that are under way are ended: whoever resumes the hunt does them again */
		if (j->kind != JOB_NONE && (h->hurry || (h->stopping && j->kind != JOB_CAUSE)))
			end_job(j, "stop");
		else if (j->kind == JOB_RUN && (j->run.ended_for || now > run_deadline_s(&j->run)))
			end_job(j, "timeout");
	}
}

static bool is_ending(const struct hunt *h)
{
	for (unsigned i = 0; i < h->njobs; i++)
		if (h->jobs[i].kind != JOB_NONE && (h->hurry || h->jobs[i].run.ended_for))
			return true;
	return false;
}

static int wait_ms(const struct hunt *h)
{
	double now = clock_s(), soon = now + TICK_MS / 1000.0;

	if (is_ending(h))
		return ENDING_MS;
	for (unsigned i = 0; i < h->njobs; i++)
		if (h->jobs[i].kind == JOB_RUN && run_deadline_s(&h->jobs[i].run) < soon)
			soon = run_deadline_s(&h->jobs[i].run);
	if (h->spec->budget_s > 0 && h->began_s + h->spec->budget_s < soon)
		soon = h->began_s + h->spec->budget_s;
	return soon > now ? (int)((soon - now) * 1000) + 1 : 1;
}

static void got_signal(struct hunt *h)
{
	struct signalfd_siginfo si;

	while (read(h->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		h->signal = (int)si.ssi_signo;
		hunt_stop(h, HUNT_INTERRUPTED, true);
	}
}

static void wait_for_something(struct hunt *h)
{
	struct pollfd *p = xcalloc(h->njobs + 1, sizeof(*p));
	unsigned n = 1;

	p[0] = (struct pollfd){h->signals, POLLIN, 0};
	for (unsigned i = 0; i < h->njobs; i++)
		if (h->jobs[i].kind == JOB_RUN && h->jobs[i].run.out >= 0)
			p[n++] = (struct pollfd){h->jobs[i].run.out, POLLIN, 0};
	if (poll(p, n, wait_ms(h)) > 0) {
		got_signal(h);
		for (unsigned i = 0; i < h->njobs; i++)
			if (h->jobs[i].kind == JOB_RUN)
				run_read(&h->jobs[i].run);
	}
	free(p);
}

/* Once a second. */
static void look_around(struct hunt *h)
{
	cleanup_free char *text = NULL;
	double now = clock_s();
	struct err e;

	if (now - h->looked_s < TICK_MS / 1000.0)
		return;
	h->looked_s = now;
	state_beat(&h->state);
	if (!h->error.kind && journal_sync(&h->state.journal, &e))
		hunt_fail(h, &e);
	if (now - h->read_s > TICK_MS / 1000.0)
		read_others(h);
	disk_enforce_limit(h);
	text = str_fmt("%llu runs, %llu failed", (unsigned long long)h->ledger.runs,
		       (unsigned long long)h->ledger.failed);
	h->hooks->progress(h->hooks->arg,
			   h->limit == UINT64_MAX ? -1 : (double)h->ledger.runs / (double)(h->limit ? h->limit : 1),
			   text);
}

static void loop(struct hunt *h)
{
	for (;;) {
		begin(h);
		if (!h->stopping && all_done(h))
			hunt_stop(h, HUNT_ALL_RUNS, false);
		if (h->stopping && !h->busy)
			return;
		wait_for_something(h);
		if (h->spec->budget_s > 0 && clock_s() - h->began_s >= h->spec->budget_s)
			hunt_stop(h, HUNT_BUDGET, true);
		end_late(h);
		reap(h);
		look_around(h);
	}
}

/* ---- begin and end ---- */

static int open_signals(struct hunt *h, sigset_t *old, struct err *e)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction was;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	/* a signal that is ignored (as SIGHUP under nohup) stays ignored */
	for (unsigned i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (!sigaction(stops[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaddset(&set, stops[i]);
	sigprocmask(SIG_BLOCK, &set, old);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return h->signals < 0 ? err_errno(e, ERR_HOST, "signalfd") : 0;
}

/* How many of the runs below --runs are of this shard. */
static uint64_t local_limit(const struct hunt_spec *s)
{
	if (!s->runs)
		return UINT64_MAX;
	return s->runs > s->shard ? (s->runs - s->shard + s->shards - 1) / s->shards : 0;
}

static int start_guard(const struct hunt *h, struct err *e)
{
	cleanup_free char *name = str_fmt("%s.", h->state.task), *begin = state_path(&h->state, "runs", name);

	return guard_start(begin, e);
}

static int prepare(struct hunt *h, const char *dir, sigset_t *old, struct err *e)
{
	json_auto_t *spec = NULL;

	if (state_open(&h->state, dir, &spec, e) || state_join(&h->state, e) || open_signals(h, old, e) ||
	    start_guard(h, e))
		return -1;
	/* what a killed run leaves behind becomes a child of this process, which ends it */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return err_errno(e, ERR_HOST, "PR_SET_CHILD_SUBREAPER");
	ledger_init(&h->ledger, &h->state, h->spec);
	if (ledger_read(&h->ledger, e))
		return -1;
	if (h->ledger.lost)
		hunt_note(h, "%u lines of the journals cannot be read: the work that they describe is repeated",
			  h->ledger.lost);
	h->limit = local_limit(h->spec);
	/* if the number of runs is bounded, blocks are small, so that many tasks can take part */
	h->block = h->limit == UINT64_MAX || h->limit / 64 > BLOCK_MOST ? BLOCK_MOST : h->limit / 64 + 1;
	h->njobs = h->spec->jobs;
	h->jobs = xcalloc(h->njobs, sizeof(*h->jobs));
	for (unsigned i = 0; i < h->njobs; i++)
		h->jobs[i].run.out = -1;
	if (h->spec->until_failure && h->ledger.failed)
		hunt_stop(h, HUNT_FAILURE, false);
	return 0;
}

static void finish(struct hunt *h, const sigset_t *old)
{
	int status;

	/* processes that runs have left behind must not run on */
	while (waitpid(-1, &status, WNOHANG) >= 0 && task_end_below(getpid()))
		;
	if (h->signals >= 0) {
		close(h->signals);
		sigprocmask(SIG_SETMASK, old, NULL);
	}
	ledger_fini(&h->ledger);
	state_fini(&h->state);
	free(h->jobs);
	free(h->again);
	free(h->no_value);
}

int hunt_run(const struct hunt_spec *spec, const char *dir, const struct hunt_hooks *hooks, json_t **report,
	     struct err *e)
{
	struct hunt h = {.spec = spec,
			 .hooks = hooks,
			 .signals = -1,
			 .state = {.lock = -1, .journal = {.fd = -1}},
			 .began_s = clock_s()};
	sigset_t old;
	int r = prepare(&h, dir, &old, e);

	*report = NULL;
	if (!r) {
		const struct ledger *l = &h.ledger;
		struct groups_facts facts = {.spec = spec, .dir = h.state.dir};

		loop(&h);
		if (h.why != HUNT_INTERRUPTED)
			settle_check_values(&h);
		facts.seconds = clock_s() - h.began_s;
		facts.why = h.why;
		facts.error = &h.error;
		*report = groups_report(&l, 1, &facts);
		if (!l->failed)
			good_drop(&h.state); /* there is no failure to compare it with */
		if (h.why == HUNT_ERROR) {
			*e = h.error;
			r = -1;
		}
	}
	finish(&h, &old);
	return r;
}
