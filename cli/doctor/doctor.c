/* SPDX-License-Identifier: MIT */
/* doctor.c: the table of checks. Recording needs the first ones only; replaying needs all. */
#include "doctor/doctor.h"

#include "launch/launch.h"

static const struct doctor_check checks[] = {
	{"kernel", "Linux 5.16 or later on x86-64: replays wait by futex_waitv (5.11 is enough to record)",
	 "use a newer kernel", doctor_kernel},
	{"recorder", "libfred-record.so, which records from inside the program",
	 "build it: scripts/setup, or install fred", doctor_shim},
	{"user-dispatch", "Syscall User Dispatch: records system calls that have no wrapper",
	 "use a kernel of 5.11 or later with CONFIG_GENERIC_ENTRY", doctor_user_dispatch},
	{"seccomp", "seccomp filters: replay of system calls that have no wrapper",
	 "use a kernel with CONFIG_SECCOMP_FILTER; in a container, allow seccomp(2)", doctor_seccomp},
	{"ptrace", "ptrace: starting programs without address randomisation, and GDB",
	 "in a container, allow ptrace (docker run --cap-add=SYS_PTRACE)", doctor_ptrace},
	{"addresses", "fixed addresses: the same in each replay",
	 "in a container, type: docker run --security-opt seccomp=unconfined", doctor_addresses},
	{"clone3", "clone3: threads of a replay with their recorded IDs", "nothing to do: recording uses clone instead",
	 doctor_clone3},
	{"clock", "time stamps by rdtsc", "nothing to do: a shared counter is used instead", doctor_clock},
	{"privileges",
	 "user namespaces, or CAP_SYS_ADMIN, CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE: namespaces, and CRIU",
	 "allow user namespaces (as root, on Debian: sysctl kernel.unprivileged_userns_clone=1; on Ubuntu: sysctl "
	 "kernel.apparmor_restrict_unprivileged_userns=0), or run fredctl as root; in a container: " LAUNCH_CONTAINER,
	 doctor_privileges},
	{"namespaces", "pid, mount, net and ipc namespaces: each replay runs in its own", "as for privileges",
	 doctor_namespaces},
	{"fifo", "SCHED_FIFO: keeps the other threads of a replay from running, without a system call for each",
	 "nothing to do: without it, replays take longer", doctor_fifo},
	{"perf", "perf_event_open: counts passes of an address with a breakpoint instead of by single steps",
	 "nothing to do: steps take longer; on a host, type: sysctl kernel.perf_event_paranoid=2", doctor_perf},
	{"daemon", "fredd, which replays and searches", "build it: scripts/setup, or install fred", doctor_daemon},
	{"gdb", "GDB: evaluates expressions and shows stacks", "install the package gdb", doctor_gdb},
	{"criu", "CRIU 4.1 or later: checkpoints", "run scripts/setup, which builds one, or set FRED_CRIU",
	 doctor_criu},
	{"criu-check", "CRIU works with this kernel", "use a newer CRIU: scripts/setup builds one; run as root",
	 doctor_criu_check},
	{"checkpoint",
	 "a dump and a restore: with checkpoints a search need not replay from the program's start each time",
	 "as for criu-check; without checkpoints everything works, but takes longer", doctor_checkpoint},
	{"home", "$FRED_HOME: recordings, log and socket of the daemon",
	 "set FRED_HOME to a folder of yours on a disk with free space", doctor_home},
	{"tier", "what works here as a whole: without namespaces, replays are limited",
	 "as for privileges; or fredctl pack, and replay on another host", doctor_tier},
	{"pmu", "hardware counters: fred does not need them (rr does)", "nothing to do", doctor_pmu},
	{0},
};

const struct doctor_check *doctor_checks(void)
{
	return checks;
}

const char *doctor_status_name(enum doctor_status s)
{
	static const char *const names[] = {"ok", "warn", "missing"};

	return names[s];
}
