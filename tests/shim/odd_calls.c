/* SPDX-License-Identifier: MIT */
/*
 * odd_calls.c: calls with bad or unusual arguments, and what follows them: programs that fail to start, buffers that are
 * not there, versions of interfaces, seccomp filters that end threads, and how deep the stack may grow. NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGE 4096

/* Memory of some bytes, right in front of a page that is not there */
static void *edge(size_t bytes)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED && munmap(p + PAGE, PAGE) == 0);
	return p + PAGE - bytes;
}

static void test_failed_exec(void)
{
	char *bad[] = {(char *)0xdeadbeef, NULL}, *good[] = {"nothing", NULL}, first, second;
	int fds[2];

	NEED(pipe(fds) == 0);
	for (int i = 0; i < 20; i++) {
		CHECK(syscall(SYS_execve, "/proc/self/exe", i % 2 ? bad : (char **)0xdeadbeef, NULL) == -1);
		CHECK(errno == EFAULT);
		CHECK(syscall(SYS_write, fds[1], "ab", 2) == 2); /* the first call behind it */
		CHECK(read(fds[0], &first, 1) == 1 && read(fds[0], &second, 1) == 1);
		CHECK(first == 'a' && second == 'b');
	}
	CHECK(execve("/nowhere/to/be/found", good, NULL) == -1 && errno == ENOENT);
	CHECK(execve("/", good, NULL) == -1 && errno == EACCES);
	close(fds[0]);
	close(fds[1]);
	step("failed starts of programs");
}

/* Calls as 32-bit programs make them: refused, or run. */
static void test_old_gate(void)
{
	long ret = 20; /* getpid */

	__asm__ volatile("int $0x80" : "+a"(ret) : : "r8", "r9", "r10", "r11", "memory");
	CHECK((int)ret == getpid() || (int)ret == -ENOSYS);
	ret = 9999;
	__asm__ volatile("int $0x80" : "+a"(ret) : : "r8", "r9", "r10", "r11", "memory");
	CHECK((int)ret == -ENOSYS);
	step("32-bit calls");
}

static void test_versions(void)
{
	struct __user_cap_header_struct *h = edge(sizeof(*h));
	struct __user_cap_data_struct *one = edge(sizeof(*one)), *two = edge(2 * sizeof(*two));
	socklen_t len = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*h = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_1};
	CHECK(syscall(SYS_capget, h, one) == 0);
	*h = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
	CHECK(syscall(SYS_capget, h, two) == 0 && two[0].effective == one[0].effective);
	*h = (struct __user_cap_header_struct){.version = 0};
	CHECK(syscall(SYS_capget, h, NULL) == 0 && h->version == _LINUX_CAPABILITY_VERSION_3);
	CHECK(syscall(SYS_getsockname, fd, NULL, &len) == 0 && len == 2);
	CHECK(close(fd) == 0);
	step("short structures");
}

static void test_bad_memory(void)
{
	char *p = edge(8), got[16] = "";
	struct iovec v[2] = {{p, 8}, {p + 8, 8}}, mine[2] = {{got, 8}, {got + 8, 8}}, gone[1] = {{NULL, 8}};
	int fds[2], fd;
	long junk;

	memcpy(p, "12345678", 8);
	NEED(pipe(fds) == 0);
	CHECK(process_vm_readv(getpid(), mine, 2, v, 2, 0) == 8 && !memcmp(got, "12345678", 8));
	CHECK(process_vm_writev(getpid(), v, 2, mine, 2, 0) == 8);
	CHECK(writev(fds[1], v, 1) == 8 && read(fds[0], got, 16) == 8);
	CHECK(writev(fds[1], v, 2) == -1 && errno == EFAULT);
	CHECK(writev(fds[1], gone, 1) == -1 && errno == EFAULT);
	CHECK(writev(fds[1], (struct iovec *)(p + 4), 2) == -1 && errno == EFAULT);
	for (int i = 0; i < 4; i++) { /* whatever is in the register of a mode that is not used */
		junk = (long)(uintptr_t)p * (i + 1) + (long)i * 77;
		fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, junk);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
	step("buffers that end too soon");
}

/* ---- filters ---- */

static void *filtered(void *arg)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(f) / sizeof(f[0]), f};
	struct rlimit none = {0, 0};

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	*(volatile int *)arg = 1;
	syscall(SYS_sched_yield);
	*(volatile int *)arg = 2;
	return NULL;
}

static void *last_word(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	_exit(9);
}

static void test_filters(void)
{
	volatile int *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t t, me = pthread_self();
	int status = 0;
	pid_t pid;

	NEED(at != MAP_FAILED);
	for (int others = 0; others < 2; others++) {
		*at = 0;
		pid = fork();
		if (pid == 0) {
			if (others && pthread_create(&t, NULL, last_word, &me))
				_exit(1);
			filtered((void *)at);
			_exit(2);
		}
		CHECK(waitpid(pid, &status, 0) == pid && *at == 1);
		/* the last thread takes the process with it; the first of several does not */
		CHECK(others ? WIFEXITED(status) && WEXITSTATUS(status) == 9
			     : WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
	step("filters end a thread");
}

/* ---- the stack ---- */

static char handler_stack[65536];
static volatile int depth;

static void overflow(int sig)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "depth %d\n", depth);

	(void)sig;
	_exit(write(1, text, (size_t)n) == n && depth > 100 ? 5 : 6);
}

static int recurse(int n)
{
	volatile char room[512];

	room[0] = (char)n;
	depth++;
	return n ? recurse(n - 1) + room[0] : 0;
}

static void test_stack(void)
{
	struct rlimit small = {600000, 600000};
	stack_t ss = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction sa = {.sa_handler = overflow, .sa_flags = SA_ONSTACK};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		sigaltstack(&ss, NULL);
		sigaction(SIGSEGV, &sa, NULL);
		setrlimit(RLIMIT_STACK, &small);
		_exit(recurse(1000000) ? 3 : 4);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
	step("the stack ends where the program said");
}

/* The sixth argument is an int, and the other half of its place on the stack is anything. */
static void test_half_an_argument(void)
{
	int fds[2];
	char got;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	CHECK(syscall(SYS_sendto, fds[0], "a", 1, 0, NULL, __builtin_ia32_rdtsc() << 32) == 1);
	CHECK(read(fds[1], &got, 1) == 1 && got == 'a');
	close(fds[0]);
	close(fds[1]);
	step("half an argument");
}

int main(void)
{
	test_half_an_argument();
	test_failed_exec();
	test_old_gate();
	test_versions();
	test_bad_memory();
	test_filters();
	test_stack();
	return check_status();
}
