/* SPDX-License-Identifier: MIT */
/*
 * test_criu.c: real CRIU in real cells: a target of four threads is dumped in the middle, goes on,
 * and is restored again and again; each time it must reach the same state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/userns.h"
#include "ckpt/store.h"
#include "drive.h"

enum { BEFORE = 5, AFTER = 7 };

static char root[] = "/tmp/fred-test-ckpt-XXXXXX";
static const char *const files[] = {TARGET_CTL, NULL};

/* What the cells and the test share: outcomes survive the cells. */
static struct {
	struct ckpt_meta meta;
	struct target_ctl middle, end;
	struct err e;
	int line;
} *shared;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			shared->line = __LINE__;                                                   \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static void in_cell(int (*body)(void *), void *arg)
{
	struct cell c;
	int status;

	if (!userns_has_admin()) {
		print_message("no CAP_SYS_ADMIN: no cells\n");
		skip();
	}
	shared->line = 0;
	shared->e.text[0] = 0;
	if (cell_start(body, arg, &c, &shared->e))
		fail_msg("%s", shared->e.text);
	assert_int_equal(cell_join(&c, &status, &shared->e), 0);
	if (status)
		fail_msg("line %d: status %#x: %s", shared->line, status, shared->e.text);
}

/* The PIDs of threads, in text; equal texts before and after mean equal threads. */
static int thread_list(pid_t pid, char *out, size_t size)
{
	cleanup_free char *path = str_fmt("/proc/%d/task", pid);
	cleanup_closedir DIR *d = opendir(path);
	struct dirent *de;
	size_t n = 0;

	*out = 0;
	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.')
			n += (size_t)snprintf(out + n, size - n, "%s ", de->d_name);
	return n ? 0 : -1;
}

/* What debug registers have hit, of all threads of a process: bits 0 to 3 of DR6. */
static unsigned long hits_of(const char *tids)
{
	unsigned long hits = 0;
	char *end;

	for (pid_t tid; (tid = (pid_t)strtol(tids, &end, 10)); tids = end) {
		if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
		    waitpid(tid, NULL, __WALL) != tid)
			return 1;
		hits |= (unsigned long)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
		ptrace(PTRACE_DETACH, tid, 0, 0);
	}
	return hits & 15;
}

static int run_steps(struct target_ctl *ctl, pid_t pid, int n, struct err *e)
{
	for (int i = 0; i < n; i++)
		if (drive_step(ctl, pid, e))
			return -1;
	return 0;
}

/* Dump in the middle, go on to the end, restore in the same cell, go on to the same end. */
static int body_dump(void *arg)
{
	struct err *e = &shared->e;
	struct target_ctl *ctl = drive_furnish(e);
	char threads[2][200];
	struct ckpt_store *s;
	pid_t pid, again;

	CHECK(ctl);
	CHECK(!ckpt_store_open(root, &s, e));
	CHECK(!drive_launch(ctl, 2, &pid, e));
	CHECK(pid == TARGET_PID);
	CHECK(!run_steps(ctl, pid, BEFORE, e));
	CHECK(!thread_list(pid, threads[0], sizeof(threads[0])));
	shared->middle = *ctl;
	shared->meta = (struct ckpt_meta){.event = BEFORE, .process = 1, .sched_crc = 9};
	CHECK(!ckpt_store_add(s, NULL, pid, files, &shared->meta, e));
	CHECK(shared->meta.id && shared->meta.bytes > 2 << 20 && shared->meta.cost_s > 0);
	CHECK(!memcmp(&shared->middle, ctl, sizeof(*ctl)));
	CHECK(!run_steps(ctl, pid, AFTER, e));
	shared->end = *ctl;
	CHECK(!drive_kill(pid, e));
	CHECK(!ckpt_store_restore(s, NULL, &shared->meta, &again, e));
	CHECK(again == pid);
	CHECK(!thread_list(pid, threads[1], sizeof(threads[1])));
	CHECK(!strcmp(threads[0], threads[1]));
	CHECK(!hits_of(threads[1]));
	CHECK(!memcmp(&shared->middle, ctl, sizeof(*ctl)));
	CHECK(!run_steps(ctl, pid, AFTER, e));
	CHECK(!memcmp(&shared->end, ctl, sizeof(*ctl)));
	CHECK(ctl->thread[3].stack == BEFORE + AFTER);
	CHECK(ctl->thread[3].tls == 13 * (BEFORE + AFTER));
	CHECK(ctl->thread[0].trapped == (1000 + 110) * (BEFORE + AFTER));
	CHECK(!drive_kill(pid, e));
	ckpt_store_free(s);
	return 0;
}

/* In another cell: twice, with a new dump of the restored target in between. */
static int body_restore(void *arg)
{
	struct err *e = &shared->e;
	struct target_ctl *ctl = drive_furnish(e);
	struct ckpt_meta second = {.event = BEFORE + 1, .process = 1, .sched_crc = 9};
	struct ckpt_store *s;
	pid_t pid;

	CHECK(ctl);
	CHECK(!ckpt_store_open(root, &s, e));
	for (int i = 0; i < 2; i++) {
		CHECK(!ckpt_store_restore(s, NULL, &shared->meta, &pid, e));
		CHECK(!run_steps(ctl, pid, 1, e));
		if (i == 0)
			CHECK(!ckpt_store_add(s, NULL, pid, files, &second, e));
		CHECK(!run_steps(ctl, pid, AFTER - 1, e));
		CHECK(!memcmp(&shared->end, ctl, sizeof(*ctl)));
		CHECK(!drive_kill(pid, e));
	}
	CHECK(second.id != shared->meta.id);
	CHECK(!ckpt_store_restore(s, NULL, &second, &pid, e));
	CHECK(!run_steps(ctl, pid, AFTER - 1, e));
	CHECK(!memcmp(&shared->end, ctl, sizeof(*ctl)));
	CHECK(!drive_kill(pid, e));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	ckpt_store_free(s);
	return 0;
}

static void test_dump_restore(void **state)
{
	in_cell(body_dump, NULL);
	in_cell(body_restore, NULL);
}

/* A stopped target is dumped and stays stopped; the helper PIDs are where they were asked to be. */
static int body_stopped(void *arg)
{
	struct ckpt_env env = {.helper_pid = 30000};
	struct err *e = &shared->e;
	struct target_ctl *ctl = drive_furnish(e);
	cleanup_free char *dir = path_join(root, "stopped");
	siginfo_t si;
	pid_t pid, helper;

	CHECK(ctl);
	CHECK(!drive_launch(ctl, 0, &pid, e));
	CHECK(!run_steps(ctl, pid, 2, e));
	kill(pid, SIGSTOP);
	CHECK(!waitid(P_PID, (id_t)pid, &si, WSTOPPED));
	CHECK(!ckpt_dump(&env, pid, dir, e));
	helper = fork();
	if (!helper)
		_exit(0);
	CHECK(helper > 30000 && waitpid(helper, NULL, 0) == helper);
	kill(pid, SIGCONT);
	CHECK(!run_steps(ctl, pid, 2, e));
	CHECK(ctl->thread[2].stack == 4);
	CHECK(!drive_kill(pid, e));
	return rm_rf(dir, e);
}

static void test_stopped(void **state)
{
	in_cell(body_stopped, NULL);
}

/* CRIU's own words reach the caller. */
static int body_errors(void *arg)
{
	struct err *e = &shared->e;
	cleanup_free char *dir = path_join(root, "none");
	pid_t pid;
	int status;

	CHECK(ckpt_restore(NULL, "/nonexistent", &pid, e) == -1);
	CHECK(strstr(e->text, "/nonexistent: No such file"));
	CHECK(ckpt_dump(NULL, 777, dir, e) == -1);
	CHECK(e->kind == ERR_INTERNAL && strstr(e->text, "777") && strstr(e->text, "CRIU: "));
	CHECK(!rm_rf(dir, e) && !mkdir(dir, 0700));
	CHECK(ckpt_restore(NULL, dir, &pid, e) == -1);
	CHECK(strstr(e->text, "there is no image in it"));
	CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
	setenv("FRED_CRIU", "/nonexistent/criu", 1);
	CHECK(ckpt_dump(NULL, 1, dir, e) == -1);
	CHECK(e->kind == ERR_HOST && strstr(e->text, "/nonexistent/criu"));
	return rm_rf(dir, e);
}

static void test_errors(void **state)
{
	in_cell(body_errors, NULL);
}

/*
 * A restore that fails half-way leaves no process; one over a living target is refused and leaves
 * that one alone; then it works.
 */
static int body_bad_restore(void *arg)
{
	struct err *e = &shared->e;
	struct target_ctl *ctl = drive_furnish(e);
	cleanup_free char *dir = path_join(root, "bad"), *mm = path_join(dir, "mm-4321.img");
	cleanup_free char *good = path_join(root, "good.img");
	pid_t pid, other;

	CHECK(ctl);
	CHECK(!drive_launch(ctl, 0, &pid, e));
	CHECK(!run_steps(ctl, pid, 1, e));
	CHECK(!ckpt_dump(NULL, pid, dir, e));
	CHECK(ckpt_restore(NULL, dir, &other, e) == -1);
	CHECK(strstr(e->text, " is taken"));
	CHECK(!drive_kill(pid, e));
	CHECK(!rename(mm, good) && !write_file(mm, "garbage!", 8, 0600, e));
	CHECK(ckpt_restore(NULL, dir, &pid, e) == -1);
	CHECK(strstr(e->text, "CRIU: ") && strstr(e->text, "mm-4321.img"));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(!rename(good, mm));
	/* Without a file that the target has mapped. */
	CHECK(!rename(TARGET_CTL, "/run/fred/away"));
	CHECK(ckpt_restore(NULL, dir, &pid, e) == -1);
	CHECK(strstr(e->text, "CRIU: ") && strstr(e->text, "run/fred/ctl.0001"));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(!rename("/run/fred/away", TARGET_CTL));
	for (int i = 0; i < 20; i++) {
		CHECK(!ckpt_restore(NULL, dir, &pid, e));
		CHECK(!drive_kill(pid, e));
	}
	return rm_rf(dir, e);
}

static void test_bad_restore(void **state)
{
	in_cell(body_bad_restore, NULL);
}

/* What CRIU cannot dump here fails with a reason, and the target is unharmed. */
static int body_refused(void *arg)
{
	struct err *e = &shared->e;
	cleanup_free char *dir = path_join(root, "refused");
	pid_t pid = fork();
	int fds[2];

	if (!pid) {
		setsid();
		if (!socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
			for (;;)
				pause();
		_exit(1);
	}
	CHECK(ckpt_dump(NULL, pid, dir, e) == -1);
	CHECK(strstr(e->text, "CRIU: "));
	CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	CHECK(!drive_kill(pid, e));
	return rm_rf(dir, e);
}

static void test_refused(void **state)
{
	in_cell(body_refused, NULL);
}

static int setup(void **state)
{
	shared = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED || sizeof(*shared) > 65536 || !mkdtemp(root);
}

static int teardown(void **state)
{
	struct err e;

	return rm_rf(root, &e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dump_restore), cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_errors),	     cmocka_unit_test(test_bad_restore),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
