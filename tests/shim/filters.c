/* SPDX-License-Identifier: MIT */
/* filters.c: programs that install seccomp filters of their own: what these decide happens, and nothing else. */
#include "check.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ON(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
#define ELSE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define INSTALL(flags, ...)                                                                        \
	({                                                                                         \
		struct sock_filter f_[] = {__VA_ARGS__};                                           \
		struct sock_fprog p_ = {sizeof(f_) / sizeof(f_[0]), f_};                           \
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p_);                         \
	})

static int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	NEED(pid >= 0);
	if (pid == 0) {
		NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		fn();
		_exit(check_status());
	}
	NEED(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void *thread(void *arg)
{
	struct utsname u;

	CHECK(uname(&u) == -1 && errno == EPERM);
	return arg;
}

static void errors(void)
{
	struct utsname u;
	pthread_t t;
	int fd;

	CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0);
	CHECK(INSTALL(0, LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		      ELSE(SECCOMP_RET_KILL), LOAD(nr), ON(__NR_uname, SECCOMP_RET_ERRNO | EPERM),
		      ELSE(SECCOMP_RET_ALLOW)) == 0);
	CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2);
	CHECK(uname(&u) == -1 && errno == EPERM);
	/* a second one: the stricter action counts; only this argument */
	CHECK(INSTALL(0, LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_dup, 0, 3), LOAD(args[0]),
		      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 0, 1), ELSE(SECCOMP_RET_ERRNO | EMFILE),
		      ELSE(SECCOMP_RET_ALLOW)) == 0);
	CHECK(dup(100) == -1 && errno == EMFILE);
	CHECK(dup(99) == -1 && errno == EBADF);
	fd = dup(1);
	CHECK(fd >= 0 && close(fd) == 0);
	NEED(pthread_create(&t, NULL, thread, NULL) == 0);
	NEED(pthread_join(t, NULL) == 0);
}

static void bad(void)
{
	CHECK(INSTALL(0, LOAD(nr)) == -1 && errno == EINVAL);
	CHECK(INSTALL(0, BPF_JUMP(BPF_JMP | BPF_JA, 9, 0, 0), ELSE(SECCOMP_RET_ALLOW)) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT);
	CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0);
}

static volatile int trapped;

static void on_sys(int sig, siginfo_t *si, void *uc)
{
	trapped += sig == SIGSYS && si->si_syscall == __NR_uname && si->si_errno == 7;
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RAX] = -EXDEV;
}

static void traps(void)
{
	struct sigaction sa = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	struct utsname u;

	CHECK(sigaction(SIGSYS, &sa, NULL) == 0);
	CHECK(INSTALL(0, LOAD(nr), ON(__NR_uname, SECCOMP_RET_TRAP | 7), ELSE(SECCOMP_RET_ALLOW)) == 0);
	CHECK(uname(&u) == -1 && errno == EXDEV && trapped == 1);
	CHECK(syscall(SYS_uname, &u) == -1 && errno == EXDEV && trapped == 2);
}

static void kills(void)
{
	struct utsname u;

	CHECK(INSTALL(SECCOMP_FILTER_FLAG_TSYNC, LOAD(nr), ON(__NR_uname, SECCOMP_RET_KILL_PROCESS),
		      ELSE(SECCOMP_RET_ALLOW)) == 0);
	uname(&u);
}

static void strict(void)
{
	int fd = open("/dev/null", O_WRONLY);

	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	CHECK(write(fd, "x", 1) == 1);
	syscall(SYS_exit, 33);
}

static void strict_kills(void)
{
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	syscall(SYS_getpid);
}

int main(void)
{
	CHECK(in_child(errors) == 0);
	step("errors");
	CHECK(in_child(bad) == 0);
	step("bad filters");
	CHECK(in_child(traps) == 0);
	step("traps");
	CHECK(in_child(kills) == 1000 + SIGSYS);
	step("kills");
	CHECK(in_child(strict) == 33);
	CHECK(in_child(strict_kills) == 1000 + SIGKILL);
	step("strict mode");
	return check_status();
}
