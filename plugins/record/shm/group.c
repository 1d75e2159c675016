/* SPDX-License-Identifier: MIT */
/*
 * group.c: recording processes that share writable memory: one of them at a time runs the program's code.
 *
 * What another process writes is input that no event brings. So such processes form a group: each
 * records serially (gil.c), and the one that runs also has the group's turn, which it gives up where it gives up its
 * own: behind a stamped record. While it has the turn nobody else of the group writes. What the others
 * wrote before is found page by page when it is first looked at (pages.c), and logged there; each process then
 * replays alone.
 *
 * A process joins when it forks with a shared mapping, or maps a file or a System V segment that another process
 * might map too. The turn of a process that died is taken by one that waits.
 *
 * REC/group is the group's page: only the recorder looks at it. It may be killed at any moment.
 */
#include "record/shm/group.h"
#include "record/core/keep.h"

#include <signal.h>
#include <time.h>

#define SLOTS 512u
#define REGIONS 4096u
#define JOURNAL (1u << 18)
#define WORDS 1024u

#define LOOK_NS 50000000l /* between looks at an owner that may be dead or spin */
#define OBJECT_NS 20000000l /* a wait for an object: others may have died with it */
#define WAITED 0x80000000u
#define INNER 0x40000000u /* in a PID that is one in a PID namespace that the program made */

struct slot {
	uint32_t pid, tid;
	uint32_t go; /* futex */
	uint32_t faults; /* pages looked at: it does not spin */
	uint64_t ticket; /* waits for its turn; 0: no */
};

struct group_page {
	uint32_t lock; /* futex: PID of the holder, and WAITED */
	uint32_t owner; /* slot + 1, 0: nobody */
	uint32_t waiting;
	uint32_t regions;
	uint64_t ticket;
	uint64_t turns;
	uint64_t head; /* of the journal: entries ever written */
	struct {
		uint64_t dev, ino;
	} region[REGIONS];
	struct slot slot[SLOTS];
	struct {
		uint32_t seq, waiters;
	} word[WORDS];
	uint64_t journal[JOURNAL];
};

static struct {
	struct group_page *p;
	uint32_t me; /* slot + 1 */
	int held;
	uint64_t pos; /* read up to there in the journal */
} group;

static uint32_t own_pid(void)
{
	return (uint32_t)G.pid | (G.pid_ns ? INNER : 0);
}

/* The number of a process in another PID namespace, perhaps: it says nothing here. */
static int elsewhere(uint32_t pid)
{
	return G.pid_ns || (pid & INNER);
}

/* ---- the page's lock ---- */

/* Gone, or a zombie. */
int group_is_dead(uint32_t pid)
{
	char path[64], *p = fmt_str(path, path + sizeof(path), "/proc/"), state;

	if (elsewhere(pid))
		return 0;
	if (raw2(SYS_kill, pid, 0) == -3 /* ESRCH */)
		return 1;
	p = fmt_dec(p, path + sizeof(path), pid, 1);
	fmt_str(p, path + sizeof(path), "/stat");
	state = read_task_state(path);
	return state == 'Z' || state == 'X';
}

static void lock(void)
{
	uint32_t *word = &group.p->lock, v = 0, mine = own_pid();
	long limit[2] = {0, LOOK_NS};

	if (__atomic_compare_exchange_n(word, &v, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	for (;;) {
		v = __atomic_load_n(word, __ATOMIC_RELAXED);
		if (!v) {
			/* others may sleep */
			if (__atomic_compare_exchange_n(word, &v, mine | WAITED, 0, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return;
			continue;
		}
		if (!(v & WAITED) && !__atomic_compare_exchange_n(word, &v, v | WAITED, 0, __ATOMIC_RELAXED,
								  __ATOMIC_RELAXED))
			continue;
		v |= WAITED;
		if (raw4(SYS_futex, word, FUTEX_WAIT, v, limit) == -110 && group_is_dead(v & ~WAITED))
			__atomic_compare_exchange_n(word, &v, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

static void unlock(void)
{
	if (__atomic_exchange_n(&group.p->lock, 0, __ATOMIC_RELEASE) & WAITED)
		raw_futex_wake(&group.p->lock, 1);
}

/* ---- the turn ---- */

/* To the one that waits longest. With the lock held. */
static void grant_next(void)
{
	struct group_page *p = group.p;
	struct slot *best = 0;

	p->owner = 0;
	for (uint32_t i = 0; p->waiting && i < SLOTS; i++)
		if (p->slot[i].ticket && (!best || p->slot[i].ticket < best->ticket))
			best = &p->slot[i];
	if (!best)
		return;
	best->ticket = 0;
	p->waiting--;
	p->turns++;
	p->owner = (uint32_t)(best - p->slot) + 1;
	__atomic_store_n(&best->go, 1, __ATOMIC_RELEASE);
	raw_futex_wake(&best->go, 1);
}

int group_wanted(void)
{
	return group.held && __atomic_load_n(&group.p->waiting, __ATOMIC_RELAXED);
}

void group_fault(void)
{
	group.p->slot[group.me - 1].faults++;
}

/* It has waited for long: takes the turn away from a dead owner, interrupts one that has not moved since. */
static void look_at_owner(uint64_t *seen)
{
	struct group_page *p = group.p;
	struct slot *o;
	uint64_t now;

	lock();
	o = p->owner && p->owner != group.me ? &p->slot[p->owner - 1] : 0;
	now = p->turns + (o ? o->faults : 0);
	if (o && group_is_dead(o->pid)) {
		o->pid = 0;
		group_journal(REGIONS_ALL, PAGES_ALL, 0);
		grant_next();
	} else if (o && *seen == now && !elsewhere(o->pid)) {
		raw3(SYS_tgkill, o->pid, o->tid, SIG_PREEMPT);
	}
	*seen = now;
	unlock();
}

void group_enter(struct thr *t)
{
	long limit[2] = {0, LOOK_NS};
	struct group_page *p = group.p;
	uint64_t seen = ~0ull;
	struct slot *s;

	if (!G.group || group.held || G.mode != SHIM_RECORD)
		return;
	s = &p->slot[group.me - 1];
	lock();
	s->tid = (uint32_t)t->tid;
	if (!p->owner) {
		p->owner = group.me;
		p->turns++;
		unlock();
	} else {
		s->go = 0;
		s->ticket = ++p->ticket;
		p->waiting++;
		unlock();
		while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
			if (raw4(SYS_futex, &s->go, FUTEX_WAIT, 0, limit) == -110)
				look_at_owner(&seen);
	}
	group.held = 1;
	pages_enter(&group.pos, __atomic_load_n(&p->head, __ATOMIC_ACQUIRE), p->journal, JOURNAL, group.me);
}

void group_leave(void)
{
	if (!group.held)
		return;
	pages_leave();
	group.held = 0;
	lock();
	if (group.p->owner == group.me)
		grant_next();
	unlock();
}

/* Only the owner of the turn writes, or who holds the lock and finds the owner dead. */
void group_journal(uint32_t region, uint32_t page, int own)
{
	struct group_page *p = group.p;
	uint64_t at = p->head;

	p->journal[at % JOURNAL] = (uint64_t)(own ? group.me : 0) << 48 | (uint64_t)region << 32 | page;
	__atomic_store_n(&p->head, at + 1, __ATOMIC_RELEASE);
}

uint32_t group_region(uint64_t dev, uint64_t ino)
{
	struct group_page *p = group.p;
	uint32_t i;

	lock();
	for (i = 0; (dev || ino) && i < p->regions && i < REGIONS; i++)
		if (p->region[i].dev == dev && p->region[i].ino == ino)
			break;
	if (!dev && !ino)
		i = p->regions;
	if (i == p->regions && i < REGIONS - 1) {
		p->region[i].dev = dev;
		p->region[i].ino = ino;
		p->regions++;
	}
	unlock();
	return i; /* when there are too many, the last ones share a number: more looks, nothing worse */
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

uint32_t group_file(long nr, const long *a)
{
	struct group_page *p = group.p;
	long fd = changed_fd(nr, a);
	uint64_t st[18];

	if (fd < 0 || raw2(SYS_fstat, fd, st) < 0)
		return 0;
	for (uint32_t i = 0; i < p->regions; i++)
		if (p->region[i].ino == st[1] && p->region[i].dev == st[0])
			return i + 1;
	return 0;
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
	pages_leave();
	group_journal(region - 1, PAGES_ALL, 0);
	pages_stale(region - 1, PAGES_ALL);
}

/* ---- joining ---- */

static int take_slot(void)
{
	struct group_page *p = group.p;
	uint32_t i;

	lock();
	for (i = 0; i < SLOTS; i++)
		if (!p->slot[i].pid || p->slot[i].pid == own_pid() || (!p->slot[i].ticket && p->owner != i + 1 && group_is_dead(p->slot[i].pid)))
			break;
	if (i < SLOTS) {
		p->slot[i] = (struct slot){.pid = own_pid()};
		group.me = i + 1;
	}
	unlock();
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
	m = raw_mmap((void *)SHIM_GROUP_ADDR, sizeof(struct group_page), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, fd, 0);
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

/* ---- objects in shared memory ---- */

static uint32_t word_of(const void *obj)
{
	/* the page's offset alone: processes may have it at different addresses */
	return (uint32_t)((uintptr_t)obj & 4095) / 4 % WORDS;
}

uint32_t group_seen(const void *obj)
{
	return __atomic_load_n(&group.p->word[word_of(obj)].seq, __ATOMIC_ACQUIRE);
}

long group_wait(const void *obj, uint32_t seen)
{
	uint32_t w = word_of(obj);
	long limit[2] = {0, OBJECT_NS}, ret;

	__atomic_add_fetch(&group.p->word[w].waiters, 1, __ATOMIC_SEQ_CST);
	ret = raw4(SYS_futex, &group.p->word[w].seq, FUTEX_WAIT, seen, limit);
	__atomic_sub_fetch(&group.p->word[w].waiters, 1, __ATOMIC_SEQ_CST);
	return ret == -4 ? -4 : ret == -110 ? 1 : 0;
}

void group_wake(const void *obj)
{
	uint32_t w = word_of(obj);

	__atomic_add_fetch(&group.p->word[w].seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&group.p->word[w].waiters, __ATOMIC_SEQ_CST))
		raw_futex_wake(&group.p->word[w].seq, 0x7fffffff);
}
