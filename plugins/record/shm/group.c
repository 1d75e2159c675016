/* SPDX-License-Identifier: MIT */
/*
 * group.c: recording processes that share writable memory: one of them at a time runs the program's code.
 *
 * What another process writes is input that no event brings. So such processes form a group: each
 * records serially (gil.c), and the one that runs also has the group's turn, which it gives up where it gives up its
 * own: after a stamped record. While it has the turn nobody else of the group writes. What the others
 * wrote before is found page by page when it is first looked at (pages.c), and logged there; each process then
 * replays alone.
 *
 * A process joins when it forks with a shared mapping, or maps a file or a System V segment that another process
 * might map too. The turn of a process that died is taken by one that waits.
 *
 * REC/group is the group's page: only the recorder looks at it. It may be killed at any moment.
 */
#include "record/shm/group.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/gil.h"
#include "record/shm/group_page.h"
#include "record/store/keeper.h"
#include "record/store/log.h"

#include <signal.h>
#include <time.h>

/* ---- the turn ---- */

static void interrupt_owner(const struct slot *o, void *why)
{
	siginfo_t si = {.si_signo = SIG_PREEMPT, .si_code = SI_QUEUE};

	si.si_pid = (int)raw0(SYS_getpid);
	si.si_value.sival_ptr = why;
	raw4(SYS_rt_tgsigqueueinfo, o->pid, o->tid, SIG_PREEMPT, &si);
}

/*
 * Interrupts the owner of the turn if it has not moved since the last look and spins. patient: interrupts it in any
 * case, and takes the turn away from one that is dead, or that has not accepted the turn that it was given. 1: it has
 * not moved.
 */
static int look_at_owner(uint64_t *seen, int patient)
{
	struct group_page *p = group.p;
	struct slot *o;
	uint64_t now;
	uint32_t owner;
	int same;

	group_lock();
	owner = __atomic_load_n(&p->owner, __ATOMIC_SEQ_CST);
	o = owner && (owner & ~GIVEN) != group.me ? &p->slot[(owner & ~GIVEN) - 1] : 0;
	now = p->turns + (o ? o->faults : 0);
	same = o && *seen == now;
	if (o && patient && process_is_dead(o->pid)) {
		group_forget(o);
		group_journal(REGIONS_ALL, PAGES_ALL, 0);
		__atomic_store_n(&p->owner, 0, __ATOMIC_SEQ_CST);
	} else if (same && (owner & GIVEN)) {
		if (patient)
			__atomic_compare_exchange_n(&p->owner, &owner, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	} else if (same && !process_is_elsewhere(o->pid)) {
		interrupt_owner(o, patient ? GROUP_POKE : GROUP_SAMPLE);
	}
	*seen = now;
	group_unlock();
	return same;
}

static int take_turn(void)
{
	uint32_t was = 0;

	if (__atomic_compare_exchange_n(&group.p->owner, &was, group.me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 1;
	return was == (group.me | GIVEN) && /* it was given to this process */
	       __atomic_compare_exchange_n(&group.p->owner, &was, group.me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* how long to wait for an owner that does not move; less while there are many such waits */
static long patience = LOOK_NS;

/*
 * As in gil.c: the last process in the queue looks. It does so often at first, since a thread that spins does so from
 * the start.
 */
static long next_look(const struct slot *s, long waited)
{
	if (G.chaos || s->ticket != __atomic_load_n(&group.p->ticket, __ATOMIC_RELAXED))
		return LOOK_NS;
	if (waited < SOON_LOOKS * SOON_NS)
		return SOON_NS;
	return waited < patience - waited ? waited : patience - waited;
}

/* The process has a ticket: waits for the turn. yields: a process that waits goes first, if it comes soon. */
static void await_turn(struct slot *s, int yields)
{
	long waited = 0, left = yields ? LOOK_NS : 0;
	uint64_t seen = ~0ull;

	while (left > 0 || !take_turn()) {
		long look = next_look(s, waited), limit[2] = {0, look};
		int patient = waited + look >= patience, same;

		if (raw4(SYS_futex, &s->go, FUTEX_WAIT, 0, limit) == -110) {
			same = look_at_owner(&seen, patient);
			if (same && patient && patience > PATIENCE_MIN && !G.chaos)
				patience /= 2;
			waited = same && !patient ? waited + look : 0;
		} else {
			left = 0;
		}
		left = __atomic_load_n(&group.p->owner, __ATOMIC_RELAXED) ? 0 : left - look;
		__atomic_store_n(&s->go, 0, __ATOMIC_SEQ_CST);
	}
	group_unqueue(s);
}

static void begin_turn(struct thr *t)
{
	static unsigned own_turns;
	struct group_page *p = group.p;

	p->turns++;
	if (++own_turns % CALM_TURNS == 0 && patience < LOOK_NS)
		patience *= 2;
	group.held = 1;
	pages_enter();
	p->slot[group.me - 1].turn = p->turns;
	if (t->preempt.armed) /* otherwise the new slice says so */
		task_not_computing(t);
}

void group_enter(struct thr *t)
{
	struct slot *s;

	if (!G.group || G.mode != SHIM_RECORD)
		return;
	s = &group.p->slot[group.me - 1];
	/* the process may have the turn already, taken by a thread that sleeps now */
	__atomic_store_n(&s->tid, (uint32_t)t->tid, __ATOMIC_RELAXED);
	if (group.held)
		return;
	if (!take_turn()) {
		group_queue(s);
		await_turn(s, 0);
	}
	begin_turn(t);
}

static void end_turn(void)
{
	pages_leave();
	group.held = 0;
}

void group_leave(void)
{
	if (!group.held)
		return;
	end_turn();
	if (group.p->owner == group.me)
		group_free_turn();
}

void group_yield(struct thr *t)
{
	struct slot *s = &group.p->slot[group.me - 1];

	if (!group.held || G.mode != SHIM_RECORD)
		return;
	group_queue(s);
	end_turn();
	group_free_turn();
	await_turn(s, 1);
	begin_turn(t);
}

/* The descriptor of the file that a call changes, or -1. */
static long changed_fd(long nr, const long *a)
{
	switch (nr) {
	case SYS_sendfile:
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
		return a[0];
	case SYS_copy_file_range:
		return a[2];
	}
	return -1;
}

/* The number of the region + 1, 0: none. */
static uint32_t region_of(uint64_t dev, uint64_t ino)
{
	struct group_page *p = group.p;

	for (uint32_t i = 0; i < p->regions; i++)
		if (p->region[i].ino == ino && p->region[i].dev == dev)
			return i + 1;
	return 0;
}

int group_has_region(uint64_t dev, uint64_t ino)
{
	return G.group && G.mode == SHIM_RECORD && region_of(dev, ino);
}

uint32_t group_file(long nr, const long *a)
{
	long fd = changed_fd(nr, a);
	uint64_t st[18];

	return fd < 0 || raw2(SYS_fstat, fd, st) < 0 ? 0 : region_of(st[0], st[1]);
}

void group_before_write(struct thr *t, long nr, const long *a)
{
	long fd = changed_fd(nr, a);
	uint64_t st[18];

	if (fd < 0)
		return;
	if (G.mode == SHIM_REPLAY || (raw2(SYS_fstat, fd, st) == 0 && pages_of_file(st[0], st[1])))
		group_begin(t);
}

void group_file_changed(uint32_t region)
{
	pages_publish();
	group_journal(region - 1, PAGES_ALL, 0);
	pages_stale(region - 1, PAGES_ALL);
}

/* ---- joining ---- */

static int take_slot(void)
{
	struct group_page *p = group.p;
	uint32_t i;

	group_lock();
	for (i = 0; i < SLOTS; i++)
		if (!p->slot[i].pid || p->slot[i].pid == group_own_pid() ||
		    (!p->slot[i].ticket && (p->owner & ~GIVEN) != i + 1 && process_is_dead(p->slot[i].pid)))
			break;
	if (i < SLOTS) {
		group_forget(&p->slot[i]);
		p->slot[i] = (struct slot){.pid = group_own_pid()};
		group.me = i + 1;
		group.first = p->head;
	}
	group_unlock();
	return i < SLOTS ? 0 : -1;
}

static int map_page(void)
{
	char path[400], *s = fmt_str(path, path + sizeof(path), G.rec);
	void *m;
	int fd;

	fmt_str(s, path + sizeof(path), "/group");
	fd = keep_open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return -1;
	if (keep_limited(sizeof(struct group_page)))
		keep_grow(path, 0, sizeof(struct group_page));
	else
		raw2(SYS_ftruncate, fd, sizeof(struct group_page));
	m = raw_mmap((void *)SHIM_GROUP_ADDR, sizeof(struct group_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     fd, 0);
	raw_close(fd);
	group.p = raw_failed(m) ? 0 : m;
	return group.p ? 0 : -1;
}

void group_begin(struct thr *t)
{
	if (G.group)
		return;
	if (G.mode == SHIM_REPLAY) {
		gil_start_replay(t);
		if (!turn_next_call_is(t, RLOG_CALL_GROUP))
			return;
		G.group = G.mt = 1;
		sig_need_segv(t);
		ev(t, RLOG_CALL, 0, RLOG_CALL_GROUP, 0);
		ev_done(t);
		return;
	}
	if (G.mode != SHIM_RECORD || map_page() || take_slot()) {
		note(RLOG_NOTE_UNSUPPORTED, 0, "memory shared with other processes, by too many of them");
		return;
	}
	gil_start_now(t);
	ev(t, RLOG_CALL, 0, RLOG_CALL_GROUP, 0);
	G.group = G.mt = 1;
	sig_need_segv(t);
	group.pos = __atomic_load_n(&group.p->head, __ATOMIC_ACQUIRE);
	group_enter(t);
	pages_begin();
}

void group_fork_child(void)
{
	if (!G.group || G.mode != SHIM_RECORD)
		return;
	group.held = 0;
	group.me = 0;
	if (take_slot())
		G.mode = SHIM_OFF;
}
