/* SPDX-License-Identifier: MIT */
/* tools.c: checks of programs and folders. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/str.h"
#include "client/out.h"
#include "client/paths.h"
#include "doctor/doctor.h"
#include "launch/namespaces.h"

#define TIMEOUT_S 20 /* of a program that is asked for its version or the like */
#define LOW_SPACE (1ull << 30)
#define NO_SPACE (64ull << 20)

static _Noreturn void become(char *const argv[], int out, int failure)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int why;

	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(TIMEOUT_S); /* the alarm survives the exec, and ends the program */
		execvp(argv[0], argv);
	}
	why = errno;
	_exit(write_full(failure, &why, sizeof(why)) ? 126 : 127);
}

/*
 * Runs argv[0] (searched in $PATH) with /dev/null as input; standard output and error are appended to out. Killed after
 * TIMEOUT_S. *status as from waitpid. -1: it could not be run.
 */
static int capture(char *const argv[], struct buf *out, int *status, struct err *e)
{
	cleanup_close int out_r = -1, fail_r = -1;
	int p[2], f[2], why = 0, r;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) || pipe2(f, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	out_r = p[0];
	fail_r = f[0];
	pid = fork();
	if (pid == 0)
		become(argv, p[1], f[1]);
	close(p[1]);
	close(f[1]);
	if (pid < 0)
		return err_fork(e, "fork");
	r = read_fd(out_r, out, e);
	if (read_full(fail_r, &why, sizeof(why)) == sizeof(why)) {
		errno = why;
		r = err_errno(e, ERR_HOST, "%s", argv[0]);
	}
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return r;
}

static void missing(struct doctor_result *r, const char *what)
{
	buf_add_str(&r->found, what);
	r->status = DOCTOR_MISSING;
}

/* Cuts the text after its first line. */
static char *first_line(const struct buf *b)
{
	const char *s = buf_str(b);

	return xstrndup(s, strcspn(s, "\n"));
}

/* The last line that is not empty. */
static char *last_line(const struct buf *b)
{
	cleanup_strv struct strv lines = {0};

	strv_split(&lines, buf_str(b), "\n");
	return xstrdup(lines.n ? lines.s[lines.n - 1] : "no output");
}

/* The first line with that text in it (warnings may come before it); else the first line. */
static char *line_with(const char *text, const struct buf *b)
{
	cleanup_strv struct strv lines = {0};

	strv_split(&lines, buf_str(b), "\n");
	for (size_t i = 0; i < lines.n; i++)
		if (strstr(lines.s[i], text))
			return xstrdup(lines.s[i]);
	return first_line(b);
}

/* The last line that CRIU marks as an error; else the last line. */
static char *criu_verdict(const struct buf *b)
{
	cleanup_strv struct strv lines = {0};

	strv_split(&lines, buf_str(b), "\n");
	for (size_t i = lines.n; i-- > 0;)
		if (!strncmp(lines.s[i], "Error", 5))
			return xstrdup(lines.s[i]);
	return last_line(b);
}

/* Asks fredd which CRIU it would use. malloc'd; NULL: *why is the reason. */
static char *criu_path(char **why)
{
	struct err e;
	cleanup_free char *fredd = paths_own(PATHS_DAEMON, &e);
	char *argv[] = {fredd, "--print-criu", NULL};
	cleanup_buf struct buf out = {0};
	int status;

	if (!fredd || capture(argv, &out, &status, &e)) {
		*why = xstrdup(e.text);
		return NULL;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		*why = last_line(&out);
		return NULL;
	}
	return first_line(&out);
}

void doctor_criu(struct doctor_result *r)
{
	cleanup_free char *why = NULL;
	cleanup_free char *path = criu_path(&why);
	cleanup_free char *line = NULL;
	char *argv[] = {path, "--version", NULL};
	cleanup_buf struct buf out = {0};
	int status, major = 0, minor = 0;
	struct err e;

	if (!path) {
		missing(r, why);
		return;
	}
	if (capture(argv, &out, &status, &e)) {
		missing(r, e.text);
		return;
	}
	line = first_line(&out);
	buf_addf(&r->found, "%s, %s", path, line);
	if (sscanf(line, "Version: %d.%d", &major, &minor) != 2 || major < 4 || (major == 4 && minor < 1))
		r->status = DOCTOR_MISSING;
}

void doctor_criu_check(struct doctor_result *r)
{
	struct err e;
	cleanup_free char *fredd = paths_own(PATHS_DAEMON, &e);
	cleanup_free char *line = NULL;
	char *argv[] = {fredd, "--check-criu", NULL};
	cleanup_buf struct buf out = {0};
	int status;

	if (!fredd || capture(argv, &out, &status, &e)) {
		missing(r, e.text);
		return;
	}
	line = criu_verdict(&out);
	buf_add_str(&r->found, line);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		r->status = DOCTOR_MISSING;
	if (r->status && !(caps_effective() >> CAP_BIT_SYS_ADMIN & 1) && namespaces_setting())
		r->advice = "as for privileges";
}

bool doctor_try_checkpoint(char **said)
{
	struct err e;
	cleanup_free char *fredd = paths_own(PATHS_DAEMON, &e);
	char *argv[] = {fredd, "--check-checkpoint", NULL};
	cleanup_buf struct buf out = {0};
	int status;

	if (!fredd || capture(argv, &out, &status, &e)) {
		*said = xstrdup(e.text);
		return false;
	}
	*said = line_with("cannot", &out);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void doctor_checkpoint(struct doctor_result *r)
{
	cleanup_free char *said = NULL;

	if (doctor_try_checkpoint(&said))
		buf_add_str(&r->found, said);
	else
		missing(r, said);
}

void doctor_gdb(struct doctor_result *r)
{
	char *argv[] = {"gdb", "-nx", "--version", NULL};
	cleanup_buf struct buf out = {0};
	cleanup_free char *line = NULL;
	struct err e;
	int status;

	if (capture(argv, &out, &status, &e)) {
		missing(r, e.text);
		return;
	}
	line = line_with("GNU gdb", &out);
	buf_add_str(&r->found, line);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		r->status = DOCTOR_MISSING;
}

static void found_path(struct doctor_result *r, char *path, const struct err *e)
{
	if (path)
		buf_add_str(&r->found, path);
	else
		missing(r, e->text);
	free(path);
}

void doctor_shim(struct doctor_result *r)
{
	struct err e;
	char *path = paths_own(PATHS_RECORDER, &e);

	found_path(r, path, &e);
}

void doctor_daemon(struct doctor_result *r)
{
	struct err e;
	char *path = paths_own(PATHS_DAEMON, &e);

	found_path(r, path, &e);
}

void doctor_home(struct doctor_result *r)
{
	struct err e;
	cleanup_free char *home = home_dir(&e);
	unsigned long long space;
	struct statvfs st;
	char text[32];

	if (!home) {
		missing(r, e.text);
		return;
	}
	buf_add_str(&r->found, home);
	if (access(home, W_OK | X_OK) || statvfs(home, &st)) {
		missing(r, ", not writable");
		return;
	}
	space = (unsigned long long)st.f_bavail * st.f_frsize;
	buf_addf(&r->found, ", %s free", out_bytes(space, text));
	if (space < NO_SPACE)
		r->status = DOCTOR_MISSING;
	else if (space < LOW_SPACE)
		r->status = DOCTOR_WARN;
}
