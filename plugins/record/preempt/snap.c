/* SPDX-License-Identifier: MIT */
/* snap.c: replay: copies of the process in which the debugger makes calls: see REPLAY_CMD_SNAP in rlog/replay.h. */
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/preempt/interrupt.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

/*
 * The copy of this process in which the debugger runs calls: off the timeline, with nothing shared. It reports when it
 * is ready: until then, it would change the original's control page. It still knows the threads' TIDs and entries,
 * which tell which thread has a lock.
 */
static _Noreturn void snap_child(pid_t worker)
{
	static uint32_t never;
	uint64_t len = (sizeof(*G.ctl) + 4095) & ~4095ul;
	struct replay_ctl *own = G.ctl,
			  *shared = (void *)raw6(SYS_mremap, (long)own, 0, (long)len, MREMAP_MAYMOVE, 0, 0);

	if (raw_failed(shared)) {
		own->cmd_result = (long)shared;
		shared = own;
	} else {
		raw_mmap(own, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		__builtin_memcpy(own->tid, shared->tid, sizeof(own->tid));
		waits_tell();
	}
	if (shared->flags & REPLAY_F_OTHER_PIDS) /* no PID namespace ends with the worker */
		task_end_with(worker);
	alias_own_take(alias_own_make());
	G.mode = SHIM_OFF;
	/* a session of its own: else it keeps the original's PID in use as its session's */
	raw0(SYS_setsid);
	__atomic_store_n(&shared->cmd, REPLAY_CMD_RUN, __ATOMIC_SEQ_CST);
	raw_futex_wake(&shared->cmd, 0x7fffffff);
	if (shared == own)
		raw1(SYS_exit_group, 1);
	raw2(SYS_munmap, shared, len);
	for (;;)
		raw_futex_wait(&never, 0);
}

long turn_snap(struct replay_ctl *c)
{
	/* CLONE_PARENT: the worker is the copy's parent, this process has no child */
	const pid_t worker = (pid_t)raw0(SYS_getppid);
	long pid;

	c->cmd_result = 0;
	pid = raw6(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0);
	if (pid == 0)
		snap_child(worker);
	while (pid > 0 && __atomic_load_n(&c->cmd, __ATOMIC_SEQ_CST) == REPLAY_CMD_SNAP)
		raw_futex_wait(&c->cmd, REPLAY_CMD_SNAP);
	return pid > 0 && c->cmd_result < 0 ? c->cmd_result : pid;
}
