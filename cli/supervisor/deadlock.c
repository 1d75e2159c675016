/* SPDX-License-Identifier: MIT */
/* deadlock.c: see deadlock.h. */
#include "supervisor/deadlock.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "supervisor/control.h"

#define LOOKS 3u
#define TELL_MOST 16u /* threads */

/* ---- the recorder's own note ---- */

static bool all_sleep(pid_t pid)
{
	cleanup_free char *folder = str_fmt("/proc/%d/task", (int)pid);
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *d;
	bool all = dir != NULL;

	while (all && (d = readdir(dir)))
		all = d->d_name[0] == '.' || waits_is_asleep(pid, (pid_t)atoi(d->d_name));
	return all;
}

/*
 * If the recorder has noted a deadlock, ends the program once all threads were found asleep often enough. true: look
 * again soon. The same threads are named below, if their memory can be read.
 */
static bool look_at_note(struct deadlock *d)
{
	if (!control_is_deadlock(d->control)) {
		d->looks = 0;
		return false;
	}
	d->looks = all_sleep(d->pid) ? d->looks + 1 : 0;
	if (d->looks <= LOOKS)
		return true;
	kill(d->pid, SIGABRT);
	return false;
}

/* ---- what is seen from outside ---- */

/* The text of the last note. *ends: the program is to be ended. */
static char *conclusion(const struct deadlock *d, const struct rlog_waiting *p, const struct waits *w, bool *ends)
{
	cleanup_free char *text = waits_deadlock_text(w);

	*ends = false;
	if (!w->all || w->group)
		return str_fmt("%s, while other threads continue", text);
	if (waits_has_handlers((pid_t)p->pid, &p->at))
		return str_fmt("%s: only a signal handler can release them", text);
	if ((pid_t)p->pid != d->pid)
		return str_fmt("%s, until another process ends this one", text);
	*ends = true;
	return str_fmt("%s, and nothing can release them: the program was ended by SIGABRT", text);
}

static void tell(struct deadlock *d, const struct rlog_waiting *p, const struct waits *w)
{
	bool all = w->all && !w->group, ends;
	enum rlog_note_kind kind = all ? RLOG_NOTE_DEADLOCK : RLOG_NOTE_CYCLE;
	cleanup_free char *last = conclusion(d, p, w, &ends);
	unsigned told = 0;

	control_drop_waits(d->control, p->process); /* the recorder's notes name addresses, and are replaced */
	for (size_t i = 0; i < w->n && told < TELL_MOST; i++) {
		const struct waits_thread *t = &w->v[i];
		cleanup_free char *who = NULL, *what = NULL, *text = NULL;

		if (!t->kind || !(all || t->stuck))
			continue;
		who = waits_thread_text(t, (pid_t)p->pid);
		what = waits_text(w, t, (pid_t)p->pid);
		text = str_fmt("%s %s", who, what);
		control_add_note(d->control, kind, p->process, t->thread, text);
		told++;
	}
	control_add_note(d->control, kind, p->process, ends ? RLOG_DEADLOCK_FOR_EVER : 0, last);
	if (ends)
		kill(d->pid, SIGABRT);
}

/* A process is in the list once for each of its images. */
static bool is_latest(const struct rlog_control *c, unsigned i, unsigned n)
{
	for (unsigned k = i + 1; k < n; k++)
		if (c->waiting[k].pid == c->waiting[i].pid)
			return false;
	return true;
}

/*
 * Withdraws the notes if the threads do not wait any more. The memory of a process that is ending reads as before, or
 * not at all: notes about such a process stay.
 */
static void look_again(struct deadlock *d, const struct rlog_waiting *p, struct deadlock_seen *seen)
{
	struct waits now;

	if (!waits_read(&now, (pid_t)p->pid, &p->at, WAITS_OF_RECORDING) && !waits_same(&seen->last, &now)) {
		control_drop_waits(d->control, p->process);
		seen->told = false;
		seen->looks = 0;
	}
	waits_fini(&now);
}

/* true: call it again soon. */
static bool look_at(struct deadlock *d, const struct rlog_waiting *p, struct deadlock_seen *seen)
{
	struct waits now;
	bool is;

	if (seen->told) {
		look_again(d, p, seen);
		return false;
	}
	is = !waits_read(&now, (pid_t)p->pid, &p->at, WAITS_CONFIRMED) && (now.stuck || (now.all && !now.group));
	seen->looks = !is ? 0 : seen->looks && waits_same(&seen->last, &now) ? seen->looks + 1 : 1;
	waits_fini(&seen->last);
	seen->last = now;
	seen->told = seen->looks >= LOOKS;
	if (seen->told)
		tell(d, p, &seen->last);
	return is && !seen->told;
}

bool deadlock_look(struct deadlock *d)
{
	unsigned n = __atomic_load_n(&d->control->waiting_count, __ATOMIC_ACQUIRE);
	bool again = false;

	if (n > RLOG_WAITING)
		n = RLOG_WAITING;
	for (unsigned i = 0; i < n; i++)
		if (__atomic_load_n(&d->control->waiting[i].ready, __ATOMIC_ACQUIRE) && is_latest(d->control, i, n))
			again |= look_at(d, &d->control->waiting[i], &d->seen[i]);
	return look_at_note(d) || again;
}

void deadlock_fini(struct deadlock *d)
{
	for (unsigned i = 0; i < RLOG_WAITING; i++)
		waits_fini(&d->seen[i].last);
}
