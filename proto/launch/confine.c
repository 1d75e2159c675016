/* SPDX-License-Identifier: MIT */
/*
 * confine.c: see confine.h. A replaying process has two filters. The recorder's own traps the program's calls, and
 * comes before this one (seccomp(2): a trap has priority over an error). So this filter only refuses calls of the
 * recorder, or of a program that runs in its place. The list contains what a replay executes: the loader's calls, those
 * of syscalls.def that are made in both modes, the recorder's own, and harmless calls of functions that an expression
 * calls in a copy.
 */
#include "launch/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/calls.h"

#ifndef SYS_mseal /* Linux 6.10 */
#define SYS_mseal 462
#endif
#define OFFSET(field) ((uint32_t)offsetof(struct seccomp_data, field))

/* clang-format off */
static const uint16_t allowed[] = {
	/* memory */
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_brk, SYS_madvise, SYS_mincore, SYS_msync, SYS_mlock,
	SYS_mlock2, SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
	SYS_membarrier, SYS_remap_file_pages, SYS_mseal, SYS_arch_prctl, SYS_modify_ldt, SYS_personality,
	SYS_process_vm_readv, SYS_process_vm_writev, SYS_memfd_create,
	/* threads, processes, waiting */
	SYS_futex, SYS_futex_waitv, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_exit,
	SYS_exit_group, SYS_wait4, SYS_waitid, SYS_pidfd_open, SYS_set_tid_address, SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_rseq, SYS_gettid, SYS_getpid, SYS_getppid, SYS_getpgid, SYS_getpgrp, SYS_setpgid, SYS_getsid,
	SYS_setsid, SYS_prctl, SYS_seccomp, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity,
	SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
	SYS_getpriority, SYS_getcpu, SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_getrusage, SYS_times,
	SYS_pause, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_restart_syscall, SYS_capget, SYS_capset,
	/* signals */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_kill, SYS_tkill,
	SYS_tgkill,
	/* files: the root contains only those of the recording */
	SYS_open, SYS_openat, SYS_close, SYS_close_range, SYS_read, SYS_readv, SYS_pread64, SYS_preadv,
	SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_lseek, SYS_stat, SYS_lstat, SYS_fstat,
	SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_faccessat2,
	SYS_readlink, SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_getdents64, SYS_fcntl, SYS_dup,
	SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2, SYS_umask,
	/* the clock, and the process's own IDs */
	SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time,
	SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete,
	SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
	SYS_getresgid, SYS_getgroups, SYS_getitimer, SYS_setitimer, SYS_alarm,
	/* for confine_give_id: afterwards no process has another ID that it could change to */
	SYS_setresuid, SYS_setresgid, SYS_setfsuid,
};
/* clang-format on */

enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };
_Static_assert(ALLOWED + 16 < 256, "jumps of a filter have 8 bits");

int confine_before_root(void)
{
	/* if that file cannot be opened, the kernel chooses without it */
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (write(fd, "1000", 4) != 4) {
		close(fd);
		return -1;
	}
	return close(fd);
}

static int limit(int which, uint64_t n)
{
	struct rlimit now, r;

	if (getrlimit((__rlimit_resource_t)which, &now))
		return -1;
	r.rlim_cur = r.rlim_max = n < now.rlim_max ? n : now.rlim_max;
	return setrlimit((__rlimit_resource_t)which, &r);
}

#define BIT(cap) (1ull << (cap))

/* Capabilities that stay; those of the second set only until confine_give_id has used them. */
static const uint64_t kept = BIT(CAP_CHECKPOINT_RESTORE),
		      kept_until_exec = BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP);

static int drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct now[2], set[2] = {{0}};

	/*
	 * if this is not allowed (CAP_SETPCAP), no_new_privs has to suffice: then no exec gives a capability that was
	 * not permitted before
	 */
	for (unsigned long cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EPERM)
			return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || syscall(SYS_capget, &head, now))
		return -1;
	for (unsigned i = 0; i < 2; i++)
		set[i].permitted = set[i].effective = now[i].permitted & (uint32_t)(keep >> (32 * i));
	return (int)syscall(SYS_capset, &head, set);
}

/*
 * Allows a thread of a replay to have the kernel count how often it passes an address
 * (plugins/record/preempt/point.c).
 */
static unsigned add_own_counter(struct sock_filter *f)
{
	const struct sock_filter own_thread[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(args[1])), /* of which process */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(args[2])), /* on which processor */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(f, own_thread, sizeof(own_thread));
	return sizeof(own_thread) / sizeof(own_thread[0]);
}

/* Refuses a call if its argument has this value (`only`: if it has another one). */
static unsigned add_if(struct sock_filter *f, uint32_t nr, unsigned argument, uint32_t value, bool only)
{
	const struct sock_filter check[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(args) + 8 * argument),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, only, !only),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(nr)),
	};

	memcpy(f, check, sizeof(check));
	return sizeof(check) / sizeof(check[0]);
}

/* Refuses what a process could do to other processes of its user that are in its PID namespace. */
static unsigned add_others(struct sock_filter *f)
{
	const uint32_t signals[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};
	unsigned n = add_if(f, SYS_prlimit64, 0, 0, true);

	n += add_if(f + n, SYS_sched_setaffinity, 0, 0, true);
	n += add_if(f + n, SYS_fcntl, 1, F_SETOWN, false);
	n += add_if(f + n, SYS_fcntl, 1, F_SETOWN_EX, false);
	if (landlock_version() >= LANDLOCK_SIGNALS)
		return n;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		n += add_if(f + n, signals[i], 0, (uint32_t)getpid(), true);
	return n + add_if(f + n, SYS_tkill, 0, (uint32_t)getpid(), true);
}

static int install_filter(const struct launch_confine *c)
{
	/* the number of instructions of add_own_counter with the refusal, and of add_others */
	enum { AFTER = 7, OTHERS = 5 * 9 };
	struct sock_filter f[ALLOWED + 16 + OTHERS];
	struct sock_fprog prog = {.filter = f};
	unsigned n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(arch));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(nr));
	if (c->paths)
		n += add_others(f + n);
	for (unsigned i = 0; i < ALLOWED; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
						      (uint8_t)(ALLOWED - 1 - i + AFTER), 0);
	n += add_own_counter(f + n);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (uint16_t)n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

/* The exec is also made as file_uid: other users may not be allowed to execute the copy of the program. */
static int become_file_user(const struct launch_confine *c)
{
	return setgroups(0, NULL) || syscall(SYS_setfsuid, c->file_uid) < 0 ? -1 : 0;
}

int confine_self(const struct launch_confine *c)
{
	/* 1, not 0: a program that takes core dumps (core(5)) is started at 0 */
	if (limit(RLIMIT_CORE, 1) || limit(RLIMIT_FSIZE, c->file_size) || limit(RLIMIT_NPROC, c->processes) ||
	    limit(RLIMIT_MSGQUEUE, 0) || limit(RLIMIT_RTPRIO, 0))
		return -1;
	if (drop_capabilities(kept | (c->own_id ? kept_until_exec : 0)) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (c->own_id && become_file_user(c))
		return -1;
	if (c->paths && (prctl(PR_SET_PDEATHSIG, SIGKILL) || landlock_self(c->paths)))
		return -1;
	return c->filter ? install_filter(c) : 0;
}

bool confine_may_change_id(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint64_t needed = kept_until_exec | BIT(CAP_KILL) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_NICE);
	struct __user_cap_data_struct now[2];

	return !geteuid() && !syscall(SYS_capget, &head, now) &&
	       !(needed & ~(now[0].effective | (uint64_t)now[1].effective << 32));
}

#define SET(caps)                                                                                                      \
	{                                                                                                              \
		{.effective = (uint32_t)(caps), .permitted = (uint32_t)(caps)},                                        \
		{                                                                                                      \
			.effective = (uint32_t)((caps) >> 32), .permitted = (uint32_t)((caps) >> 32)                   \
		}                                                                                                      \
	}

/*
 * When a process gets another user ID, it loses its effective capabilities; the permitted ones stay if it has asked for
 * that (credentials(7)).
 */
const char *confine_give_id(pid_t pid, bool placed, const struct launch_confine *c)
{
	static const struct {
		struct __user_cap_header_struct head;
		struct __user_cap_data_struct between[2], at_last[2];
	} caps = {
		.head = {.version = _LINUX_CAPABILITY_VERSION_3},
		.between = SET(BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SETUID)),
		.at_last = SET(BIT(CAP_CHECKPOINT_RESTORE)),
	};
	const uint64_t head = offsetof(typeof(caps), head);
	const struct place_one calls[] = {
		{SYS_setresgid, {c->own_id, c->own_id, c->own_id}, 0},
		{SYS_prctl, {PR_CAPBSET_DROP, CAP_SETUID}, 0},
		{SYS_prctl, {PR_CAPBSET_DROP, CAP_SETGID}, 0},
		{SYS_prctl, {PR_CAPBSET_DROP, CAP_SETPCAP}, 0},
		{SYS_prctl, {PR_SET_KEEPCAPS, 1}, 0},
		{SYS_setresuid, {c->own_id, c->own_id, c->own_id}, 0},
		{SYS_prctl, {PR_SET_KEEPCAPS, 0}, 0},
		{SYS_capset, {head, offsetof(typeof(caps), between)}, 3},
		{SYS_setfsuid, {c->file_uid}, 0},
		{SYS_capset, {head, offsetof(typeof(caps), at_last)}, 3},
		/*
		 * its files in /proc belong to root, as they would without this call; CRIU could not restore the value
		 * 2 (proc(5))
		 */
		{SYS_prctl, {PR_SET_DUMPABLE, 0}, 0},
		/* a change of IDs has cleared this setting; needed only without namespaces (confine_self) */
		{SYS_prctl, {PR_SET_PDEATHSIG, SIGKILL}, 0},
	};
	const size_t n = sizeof(calls) / sizeof(calls[0]) - !c->paths;

	return place_calls(pid, !placed, calls, n, &caps, sizeof(caps));
}
