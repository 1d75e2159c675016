/* SPDX-License-Identifier: MIT */
/* KIND: signal */
/* NOTHING-FOUND: the last one to post a semaphore was another process, of which its recording alone tells. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static sem_t *shared;
static int to_child[2];

static void *post(void *arg)
{
	sem_post(shared);
	return arg;
}

static void *end(void *arg)
{
	close(to_child[1]);
	return arg;
}

int main(void)
{
	pthread_t t;
	char c = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(shared, 1, 0);
	if (pipe(to_child))
		return 1;
	if (!fork()) {
		close(to_child[1]);
		read(to_child[0], &c, 1);
		sem_post(shared);
		read(to_child[0], &c, 1);
		kill(getppid(), SIGKILL);
		return 0;
	}
	pthread_create(&t, NULL, post, NULL);
	sem_wait(shared);
	pthread_join(t, NULL);
	write(to_child[1], &c, 1);
	sem_wait(shared);
	pthread_create(&t, NULL, end, NULL);
	sem_wait(shared);
	return 0;
}
