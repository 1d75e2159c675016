/* SPDX-License-Identifier: MIT */
/*
 * launch.h: starts a program so that each start of it is the same: fixed addresses, fixed
 * AT_RANDOM bytes, no vDSO. Recording and replay use the same code. Afterwards the program is an
 * ordinary child of the caller, and not traced unless that was asked for.
 */
#ifndef FRED_LAUNCH_LAUNCH_H
#define FRED_LAUNCH_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/confine.h"
#include "launch/files.h"
#include "launch/fix_auxv.h"
#include "launch/objects.h"

/* How programs in a container can get user namespaces with a /proc of their own, for messages. */
#define LAUNCH_CONTAINER                                                                                               \
	"docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined; with AppArmor, "          \
	"--security-opt apparmor=unconfined too"

/* A descriptor of the caller's, and its number in the program. */
struct launch_fd {
	int fd, as;
};

struct launch_spec {
	const char *path; /* as given to execve: no search; also AT_EXECFN. Relative to cwd */
	char *const *argv, *const *envp; /* NULL-terminated */
	const char *cwd; /* NULL: the caller's; inside root if there is one */
	const char *root; /* chroot; NULL: none. path is inside */
	const struct launch_files *files; /* the program's files, instead of a root; cwd is in there. NULL: none */
	const struct launch_confine *confine; /* restrictions; NULL: the program may do what the caller may */
	/* soft RLIMIT_STACK in bytes, ~0: unlimited, 0: unchanged. It determines where mappings are */
	uint64_t stack_limit;
	int want_pid; /* 0: any; else this PID (needs CAP_CHECKPOINT_RESTORE) */
	/*
	 * if there are any, the program has only these (so 0, 1 and 2 must be among them to be kept); each fd is larger
	 * than all `as`
	 */
	const struct launch_fd *fds;
	unsigned nfds;
	/*
	 * 0: the kernel's addresses without randomisation; if that cannot be switched off, those of place.h. Else the
	 * addresses of a recording, whose place_top_of() was this.
	 */
	uint64_t top;
	int null_stdio; /* 0, 1 and 2 become /dev/null, all other descriptors are closed */
	int new_session; /* setsid */
	/*
	 * 0: ignored signals and the signal mask are the caller's; 1: all signals have their default, and none is
	 * blocked. The caller's handlers never run in the child.
	 */
	int default_signals;
	const struct launch_ids *ids; /* the IDs that its auxiliary vector shows; NULL: the kernel's */
	const struct launch_object *objects; /* files that the linker is to map at given addresses: see objects.h */
	unsigned nobjects;
	/* the program stays in its exec stop, traced by the caller, which resumes it; it dies with the caller */
	int hold;
	int own_group; /* it leads a process group of its own */
	/*
	 * it may run on all processors, even if the caller may not: an allocator may count them before the recorder
	 * starts
	 */
	int every_cpu;
};

/*
 * Starts the program; *pid is the caller's child, which has just left its exec stop (or stands in it). On failure
 * nothing is left behind. A path that cannot be executed is ERR_USAGE, "PATH: reason"; what the
 * host refuses (a PID that is taken, no ptrace) is ERR_HOST. The caller must not reap *pid's exit
 * before this returns.
 */
int launch_program(const struct launch_spec *s, pid_t *pid, struct err *e);
/*
 * A program that launch_program has started with top 0 has executed another program: pid stands in that exec stop, and
 * is traced by the caller. Gives the new program the same kind of addresses, and stack_limit. ERR_HOST: nothing was
 * moved.
 */
int launch_executed(pid_t pid, uint64_t stack_limit, struct err *e);

#endif
