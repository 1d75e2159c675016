/* SPDX-License-Identifier: MIT */
/* diversion.c: see diversion.h. With the shim off, its calls go straight to libc and the kernel. */
#include "debug/diversion.h"

#include <string.h>

#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define SLICE_NS 20000000u /* how often the user's interrupt is looked for */
#define FLAGS_TRAPS 0x10100ull
#define CALL_BELOW (1u << 20) /* bytes below the stack pointer: room for the arguments of a call */

bool diversion_is_on(const struct diversion *d)
{
	return d->copy.pid != 0;
}

void diversion_end(struct diversion *d)
{
	segcur_drop(&d->copy);
	memset(d, 0, sizeof(*d));
}

int diversion_begin(struct diversion *d, struct cursor *t, struct err *e)
{
	const uint32_t off = 0;

	if (diversion_is_on(d))
		return 0;
	memset(d, 0, sizeof(*d));
	if (cursor_copy(t, &d->copy, e))
		return -1;
	if (!trace_write(d->copy.pid, t->nav->t.ctl->mode_addr, &off, sizeof(off), e) &&
	    !trace_get_regs(&d->copy, &d->start, e))
		return 0;
	diversion_end(d);
	return -1;
}

static bool same_registers_all(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	struct user_regs_struct x = *a, y = *b;

	x.orig_rax = y.orig_rax = 0;
	x.eflags &= ~FLAGS_TRAPS;
	y.eflags &= ~FLAGS_TRAPS;
	return !memcmp(&x, &y, sizeof(x));
}

int diversion_in_call(struct diversion *d, const struct breaks *b, bool *yes, struct err *e)
{
	struct user_regs_struct r;
	struct err ignored;
	uint64_t to;

	*yes = false;
	if (!diversion_is_on(d))
		return 0;
	if (trace_get_regs(&d->copy, &r, e))
		return -1;
	if (d->calls)
		d->calls = r.rsp <= d->entry;
	else if (!same_registers_all(&r, &d->start))
		*yes = !trace_read(d->copy.pid, r.rsp, &to, sizeof(to), &ignored) && breaks_has(b, to);
	*yes |= d->calls;
	return 0;
}

/* If a call has returned, the debugger has restored the stack pointer: the call is over. */
static void note_return(struct diversion *d)
{
	struct user_regs_struct r;
	struct err ignored;

	if (d->calls && !trace_get_regs(&d->copy, &r, &ignored))
		d->calls = r.rsp <= d->entry;
}

/* Data for a call is written below the stack pointer, or where an earlier call has allocated memory for it. */
int diversion_write(struct diversion *d, uint64_t addr, const void *data, size_t len, struct err *e)
{
	if (trace_write(d->copy.pid, addr, data, len, e))
		return -1;
	note_return(d);
	d->wrote |= !d->calls && addr != d->returned && (addr + len > d->start.rsp || addr < d->start.rsp - CALL_BELOW);
	return 0;
}

bool diversion_has_changes(struct diversion *d, bool elsewhere)
{
	struct user_regs_struct r;
	struct err ignored;

	return diversion_is_on(d) && (d->wrote || (!d->calls && !elsewhere && !trace_get_regs(&d->copy, &r, &ignored) &&
						   !same_registers_all(&r, &d->start)));
}

/* Does this signal end a program when it is sent? A copy has none of the program's handlers. */
static bool ends(int sig)
{
	static const int those[] = {SIGHUP,  SIGINT,  SIGQUIT,	 SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
				    SIGFPE,  SIGUSR1, SIGSEGV,	 SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
				    SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};

	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (those[i] == sig)
			return true;
	return false;
}

static bool is_fatal(const struct trace_stop *s)
{
	int sig = s->info.si_signo;

	return s->info.si_code <= 0 ? ends(sig) : sig == SIGTRAP || trace_is_fault(s);
}

/* The call returned to the stack, where nothing can be executed: this fault tells that it has ended. */
static int is_back(struct diversion *d, const struct breaks *b, bool *yes, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(&d->copy, &r, e))
		return -1;
	*yes = breaks_has(b, r.rip);
	if (*yes)
		d->returned = r.rax;
	return 0;
}

/* An int3 was executed. If it is not one of b's, it is the program's own, and its signal. */
static int at_break(struct diversion *d, const struct breaks *b, struct stop *stop, struct err *e)
{
	int ours = breaks_hit(b, &d->copy, e);

	*stop = (struct stop){.kind = ours > 0 ? STOP_BREAK : STOP_SIGNAL, .sig = SIGTRAP};
	return ours < 0 ? -1 : 0;
}

/*
 * Is it a fault that was reported already? The recorder's handler lets a fault for which the program has no handler
 * happen again.
 */
static bool is_again(struct diversion *d, const struct trace_stop *s)
{
	struct err ignored;
	uint64_t pc;
	bool again = d->passed == s->info.si_signo && trace_is_fault(s) && !trace_get_pc(&d->copy, &pc, &ignored) &&
		     pc == d->passed_pc;

	d->passed = 0;
	return again;
}

/* stop->kind 0: the copy goes on, with *sig. */
static int judge(struct diversion *d, struct cursor *t, const struct trace_stop *s, int *sig, struct stop *stop,
		 struct err *e)
{
	bool back = false;

	*sig = 0;
	*stop = (struct stop){0};
	switch (s->why) {
	case TRACE_EXITED:
		stop->kind = STOP_OVER;
		return 0;
	case TRACE_STEPPED:
		stop->kind = STOP_STEP;
		return 0;
	case TRACE_TIMEOUT:
		if (t->interrupted && t->interrupted(t->ctx))
			stop->kind = STOP_INTERRUPT;
		return 0;
	case TRACE_SIGNAL:
		if (trace_is_int3(s))
			return at_break(d, &t->breaks, stop, e);
		if (s->info.si_signo == SIGSEGV && is_back(d, &t->breaks, &back, e))
			return -1;
		if (back)
			stop->kind = STOP_BREAK;
		else if (is_fatal(s) && !is_again(d, s))
			*stop = (struct stop){.kind = STOP_SIGNAL, .sig = s->info.si_signo};
		else
			*sig = s->info.si_signo;
		return 0;
	default:
		return 0;
	}
}

static int run(struct diversion *d, struct cursor *t, bool step, struct stop *stop, int *status, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct trace_stop s;
	int sig = d->sig;

	d->sig = 0;
	do {
		if (step ? trace_step_within(&d->copy, sig, &slice, &s, e) : trace_cont(&d->copy, sig, &slice, &s, e))
			return -1;
		if (judge(d, t, &s, &sig, stop, e))
			return -1;
	} while (!stop->kind);
	*status = s.status;
	return 0;
}

int diversion_run(struct diversion *d, struct cursor *t, bool step, struct stop *stop, int *status, struct err *e)
{
	struct user_regs_struct before;
	struct err why;
	int r;

	if (trace_get_regs(&d->copy, &before, e))
		return -1;
	if (!d->calls)
		d->entry = before.rsp;
	d->calls = true;
	d->passed = d->sig;
	d->passed_pc = before.rip;
	if (trace_clear_all(&d->copy, e) || breaks_insert(&t->breaks, d->copy.pid, e))
		return -1;
	r = run(d, t, step, stop, status, e);
	if (d->copy.alive && breaks_take_out(&t->breaks, d->copy.pid, r ? &why : e))
		r = -1;
	return r;
}
