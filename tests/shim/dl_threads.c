/* SPDX-License-Identifier: MIT */
/*
 * dl_threads.c: threads are created while others load and unload; a constructor that waits for a thread
 * which creates another; who calls dlsym(RTLD_NEXT) is told apart.
 * PLUGIN: -DPLUGIN
 * CFLAGS: -rdynamic
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#ifdef PLUGIN

int plugin_sum;

void *plugin_lookup(const char *name);
int which(void);

int which(void)
{
	return 2;
}

void *plugin_lookup(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void *inner(void *arg)
{
	*(int *)arg += 1;
	return NULL;
}

static void *outer(void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, inner, arg) == 0)
		pthread_join(t, NULL);
	*(int *)arg += 10;
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, outer, &plugin_sum) == 0)
		pthread_join(t, NULL);
}

#else
#include "check.h"

#include <limits.h>
#include <link.h>

static char path[PATH_MAX + 32];

int which(void);

int which(void)
{
	return 1;
}

static void find_plugin(void)
{
	char exe[PATH_MAX];
	long n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	NEED(n > 0);
	exe[n] = 0;
	snprintf(path, sizeof(path), "%s.so", exe);
}

static void *load(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		void *h = dlopen("libm.so.6", RTLD_NOW);

		NEED(h && dlsym(h, "cos") && dlsym(RTLD_DEFAULT, "which") == (void *)which);
		CHECK(dlclose(h) == 0);
	}
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void test_create(void)
{
	pthread_t loader, t;
	void *ret;

	NEED(pthread_create(&loader, NULL, load, NULL) == 0);
	for (size_t i = 0; i < 40; i++) {
		NEED(pthread_create(&t, NULL, nothing, (void *)i) == 0);
		CHECK(pthread_join(t, &ret) == 0 && ret == (void *)i);
	}
	CHECK(pthread_join(loader, NULL) == 0);
	step("create while others load");
}

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(int *)arg += info->dlpi_phnum > 0;
	return 0;
}

static void test_constructor(void)
{
	void *h = dlopen(path, RTLD_NOW), *(*lookup)(const char *);
	int n = 0;

	NEED(h);
	CHECK(*(int *)dlsym(h, "plugin_sum") == 11);
	*(void **)&lookup = dlsym(h, "plugin_lookup");
	NEED(lookup);
	CHECK(lookup("which") == NULL && dlsym(RTLD_NEXT, "which") == NULL);
	CHECK(dlsym(RTLD_NEXT, "strlen") == lookup("strlen"));
	CHECK(dlvsym(RTLD_DEFAULT, "no_such", "GLIBC_2.2.5") == NULL && dlerror() != NULL);
	CHECK(dl_iterate_phdr(count, &n) == 0 && n > 3);
	CHECK(dlclose(h) == 0);
	step("constructor");
}

int main(void)
{
	find_plugin();
	test_create();
	test_constructor();
	return check_status();
}
#endif
