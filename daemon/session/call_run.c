/* SPDX-License-Identifier: MIT */
/* call_run.c: see call.h: the calls themselves. A call has come back when it jumps to RETURN_TO. */
#include <signal.h>
#include <string.h>

#include "search/agent.h"
#include "session/call.h"
#include "session/segment.h"
#include "trace/trace.h"

#define RETURN_TO 0x10ull /* nothing is mapped there */
#define RED_ZONE 512u

int calls_read(void *memory, uint64_t addr, void *out, size_t len)
{
	const struct call_memory *m = memory;
	uint64_t i = (addr - CALL_RESULTS) / 16;

	if (addr < CALL_RESULTS || i >= m->n)
		return trace_read(m->pid, addr, out, len, NULL);
	if ((addr - CALL_RESULTS) % 16 + len > 8)
		return -1;
	memcpy(out, (const uint8_t *)&m->result[i] + (addr - CALL_RESULTS) % 16, len);
	return 0;
}

/* The value of an argument; a string is put on the stack below *sp. */
static int argument(const struct call_arg *a, struct call_memory *m, uint64_t *sp, uint64_t *value,
		    struct err *e)
{
	static const struct agent_ops ops = {.read_mem = calls_read};
	struct agent_result r;
	enum agent_status s;

	if (a->string) {
		size_t len = strlen(a->string) + 1;

		*sp -= len;
		*value = *sp;
		return trace_write(m->pid, *sp, a->string, len, e);
	}
	s = agent_run(a->code, a->len, &ops, m, &r);
	*value = (uint64_t)r.value;
	if (s == AGENT_OK)
		return 0;
	err_set(e, ERR_NOT_FOUND, "an argument: %s", agent_status_text(s));
	return 1;
}

static bool is_fatal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT ||
	       sig == SIGTRAP;
}

/*
 * Runs until the call is back. System calls trap into the shim, which passes them on; signals that were
 * on their way, the copy's own SIGSTOP included, are none of the call's.
 */
static int run(struct trace *t, int timeout_ms, struct user_regs_struct *r, struct err *e)
{
	struct trace_limit limit = {.wall_ns = (uint64_t)timeout_ms * 1000000u};
	struct trace_stop stop;
	int sig = 0;

	for (;;) {
		if (trace_cont(t, sig, &limit, &stop, e))
			return -1;
		sig = 0;
		if (stop.why == TRACE_STOPPED)
			continue;
		if (stop.why != TRACE_SIGNAL)
			break;
		if (trace_get_regs(t, r, e))
			return -1;
		if (stop.info.si_signo == SIGSEGV && r->rip == RETURN_TO)
			return 0;
		if (is_fatal(stop.info.si_signo))
			break;
		sig = stop.info.si_signo == SIGSYS ? SIGSYS : 0;
	}
	if (stop.why == TRACE_SIGNAL)
		err_set(e, ERR_NOT_FOUND, "the call ended by signal %d", stop.info.si_signo);
	else
		err_set(e, ERR_NOT_FOUND, "the call %s",
			stop.why == TRACE_EXITED ? "ended the process" : "did not return");
	return 1;
}

/* What a function of a floating-point type has left (System V ABI: in xmm0). */
static int floating_result(struct trace *t, uint64_t *result, struct err *e)
{
	struct user_fpregs_struct r;

	if (trace_get_fpregs(t, &r, e))
		return -1;
	memcpy(result, r.xmm_space, sizeof(*result));
	return 0;
}

static int jump(struct trace *t, const struct user_regs_struct *base, uint64_t function, uint64_t sp,
		const uint64_t arg[CALL_ARGS], int timeout_ms, uint64_t *result, struct err *e)
{
	struct user_regs_struct r = *base;
	const uint64_t back = RETURN_TO;
	int w;

	r.rip = function;
	r.rsp = (sp & ~15ull) - 8;
	r.rdi = arg[0];
	r.rsi = arg[1];
	r.rdx = arg[2];
	r.rcx = arg[3];
	r.r8 = arg[4];
	r.r9 = arg[5];
	r.rax = 0;
	r.orig_rax = (unsigned long long)-1;
	r.eflags &= ~0x500ull; /* trap and direction flag */
	if (trace_write(t->pid, r.rsp, &back, sizeof(back), e) || trace_set_regs(t, &r, e))
		return -1;
	w = run(t, timeout_ms, &r, e);
	*result = r.rax;
	return w;
}

/* What the object's table of virtual functions has there. */
static int dispatch(const struct call *c, pid_t pid, uint64_t object, uint64_t *function, struct err *e)
{
	uint64_t table;

	if (!trace_read(pid, object, &table, sizeof(table), NULL) &&
	    !trace_read(pid, table + 8ull * c->slot, function, sizeof(*function), NULL))
		return 0;
	err_set(e, ERR_NOT_FOUND, "the object has no table of virtual functions");
	return 1;
}

static int one(const struct call *c, struct trace *t, const struct user_regs_struct *base,
	       struct call_memory *m, int timeout_ms, uint64_t *result, struct err *e)
{
	uint64_t sp = base->rsp - RED_ZONE, arg[CALL_ARGS] = {0}, function = c->function;
	int r = 0;

	for (unsigned i = 0; i < c->nargs && !r; i++)
		r = argument(&c->arg[i], m, &sp, &arg[i], e);
	if (!r && c->is_virtual)
		r = dispatch(c, t->pid, arg[0], &function, e);
	if (!r && c->indirect)
		r = jump(t, base, c->function, sp, arg, timeout_ms, &function, e);
	if (!r)
		r = jump(t, base, function, sp, arg, timeout_ms, result, e);
	return r || !c->floating ? r : floating_result(t, result, e);
}

static int all(const struct calls *c, struct trace *t, int timeout_ms, uint64_t *result, struct err *e)
{
	struct call_memory m = {.pid = t->pid, .result = result};
	struct user_regs_struct base;
	int r = trace_clear_all(t, e) || trace_get_regs(t, &base, e) ? -1 : 0;

	for (; m.n < c->n && !r; m.n++)
		r = one(&c->call[m.n], t, &base, &m, timeout_ms, &result[m.n], e);
	return r;
}

static bool is_tracing(void)
{
	sigset_t set;

	return !sigprocmask(SIG_BLOCK, NULL, &set) && sigismember(&set, SIGCHLD) == 1;
}

int calls_run(const struct calls *c, pid_t pid, int timeout_ms, uint64_t result[CALL_MAX], struct err *e)
{
	bool begun = is_tracing();
	struct err ignored;
	struct trace t;
	int r;

	if (!begun && trace_prepare(false, e))
		return -1;
	r = trace_seize(&t, pid, pid, e);
	if (!r)
		r = all(c, &t, timeout_ms, result, e);
	if (!begun && segment_end_tracing(r ? &ignored : e))
		r = -1;
	return r;
}
