/* SPDX-License-Identifier: MIT */
/*
 * blocked_segv.c: a thread that has blocked SIGSEGV asks a library for the time stamp that is loaded later, also in a handler
 * of a signal that comes in a wait with all others blocked; and text that is mapped to be written to stays so.
 * PLUGIN: -DPLUGIN
 * CFLAGS: -rdynamic
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <x86intrin.h>

#ifdef PLUGIN

unsigned long long plugin_stamp(void);
int plugin_three(void);

unsigned long long plugin_stamp(void)
{
	return __rdtsc();
}

int plugin_three(void)
{
	return 3;
}

#else

#include "check.h"

#include <sys/mman.h>

static unsigned long long (*stamp)(void);
static pthread_barrier_t loaded;
static volatile unsigned long long in_handler;

static void handler(int sig)
{
	(void)sig;
	in_handler = stamp();
}

static void *blocks(void *arg)
{
	struct timespec no_time = {0, 0}, some = {10, 0};
	sigset_t all, usr, now;

	(void)arg;
	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	pthread_barrier_wait(&loaded);
	pthread_barrier_wait(&loaded);
	CHECK(stamp() > 0);
	CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
	sigfillset(&usr);
	sigdelset(&usr, SIGUSR1);
	CHECK(ppoll(NULL, 0, &some, &usr) == -1 && errno == EINTR);
	CHECK(in_handler > 0);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
	CHECK(sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGUSR1) == 1);
	CHECK(ppoll(NULL, 0, &no_time, &all) == 0);
	CHECK(stamp() > 0);
	return NULL;
}

/* The text of the library once more, where `return 3` becomes another number. */
static void change_text(void *lib, const char *name)
{
	int (*three)(void) = (int (*)(void))dlsym(lib, "plugin_three");
	int fd = open(name, O_RDONLY | O_CLOEXEC), i = 0;
	unsigned char *file, *text;
	uint64_t base;
	Dl_info info;

	NEED(three && three() == 3 && dladdr((void *)three, &info) && fd >= 0);
	base = (uint64_t)three - (uint64_t)info.dli_fbase;
	/* the linker lays out its text so that offsets and addresses are the same */
	file = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	NEED(file != MAP_FAILED);
	text = file + base;
	while (i < 15 && (text[i] != 3 || text[i + 1]))
		i++;
	NEED(i < 15);
	text[i] = 4;
	CHECK(((int (*)(void))text)() == 4 && three() == 3);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler};
	char name[4096];
	pthread_t t;
	void *lib;

	(void)argc;
	sigfillset(&sa.sa_mask);
	NEED(sigaction(SIGUSR1, &sa, NULL) == 0);
	NEED(pthread_barrier_init(&loaded, NULL, 2) == 0);
	NEED(pthread_create(&t, NULL, blocks, NULL) == 0);
	pthread_barrier_wait(&loaded);
	snprintf(name, sizeof(name), "%s.so", argv[0]);
	lib = dlopen(name, RTLD_NOW);
	NEED(lib != NULL);
	stamp = (unsigned long long (*)(void))dlsym(lib, "plugin_stamp");
	NEED(stamp != NULL);
	pthread_barrier_wait(&loaded);
	CHECK(pthread_join(t, NULL) == 0);
	step("blocked SIGSEGV");
	change_text(lib, name);
	CHECK(stamp() > 0);
	step("text that is written to");
	return check_status();
}

#endif
