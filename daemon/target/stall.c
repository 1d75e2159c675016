/* SPDX-License-Identifier: MIT */
/*
 * stall.c: see stall.h. CPU times are from /proc/PID/task; where the thread is comes from ptrace, which is used only
 * when the replay has failed.
 */
#include "target/stall.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "describe/caller.h"
#include "describe/describe.h"
#include "describe/waits.h"
#include "target/advice.h"
#include "trace/trace.h"

/* after this many looks, most of which found no thread running, all threads wait */
#define IDLE_LOOKS 20u
#define SLOWER 3.0 /* how much slower than the recorded run it may be */
#define SEEK_SLOWER                                                                                                    \
	40.0 /* where it looks for the place of an interruption, and gives up by itself: plugins/record/preempt/seek.c \
	      */
#define UNKNOWN_S 60.0 /* if the log does not show how long it took */
#define COPIES 8 /* how many copies of the process that run ahead are counted */

/* ---- who runs ---- */

struct tasks {
	uint64_t owner_ns; /* CPU time */
	bool runs; /* a thread runs, or could run, or waits for a disk */
};

static int read_text(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, room - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return n ? 0 : -1;
}

static uint64_t run_ns(pid_t pid, pid_t tid)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	return read_text(path, text, sizeof(text)) ? 0 : strtoull(text, NULL, 10);
}

static char state_of(pid_t pid, pid_t tid)
{
	char path[64], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (read_text(path, text, sizeof(text)))
		return 'Z';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 'Z';
}

static void look_at_process(struct tasks *k, pid_t pid, pid_t owner, unsigned depth);

/* Copies that run ahead are children of the thread that made them. */
static void look_at_children(struct tasks *k, pid_t pid, pid_t tid, unsigned depth)
{
	char path[64], text[256], *at = text, *end;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	if (read_text(path, text, sizeof(text)))
		return;
	for (unsigned i = 0; i < COPIES && (child = (pid_t)strtol(at, &end, 10)) > 0; i++, at = end)
		look_at_process(k, child, 0, depth + 1);
}

static void look_at_process(struct tasks *k, pid_t pid, pid_t owner, unsigned depth)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir)) != NULL) {
		pid_t tid = atoi(d->d_name);
		uint64_t ns;

		if (tid <= 0)
			continue;
		ns = run_ns(pid, tid);
		k->owner_ns += tid == owner || !owner || depth ? ns : 0;
		k->runs |= strchr("RDP", state_of(pid, tid)) != NULL;
		if (depth < 2)
			look_at_children(k, pid, tid, depth);
	}
	closedir(dir);
}

/* ---- the time limit ---- */

/* The number of the thread's last event. 0: it has none, or it is in an ancestor's log. */
static uint64_t last_of(const struct target *t, uint32_t thread)
{
	uint64_t n, number = t->ctl->turn, slot = t->ctl->slot;
	const struct replay_slot *runs = timeline_runs(t->tl, &n);

	if (slot >= n || runs[slot].thread != thread || t->ctl->slot_left < runs[slot].count)
		return number;
	while (slot-- && number) {
		if (runs[slot].thread == thread)
			return number;
		number = number > runs[slot].count ? number - runs[slot].count : 0;
	}
	return 0;
}

static void set_limit(struct stall *s, const struct target *t)
{
	struct timeline_event next, last;
	double slower = SLOWER, from = 0;
	uint64_t before = last_of(t, s->owner);
	struct err ignored;

	s->recorded_s = -1;
	s->limit_s = UNKNOWN_S;
	if (timeline_read(t->tl, t->ctl->turn + 1, &next, &ignored) || next.seconds < 0)
		return;
	if (next.ev.rec.kind == RLOG_PREEMPT)
		slower = SEEK_SLOWER;
	if (before && !timeline_read(t->tl, before, &last, &ignored) && last.seconds >= 0)
		from = last.seconds;
	s->recorded_s = next.seconds > from ? next.seconds - from : 0;
	s->limit_s = t->slow_s + slower * s->recorded_s;
}

/* ---- the message ---- */

static bool in_recorder(pid_t pid, uint64_t pc)
{
	struct mapping m;

	return maps_find(pid, pc, &m) && strstr(m.path, RLOG_SHIM_NAME) != NULL;
}

/* The place in the program's code where this thread is; 0: not known. */
static uint64_t place_of(const struct target *t, uint64_t pc, pid_t tid, const struct waits_thread *w)
{
	struct trace tr = {0};
	struct err ignored;

	if (!pc && !trace_seize(&tr, t->pid, tid, &ignored)) {
		if (trace_get_pc(&tr, &pc, &ignored))
			pc = 0;
		trace_detach(&tr, false, &ignored);
	}
	if (pc && !in_recorder(t->pid, pc))
		return pc + 1; /* one more, as for the return address of a call */
	return w ? w->caller : 0;
}

static void add_event(struct buf *b, const struct target *t)
{
	struct timeline_event next;
	struct err ignored;

	buf_addf(b, "event %llu", (unsigned long long)t->ctl->turn + 1);
	if (timeline_read(t->tl, t->ctl->turn + 1, &next, &ignored))
		return;
	buf_add_str(b, " (");
	describe_event_what(b, &next.ev);
	buf_add_char(b, ')');
}

static const struct waits_thread *find_thread(const struct waits *w, uint32_t thread)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].thread == thread)
			return &w->v[i];
	return NULL;
}

/* Adds what the thread is doing: it waits for another thread, or computes. */
static void add_wait(struct buf *b, const struct stall *s, const struct target *t, uint64_t pc, const struct waits *w,
		     const struct waits_thread *wt)
{
	cleanup_free char *text = s->waits && wt && wt->kind ? waits_text(w, wt, t->pid) : NULL;
	bool idle = s->waits;

	pc = text ? 0 : place_of(t, pc, target_tid(t, s->owner), wt);

	if (text)
		buf_addf(b, ", and no thread runs: it %s", text);
	else if (idle)
		buf_add_str(b, ", and no thread runs: it waits for something that does not happen");
	else
		buf_addf(b, ": it has computed for %.1f s", (double)s->used_ns / 1e9);
	if (!idle && s->recorded_s >= 0)
		buf_addf(b, ", where that took %.3f s", s->recorded_s);
	if (pc) {
		buf_add_str(b, "; it is in ");
		caller_add(b, t->pid, pc);
	}
	if (!idle)
		buf_add_str(b, ", and may be waiting for another thread to write something");
}

void stall_explain(const struct stall *s, const struct target *t, uint64_t pc, struct err *e)
{
	cleanup_buf struct buf b = {0};
	const struct waits_thread *wt = NULL;
	cleanup_free char *who = NULL;
	struct waits w = {0};

	if (!waits_read(&w, t->pid, &t->ctl->waits, WAITS_OF_REPLAY))
		wt = find_thread(&w, s->owner);
	who = wt ? waits_thread_text(wt, t->pid) : str_fmt("thread %u", s->owner);
	buf_addf(&b, "the replay diverged: it makes no progress: %s does not reach ", who);
	add_event(&b, t);
	add_wait(&b, s, t, pc, &w, wt);
	waits_fini(&w);
	err_set(e, ERR_INTERNAL, "%s", buf_str(&b));
	advice_add(t, e);
}

/* ---- looks ---- */

void stall_begin(struct stall *s, const struct target *t)
{
	*s = (struct stall){.turn = t->ctl->turn, .limit_s = -1};
}

static struct tasks look(const struct stall *s, const struct target *t)
{
	struct tasks k = {0};

	look_at_process(&k, t->pid, target_tid(t, s->owner), 0);
	return k;
}

bool stall_look(struct stall *s, const struct target *t)
{
	uint32_t owner = __atomic_load_n(&t->ctl->owner, __ATOMIC_ACQUIRE);
	struct tasks k;
	bool idle;

	if (!s->looks || t->ctl->turn != s->turn || owner != s->owner || t->ctl->own_work != s->own_work) {
		*s = (struct stall){
			.turn = t->ctl->turn, .own_work = t->ctl->own_work, .owner = owner, .looks = 1, .limit_s = -1};
		k = look(s, t);
		s->seen_ns = k.owner_ns;
		return false;
	}
	k = look(s, t);
	s->looks++;
	s->idle += !k.runs;
	s->used_ns += k.owner_ns > s->seen_ns ? k.owner_ns - s->seen_ns : 0;
	s->seen_ns = k.owner_ns;
	/* threads that briefly look at something again and again run, too */
	idle = s->looks >= IDLE_LOOKS && 4 * s->idle >= 3 * s->looks;
	if (!idle && (double)s->used_ns < t->slow_s * 1e9)
		return false;
	if (s->limit_s < 0)
		set_limit(s, t);
	if (!idle && (double)s->used_ns < s->limit_s * 1e9)
		return false;
	s->waits = idle;
	return true;
}
