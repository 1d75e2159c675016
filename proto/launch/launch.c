/* SPDX-License-Identifier: MIT */
/*
 * launch.c: see launch.h. The child waits on a socket until it is seized, prepares itself and
 * calls execve; the parent holds it at the exec stop and fixes its auxiliary vector. What fails in
 * the child comes back over the same socket. The child calls async-signal-safe functions only,
 * since the caller may have threads.
 */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "launch/fix_auxv.h"
#include "launch/place.h"

#define PID_TRIES 1500
#define LAUNCH_PLACE_ADVICE "in a container, type: docker run --security-opt seccomp=unconfined"

/* What the child was about to do when it failed. */
enum stage {
	STAGE_PERSONALITY,
	STAGE_STACK,
	STAGE_SESSION,
	STAGE_STDIO,
	STAGE_FDS,
	STAGE_ROOT,
	STAGE_CWD,
	STAGE_CONFINE,
	STAGE_EXEC
};

struct launch_failure {
	int stage, error;
};

/* Switches randomisation off for the calling thread. *was: the setting to restore. false: the host refuses. */
static bool no_randomisation(int *was)
{
	int current = personality(0xffffffff);

	if (was)
		*was = current;
	return current >= 0 && personality((unsigned long)current | ADDR_NO_RANDOMIZE) >= 0;
}

static bool may_stop_randomisation(void)
{
	int was;
	bool may = no_randomisation(&was);

	if (may)
		personality((unsigned long)was);
	return may;
}

static int set_stack_limit(uint64_t limit)
{
	struct rlimit r;

	if (!limit)
		return 0;
	if (getrlimit(RLIMIT_STACK, &r))
		return -1;
	r.rlim_cur = limit == UINT64_MAX ? RLIM_INFINITY : limit;
	return setrlimit(RLIMIT_STACK, &r);
}

/* Makes 0 to 2 /dev/null and 3 the socket (*sock), and closes all others. */
static int null_stdio(int *sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -1;
	/* moved away from 0 to 3, which a daemon may have free */
	null = fcntl(null, F_DUPFD_CLOEXEC, 4);
	*sock = fcntl(*sock, F_DUPFD_CLOEXEC, 4);
	if (null < 0 || *sock < 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	if (dup3(*sock, 3, O_CLOEXEC) < 0)
		return -1;
	*sock = 3;
	return close_range(4, ~0U, 0);
}

/* Gives the program its descriptors; the socket is moved away from them. */
static int take_fds(const struct launch_spec *s, int *sock)
{
	unsigned std = 0;

	*sock = fcntl(*sock, F_DUPFD_CLOEXEC, s->fds[0].fd);
	if (*sock < 0)
		return -1;
	for (unsigned i = 0; i < s->nfds; i++) {
		if (dup2(s->fds[i].fd, s->fds[i].as) < 0)
			return -1;
		std |= s->fds[i].as < 3 ? 1u << s->fds[i].as : 0;
	}
	for (int fd = 0; fd < 3; fd++)
		if (!(std >> fd & 1))
			close(fd);
	return 0;
}

/*
 * Resets all signals; not by libc's sigaction, which refuses the two that it uses itself, and which a posix_spawn may
 * have left ignored.
 */
static void reset_signals(int all)
{
	struct kernel_action {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} dfl = {.handler = SIG_DFL}, old;

	for (int sig = 1; sig < _NSIG; sig++)
		if (!syscall(SYS_rt_sigaction, sig, NULL, &old, sizeof(old.mask)) && (all || old.handler != SIG_IGN))
			syscall(SYS_rt_sigaction, sig, &dfl, NULL, sizeof(dfl.mask));
}

static void allow_every_cpu(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set); /* the kernel ignores processors that do not exist */
}

static enum stage child_exec(const struct launch_spec *s, int *sock, const sigset_t *mask)
{
	const char *cwd = s->files ? s->files->dir : s->cwd;
	sigset_t none;

	if (!no_randomisation(NULL) && !s->top)
		return STAGE_PERSONALITY;
	if (set_stack_limit(s->stack_limit))
		return STAGE_STACK;
	if ((s->new_session && setsid() < 0) || (s->own_group && setpgid(0, 0)))
		return STAGE_SESSION;
	if (s->null_stdio && null_stdio(sock))
		return STAGE_STDIO;
	if (s->nfds && take_fds(s, sock))
		return STAGE_FDS;
	if (s->confine && confine_before_root())
		return STAGE_CONFINE;
	if (s->root && (chroot(s->root) || chdir("/")))
		return STAGE_ROOT;
	if (cwd && chdir(cwd))
		return STAGE_CWD;
	if (s->every_cpu)
		allow_every_cpu();
	reset_signals(s->default_signals);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, s->default_signals ? &none : mask, NULL);
	if (s->confine && confine_self(s->confine))
		return STAGE_CONFINE;
	execve(s->files ? s->files->name : s->path, s->argv, s->envp);
	return STAGE_EXEC;
}

static void __attribute__((noreturn)) child_main(const struct launch_spec *s, int sock, const sigset_t *mask)
{
	struct launch_failure f;
	char go;

	if (read(sock, &go, 1) == 1) {
		f.stage = child_exec(s, &sock, mask);
		f.error = errno;
		send(sock, &f, sizeof(f), MSG_NOSIGNAL);
	}
	_exit(127);
}

static int report_failure(const struct launch_spec *s, const struct launch_failure *f, struct err *e)
{
	errno = f->error;
	switch (f->stage) {
	case STAGE_PERSONALITY:
		return err_errno(e, ERR_HOST, "cannot turn address randomisation off (" LAUNCH_PLACE_ADVICE ")");
	case STAGE_STACK:
		return err_errno(e, ERR_HOST, "cannot set the stack limit to %llu bytes",
				 (unsigned long long)s->stack_limit);
	case STAGE_SESSION:
		return err_errno(e, ERR_INTERNAL, s->new_session ? "setsid" : "setpgid");
	case STAGE_CWD:
		return err_errno(e, ERR_USAGE, "cannot enter %s", s->files ? s->files->dir : s->cwd);
	case STAGE_ROOT:
		return err_errno(e, ERR_HOST, "cannot make %s the root of a process", s->root);
	case STAGE_CONFINE:
		return err_errno(e, ERR_HOST, "cannot take rights from a process");
	case STAGE_FDS:
		return err_errno(e, ERR_HOST, "cannot pass descriptors on");
	case STAGE_STDIO:
		return err_errno(e, ERR_HOST, "cannot open /dev/null");
	default:
		return err_errno(e, ERR_USAGE, "%s", s->path);
	}
}

/* A container's filter may answer ENOSYS, so that its rules for clone apply, whose arguments it can examine. */
static long clone_any(struct clone_args *args)
{
	long pid = syscall(SYS_clone3, args, sizeof(*args));

	return pid < 0 && errno == ENOSYS && !args->set_tid_size ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : pid;
}

/* Forks, with the PID that the spec asks for. Returns 0 in the child. */
static pid_t clone_child(int want_pid, struct err *e)
{
	pid_t tid = want_pid;
	struct clone_args args = {.exit_signal = SIGCHLD};
	long pid;

	if (want_pid) {
		args.set_tid = (uintptr_t)&tid;
		args.set_tid_size = 1;
	}
	/*
	 * The kernel frees the PIDs of a killed process and of its threads some time after it was waited for, without
	 * notice.
	 */
	for (int i = 0; i < PID_TRIES; i++) {
		pid = clone_any(&args);
		if (pid >= 0 || !want_pid || errno != EEXIST)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (pid >= 0)
		return (pid_t)pid;
	if (want_pid && errno == EEXIST)
		return err_set(e, ERR_HOST, "PID %d is taken", want_pid);
	if (want_pid && errno == EPERM)
		return err_set(e, ERR_HOST, "cannot choose a PID: CAP_CHECKPOINT_RESTORE is missing");
	return err_fork(e, want_pid ? "cannot fork with a chosen PID" : "cannot fork");
}

static void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static int say_signal(const struct launch_spec *s, int sig, struct err *e)
{
	return err_set(e, sig == SIGKILL ? ERR_KILLED : ERR_INTERNAL,
		       "%s: killed by signal %d (%s) while it was starting", s->path, sig, strsignal(sig));
}

static int child_died(const struct launch_spec *s, int sock, int status, struct err *e)
{
	struct launch_failure f;

	if (recv(sock, &f, sizeof(f), MSG_DONTWAIT) == (ssize_t)sizeof(f))
		return report_failure(s, &f, e);
	if (WIFSIGNALED(status))
		return say_signal(s, WTERMSIG(status), e);
	return err_set(e, ERR_INTERNAL, "%s: ended while it was starting", s->path);
}

/*
 * The start of a traced child has failed: has the child ended? Then it is reaped, its PID is free, and *e says how it
 * ended.
 */
static bool has_ended(const struct launch_spec *s, pid_t pid, struct err *e)
{
	int status = 0;
	pid_t r;

	/* It was stopped for its tracer: if ptrace does not find it stopped, it was killed, and will end soon. */
	if (!ptrace(PTRACE_PEEKUSER, pid, 0, 0) || errno != ESRCH)
		return false;
	do
		r = waitpid(pid, &status, __WALL);
	while (r < 0 && errno == EINTR);
	if (r != pid)
		return errno == ECHILD; /* it was reaped already: *e says why */
	if (WIFSTOPPED(status))
		return false;
	if (WIFSIGNALED(status))
		say_signal(s, WTERMSIG(status), e);
	else
		err_set(e, ERR_INTERNAL, "%s: exited with %d while it was starting", s->path, WEXITSTATUS(status));
	return true;
}

/*
 * Follows the seized child to its exec stop. 0: it stands there; 1: it is dead and reaped, *e says why; -1: it lives,
 * but cannot be followed.
 */
static int follow_to_exec(const struct launch_spec *s, pid_t pid, int sock, struct err *e)
{
	for (;;) {
		int status, event, sig;
		long r;

		if (waitpid(pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return err_errno(e, ERR_INTERNAL, "waiting for %s", s->path);
		}
		if (!WIFSTOPPED(status)) {
			child_died(s, sock, status, e);
			return 1;
		}
		event = status >> 16;
		sig = WSTOPSIG(status);
		if (event == PTRACE_EVENT_EXEC)
			return 0;
		if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
			r = ptrace(PTRACE_LISTEN, pid, 0, 0); /* job control has stopped it, and it stays stopped */
		else
			r = ptrace(PTRACE_CONT, pid, 0, event ? 0 : sig);
		if (r && errno != ESRCH)
			return err_errno(e, ERR_HOST, "cannot trace %s", s->path);
	}
}

/* Sets the limit that the program is to have after its exec (place_plan may have lowered it before). */
static int give_stack_limit(pid_t pid, uint64_t limit)
{
	struct rlimit r;

	if (prlimit(pid, RLIMIT_STACK, NULL, &r))
		return -1;
	r.rlim_cur = limit == UINT64_MAX ? RLIM_INFINITY : limit;
	return prlimit(pid, RLIMIT_STACK, &r, NULL);
}

static int place(const struct launch_spec *s, pid_t pid, uint64_t stack_limit, struct err *e)
{
	const char *why;
	uint64_t sp;

	why = s->top ? place_image(pid, s->top, s->stack_limit, &sp) : NULL;
	if (why)
		return err_set(e, ERR_HOST, "cannot give the program fixed addresses: %s (" LAUNCH_PLACE_ADVICE ")",
			       why);
	return stack_limit != s->stack_limit && give_stack_limit(pid, stack_limit)
		       ? err_errno(e, ERR_HOST, "cannot set the stack limit")
		       : 0;
}

static int give_id(const struct launch_spec *s, pid_t pid, struct err *e)
{
	const char *why = s->confine && s->confine->own_id ? confine_give_id(pid, s->top, s->confine) : NULL;

	return why ? err_set(e, ERR_HOST, "cannot give the program a user ID of its own: %s", why) : 0;
}

/* Done as the user who may see the files. */
static int give_names(const struct launch_spec *s, pid_t pid, struct err *e)
{
	const bool placed = s->top || (s->confine && s->confine->own_id);
	const char *why = s->files ? files_begin(pid, placed, s->files, s->path) : NULL;

	return why ? err_set(e, ERR_HOST, "cannot start the program from the recording's copies: %s", why) : 0;
}

static int parent_run(const struct launch_spec *s, pid_t pid, uint64_t stack_limit, int sock, struct err *e)
{
	int r;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) {
		err_errno(e, ERR_HOST, "cannot trace a new process (ptrace)");
		goto kill;
	}
	if (send(sock, "g", 1, MSG_NOSIGNAL) != 1) {
		err_errno(e, ERR_INTERNAL, "cannot start the new process");
		goto kill;
	}
	r = follow_to_exec(s, pid, sock, e);
	if (r > 0)
		return -1;
	if (r < 0 || place(s, pid, stack_limit, e) || give_id(s, pid, e) || give_names(s, pid, e) ||
	    launch_fix_auxv(pid, s->ids, e))
		r = -1;
	else if (s->nobjects || s->files)
		r = launch_place_objects(pid, s->objects, s->nobjects, s->files, e);
	if (r < 0 && has_ended(s, pid, e))
		return -1;
	if (r)
		err_wrap(e, "%s", s->path);
	if (r < 0)
		goto kill;
	if (r)
		return -1;
	if (s->hold || !ptrace(PTRACE_DETACH, pid, 0, 0))
		return 0;
	/* It was killed in its exec stop: to the caller, this is a program that died at once. */
	if (errno == ESRCH)
		return 0;
	err_errno(e, ERR_HOST, "cannot let go of %s", s->path);
kill:
	kill_child(pid);
	return -1;
}

static unsigned random_bits(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	long bits = read_file("/proc/sys/vm/mmap_rnd_bits", &b, &ignored) ? 0 : strtol(buf_str(&b), NULL, 10);

	return bits >= 16 && bits <= 32 ? (unsigned)bits : 32;
}

/*
 * Chooses where the image is placed, and the limit of its stack at the start. *after: the limit that it gets
 * afterwards. (Without a limit, the kernel would map from the bottom up.)
 */
static int place_plan(struct launch_spec *s, uint64_t *after, struct err *e)
{
	struct rlimit r;

	if (s->top == PLACE_KERNELS || (!s->top && may_stop_randomisation()))
		s->top = 0;
	else if (!s->top)
		s->top = place_top_for(random_bits());
	if (getrlimit(RLIMIT_STACK, &r))
		return err_errno(e, ERR_HOST, "getrlimit");
	*after = s->stack_limit ? s->stack_limit : r.rlim_cur;
	s->stack_limit = *after < PLACE_STACK_MAX ? *after : PLACE_STACK_MAX;
	return 0;
}

int launch_program(const struct launch_spec *spec, pid_t *pid, struct err *e)
{
	struct launch_spec own = *spec, *s = &own;
	uint64_t stack_limit = 0;
	cleanup_close int ours = -1, theirs = -1;
	sigset_t all, mask;
	int fds[2];
	pid_t child;

	if (place_plan(s, &stack_limit, e))
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return err_errno(e, ERR_HOST, "socketpair");
	ours = fds[0];
	theirs = fds[1];
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child = clone_child(s->want_pid, e);
	if (!child) {
		close(ours);
		child_main(s, theirs, &mask);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (child < 0)
		return -1;
	close(steal_fd(&theirs));
	if (parent_run(s, child, stack_limit, ours, e))
		return -1;
	*pid = child;
	return 0;
}

int launch_executed(pid_t pid, uint64_t stack_limit, struct err *e)
{
	struct launch_spec s = {.stack_limit = stack_limit};
	uint64_t after = 0;

	return place_plan(&s, &after, e) || place(&s, pid, after, e) ? -1 : 0;
}
