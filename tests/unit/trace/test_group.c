/* SPDX-License-Identifier: MIT */
/* test_group.c: all threads of a process, stopped and resumed together. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"
#include "trace/group.h"

static void *raises(void *arg)
{
	struct target_ctl *ctl = arg;

	while (!__atomic_load_n(&ctl->go, __ATOMIC_SEQ_CST))
		futex_wait(&ctl->go, 0);
	raise(SIGUSR1);
	__atomic_add_fetch(&ctl->out[0], 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

static void two_raise(struct target_ctl *ctl)
{
	pthread_t t[2];

	signal(SIGUSR1, SIG_IGN);
	pthread_create(&t[0], NULL, raises, ctl);
	pthread_create(&t[1], NULL, raises, ctl);
	target_wait(ctl);
	pthread_join(t[0], NULL);
}

static pid_t other_than(const struct group *g, pid_t tid)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->v[i]->t.tid != tid && g->v[i]->t.tid != g->pid)
			return g->v[i]->t.tid;
	return 0;
}

static struct group_thread *next_stop(struct group *g, struct trace_stop *s)
{
	struct group_thread *th = NULL;
	int r = 0;

	for (unsigned i = 0; i < 60000 && !r; i++)
		OK((r = group_wait(g, 10, &th, s, &e)) < 0);
	assert_int_equal(r, 1);
	return th;
}

/* A stop that came while the others were being stopped: they all go on with its thread. */
static void pending_stop_holds_nobody(void **state)
{
	struct group_thread *first, *second;
	struct group group;
	struct trace_stop s;
	struct target g;
	siginfo_t info;

	(void)state;
	target_start(&g, two_raise);
	OK(trace_detach(&g.t, false, &e));
	OK(group_seize(&group, g.pid, &e));
	OK(group_resume(&group, 0, &e));
	target_release(&g);
	first = next_stop(&group, &s);
	assert_int_equal(s.info.si_signo, SIGUSR1);
	assert_int_equal(waitid(P_PID, (id_t)other_than(&group, first->t.tid), &info, WSTOPPED | WNOWAIT | __WALL), 0);
	OK(group_stop(&group, &e));

	OK(group_resume(&group, 0, &e));
	second = next_stop(&group, &s);
	assert_ptr_not_equal(first, second);
	assert_int_equal(s.info.si_signo, SIGUSR1);
	assert_true(first->t.alive); /* stopped */
	OK(group_resume_one(&group, second, &e));
	for (unsigned i = 0; i < 1000 && __atomic_load_n(&g.ctl->out[0], __ATOMIC_SEQ_CST) < 2; i++)
		OK(group_wait(&group, 10, &second, &s, &e) < 0);
	assert_int_equal(g.ctl->out[0], 2);
	group_kill(&group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pending_stop_holds_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
