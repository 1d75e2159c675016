/* SPDX-License-Identifier: MIT */
/* call_run.c: see call.h: the calls themselves. A call has come back when it jumps to RETURN_TO. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "expr/call.h"
#include "replay/segment.h"
#include "trace/blocked.h"

#define RETURN_TO 0x10ull /* nothing is mapped there */
#define RED_ZONE 512u
#define SLICE_NS 20000000u /* how often it is checked whether a call that runs for long will return */

int calls_read(void *memory, uint64_t addr, void *out, size_t len)
{
	struct call_memory *m = memory;
	uint64_t i = (addr - CALL_RESULTS) / 16;

	if (addr < CALL_RESULTS || i >= m->n)
		return trace_read(m->pid, addr, out, len, NULL);
	if ((addr - CALL_RESULTS) % 16 + len > 8)
		return -1;
	if (!m->failed && !m->made[i])
		m->failed = m->make(m->ctx, (unsigned)i, &m->result[i]);
	if (m->failed)
		return -1;
	m->made[i] = true;
	memcpy(out, (const uint8_t *)&m->result[i] + (addr - CALL_RESULTS) % 16, len);
	return 0;
}

/* The value of an argument; a string is put on the stack below *sp. */
static int argument(const struct call_arg *a, struct call_memory *m, uint64_t *sp, uint64_t *value, struct err *e)
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
	if (s == AGENT_OK || m->failed)
		return m->failed;
	err_set(e, ERR_NOT_FOUND, "an argument: %s", agent_status_text(s));
	return 1;
}

static bool is_fatal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT || sig == SIGTRAP;
}

/*
 * How far a call is. The limit is for its CPU time, and for the time in which it was found asleep, but not for the time
 * in which it waits for a processor.
 */
struct going {
	uint64_t cpu_from, limit_ns, slept_ns;
};

/* The call waits, and nobody can wake it: a copy has no other threads than those that the call has made. */
static int never_woken(pid_t pid, uint64_t futex, struct err *e)
{
	pid_t owner = blocked_owner(pid, futex);
	uint32_t thread = owner ? segment_thread_shown_as(pid, owner) : 0;

	if (thread)
		err_set(e, ERR_NOT_FOUND, "the call waits for the mutex 0x%llx, which thread %u has",
			(unsigned long long)futex, thread);
	else
		err_set(e, ERR_NOT_FOUND, "the call waits for another thread, at 0x%llx", (unsigned long long)futex);
	return 1;
}

/* A slice is over. 0: the call continues; 1: it will not return; -1: error. */
static int look(struct trace *t, struct going *g, struct err *e)
{
	struct user_regs_struct r;
	uint64_t now, futex;
	enum blocked b;

	/* a thread that the call has made may have ended the process: the next wait reports that */
	if (trace_get_regs(t, &r, e) || trace_cpu_ns(t->pid, &now, e))
		return e->kind == ERR_KILLED ? 0 : -1;
	b = blocked_in(&r, &futex);
	if (b == BLOCKED_UNTIL_WOKEN && blocked_for_good(t->pid, t->tid))
		return never_woken(t->pid, futex, e);
	g->slept_ns += b ? SLICE_NS : 0;
	if (now - g->cpu_from + g->slept_ns < g->limit_ns)
		return 0;
	err_set(e, ERR_TIMEOUT, "the call did not return");
	return 1;
}

/* Says what ended the call. */
static int has_ended(const struct trace_stop *stop, struct err *e)
{
	if (stop->why == TRACE_SIGNAL)
		err_set(e, ERR_NOT_FOUND, "the call ended by signal %d", stop->info.si_signo);
	else
		err_set(e, ERR_NOT_FOUND, "the call ended the process");
	return 1;
}

/*
 * Runs until the call has returned. System calls trap into the shim, which passes them on. Other signals were on their
 * way before the call, and are not delivered, except SIGSTOP: in a process that is stopped, a thread that the call
 * makes is stopped, too, before its first instruction. (Otherwise what it does would depend on how fast it is.)
 */
static int run(struct trace *t, int timeout_ms, struct user_regs_struct *r, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct going g = {.limit_ns = (uint64_t)timeout_ms * 1000000u};
	struct trace_stop stop;
	int sig = 0, got;

	if (trace_cpu_ns(t->pid, &g.cpu_from, e))
		return -1;
	for (;;) {
		if (trace_cont(t, sig, &slice, &stop, e))
			return -1;
		sig = 0;
		if (stop.why == TRACE_STOPPED)
			continue;
		if (stop.why == TRACE_TIMEOUT) {
			got = look(t, &g, e);
			if (got)
				return got;
			continue;
		}
		if (stop.why != TRACE_SIGNAL)
			return has_ended(&stop, e);
		if (trace_get_regs(t, r, e))
			return -1;
		if (stop.info.si_signo == SIGSEGV && r->rip == RETURN_TO)
			return 0;
		if (is_fatal(stop.info.si_signo))
			return has_ended(&stop, e);
		sig = stop.info.si_signo == SIGSYS || stop.info.si_signo == SIGSTOP ? stop.info.si_signo : 0;
	}
}

/* The result of a function with a floating-point type (System V ABI: in xmm0). */
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

/* The address in the object's table of virtual functions. */
static int dispatch(const struct call *c, pid_t pid, uint64_t object, uint64_t *function, struct err *e)
{
	uint64_t table;

	if (!trace_read(pid, object, &table, sizeof(table), NULL) &&
	    !trace_read(pid, table + 8ull * c->slot, function, sizeof(*function), NULL))
		return 0;
	err_set(e, ERR_NOT_FOUND, "the object has no vtable");
	return 1;
}

/* One evaluation. */
struct making {
	const struct calls *c;
	struct trace *t;
	struct user_regs_struct base;
	int timeout_ms;
	struct call_memory m;
	struct err *e;
};

/* Strings are put on the stack after the arguments' own calls were made, since those use the stack, too. */
static int arguments(struct making *k, const struct call *c, uint64_t *sp, uint64_t arg[CALL_ARGS])
{
	int r = 0;

	for (int strings = 0; strings < 2; strings++)
		for (unsigned i = 0; i < c->nargs && !r; i++)
			if ((c->arg[i].string != NULL) == strings)
				r = argument(&c->arg[i], &k->m, sp, &arg[i], k->e);
	return r;
}

static int make(void *ctx, unsigned i, uint64_t *result)
{
	struct making *k = ctx;
	const struct call *c = &k->c->call[i];
	uint64_t sp = k->base.rsp - RED_ZONE, arg[CALL_ARGS] = {0}, function = c->function;
	int r = arguments(k, c, &sp, arg);

	if (!r && c->is_virtual)
		r = dispatch(c, k->t->pid, arg[0], &function, k->e);
	if (!r && c->indirect)
		r = jump(k->t, &k->base, c->function, sp, arg, k->timeout_ms, &function, k->e);
	if (!r)
		r = jump(k->t, &k->base, function, sp, arg, k->timeout_ms, result, k->e);
	if (r > 0 && k->e->kind == ERR_TIMEOUT)
		err_set(k->e, ERR_TIMEOUT, "the call of %s did not return", c->name);
	return r || !c->floating ? r : floating_result(k->t, result, k->e);
}

static int evaluate(struct making *k, enum agent_status *s, struct agent_result *out)
{
	static const struct agent_ops ops = {.read_mem = calls_read};

	k->m = (struct call_memory){.pid = k->t->pid, .n = k->c->n, .make = make, .ctx = k};
	if (trace_clear_all(k->t, k->e) || trace_get_regs(k->t, &k->base, k->e))
		return -1;
	*s = agent_run(k->c->code, k->c->len, &ops, &k->m, out);
	return k->m.failed;
}

/* The copy is dying (e): by a SIGKILL, or since a thread that a call has made ended it. */
static int died(struct trace *t, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct trace_stop stop;
	struct err why;

	if (trace_cont(t, 0, &slice, &stop, &why)) {
		*e = why;
		return -1;
	}
	return stop.why == TRACE_EXITED ? has_ended(&stop, e) : -1;
}

static bool is_tracing(void)
{
	sigset_t set;

	return !sigprocmask(SIG_BLOCK, NULL, &set) && sigismember(&set, SIGCHLD) == 1;
}

int calls_run(const struct calls *c, pid_t pid, int timeout_ms, enum agent_status *s, struct agent_result *out,
	      struct err *e)
{
	bool begun = is_tracing();
	struct err ignored;
	struct trace t;
	struct making k = {.c = c, .t = &t, .timeout_ms = timeout_ms, .e = e};
	int r;

	if (!begun && trace_prepare(false, e))
		return -1;
	r = trace_seize(&t, pid, pid, e);
	if (!r)
		kill(pid, SIGSTOP); /* it may be stopped already: see run() */
	if (!r)
		r = evaluate(&k, s, out);
	if (r < 0 && e->kind == ERR_KILLED && t.alive)
		r = died(&t, e);
	if (!begun && segment_end_tracing(r ? &ignored : e))
		r = -1;
	return r;
}

static uint64_t switches_of(pid_t pid)
{
	cleanup_fclose FILE *f = NULL;
	uint64_t n = 0;
	char path[64], line[128];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1)
			break;
	return n;
}

/* Has the copy come to another call? GDB stopped it in between. */
static bool is_next_call(struct call_guard *c, enum blocked b)
{
	uint64_t was = c->switches;

	c->switches = switches_of(c->copy);
	if (c->switches == was || b || c->asleep || !c->calls)
		return false;
	c->calls--;
	c->used_ns = c->slept_ns = 0;
	return true;
}

/* How busy the processors are decides nothing: GDB's own time begins anew as long as the call comes nearer to its
 * limit. */
static bool guard_tick(void *ctx)
{
	struct call_guard *c = ctx;
	uint64_t futex, cpu = c->call_from, used, was, now = clock_ns();
	enum blocked b;

	if (c->ended)
		return false;
	b = blocked_now(c->copy, c->copy, &futex);
	if (trace_cpu_ns(c->copy, &cpu, NULL))
		cpu = c->call_from;
	if (is_next_call(c, b))
		c->call_from = cpu;
	was = c->used_ns;
	c->slept_ns += b && c->asleep ? now - c->seen : 0;
	c->asleep = b != BLOCKED_NOT;
	c->seen = now;
	used = cpu - c->call_from + c->slept_ns;
	c->used_ns = used > was ? used : was;
	if (c->limit_ns && used >= c->limit_ns)
		c->overran = err_set(&c->why, ERR_NOT_FOUND, "the call did not return");
	else if (b == BLOCKED_UNTIL_WOKEN && blocked_for_good(c->copy, c->copy))
		never_woken(c->copy, futex, &c->why);
	else
		return c->limit_ns && used > was;
	c->ended = true;
	kill(c->copy, SIGKILL);
	return false;
}

unsigned call_guard_count(const char *expr)
{
	unsigned n = 0;

	for (; *expr; expr++)
		n += *expr == '(' || *expr == '['; /* that may be an operator of C++ */
	return n;
}

void call_guard_begin(struct call_guard *c, struct gdb *g, pid_t copy, int limit_ms, unsigned calls)
{
	*c = (struct call_guard){.copy = copy, .calls = calls, .switches = switches_of(copy)};
	if (!trace_cpu_ns(copy, &c->cpu_from, NULL))
		c->limit_ns = (uint64_t)limit_ms * 1000000u;
	c->call_from = c->cpu_from;
	gdb_tick(g, guard_tick, c);
}

bool call_guard_end(struct call_guard *c, struct gdb *g, struct err *e)
{
	gdb_tick(g, NULL, NULL);
	if (c->ended && e)
		*e = c->why;
	return c->ended;
}
