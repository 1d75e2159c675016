/* SPDX-License-Identifier: MIT */
/* stage_d.c: see stage_d.h; the search itself is trace/local.h. */
#define LOG_DOMAIN "stage_d"
#include "session/stage_d.h"

#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cell/wait.h"
#include "session/show.h"

struct ctx {
	struct target *t;
	struct gdb *g;
	const struct expr *x;
	bool (*is_bad)(const void *pred, enum search_value v);
	const void *pred;
	struct stage_d *out;
	uint64_t n;
};

/* A `syscall` instruction in the shim's text, which its filter lets through. */
static int find_gadget(pid_t pid, uint64_t *gadget, struct err *e)
{
	char path[64], line[512];
	cleanup_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long lo, hi;
		char perms[8];
		uint8_t b[4096];

		if (!strstr(line, SHOW_SHIM) || sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) != 3 ||
		    perms[2] != 'x')
			continue;
		for (; lo < hi; lo += sizeof(b) - 1) {
			size_t n = hi - lo < sizeof(b) ? hi - lo : sizeof(b);

			if (trace_read(pid, lo, b, n, e))
				return -1;
			for (size_t i = 0; i + 1 < n; i++)
				if (b[i] == 0x0f && b[i + 1] == 0x05) {
					*gadget = lo + i;
					return 0;
				}
		}
	}
	return err_set(e, ERR_INTERNAL, "process %d: no system call instruction in " SHOW_SHIM, (int)pid);
}

/* A call expression runs on a copy of the stopped thread's process, off the timeline. */
static int eval_by_gdb(struct ctx *c, struct trace *t, struct expr_value *v, struct err *e)
{
	struct trace copy;
	uint64_t gadget;
	uint32_t off = 0;
	int r;

	if (find_gadget(t->pid, &gadget, e) || trace_fork(t, gadget, &copy, e))
		return -1;
	if (trace_unshare_memory(&copy, gadget, e) ||
	    trace_write(copy.pid, c->t->ctl->mode_addr, &off, sizeof(off), e) ||
	    trace_detach(&copy, true, e)) {
		trace_kill(&copy);
		return -1;
	}
	r = expr_eval_copy(c->x, c->g, copy.pid, v, e);
	target_snap_kill(copy.pid);
	return r;
}

static int eval(void *arg, struct trace *t, bool *bad, struct trace_words *words, struct err *e)
{
	struct ctx *c = arg;
	struct expr_value v;

	if (c->x->compiled)
		expr_eval_memory(c->x, t->pid, &v);
	else if (eval_by_gdb(c, t, &v, e))
		return -1;
	*bad = c->is_bad(c->pred, v.truth);
	*(*bad ? &c->out->after : &c->out->before) = v;
	if (!c->x->compiled || v.words.ranges_full)
		return 0;
	words->complete = true;
	for (size_t i = 0; i < v.words.ranges_n && i < TRACE_WORDS_MAX; i++)
		words->w[words->n++] = (struct trace_word){v.words.range[i].addr, v.words.range[i].len};
	return 0;
}

/* The segment ends when its event is counted, also in a copy with a control page of its own. */
static int ended(void *arg, struct trace *t, bool *end, struct err *e)
{
	struct ctx *c = arg;
	uint64_t turn;

	if (trace_read(t->pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, turn), &turn, sizeof(turn),
		       e))
		return -1;
	*end = turn > c->n;
	return 0;
}

static int forked(void *arg, struct trace *copy, struct err *e)
{
	uint64_t gadget;

	(void)arg;
	return find_gadget(copy->pid, &gadget, e) ? -1 : trace_unshare_memory(copy, gadget, e);
}

/*
 * Gives the turn to the thread that does event n + 1. The thread that did event n stays where it is, so
 * that a copy of the other one alone can go through the segment.
 */
static void hand_over(struct target *t, uint32_t thread)
{
	struct replay_ctl *c = t->ctl;

	c->stop_at = c->turn + 1;
	c->cmd = REPLAY_CMD_RUN;
	if (c->parked == thread) {
		__atomic_add_fetch(&c->go, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &c->go, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
		return;
	}
	__atomic_store_n(&c->owner, thread, __ATOMIC_RELEASE);
	__atomic_add_fetch(&c->wake[thread], 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->wake[thread], FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

/* The tracer takes SIGCHLDs itself; cell/wait.h wants its handler back afterwards. */
static int end_tracing(struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return cell_wait_setup(e);
}

static int search(struct target *t, struct gdb *g, const struct expr *x, uint64_t n,
		  bool (*is_bad)(const void *pred, enum search_value v), const void *pred,
		  struct stage_d *out, struct err *e)
{
	struct ctx c = {t, g, x, is_bad, pred, out, n};
	static const struct trace_local_ops ops = {.eval = eval, .ended = ended, .forked = forked};
	struct trace_local_params p = {
		.end_watch = REPLAY_CTL_ADDR + offsetof(struct replay_ctl, turn),
	};
	struct timeline_where w;
	struct trace held;

	memset(out, 0, sizeof(*out));
	if (timeline_find(t->tl, n + 1, &w, e))
		return -1;
	/* in a fork child that is yet to come the thread is still the parent's */
	out->thread = w.thread;
	out->tid = target_tid(t, w.thread);
	if (!out->tid)
		out->tid = t->ctl->tid[t->ctl->parked];
	if (find_gadget(t->pid, &p.gadget, e) || trace_seize(&held, t->pid, out->tid, e))
		return err_wrap(e, "thread %u", w.thread);
	hand_over(t, w.thread);
	if (trace_local_search(&held, &p, &ops, &c, &out->r, e)) {
		trace_kill(&held);
		t->pid = 0;
		return -1;
	}
	if (out->r.is_copy) {
		struct err ignored;

		trace_detach(&held, true, &ignored);
		target_kill(t);
	}
	log_info("event %llu: outcome %d, %llu hits, %llu steps, %llu evaluations, %llu copies",
		 (unsigned long long)n, (int)out->r.outcome, (unsigned long long)out->r.hits,
		 (unsigned long long)out->r.steps, (unsigned long long)out->r.evaluations,
		 (unsigned long long)out->r.forks);
	return 0;
}

int stage_d_run(struct target *t, struct gdb *g, const struct expr *x, uint64_t n,
		bool (*is_bad)(const void *pred, enum search_value v), const void *pred, struct stage_d *out,
		struct err *e)
{
	struct err why;
	int r;

	if (trace_prepare(false, e) || (t->cpu >= 0 && trace_pin(0, t->cpu, e)))
		return -1;
	r = search(t, g, x, n, is_bad, pred, out, e);
	if (end_tracing(r ? &why : e))
		r = -1;
	return r;
}

pid_t stage_d_release(struct stage_d *d, struct err *e)
{
	pid_t pid = d->r.t.pid;

	return trace_detach(&d->r.t, true, e) ? -1 : pid;
}
