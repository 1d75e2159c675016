/* SPDX-License-Identifier: MIT */
/* host.c: checks of the kernel and the machine. Each tries what it checks, if that is harmless. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "launch/launch.h"
#include "launch/namespaces.h"
#include "supervisor/tsc.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#endif

void doctor_kernel(struct doctor_result *r)
{
	struct utsname un;
	int major = 0, minor = 0;

	uname(&un);
	buf_addf(&r->found, "%s %s", un.release, un.machine);
	if (sscanf(un.release, "%d.%d", &major, &minor) != 2 || strcmp(un.machine, "x86_64") || major < 5 ||
	    (major == 5 && minor < 16))
		r->status = DOCTOR_MISSING;
}

void doctor_user_dispatch(struct doctor_result *r)
{
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0)) {
		buf_add_str(&r->found, strerror(errno));
		r->status = DOCTOR_MISSING;
		return;
	}
	buf_add_str(&r->found, "available");
}

void doctor_seccomp(struct doctor_result *r)
{
	uint32_t action = SECCOMP_RET_TRAP;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)) {
		buf_add_str(&r->found, strerror(errno));
		r->status = DOCTOR_MISSING;
		return;
	}
	buf_add_str(&r->found, "available, with SECCOMP_RET_TRAP");
}

/* Runs fn in a child, and returns the errno that it returns; -1 if the child died. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(fn());
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_result(struct doctor_result *r, int error)
{
	if (!error) {
		buf_add_str(&r->found, "available");
		return;
	}
	buf_add_str(&r->found, error > 0 ? strerror(error) : "the attempt was killed");
	r->status = DOCTOR_MISSING;
}

static int try_proc(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ? errno : 0;
}

/* User namespaces with a /proc of their own; the kernel refuses these where parts of the existing /proc are masked. */
static int try_namespaces(void)
{
	const int all = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;

	if (unshare(all) && (errno != EPERM || unshare(all | CLONE_NEWUSER)))
		return errno;
	/* in a chroot "/" is no mount, and new mounts might be visible outside */
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ? 0 : in_child(try_proc);
}

static int try_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE) < 0 ? errno : 0;
}

/* Tries it as `record` does it. */
void doctor_addresses(struct doctor_result *r)
{
	char *argv[] = {(char *)"true", NULL}, *envp[] = {NULL};
	const struct launch_spec spec = {.path = "/bin/true", .argv = argv, .envp = envp};
	int error = in_child(try_personality), status;
	struct err e;
	pid_t pid;

	if (launch_program(&spec, &pid, &e)) {
		buf_add_str(&r->found, e.text);
		r->status = DOCTOR_MISSING;
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		buf_add_str(&r->found, "a program that was given some did not run");
		r->status = DOCTOR_MISSING;
		return;
	}
	if (error)
		buf_addf(&r->found, "available: programs are moved there, as personality is refused (%s)",
			 strerror(error));
	else
		buf_add_str(&r->found, "available");
}

void doctor_clone3(struct doctor_result *r)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		_exit(0);
	if (pid < 0) {
		buf_addf(&r->found, "refused (%s)", strerror(errno));
		r->status = DOCTOR_WARN;
		return;
	}
	while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	buf_add_str(&r->found, "available");
}

static int try_fifo(void)
{
	const struct sched_param lowest = {.sched_priority = 1};

	return sched_setscheduler(0, SCHED_FIFO, &lowest) ? errno : 0;
}

/* A replay without it is only slower, so it does not count as missing. */
static void child_warns(struct doctor_result *r, int error)
{
	if (error)
		buf_addf(&r->found, "refused (%s)", error > 0 ? strerror(error) : "the attempt was killed");
	else
		buf_add_str(&r->found, "available");
	r->status = error ? DOCTOR_WARN : DOCTOR_OK;
}

void doctor_fifo(struct doctor_result *r)
{
	child_warns(r, in_child(try_fifo));
}

/* Tries it as the recorder does it. */
static int try_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)doctor_perf,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? errno : 0;
}

void doctor_perf(struct doctor_result *r)
{
	child_warns(r, in_child(try_perf));
}

/* Says whether a replay could be confined by Landlock (daemon/target/rights.c). */
static void say_tier_2(struct doctor_result *r, int landlock)
{
	buf_add_str(&r->found, "tier 2, no namespaces: ");
	if (!landlock) {
		buf_add_str(&r->found,
			    "programs are recorded; recordings are not replayed, since there is no Landlock");
		r->status = DOCTOR_MISSING;
		return;
	}
	buf_add_str(&r->found, "no checkpoints on disk, so no bounded recordings and no pack --from; ");
	buf_add_str(&r->found, landlock >= LANDLOCK_SIGNALS
				       ? "all else works, with checkpoints in memory"
				       : "before Linux 6.12 none in memory either: each way back replays from the "
					 "program's start, and processes that were forked are not replayed");
	r->status = DOCTOR_WARN;
}

void doctor_tier(struct doctor_result *r)
{
	cleanup_free char *said = NULL;

	if (in_child(try_namespaces)) {
		say_tier_2(r, landlock_version());
		return;
	}
	buf_addf(&r->found, "%s: everything works",
		 caps_effective() >> CAP_BIT_SYS_ADMIN & 1 ? "rights of root" : "tier 1, user namespaces");
	if (!doctor_try_checkpoint(&said)) {
		buf_add_str(&r->found, " but checkpoints: each replay begins at the program's start");
		r->status = DOCTOR_WARN;
	}
}

static int try_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) ? errno : 0;
}

void doctor_namespaces(struct doctor_result *r)
{
	child_result(r, in_child(try_namespaces));
}

/* Makes a tracee that stops by its own request, as launch does. */
static int try_ptrace(void)
{
	int status, error = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(errno);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	if (WIFSTOPPED(status)) {
		if (ptrace(PTRACE_DETACH, pid, NULL, NULL))
			error = errno;
		waitpid(pid, &status, 0);
	}
	return error ? error : WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

void doctor_ptrace(struct doctor_result *r)
{
	cleanup_buf struct buf scope = {0};
	struct err ignored;

	child_result(r, in_child(try_ptrace));
	if (!read_file("/proc/sys/kernel/yama/ptrace_scope", &scope, &ignored) && scope.len)
		buf_addf(&r->found, ", yama scope %c", scope.data[0]);
	if (scope.len && scope.data[0] == '3')
		r->status = DOCTOR_MISSING;
}

void doctor_privileges(struct doctor_result *r)
{
	static const struct {
		int bit;
		const char *name;
	} caps[] = {
		{CAP_BIT_SYS_ADMIN, "CAP_SYS_ADMIN"},
		{CAP_BIT_SYS_PTRACE, "CAP_SYS_PTRACE"},
		{CAP_BIT_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE"},
	};
	uint64_t have = caps_effective();
	bool all = true;
	int error;

	buf_addf(&r->found, "user %u", geteuid());
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		int has = have >> caps[i].bit & 1;

		buf_addf(&r->found, ", %s%s", has ? "" : "no ", caps[i].name);
		all = all && has;
	}
	if (have >> CAP_BIT_SYS_ADMIN & 1) {
		if (!all)
			r->status = DOCTOR_MISSING;
		return;
	}
	error = in_child(try_user_namespace);
	buf_add_str(&r->found, error ? ", no user namespace: " : ", but user namespaces");
	if (!error)
		return;
	child_result(r, error);
	if (namespaces_setting()) {
		static char advice[128];

		snprintf(advice, sizeof(advice), "type as root: %s; or run fredctl as root", namespaces_setting());
		r->advice = advice;
	}
}

void doctor_clock(struct doctor_result *r)
{
	bool invariant = tsc_is_invariant(), source = tsc_is_clocksource();

	buf_addf(&r->found, "TSC %s, %s", invariant ? "invariant" : "not invariant",
		 source ? "a clock source of the kernel" : "no clock source of the kernel");
	if (!invariant || !source)
		r->status = DOCTOR_WARN;
	else
		buf_addf(&r->found, ", %.0f MHz", (double)tsc_hz() / 1e6);
}

void doctor_pmu(struct doctor_result *r)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		buf_addf(&r->found, "none (%s)", strerror(errno));
		return;
	}
	buf_add_str(&r->found, "available");
	close(fd);
}
