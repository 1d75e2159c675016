/* SPDX-License-Identifier: MIT */
/* threads.c: pthread_create, join, detach, exit, cancel, keys, attributes, once, and C11 threads. */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

static pthread_key_t key;
static atomic_int destroyed, onces;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int tls_value = 5;

static void *return_value(void *arg)
{
	return (char *)arg + 1;
}

static void *exit_value(void *arg)
{
	pthread_exit((char *)arg + 2);
}

static void test_results(void)
{
	pthread_t t[50];
	void *ret;

	for (size_t i = 0; i < 50; i++)
		NEED(pthread_create(&t[i], NULL, i % 2 ? return_value : exit_value, (void *)i) == 0);
	for (size_t i = 0; i < 50; i++) {
		CHECK(pthread_join(t[i], &ret) == 0);
		CHECK(ret == (void *)(i + (i % 2 ? 1 : 2)));
	}
	for (size_t i = 0; i < 100; i++) {
		NEED(pthread_create(&t[0], NULL, return_value, (void *)i) == 0);
		CHECK(pthread_join(t[0], &ret) == 0 && ret == (void *)(i + 1));
	}
	CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
	step("results");
}

static void on_destroy(void *value)
{
	CHECK(value == &destroyed);
	if (atomic_fetch_add(&destroyed, 1) == 0)
		pthread_setspecific(key, value); /* destructors run again */
}

static void *set_key(void *arg)
{
	CHECK(pthread_getspecific(key) == NULL);
	CHECK(pthread_setspecific(key, arg) == 0);
	CHECK(pthread_getspecific(key) == arg);
	CHECK(tls_value == 5);
	tls_value = 6;
	return NULL;
}

static void test_keys(void)
{
	pthread_t t;

	NEED(pthread_key_create(&key, on_destroy) == 0);
	for (int i = 0; i < 3; i++) {
		NEED(pthread_create(&t, NULL, set_key, &destroyed) == 0);
		pthread_join(t, NULL);
	}
	CHECK(atomic_load(&destroyed) == 4);
	CHECK(tls_value == 5);
	CHECK(pthread_key_delete(key) == 0);
	step("keys");
}

static void *detached(void *arg)
{
	sem_post(arg);
	return NULL;
}

static void test_detach(void)
{
	pthread_attr_t attr;
	pthread_t t;
	sem_t sem;

	sem_init(&sem, 0, 0);
	NEED(pthread_create(&t, NULL, detached, &sem) == 0);
	CHECK(pthread_detach(t) == 0);
	sem_wait(&sem);
	pthread_attr_init(&attr);
	CHECK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0);
	for (int i = 0; i < 20; i++)
		CHECK(pthread_create(&t, &attr, detached, &sem) == 0);
	for (int i = 0; i < 20; i++)
		sem_wait(&sem);
	pthread_attr_destroy(&attr);
	step("detach");
}

static void *use_stack(void *arg)
{
	volatile char deep[200000];
	pthread_attr_t attr;
	size_t size, guard;
	void *base;

	memset((char *)deep, 7, sizeof(deep));
	NEED(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &base, &size) == 0);
	CHECK((char *)base <= (char *)deep && (char *)deep < (char *)base + size);
	CHECK(size >= *(size_t *)arg);
	CHECK(pthread_attr_getguardsize(&attr, &guard) == 0);
	pthread_attr_destroy(&attr);
	return (void *)(size_t)deep[100];
}

static void test_attributes(void)
{
	size_t size = 1 << 20;
	pthread_attr_t attr;
	pthread_t t;
	void *own, *ret;

	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, size) == 0);
	NEED(pthread_create(&t, &attr, use_stack, &size) == 0);
	CHECK(pthread_join(t, &ret) == 0 && ret == (void *)7);
	NEED(posix_memalign(&own, 65536, size) == 0);
	CHECK(pthread_attr_setstack(&attr, own, size) == 0);
	size -= 65536;
	NEED(pthread_create(&t, &attr, use_stack, &size) == 0);
	CHECK(pthread_join(t, &ret) == 0 && ret == (void *)7);
	pthread_attr_destroy(&attr);
	free(own);
	NEED(pthread_getattr_np(pthread_self(), &attr) == 0); /* the main thread: reads /proc */
	CHECK(pthread_attr_getstack(&attr, &own, &size) == 0);
	CHECK((char *)own <= (char *)&size && (char *)&size < (char *)own + size);
	pthread_attr_destroy(&attr);
	step("attributes");
}

static void once_body(void)
{
	atomic_fetch_add(&onces, 1);
}

static void *call_once_body(void *arg)
{
	pthread_once(&once, once_body);
	CHECK(atomic_load(&onces) == 1);
	return arg;
}

static void test_once(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		NEED(pthread_create(&t[i], NULL, call_once_body, NULL) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	CHECK(atomic_load(&onces) == 1);
	step("once");
}

static void on_cancel(void *arg)
{
	++*(int *)arg;
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void *wait_for_cancel(void *arg)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	pthread_cleanup_push(on_cancel, arg);
	pthread_cleanup_push(unlock, &m);
	pthread_mutex_lock(&m);
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
	return NULL;
}

static void test_cancel(void)
{
	int cleaned = 0;
	pthread_t t;
	void *ret;

	NEED(pthread_create(&t, NULL, wait_for_cancel, &cleaned) == 0);
	CHECK(pthread_cancel(t) == 0);
	CHECK(pthread_join(t, &ret) == 0);
	CHECK(ret == PTHREAD_CANCELED);
	CHECK(cleaned <= 1); /* 0: cancelled before it pushed */
	step("cancel");
}

static void *wait_sem(void *arg)
{
	sem_wait(arg);
	return NULL;
}

static void test_timed_join(void)
{
	struct timespec now;
	pthread_t t;
	sem_t sem;

	sem_init(&sem, 0, 0);
	NEED(pthread_create(&t, NULL, wait_sem, &sem) == 0);
	CHECK(pthread_tryjoin_np(t, NULL) == EBUSY);
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_nsec += 5000000;
	if (now.tv_nsec >= 1000000000)
		now.tv_sec++, now.tv_nsec -= 1000000000;
	CHECK(pthread_timedjoin_np(t, NULL, &now) == ETIMEDOUT);
	sem_post(&sem);
	CHECK(pthread_join(t, NULL) == 0);
	step("timed join");
}

static int c11_body(void *arg)
{
	return *(int *)arg * 2;
}

static void test_names_and_c11(void)
{
	int in = 21, out;
	char name[16];
	thrd_t t;

	CHECK(pthread_setname_np(pthread_self(), "renamed") == 0);
	CHECK(pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 && !strcmp(name, "renamed"));
	CHECK(pthread_equal(pthread_self(), pthread_self()));
	NEED(thrd_create(&t, c11_body, &in) == thrd_success);
	CHECK(thrd_join(t, &out) == thrd_success && out == 42);
	step("names and C11");
}

int main(void)
{
	test_results();
	test_keys();
	test_detach();
	test_attributes();
	test_once();
	test_cancel();
	test_timed_join();
	test_names_and_c11();
	return check_status();
}
