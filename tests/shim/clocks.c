/* SPDX-License-Identifier: MIT */
/*
 * clocks.c: all clocks; prints what it read, so that a replay that reads anything else shows.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>

static void test_ids(void)
{
	static const clockid_t ids[] = {
		CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
		CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
		CLOCK_TAI,
	};

	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct timespec a, b, res;

		CHECK(clock_gettime(ids[i], &a) == 0);
		CHECK(clock_getres(ids[i], &res) == 0 && res.tv_nsec > 0);
		CHECK(clock_gettime(ids[i], &b) == 0);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		printf("clock %d: %ld.%09ld %ld.%09ld\n", ids[i], a.tv_sec, a.tv_nsec, b.tv_sec,
		       b.tv_nsec);
	}
	CHECK(clock_gettime(9999, &(struct timespec){0}) == -1 && errno == EINVAL);
	step("clock ids");
}

static void test_calls(void)
{
	struct timespec ts;
	struct timeval tv;
	struct tms tms;
	clockid_t cpu;
	time_t t, u;

	CHECK(gettimeofday(&tv, NULL) == 0);
	u = time(&t);
	CHECK(u == t && t >= tv.tv_sec - 1 && t - tv.tv_sec < 60); /* time() goes by the last tick */
	printf("gettimeofday %ld.%06ld, time %ld\n", tv.tv_sec, tv.tv_usec, t);
	CHECK(timespec_get(&ts, TIME_UTC) == TIME_UTC);
	printf("timespec_get %ld.%09ld\n", ts.tv_sec, ts.tv_nsec);
	printf("clock() %ld, times() %ld\n", clock(), times(&tms));
	CHECK(clock_getcpuclockid(0, &cpu) == 0 && clock_gettime(cpu, &ts) == 0);
	printf("own CPU clock %ld.%09ld\n", ts.tv_sec, ts.tv_nsec);
	step("calls");
}

static void test_usage(void)
{
	struct rusage self, thread;

	CHECK(getrusage(RUSAGE_SELF, &self) == 0);
	CHECK(getrusage(RUSAGE_THREAD, &thread) == 0);
	CHECK(getrusage(RUSAGE_CHILDREN, &thread) == 0);
	printf("user %ld.%06ld, system %ld.%06ld, %ld kB, %ld faults, %ld switches\n",
	       self.ru_utime.tv_sec, self.ru_utime.tv_usec, self.ru_stime.tv_sec,
	       self.ru_stime.tv_usec, self.ru_maxrss, self.ru_minflt, self.ru_nvcsw);
	step("usage");
}

static void test_dates(void)
{
	time_t now = time(NULL);
	char text[64];
	struct tm tm;

	CHECK(gmtime_r(&now, &tm) == &tm && tm.tm_year >= 124);
	CHECK(strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime(&now)) == 19);
	printf("local %s, %s", text, ctime(&now));
	CHECK(timegm(&tm) == now);
	step("dates");
}

/* Time that passes must be seen to pass the same way. */
static void test_spin(void)
{
	struct timespec a, b;
	unsigned long reads = 0;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		reads++;
	} while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 2000000);
	printf("%lu reads in 2 ms\n", reads);
	step("spin on the clock");
}

/* To wherever the result goes: the stack, the heap, static memory, a new mapping, nowhere, nothing there at all. */
static void test_places(void)
{
	static struct timespec fixed;
	struct timespec *heap = malloc(sizeof(*heap));
	struct timeval *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timezone zone;
	time_t now = 0;

	NEED(heap && mapped != MAP_FAILED);
	CHECK(clock_gettime(CLOCK_REALTIME, &fixed) == 0 && fixed.tv_sec > 0);
	CHECK(clock_gettime(CLOCK_REALTIME, heap) == 0 && heap->tv_sec >= fixed.tv_sec);
	CHECK(gettimeofday(mapped, &zone) == 0 && mapped->tv_sec >= heap->tv_sec);
	CHECK(time(&now) >= fixed.tv_sec - 1 && now >= fixed.tv_sec - 1);
	printf("%ld.%09ld %ld.%09ld %ld.%06ld %ld\n", fixed.tv_sec, fixed.tv_nsec, heap->tv_sec, heap->tv_nsec,
	       mapped->tv_sec, mapped->tv_usec, (long)now);
	CHECK(syscall(SYS_clock_gettime, CLOCK_REALTIME, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_clock_gettime, CLOCK_REALTIME, 16ul) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_gettimeofday, 16ul, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_time, 16ul) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_gettimeofday, NULL, NULL) == 0);
	munmap(mapped, 4096);
	free(heap);
	step("places");
}

int main(void)
{
	test_ids();
	test_calls();
	test_usage();
	test_dates();
	test_spin();
	test_places();
	return check_status();
}
