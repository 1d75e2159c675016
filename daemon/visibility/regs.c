/* SPDX-License-Identifier: MIT */
/* regs.c: see regs.h. */
#include "visibility/regs.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/cleanup.h"

#define PAGE 4096u
#define XSAVE_AVX 576 /* where the standard form keeps the upper halves; Intel SDM vol. 1, 13.4.2 */
#define XSAVE_BV 512

static void read_ymm(pid_t tid, struct rsp_regs *r)
{
	uint8_t xsave[TRACE_XSTATE_MAX];
	struct iovec v = {xsave, sizeof(xsave)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) || v.iov_len < XSAVE_AVX + sizeof(r->ymmh) ||
	    !(xsave[XSAVE_BV] & 4))
		return;
	memcpy(r->ymmh, xsave + XSAVE_AVX, sizeof(r->ymmh));
}

int regs_get(struct trace *t, struct rsp_regs *r, struct err *e)
{
	memset(r, 0, sizeof(*r));
	if (trace_get_regs(t, &r->r, e))
		return -1;
	if (ptrace(PTRACE_GETFPREGS, t->tid, 0, &r->fp))
		return err_errno(e, ERR_INTERNAL, "floating-point registers of thread %d", (int)t->tid);
	read_ymm(t->tid, r);
	return 0;
}

static int write_ymm(pid_t tid, const struct rsp_regs *r, struct err *e)
{
	uint8_t xsave[TRACE_XSTATE_MAX];
	struct iovec v = {xsave, sizeof(xsave)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) || v.iov_len < XSAVE_AVX + sizeof(r->ymmh))
		return 0; /* this processor has none */
	memcpy(xsave + XSAVE_AVX, r->ymmh, sizeof(r->ymmh));
	xsave[XSAVE_BV] |= 4;
	return ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &v)
		       ? err_errno(e, ERR_INTERNAL, "vector registers of thread %d", (int)tid)
		       : 0;
}

int regs_set(struct trace *t, const struct rsp_regs *now, const struct rsp_regs *r, struct err *e)
{
	if (trace_set_regs(t, &r->r, e))
		return -1;
	if (ptrace(PTRACE_SETFPREGS, t->tid, 0, &r->fp))
		return err_errno(e, ERR_INTERNAL, "floating-point registers of thread %d", (int)t->tid);
	return memcmp(now->ymmh, r->ymmh, sizeof(now->ymmh)) ? write_ymm(t->tid, r, e) : 0;
}

size_t regs_read_memory(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct err ignored;
	size_t done = 0;

	while (done < len) {
		size_t n = PAGE - ((addr + done) & (PAGE - 1));

		if (n > len - done)
			n = len - done;
		if (trace_read(pid, addr + done, (char *)buf + done, n, &ignored))
			break;
		done += n;
	}
	return done;
}

static void set_breakpoint(struct breaks *b, enum rsp_point p, uint64_t addr, const struct rsp_conditions *c, pid_t pid)
{
	breaks_add(b, addr, p);
	breaks_check(b, addr, pid);
	for (unsigned i = 0; i < c->n; i++)
		breaks_condition(b, addr, c->v[i].code, c->v[i].len);
}

int regs_set_point(struct breaks *b, enum rsp_point p, uint64_t addr, unsigned len, bool on,
		   const struct rsp_conditions *c, pid_t pid)
{
	static const enum group_slot_kind kinds[] = {[RSP_WRITE] = GROUP_WRITE, [RSP_ACCESS] = GROUP_ACCESS};

	if (p <= RSP_HW_BREAK) {
		on ? set_breakpoint(b, p, addr, c, pid) : breaks_remove(b, addr, p);
		return 0;
	}
	if (on)
		return breaks_watch(b, kinds[p], addr, len);
	breaks_unwatch(b, kinds[p], addr, len);
	return 0;
}

void regs_thread_name(pid_t pid, int tid, char *buf, size_t size)
{
	char path[64];
	cleanup_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, tid);
	f = fopen(path, "re");
	if (f && fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
}

/* Signals whose numbers differ; up to SIGTERM most are the same. */
static const struct {
	int host, gdb;
} signals[] = {
	{SIGBUS, 10},	 {SIGUSR1, 30}, {SIGUSR2, 31},	{SIGCHLD, 20}, {SIGCONT, 19}, {SIGSTOP, 17},
	{SIGTSTP, 18},	 {SIGTTIN, 21}, {SIGTTOU, 22},	{SIGURG, 16},  {SIGXCPU, 24}, {SIGXFSZ, 25},
	{SIGVTALRM, 26}, {SIGPROF, 27}, {SIGWINCH, 28}, {SIGPOLL, 23}, {SIGPWR, 32},  {SIGSYS, 12},
};

#define SAME_UP_TO SIGTERM
#define GDB_REALTIME_33 45 /* GDB_SIGNAL_REALTIME_33 ... _63 */
#define GDB_REALTIME_32 77
#define GDB_REALTIME_64 78
#define GDB_UNKNOWN 143

int regs_gdb_signal(int sig)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].host == sig)
			return signals[i].gdb;
	if (sig <= SAME_UP_TO && sig != SIGSTKFLT)
		return sig;
	if (sig >= 33 && sig <= 63)
		return GDB_REALTIME_33 + sig - 33;
	return sig == 32 ? GDB_REALTIME_32 : sig == 64 ? GDB_REALTIME_64 : GDB_UNKNOWN;
}

int regs_host_signal(int gdb)
{
	for (int sig = 1; sig <= 64; sig++)
		if (regs_gdb_signal(sig) == gdb)
			return sig;
	return 0;
}

uint64_t regs_signal_set(const int *gdb, unsigned n)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < n; i++) {
		int sig = regs_host_signal(gdb[i]);

		set |= sig ? 1ull << (sig - 1) : 0;
	}
	return set;
}
