/* SPDX-License-Identifier: MIT */
/* objects.c: see objects.h: the addresses of the linker's calls of mmap are changed, as a tracer can (ptrace(2)). */
#include "launch/objects.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/maps.h"

#define OPTIONS (PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */
#define SYSCALL_BYTES 2u /* the length of the instruction */
#define NO_REPLACE 0x100000u /* MAP_FIXED_NOREPLACE */

struct linker_run {
	pid_t pid;
	struct mapping linker; /* its code */
	const struct launch_files *files;
	bool placed; /* the arguments of the present call of mmap were changed */
	struct user_regs_struct were; /* the registers before that */
	bool led; /* the path of the present call was changed */
	struct files_call call;
};

/* Runs to the next entry or exit of a system call. Returns as launch_place_objects. */
static int next_stop(pid_t pid, struct err *e)
{
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, sig) && errno != ESRCH)
			return err_errno(e, ERR_HOST, "cannot trace a new process");
		while (waitpid(pid, &status, __WALL) < 0)
			if (errno != EINTR)
				return err_errno(e, ERR_INTERNAL, "waiting for a new process");
		if (WIFSIGNALED(status))
			err_set(e, WTERMSIG(status) == SIGKILL ? ERR_KILLED : ERR_INTERNAL,
				"killed by signal %d (%s) in the dynamic linker", WTERMSIG(status),
				strsignal(WTERMSIG(status)));
		else if (WIFEXITED(status))
			err_set(e, ERR_INTERNAL, "exited with %d in the dynamic linker", WEXITSTATUS(status));
		if (!WIFSTOPPED(status))
			return 1;
		if (WSTOPSIG(status) == CALL_STOP)
			return 0;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

static const struct launch_object *object_of(pid_t pid, int fd, const struct launch_object *v, unsigned n)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	if (stat(path, &st))
		return NULL;
	for (unsigned i = 0; i < n; i++)
		if (v[i].dev == st.st_dev && v[i].ino == st.st_ino)
			return &v[i];
	return NULL;
}

static int get_registers(pid_t pid, struct user_regs_struct *r, struct err *e)
{
	return ptrace(PTRACE_GETREGS, pid, 0, r) ? err_errno(e, ERR_HOST, "cannot read a new process's registers") : 0;
}

static int set_registers(pid_t pid, struct user_regs_struct *r, struct err *e)
{
	return ptrace(PTRACE_SETREGS, pid, 0, r) ? err_errno(e, ERR_HOST, "cannot set a new process's registers") : 0;
}

/* mmap(address, length, protection, flags, descriptor, offset) */
static void place_mapping(struct linker_run *f, const struct launch_object *v, unsigned n, struct user_regs_struct *r)
{
	const struct launch_object *o = NULL;

	if (!(r->r10 & (MAP_FIXED | MAP_ANONYMOUS)))
		o = object_of(f->pid, (int)r->r8, v, n);
	if (!o)
		return;
	f->were = *r;
	f->placed = true;
	r->rdi = o->at;
	r->r10 |= NO_REPLACE;
}

static int at_entry(struct linker_run *f, const struct launch_object *v, unsigned n, bool again, struct err *e)
{
	struct user_regs_struct r;
	int led;

	if (get_registers(f->pid, &r, e))
		return -1;
	if (r.orig_rax == SYS_mmap && !again)
		place_mapping(f, v, n, &r);
	led = f->files ? files_enter(f->pid, f->files, &r, &f->call, e) : 0;
	f->led = led > 0;
	return led < 0 || ((f->placed || f->led) && set_registers(f->pid, &r, e)) ? -1 : 0;
}

/*
 * A call leaves its arguments' registers unchanged. If there was no room at the address, the original call is made
 * instead.
 */
static void leave_mapping(struct linker_run *f, struct user_regs_struct *r, bool *again)
{
	f->placed = false;
	r->rdi = f->were.rdi;
	r->r10 = f->were.r10;
	if ((int64_t)r->rax == -EEXIST) {
		*again = true;
		r->rax = SYS_mmap;
		r->rip -= SYSCALL_BYTES;
	}
}

static int at_exit(struct linker_run *f, bool *again, struct err *e)
{
	bool changed = f->placed || f->led;
	struct user_regs_struct r;

	*again = false;
	if (!changed && !f->files)
		return 0;
	if (get_registers(f->pid, &r, e))
		return -1;
	if (f->placed)
		leave_mapping(f, &r, again);
	if (f->led && files_leave(f->pid, &f->call, e))
		return -1;
	if (f->led) {
		r.rdi = f->call.were.rdi;
		r.rsi = f->call.were.rsi;
	}
	f->led = false;
	if (f->files && (int64_t)r.rax >= 0 && !*again && files_tell(f->pid, f->files, &r, &changed, e))
		return -1;
	return changed ? set_registers(f->pid, &r, e) : 0;
}

/* Runs up to the first call that is not the linker's. Returns as launch_place_objects. */
static int follow_linker(struct linker_run *f, const struct launch_object *v, unsigned n, struct err *e)
{
	bool again = false;

	for (;;) {
		struct __ptrace_syscall_info i;
		int r = next_stop(f->pid, e);

		if (r)
			return r;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, f->pid, sizeof(i), &i) < 0)
			return err_errno(e, ERR_HOST, "cannot see a new process's system calls");
		if (i.op == PTRACE_SYSCALL_INFO_EXIT && at_exit(f, &again, e))
			return -1;
		if (i.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (!mapping_has(&f->linker, i.instruction_pointer))
			return 0;
		if (at_entry(f, v, n, again, e))
			return -1;
	}
}

static int set_options(pid_t pid, long options, struct err *e)
{
	return ptrace(PTRACE_SETOPTIONS, pid, 0, options) ? err_errno(e, ERR_HOST, "cannot trace a new process") : 0;
}

int launch_place_objects(pid_t pid, const struct launch_object *v, unsigned n, const struct launch_files *files,
			 struct err *e)
{
	cleanup_free struct linker_run *f = xcalloc(1, sizeof(*f)); /* a path is in it */
	struct user_regs_struct r;
	int ret;

	f->pid = pid;
	f->files = files;
	if (get_registers(pid, &r, e))
		return -1;
	if (!maps_find(pid, r.rip, &f->linker))
		return err_set(e, ERR_HOST, "cannot see where the dynamic linker is (/proc/%d/maps)", (int)pid);
	if (set_options(pid, OPTIONS | PTRACE_O_TRACESYSGOOD, e))
		return -1;
	ret = follow_linker(f, v, n, e);
	return ret ? ret : set_options(pid, OPTIONS, e);
}
