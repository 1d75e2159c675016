// SPDX-License-Identifier: MIT
/* test_bar.c: notifications are taken out of a stream, however it is cut, drawn, and erased before anything else is
 * heard. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bridge/progress_line.h"

#define NOTE "%fred:302e35303b68616c66#00" /* 0.50;half */
#define ERASE "\r\033[K"

static const char stream[] = "+$T05thread:1;#00" NOTE "$O25667265643a#00" NOTE "%other:#00$OK#00";
static const char kept[] = "+$T05thread:1;#00$O25667265643a#00$OK#00";

/* Bytes of the stream in pieces of so many; what is drawn goes to the pipe. */
static void cut_into(struct progress_line *b, size_t piece, char *out)
{
	char data[sizeof(stream)];

	*out = '\0';
	for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
		size_t n = sizeof(stream) - 1 - at < piece ? sizeof(stream) - 1 - at : piece;

		memcpy(data, stream + at, n);
		strncat(out, data, progress_line_take(b, data, n));
	}
}

static void test_pieces(void **state)
{
	char out[sizeof(stream)];

	(void)state;
	for (size_t piece = 1; piece < sizeof(stream); piece++) {
		struct progress_line b = {0};

		cut_into(&b, piece, out);
		assert_string_equal(out, kept);
		progress_line_fini(&b);
	}
}

static void test_drawn(void **state)
{
	struct progress_line b = {.progress.on = true};
	char out[sizeof(stream)], drawn[512] = "";
	const char *bar, *again;
	int fd[2], was = dup(2);

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(dup2(fd[1], 2), 2);
	cut_into(&b, 1, out);
	dup2(was, 2);
	assert_true(read(fd[0], drawn, sizeof(drawn) - 1) > 0);
	bar = strstr(drawn, "half");
	assert_non_null(bar);
	assert_non_null(strstr(drawn, "#...............]  50%"));
	again = strstr(bar, ERASE ERASE "["); /* erased for the text, and drawn after it */
	assert_non_null(again);
	assert_string_equal(strstr(again, "half"), "half" ERASE);
	progress_line_fini(&b);
	close(fd[0]);
	close(fd[1]);
	close(was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
