/* SPDX-License-Identifier: MIT */
/*
 * test_conn.c: the connection, with a real GDB and with shell scripts that play a GDB that dies, hangs,
 * stops reading or talks nonsense. Every failure must come back as an error, within its deadline.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/mi_conn.h"

#define TIMEOUT_MS 20000

/* Of the only child of this process. */
static pid_t gdb_pid(void)
{
	cleanup_fclose FILE *f = fopen("/proc/thread-self/children", "re");
	int pid;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	return pid;
}

static struct mi_conn *real_gdb(void)
{
	char *argv[] = {"gdb", "--interpreter=mi3", "-nx", "-q", NULL};
	struct err e = {0};
	struct mi_conn *c = mi_conn_new(argv, TIMEOUT_MS, &e);

	if (!c)
		fail_msg("%s", e.text);
	return c;
}

static struct mi_conn *fake(const char *script, int timeout_ms, struct err *e)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};

	*e = (struct err){0};
	return mi_conn_new(argv, timeout_ms, e);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_commands(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct mi_conn *c = real_gdb();
	struct err e = {0};

	(void)state;
	assert_int_equal(mi_conn_cmd(c, "-gdb-show confirm", TIMEOUT_MS, &r, &e), 0);
	assert_string_equal(mi_str(r.result->results, "value"), "on");
	assert_int_equal(mi_conn_cmd(c, "-interpreter-exec console \"echo a\\\\nb\"", TIMEOUT_MS, &r, &e), 0);
	assert_string_equal(buf_str(&r.console), "a\nb");
	assert_int_equal(mi_conn_cmd(c, "-no-such-command", TIMEOUT_MS, &r, &e), 1);
	assert_non_null(strstr(mi_reply_error(&r), "Undefined MI command"));
	assert_int_equal(mi_conn_cmd(c, "-data-evaluate-expression 6*7", TIMEOUT_MS, &r, &e), 0);
	assert_string_equal(mi_str(r.result->results, "value"), "42");
	assert_string_equal(buf_str(&r.console), "");
	assert_int_equal(mi_conn_cmd(c, "-gdb-version\n-gdb-exit", TIMEOUT_MS, &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_null(mi_conn_dead(c));
	mi_conn_free(c);
}

/* A session of its own, and pipes for all three streams. */
static void test_no_terminal(void **state)
{
	struct mi_conn *c = real_gdb();

	(void)state;
	assert_int_equal(getsid(gdb_pid()), gdb_pid());
	for (int fd = 0; fd < 3; fd++) {
		cleanup_free char *path = str_fmt("/proc/%d/fd/%d", gdb_pid(), fd);
		char to[64] = "";

		assert_true(readlink(path, to, sizeof(to) - 1) > 0);
		assert_true(str_starts(to, "pipe:"));
	}
	mi_conn_free(c);
}

static void test_exit(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct mi_conn *c = real_gdb();
	struct err e = {0};

	(void)state;
	assert_int_equal(mi_conn_cmd(c, "-gdb-exit", TIMEOUT_MS, &r, &e), 0);
	assert_non_null(mi_conn_dead(c));
	assert_int_equal(mi_conn_cmd(c, "-gdb-version", TIMEOUT_MS, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	mi_conn_free(c);
}

static void test_killed(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct mi_conn *c = real_gdb();
	struct err e = {0};

	(void)state;
	kill(gdb_pid(), SIGKILL);
	assert_int_equal(mi_conn_cmd(c, "-gdb-version", TIMEOUT_MS, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_non_null(strstr(e.text, "GDB is gone"));
	assert_non_null(mi_conn_dead(c));
	assert_int_equal(mi_conn_cmd(c, "-gdb-version", TIMEOUT_MS, &r, &e), -1);
	mi_conn_free(c);
}

/* A GDB that does not move is given up and killed. */
static void test_stopped(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct mi_conn *c = real_gdb();
	struct err e = {0};
	double t0 = seconds();

	(void)state;
	kill(gdb_pid(), SIGSTOP);
	assert_int_equal(mi_conn_cmd(c, "-gdb-version", 200, &r, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_non_null(mi_conn_dead(c));
	assert_true(seconds() - t0 < 15);
	mi_conn_free(c);
}

/* A busy GDB is interrupted and stays usable; the late answer is not taken for the next one. */
static void test_busy(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct mi_conn *c = real_gdb();
	struct err e = {0};

	(void)state;
	assert_int_equal(mi_conn_cmd(c, "-interpreter-exec console \"python\\nwhile True: pass\"", 300,
				     &r, &e), -1);
	if (mi_conn_dead(c))
		skip(); /* a GDB without Python: nothing to be busy with */
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_int_equal(mi_conn_cmd(c, "-data-evaluate-expression 1+1", TIMEOUT_MS, &r, &e), 0);
	assert_string_equal(mi_str(r.result->results, "value"), "2");
	mi_conn_free(c);
}

static void test_start_failures(void **state)
{
	char *nowhere[] = {"/nonexistent/gdb", NULL};
	struct err e = {0};

	(void)state;
	assert_null(mi_conn_new(nowhere, 1000, &e));
	assert_int_equal(e.kind, ERR_HOST);
	assert_non_null(strstr(e.text, "/nonexistent/gdb"));
	assert_null(fake("exit 4", TIMEOUT_MS, &e));
	assert_int_equal(e.kind, ERR_HOST);
	assert_non_null(strstr(e.text, "exit status 4"));
	assert_null(fake("echo 'cannot open shared object' >&2; exit 127", TIMEOUT_MS, &e));
	assert_non_null(strstr(e.text, "cannot open shared object"));
	assert_null(fake("echo hello; exec cat", 300, &e));
	assert_int_equal(e.kind, ERR_TIMEOUT);
	/* No child is left over from any of these. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#define READY "echo '(gdb) '; read line; "

static void test_dies_in_command(void **state)
{
	static const struct {
		const char *script, *text;
	} table[] = {
		{READY "exit 3", "exit status 3"},
		{READY "kill -SEGV $$", "signal 11"},
		{READY "echo 'internal-error: boom' >&2; exit 1", "internal-error: boom"},
		{READY "printf '1^do'; exit 0", "closed its output"},
		{READY "exec >&-; read x", "closed its output"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup_mi_reply struct mi_reply r = {0};
		struct err e;
		struct mi_conn *c = fake(table[i].script, TIMEOUT_MS, &e);

		assert_non_null(c);
		assert_int_equal(mi_conn_cmd(c, "-x", TIMEOUT_MS, &r, &e), -1);
		assert_int_equal(e.kind, ERR_INTERNAL);
		if (!strstr(e.text, table[i].text))
			fail_msg("%s: %s", table[i].script, e.text);
		mi_conn_free(c);
	}
}

#define TICKS 25 /* at 50 ms: more than the time of the command */

static bool tick(void *ctx)
{
	int *left = ctx;

	if (!--*left)
		kill(gdb_pid(), SIGCONT);
	return true;
}

/* What it waits for goes on, and has a limit of its own: it may take longer than the command's time. */
static void test_waits_for_progress(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct err e;
	struct mi_conn *c = fake(READY "kill -STOP $$; echo '1^done'; read x", TIMEOUT_MS, &e);
	int left = TICKS;

	(void)state;
	assert_non_null(c);
	mi_conn_tick(c, tick, &left);
	assert_int_equal(mi_conn_cmd(c, "-x", 1000, &r, &e), 0);
	assert_true(left <= 0);
	mi_conn_free(c);
}

static void test_nonsense(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct err e;
	struct mi_conn *c = fake(READY "echo 'not MI'; echo '~\"cut'; echo '99^done'; echo '1^done,a=\"b\"'; read x",
				 TIMEOUT_MS, &e);

	(void)state;
	assert_non_null(c);
	assert_int_equal(mi_conn_cmd(c, "-x", TIMEOUT_MS, &r, &e), 0);
	assert_string_equal(mi_str(r.result->results, "a"), "b");
	assert_string_equal(buf_str(&r.log), "not MI\n~\"cut\n");
	mi_conn_free(c);
}

/* The command does not fit into the pipe and no one reads: the deadline holds for writing too. */
static void test_stops_reading(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_free char *big = malloc(1 << 20);
	struct err e;
	struct mi_conn *c = fake("trap '' INT; echo '(gdb) '; exec tail -f /dev/null", TIMEOUT_MS, &e);
	double t0 = seconds();

	(void)state;
	assert_non_null(c);
	memset(big, 'x', (1 << 20) - 1);
	big[(1 << 20) - 1] = '\0';
	assert_int_equal(mi_conn_cmd(c, big, 200, &r, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_true(seconds() - t0 < 15);
	assert_non_null(mi_conn_dead(c));
	mi_conn_free(c);
}

/* Its input is closed: an error, no SIGPIPE. */
static void test_closed_input(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	struct err e;
	struct mi_conn *c = fake("exec <&-; echo '(gdb) '; exec tail -f /dev/null 2>/dev/null", TIMEOUT_MS, &e);

	(void)state;
	assert_non_null(c);
	assert_int_equal(mi_conn_cmd(c, "-x", 2000, &r, &e), -1);
	mi_conn_free(c);
}

static void test_wait(void **state)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_record *stop;
	struct err e;
	struct mi_conn *c = fake(READY "echo '1^running'; echo '*running,thread-id=\"all\"'; "
				 "echo '*stopped,reason=\"x\"'; read y; echo '2^running'; exec cat", TIMEOUT_MS, &e);

	(void)state;
	assert_non_null(c);
	assert_int_equal(mi_conn_cmd(c, "-x", TIMEOUT_MS, &r, &e), 0);
	assert_int_equal(mi_conn_wait(c, "stopped", TIMEOUT_MS, &r, &stop, &e), 0);
	assert_string_equal(mi_str(stop->results, "reason"), "x");
	assert_int_equal(mi_conn_cmd(c, "-y", TIMEOUT_MS, &r, &e), 0);
	assert_int_equal(mi_conn_wait(c, "stopped", 100, &r, &stop, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_null(mi_conn_dead(c));
	mi_conn_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),       cmocka_unit_test(test_no_terminal),
		cmocka_unit_test(test_exit),	       cmocka_unit_test(test_killed),
		cmocka_unit_test(test_stopped),	       cmocka_unit_test(test_busy),
		cmocka_unit_test(test_start_failures), cmocka_unit_test(test_dies_in_command),
		cmocka_unit_test(test_nonsense),       cmocka_unit_test(test_stops_reading),
		cmocka_unit_test(test_closed_input),   cmocka_unit_test(test_wait),
		cmocka_unit_test(test_waits_for_progress),
	};

	return cmocka_run_group_tests_name("gdb-conn", tests, NULL, NULL);
}
