/* SPDX-License-Identifier: MIT */
/*
 * frame_alive.c: see frame_alive.h. No unwinding: a frame is there when the stack pointer is below it and its return address in its
 * place. Another call of the function from the same place, in the same frame, is the same to us.
 */
#include "expr/frame_alive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "trace/trace.h"

#define PUSHED_MAX 16 /* words that a call may put between the frame and its return address */

/* Stack pointer and PC of a thread that is not running. False: there is no such thread. */
static bool where(pid_t pid, pid_t tid, uint64_t *sp, uint64_t *pc)
{
	cleanup_fclose FILE *f = NULL;
	char path[64], line[256], *p;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	/* "NUMBER ARGUMENTS SP PC" or "-1 SP PC" */
	p = line + strcspn(line, "\n");
	for (int fields = 0; p > line && fields < 2; fields += *p == ' ')
		p--;
	return sscanf(p, " %" SCNx64 " %" SCNx64, sp, pc) == 2;
}

/* Do both lie in one mapping? A signal handler's stack is another, also where it lies near. */
static bool same_mapping(pid_t pid, uint64_t a, uint64_t b)
{
	struct mapping m;

	return maps_find(pid, a, &m) && mapping_has(&m, b);
}

static bool contains(const struct gdb_range *r, uint64_t pc)
{
	return pc >= r->lo && pc < r->hi;
}

/* Where the frame goes on, by the return address of what it has called; 0: not to be seen. */
static uint64_t resumes(const struct gdb_locals *l, pid_t pid)
{
	uint64_t word[PUSHED_MAX];

	if (trace_read(pid, l->sp - sizeof(word), word, sizeof(word), NULL))
		return 0;
	for (unsigned i = PUSHED_MAX; i-- > 0;)
		if (contains(&l->code, word[i]))
			return word[i] - 1;
	return 0;
}

static bool is_unset(const struct gdb_locals *l, uint64_t pc)
{
	for (unsigned i = 0; i < l->unset_n; i++)
		if (contains(&l->unset[i], pc))
			return true;
	return false;
}

bool live_locals(const struct gdb_locals *l, pid_t pid)
{
	uint64_t sp = 0, pc = 0, ret = 0;

	if (!l->any)
		return true;
	if (trace_read(pid, l->cfa - 8, &ret, sizeof(ret), NULL) || ret != l->ret)
		return false;
	if (!where(pid, l->tid, &sp, &pc) && !where(pid, pid, &sp, &pc))
		return true;
	if (sp >= l->cfa && same_mapping(pid, l->cfa - 1, sp))
		return false;
	if (sp < l->sp || sp >= l->cfa || !contains(&l->code, pc))
		pc = resumes(l, pid);
	return !is_unset(l, pc);
}
