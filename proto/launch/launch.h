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

/* What lets a container's programs have user namespaces with a /proc of their own, for messages. */
#define LAUNCH_CONTAINER                                                                                               \
	"docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined; with AppArmor, "          \
	"--security-opt apparmor=unconfined too"

/* A descriptor of the caller's, and which number the program has it by. */
struct launch_fd {
	int fd, as;
};

struct launch_spec {
	const char *path; /* as given to execve: no search; also AT_EXECFN. Relative to cwd */
	char *const *argv, *const *envp; /* NULL-terminated */
	const char *cwd; /* NULL: the caller's; inside root if there is one */
	const char *root; /* chroot; NULL: none. path is inside */
	const struct launch_files *files; /* the program's files, in the place of a root; cwd is theirs. NULL: none */
	const struct launch_confine *confine; /* what it may do; NULL: what the caller may */
	uint64_t stack_limit; /* soft RLIMIT_STACK in bytes, ~0: unlimited, 0: keep. It places mappings */
	int want_pid; /* 0: any; else this PID (needs CAP_CHECKPOINT_RESTORE) */
	const struct launch_fd *fds; /* if there are any: the program has these, and 0, 1 and 2 only if they are among
					them; fd is larger than all `as` */
	unsigned nfds;
	/*
	 * 0: at the kernel's addresses without randomisation; where it cannot be turned off, at those of place.h. Else
	 * as in a recording: what place_top_of() says of its recorder.
	 */
	uint64_t top;
	int null_stdio; /* 0, 1 and 2 become /dev/null, all other descriptors are closed */
	int new_session; /* setsid */
	/*
	 * 0: ignored signals and the signal mask stay as the caller has them; 1: all default, none
	 * blocked. The caller's handlers never run in the child.
	 */
	int default_signals;
	const struct launch_ids *ids; /* the IDs that its auxiliary vector shows; NULL: the kernel's */
	const struct launch_object *objects; /* files to be mapped at given addresses by the linker: see objects.h */
	unsigned nobjects;
	int hold; /* it stays in its exec stop, traced by the caller, which lets it go; it dies with the caller */
	int own_group; /* it leads a process group of its own */
	int every_cpu; /* it may run on all processors, whatever the caller is bound to: an allocator may count them
			  before the recorder starts */
};

/*
 * Starts the program; *pid is the caller's child, which has just left its exec stop (or stands in it). On failure
 * nothing is left behind. A path that cannot be executed is ERR_USAGE, "PATH: reason"; what the
 * host refuses (a PID that is taken, no ptrace) is ERR_HOST. The caller must not reap *pid's exit
 * before this returns.
 */
int launch_program(const struct launch_spec *s, pid_t *pid, struct err *e);
/*
 * pid is traced by the caller and stands in the exec stop of another program, which a program that launch_program
 * started with top 0 has executed: gives it addresses as that one has, and stack_limit. ERR_HOST: it stands where it
 * was.
 */
int launch_executed(pid_t pid, uint64_t stack_limit, struct err *e);

#endif
