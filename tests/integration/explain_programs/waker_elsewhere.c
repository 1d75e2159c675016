/* SPDX-License-Identifier: MIT */
/* KIND: signal */
/* NOT-SAID: none is left */
/* Of those that have signalled a condition, a thread has ended, and a process that shares the memory lives on. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int n;
} * shared;
static pthread_cond_t last = PTHREAD_COND_INITIALIZER;
static int is_last, to_killer[2];

static void put(void)
{
	pthread_mutex_lock(&shared->lock);
	shared->n++;
	pthread_cond_signal(&shared->cond);
	pthread_mutex_unlock(&shared->lock);
}

static void take(int i)
{
	pthread_mutex_lock(&shared->lock);
	is_last = i == 2;
	pthread_cond_signal(&last);
	while (!shared->n)
		pthread_cond_wait(&shared->cond, &shared->lock);
	shared->n--; /* BUG */
	pthread_mutex_unlock(&shared->lock);
}

static void *thread(void *arg)
{
	put();
	return arg;
}

static void *end(void *arg)
{
	pthread_mutex_lock(&shared->lock);
	while (!is_last)
		pthread_cond_wait(&last, &shared->lock);
	pthread_mutex_unlock(&shared->lock);
	close(to_killer[1]);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t lock;
	pthread_condattr_t cond;
	pthread_t t;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&lock);
	pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &lock);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->cond, &cond);
	if (pipe(to_killer))
		return 1;
	if (!fork()) {
		char c;

		close(to_killer[1]);
		put();
		read(to_killer[0], &c, 1);
		kill(getppid(), SIGKILL);
		return 0;
	}
	take(0);
	pthread_create(&t, NULL, thread, NULL);
	take(1);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, end, NULL);
	take(2);
	return 0;
}
