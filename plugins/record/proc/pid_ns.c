/* SPDX-License-Identifier: MIT */
/*
 * pid_ns.c: PID namespaces that the program creates (CLONE_NEWPID). A process in such a namespace has two PIDs: one
 * inside it, 1 for instance, which is in its own log, and one outside, which is in its parent's log. A replay's cell
 * has a single PID namespace, with the recorded PIDs. In it such a process gets a PID of its own (cell_pid of its
 * image), and its threads get arbitrary TIDs. The PIDs that the kernel writes into the program's memory when a process
 * or thread starts are replaced with the recorded ones.
 *
 * When the first process of a namespace ends, the namespace ends: so the recorder must not create that process itself.
 */
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/proc/process.h"

#include <sched.h>

#define CELL_PIDS 12000u /* from the highest PID down: more than RLOG_MAX_PROCESSES */

uint64_t pid_ns_cell_pid(uint32_t process)
{
	char buf[32] = "";
	const char *s = buf;
	uint64_t max;

	read_head("/proc/sys/kernel/pid_max", buf, sizeof(buf) - 1);
	max = parse_number(&s, 10);
	return (max > 2 * CELL_PIDS ? max : 32768) - CELL_PIDS + process;
}

void pid_ns_child(uint64_t flags)
{
	G.pid_ns |= G.children_ns || (flags & CLONE_NEWPID);
	G.children_ns = 0;
}

/* As long as a new namespace has no first child, the second link is dangling. */
void pid_ns_moved(void)
{
	char own[64], next[64];
	long n = raw3(SYS_readlink, "/proc/self/ns/pid", own, sizeof(own));
	long m = raw3(SYS_readlink, "/proc/self/ns/pid_for_children", next, sizeof(next));

	G.children_ns = n <= 0 || n != m || __builtin_memcmp(own, next, (size_t)n) != 0;
}

void pid_ns_show(int *word, int tid)
{
	if (G.pid_ns && word && tid > 0)
		*word = tid;
}

void pid_ns_show_self(int tid)
{
	int *word = 0;

	if (G.pid_ns && raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word) == 0)
		pid_ns_show(word, tid);
}
