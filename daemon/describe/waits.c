/* SPDX-License-Identifier: MIT */
/*
 * waits.c: see waits.h. The owner of a mutex, or of a read-write lock held for writing, is in glibc's lock; other
 * objects name no owner. The memory is the program's, and may contain anything.
 */
#include "describe/waits.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/maps.h"
#include "describe/caller.h"
#include "rlog/rlog.h"

#define FUTEX "202 "
#define THREAD_BYTES_MAX (1u << 20)

static const char *const things[WAIT_KINDS] = {
	[WAIT_MUTEX] = "the mutex",	    [WAIT_RWLOCK] = "the read-write lock", [WAIT_COND] = "the condition",
	[WAIT_SEM] = "the semaphore",	    [WAIT_BARRIER] = "the barrier",	   [WAIT_JOIN] = "the end of",
	[WAIT_LIBC] = "a lock inside libc",
};

struct memory_source {
	pid_t pid, memory; /* memory: the TID by which the memory can be read, since the first thread may have ended */
	const struct rlog_waits *at;
};

static bool get(const struct memory_source *s, uint64_t addr, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)addr, n};

	return process_vm_readv(s->memory, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* A thread that does not exist any more has no state; the first thread, which stays after its end, is a zombie. */
static char state_of(pid_t pid, pid_t tid)
{
	cleanup_free char *stat = str_fmt("/proc/%d/task/%d/stat", (int)pid, (int)tid);

	return maps_state(stat);
}

bool waits_is_asleep(pid_t pid, pid_t tid)
{
	cleanup_free char *call = str_fmt("/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	cleanup_buf struct buf b = {0};
	struct err ignored;

	return !read_file(call, &b, &ignored) && !strncmp(buf_str(&b), FUTEX, strlen(FUTEX)) &&
	       state_of(pid, tid) == 'S';
}

#define SPAN_MAX 4096u

/* The size of the part of a thread's entry that is read. 0: it is larger than the entry can be. */
static size_t span(const struct rlog_waits *at)
{
	const uint32_t ends[] = {at->at_tid + 4,     at->at_exited + 4, at->at_blocking + 4, at->at_kind + 4,
				 at->at_object + 16, at->at_caller + 8, at->at_log + 8,	     at->at_shown_tid + 4};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		n = ends[i] > n ? ends[i] : n;
	return n <= SPAN_MAX ? n : 0;
}

/* blocking: the process is running, so a thread waits only if its entry says so. */
static bool read_thread(const struct memory_source *s, uint32_t number, bool blocking, struct waits_thread *t)
{
	const struct rlog_waits *at = s->at;
	uint32_t tid, shown, exited, kind, blocks;
	uint8_t raw[SPAN_MAX];

	if (!get(s, at->threads + number * at->thread_size, raw, span(at)))
		return false;
	memcpy(&tid, raw + at->at_tid, 4);
	memcpy(&shown, raw + (at->at_shown_tid ? at->at_shown_tid : at->at_tid), 4);
	memcpy(&exited, raw + at->at_exited, 4);
	memcpy(&kind, raw + at->at_kind, 4);
	memcpy(&blocks, raw + at->at_blocking, 4);
	memcpy(&t->object, raw + at->at_object, 8);
	if (!blocking)
		memcpy(&t->mutex, raw + at->at_object + 8, 8);
	memcpy(&t->caller, raw + at->at_caller, 8);
	memcpy(&t->log, raw + at->at_log, 8);
	t->thread = number;
	t->tid = (pid_t)tid;
	t->shown_tid = (pid_t)shown;
	t->ended = exited != 0;
	t->limited = kind & WAIT_LIMITED;
	kind &= ~WAIT_LIMITED;
	t->kind = kind < WAIT_KINDS && !t->ended && (blocks || !blocking) ? (enum wait_kind)kind : WAIT_OTHER;
	return true;
}

/* Prefers a living thread, since the kernel reuses TIDs. */
static const struct waits_thread *by_tid(const struct waits *w, pid_t tid)
{
	const struct waits_thread *found = NULL;

	for (size_t i = 0; tid && i < w->n; i++)
		if (w->v[i].shown_tid == tid && (!found || !w->v[i].ended))
			found = &w->v[i];
	return found;
}

static const struct waits_thread *by_number(const struct waits *w, uint32_t thread)
{
	for (size_t i = 0; thread && i < w->n; i++)
		if (w->v[i].thread == thread)
			return &w->v[i];
	return NULL;
}

#define ROBUST 0x10 /* in a mutex's kind, of glibc: the end of its owner unlocks it */

/* Whoever waits for a condition, even with a time limit, also waits until its mutex is free. */
static void find_holder(const struct memory_source *s, const struct waits *w, struct waits_thread *t)
{
	const struct waits_thread *owner;
	pthread_mutex_t m;

	if (!t->mutex || !get(s, t->mutex, &m, sizeof(m)) || !m.__data.__lock || (m.__data.__kind & ROBUST))
		return;
	owner = by_tid(w, m.__data.__owner);
	t->owner = owner && owner != t ? owner->thread : 0;
}

/* false: it is free, so no thread waits for it. */
static bool find_owner(const struct memory_source *s, const struct waits *w, struct waits_thread *t)
{
	const struct waits_thread *owner = NULL;
	pthread_rwlock_t l;
	pthread_mutex_t m;
	uint64_t number;
	uint32_t value;

	switch (t->kind) {
	case WAIT_MUTEX:
		if (!get(s, t->object, &m, sizeof(m)))
			return true;
		owner = by_tid(w, m.__data.__owner);
		t->owner = owner ? owner->thread : 0;
		return m.__data.__lock != 0;
	case WAIT_RWLOCK:
		if (!get(s, t->object, &l, sizeof(l)))
			return true;
		owner = by_tid(w, l.__data.__cur_writer);
		t->owner = owner ? owner->thread : 0;
		t->readers = !l.__data.__cur_writer && l.__data.__readers >> 3;
		return l.__data.__cur_writer || l.__data.__readers >> 3;
	case WAIT_JOIN:
		number = t->object > s->at->threads ? (t->object - s->at->threads) / s->at->thread_size : 0;
		owner = number < RLOG_MAX_THREADS ? by_number(w, (uint32_t)number) : NULL;
		t->owner = owner ? owner->thread : 0;
		return !owner || !owner->ended;
	case WAIT_COND:
		find_holder(s, w, t);
		return true;
	case WAIT_SEM:
		return !get(s, t->object, &value, sizeof(value)) || !value;
	default:
		return true;
	}
}

/* A thread that has just been made is not in the table yet. */
static size_t count_tasks(const struct memory_source *s)
{
	cleanup_free char *folder = str_fmt("/proc/%d/task", (int)s->pid);
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *d;
	size_t n = 0;

	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.' && state_of(s->pid, (pid_t)atoi(d->d_name)) != 'Z';
	return n;
}

static void follow(struct waits *w, struct waits_thread *t)
{
	const struct waits_thread *x = t;

	for (size_t i = 0; i <= w->n && x; i++) {
		if (x->ended && x != t)
			t->stuck = true;
		if (x->ended || !x->kind || (x->limited && x->kind != WAIT_COND))
			return;
		x = by_number(w, x->owner);
		if (x == t) {
			t->in_cycle = t->stuck = w->stuck = true;
			return;
		}
	}
	t->stuck = x != NULL; /* after one of them */
}

static int read_all(struct waits *w, const struct memory_source *s, bool blocking)
{
	uint32_t count, group = 0;

	if (!s->at->threads || s->at->thread_size > THREAD_BYTES_MAX || !span(s->at) ||
	    !get(s, s->at->next_thread, &count, 4) || !get(s, s->at->group, &group, 4) || count > RLOG_MAX_THREADS)
		return -1;
	w->group = group != 0;
	w->v = xcalloc(count + 1, sizeof(*w->v));
	for (uint32_t i = 1; i < count; i++) {
		if (!read_thread(s, i, blocking, &w->v[w->n]))
			return -1;
		w->n += w->v[w->n].tid != 0;
	}
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].kind && !find_owner(s, w, &w->v[i]))
			w->v[i].kind = WAIT_OTHER;
	return 0;
}

void waits_conclude(struct waits *w)
{
	w->all = w->n > 0;
	w->stuck = false;
	for (size_t i = 0; i < w->n; i++) {
		struct waits_thread *t = &w->v[i];

		t->in_cycle = t->stuck = false;
		w->all &= t->ended || t->kind;
		if (t->kind)
			follow(w, t);
		w->stuck |= t->stuck;
	}
}

/* Compares what the recorder says with what the kernel says; most often there is nothing to compare. */
static void confirm(struct waits *w, const struct memory_source *s)
{
	size_t alive = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct waits_thread *t = &w->v[i];

		alive += !t->ended;
		if (t->kind && (w->all || t->stuck) && !waits_is_asleep(s->pid, t->tid))
			t->kind = WAIT_OTHER;
	}
	waits_conclude(w);
	w->all = w->all && alive == count_tasks(s);
}

/* A signal that ends the process has come: its threads still have memory, but do not sleep any more. */
static bool is_ending(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/status", (int)pid);
	cleanup_buf struct buf b = {0};
	struct err ignored;
	uint64_t pending = 0;
	const char *p;

	if (read_file(path, &b, &ignored))
		return true;
	for (p = buf_str(&b); (p = strstr(p, "Pnd:")) != NULL; p += 4)
		pending |= strtoull(p + 4, NULL, 16);
	return pending >> (SIGKILL - 1) & 1;
}

int waits_read(struct waits *w, pid_t pid, const struct rlog_waits *at, enum waits_of how)
{
	struct memory_source s = {pid, maps_owner(pid), at};

	*w = (struct waits){0};
	if (read_all(w, &s, how != WAITS_OF_REPLAY))
		return -1;
	waits_conclude(w);
	if (how == WAITS_CONFIRMED && (w->all || w->stuck)) {
		if (is_ending(pid))
			return -1;
		confirm(w, &s);
	}
	w->all &= how != WAITS_OF_REPLAY;
	return 0;
}

void waits_fini(struct waits *w)
{
	free(w->v);
	*w = (struct waits){0};
}

static bool is_of_faults(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
}

bool waits_has_handlers(pid_t pid, const struct rlog_waits *at)
{
	struct memory_source s = {pid, maps_owner(pid), at};
	uint64_t handler;

	for (int sig = 1; sig <= 64; sig++)
		if (!get(&s, at->handlers + (uint64_t)sig * at->handler_size, &handler, 8) ||
		    (handler > 1 && !is_of_faults(sig)))
			return true;
	return false;
}

bool waits_same(const struct waits *a, const struct waits *b)
{
	size_t k = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct waits_thread *x = &a->v[i], *y;

		if (!x->stuck && !a->all)
			continue;
		y = by_number(b, x->thread);
		if (!y || y->kind != x->kind || y->object != x->object || y->log != x->log || y->owner != x->owner)
			return false;
		k++;
	}
	return k > 0 && a->all == b->all;
}

/* ---- what is said ---- */

static void comm(pid_t pid, pid_t tid, char name[32])
{
	cleanup_free char *path = str_fmt("/proc/%d/task/%d/comm", (int)pid, (int)tid);
	cleanup_fclose FILE *f = fopen(path, "re");

	*name = '\0';
	if (f && fgets(name, 32, f))
		name[strcspn(name, "\n")] = '\0';
}

char *waits_thread_text(const struct waits_thread *t, pid_t pid)
{
	char name[32], of_process[32];

	comm(pid, t->tid, name);
	comm(pid, pid, of_process);
	return *name && !str_eq(name, of_process) ? str_fmt("thread %u (%s)", t->thread, name)
						  : str_fmt("thread %u", t->thread);
}

char *waits_text(const struct waits *w, const struct waits_thread *t, pid_t pid)
{
	const struct waits_thread *owner = by_number(w, t->owner);
	cleanup_free char *who = owner ? waits_thread_text(owner, pid) : NULL;
	struct buf b = {0};

	buf_addf(&b, "waits for %s", things[t->kind]);
	if (t->kind == WAIT_JOIN) {
		buf_addf(&b, " %s", who ? who : "a thread");
	} else if (t->kind != WAIT_LIBC) {
		buf_addf(&b, " ");
		if (!caller_add_variable(&b, pid, t->object))
			buf_addf(&b, "0x%" PRIx64, t->object);
	}
	if (who && t->kind == WAIT_COND) {
		buf_add_str(&b, " and its mutex ");
		if (!caller_add_variable(&b, pid, t->mutex))
			buf_addf(&b, "0x%" PRIx64, t->mutex);
	}
	if (who && t->kind != WAIT_JOIN)
		buf_addf(&b, ", which %s %s", owner == t ? "it has itself" : who,
			 owner == t	? ""
			 : owner->ended ? "had when it ended"
					: "has");
	if (owner == t && t->kind != WAIT_JOIN)
		b.len--; /* the blank */
	if (t->readers)
		buf_addf(&b, ", which readers have");
	if (t->limited)
		buf_add_str(&b, ", for a limited time");
	buf_addf(&b, "; called from ");
	caller_add(&b, pid, t->caller);
	return xstrdup(buf_str(&b));
}

/* "threads 1, 2 and 3" of those that are in a cycle */
static void add_cycle(struct buf *b, const struct waits *w)
{
	unsigned left = 0, all;

	for (size_t i = 0; i < w->n; i++)
		left += w->v[i].in_cycle;
	all = left;
	buf_addf(b, all > 1 ? "threads " : "thread ");
	for (size_t i = 0; i < w->n; i++) {
		if (!w->v[i].in_cycle)
			continue;
		buf_addf(b, "%s%u", left == all ? "" : left == 1 ? " and " : ", ", w->v[i].thread);
		left--;
	}
	buf_addf(b, all > 1 ? " wait for each other (deadlock)" : " waits for itself (deadlock)");
}

char *waits_deadlock_text(const struct waits *w)
{
	cleanup_buf struct buf b = {0};
	bool cycle = false;
	size_t alive = 0;

	for (size_t i = 0; i < w->n; i++) {
		cycle |= w->v[i].in_cycle;
		alive += !w->v[i].ended;
	}
	if (w->all && !w->group && !(cycle && alive == 1))
		buf_addf(&b, "all threads wait for each other (deadlock)");
	else if (cycle)
		add_cycle(&b, w);
	else if (w->stuck)
		buf_addf(&b, "a thread waits for what another one had when it ended");
	else
		return NULL;
	return xstrdup(buf_str(&b));
}
