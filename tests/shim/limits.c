/* SPDX-License-Identifier: MIT */
/* limits.c: what a process can ask and set about itself: scheduling, limits, times, names, memory. NONDET-OUTPUT */
#include "check.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

struct sched_attr_ {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void test_scheduling(void)
{
	struct sched_param p = {0};
	struct sched_attr_ a = {0};
	struct timespec ts;
	cpu_set_t set, one;
	unsigned cpu = ~0u, node = ~0u;

	CHECK(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(0, &p) == 0 && p.sched_priority == 0);
	CHECK(sched_get_priority_max(SCHED_FIFO) == 99 && sched_rr_get_interval(0, &ts) == 0);
	CHECK(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 && a.size >= 48 && a.policy == SCHED_OTHER);
	a.nice = 5;
	a.size = sizeof(a);
	CHECK(syscall(SYS_sched_setattr, 0, &a, 0) == 0 && getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(setpriority(PRIO_PROCESS, 0, 6) == 0 && nice(1) == 7);
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) >= 1);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0 && CPU_ISSET(sched_getcpu(), &one));
	CHECK(syscall(SYS_getcpu, &cpu, &node, NULL) == 0 && CPU_ISSET(cpu, &one));
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0 && sched_yield() == 0);
	CHECK(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 6) == 0 && syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | 6));
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) >= 0);
	step("scheduling");
}

static void test_limits(void)
{
	struct rlimit r, was;
	struct rusage ru;
	struct tms tms;
	struct sysinfo si;
	struct utsname u;
	clock_t c;

	CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
	r = was;
	r.rlim_cur = 64;
	CHECK(setrlimit(RLIMIT_NOFILE, &r) == 0 && dup2(1, 64) == -1 && errno == EBADF);
	CHECK(prlimit(0, RLIMIT_NOFILE, &was, &r) == 0 && r.rlim_cur == 64);
	CHECK(getrusage(RUSAGE_SELF, &ru) == 0 && ru.ru_maxrss > 0 && getrusage(RUSAGE_CHILDREN, &ru) == 0);
	c = times(&tms);
	CHECK(c != (clock_t)-1 && clock() != (clock_t)-1);
	CHECK(sysinfo(&si) == 0 && si.totalram > 0 && uname(&u) == 0 && !strcmp(u.sysname, "Linux"));
	CHECK(get_nprocs() >= 1 && getpagesize() == 4096 && sysconf(_SC_CLK_TCK) == 100);
	CHECK(getloadavg((double[3]){0}, 3) == 3);
	step("limits");
}

static void test_prctl(void)
{
	char name[16] = "", big[64];
	int v = -1;

	CHECK(prctl(PR_SET_NAME, "renamed thread name") == 0 && prctl(PR_GET_NAME, name) == 0);
	CHECK(!strcmp(name, "renamed thread "));
	CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && prctl(PR_GET_PDEATHSIG, &v) == 0 && v == SIGUSR1);
	CHECK(prctl(PR_SET_PDEATHSIG, 0) == 0 && prctl(PR_GET_DUMPABLE) >= 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK(prctl(PR_SET_TIMERSLACK, 60000) == 0 && prctl(PR_GET_TIMERSLACK) == 60000);
	CHECK(prctl(PR_SET_KEEPCAPS, 1) == 0 && prctl(PR_GET_KEEPCAPS) == 1 && prctl(PR_SET_KEEPCAPS, 0) == 0);
	CHECK(prctl(PR_GET_SECUREBITS) >= 0 && prctl(PR_CAPBSET_READ, CAP_CHOWN) >= 0);
	CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0);
	CHECK(prctl(12345, 1, 2, 3, 4) == -1 && errno == EINVAL);
	v = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	CHECK(read(v, big, sizeof(big)) == 16 && !memcmp(big, "renamed thread \n", 16));
	close(v);
	CHECK(personality(0xffffffff) != -1);
	step("prctl");
}

static void test_memory(void)
{
	unsigned char in_core[16];
	char *p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), there[16] = "";
	struct iovec l = {there, 5}, r = {p, 5};
	char text[6] = "hello";
	int policy = -1;
	void *head = NULL;
	size_t len = 0;
	void *volatile nowhere = (void *)8, *volatile gone = p;

	NEED(p != MAP_FAILED);
	p[0] = 1;
	CHECK(mincore(p, 16 * 4096, in_core) == 0 && (in_core[0] & 1));
	CHECK(mlock(p, 4096) == 0 && munlock(p, 4096) == 0 && mlock2(p, 4096, 0) == 0 && munlockall() == 0);
	CHECK(madvise(p, 4096, MADV_DONTNEED) == 0 && p[0] == 0);
	CHECK(syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) == 0 && policy == MPOL_DEFAULT);
	memcpy(p, "other", 5);
	CHECK(process_vm_readv(getpid(), &l, 1, &r, 1, 0) == 5 && !memcmp(there, "other", 5));
	l.iov_base = text;
	CHECK(process_vm_writev(getpid(), &l, 1, &r, 1, 0) == 5 && !memcmp(p, "hello", 5));
	r.iov_base = (void *)16;
	CHECK(process_vm_readv(getpid(), &l, 1, &r, 1, 0) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_get_robust_list, 0, &head, &len) == 0 && len == 24);
	CHECK(syscall(SYS_kcmp, getpid(), getpid(), 0, 1, 1) == 0);
	/* bad pointers are the kernel's to find */
	CHECK(read(0, nowhere, 0) <= 0 && write(1, nowhere, 3) == -1 && errno == EFAULT);
	CHECK(open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
	CHECK(munmap(p, 16 * 4096) == 0);
	CHECK(write(1, gone, 3) == -1 && errno == EFAULT);
	step("memory");
}

int main(void)
{
	test_scheduling();
	test_limits();
	test_prctl();
	test_memory();
	return check_status();
}
