/* SPDX-License-Identifier: MIT */
/* branch.c: see branch.h. */
#include "target/branch.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "target/line.h"

struct branch {
	uint32_t process, place;
	pid_t pid; /* 0: it has begun, and is its target's */
	unsigned variant; /* of the replay that made it */
};

void branches_init(struct branch_set *b, const struct rec *rec)
{
	*b = (struct branch_set){.rec = rec};
}

void branches_clear(struct branch_set *b)
{
	for (unsigned i = 0; i < b->n; i++)
		line_end_pid(b->v[i].pid);
	free(b->v);
	free(b->ctl);
	*b = (struct branch_set){.rec = b->rec, .processes = b->processes, .resumed = b->resumed};
}

void branches_fini(struct branch_set *b)
{
	branches_clear(b);
	free(b->processes);
	b->processes = NULL;
}

struct branch_process *branches_process(struct branch_set *b, uint32_t process)
{
	if (!b->processes)
		b->processes = xcalloc(b->rec->images[b->rec->nimages - 1].ordinal + 1, sizeof(*b->processes));
	return &b->processes[process];
}

static struct branch *find(const struct branch_set *b, uint32_t process)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->v[i].process == process)
			return &b->v[i];
	return NULL;
}

/* Half of the room is for children of processes that wait: without it, all would have to be made again after each. */
static uint32_t room_of(const struct branch_set *b)
{
	return (BRANCHES_MOST - b->n + 1) / 2;
}

/* Was this image forked by this process? */
static bool is_child_of(const struct rec *rec, uint32_t process, uint32_t child)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, child, &ignored);

	return img && img->head.origin == RLOG_ORIGIN_FORK && img->head.parent == process;
}

/*
 * Notes where the process of tl has forked its children: all at once, since a search for each would read the log each
 * time.
 */
static void note_forks(struct branch_set *b, struct timeline *tl)
{
	cleanup_free struct timeline_fork *v = xcalloc(b->rec->nimages, sizeof(*v));
	unsigned n = timeline_forks(tl, b->rec->nimages, v);

	for (unsigned i = 0; i < n; i++)
		if (is_child_of(b->rec, timeline_process(tl), v[i].child))
			branches_process(b, v[i].child)->forked = v[i].number;
}

/* The number of the event that forked it; 0: its timeline cannot be built. */
static uint64_t forked_by(struct branch_set *b, uint32_t process, const struct timeline_opts *opts)
{
	struct timeline *tl;
	struct err ignored;
	uint64_t at = opts->variant ? 0 : branches_process(b, process)->forked;

	if (at)
		return at;
	if (timeline_build(b->rec, process, opts, &tl, &ignored))
		return 0;
	at = timeline_prefix(tl);
	timeline_free(tl);
	return at;
}

int branches_want(struct branch_set *b, uint32_t process, uint32_t first, const struct timeline_opts *opts)
{
	uint32_t last = first;
	unsigned n = 0;

	b->more = false;
	for (unsigned i = 0; i < b->rec->nimages; i++) {
		const struct rlog_image *img = &b->rec->images[i].head;

		if (img->origin != RLOG_ORIGIN_FORK || img->parent != process || b->rec->images[i].ordinal < first)
			continue;
		b->more = n == room_of(b);
		if (b->more)
			break;
		last = b->rec->images[i].ordinal;
		n++;
	}
	if (n < 2)
		return 0;
	b->after = forked_by(b, first, opts);
	b->until = forked_by(b, last, opts);
	if (b->after && b->after < b->until) {
		b->after--;
		return 1;
	}
	b->until = 0;
	return 0;
}

struct target_branches branches_for(const struct branch_set *b, uint32_t process)
{
	const struct branch *it = find(b, process);
	uint32_t room = room_of(b), left = REPLAY_BRANCHES - b->next;

	return (struct target_branches){.from = b->next,
					.end = b->next + (room < left ? room : left),
					.waits = it != NULL,
					.place = it ? it->place : 0,
					.prefix = it && !it->variant && b->processes ? b->processes[process].forked : 0,
					.variant = it ? it->variant : 0};
}

/* Is it a child of the target? The program can write to the control page, so that is checked. */
static bool is_child(const struct branch_set *b, const struct target *t, uint32_t process)
{
	return is_child_of(b->rec, t->process, process) && !find(b, process);
}

void branches_take(struct branch_set *b, struct target *t)
{
	uint32_t end = line_branches(t);

	if (end > t->branch.from && !t->variant)
		note_forks(b, t->tl);
	b->v = xrealloc(b->v, (b->n + (end - t->branch.from) + 1) * sizeof(*b->v));
	for (uint32_t i = t->branch.from; i < end; i++) {
		uint32_t process = t->ctl->branch[i].process;
		pid_t pid = line_branch_pid(t, i);

		if (pid && is_child(b, t, process))
			b->v[b->n++] = (struct branch){process, i, pid, t->variant};
	}
	b->next = t->branch.from = end;
	b->until = 0;
	if (!b->ctl) {
		b->ctl = xmalloc(sizeof(*b->ctl));
		memcpy(b->ctl, t->ctl, sizeof(*b->ctl));
	}
}

/* Copies what the recorder reports at its start, which is the same for all processes. */
static void tell_again(struct replay_ctl *c, const struct replay_ctl *was)
{
	c->mode_addr = was->mode_addr;
	c->stand_addr = was->stand_addr;
	c->stand_size = was->stand_size;
	c->walk_addr = was->walk_addr;
	c->walk_codes = was->walk_codes;
	c->walks_threads = was->walks_threads;
	c->report_addr = was->report_addr;
	c->report_kinds = was->report_kinds;
	c->report_filters = was->report_filters;
	c->learns_ids = was->learns_ids;
	c->search_addr = was->search_addr;
	c->closed_lo = was->closed_lo;
	c->closed_hi = was->closed_hi;
}

int branch_launch(struct branch_set *b, struct target *t, struct err *e)
{
	struct branch *it = find(b, t->process);
	uint32_t *go = &t->ctl->branch[t->branch.place].go;

	if (!it || !it->pid)
		return err_set(e, ERR_NOT_FOUND, "process %u does not wait", t->process);
	if (target_start_over(t, e))
		return -1;
	tell_again(t->ctl, b->ctl);
	t->ctl->process = t->process;
	t->ctl->pid = t->pid = it->pid;
	it->pid = 0;
	t->ctl->stop_at = timeline_prefix(t->tl);
	__atomic_store_n(go, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, go, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
	return target_await_start(t, e);
}

void branches_end(struct branch_set *b, uint32_t process)
{
	const struct branch *it = find(b, process);

	if (!it)
		return;
	line_end_pid(it->pid);
	b->v[it - b->v] = b->v[--b->n];
}
