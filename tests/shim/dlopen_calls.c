/* SPDX-License-Identifier: MIT */
/*
 * dlopen_calls.c: a plug-in (this file again, with PLUGIN defined) loaded, used and unloaded, from two
 * threads at once too.
 * PLUGIN: -DPLUGIN
 */
#ifdef PLUGIN
#include <stdlib.h>
#include <string.h>

static int calls;
__thread int plugin_tls = 11;

int plugin_add(int a, int b);
int plugin_calls(void);
char *plugin_exchange(char *text);

char *plugin_exchange(char *text)
{
	char *copy = strdup(text);

	free(text);
	return copy;
}

int plugin_add(int a, int b)
{
	calls++;
	plugin_tls++;
	return a + b;
}

int plugin_calls(void)
{
	return calls;
}

#else
#include "check.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

static char path[PATH_MAX + 32];

static void find_plugin(void)
{
	char exe[PATH_MAX];
	long n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	NEED(n > 0);
	exe[n] = 0;
	snprintf(path, sizeof(path), "%s.so", exe);
}

/* What is found behind the recorder, or in libc itself, is what the program's own calls are bound to. */
static void test_same(void)
{
	static const char *const names[] = {"malloc", "pthread_create", "read", "qsort"};
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	NEED(libc);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(dlsym(libc, names[i]) == dlsym(RTLD_DEFAULT, names[i]));
		CHECK(dlsym(RTLD_NEXT, names[i]) == dlsym(RTLD_DEFAULT, names[i]));
	}
	CHECK(dlclose(libc) == 0);
	step("the same functions");
}

static void test_load(void)
{
	int (*add)(int, int), (*calls)(void);
	Dl_info info;
	void *h = dlopen(path, RTLD_NOW);

	if (!h)
		fprintf(stderr, "%s\n", dlerror());
	NEED(h);
	*(void **)&add = dlsym(h, "plugin_add");
	*(void **)&calls = dlsym(h, "plugin_calls");
	NEED(add && calls);
	CHECK(add(2, 3) == 5 && add(4, 5) == 9 && calls() == 2);
	CHECK(*(int *)dlsym(h, "plugin_tls") == 13);
	CHECK(dladdr((void *)add, &info) && !strcmp(info.dli_sname, "plugin_add"));
	CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == h && dlclose(h) == 0);
	CHECK(dlclose(h) == 0);
	CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
	step("load and unload");
}

static void test_errors(void)
{
	void *h = dlopen(NULL, RTLD_NOW);

	CHECK(h && dlsym(h, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
	CHECK(dlsym(h, "no_such_symbol_anywhere") == NULL && dlerror() != NULL);
	CHECK(dlopen("./no-such-file.so", RTLD_LAZY) == NULL && dlerror() != NULL);
	CHECK(dlerror() == NULL);
	CHECK(dlclose(h) == 0);
	step("errors");
}

/* Memory goes from the program to the library and back, whatever the library was bound to. */
static void test_deep_binding(void)
{
	char *(*exchange)(char *);
	void *h = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);

	NEED(h);
	*(void **)&exchange = dlsym(h, "plugin_exchange");
	NEED(exchange);
	for (int i = 0; i < 50; i++) {
		char *text = exchange(strdup("some text"));

		CHECK(!strcmp(text, "some text"));
		free(text);
	}
	CHECK(dlclose(h) == 0);
	step("deep binding");
}

static void *load_often(void *arg)
{
	unsigned long sum = 0;

	for (int i = 0; i < 30; i++) {
		int (*add)(int, int);
		void *h = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);

		NEED(h);
		*(void **)&add = dlsym(h, "plugin_add");
		NEED(add);
		sum += (unsigned long)add(i, (int)(size_t)arg);
		CHECK(dlclose(h) == 0);
	}
	return (void *)sum;
}

static void test_threads(void)
{
	pthread_t t[2];
	void *sum[2];

	for (size_t i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, load_often, (void *)i) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &sum[i]);
	CHECK(sum[0] == (void *)435 && sum[1] == (void *)465);
	step("threads");
}

static void test_library(void)
{
	double (*cosine)(double);
	void *h = dlopen("libm.so.6", RTLD_LAZY);

	NEED(h);
	*(void **)&cosine = dlsym(h, "cos");
	CHECK(cosine && cosine(0) == 1);
	CHECK(dlclose(h) == 0);
	step("library");
}

int main(void)
{
	find_plugin();
	test_load();
	test_same();
	test_deep_binding();
	test_errors();
	test_threads();
	test_library();
	return check_status();
}
#endif
