/* SPDX-License-Identifier: MIT */
/*
 * remap.c: threads that map, grow, move and unmap memory all the time: an address that one has just given up is the
 * next one's, and keeps what that one writes there.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define THREADS 4
#define ROUNDS 150

static int whole(const unsigned char *p, size_t pages, unsigned char with)
{
	for (size_t i = 0; i < pages; i++)
		if (p[i * PAGE] != with || p[i * PAGE + PAGE - 1] != with)
			return 0;
	return 1;
}

static unsigned char *fresh(size_t pages)
{
	unsigned char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	CHECK(whole(p, pages, 0));
	return p;
}

/* Events in between, so that other threads come in. */
static void pause_here(unsigned i)
{
	if (i % 3 == 0)
		CHECK(getppid() > 0);
	if (i % 7 == 0)
		sched_yield();
}

static void *map_all_the_time(void *arg)
{
	unsigned char mark = (unsigned char)(1 + (size_t)arg);

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t pages = 1 + i % 4;
		unsigned char *p = fresh(pages), *q;

		memset(p, mark, pages * PAGE);
		pause_here(i);
		CHECK(whole(p, pages, mark));
		q = mremap(p, pages * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
		NEED(q != MAP_FAILED);
		CHECK(whole(q, pages, mark) && whole(q + pages * PAGE, 8 - pages, 0));
		memset(q, mark + 100, 8 * PAGE);
		pause_here(i + 1);
		CHECK(mremap(q, 8 * PAGE, 2 * PAGE, 0) == q);
		CHECK(mprotect(q, PAGE, PROT_READ) == 0);
		CHECK(munmap(q + PAGE, PAGE) == 0);
		p = mmap(q, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		NEED(p == q);
		CHECK(whole(p, 1, 0));
		CHECK(munmap(p, PAGE) == 0);
	}
	return arg;
}

/* Moves what it has into a place of its own, and another thread gets the old one. */
static void *move_all_the_time(void *arg)
{
	unsigned char mark = (unsigned char)(50 + (size_t)arg);
	unsigned char *own = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p, *q;

	NEED(own != MAP_FAILED);
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t at = i % 8 * PAGE;

		p = fresh(4);
		memset(p, mark, 4 * PAGE);
		pause_here(i);
		q = mremap(p, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, own + at);
		NEED(q == own + at);
		pause_here(i + 2);
		CHECK(whole(q, 4, mark) && whole(q + 4 * PAGE, 4, 0));
		p = mmap(q, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(p == q);
	}
	CHECK(munmap(own, 16 * PAGE) == 0);
	return arg;
}

/* Threads come and go, their stacks too. */
static void *touch_stack(void *arg)
{
	volatile unsigned char room[5 * PAGE];

	for (size_t i = 0; i < sizeof(room); i += PAGE)
		room[i] = (unsigned char)(size_t)arg;
	for (size_t i = 0; i < sizeof(room); i += PAGE)
		CHECK(room[i] == (unsigned char)(size_t)arg);
	return arg;
}

static void *start_threads(void *arg)
{
	for (size_t i = 0; i < ROUNDS / 5; i++) {
		pthread_t t;
		void *p = NULL;

		NEED(pthread_create(&t, NULL, touch_stack, (void *)i) == 0);
		CHECK(munmap(fresh(3), 3 * PAGE) == 0);
		CHECK(pthread_join(t, &p) == 0 && p == (void *)i);
	}
	return arg;
}

static void run(const char *name, void *(*one)(void *), void *(*other)(void *))
{
	pthread_t t[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, i % 2 ? one : other, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	step(name);
}

int main(void)
{
	run("map and unmap", map_all_the_time, map_all_the_time);
	run("move", move_all_the_time, map_all_the_time);
	run("stacks", start_threads, map_all_the_time);
	return check_status();
}
