/* SPDX-License-Identifier: MIT */
/* test_delta.c: the words in which two copies differ, in a mapping of which few pages were touched. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/delta.h"
#include "trace/pagemap.h"

#define PAGE 4096u
#define LARGE (1ull << 33)

static char *large(void)
{
	char *p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(madvise(p, LARGE, MADV_NOHUGEPAGE), 0);
	p[0] = 1;
	return p;
}

/* A copy that has written `value` to each of these places; it is stopped. */
static pid_t copy(char *const *at, unsigned n, char value)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < n; i++)
			*at[i] = value;
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void few_pages(void **state)
{
	char *p = large(), *at[] = {p + 8, p + LARGE / 2 + 16, p + LARGE - 8};
	pid_t left = copy(at, 1, 1), right = copy(at, 3, 2);
	struct delta d = {0};
	struct err e = {0};
	unsigned found = 0;

	(void)state;
	assert_int_equal(delta_diff(left, right, 65536, &d, &e), 0);
	for (size_t i = 0; i < d.n; i++) /* their stacks may differ, too */
		for (unsigned k = 0; k < 3; k++)
			found += d.addr[i] == (uintptr_t)at[k] && (d.right[i] & 0xff) == 2;
	assert_int_equal(found, 3);
	delta_fini(&d);
	kill(left, SIGKILL);
	kill(right, SIGKILL);
	assert_int_equal(waitpid(left, NULL, 0), left);
	assert_int_equal(waitpid(right, NULL, 0), right);
	munmap(p, LARGE);
}

static void next_page(void **state)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *p = large(), *last = p + LARGE - PAGE;
	uint64_t lo = (uintptr_t)p, hi = lo + LARGE, found;

	(void)state;
	assert_true(fd >= 0);
	*last = 1;
	found = pagemap_next_used(fd, lo + PAGE, hi);
	assert_true(found == (uintptr_t)last || found == lo + PAGE); /* Linux before 6.7 */
	assert_true(pagemap_next_used(fd, lo, hi) == lo);
	if (found != lo + PAGE)
		assert_true(pagemap_next_used(fd, lo + PAGE, hi - PAGE) == hi - PAGE);
	close(fd);
	munmap(p, LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(few_pages), cmocka_unit_test(next_page)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
