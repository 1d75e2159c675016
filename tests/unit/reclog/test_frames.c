/* SPDX-License-Identifier: MIT */
/* Compressed parts of logs: a log is the same whichever parts of it are compressed; damage and kills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fdio.h"
#include "base/str.h"
#include "logbuild.h"
#include "reclog/frames.h"

#define PARTS 4u
#define PART 8192u
#define SIZE (RLOG_FRAME_START + PARTS * PART + 100)

struct fixture {
	struct recbuild rb;
	uint8_t data[SIZE];
	char *log, *zst;
};

static void add_frame(struct fixture *f, uint64_t at, uint32_t n)
{
	uint8_t out[2 * PART];
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct rlog_frame h = {RLOG_FRAME_MAGIC, sizeof(h) - 8, at, n, 0};
	int fd = open(f->zst, O_WRONLY | O_CREAT | O_APPEND, 0600);
	size_t len;

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	len = ZSTD_compress2(z, out, sizeof(out), f->data + at, n);
	assert_false(ZSTD_isError(len));
	h.packed = (uint32_t)len;
	ZSTD_freeCCtx(z);
	assert_int_equal(write_full(fd, &h, sizeof(h)) | write_full(fd, out, len), 0);
	close(fd);
}

/* A log whose first `cut` parts are in frames, and no longer in the log itself. */
static void begin(struct fixture *f, unsigned cut)
{
	struct err e;
	int fd;

	rb_init(&f->rb, 0);
	for (unsigned i = 0; i < SIZE; i++)
		f->data[i] = (uint8_t)(i * 7 + i / 251);
	f->log = xstrdup(rb_path(&f->rb, "t0001.log"));
	f->zst = xstrdup(rb_path(&f->rb, "t0001.zst"));
	assert_int_equal(write_file(f->log, f->data, SIZE, 0600, &e), 0);
	for (unsigned i = 0; i < cut; i++)
		add_frame(f, RLOG_FRAME_START + i * PART, PART);
	fd = open(f->log, O_RDWR);
	if (cut == PARTS) {
		add_frame(f, RLOG_FRAME_START + PARTS * PART, 100);
		assert_int_equal(ftruncate(fd, RLOG_FRAME_START), 0);
	} else if (cut) {
		assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RLOG_FRAME_START, cut * PART),
				 0);
	}
	close(fd);
}

static void end(struct fixture *f)
{
	free(f->log);
	free(f->zst);
	rb_fini(&f->rb);
}

/* The status of unpacking; if that is 0, it has given what was written. */
static int unpack(struct fixture *f, uint64_t room, struct err *e)
{
	int fd = memfd_create("whole", MFD_CLOEXEC), r = frames_unpack(f->log, fd, room, e);
	uint8_t got[SIZE];

	if (!r) {
		assert_int_equal(lseek(fd, 0, SEEK_END), room > SIZE ? room : SIZE);
		assert_int_equal(pread_full(fd, got, SIZE, 0), SIZE);
		assert_memory_equal(got, f->data, SIZE);
	}
	close(fd);
	return r;
}

static void test_whole(void **state)
{
	struct fixture f;
	struct err e;

	for (unsigned cut = 0; cut <= PARTS; cut++) {
		begin(&f, cut);
		assert_int_equal(unpack(&f, 0, &e), 0);
		assert_int_equal(unpack(&f, 1u << 20, &e), 0);
		end(&f);
	}
}

/* Killed while it wrote a frame: the part is still in the log. */
static void test_cut_short(void **state)
{
	struct fixture f;
	struct frames got;
	struct err e;
	uint64_t whole;

	begin(&f, 2);
	assert_int_equal(frames_open(&got, f.log, &e), 0);
	whole = got.size;
	assert_int_equal(got.end, RLOG_FRAME_START + 2 * PART);
	frames_close(&got);
	add_frame(&f, RLOG_FRAME_START + 2 * PART, PART);
	assert_int_equal(frames_open(&got, f.log, &e), 0);
	for (uint64_t size = got.size - 1; size > whole; size -= 97) {
		frames_close(&got);
		assert_int_equal(truncate(f.zst, (off_t)size), 0);
		assert_int_equal(frames_open(&got, f.log, &e), 0);
		assert_int_equal(got.size, whole);
		assert_int_equal(unpack(&f, 0, &e), 0);
		if (size < whole + 98)
			break;
	}
	frames_close(&got);
	end(&f);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t b;

	assert_int_equal(pread_full(fd, &b, 1, at), 1);
	b ^= 1;
	assert_int_equal(pwrite_full(fd, &b, 1, at), 0);
	close(fd);
}

static void test_damaged(void **state)
{
	struct fixture f;
	struct err e;

	begin(&f, 2);
	flip(f.zst, 0); /* magic */
	assert_int_equal(unpack(&f, 0, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "t0001.zst: damaged at offset 0"));
	flip(f.zst, 0);
	flip(f.zst, 60); /* compressed bytes */
	assert_int_equal(unpack(&f, 0, &e), -1);
	assert_non_null(strstr(e.text, "t0001.log: damaged at offset 24"));
	flip(f.zst, 60);
	assert_int_equal(unpack(&f, 0, &e), 0);
	add_frame(&f, RLOG_FRAME_START + 3 * PART, PART); /* not where the last one ended */
	assert_int_equal(unpack(&f, 0, &e), -1);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
