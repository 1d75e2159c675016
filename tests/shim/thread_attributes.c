/* SPDX-License-Identifier: MIT */
/* thread_attributes.c: threads made with a scheduling policy and with processors, which libc sets while they wait. */
#include "check.h"

#include <pthread.h>
#include <sched.h>

static void *work(void *arg)
{
	struct sched_param p = {.sched_priority = 7};
	cpu_set_t set;
	int policy = -1;

	CHECK(pthread_getschedparam(pthread_self(), &policy, &p) == 0 && policy == SCHED_OTHER && p.sched_priority == 0);
	CHECK(pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0);
	*(int *)arg = CPU_COUNT(&set);
	return arg;
}

static int made(const pthread_attr_t *attr)
{
	pthread_t t;
	int n = 0;

	CHECK(pthread_create(&t, attr, work, &n) == 0 && pthread_join(t, NULL) == 0);
	return n;
}

static void test_policy(void)
{
	struct sched_param p = {0};
	pthread_attr_t a;

	CHECK(pthread_attr_init(&a) == 0 && pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED) == 0);
	CHECK(pthread_attr_setschedpolicy(&a, SCHED_OTHER) == 0 && pthread_attr_setschedparam(&a, &p) == 0);
	CHECK(made(&a) > 0);
	pthread_attr_destroy(&a);
	step("policy");
}

static void test_processors(void)
{
	pthread_attr_t a;
	cpu_set_t all, one;
	int cpu = 0;

	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(pthread_attr_init(&a) == 0 && pthread_attr_setaffinity_np(&a, sizeof(one), &one) == 0);
	CHECK(made(&a) == 1);
	pthread_attr_destroy(&a);
	step("processors");
}

int main(void)
{
	test_policy();
	test_processors();
	return 0;
}
