/* SPDX-License-Identifier: MIT */
/* threads.c: see threads.h. */
#include "debug/threads.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cell/plain.h"
#include "timetravel/cursor_int.h"
#include "visibility/regs.h"

/* Those of the process itself at their places; then those of its ancestors, which lived before it was forked. */
void threads_init(struct debug *d)
{
	cleanup_free struct timeline_thread *v = NULL;
	unsigned n = timeline_threads(d->nav.t.tl, &v);

	for (unsigned i = 0; i < n; i++)
		thread_list_add(&d->thread_list, v[i].process, v[i].ordinal, v[i].tid, v[i].first);
}

/* The thread's entry. A thread that is in no log is added. */
static const struct thread_list_entry *known(struct debug *d, uint32_t ordinal, pid_t tid)
{
	pid_t shown = target_shown_tid(&d->nav.t, ordinal, tid);
	const struct thread_list_entry *t = thread_list_find(&d->thread_list, ordinal, shown);

	if (t)
		return t;
	thread_list_add(&d->thread_list, d->process, ordinal, shown, 0);
	return thread_list_find(&d->thread_list, ordinal, shown);
}

unsigned threads_list(void *arg, int *ids, unsigned max)
{
	struct debug *d = arg;
	unsigned n = 0;

	for (; n < d->thread_list.n && n < max; n++)
		ids[n] = d->thread_list.v[n].id;
	return n;
}

static bool has_stopped(const struct debug *d, const struct thread_list_entry *t)
{
	const struct segment *s = &d->cursor.in.seg;

	if (!cell_is_plain())
		return t->tid == d->cursor.tid;
	return s->tid == d->cursor.tid && s->thread == t->ordinal;
}

pid_t threads_tid(const struct debug *d, int id)
{
	const struct thread_list_entry *t = thread_list_by_id(&d->thread_list, id);
	pid_t tid = t && t->process ? target_tid(&d->nav.t, t->ordinal) : 0;

	/* a thread that has stopped exists, even before the recorder has counted it and after its last event */
	if (!tid && t && t->process && has_stopped(d, t))
		return d->cursor.tid;
	return tid && thread_list_find(&d->thread_list, t->ordinal, target_shown_tid(&d->nav.t, t->ordinal, tid)) == t
		       ? tid
		       : 0;
}

int threads_id(struct debug *d, pid_t tid)
{
	uint32_t ordinal = cursor_ordinal(&d->cursor, tid);

	return ordinal ? known(d, ordinal, tid)->id : tid;
}

unsigned threads_number(struct debug *d, pid_t tid)
{
	uint32_t ordinal = cursor_ordinal(&d->cursor, tid);

	return ordinal ? (unsigned)(known(d, ordinal, tid) - d->thread_list.v) + 1 : 0;
}

void threads_name(void *arg, int id, char *buf, size_t size)
{
	struct debug *d = arg;
	pid_t tid = threads_tid(d, id);

	if (tid)
		regs_thread_name(d->nav.t.pid, tid, buf, size);
}

const char *threads_absent(void *arg, int id)
{
	struct debug *d = arg;
	const struct thread_list_entry *t = thread_list_by_id(&d->thread_list, id);

	if (!t || threads_tid(d, id))
		return NULL;
	if (!t->process)
		return "never began";
	return t->first && t->first <= cursor_event(&d->cursor) ? "has ended" : "has not begun";
}

int threads_tell_absent(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	for (unsigned i = 0; i < d->thread_list.n; i++) {
		const char *why = threads_absent(d, d->thread_list.v[i].id);

		if (why)
			buf_addf(out, "%d %s\n", d->thread_list.v[i].id, why);
	}
	return 0;
}

int threads_select_mover(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	d->selected = threads_id(d, d->cursor.tid);
	buf_addf(out, "%d\n", d->selected);
	return 0;
}
