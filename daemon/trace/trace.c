/* SPDX-License-Identifier: MIT */
/* trace.c: hold, run and let go of one thread. See trace.h and ptrace(2), "PTRACE_SEIZE". */
#include "trace/trace.h"
#include "base/clock.h"
#include "base/maps.h"
#include "trace/internal.h"
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A sleep shorter than it takes to switch to the traced thread ends before that has run at all; under SCHED_FIFO a loop
 * of these starves it for a second. So the last part of a limit, if it is shorter than that, is left unused.
 */
#define MIN_SLEEP_NS 20000
#define DONE_NS 3000
#define WAITS_NS 20000000000u
#define TRAP_NS 100000000u /* a trap that is pending is reported within this time, or it is interrupted again */
#define TRAP_FLAG 0x100ull

int trace_prepare(bool fifo, struct err *e)
{
	struct sched_param sp = {.sched_priority = 1};
	sigset_t set;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return err_errno(e, ERR_INTERNAL, "sigprocmask");
	if (prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0))
		return err_errno(e, ERR_INTERNAL, "PR_SET_TIMERSLACK");
	if (fifo && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &sp) && errno != EPERM)
		return err_errno(e, ERR_INTERNAL, "SCHED_FIFO");
	return 0;
}

int trace_pin(pid_t tid, int cpu, struct err *e)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		return err_errno(e, ERR_HOST, "bind thread %d to CPU %d", (int)tid, cpu);
	return 0;
}

/* DR6 says which slots were hit, and whether it was a step. The kernel sets it at each trap of the processor. */
static int read_dr6(struct trace *t, unsigned long *dr6, struct err *e)
{
	if (trace_peek_debug(t, 6, dr6, e))
		return -1;
	/* the end of a step over a `syscall` is no such trap, and leaves DR6 as it was */
	return *dr6 & 0xf ? trace_poke_debug(t, 6, 0, e) : 0;
}

/* TRAP_BRKPT is a step over a `syscall` (user_single_step_report); an int3 gives SI_KERNEL. */
static bool is_of_debug_registers(int code)
{
	return code == TRAP_TRACE || code == TRAP_BRKPT || code == TRAP_HWBKPT;
}

/*
 * The trap flag of a thread that is not stepped is its own: the recorder looks for a place by it, where it may not use
 * perf_event_open(2). It is to hear of that.
 */
static int classify_trap(struct trace *t, struct trace_stop *out, struct err *e)
{
	unsigned long dr6;

	if (out->info.si_code == SIGTRAP) { /* ptrace(2): the step ended where a handler begins */
		out->why = TRACE_STEPPED;
		return 0;
	}
	if (!is_of_debug_registers(out->info.si_code)) {
		out->why = TRACE_SIGNAL;
		return 0;
	}
	if (read_dr6(t, &dr6, e))
		return -1;
	out->slots = (unsigned)dr6 & 0xf;
	if (out->info.si_code == TRAP_TRACE && !t->stepped_from)
		out->why = TRACE_SIGNAL;
	else if (out->info.si_code == TRAP_TRACE || out->info.si_code == TRAP_BRKPT || (dr6 & (1u << 14)))
		out->why = TRACE_STEPPED;
	else if (out->slots)
		out->why = TRACE_HIT;
	else
		out->why = TRACE_SIGNAL;
	return 0;
}

bool trace_is_fault(const struct trace_stop *s)
{
	int sig = s->info.si_signo;

	return s->why == TRACE_SIGNAL && s->info.si_code > 0 && !s->input &&
	       (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE);
}

bool trace_is_int3(const struct trace_stop *s)
{
	return s->why == TRACE_SIGNAL && s->info.si_signo == SIGTRAP && s->info.si_code == SI_KERNEL;
}

bool trace_at_input(struct trace *t)
{
	uint8_t op[6], *p = op;
	struct err ignored;
	uint64_t pc;

	if (trace_get_pc(t, &pc, &ignored) || trace_read(t->pid, pc, op, sizeof(op), &ignored))
		return false;
	while (p < op + 3 && (*p == 0x66 || *p == 0xf3 || (*p & 0xf0) == 0x40))
		p++;
	return p[0] == 0x0f &&
	       (p[1] == 0x31 || p[1] == 0x30 || p[1] == 0x09 || p[1] == 0x32 || (p[1] == 0x01 && p[2] == 0xf9));
}

int trace_classify(struct trace *t, int status, struct trace_stop *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	out->status = status;
	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		t->alive = false;
		out->why = TRACE_EXITED;
		return 0;
	}
	t->alive = true;
	if (status >> 16 == PTRACE_EVENT_STOP) {
		out->why = WSTOPSIG(status) == SIGTRAP ? TRACE_TIMEOUT : TRACE_STOPPED;
		return 0;
	}
	if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &out->info))
		return err_errno(e, trace_why_failed(), "PTRACE_GETSIGINFO of %d", (int)t->tid);
	if (WSTOPSIG(status) == SIGTRAP)
		return classify_trap(t, out, e);
	out->why = TRACE_SIGNAL;
	out->input = WSTOPSIG(status) == SIGSEGV && out->info.si_code == SI_KERNEL && trace_at_input(t);
	return 0;
}

int trace_wait(struct trace *t, int flags, int *status, struct err *e)
{
	pid_t r;

	do
		r = waitpid(t->tid, status, __WALL | flags);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_errno(e, trace_why_failed(), "wait for traced thread %d", (int)t->tid);
	return r == t->tid;
}

bool trace_was_killed(const struct trace *t, int status, struct err *e)
{
	if (t->mortal || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return false;
	err_set(e, ERR_KILLED, "process %d was killed", (int)t->pid);
	return true;
}

struct deadline {
	uint64_t wall, cpu; /* absolute; 0: none */
};

static int deadline_set(const struct trace *t, const struct trace_limit *l, struct deadline *d, struct err *e)
{
	d->wall = d->cpu = 0;
	if (l && l->wall_ns)
		d->wall = clock_ns() + l->wall_ns;
	if (!l || !l->cpu_ns)
		return 0;
	if (trace_cpu_ns(t->pid, &d->cpu, e))
		return -1;
	d->cpu += l->cpu_ns;
	return 0;
}

/* *left: how long to sleep before the next check; 0: a limit is reached. */
static int time_left(const struct trace *t, const struct deadline *d, uint64_t *left, struct err *e)
{
	uint64_t now;

	*left = UINT64_MAX;
	if (d->wall) {
		now = clock_ns();
		*left = d->wall > now ? d->wall - now : 0;
	}
	if (d->cpu && *left) {
		if (trace_cpu_ns(t->pid, &now, e))
			return -1;
		now = d->cpu > now ? d->cpu - now : 0;
		if (now < *left)
			*left = now;
	}
	return 0;
}

static void sleep_for_child(uint64_t left)
{
	uint64_t ns = left < MIN_SLEEP_NS ? MIN_SLEEP_NS : left;
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &ts);
}

/* Waits for a stop; interrupts the thread when a limit is reached. *late: that is why it stopped. */
static int wait_limited(struct trace *t, const struct deadline *d, int *status, bool *late, struct err *e)
{
	*late = false;
	if (!d->wall && !d->cpu)
		return trace_wait(t, 0, status, e) < 0 ? -1 : 0;
	for (;;) {
		int r = trace_wait(t, WNOHANG, status, e);
		uint64_t left;

		if (r)
			return r < 0 ? -1 : 0;
		if (time_left(t, d, &left, e))
			return -1;
		if (left < DONE_NS)
			break;
		sleep_for_child(left);
	}
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) && errno != ESRCH)
		return err_errno(e, trace_why_failed(), "PTRACE_INTERRUPT of %d", (int)t->tid);
	t->stale_interrupt = true;
	if (trace_wait(t, 0, status, e) < 0)
		return -1;
	/* if the thread had stopped by itself just before, the interrupt is reported after the next resume */
	*late = WIFSTOPPED(*status) && *status >> 16 == PTRACE_EVENT_STOP;
	t->stale_interrupt = !*late;
	return 0;
}

static int resume(struct trace *t, int how, int sig, struct err *e)
{
	if (t->runs) {
		t->runs = false;
		return 0;
	}
	if (!t->alive)
		return err_set(e, ERR_INTERNAL, "thread %d is not held", (int)t->tid);
	if (ptrace(how, t->tid, 0, sig)) {
		if (errno != ESRCH) /* killed meanwhile: the wait will say so */
			return err_errno(e, trace_why_failed(), "resume thread %d", (int)t->tid);
	}
	t->alive = false;
	return 0;
}

static bool is_interrupt(int status)
{
	return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/*
 * An interrupt is reported before a signal that the last instruction has raised: a trap, a fault. The thread is then in
 * a state that no program sees, and must not be copied or given other registers.
 */
bool trace_has_trap(const struct trace *t)
{
	struct __ptrace_peeksiginfo_args args = {.nr = 8};
	siginfo_t info[8];
	uint64_t blocked = 0;
	long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &args, info);

	/* the kernel unblocks what it raises: one that is blocked was sent, by the process to itself */
	if (n > 0 && ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(blocked), &blocked))
		blocked = 0;
	for (long i = 0; i < n; i++) {
		int sig = info[i].si_signo;

		if (info[i].si_code > 0 && !(blocked >> (sig - 1) & 1) &&
		    (sig == SIGTRAP || sig == SIGSYS || sig == SIGSEGV || sig == SIGBUS || sig == SIGILL ||
		     sig == SIGFPE))
			return true;
	}
	return false;
}

/*
 * The thread was interrupted before its trap was reported: goes on to that. With a limit, it is interrupted again if
 * the trap does not come.
 */
static int wait_for_trap(struct trace *t, int how, const struct deadline *d, int *status, bool *late, struct err *e)
{
	while (t->alive && is_interrupt(*status) && trace_has_trap(t)) {
		struct deadline again = {.wall = d->wall || d->cpu ? clock_ns() + TRAP_NS : 0};

		if (resume(t, how, 0, e) || wait_limited(t, &again, status, late, e))
			return -1;
		t->alive = WIFSTOPPED(*status);
	}
	return 0;
}

void trace_note_step(struct trace *t, bool step)
{
	long pc = step ? ptrace(PTRACE_PEEKUSER, t->tid, offsetof(struct user, regs.rip), 0) : 0;

	t->stepped_from = (uint64_t)pc;
}

static int run(struct trace *t, int how, int sig, const struct trace_limit *limit, struct trace_stop *out,
	       struct err *e)
{
	void (*meanwhile)(void *) = limit ? limit->meanwhile : NULL;
	struct deadline d;
	bool stale, late;
	int status;

	if (deadline_set(t, limit, &d, e))
		return -1;
	trace_note_step(t, how == PTRACE_SINGLESTEP);
	do {
		stale = t->stale_interrupt;
		t->stale_interrupt = false;
		if (resume(t, how, sig, e))
			return -1;
		if (meanwhile)
			meanwhile(limit->ctx);
		meanwhile = NULL;
		if (wait_limited(t, &d, &status, &late, e))
			return -1;
		t->alive = WIFSTOPPED(status);
		sig = 0;
		if (wait_for_trap(t, how, &d, &status, &late, e))
			return -1;
	} while (stale && is_interrupt(status));
	if (trace_was_killed(t, status, e))
		return -1;
	if (trace_classify(t, status, out, e))
		return -1;
	/* in a process that is group-stopped, an interrupt is reported as such a stop */
	if (late && out->why == TRACE_STOPPED)
		out->why = TRACE_TIMEOUT;
	return 0;
}

int trace_let_run(struct trace *t, struct err *e)
{
	trace_note_step(t, false);
	if (resume(t, PTRACE_CONT, 0, e))
		return -1;
	t->runs = true;
	return 0;
}

int trace_cont(struct trace *t, int sig, const struct trace_limit *limit, struct trace_stop *out, struct err *e)
{
	return run(t, PTRACE_CONT, sig, limit, out, e);
}

bool trace_is_syscall(const struct trace *t, uint64_t pc)
{
	uint8_t b[TRACE_SYSCALL_BYTES];
	struct err ignored;

	return !trace_read(t->pid, pc, b, sizeof(b), &ignored) && b[0] == 0x0f && b[1] == 0x05;
}

int trace_hide_step(struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (!(r.r11 & TRAP_FLAG) || !trace_is_syscall(t, r.rip - TRACE_SYSCALL_BYTES))
		return 0;
	r.r11 &= ~TRAP_FLAG;
	return trace_set_regs(t, &r, e);
}

/* Linux reports the step when its system call was interrupted, and makes the call again as the thread goes on. */
static bool will_be_made_again(struct trace *t)
{
	struct user_regs_struct r;
	struct err ignored;

	return !trace_get_regs(t, &r, &ignored) && (int64_t)r.orig_rax >= 0 && trace_wants_restart((int64_t)r.rax);
}

int trace_step_within(struct trace *t, int sig, const struct trace_limit *limit, struct trace_stop *out, struct err *e)
{
	if (run(t, PTRACE_SINGLESTEP, sig, limit, out, e))
		return -1;
	if (limit && out->why == TRACE_STEPPED && will_be_made_again(t))
		out->why = TRACE_TIMEOUT;
	return t->alive && out->why != TRACE_TIMEOUT ? trace_hide_step(t, e) : 0;
}

/* Only a `syscall` can wait in the kernel. */
static bool is_at_syscall(struct trace *t)
{
	struct err ignored;
	uint64_t pc;

	return !trace_get_pc(t, &pc, &ignored) && trace_is_syscall(t, pc);
}

int trace_step(struct trace *t, int sig, struct trace_stop *out, struct err *e)
{
	static const struct trace_limit most = {.wall_ns = WAITS_NS};

	if (trace_step_within(t, sig, is_at_syscall(t) ? &most : NULL, out, e))
		return -1;
	if (out->why == TRACE_TIMEOUT)
		return err_set(e, ERR_INTERNAL, "thread %d waits in a system call that was to be stepped over",
			       (int)t->tid);
	return 0;
}

/* The program itself tells which threads it has (rlog/replay.h), and can tell anything. */
static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

int trace_seize(struct trace *t, pid_t pid, pid_t tid, struct err *e)
{
	int status;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->tid = tid;
	if (!is_thread_of(pid, tid))
		return err_set(e, ERR_KILLED, "process %d has no thread %d", (int)pid, (int)tid);
	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return err_errno(e, errno == ESRCH || maps_is_dead(pid) ? ERR_KILLED : ERR_HOST,
				 "PTRACE_SEIZE of thread %d", (int)tid);
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return err_errno(e, trace_why_failed(), "PTRACE_INTERRUPT of thread %d", (int)tid);
	if (trace_wait(t, 0, &status, e) < 0)
		return -1;
	if (!WIFSTOPPED(status))
		return err_set(e, ERR_INTERNAL, "thread %d exited", (int)tid);
	t->alive = true;
	t->stale_interrupt = status >> 16 != PTRACE_EVENT_STOP;
	if (t->stale_interrupt)
		/* a signal came first; it must not be lost */
		syscall(SYS_tgkill, pid, tid, WSTOPSIG(status));
	/* a tracer before this one may have left something there: CRIU does, when it restores */
	return trace_poke_debug(t, 6, 0, e);
}

int trace_detach(struct trace *t, bool stopped, struct err *e)
{
	if (!t->alive)
		return err_set(e, ERR_INTERNAL, "thread %d is not held", (int)t->tid);
	if (trace_clear_all(t, e))
		return -1;
	/* pending before the thread can run: it is taken on the way out of this very stop */
	if (stopped && kill(t->pid, SIGSTOP))
		return err_errno(e, trace_why_failed(), "stop process %d", (int)t->pid);
	if (ptrace(PTRACE_DETACH, t->tid, 0, 0))
		return err_errno(e, trace_why_failed(), "PTRACE_DETACH of %d", (int)t->tid);
	t->alive = false;
	return 0;
}

void trace_kill(struct trace *t)
{
	struct err ignored;
	int status;

	if (!t->pid)
		return;
	kill(t->pid, SIGKILL);
	while (trace_wait(t, 0, &status, &ignored) > 0 && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, t->tid, 0, 0);
	t->alive = false;
	t->pid = 0;
}

int trace_get_regs(struct trace *t, struct user_regs_struct *r, struct err *e)
{
	if (ptrace(PTRACE_GETREGS, t->tid, 0, r))
		return err_errno(e, trace_why_failed(), "registers of thread %d", (int)t->tid);
	return 0;
}

int trace_get_pc(struct trace *t, uint64_t *pc, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	*pc = r.rip;
	return 0;
}

int trace_set_regs(struct trace *t, const struct user_regs_struct *r, struct err *e)
{
	if (ptrace(PTRACE_SETREGS, t->tid, 0, r))
		return err_errno(e, trace_why_failed(), "set registers of thread %d", (int)t->tid);
	return 0;
}

int trace_get_fpregs(struct trace *t, struct user_fpregs_struct *r, struct err *e)
{
	if (ptrace(PTRACE_GETFPREGS, t->tid, 0, r))
		return err_errno(e, trace_why_failed(), "floating-point registers of thread %d", (int)t->tid);
	return 0;
}

int trace_get_xsave(struct trace *t, void *xsave, size_t *len, struct err *e)
{
	struct iovec v = {xsave, *len};

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &v))
		return err_errno(e, trace_why_failed(), "vector registers of thread %d", (int)t->tid);
	*len = v.iov_len;
	return 0;
}
