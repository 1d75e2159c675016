/* SPDX-License-Identifier: MIT */
/* env.c: the environment, here and in children; nothing of the recorder may be seen in it. */
#include "check.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>

extern char **environ;

static void test_clean(void)
{
	CHECK(getenv("LD_PRELOAD") == NULL && getenv("FRED") == NULL);
	for (char **e = environ; *e; e++)
		CHECK(!strstr(*e, "libfred") && strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "FRED=", 5));
	CHECK(getenv("PATH") != NULL);
	step("clean");
}

static void test_changes(void)
{
	static char put[] = "FRED_TEST_PUT=one";

	CHECK(setenv("FRED_TEST_A", "1", 1) == 0 && !strcmp(getenv("FRED_TEST_A"), "1"));
	CHECK(setenv("FRED_TEST_A", "2", 0) == 0 && !strcmp(getenv("FRED_TEST_A"), "1"));
	CHECK(putenv(put) == 0 && getenv("FRED_TEST_PUT") == put + 14);
	CHECK(unsetenv("FRED_TEST_A") == 0 && !getenv("FRED_TEST_A"));
	for (int i = 0; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof(name), "FRED_TEST_%d", i);
		CHECK(setenv(name, name, 1) == 0);
	}
	CHECK(!strcmp(getenv("FRED_TEST_57"), "FRED_TEST_57"));
	step("changes");
}

static int shell(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_children(void)
{
	char *argv[] = {"sh", "-c", "test \"$ONLY\" = this && test -z \"$LD_PRELOAD$FRED\"", NULL};
	char *envp[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};
	int status;
	pid_t pid;

	CHECK(shell("test \"$FRED_TEST_PUT\" = one") == 0);
	CHECK(shell("test -z \"$LD_PRELOAD\" && test -z \"$FRED\"") == 0);
	CHECK(shell("env | grep -q -e '^LD_PRELOAD=' -e '^FRED='") == 1);
	CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, envp) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		execve("/bin/sh", argv, envp);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("children");
}

static void test_clear(void)
{
	CHECK(clearenv() == 0 && !getenv("PATH") && (!environ || !*environ));
	CHECK(setenv("AFTER", "x", 1) == 0 && environ && !strcmp(environ[0], "AFTER=x"));
	step("cleared");
}

/* All the text that it was started with lies in one piece, what is hidden too: a replay compares what is written. */
static void test_text(const char *first)
{
	const char *last = (const char *)getauxval(AT_EXECFN);
	ssize_t n = last + strlen(last) - first;
	int fd = open("/dev/null", O_WRONLY);

	NEED(fd >= 0 && n > 0);
	CHECK(write(fd, first, (size_t)n) == n);
	close(fd);
	step("text");
}

int main(int argc, char **argv)
{
	NEED(argc > 0);
	test_text(argv[0]);
	test_clean();
	test_changes();
	test_children();
	test_clear();
	return check_status();
}
