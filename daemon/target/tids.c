/* SPDX-License-Identifier: MIT */
/* tids.c: see tids.h. If a number is used again, it stands for the later thread. */
#include "target/tids.h"

#include <stdlib.h>

#include "base/alloc.h"

static const struct tid_was *find(const struct tids *h, pid_t tid)
{
	for (unsigned i = h->n; i; i--)
		if (h->v[i - 1].tid == tid)
			return &h->v[i - 1];
	return NULL;
}

static void note(struct tids *h, pid_t tid, uint32_t process, uint32_t thread)
{
	const struct tid_was *was = find(h, tid);

	if (was && was->process == process && was->thread == thread)
		return;
	h->v = xreallocarray(h->v, h->n + 1, sizeof(*h->v));
	h->v[h->n++] = (struct tid_was){tid, process, thread};
}

void tids_note(struct tids *h, const struct replay_ctl *c)
{
	for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++)
		if (c->tid[i])
			note(h, c->tid[i], c->process, i);
}

pid_t tids_now(const struct tids *h, const struct replay_ctl *c, pid_t tid)
{
	const struct tid_was *was;

	for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++)
		if (c->tid[i] == tid)
			return tid;
	was = find(h, tid);
	return was && was->process == c->process && c->tid[was->thread] ? c->tid[was->thread] : tid;
}

void tids_fini(struct tids *h)
{
	free(h->v);
	*h = (struct tids){0};
}
