/* SPDX-License-Identifier: MIT */
/* processes.c: fork, vfork, exec, posix_spawn, system, daemon-like grandchildren, and all ways to wait. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;
static const char *self;

static void test_fork(void)
{
	int status, changed = 1;
	struct rusage ru;
	pid_t pid, pids[10];

	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		changed = 2;
		printf("child sees %d\n", changed);
		fflush(stdout);
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(changed == 1);
	for (int i = 0; i < 10; i++) {
		pids[i] = fork();
		NEED(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(i);
	}
	for (int i = 9; i >= 0; i--)
		CHECK(wait4(pids[i], &status, 0, &ru) == pids[i] && WEXITSTATUS(status) == i);
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	step("fork");
}

static void test_killed(void)
{
	int status;
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	CHECK(waitpid(pid, &status, WNOHANG) == 0);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		signal(SIGTERM, SIG_DFL);
		raise(SIGTERM);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	step("killed");
}

/* Signals that stand for a fault, but were sent: by the child itself, and by its parent. */
static void test_sent_faults(void)
{
	static const int sig[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	int status;

	for (unsigned i = 0; i < sizeof(sig) / sizeof(sig[0]); i++) {
		for (int own = 0; own < 2; own++) {
			pid_t pid = fork();

			NEED(pid >= 0);
			if (pid == 0) {
				if (own)
					kill(getpid(), sig[i]);
				for (;;)
					pause();
			}
			if (!own)
				CHECK(kill(pid, sig[i]) == 0);
			CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
			CHECK(WTERMSIG(status) == sig[i]);
		}
	}
	step("sent faults");
}

static void test_waitid(void)
{
	siginfo_t info;
	int status;
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(3);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0 && info.si_status == 3);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_pid == pid);
	step("waitid");
}

static void test_grandchild(void)
{
	int ends[2], status;
	char text[32] = "";
	pid_t pid;

	NEED(pipe(ends) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		pid_t inner = fork();

		if (inner == 0)
			_exit(write(ends[1], "from below", 10) == 10 ? 0 : 1);
		_exit(inner > 0 && waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
	}
	close(ends[1]);
	CHECK(read(ends[0], text, sizeof(text)) == 10 && !strcmp(text, "from below"));
	CHECK(read(ends[0], text, sizeof(text)) == 0);
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("grandchild");
}

static int run_exec(int how, const char *arg)
{
	char *argv[] = {(char *)self, (char *)arg, NULL};
	int status;
	pid_t pid = how == 3 ? vfork() : fork();

	if (pid == 0) {
		if (how == 0)
			execl(self, self, arg, (char *)NULL);
		else if (how == 1)
			execve(self, argv, environ);
		else if (how == 2)
			execlp("sh", "sh", "-c", "exit 44", (char *)NULL);
		else
			execv(self, argv);
		_exit(127);
	}
	NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_exec(void)
{
	char *argv[] = {"none", NULL};

	for (int how = 0; how < 4; how++)
		CHECK(run_exec(how, "exit-44") == 44);
	CHECK(run_exec(1, "abort") == 1000 + SIGABRT);
	CHECK(run_exec(1, "segv") == 1000 + SIGSEGV);
	CHECK(execv("/no/such/program", argv) == -1 && errno == ENOENT);
	CHECK(execv("/etc/passwd", argv) == -1 && errno == EACCES);
	step("exec");
}

static void test_spawn(void)
{
	char *argv[] = {(char *)self, "print", NULL}, *none[] = {"none", NULL};
	posix_spawn_file_actions_t actions;
	char text[32] = "";
	int ends[2], status;
	pid_t pid;

	NEED(pipe(ends) == 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	CHECK(posix_spawn(&pid, self, &actions, NULL, argv, environ) == 0);
	close(ends[1]);
	CHECK(read(ends[0], text, sizeof(text)) == 8 && !strcmp(text, "spawned\n"));
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	posix_spawn_file_actions_destroy(&actions);
	CHECK(posix_spawn(&pid, "/no/such/program", NULL, NULL, none, environ) == ENOENT);
	CHECK(posix_spawnp(&pid, "no-such-program-anywhere", NULL, NULL, none, environ) == ENOENT);
	CHECK(posix_spawnp(&pid, "true", NULL, NULL, none, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("posix_spawn");
}

/* A vfork child has its parent's memory */
static volatile int in_data, exec_error;
static char in_bss[1 << 16];

static void test_vfork(void)
{
	volatile int on_stack = 1, *on_heap = malloc(sizeof(int));
	int status;
	pid_t pid;

	*on_heap = 2;
	pid = vfork();
	if (pid == 0) {
		in_data = 5;
		in_bss[40000] = 6;
		on_stack = 7;
		*on_heap = 8;
		execl("/no/such/program", "none", (char *)NULL);
		exec_error = errno;
		_exit(3);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK(in_data == 5 && in_bss[40000] == 6 && on_stack == 7 && *on_heap == 8 && exec_error == ENOENT);
	pid = vfork();
	if (pid == 0) {
		in_data = 9;
		execl(self, self, "exit-44", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 44 && in_data == 9);
	free((void *)on_heap);
	step("vfork");
}

static void test_system(void)
{
	int status = system("exit 6");

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
	CHECK(system(NULL) != 0);
	CHECK(system("no-such-command-anywhere 2>/dev/null") == 127 << 8);
	status = system("kill -9 $$");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(system("echo printed by the shell") == 0);
	CHECK(system("i=0; while [ $i -lt 20 ]; do i=$((i+1)); true | cat; done") == 0);
	step("system");
}

static int child(const char *what)
{
	if (!strcmp(what, "exit-44"))
		return 44;
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "segv"))
		*(volatile int *)16 = 1;
	if (!strcmp(what, "print"))
		puts("spawned");
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};

	self = argv[0];
	setrlimit(RLIMIT_CORE, &none);
	if (argc > 1)
		return child(argv[1]);
	test_fork();
	test_killed();
	test_sent_faults();
	test_waitid();
	test_grandchild();
	test_exec();
	test_spawn();
	test_vfork();
	test_system();
	return check_status();
}
