/* SPDX-License-Identifier: MIT */
/*
 * test_launch.c: a launched program starts the same each time, and failures come back with their
 * cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launch/auxv.h"
#include "launch/launch.h"

static char dir[] = "/tmp/fred-test-launch-XXXXXX";

struct probe {
	struct launch_spec spec;
	char *argv[8];
	char *envp[4];
	char env_out[300];
	char out[256];
};

static void probe_init(struct probe *p, const char *name)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->out, sizeof(p->out), "%s/%s", dir, name);
	snprintf(p->env_out, sizeof(p->env_out), "PROBE_OUT=%s", p->out);
	p->argv[0] = "probe";
	p->envp[0] = p->env_out;
	p->spec.path = getenv("LAUNCH_PROBE");
	p->spec.argv = p->argv;
	p->spec.envp = p->envp;
	assert_non_null(p->spec.path);
}

static char *read_file(const char *path)
{
	cleanup_fclose FILE *f = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(f);
	assert_true(fread(text, 1, 65535, f) > 0);
	return text;
}

static int wait_status(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Runs the probe to its end and returns what it printed. */
static char *run_probe(struct probe *p, pid_t *pid)
{
	struct err e = {0};
	pid_t child;

	if (launch_program(&p->spec, &child, &e))
		fail_msg("%s", e.text);
	assert_int_equal(wait_status(child), 0);
	if (pid)
		*pid = child;
	return read_file(p->out);
}

/* Ends the text before the lines that hold PIDs, so that two runs compare equal. */
static char *only_maps(char *text)
{
	char *from = strstr(text, "\nmap "), *to = strstr(text, "\nstatus ");

	assert_non_null(from);
	assert_non_null(to);
	*to = 0;
	return from;
}

/* Docker's default profile refuses personality(2): addresses are then fixed by other means. */
static int may_turn_off_randomizing(void)
{
	int before = personality(0xffffffff), refused = personality(before | ADDR_NO_RANDOMIZE) == -1;

	personality(before);
	return !refused;
}

static void test_auxv(void **state)
{
	static const uint8_t want[] = LAUNCH_AT_RANDOM_BYTES;
	static const struct launch_ids ids = {1, 2, 3, 4};
	cleanup_free char *text = NULL;
	char line[64] = "random ";
	struct probe p;

	probe_init(&p, "auxv");
	p.spec.ids = &ids;
	text = run_probe(&p, NULL);
	for (int i = 0; i < LAUNCH_AT_RANDOM_LEN; i++)
		sprintf(line + strlen(line), "%02x", want[i]);
	assert_non_null(strstr(text, line));
	assert_non_null(strstr(text, "\nvdso 0\n"));
	assert_non_null(strstr(text, "\nids 1 2 3 4\n"));
	assert_non_null(strstr(text, may_turn_off_randomizing() ? "\nnorandom 1\n" : "\nnorandom 0\n"));
	assert_non_null(strstr(text, p.spec.path));
}

static void test_same_every_time(void **state)
{
	cleanup_free char *a = NULL, *b = NULL;
	struct probe p;

	probe_init(&p, "same");
	a = run_probe(&p, NULL);
	b = run_probe(&p, NULL);
	assert_string_equal(only_maps(a), only_maps(b));
}

/* The vector is found after an environment of many pages, too. */
static void test_big_environment(void **state)
{
	enum { N = 20000 };
	char **envp = calloc(N + 2, sizeof(*envp));
	cleanup_free char *text = NULL;
	struct probe p;

	probe_init(&p, "bigenv");
	envp[0] = p.env_out;
	for (int i = 1; i <= N; i++)
		assert_true(asprintf(&envp[i], "VAR%d=%d", i, i) > 0);
	p.spec.envp = envp;
	text = run_probe(&p, NULL);
	assert_non_null(strstr(text, "\nvdso 0\n"));
	for (int i = 1; i <= N; i++)
		free(envp[i]);
	free(envp);
}

static void test_not_traced(void **state)
{
	cleanup_free char *text = NULL;
	struct probe p;

	probe_init(&p, "untraced");
	text = run_probe(&p, NULL);
	assert_non_null(strstr(text, "status TracerPid:\t0\n"));
}

static void test_missing_program(void **state)
{
	struct err e = {0};
	struct probe p;
	pid_t pid = -7;

	probe_init(&p, "missing");
	p.spec.path = "/nonexistent/program";
	assert_int_equal(launch_program(&p.spec, &pid, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_string_equal(e.text, "/nonexistent/program: No such file or directory");
	assert_int_equal(pid, -7);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_not_executable(void **state)
{
	struct err e = {0};
	struct probe p;
	pid_t pid;

	probe_init(&p, "noexec");
	close(open(p.out, O_WRONLY | O_CREAT, 0644));
	p.spec.path = p.out;
	assert_int_equal(launch_program(&p.spec, &pid, &e), -1);
	assert_non_null(strstr(e.text, "Permission denied"));
	assert_int_equal(chmod(p.out, 0755), 0);
	assert_int_equal(launch_program(&p.spec, &pid, &e), -1);
	assert_non_null(strstr(e.text, "Exec format error"));
}

static void test_bad_cwd(void **state)
{
	struct err e = {0};
	struct probe p;
	pid_t pid;

	probe_init(&p, "cwd");
	p.spec.cwd = "/nonexistent/dir";
	assert_int_equal(launch_program(&p.spec, &pid, &e), -1);
	assert_string_equal(e.text, "cannot enter /nonexistent/dir: No such file or directory");
}

static void test_cwd_session_stack(void **state)
{
	cleanup_free char *text = NULL;
	char want[300];
	struct probe p;
	pid_t pid;

	probe_init(&p, "css");
	p.spec.cwd = dir;
	p.spec.new_session = 1;
	p.spec.stack_limit = 4 << 20;
	text = run_probe(&p, &pid);
	snprintf(want, sizeof(want), "\npid %d\nsid %d\ncwd %s\nstack %d\n", pid, pid, dir, 4 << 20);
	assert_non_null(strstr(text, want));
}

static void test_null_stdio(void **state)
{
	cleanup_close int extra = open("/dev/null", O_RDONLY), high = fcntl(extra, F_DUPFD, 200);
	cleanup_free char *text = NULL;
	struct probe p;

	probe_init(&p, "null");
	p.spec.null_stdio = 1;
	text = run_probe(&p, NULL);
	assert_non_null(strstr(text, "fd 0\nfd 1\nfd 2\nmap "));
	assert_true(high >= 200);
}

/* Without null_stdio the program inherits what is not close-on-exec, and nothing of ours. */
static void test_inherit(void **state)
{
	cleanup_close int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 200);
	cleanup_close int secret = fcntl(low, F_DUPFD_CLOEXEC, 300);
	cleanup_free char *text = NULL;
	struct probe p;

	probe_init(&p, "inherit");
	text = run_probe(&p, NULL);
	assert_non_null(strstr(text, "fd 200\n"));
	assert_null(strstr(text, "fd 300\n"));
	assert_int_equal(high, 200);
	assert_int_equal(secret, 300);
}

/* This process's own line of that name; whoever runs the tests may ignore signals as well. */
static void status_line(const char *name, char *line, int size)
{
	FILE *f = fopen("/proc/self/status", "r");

	assert_non_null(f);
	do
		assert_non_null(fgets(line, size, f));
	while (strncmp(line, name, strlen(name)) != 0);
	fclose(f);
}

static void test_signals(void **state)
{
	cleanup_free char *kept = NULL, *reset = NULL;
	char ignored[80];
	struct probe p;
	sigset_t usr1, old;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_BLOCK, &usr1, &old);
	probe_init(&p, "signals");
	status_line("SigIgn:", ignored, sizeof(ignored));
	kept = run_probe(&p, NULL);
	p.spec.default_signals = 1;
	reset = run_probe(&p, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGUSR2, SIG_DFL);
	assert_non_null(strstr(kept, "SigBlk:\t0000000000000200\n"));
	assert_non_null(strstr(kept, ignored));
	assert_int_equal(strtoull(ignored + strlen("SigIgn:"), NULL, 16) & 1u << (SIGUSR2 - 1), 1u << (SIGUSR2 - 1));
	assert_non_null(strstr(reset, "SigBlk:\t0000000000000000\n"));
	assert_non_null(strstr(reset, "SigIgn:\t0000000000000000\n"));
}

static void test_exit_status(void **state)
{
	struct err e = {0};
	struct probe p;
	pid_t pid;
	int status;

	probe_init(&p, "exit");
	p.argv[1] = "exit";
	p.argv[2] = "42";
	assert_int_equal(launch_program(&p.spec, &pid, &e), 0);
	status = wait_status(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	p.argv[1] = "kill";
	assert_int_equal(launch_program(&p.spec, &pid, &e), 0);
	status = wait_status(pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* In a PID namespace of its own, since there any number is free. */
static int want_pid_body(void)
{
	struct err e = {0};
	struct probe p;
	pid_t pid;

	probe_init(&p, "pid");
	p.spec.want_pid = 4321;
	if (launch_program(&p.spec, &pid, &e) || pid != 4321)
		return 1;
	if (!launch_program(&p.spec, &pid, &e) || !strstr(e.text, "4321 is taken"))
		return 2;
	if (waitpid(4321, NULL, 0) != 4321)
		return 3;
	return 0;
}

static void test_want_pid(void **state)
{
	pid_t outer = fork();

	if (!outer) {
		pid_t inner;
		int status;

		if (unshare(CLONE_NEWPID))
			_exit(errno == EPERM ? 77 : 50);
		inner = fork();
		if (!inner)
			_exit(want_pid_body());
		waitpid(inner, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 60);
	}
	int status = wait_status(outer);

	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("no CAP_SYS_ADMIN: cannot make a PID namespace\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"auxv", "same", "bigenv",  "untraced", "noexec",
					    "css",  "null", "inherit", "signals",  "pid"};
	char path[300];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auxv),
		cmocka_unit_test(test_same_every_time),
		cmocka_unit_test(test_big_environment),
		cmocka_unit_test(test_not_traced),
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_not_executable),
		cmocka_unit_test(test_bad_cwd),
		cmocka_unit_test(test_cwd_session_stack),
		cmocka_unit_test(test_null_stdio),
		cmocka_unit_test(test_inherit),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_want_pid),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
