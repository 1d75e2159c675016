/* SPDX-License-Identifier: MIT */
/*
 * xstate.c: preloaded into the GDB that evaluates expressions, which is Debian's, unmodified.
 *
 * GDB before 14 has room for 2,696 bytes of a thread's extended registers. A processor with more of them, as one with
 * AMX has (11,008 bytes), gives GDB as many as it asks for; but the kernel takes them back only as a whole (ptrace(2),
 * PTRACE_SETREGSET, NT_X86_XSTATE: EFAULT), and GDB says "Couldn't write extended state status" to whatever sets
 * registers, as calls into the program do. Here, what GDB does not know of is written back as it is.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define WHOLE_MAX 65536

typedef long (*ptrace_fn)(enum __ptrace_request request, ...);

static ptrace_fn real_ptrace(void)
{
	static ptrace_fn real;

	if (!real)
		real = (ptrace_fn)dlsym(RTLD_NEXT, "ptrace");
	return real;
}

static long set_whole(pid_t pid, void *type, const struct iovec *part)
{
	unsigned char whole[WHOLE_MAX];
	struct iovec all = {whole, sizeof(whole)};

	if (real_ptrace()(PTRACE_GETREGSET, pid, type, &all))
		return -1;
	memcpy(whole, part->iov_base, part->iov_len < all.iov_len ? part->iov_len : all.iov_len);
	return real_ptrace()(PTRACE_SETREGSET, pid, type, &all);
}

__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...)
{
	void *addr, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_SETREGSET && (long)addr == NT_X86_XSTATE && data)
		return set_whole(pid, addr, data);
	return real_ptrace()(request, pid, addr, data);
}

/* What GDB starts is not concerned. */
__attribute__((constructor)) static void only_here(void)
{
	unsetenv("LD_PRELOAD");
}
