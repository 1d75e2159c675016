/* SPDX-License-Identifier: MIT */
/* test_inject.c: injected system calls and forks, and steps, also in the middle of system calls. */
#include "scenarios.h"
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t no_args[6];

static void getpid_in_a_futex_wait(void **state)
{
	struct user_regs_struct before, after;
	struct trace_stop s;
	struct target g;
	int64_t ret = 0;

	target_start(&g, scenario_store);
	OK(trace_get_regs(&g.t, &before, &e));
	for (int i = 0; i < 50; i++) {
		OK(trace_syscall(&g.t, GADGET, SYS_getpid, no_args, &ret, &e));
		assert_int_equal(ret, g.pid);
	}
	OK(trace_get_regs(&g.t, &after, &e));
	assert_memory_equal(&before, &after, sizeof(before));
	/* the futex wait goes on: it ends by the wake-up only */
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	OK(trace_syscall(&g.t, GADGET, SYS_close, (const uint64_t[6]){(uint64_t)-1}, &ret, &e));
	assert_int_equal(ret, -9); /* EBADF */
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.slots, 1); /* the slots survive an injection */
	target_stop(&g);
}

static void not_a_gadget(void **state)
{
	struct target g;
	struct err e;
	int64_t ret;

	target_start(&g, scenario_store);
	assert_int_equal(trace_syscall(&g.t, ADDR(target_end), SYS_getpid, no_args, &ret, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	/* the thread is none the worse */
	OK(trace_syscall(&g.t, GADGET, SYS_getpid, no_args, &ret, &e));
	assert_int_equal(ret, g.pid);
	target_stop(&g);
}

/* Runs the thread into its sleep. It is held before that: a second stop would see restart_syscall. */
static void enter_sleep(struct target *g)
{
	const struct trace_limit l = {.wall_ns = 1000000};
	struct user_regs_struct r;
	struct trace_stop s;

	target_release(g);
	do {
		OK(trace_cont(&g->t, 0, &l, &s, &e));
		OK(trace_get_regs(&g->t, &r, &e));
		assert_int_not_equal(r.orig_rax, SYS_pause); /* it has slept already */
	} while (r.orig_rax != SYS_nanosleep && r.orig_rax != SYS_clock_nanosleep);
}

/* nanosleep is restarted with its restart block: the sleep ends at its time. */
static void restart_block_survives(void **state)
{
	struct trace_stop s;
	struct trace copy;
	struct target g;
	int64_t ret;

	target_start(&g, scenario_sleep);
	enter_sleep(&g);
	for (int i = 0; i < 10; i++)
		OK(trace_syscall(&g.t, GADGET, SYS_getpid, no_args, &ret, &e));
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	trace_kill(&copy);
	OK(trace_set_break(&g.t, 0, ADDR(target_end), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(g.ctl->out[0], 0);
	assert_in_range(g.ctl->out[1], 300000000, 500000000);
	target_stop(&g);
}

/* A copy made in the middle of nanosleep sleeps anew, and is not told EINTR. */
static void copy_in_a_sleep(void **state)
{
	struct trace_stop s;
	struct trace copy;
	struct target g;

	target_start(&g, scenario_sleep);
	enter_sleep(&g);
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	OK(trace_set_break(&copy, 0, ADDR(target_end), &e));
	OK(trace_cont(&copy, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(g.ctl->out[0], 0);
	trace_kill(&copy);
	target_stop(&g);
}

static void copies_are_independent(void **state)
{
	const struct trace_limit l = {.cpu_ns = 1000000};
	struct user_regs_struct a, b;
	struct trace_stop s;
	struct trace copy, second;
	struct target g;
	uint64_t in_original, in_copy, again;

	target_start(&g, scenario_spin);
	target_release(&g);
	OK(trace_cont(&g.t, 0, &l, &s, &e));
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	assert_int_not_equal(copy.pid, g.pid);
	OK(trace_get_regs(&g.t, &a, &e));
	OK(trace_get_regs(&copy, &b, &e));
	assert_memory_equal(&a, &b, sizeof(a));
	OK(trace_read(g.pid, ADDR(&counter), &in_original, 8, &e));
	OK(trace_cont(&copy, 0, &l, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	OK(trace_read(copy.pid, ADDR(&counter), &in_copy, 8, &e));
	assert_true(in_copy > in_original);
	OK(trace_read(g.pid, ADDR(&counter), &again, 8, &e));
	assert_int_equal(again, in_original);
	/* a copy of the copy */
	OK(trace_fork(&copy, GADGET, &second, &e));
	trace_kill(&copy);
	OK(trace_cont(&second, 0, &l, &s, &e));
	OK(trace_read(second.pid, ADDR(&counter), &again, 8, &e));
	assert_true(again > in_copy);
	trace_kill(&second);
	/* the original lives and was told nothing */
	OK(trace_cont(&g.t, 0, &l, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	target_stop(&g);
}

static void slots_are_copied(void **state)
{
	struct trace_stop s;
	struct trace copy;
	struct target g;

	target_start(&g, scenario_store);
	target_release(&g);
	OK(trace_set_watch(&g.t, 1, ADDR(&flag), 4, &e));
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	OK(trace_cont(&copy, 0, NULL, &s, &e));
	assert_int_equal(s.why, TRACE_HIT);
	assert_int_equal(s.slots, 2);
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	assert_int_equal(s.slots, 2);
	trace_kill(&copy);
	target_stop(&g);
}

/* A thread that is no leader: the copy has that thread alone. */
static void copy_of_one_thread(void **state)
{
	struct trace_stop s;
	struct trace copy;
	struct target g;
	uint64_t v = 0;

	target_start(&g, scenario_threads);
	target_release(&g);
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	OK(trace_set_break(&copy, 0, ADDR(target_end), &e));
	for (uint64_t i = 1; i < 20; i++) {
		OK(trace_cont(&copy, 0, NULL, &s, &e));
		assert_int_equal(s.why, TRACE_HIT);
		OK(trace_read(copy.pid, ADDR(&counter), &v, 8, &e));
		assert_int_equal(v, i);
	}
	trace_kill(&copy);
	target_stop(&g);
}

static void shared_memory_is_cut_off(void **state)
{
	struct trace copy;
	struct target g;
	uint64_t v = 77;

	target_start(&g, scenario_store);
	g.ctl->out[3] = 33;
	OK(trace_fork(&g.t, GADGET, &copy, &e));
	OK(trace_unshare_memory(&copy, GADGET, &e));
	OK(trace_read(copy.pid, ADDR(&g.ctl->out[3]), &v, 8, &e));
	assert_int_equal(v, 33);
	v = 44;
	OK(trace_write(copy.pid, ADDR(&g.ctl->out[3]), &v, 8, &e));
	assert_int_equal(g.ctl->out[3], 33);
	OK(trace_write(g.pid, ADDR(&g.ctl->out[3]), &v, 8, &e));
	assert_int_equal(g.ctl->out[3], 44);
	trace_kill(&copy);
	target_stop(&g);
}

/* nanosleep waits in the kernel: the step ends by its limit, and the next one goes on with it. */
static void limit_of_a_step(void **state)
{
	const struct trace_limit wall = {.wall_ns = 20000000};
	struct user_regs_struct r;
	uint16_t code = 0;
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_sleep);
	target_release(&g);
	OK(trace_set_break(&g.t, 0, ADDR(nanosleep), &e));
	OK(trace_cont(&g.t, 0, NULL, &s, &e));
	OK(trace_clear_all(&g.t, &e));
	for (unsigned i = 0; i < 100000 && code != 0x050f; i++) {
		OK(trace_step(&g.t, 0, &s, &e));
		OK(trace_get_regs(&g.t, &r, &e));
		OK(trace_read(g.pid, r.rip, &code, sizeof(code), &e));
	}
	OK(trace_step_within(&g.t, 0, &wall, &s, &e));
	assert_int_equal(s.why, TRACE_TIMEOUT);
	OK(trace_step(&g.t, 0, &s, &e));
	assert_int_equal(s.why, TRACE_STEPPED);
	OK(trace_get_regs(&g.t, &r, &e));
	assert_int_equal(r.rax, 0);
	target_stop(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getpid_in_a_futex_wait),
		cmocka_unit_test(not_a_gadget),
		cmocka_unit_test(restart_block_survives),
		cmocka_unit_test(copy_in_a_sleep),
		cmocka_unit_test(limit_of_a_step),
		cmocka_unit_test(copies_are_independent),
		cmocka_unit_test(slots_are_copied),
		cmocka_unit_test(copy_of_one_thread),
		cmocka_unit_test(shared_memory_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
