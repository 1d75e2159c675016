/* SPDX-License-Identifier: MIT */
/* test_undo_log.c: the debug history in its file: it grows, is cut by undo, and survives what a crash leaves. */
#include "../base/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "sessionstate/undo_log.h"

static struct mark at(uint64_t event, uint64_t pc)
{
	struct mark s = {.event = event, .tid = 7, .words = 2, .stack = {event, pc}};

	s.regs.rip = pc;
	s.regs.rsp = 0x7ffff000;
	return s;
}

static void prompts(struct undo_log *p, unsigned n)
{
	struct err e;

	for (unsigned i = 1; i <= n; i++) {
		struct mark s = at(i, 0x1000 + i);

		assert_int_equal(undo_log_prompt(p, &s, &e), 0);
		assert_int_equal(undo_log_prompt(p, &s, &e), 0); /* it has not moved */
	}
}

static void counts_what_moved(void **state)
{
	const struct mark *s;
	struct undo_log p;
	struct err e;

	assert_int_equal(undo_log_open(&p, NULL, &e), 0);
	assert_null(undo_log_find(&p, 1, &e));
	prompts(&p, 4);
	assert_int_equal(p.n, 4);
	s = undo_log_find(&p, 1, &e);
	assert_int_equal(s->event, 3);
	s = undo_log_find(&p, 3, &e);
	assert_int_equal(s->event, 1);
	assert_null(undo_log_find(&p, 4, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	undo_log_close(&p);
}

static void goes_on_from_its_file(void **state)
{
	cleanup_free char *path = path_join(*state, "history");
	struct mark there = at(2, 0x1002);
	struct undo_log p;
	struct err e;

	assert_int_equal(undo_log_open(&p, path, &e), 0);
	prompts(&p, 5);
	assert_int_equal(undo_log_forget(&p, 3, &there, &e), 0);
	undo_log_close(&p);
	assert_int_equal(undo_log_open(&p, path, &e), 0);
	assert_int_equal(p.n, 2);
	assert_true(mark_same(&p.v[1], &there));
	assert_int_equal(undo_log_find(&p, 1, &e)->event, 1);
	undo_log_close(&p);
}

/* Cut anywhere, or with a wrong byte: the whole records before it are what is left, and new ones follow them. */
static void torn_records_are_dropped(void **state)
{
	cleanup_free char *path = path_join(*state, "torn");
	struct stat st;
	struct undo_log p;
	struct err e;
	off_t size;
	int fd;

	assert_int_equal(undo_log_open(&p, path, &e), 0);
	prompts(&p, 3);
	undo_log_close(&p);
	assert_int_equal(stat(path, &st), 0);
	size = st.st_size / 3;
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, size + size / 2), 1);
	close(fd);
	assert_int_equal(undo_log_open(&p, path, &e), 0);
	assert_int_equal(p.n, 1);
	prompts(&p, 3);
	undo_log_close(&p);
	assert_int_equal(truncate(path, 2 * size + 5), 0);
	assert_int_equal(undo_log_open(&p, path, &e), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.v[1].event, 2);
	undo_log_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_moved),
		cmocka_unit_test(goes_on_from_its_file),
		cmocka_unit_test(torn_records_are_dropped),
	};

	return cmocka_run_group_tests(tests, scratch_up, scratch_down);
}
