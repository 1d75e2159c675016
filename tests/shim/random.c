/* SPDX-License-Identifier: MIT */
/*
 * random.c: every source of random numbers; prints what it drew, so that a replay must draw the same.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>

static void show(const char *what, const void *p, size_t n)
{
	printf("%s ", what);
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)p)[i]);
	printf("\n");
}

static void test_kernel(void)
{
	unsigned char a[16] = {0}, big[1000];
	int fd;

	CHECK(getrandom(a, sizeof(a), 0) == sizeof(a));
	show("getrandom", a, sizeof(a));
	CHECK(getrandom(big, sizeof(big), GRND_NONBLOCK) > 0);
	CHECK(getentropy(a, sizeof(a)) == 0);
	show("getentropy", a, sizeof(a));
	CHECK(syscall(SYS_getrandom, a, 8, 0) == 8);
	show("syscall", a, 8);
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	NEED(fd >= 0);
	CHECK(read(fd, a, sizeof(a)) == sizeof(a));
	show("urandom", a, sizeof(a));
	close(fd);
	step("kernel");
}

static void test_libc(void)
{
	struct drand48_data d;
	unsigned seed;
	double x;

	printf("arc4random %u, below 100: %u\n", arc4random(), arc4random_uniform(100));
	seed = (unsigned)time(NULL) ^ (unsigned)getpid();
	srand(seed);
	printf("rand %d %d, rand_r %d\n", rand(), rand(), rand_r(&seed));
	srandom(seed);
	printf("random %ld\n", random());
	srand48_r(arc4random(), &d);
	drand48_r(&d, &x);
	CHECK(x >= 0 && x < 1);
	printf("drand48_r %.9f\n", x);
	step("libc");
}

static void test_names(void)
{
	char name[] = "tmp.XXXXXX", dir[] = "dir.XXXXXX";
	unsigned char at_random[16];
	int fd = mkstemp(name);

	NEED(fd >= 0);
	close(fd);
	CHECK(access(name, R_OK) == 0 && unlink(name) == 0);
	CHECK(mkdtemp(dir) && rmdir(dir) == 0);
	printf("names %s %s\n", name, dir);
	memcpy(at_random, (void *)getauxval(AT_RANDOM), 16);
	show("AT_RANDOM", at_random, 16);
	printf("addresses %p %p %p\n", (void *)&fd, (void *)test_names, malloc(1));
	step("names");
}

int main(void)
{
	test_kernel();
	test_libc();
	test_names();
	return check_status();
}
