/* SPDX-License-Identifier: MIT */
/* subreaper.c: a process that is given its descendants' orphans is given its own only, whoever starts programs by exec.
 */
#include "check.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static char *program;

static int ended(pid_t want)
{
	int status = -1;

	CHECK(waitpid(want, &status, 0) > 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void no_child_is_left(void)
{
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
}

static pid_t starts(char *argument)
{
	char *argv[] = {program, argument, NULL};
	pid_t pid = fork();

	if (pid == 0) {
		execv(program, argv);
		_exit(99);
	}
	return pid;
}

static void programs_that_end(void)
{
	char *argv[] = {program, "3", NULL};
	pid_t pid;

	CHECK(ended(starts("3")) == 3);
	no_child_is_left();
	CHECK(posix_spawn(&pid, program, NULL, NULL, argv, environ) == 0 && ended(pid) == 3);
	no_child_is_left();
}

/* What cannot be started leaves nothing, neither to who tries nor to who is given its orphans. */
static void programs_that_do_not_start(void)
{
	char *argv[] = {"-", NULL};
	pid_t pid;
	FILE *f = fopen("no-program", "w");

	NEED(f && fputs("#!/nowhere/at/all\n", f) >= 0 && fclose(f) == 0 && chmod("no-program", 0700) == 0);
	CHECK(execv("no-program", argv) == -1 && errno == ENOENT);
	no_child_is_left();
	pid = fork();
	if (pid == 0) {
		execv("no-program", argv);
		_exit(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD ? 4 : 5);
	}
	CHECK(ended(pid) == 4);
	no_child_is_left();
	unlink("no-program");
}

static void orphans(void)
{
	int ends[2], status;
	pid_t pid, orphan = 0;

	NEED(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		orphan = starts("7");
		_exit(write(ends[1], &orphan, sizeof(orphan)) == sizeof(orphan) ? 0 : 1);
	}
	CHECK(ended(pid) == 0 && read(ends[0], &orphan, sizeof(orphan)) == sizeof(orphan));
	CHECK(waitpid(-1, &status, 0) == orphan && WEXITSTATUS(status) == 7);
	no_child_is_left();
}

/* The new image has the children of the old one, of which this asks for those that have no signal at their end. */
static int has_child(const char *pid)
{
	int status;

	return waitpid(-1, &status, __WCLONE) == atoi(pid) && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void children_without_a_signal(void)
{
	char text[16], *argv[] = {program, "has", text, NULL};
	siginfo_t si;
	pid_t pid = fork(), child;

	if (pid == 0) {
		child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (child == 0)
			_exit(8);
		waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT | __WALL);
		snprintf(text, sizeof(text), "%d", child);
		execv(program, argv);
		_exit(99);
	}
	CHECK(ended(pid) == 8);
	no_child_is_left();
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc > 2)
		return has_child(argv[2]);
	if (argc > 1)
		return atoi(argv[1]);
	CHECK(ended(starts("2")) == 2);
	no_child_is_left();
	NEED(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	programs_that_end();
	step("programs that end");
	programs_that_do_not_start();
	step("programs that do not start");
	orphans();
	step("orphans");
	children_without_a_signal();
	step("children without a signal");
	return check_status();
}
