/* SPDX-License-Identifier: MIT */
/* proc.c: fork: how new processes begin. exec.c has exec. */
#include "launch/auxv.h"
#include "launch/notes.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/proc/process.h"
#include "record/proc/thread.h"
#include "record/sched/gil.h"
#include "record/shm/group.h"
#include "record/store/keeper.h"
#include "record/sync/heap_detect.h"
#include "record/sys/sys.h"
#include "record/sys/vfork_share.h"

#include <elf.h>
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

/* clone3; or clone, which cannot choose a PID, if a container's filter answers ENOSYS to clone3. */
static long clone_any(struct clone_args *c)
{
	long ret = raw2(SYS_clone3, c, sizeof(*c)),
	     parent = (c->flags & CLONE_PIDFD) ? (long)c->pidfd : (long)c->parent_tid;

	if (ret != -ENOSYS || c->set_tid_size || ((c->flags & CLONE_PIDFD) && (c->flags & CLONE_PARENT_SETTID)))
		return ret;
	return raw6(SYS_clone, (long)(c->flags | c->exit_signal), 0, parent, (long)c->child_tid, (long)c->tls, 0);
}

/* With a chosen PID: a thread of a killed process may still have it for a while, see dispatch/clone.c. */
static long clone_process(struct clone_args *c)
{
	long pause[2] = {0, 1000000}, ret = clone_any(c);

	for (int i = 0; i < 3000 && ret == -17 /* EEXIST */ && c->set_tid_size; i++) {
		raw2(SYS_nanosleep, pause, 0);
		ret = clone_any(c);
	}
	return ret;
}

static int in_follow(uint32_t process)
{
	for (int i = 0; i < 32 && G.ctl->follow[i]; i++)
		if (G.ctl->follow[i] == process)
			return 1;
	return 0;
}

/* The next image on the way to the one that the replay follows; 0: this is the last one, or not on the way. */
static uint32_t next_to_follow(void)
{
	int i = 0;

	while (i < 32 && G.ctl->follow[i] && G.ctl->follow[i] != G.process)
		i++;
	if (i < 31 && G.ctl->follow[i])
		return G.ctl->follow[i + 1];
	return G.process == G.ctl->process ? G.ctl->follow[0] : 0;
}

/*
 * The child of the fork that is being replayed. If the parent was killed before it wrote the result, there is none: if
 * the timeline goes on after the fork, it is the child's. 0: there is no child.
 */
static int fork_result(const struct thr *t, pid_t *pid, uint64_t *child)
{
	struct rlog_rec r;

	if (turn_result_ahead(t, &r)) {
		*child = r.op[1];
		*pid = r.kind == RLOG_FORKED && (int64_t)r.op[0] >= 0 ? init_image_pid((uint32_t)*child) : -1;
		if (*pid == 0) /* it was killed before it had an image */
			*pid = (pid_t)r.op[0];
		return *pid > 0;
	}
	*child = next_to_follow();
	*pid = *child ? init_image_pid((uint32_t)*child) : 0;
	return *pid > 0;
}

static long child_return(uint64_t sp, ucontext_t *uc)
{
	if (sp)
		uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	return 0;
}

/* CLONE_PIDFD: the parent's descriptor for the child. */
static void pidfd_event(struct thr *t, struct clone_args *c, int64_t pid, int64_t fd)
{
	int *at = (int *)c->pidfd;

	if (!(c->flags & CLONE_PIDFD) || pid <= 0 || !at)
		return;
	ev(t, RLOG_CALL, 0, RLOG_CALL_PIDFD, 0);
	ev_done(t);
	ev_callret(t, &fd, 0, 0);
	*at = (int)fd;
}

/*
 * What the child gets in a replay: memory and a PID. Its namespaces and the like make no difference, since its calls
 * are replayed.
 */
#define REPLAYED (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_SETTLS)

/* Writes again what the kernel wrote in the parent, after the memory of a vfork child has been copied over it. */
static void told(struct thr *t, struct clone_args *c, int64_t pid, int64_t fd)
{
	if ((c->flags & CLONE_PARENT_SETTID) && c->parent_tid && pid > 0)
		*(pid_t *)c->parent_tid = (pid_t)pid;
	pidfd_event(t, c, pid, fd);
}

static long fork_record(struct thr *t, struct clone_args *c, int shares, uint64_t sp, ucontext_t *uc)
{
	uint32_t child, parent = G.process;
	uint64_t ordinal;
	int64_t ret, fd;
	struct share *share;
	int net;

	if (pages_any())
		group_begin(t);
	if (G.group)
		pages_settle();
	detect_look_at_all(); /* what is found before the fork is not the child's */
	share = shares ? vfork_begin(uc) : 0;
	child = __atomic_add_fetch(&G.control->next_process, 1, __ATOMIC_RELAXED);
	ev(t, RLOG_FORK, 0, 0, 0);
	/* the child of a vfork needs the group's turn before its parent goes on */
	if (G.group && (c->flags & CLONE_VFORK))
		gil_release(t);
	net = c->flags & CLONE_NEWNET ? keep_connect() : -1;
	ret = clone_process(c);
	keep_follow(net, ret == 0);
	if (ret == 0) {
		vfork_child(share);
		pid_ns_child(c->flags);
		init_fork_child(t, child, parent);
		return child_return(sp, uc);
	}
	if (G.group && (c->flags & CLONE_VFORK))
		gil_acquire(t);
	ordinal = child;
	ev_half(t, RLOG_FORKED, &ret, &ordinal);
	fd = (c->flags & CLONE_PIDFD) && c->pidfd && ret > 0 ? *(int *)c->pidfd : -1;
	if (shares && ret > 0)
		vfork_end(t, share, uc);
	told(t, c, ret, fd);
	return ret;
}

/*
 * In the child: sets its PID in the control page, and waits until the parent has ended. The parent's threads wait for
 * turns in the same page, and could take a turn of the child's.
 */
static void outlive(pid_t parent)
{
	struct pollfd gone = {.events = POLLIN};

	G.ctl->pid = (int)raw0(SYS_getpid);
	raw_futex_wake((uint32_t *)&G.ctl->pid, 1);
	gone.fd = (int)raw2(SYS_pidfd_open, parent, 0);
	if (gone.fd == -ESRCH)
		return;
	if (gone.fd < 0)
		shim_fail("cannot wait for the end of the process that has forked");
	while (raw3(SYS_poll, &gone, 1, -1) == -EINTR)
		;
	raw1(SYS_close, gone.fd);
}

/* In the child, before it may be examined: writes the recorded PID where the kernel has written another one. */
static void show_own_pid(const struct clone_args *c, uint32_t child)
{
	struct rlog_image im;

	if (!(c->flags & CLONE_CHILD_SETTID) || image_read_image(child, &im))
		return;
	if (im.cell_pid || (G.ctl->flags & REPLAY_F_OTHER_PIDS))
		*(int *)c->child_tid = im.pid;
}

/* Does the fork also make a child that waits (a branch)? Not where threads run ahead. */
static int makes_branch(pid_t me)
{
	const struct replay_ctl *c = G.ctl;
	uint32_t end = c->flags & REPLAY_F_OTHER_PIDS ? c->other_branches_end : c->branches_end;

	return c->branches < end && end <= REPLAY_BRANCHES && me == G.pid && !G.lookahead && !turn_parallel();
}

/* Bytes of memory mapped more than once, of which a child that waits has a copy: many may wait. */
#define BRANCH_OWN_MAX (16ull << 20)

/* Returns 0 in the parent; and 1 in the child, when the worker lets it go on. */
static int make_branch(struct thr *t, const struct clone_args *c, uint32_t child, pid_t want)
{
	struct clone_args k = {.flags = (c->flags & REPLAYED) | CLONE_PARENT,
			       .tls = c->tls,
			       .child_tid = c->child_tid,
			       .set_tid = (uint64_t)&want,
			       .set_tid_size = 1};
	const int other_pids = (G.ctl->flags & REPLAY_F_OTHER_PIDS) != 0;
	const uint32_t place = G.ctl->branches;
	struct replay_branch *b = &G.ctl->branch[place];
	const pid_t worker = (pid_t)raw0(SYS_getppid);
	struct alias_own *own; /* the parent and its other children go on to change what a fork shares */
	long pid;

	if (alias_own_try(BRANCH_OWN_MAX, &own))
		return 0;
	if (other_pids)
		k.set_tid = k.set_tid_size = 0;
	b->process = child;
	pid = clone_any(&k); /* if its PID is in use, it is made later */
	if (pid > 0 && other_pids)
		G.ctl->branch_pid[place] = (int)pid;
	if (pid > 0)
		__atomic_store_n(&G.ctl->branches, place + 1, __ATOMIC_RELEASE);
	else if (pid)
		b->process = 0;
	if (pid) {
		alias_own_drop(own);
		return 0;
	}
	if (other_pids) {
		task_end_with(worker);
		G.ctl->branch_pid[place] = (int)raw0(SYS_getpid); /* the parent may be killed now */
		raw2(SYS_setpgid, 0, 0);
	} else
		raw0(SYS_setsid);
	alias_own_take(own);
	while (!__atomic_load_n(&b->go, __ATOMIC_ACQUIRE))
		raw_futex_wait(&b->go, 0);
	if (own)
		G.ctl->aliases = 1; /* the page was cleared for this process */
	turn_attach_again();
	if (!(c->flags & CLONE_VM))
		sys_advice_child();
	show_own_pid(c, child);
	init_fork_child(t, child, 0);
	return 1;
}

static long fork_replay(struct thr *t, struct clone_args *c, int shares, uint64_t sp, ucontext_t *uc)
{
	uint64_t child;
	int64_t ret;
	int follow;
	pid_t want, me = (pid_t)raw0(SYS_getpid); /* in a copy, this is not G.pid */

	group_begin(t);
	ev(t, RLOG_FORK, 0, 0, 0);
	/* the second half may only be taken when the turn is back: here it is only read */
	if (!fork_result(t, &want, &child)) {
		turn_done(t);
		ev_half(t, RLOG_FORKED, &ret, &child);
		return ret;
	}
	follow = in_follow((uint32_t)child);
	/* in a debugger's copy the process does not become the child: its segment ends here */
	if (follow && me != G.pid)
		turn_done(t);
	if (follow) {
		const pid_t worker = (pid_t)raw0(SYS_getppid);
		long pid;

		struct clone_args k = {.flags = (c->flags & REPLAYED) | CLONE_PARENT,
				       .tls = c->tls,
				       .child_tid = c->child_tid,
				       .set_tid = (uint64_t)&want,
				       .set_tid_size = 1};

		if (G.ctl->flags & REPLAY_F_OTHER_PIDS)
			k.set_tid = k.set_tid_size = 0;
		pid = clone_process(&k);
		if (pid == 0) {
			/* CRIU can only dump a session leader, and the parent ends; there, it is found by the session
			 */
			if (G.ctl->flags & REPLAY_F_OTHER_PIDS)
				task_end_with(worker);
			else
				raw0(SYS_setsid);
			outlive(me);
			if (!shares)
				sys_advice_child();
			show_own_pid(c, (uint32_t)child);
			init_fork_child(t, (uint32_t)child, 0);
			return child_return(sp, uc);
		}
		if (pid < 0)
			shim_fail("cannot fork with the recorded PID");
		/* not compared with the child's PID, which may have forked again by now */
		while (G.ctl->pid == G.pid)
			raw_futex_wait((uint32_t *)&G.ctl->pid, (uint32_t)G.pid);
		for (;;)
			raw1(SYS_exit_group, 0);
	}
	if (makes_branch(me) && make_branch(t, c, (uint32_t)child, want))
		return child_return(sp, uc);
	turn_done(t);
	ev_half(t, RLOG_FORKED, &ret, &child);
	if (shares && ret > 0)
		vfork_end(t, 0, uc);
	told(t, c, ret, -1);
	return ret;
}

/* sp: the child's stack pointer, 0: the parent's. */
long proc_fork(struct thr *t, struct clone_args *c, uint64_t sp, ucontext_t *uc)
{
	int shares = (c->flags & CLONE_VM) != 0;

	/*
	 * A child that would share this process's memory until its exec gets a copy instead, since it is recorded, too.
	 * Handlers need memory.
	 */
	if (shares)
		c->flags &= ~(uint64_t)(CLONE_VM | CLONE_SIGHAND);
	/* in such a child, the recorder could not find its own data; neither could libc */
	if ((c->flags & CLONE_SETTLS) && !adopt_is_thread_pointer(c->tls))
		c->flags &= ~(uint64_t)CLONE_SETTLS;
	return G.mode != SHIM_REPLAY ? fork_record(t, c, shares, sp, uc) : fork_replay(t, c, shares, sp, uc);
}
