// SPDX-License-Identifier: MIT
/* test_crc32c.c: the vectors of RFC 3720 B.4, by instruction and by table, whole and in pieces. */
#include "base/crc32c.h"
#include "base/fdio.h"
#include "test.h"

#include <fcntl.h>

struct vector {
	uint8_t bytes[32];
	uint32_t crc;
};

static void fill(struct vector v[4])
{
	memset(v, 0, 4 * sizeof(*v));
	memset(v[1].bytes, 0xff, 32);
	for (int i = 0; i < 32; i++) {
		v[2].bytes[i] = (uint8_t)i;
		v[3].bytes[i] = (uint8_t)(31 - i);
	}
	v[0].crc = 0x8a9136aa;
	v[1].crc = 0x62a8ab43;
	v[2].crc = 0x46dd794e;
	v[3].crc = 0x113fdb5c;
}

static void rfc3720_vectors(void **state)
{
	struct vector v[4];

	fill(v);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(crc32c(0, v[i].bytes, 32), v[i].crc);
		assert_int_equal(crc32c_soft(0, v[i].bytes, 32), v[i].crc);
	}
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
}

static void pieces_equal_the_whole(void **state)
{
	struct vector v[4];

	fill(v);
	for (size_t cut = 0; cut <= 32; cut++) {
		uint32_t first = crc32c(0, v[2].bytes, cut);

		assert_int_equal(crc32c(first, v[2].bytes + cut, 32 - cut), v[2].crc);
		first = crc32c_soft(0, v[2].bytes, cut);
		assert_int_equal(crc32c_soft(first, v[2].bytes + cut, 32 - cut), v[2].crc);
	}
}

static void unaligned_and_odd_lengths(void **state)
{
	uint8_t bytes[1200]; /* several turns of the three lanes */

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 167 + 13);
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n + at <= sizeof(bytes); n += 7)
			assert_int_equal(crc32c(0, bytes + at, n), crc32c_soft(0, bytes + at, n));
}

static void zeros_by_their_number(void **state)
{
	static const uint8_t zeros[70000];
	uint32_t crc = crc32c(0, "123456789", 9);

	(void)state;
	for (size_t n = 0; n < sizeof(zeros); n = n * 3 + 1)
		assert_int_equal(crc32c_zeros(crc, n), crc32c(crc, zeros, n));
}

static void of_a_file_with_holes(void **state)
{
	const off_t size = (off_t)1 << 40;
	char *path = path_join(*state, "holes");
	struct err e = {0};
	uint64_t bytes;
	uint32_t crc, want;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, "abc", 3, size / 2), 3);
	close(fd);
	want = crc32c(crc32c_zeros(0, (uint64_t)size / 2), "abc", 3);
	want = crc32c_zeros(want, (uint64_t)size / 2 - 3);
	assert_int_equal(crc32c_file(path, &crc, &bytes, &e), 0);
	assert_int_equal(bytes, size);
	assert_int_equal(crc, want);
	assert_int_equal(unlink(path), 0);
	free(path);
}

static void of_a_file(void **state)
{
	char *path = path_join(*state, "f");
	struct err e = {0};
	uint64_t size;
	uint32_t crc;

	assert_int_equal(write_file(path, "123456789", 9, 0600, &e), 0);
	assert_int_equal(crc32c_file(path, &crc, &size, &e), 0);
	assert_int_equal(crc, 0xe3069283);
	assert_int_equal(size, 9);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(crc32c_file(path, &crc, &size, &e), -1);
	assert_non_null(strstr(e.text, path));
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc3720_vectors),
		cmocka_unit_test(pieces_equal_the_whole),
		cmocka_unit_test(unaligned_and_odd_lengths),
		cmocka_unit_test(zeros_by_their_number),
		cmocka_unit_test(of_a_file),
		cmocka_unit_test(of_a_file_with_holes),
	};

	return cmocka_run_group_tests_name("base-crc32c", tests, scratch_up, scratch_down);
}
