/* SPDX-License-Identifier: MIT */
/* fork.c: copies of the target, by an injected clone, and memory of their own for them. */
#include "base/maps.h"
#include "base/sud.h"
#include "trace/alias.h"
#include "trace/internal.h"
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

/* A fork does not inherit Syscall User Dispatch. An older kernel, which cannot say, has targets with filters only. */
static int copy_dispatch(const struct trace *t, struct trace *c, struct err *e)
{
	struct sud_config on;

	if (sud_get(t->tid, &on))
		return errno == EIO ? 0 : err_errno(e, ERR_HOST, "cannot read the Syscall User Dispatch of %d", t->tid);
	if (on.mode && sud_set(c->tid, &on))
		return err_errno(e, ERR_HOST, "cannot set the Syscall User Dispatch of %d", c->tid);
	return 0;
}

/* The child's first stop; then it gets the parent's registers, mask and slots. */
static int adopt(const struct trace *t, struct trace_injection *in, struct trace *c, struct err *e)
{
	int64_t ax = (int64_t)in->saved.rax;
	int status;

	if (trace_wait(c, 0, &status, e) < 0)
		return -1;
	if (!WIFSTOPPED(status))
		return trace_was_killed(c, status, e)
			       ? -1
			       : err_set(e, ERR_INTERNAL, "the copy %d ended at once", (int)c->pid);
	c->alive = true;
	/* the restart block is not inherited: begin the interrupted call anew */
	if ((int64_t)in->saved.orig_rax >= 0 && ax == -TRACE_ERESTART_RESTARTBLOCK)
		in->saved.rax = (unsigned long long)-TRACE_ERESTARTNOINTR;
	if (trace_put_back(c, in, e))
		return -1;
	for (unsigned i = 0; i < TRACE_SLOTS; i++)
		if ((t->dr7 >> (2 * i) & 3) && trace_poke_debug(c, i, t->dr[i], e))
			return -1;
	if (t->dr7 && trace_poke_debug(c, 7, t->dr7, e))
		return -1;
	memcpy(c->dr, t->dr, sizeof(c->dr));
	c->dr7 = t->dr7;
	c->alt_lo = t->alt_lo;
	c->alt_end = t->alt_end;
	if (copy_dispatch(t, c, e))
		return -1;
	c->options = PTRACE_O_EXITKILL;
	return ptrace(PTRACE_SETOPTIONS, c->tid, 0, c->options) ? err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS")
								: 0;
}

int trace_fork(struct trace *t, uint64_t gadget, struct trace *child, struct err *e)
{
	const uint64_t args[6] = {CLONE_PARENT};
	struct trace_injection in;
	int64_t ret = 0;
	int r;

	memset(child, 0, sizeof(*child));
	if (ptrace(PTRACE_SETOPTIONS, t->tid, 0,
		   PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | (t->options & PTRACE_O_EXITKILL)))
		return err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)t->tid);
	r = trace_inject(t, gadget, SYS_clone, args, &in, &ret, &child->pid, e);
	if (t->alive && ptrace(PTRACE_SETOPTIONS, t->tid, 0, t->options) && !r)
		r = err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)t->tid);
	child->tid = child->pid;
	child->own = true;
	child->passes = t->passes;
	if (!r && (ret < 0 || !child->pid)) {
		errno = (int)-ret;
		r = err_fork(e, "cannot fork the replayed process");
	}
	if (!r)
		r = adopt(t, &in, child, e);
	if (!r)
		r = alias_own(child, gadget, e);
	if (r && child->pid)
		trace_kill(child);
	return r;
}

static int privatize(struct trace *t, uint64_t gadget, uint64_t addr, uint64_t len, int prot, struct err *e)
{
	const uint64_t map[6] = {0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
	uint64_t copy, unused;

	if (trace_call(t, gadget, "mmap", SYS_mmap, map, &copy, e) || trace_copy_range(t->pid, addr, copy, len, e))
		return -1;
	if (prot != (PROT_READ | PROT_WRITE)) {
		const uint64_t protect[6] = {copy, len, (uint64_t)prot};

		if (trace_call(t, gadget, "mprotect", SYS_mprotect, protect, &unused, e))
			return -1;
	}
	const uint64_t move[6] = {copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr};

	return trace_call(t, gadget, "mremap", SYS_mremap, move, &unused, e);
}

int trace_unshare_memory(struct trace *t, uint64_t gadget, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, t->pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		int prot = PROT_READ | PROT_WRITE | (m.exec ? PROT_EXEC : 0);

		if (!m.shared || !m.write || alias_is(&m))
			continue;
		if (privatize(t, gadget, m.lo, m.hi - m.lo, prot, e))
			return err_wrap(e, "make 0x%" PRIx64 " %.80s private", m.lo, m.path);
	}
	return 0;
}
