/* SPDX-License-Identifier: MIT */
/* test_trace.c: hold, run, watch, break, step, limits, signals, letting go. */
#include "scenarios.h"
#include "trace/blocked.h"
#include "trace/rep.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static long lost_slots; /* whose hits this processor does not notice */

static bool is_lost(pid_t tid, int status)
{
	long dr6 = 0;

	if (!lost_slots || !WIFSTOPPED(status) || status >> 8 != SIGTRAP)
		return false;
	dr6 = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
	if (dr6 < 0 || !(dr6 & lost_slots))
		return false;
	ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
	return !ptrace(PTRACE_CONT, tid, 0, 0);
}

/* In the place of libc's. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	int s = 0;
	pid_t r;

	do
		r = (pid_t)syscall(SYS_wait4, pid, &s, options, NULL);
	while (r > 0 && is_lost(r, s));
	if (r > 0 && status)
		*status = s;
	return r;
}

static struct user_regs_struct regs_of(struct target *g)
{
	struct user_regs_struct r = {0};

	OK(trace_get_regs(&g->t, &r, &e));
	return r;
}

static void watch_and_break(void **state)
{
	struct trace_stop s;
	struct target g;
	uint32_t v = 0;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_watch(&g.t, 0, ADDR(&flag), 4, &e));
	OK(trace_set_break(&g.t, 3, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(s.slots, 1);
	assert_int_equal(regs_of(&g).rip, ADDR(store_flag_end));
	OK(trace_read(g.pid, ADDR(&flag), &v, 4, &e));
	assert_int_equal(v, 1);

	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(s.slots, 8);
	assert_int_equal(regs_of(&g).rip, ADDR(target_end));
	/* goes on from a breakpoint, to the next call of the same */
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.slots, 8);
	OK(trace_read(g.pid, ADDR(&other), &v, 4, &e));
	assert_int_equal(v, 2);

	OK(trace_clear(&g.t, 3, &e));
	OK(trace_set_watch(&g.t, 2, ADDR(&flag) + 2, 2, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(s.slots, 5);
	OK(trace_read(g.pid, ADDR(&flag), &v, 4, &e));
	assert_int_equal(v, 2);
	target_stop(&g);
}

/* Comes to `rep movsb`. Its pages have been written to: no fault happens in it, which would set the resume flag. */
static void come_to_rep(struct target *g)
{
	static const char zeros[sizeof(near)];
	struct trace_stop s;

	target_start(g, scenario_memcpy);
	target_release(g);
	OK(trace_write(g->pid, ADDR(&near), zeros, sizeof(zeros), &e));
	OK(trace_set_break(&g->t, 0, ADDR(rep_movs), &e));
	OK(trace_cont(&g->t, 0, NULL, &s, &e));
	assert_int_equal(regs_of(g).rip, ADDR(rep_movs));
	OK(trace_clear_all(&g->t, &e));
}

/* It is one step, whether the processor has a mark for being in the middle of one (Intel) or not (AMD). */
static void rep_is_one_step(void **state)
{
	struct user_regs_struct r;
	struct trace_stop s;
	struct target g;

	come_to_rep(&g);
	OK(trace_step(&g.t, 0, &s, &e));
	r = regs_of(&g);
	assert_int_equal(r.rip, ADDR(rep_movs));
	assert_int_equal(r.rcx, 79);
	assert_true(trace_in_rep(&g.t, &r));
	OK(trace_finish_rep(&g.t, &s, &e));
	assert_int_equal(s.why, TRACE_STEPPED);
	r = regs_of(&g);
	assert_int_equal(r.rip, ADDR(rep_movs_end));
	assert_false(trace_in_rep(&g.t, &r));
	target_stop(&g);
}

/* What a debug register meets is in it, or the instruction before it. */
static void rep_meets_a_watch(void **state)
{
	struct trace_stop s;
	struct target g;

	come_to_rep(&g);
	OK(trace_set_watch(&g.t, 1, ADDR(&near.buffer[20]), 1, &e));
	OK(trace_set_watch(&g.t, 2, ADDR(&near.buffer[30]), 2, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(s.slots, 2);
	assert_int_equal(regs_of(&g).rip, ADDR(rep_movs));
	OK(trace_finish_rep(&g.t, &s, &e));
	assert_int_equal(s.slots, 6);
	assert_int_equal(regs_of(&g).rip, ADDR(rep_movs_end));
	target_stop(&g);

	target_start(&g, scenario_memcpy);
	target_release(&g);
	OK(trace_set_watch(&g.t, 1, ADDR(&big[70]) & ~7ull, 8, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.slots, 2);
	OK(trace_set_break(&g.t, 0, ADDR(rep_movs), &e));
	s.why = TRACE_HIT;
	while (regs_of(&g).rip != ADDR(rep_movs))
		OK(trace_step(&g.t, 0, &s, &e));
	s = (struct trace_stop){.why = TRACE_HIT, .slots = 2}; /* as if that were the next instruction */
	OK(trace_finish_rep(&g.t, &s, &e));
	assert_int_equal(regs_of(&g).rip, ADDR(rep_movs));
	target_stop(&g);
}

/* A processor that misses the hit at its end. */
static void rep_end_is_missed(void **state)
{
	struct trace_stop s;
	struct target g;
	struct err e;

	come_to_rep(&g);
	OK(trace_set_watch(&g.t, 1, ADDR(&near.buffer[20]), 1, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	lost_slots = 8;
	assert_int_equal(trace_finish_rep(&g.t, &s, &e), -1);
	lost_slots = 0;
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_non_null(strstr(e.text, "have missed the end of a string instruction"));
	target_stop(&g);
}

static void bad_watch(void **state)
{
	struct target g;
	struct err e;

	target_start(&g, scenario_store);
	assert_int_equal(trace_set_watch(&g.t, 0, ADDR(&flag), 3, &e), -1);
	assert_int_equal(trace_set_watch(&g.t, 0, ADDR(&flag) + 1, 4, &e), -1);
	assert_int_equal(trace_set_watch(&g.t, 0, 0xffff800000000000ull, 8, &e), -1);
	assert_int_equal(e.kind, ERR_HOST);
	assert_int_equal(trace_set_watch(&g.t, 0, ADDR(&flag), 4, &e), 0);
	target_stop(&g);
}

static void steps(void **state)
{
	struct trace_stop s;
	struct target g;
	unsigned n = 0;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(store_flag), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(regs_of(&g).rip, ADDR(store_flag));
	OK(trace_clear_all(&g.t, &e));
	OK(trace_step(&g.t, 0, &s, &e));
	assert_int_equal(s.why, TRACE_STEPPED);
	assert_int_equal(s.slots, 0);
	assert_int_equal(regs_of(&g).rip, ADDR(store_flag_end));
	while (regs_of(&g).rip != ADDR(target_end)) {
		OK(trace_step(&g.t, 0, &s, &e));
		assert_int_equal(s.why, TRACE_STEPPED);
		assert_true(++n < 10);
	}
	target_stop(&g);
}

static void step_with_watch(void **state)
{
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(store_flag), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	OK(trace_set_watch(&g.t, 1, ADDR(&flag), 4, &e));
	OK(trace_step(&g.t, 0, &s, &e));
	assert_int_equal(s.why, TRACE_STEPPED);
	assert_int_equal(s.slots & 2, 2);
	target_stop(&g);
}

/* Whose own trap flag is set is to have the signal of that, unless it is stepped. */
static void trap_flag_of_its_own(void **state)
{
	struct user_regs_struct r;
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(store_flag), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	OK(trace_clear_all(&g.t, &e));
	OK(trace_set_watch(&g.t, 1, ADDR(&flag), 4, &e));
	r = regs_of(&g);
	r.eflags |= 0x100;
	OK(trace_set_regs(&g.t, &r, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_SIGNAL);
	assert_int_equal(s.info.si_signo, SIGTRAP);
	assert_int_equal(s.slots, 2);
	assert_int_equal(regs_of(&g).rip, ADDR(store_flag_end));
	OK(trace_step(&g.t, 0, &s, &e));
	assert_int_equal(s.why, TRACE_STEPPED);
	target_stop(&g);
}

static void limits(void **state)
{
	const struct trace_limit cpu = {.cpu_ns = 20000000}, wall = {.wall_ns = 20000000},
				 little = {.cpu_ns = 200000};
	uint64_t a, b, t0, t1;
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_spin);
	target_release(&g);
	OK(trace_cpu_ns(g.pid, &t0, &e));
	OK(trace_cont(&g.t, 0, &cpu, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	OK(trace_cpu_ns(g.pid, &t1, &e));
	assert_true(t1 - t0 >= 20000000);
	OK(trace_read(g.pid, ADDR(&counter), &a, 8, &e));
	assert_true(a > 0);
	OK(trace_cont(&g.t, 0, &wall, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	OK(trace_read(g.pid, ADDR(&counter), &b, 8, &e));
	assert_true(b > a);
	/* stopped means stopped */
	OK(trace_read(g.pid, ADDR(&counter), &a, 8, &e));
	assert_true(a == b);
	OK(trace_cpu_ns(g.pid, &t1, &e));
	OK(trace_cont(&g.t, 0, &little, &s, &e));
	OK(trace_cpu_ns(g.pid, &t0, &e));
	assert_true(t0 - t1 >= 200000);
	target_stop(&g);
}

static void blocked_thread_times_out(void **state)
{
	const struct trace_limit wall = {.wall_ns = 5000000, .cpu_ns = 1000000000};
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_store);
	OK(trace_cont(&g.t, 0, &wall, &s, &e)); /* still waits for go */
	assert_int_equal(s.why, TRACE_TIMEOUT);
	OK(trace_cont(&g.t, 0, &wall, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	target_stop(&g);
}

/* What the process has sent to itself, and blocks, is no trap that is reported next. */
static void limits_with_a_blocked_signal(void **state)
{
	const struct trace_limit cpu = {.cpu_ns = 5000000};
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_queued);
	target_release(&g);
	for (int i = 0; i < 2; i++) {
		OK(trace_cont(&g.t, 0, &cpu, &s, &e));
		assert_int_equal(s.why, TRACE_TIMEOUT);
	}
	target_stop(&g);
}

static void exits(void **state)
{
	struct trace_stop s;
	struct target g;
	struct err e;

	target_start(&g, scenario_exit);
	target_release(&g);
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_EXITED);
	assert_true(WIFEXITED(s.status));
	assert_int_equal(WEXITSTATUS(s.status), 7);
	assert_int_equal(trace_cont(&g.t, 0, NULL, &s, &e), -1);
	assert_non_null(strstr(e.text, "not held"));
}

static void signals(void **state)
{
	struct trace_stop s;
	struct target g;
	uint32_t v;

	target_start(&g, scenario_signal);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_SIGNAL);
	assert_int_equal(s.info.si_signo, SIGUSR1);
	assert_int_equal(s.info.si_pid, g.pid);
	OK(trace_cont(&g.t, SIGUSR1, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	OK(trace_read(g.pid, ADDR(&flag), &v, 4, &e));
	assert_int_equal(v, SIGUSR1);
	target_stop(&g);

	/* not handed on: the handler does not run */
	target_start(&g, scenario_signal);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	OK(trace_read(g.pid, ADDR(&flag), &v, 4, &e));
	assert_int_equal(v, 0);
	target_stop(&g);
}

static void fatal_signal(void **state)
{
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_fault);
	target_release(&g);
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_SIGNAL);
	assert_int_equal(s.info.si_signo, SIGSEGV);
	assert_null(s.info.si_addr);
	OK(trace_cont(&g.t, SIGSEGV, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_EXITED);
	assert_int_equal(WTERMSIG(s.status), SIGSEGV);
}

/* One thread is held and watched, a sibling spins on. */
static void one_of_many_threads(void **state)
{
	const struct trace_limit l = {.wall_ns = 1000000};
	struct trace_stop s;
	struct target g;
	uint64_t a, b, c;

	target_start(&g, scenario_threads);
	assert_int_not_equal(g.t.tid, g.pid);
	assert_false(blocked_for_good(g.pid, g.t.tid)); /* the others spin and pause */
	target_release(&g);
	OK(trace_set_watch(&g.t, 0, ADDR(&counter), 8, &e));
	for (uint64_t i = 1; i <= 100; i++) {
		OK(trace_cont(&g.t, 0, NULL, &s, &e));
		assert_int_equal(s.why, TRACE_HIT);
		OK(trace_read(g.pid, ADDR(&counter), &c, 8, &e));
		assert_int_equal(c, i);
	}
	OK(trace_clear_all(&g.t, &e));
	OK(trace_read(g.pid, ADDR(&other), &a, 8, &e));
	do {
		OK(trace_cont(&g.t, 0, &l, &s, &e));
		OK(trace_read(g.pid, ADDR(&other), &b, 8, &e));
	} while (a == b);
	target_stop(&g);
}

/* In a group-stopped process only the held thread moves. */
static void moves_alone_in_a_stopped_process(void **state)
{
	struct trace_stop s = {0};
	struct target g;
	uint64_t a, b;
	int status;

	target_start(&g, scenario_threads);
	target_release(&g);
	kill(g.pid, SIGSTOP);
	while (s.why != TRACE_STOPPED) {
		int sig = s.why == TRACE_SIGNAL ? s.info.si_signo : 0;

		OK(trace_cont(&g.t, sig, NULL, &s, &e));
	}
	assert_int_equal(waitpid(g.pid, &status, WUNTRACED), g.pid);
	assert_true(WIFSTOPPED(status));
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_read(g.pid, ADDR(&other), &a, 8, &e));
	for (int i = 0; i < 20; i++) {
		do
			OK(trace_cont(&g.t, 0, NULL, &s, &e));
		while (s.why == TRACE_STOPPED || s.why == TRACE_SIGNAL);
		assert_int_equal(s.why, TRACE_HIT);
	}
	OK(trace_read(g.pid, ADDR(&other), &b, 8, &e));
	assert_int_equal(a, b);
	target_stop(&g);
}

/* In a stopped process an interrupt is reported as that stop: a limit is a limit there, too. */
static void limits_in_a_stopped_process(void **state)
{
	static const struct trace_limit limit = {.wall_ns = 20000000};
	struct user_regs_struct r;
	struct trace_stop s = {0};
	struct target g;
	uint64_t futex;

	target_start(&g, scenario_spin);
	target_release(&g);
	kill(g.pid, SIGSTOP);
	while (s.why != TRACE_STOPPED)
		OK(trace_cont(&g.t, s.why == TRACE_SIGNAL ? s.info.si_signo : 0, NULL, &s, &e));
	OK(trace_cont(&g.t, 0, &limit, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	r = regs_of(&g);
	assert_int_equal(blocked_in(&r, &futex), BLOCKED_NOT);
	OK(trace_cont(&g.t, 0, &limit, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	target_stop(&g);
}

/* Who waits, and whether that may end by itself. */
static void blocked_threads(void **state)
{
	static const struct trace_limit limit = {.wall_ns = 20000000};
	struct user_regs_struct r;
	struct trace_stop s;
	struct target g;
	uint64_t futex = 0;

	target_start(&g, scenario_exit); /* waits in target_wait */
	OK(trace_cont(&g.t, 0, &limit, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	r = regs_of(&g);
	assert_int_equal(blocked_in(&r, &futex), BLOCKED_UNTIL_WOKEN);
	assert_int_equal(futex, ADDR(&g.ctl->go));
	assert_int_equal(blocked_owner(g.pid, futex), 0);
	assert_true(blocked_for_good(g.pid, g.t.tid));
	target_stop(&g);

	target_start(&g, scenario_sleep);
	target_release(&g);
	OK(trace_cont(&g.t, 0, &limit, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	r = regs_of(&g);
	assert_int_equal(blocked_in(&r, &futex), BLOCKED_FOR_A_TIME);
	target_stop(&g);
}

/* Let go in a group stop, seized again: not one instruction was executed. */
static void detach_stopped(void **state)
{
	struct user_regs_struct before, after;
	struct trace_stop s;
	struct target g;
	struct err e;
	int status;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_watch(&g.t, 0, ADDR(&flag), 4, &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	before = regs_of(&g);
	OK(trace_detach(&g.t, true, &e));
	assert_int_equal(waitpid(g.pid, &status, WUNTRACED), g.pid);
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	assert_int_equal(target_state(g.pid, g.pid), 'T');
	assert_int_equal(trace_get_regs(&g.t, &after, &e), -1);
	OK(trace_seize(&g.t, g.pid, g.pid, &e));
	after = regs_of(&g);
	after.orig_rax = before.orig_rax;
	assert_memory_equal(&before, &after, sizeof(before));
	kill(g.pid, SIGCONT);
	OK(trace_set_break(&g.t, 1, ADDR(target_end), &e));
	do
		OK(trace_cont(&g.t, s.why == TRACE_SIGNAL ? s.info.si_signo : 0, NULL, &s, &e));
	while (s.why != TRACE_HIT);
	assert_int_equal(s.slots, 2);
	target_stop(&g);
}

static void detach_running(void **state)
{
	struct target g;
	int status;

	target_start(&g, scenario_exit);
	OK(trace_set_watch(&g.t, 0, ADDR(&g.ctl->ready), 4, &e));
	target_release(&g);
	OK(trace_detach(&g.t, false, &e));
	assert_int_equal(waitpid(g.pid, &status, 0), g.pid);
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void kills_and_reaps(void **state)
{
	struct target g;

	target_start(&g, scenario_spin);
	target_release(&g);
	trace_kill(&g.t);
	assert_int_equal(waitpid(g.pid, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
	trace_kill(&g.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watch_and_break),
		cmocka_unit_test(rep_is_one_step),
		cmocka_unit_test(rep_meets_a_watch),
		cmocka_unit_test(rep_end_is_missed),
		cmocka_unit_test(bad_watch),
		cmocka_unit_test(steps),
		cmocka_unit_test(step_with_watch),
		cmocka_unit_test(trap_flag_of_its_own),
		cmocka_unit_test(limits),
		cmocka_unit_test(blocked_thread_times_out),
		cmocka_unit_test(limits_with_a_blocked_signal),
		cmocka_unit_test(exits),
		cmocka_unit_test(signals),
		cmocka_unit_test(fatal_signal),
		cmocka_unit_test(one_of_many_threads),
		cmocka_unit_test(moves_alone_in_a_stopped_process),
		cmocka_unit_test(limits_in_a_stopped_process),
		cmocka_unit_test(blocked_threads),
		cmocka_unit_test(detach_stopped),
		cmocka_unit_test(detach_running),
		cmocka_unit_test(kills_and_reaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
