/* SPDX-License-Identifier: MIT */
/* Two threads wait for each other's mutex, one for a limited time: that is no deadlock. KIND: signal NOTHING-FOUND */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;
static int to_killer[2];

static void tell_killer(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	write(to_killer[1], &tid, sizeof(tid));
}

static int sleeps(pid_t pid, pid_t tid)
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	return strstr(text, ") S ") != NULL;
}

static void kill_when_both_wait(pid_t pid)
{
	pid_t tid[2];

	for (int i = 0; i < 2; i++)
		read(to_killer[0], &tid[i], sizeof(tid[i]));
	while (!sleeps(pid, tid[0]) || !sleeps(pid, tid[1]))
		sched_yield();
	kill(pid, SIGKILL);
	_exit(0);
}

static void *other(void *arg)
{
	struct timespec t;

	pthread_mutex_lock(&b);
	sem_post(&locked);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	tell_killer();
	pthread_mutex_timedlock(&a, &t);
	return arg;
}

int main(void)
{
	pthread_t t;

	pipe(to_killer);
	if (!fork())
		kill_when_both_wait(getppid());
	pthread_mutex_lock(&a);
	sem_init(&locked, 0, 0);
	pthread_create(&t, NULL, other, NULL);
	sem_wait(&locked);
	tell_killer();
	pthread_mutex_lock(&b);
	return 0;
}
