// SPDX-License-Identifier: MIT
/* test_loop.c: sources that come and go, timers, children, signals. alarm() ends a loop that hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/child.h"
#include "loop/loop.h"
#include "loop/sig.h"

#define DEADLINE_S 20

static struct loop *loop; /* of the running test */
static struct err e;

static int setup(void **state)
{
	alarm(DEADLINE_S);
	loop = loop_new(&e);
	return loop ? 0 : -1;
}

static int teardown(void **state)
{
	loop_free(loop);
	alarm(0);
	return 0;
}

struct pipe_source {
	struct loop_source source;
	struct pipe_source *other;
	int fds[2], count;
};

/* Whoever is called first removes and frees the other, though that is ready too. */
static void kill_other(struct loop_source *s, uint32_t events)
{
	struct pipe_source *p = container_of(s, struct pipe_source, source);

	p->count++;
	if (p->other) {
		loop_del(loop, &p->other->source);
		close(p->other->fds[0]);
		close(p->other->fds[1]);
		free(p->other);
		p->other = NULL;
	}
	if (p->count == 3)
		loop_stop(loop);
}

static struct pipe_source *ready_pipe(void)
{
	struct pipe_source *p = calloc(1, sizeof(*p));

	assert_int_equal(pipe(p->fds), 0);
	assert_int_equal(write(p->fds[1], "x", 1), 1);
	p->source.fd = p->fds[0];
	p->source.fn = kill_other;
	assert_int_equal(loop_add(loop, &p->source, EPOLLIN, &e), 0);
	return p;
}

static void remove_in_callback(void **state)
{
	struct pipe_source *a = ready_pipe(), *b = ready_pipe();
	struct pipe_source *left;

	a->other = b;
	b->other = a;
	assert_int_equal(loop_run(loop, &e), 0);
	/* the one that was called has no other any more */
	left = a; /* level-triggered epoll reports them in the order they were added */
	assert_int_equal(left->count, 3);
	loop_del(loop, &left->source);
	close(left->fds[0]);
	close(left->fds[1]);
	free(left);
}

static void count_and_stop(struct loop_source *s, uint32_t events)
{
	container_of(s, struct pipe_source, source)->count++;
	loop_stop(loop);
}

static void masked_source_is_silent(void **state)
{
	struct pipe_source *a = ready_pipe(), *b = ready_pipe();

	a->source.fn = b->source.fn = count_and_stop;
	assert_int_equal(loop_mod(loop, &a->source, 0, &e), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(a->count, 0);
	assert_int_equal(b->count, 2);
	assert_int_equal(loop_mod(loop, &a->source, EPOLLIN, &e), 0);
	loop_del(loop, &b->source);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(a->count, 1);
	loop_del(loop, &a->source);
	loop_del(loop, &a->source); /* twice is fine */
	for (int i = 0; i < 2; i++) {
		close(a->fds[i]);
		close(b->fds[i]);
	}
	free(a);
	free(b);
}

struct timer {
	struct loop_timer timer;
	int fired;
};

static void on_timer(struct loop_timer *t)
{
	container_of(t, struct timer, timer)->fired++;
	loop_stop(t->loop);
}

static void timers(void **state)
{
	struct timer a = {0}, never = {0};

	assert_int_equal(loop_timer_init(&a.timer, loop, on_timer, &e), 0);
	assert_int_equal(loop_timer_init(&never.timer, loop, on_timer, &e), 0);
	loop_timer_set(&never.timer, 1);
	loop_timer_set(&never.timer, 0);
	loop_timer_set(&a.timer, 20);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(a.fired, 1);
	loop_timer_set(&a.timer, 1);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(a.fired, 2);
	assert_int_equal(never.fired, 0);
	loop_timer_fini(&a.timer);
	loop_timer_fini(&never.timer);
	loop_timer_fini(&a.timer);
}

struct child {
	struct loop_child child;
	int code, status;
};

static void on_child(struct loop_child *c, int code, int status)
{
	struct child *t = container_of(c, struct child, child);

	t->code = code;
	t->status = status;
	loop_stop(loop);
}

/* A child that waits to be killed, or exits with `status`. */
static pid_t start(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(DEADLINE_S);
		while (status < 0)
			pause();
		_exit(status);
	}
	assert_true(pid > 0);
	return pid;
}

static void child_exits(void **state)
{
	struct child c = {0};

	assert_int_equal(loop_child_init(&c.child, loop, start(7), -1, on_child, &e), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(c.code, CLD_EXITED);
	assert_int_equal(c.status, 7);
	assert_int_equal(waitpid(c.child.pid, NULL, WNOHANG), -1); /* it was reaped */
	loop_child_kill(&c.child, SIGKILL); /* hits nobody */
	loop_child_fini(&c.child);
}

static void child_killed(void **state)
{
	struct child c = {0};

	assert_int_equal(loop_child_init(&c.child, loop, start(-1), -1, on_child, &e), 0);
	loop_child_kill(&c.child, SIGKILL);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(c.code, CLD_KILLED);
	assert_int_equal(c.status, SIGKILL);
}

struct signals {
	struct loop_sig sig;
	int last;
};

static void on_signal(struct loop_sig *s, int signo)
{
	container_of(s, struct signals, sig)->last = signo;
	loop_stop(s->loop);
}

static void signals(void **state)
{
	struct signals s = {0};
	sigset_t mask, now;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	assert_int_equal(loop_sig_init(&s.sig, loop, &mask, on_signal, &e), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	assert_int_equal(s.last, SIGUSR1);
	loop_sig_fini(&s.sig);
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGUSR1), 0);
}

static void bad_descriptor(void **state)
{
	struct loop_source s = {.fd = -1, .fn = count_and_stop};

	assert_int_equal(loop_add(loop, &s, EPOLLIN, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	loop_del(loop, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remove_in_callback, setup, teardown),
		cmocka_unit_test_setup_teardown(masked_source_is_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(timers, setup, teardown),
		cmocka_unit_test_setup_teardown(child_exits, setup, teardown),
		cmocka_unit_test_setup_teardown(child_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(signals, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_descriptor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
