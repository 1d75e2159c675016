/* SPDX-License-Identifier: MIT */
/*
 * requests.c: ioctl, fcntl and prctl: what a request reads and writes, and what it does not: holes in
 * structures, fields that are not read, arguments that an option has not. Those differ in each run.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <x86intrin.h>

static void fill(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = (unsigned char)(__rdtsc() >> 3);
}

static void test_locks(void)
{
	int fd = open("locked", O_RDWR | O_CREAT, 0600);
	struct flock l;

	NEED(fd >= 0);
	for (int i = 0; i < 20; i++) {
		fill(&l, sizeof(l));
		l.l_type = i % 2 ? F_WRLCK : F_UNLCK;
		l.l_whence = SEEK_SET;
		l.l_start = i;
		l.l_len = 10;
		CHECK(fcntl(fd, F_SETLK, &l) == 0);
	}
	l.l_type = F_WRLCK;
	CHECK(fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_UNLCK);
	CHECK(close(fd) == 0 && unlink("locked") == 0);
	step("file locks");
}

static void test_process(void)
{
	long rest = (long)__rdtsc();
	char name[16] = "";

	CHECK(prctl(PR_GET_DUMPABLE, rest, rest, rest, rest) == 1);
	CHECK(prctl(PR_CAPBSET_READ, 0, rest, rest, rest) >= 0);
	CHECK(prctl(PR_GET_SECCOMP, rest, rest, rest, rest) == 0);
	CHECK(prctl(PR_SET_NAME, "a name", rest, rest, rest) == 0);
	CHECK(prctl(PR_GET_NAME, name, rest, rest, rest) == 0 && !strcmp(name, "a name"));
	step("prctl");
}

static volatile int faults;

static void skip_rdtsc(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si;
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 2;
	faults++;
}

/* A counter that may not be read, in a child too */
static void test_counter(void)
{
	struct sigaction sa = {.sa_sigaction = skip_rdtsc, .sa_flags = SA_SIGINFO};
	int how = 0, status;

	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	CHECK(prctl(PR_GET_TSC, &how) == 0 && how == PR_TSC_ENABLE);
	CHECK(prctl(PR_SET_TSC, 77) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0 && prctl(PR_GET_TSC, &how) == 0 && how == PR_TSC_SIGSEGV);
	__rdtsc();
	CHECK(faults == 1);
	if (fork() == 0) {
		__rdtsc();
		_exit(faults);
	}
	CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 2);
	CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
	CHECK(__rdtsc() != __rdtsc() && faults == 1);
	step("a counter that may not be read");
}

static void test_interfaces(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq list[32], r;
	struct ifconf c = {.ifc_len = sizeof(list), .ifc_req = list};

	NEED(fd >= 0);
	memset(list, 0, sizeof(list));
	CHECK(ioctl(fd, SIOCGIFCONF, &c) == 0);
	for (int i = 0; i < c.ifc_len / (int)sizeof(list[0]); i++)
		CHECK(list[i].ifr_name[0]);
	fill(&r, sizeof(r));
	strcpy(r.ifr_name, "lo");
	CHECK(ioctl(fd, SIOCGIFFLAGS, &r) == 0 && r.ifr_flags & IFF_LOOPBACK);
	CHECK(close(fd) == 0);
	step("interfaces");
}

/* Where a file lies on its disk; not every file system says. The sum goes into a comparison in replay. */
static void test_extents(void)
{
	struct {
		struct fiemap map;
		struct fiemap_extent at[4];
	} m;
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned long sum = 0;

	NEED(fd >= 0);
	memset(&m, 0, sizeof(m));
	m.map.fm_length = FIEMAP_MAX_OFFSET;
	m.map.fm_extent_count = 4;
	if (ioctl(fd, FS_IOC_FIEMAP, &m) == 0)
		for (unsigned i = 0; i < m.map.fm_mapped_extents; i++)
			sum += m.at[i].fe_physical + m.at[i].fe_length;
	CHECK(lseek(fd, (off_t)(sum % 100000), SEEK_SET) >= 0);
	CHECK(close(fd) == 0);
	step("extents");
}

int main(void)
{
	test_locks();
	test_process();
	test_interfaces();
	test_extents();
	test_counter();
	return check_status();
}
