// SPDX-License-Identifier: MIT
/* test_framing.c: lines out of any cutting of a stream, and the limit. */
#include <unistd.h>

#include "base/buf.h"
#include "test.h"
#include "wire/framing.h"

/* All lines that are there, joined with '|'; the last result in *r. */
static void take(struct wire_frame *f, struct buf *out, enum wire_frame_result *r)
{
	const char *line;
	size_t len;

	while ((*r = wire_frame_next(f, &line, &len)) == WIRE_FRAME_LINE) {
		buf_add(out, line, len);
		buf_add_char(out, '|');
	}
}

/* The bytes arrive by a pipe, in pieces that it has room for. */
static void feed(struct wire_frame *f, const char *data, size_t len)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	for (size_t n; len; data += n, len -= n) {
		n = len < 4096 ? len : 4096;
		assert_int_equal(write(p[1], data, n), n);
		assert_int_equal(wire_frame_read(f, p[0]), n);
	}
	close(p[0]);
	close(p[1]);
}

static void every_cut(void **state)
{
	static const char stream[] = "one\n\ntwo\n\n\nthree\nrest";
	size_t len = sizeof(stream) - 1;

	for (size_t cut = 0; cut <= len; cut++) {
		cleanup_buf struct buf out = {0};
		enum wire_frame_result r;
		struct wire_frame f;

		wire_frame_init(&f, 100);
		feed(&f, stream, cut);
		take(&f, &out, &r);
		assert_int_equal(r, WIRE_FRAME_MORE);
		feed(&f, stream + cut, len - cut);
		take(&f, &out, &r);
		assert_string_equal(buf_str(&out), "one|two|three|");
		feed(&f, "\n", 1);
		take(&f, &out, &r);
		assert_string_equal(buf_str(&out), "one|two|three|rest|");
		wire_frame_fini(&f);
	}
}

static void limit(void **state)
{
	cleanup_buf struct buf out = {0};
	enum wire_frame_result r;
	struct wire_frame f;

	wire_frame_init(&f, 4);
	feed(&f, "1234\n1234", 9);
	take(&f, &out, &r);
	assert_int_equal(r, WIRE_FRAME_MORE);
	assert_string_equal(buf_str(&out), "1234|");
	feed(&f, "5", 1);
	take(&f, &out, &r);
	assert_int_equal(r, WIRE_FRAME_LOST);
	feed(&f, "\n1\n", 3);
	take(&f, &out, &r);
	assert_int_equal(r, WIRE_FRAME_LOST);
	wire_frame_fini(&f);
}

static void lost_with_newline_too(void **state)
{
	cleanup_buf struct buf out = {0};
	enum wire_frame_result r;
	struct wire_frame f;

	wire_frame_init(&f, 4);
	feed(&f, "12345\n", 6);
	take(&f, &out, &r);
	assert_int_equal(r, WIRE_FRAME_LOST);
	assert_int_equal(out.len, 0);
	wire_frame_fini(&f);
}

/* A buffer that many messages went through stays as small as what is pending. */
static void memory_is_bounded(void **state)
{
	cleanup_buf struct buf out = {0};
	enum wire_frame_result r;
	struct wire_frame f;
	char big[100000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\n';
	wire_frame_init(&f, WIRE_MAX_MESSAGE);
	for (int i = 0; i < 200; i++) {
		feed(&f, big, sizeof(big));
		buf_clear(&out);
		take(&f, &out, &r);
		assert_int_equal(out.len, sizeof(big));
	}
	assert_true(f.cap <= 1 << 20);
	wire_frame_fini(&f);
}

static void reads_from_pipe(void **state)
{
	cleanup_buf struct buf out = {0};
	enum wire_frame_result r;
	struct wire_frame f;
	int p[2];

	assert_int_equal(pipe(p), 0);
	wire_frame_init(&f, 100);
	assert_int_equal(write(p[1], "a\nb", 3), 3);
	assert_int_equal(wire_frame_read(&f, p[0]), 3);
	take(&f, &out, &r);
	assert_string_equal(buf_str(&out), "a|");
	close(p[1]);
	assert_int_equal(wire_frame_read(&f, p[0]), 0);
	close(p[0]);
	assert_int_equal(wire_frame_read(&f, p[0]), -1);
	wire_frame_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut),
		cmocka_unit_test(limit),
		cmocka_unit_test(lost_with_newline_too),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(reads_from_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
