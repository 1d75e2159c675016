/* SPDX-License-Identifier: MIT */
/*
 * test_navigate.c: going to positions of a real recording, forward and back, with and without checkpoints: at the
 * same position there must be the same memory, however one got there. Needs root, for cells.
 *
 *   test-session-nav FREDCTL PROGRAM
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/userns.h"
#include "ckpt/store.h"
#include "replay/navigate.h"

#define AT 0x7654000
#define STOPS 9

static const char *fredctl, *program;
static char root[] = "/tmp/fred-test-nav-XXXXXX";
static char *rec_dir;

/* What the cells and the test share. */
static struct {
	struct err e;
	int line;
	uint64_t total;
	uint64_t seen[STOPS][2];
} *shared;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			shared->line = __LINE__;                                                   \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static void in_cell(int (*body)(void *))
{
	struct cell c;
	int status;

	if (!userns_has_admin()) {
		print_message("no CAP_SYS_ADMIN: no cells\n");
		skip();
	}
	shared->line = 0;
	shared->e.text[0] = 0;
	if (cell_start(body, NULL, &c, &shared->e))
		fail_msg("%s", shared->e.text);
	assert_int_equal(cell_join(&c, &status, &shared->e), 0);
	if (status)
		fail_msg("line %d: status %#x: %s", shared->line, status, shared->e.text);
}

static void read_words(const struct nav *n, uint64_t *words)
{
	cleanup_free char *path = str_fmt("/proc/%d/mem", (int)n->t.pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* before the program has mapped it there is nothing */
	if (fd < 0 || pread(fd, words, 16, AT) != 16)
		words[0] = words[1] = 0;
}

static uint64_t stop(unsigned i)
{
	return shared->total * (i + 1) / STOPS;
}

/* Stands where it should, and the memory there is what it was the first time. */
static int check_stop(struct nav *n, unsigned i)
{
	uint64_t words[2];

	CHECK(!nav_goto(n, stop(i), &shared->e));
	CHECK(nav_at(n) == stop(i));
	read_words(n, words);
	CHECK(!memcmp(words, shared->seen[i], sizeof(words)));
	return 0;
}

static int with_nav(int (*body)(struct nav *))
{
	struct rec *rec;
	struct nav n;
	int r;

	CHECK(!rec_open(rec_dir, &rec, &shared->e));
	CHECK(!nav_init(&n, rec, rec->images[0].ordinal, 0, NULL, &shared->e));
	r = body(&n);
	nav_fini(&n);
	rec_free(rec);
	return r;
}

static int forward(struct nav *n)
{
	shared->total = nav_total(n);
	CHECK(shared->total > 1000);
	for (unsigned i = 0; i < STOPS; i++) {
		CHECK(!nav_goto(n, stop(i), &shared->e));
		CHECK(nav_at(n) == stop(i));
		read_words(n, shared->seen[i]);
		CHECK(!i || shared->seen[i][0] >= shared->seen[i - 1][0]);
	}
	CHECK(shared->seen[STOPS - 1][0] == 800);
	CHECK(n->stats.restarts == 1 && n->stats.checkpoints == 0);
	return 0;
}

static int back(struct nav *n)
{
	for (unsigned i = STOPS; i-- > 0;)
		if (check_stop(n, i))
			return 1;
	CHECK(n->stats.restarts == STOPS);
	CHECK(nav_goto(n, shared->total + 1, &shared->e) == -1);
	CHECK(shared->e.kind == ERR_USAGE);
	return 0;
}

static int with_checkpoints(struct nav *n)
{
	uint64_t at = 0;

	CHECK(!nav_goto(n, stop(2), &shared->e));
	CHECK(!nav_ckpt_after(n, 0, &at));
	CHECK(!nav_checkpoint(n, &shared->e));
	CHECK(!nav_goto(n, stop(5), &shared->e));
	CHECK(!nav_checkpoint(n, &shared->e));
	CHECK(n->stats.checkpoints == 2);
	CHECK(nav_ckpt_after(n, 0, &at) && at == stop(2));
	CHECK(nav_ckpt_after(n, at, &at) && at == stop(5));
	CHECK(nav_ckpt_before(n, stop(5) - 1, &at) && at == stop(2));
	CHECK(!nav_ckpt_before(n, stop(2) - 1, &at));
	CHECK(!nav_restart(n, stop(4), &at, &shared->e));
	CHECK(at == stop(2) && nav_at(n) == at);
	for (unsigned i = STOPS; i-- > 0;)
		if (check_stop(n, i))
			return 1;
	return 0;
}

/* Where they are depends on how the time of the recording went by; at least one is inside. */
static int on_the_way(struct nav *n)
{
	uint64_t at;

	CHECK(!nav_restart(n, 0, &at, &shared->e));
	CHECK(at == 0);
	CHECK(!nav_run_with_checkpoints(n, shared->total, 3, &shared->e));
	CHECK(nav_at(n) == shared->total);
	CHECK(n->stats.checkpoints >= 1 && n->stats.checkpoints <= 6);
	CHECK(!check_stop(n, 1));
	return 0;
}

/* A checkpoint that another process restores, as another search of the same recording does, stays. */
static int drop_in_use(struct nav *n, uint64_t event)
{
	struct ckpt_list l = {0};
	uint64_t at;
	size_t locked = 0;
	int fd[NAV_CUTS_MAX];

	CHECK(!ckpt_store_list(n->store, &l, &shared->e));
	for (size_t i = 0; i < l.n && locked < NAV_CUTS_MAX; i++) {
		cleanup_free char *dir = str_fmt("%s/checkpoints/%llu", rec_dir, (unsigned long long)l.v[i].id);

		fd[locked] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHECK(!flock(fd[locked++], LOCK_SH));
	}
	ckpt_list_fini(&l);
	CHECK(locked > 0);
	CHECK(!nav_drop_checkpoint(n, event, &shared->e));
	CHECK(nav_ckpt_before(n, event, &at) && at == event);
	while (locked)
		close(fd[--locked]);
	return 0;
}

/* Checkpoints are kept with the recording: another operation, in another cell, goes on from them. */
static int kept(struct nav *n)
{
	cleanup_free char *text = NULL;
	struct timeline_point p;
	uint64_t last, at;

	CHECK(nav_ckpt_before(n, shared->total, &last));
	CHECK(!nav_restart(n, shared->total, &at, &shared->e));
	CHECK(at == last);
	CHECK(!check_stop(n, STOPS - 1));
	CHECK(!drop_in_use(n, last));
	CHECK(!nav_drop_checkpoint(n, last, &shared->e));
	CHECK(!nav_ckpt_before(n, shared->total, &at) || at < last);
	text = str_fmt("%llu", (unsigned long long)stop(2));
	CHECK(!nav_resolve(n, text, &p, &shared->e));
	CHECK(p.event == stop(2));
	CHECK(nav_resolve(n, "ckpt:999", &p, &shared->e) == -1);
	return 0;
}

#define IN_CELL(name)                                                                              \
	static int name##_body(void *unused)                                                        \
	{                                                                                          \
		return with_nav(name);                                                             \
	}                                                                                          \
                                                                                                   \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		in_cell(name##_body);                                                              \
	}

IN_CELL(forward)
IN_CELL(back)
IN_CELL(with_checkpoints)
IN_CELL(on_the_way)
IN_CELL(kept)

static int run(const char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int setup(void **state)
{
	const char *argv[] = {fredctl, "record", "-q", "-o", NULL, "--", program, NULL};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(root))
		return -1;
	setenv("FRED_HOME", root, 1);
	rec_dir = path_join(root, "rec");
	argv[4] = rec_dir;
	return run(argv);
}

static int teardown(void **state)
{
	const char *argv[] = {"/bin/rm", "-rf", root, NULL};

	free(rec_dir);
	return run(argv);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_with_checkpoints),
		cmocka_unit_test(test_on_the_way),
		cmocka_unit_test(test_kept),
	};

	if (argc != 3)
		return 2;
	fredctl = argv[1];
	program = argv[2];
	return cmocka_run_group_tests(tests, setup, teardown);
}
