/* SPDX-License-Identifier: MIT */
/*
 * shared_pages.c: many pages that processes share, written at random: words that come back to what they were, as
 * those of locks do, pages that one process alone writes for a while, pages mapped from a file and twice, a process
 * that is killed, and one that is made in between. What each of them reads goes into what it writes, so that a replay
 * which does not have the same in memory differs.
 *
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define CHILDREN 4
#define ROUNDS 1500
#define PAGES 60u
#define WORDS 512u
#define USED 3u /* of them */
#define MAKE 250 /* rounds from one thread to the next */
#define TELL 4 /* rounds from one write to the next, and a moment of sleep: the others' turn */

struct page {
	atomic_ulong taken; /* 0, or who has it: free again after each round */
	unsigned long count;
	unsigned long word[WORDS - 2];
};

struct shared {
	sem_t sem;
	atomic_ulong rounds;
	atomic_int victim_ready;
	struct page page[PAGES];
	struct page extra; /* of threads */
};

static unsigned next(unsigned long *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned)(*seed >> 11);
}

static void visit(struct page *p, unsigned long who, unsigned long *seed, unsigned long *sum)
{
	unsigned long free = 0, at;

	while (!atomic_compare_exchange_weak(&p->taken, &free, who)) {
		free = 0;
		sched_yield();
	}
	at = next(seed) % USED * 97;
	*sum = *sum * 31 + p->word[at] + p->count;
	p->count++;
	p->word[at] = p->word[at] ? 0 : who; /* there and back */
	atomic_store(&p->taken, 0);
}

/* Calls that change the address space; others may write shared memory in the middle of them. */
static void change(char *mine, unsigned long *sum)
{
	for (int i = 0; i < 16; i++) {
		CHECK(mprotect(mine, 4096, PROT_NONE) == 0);
		CHECK(mprotect(mine, 4096, PROT_READ | PROT_WRITE) == 0);
		*sum += (unsigned char)++mine[0];
	}
}

static void *visitor(void *arg)
{
	unsigned long seed = 4711, sum = 0;

	for (int i = 0; i < 3; i++)
		visit(arg, 99, &seed, &sum);
	return NULL;
}

/* A thread, which others may write shared memory in the middle of making. */
static void visit_by_thread(struct page *p)
{
	pthread_t t;

	NEED(pthread_create(&t, NULL, visitor, p) == 0);
	visitor(p);
	CHECK(pthread_join(t, NULL) == 0);
}

static void work(struct shared *s, struct page *file, struct page *again, unsigned long who, int out)
{
	unsigned long seed = 88172645463325252ul + who * 7919, sum = 0;
	unsigned own = (unsigned)who * 17 % PAGES;
	const struct timespec moment = {0, 1};
	char *mine = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mine != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned which = next(&seed);

		if (i % TELL == 0)
			change(mine, &sum);
		if (i % MAKE == 0)
			visit_by_thread(&s->extra);
		/* some pages belong to one process for some time */
		if (which % 4 == 0)
			own = next(&seed) % PAGES;
		visit(&s->page[which % 4 == 1 ? which / 4 % PAGES : own], who, &seed, &sum);
		if (which % 8 == 2) {
			CHECK(sem_wait(&s->sem) == 0);
			visit(i % 2 ? &file[which / 8 % 40] : &again[which / 8 % 40], who, &seed, &sum);
			CHECK(sem_post(&s->sem) == 0);
		}
		atomic_fetch_add(&s->rounds, 1);
		if (i % TELL == 0) {
			CHECK(pwrite(out, &sum, sizeof(sum), 0) == sizeof(sum));
			nanosleep(&moment, 0);
		}
	}
	dprintf(1, "process %lu: %lx\n", who, sum);
}

static pid_t start(struct shared *s, struct page *file, struct page *again, unsigned long who, int out)
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid)
		return pid;
	work(s, file, again, who, out);
	_exit(check_status());
}

static void is_good(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Memory with a page in the middle that nobody may touch, before and after it is shared. */
static void test_guarded(void)
{
	char *p = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	pid_t pid;

	NEED(p != MAP_FAILED && pipe(ends) == 0);
	p[4096] = 'g';
	CHECK(mprotect(p + 4096, 4096, PROT_NONE) == 0);
	p[0] = 'a';
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		CHECK(p[0] == 'a' && write(ends[1], p + 4096, 1) == -1 && errno == EFAULT);
		p[2 * 4096] = 'c';
		_exit(check_status());
	}
	is_good(pid);
	CHECK(p[2 * 4096] == 'c' && write(ends[1], p + 4096, 1) == -1 && errno == EFAULT);
	CHECK(mprotect(p + 4096, 4096, PROT_READ) == 0 && p[4096] == 'g');
	CHECK(munmap(p, 3 * 4096) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
	step("a page in the middle that is not to be touched");
}

int main(void)
{
	struct shared *s = mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	unsigned long total = 0, killed = 0;
	struct page *file, *again;
	pid_t pid[CHILDREN], late, victim;
	int status;

	test_guarded();
	NEED(s != MAP_FAILED && fd >= 0 && out >= 0 && ftruncate(fd, 40 * 4096) == 0);
	file = mmap(0, 40 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	again = mmap(0, 40 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(file != MAP_FAILED && again != MAP_FAILED);
	NEED(sem_init(&s->sem, 1, 1) == 0);
	victim = fork();
	NEED(victim >= 0);
	if (!victim) {
		for (unsigned i = 0; i < PAGES; i += 3)
			s->page[i].count++;
		atomic_store(&s->victim_ready, 1);
		pause();
		_exit(1);
	}
	while (!atomic_load(&s->victim_ready))
		sched_yield();
	for (unsigned long i = 0; i < CHILDREN; i++)
		pid[i] = start(s, file, again, i + 1, out);
	while (atomic_load(&s->rounds) < ROUNDS)
		sched_yield();
	kill(victim, SIGKILL);
	work(s, file, again, CHILDREN + 1, out);
	late = start(s, file, again, CHILDREN + 2, out);
	for (int i = 0; i < CHILDREN; i++)
		is_good(pid[i]);
	is_good(late);
	CHECK(waitpid(victim, &status, 0) == victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(atomic_load(&s->rounds) == (CHILDREN + 2) * ROUNDS);
	for (unsigned i = 0; i < PAGES; i++) {
		total += s->page[i].count;
		killed += i % 3 == 0;
		CHECK(atomic_load(&s->page[i].taken) == 0);
	}
	CHECK(total == (CHILDREN + 2) * ROUNDS + killed);
	step("pages written by all");
	return check_status();
}
