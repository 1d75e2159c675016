// SPDX-License-Identifier: MIT
/* test_fdio.c: files whole and in pieces, replaced atomically, and what a failure leaves behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "test.h"

static void pipe_in_small_pieces(void **state)
{
	char got[16];
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(write_full(p[1], "abc", 3), 0);
	assert_int_equal(write_full(p[1], "defgh", 5), 0);
	assert_int_equal(read_full(p[0], got, 6), 6);
	assert_memory_equal(got, "abcdef", 6);
	close(p[1]);
	assert_int_equal(read_full(p[0], got, 16), 2);
	assert_int_equal(read_full(p[0], got, 16), 0);
	close(p[0]);
	assert_int_equal(read_full(p[0], got, 1), -1);
	assert_int_equal(errno, EBADF);
}

static void *drain(void *arg)
{
	cleanup_buf struct buf b = {0};
	int fd = *(int *)arg;

	return (void *)(uintptr_t)(read_fd(fd, &b, NULL) ? 0 : b.len);
}

/* More than a pipe holds: write_full has to go on after a short write. */
static void more_than_a_pipe_holds(void **state)
{
	size_t n = 3 << 20;
	char *p = xcalloc(n, 1);
	pthread_t reader;
	void *got;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(pthread_create(&reader, NULL, drain, &fd[0]), 0);
	assert_int_equal(write_full(fd[1], p, n), 0);
	close(fd[1]);
	assert_int_equal(pthread_join(reader, &got), 0);
	assert_int_equal((uintptr_t)got, n);
	close(fd[0]);
	free(p);
}

static void files_round_trip(void **state)
{
	cleanup_free char *path = path_join(*state, "big");
	cleanup_buf struct buf in = {0}, out = {0};
	struct err e = {0};

	for (int i = 0; i < 50000; i++)
		buf_addf(&in, "%d ", i);
	assert_int_equal(write_file(path, in.data, in.len, 0640, &e), 0);
	assert_int_equal(read_file(path, &out, &e), 0);
	assert_int_equal(out.len, in.len);
	assert_memory_equal(out.data, in.data, in.len);
	assert_int_equal(write_file(path, "x", 1, 0640, &e), 0);
	buf_clear(&out);
	assert_int_equal(read_file(path, &out, &e), 0);
	assert_string_equal(buf_str(&out), "x");
}

static void proc_files_are_read_whole(void **state)
{
	cleanup_buf struct buf b = {0};

	assert_int_equal(read_file("/proc/self/maps", &b, NULL), 0);
	assert_non_null(strstr(buf_str(&b), "[stack]"));
}

static void missing_file_is_a_usage_error(void **state)
{
	cleanup_free char *path = path_join(*state, "none");
	cleanup_buf struct buf b = {0};
	struct err e = {0};

	assert_int_equal(read_file(path, &b, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "No such file"));
}

static size_t entries(const char *dir)
{
	cleanup_closedir DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	return n - 2;
}

static void atomic_replaces_and_sets_the_mode(void **state)
{
	cleanup_free char *dir = path_join(*state, "atomic"), *path = path_join(dir, "f");
	cleanup_buf struct buf b = {0};
	struct err e = {0};
	struct stat st;

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(write_file_atomic(path, "one", 3, 0600, &e), 0);
	assert_int_equal(write_file_atomic(path, "two!", 4, 0644, &e), 0);
	assert_int_equal(read_file(path, &b, &e), 0);
	assert_string_equal(buf_str(&b), "two!");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(entries(dir), 1);
}

static void failed_atomic_leaves_the_old_and_no_temporary(void **state)
{
	cleanup_free char *dir = path_join(*state, "failed"), *path = path_join(dir, "f");
	struct err e = {0};

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(path, 0700), 0); /* a folder cannot be replaced by a file */
	assert_int_equal(write_file_atomic(path, "x", 1, 0600, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_int_equal(entries(dir), 1);
	assert_true(path_is_dir(path));
}

static void a_full_disk_is_reported(void **state)
{
	struct err e = {0};

	assert_int_equal(write_file("/dev/full", "x", 1, 0600, &e), -1);
	assert_non_null(strstr(e.text, "No space left"));
}

static void copies_contents_and_mode(void **state)
{
	cleanup_free char *from = path_join(*state, "from"), *to = path_join(*state, "to");
	cleanup_buf struct buf b = {0};
	struct err e = {0};
	struct stat st;

	assert_int_equal(write_file(from, "content", 7, 0700, &e), 0);
	assert_int_equal(chmod(from, 0751), 0);
	assert_int_equal(write_file(to, "something longer", 16, 0600, &e), 0);
	assert_int_equal(copy_file(from, to, &e), 0);
	assert_int_equal(read_file(to, &b, &e), 0);
	assert_string_equal(buf_str(&b), "content");
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
	buf_clear(&b);
	/* /proc files claim to be empty, so the kernel's own copying finds nothing. */
	assert_int_equal(copy_file("/proc/self/status", to, &e), 0);
	assert_int_equal(read_file(to, &b, &e), 0);
	assert_non_null(strstr(buf_str(&b), "Pid:"));
}

static void positioned_access(void **state)
{
	cleanup_free char *path = path_join(*state, "at");
	cleanup_close int fd = open(path, O_RDWR | O_CREAT, 0600);
	char got[8];

	assert_int_equal(pwrite_full(fd, "abcdef", 6, 10), 0);
	assert_int_equal(pread_full(fd, got, 8, 12), 4);
	assert_memory_equal(got, "cdef", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipe_in_small_pieces),
		cmocka_unit_test(more_than_a_pipe_holds),
		cmocka_unit_test(files_round_trip),
		cmocka_unit_test(proc_files_are_read_whole),
		cmocka_unit_test(missing_file_is_a_usage_error),
		cmocka_unit_test(atomic_replaces_and_sets_the_mode),
		cmocka_unit_test(failed_atomic_leaves_the_old_and_no_temporary),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(copies_contents_and_mode),
		cmocka_unit_test(positioned_access),
	};

	return cmocka_run_group_tests_name("base-fdio", tests, scratch_up, scratch_down);
}
