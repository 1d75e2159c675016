/* SPDX-License-Identifier: MIT */
/*
 * target.c: stands in for a replaying process: threads that wait in futexes on a shared page, a
 * seccomp filter with SECCOMP_RET_TRAP, a read-only file mapping, nothing open. Argument:
 * megabytes of a block to fill.
 */
#include "target.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct target_ctl *ctl;
static const uint8_t *rec;
static uint64_t *big;
static size_t big_words;
static __thread uint64_t tls_count;

static void on_sigsys(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RAX] = 1000 + si->si_syscall;
}

static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(*code), .filter = code};
	struct sigaction sa = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (sigaction(SIGSYS, &sa, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void futex_wait(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, 0, 0);
}

static uint64_t hash_big(void)
{
	uint64_t h = 0;

	for (size_t i = 0; i < big_words; i += 512)
		h = h * 31 + big[i];
	return h;
}

static void notify(void)
{
	__atomic_add_fetch(&ctl->notify, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ctl->notify, FUTEX_WAKE, 1, 0, 0, 0);
}

static void finish_step(void)
{
	if (__atomic_add_fetch(&ctl->done, 1, __ATOMIC_SEQ_CST) != TARGET_THREADS)
		return;
	if (big_words)
		big[ctl->go * 512 % big_words]++;
	ctl->big = hash_big();
	ctl->done = 0;
	notify();
}

static void *run(void *arg)
{
	long me = (long)arg;
	uint64_t *heap = calloc(1, sizeof(*heap));
	volatile uint64_t stack = 0;

	for (uint32_t step = 0;; step++) {
		futex_wait(&ctl->go, step);
		stack += 1;
		tls_count += 10 + (uint64_t)me;
		*heap += 100;
		ctl->thread[me].stack = stack;
		ctl->thread[me].tls = tls_count;
		ctl->thread[me].heap = *heap;
		ctl->thread[me].trapped += (uint64_t)syscall(SYS_getppid);
		ctl->thread[me].rec = rec[step % 4096];
		ctl->thread[me].tid = (int32_t)syscall(SYS_gettid);
		finish_step();
	}
	return NULL;
}

static void *map_file(const char *path, size_t len, int prot, int flags, void *at)
{
	int fd = open(path, prot & PROT_WRITE ? O_RDWR : O_RDONLY);
	void *p = fd < 0 ? MAP_FAILED : mmap(at, len, prot, flags, fd, 0);

	close(fd);
	return p;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? (size_t)atoi(argv[1]) : 0) << 20;
	pthread_t thread;

	ctl = map_file(TARGET_CTL, sizeof(*ctl), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, (void *)TARGET_ADDR);
	rec = map_file(TARGET_REC, 4096, PROT_READ, MAP_PRIVATE, NULL);
	if (ctl == MAP_FAILED || rec == MAP_FAILED || install_filter())
		return 1;
	big_words = bytes / 8;
	big = malloc(bytes + 1);
	for (size_t i = 0; i < big_words; i++)
		big[i] = i * 0x9e3779b97f4a7c15ull;
	for (long i = 1; i < TARGET_THREADS; i++)
		if (pthread_create(&thread, NULL, run, (void *)i))
			return 2;
	notify();
	run(NULL);
}
