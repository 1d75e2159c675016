/* SPDX-License-Identifier: MIT */
/*
 * fix_auxv.c: rewrites a fresh process's auxiliary vector on its stack. At the exec stop the stack
 * pointer is at argc; argv, NULL, the environment, NULL and the vector follow (System V ABI 3.4.1).
 */
#include "launch/fix_auxv.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "launch/auxv.h"

/* x86-64's __USER_CS; a 32-bit program runs with another one. */
#define CS_USER_64 0x33

struct remote {
	pid_t pid;
	uint64_t chunk_at; /* address of chunk[0]; 0: none read */
	unsigned chunk_n;
	uint64_t chunk[256];
};

static int remote_write(pid_t pid, uint64_t at, const void *data, size_t len, struct err *e)
{
	struct iovec local = {.iov_base = (void *)data, .iov_len = len};
	struct iovec there = {.iov_base = (void *)(uintptr_t)at, .iov_len = len};

	if (process_vm_writev(pid, &local, 1, &there, 1, 0) != (ssize_t)len)
		return err_errno(e, ERR_HOST, "cannot write to the new process at %#lx", (unsigned long)at);
	return 0;
}

/* Reads the word at `at`. Reads ahead, but not beyond the page, since the next one may be missing. */
static int remote_word(struct remote *r, uint64_t at, uint64_t *word, struct err *e)
{
	uint64_t index = (at - r->chunk_at) / 8;
	struct iovec local, there;
	ssize_t n;

	if (!r->chunk_at || at < r->chunk_at || index >= r->chunk_n) {
		size_t len = sizeof(r->chunk), page_left = 4096 - at % 4096;

		if (len > page_left)
			len = page_left;
		local = (struct iovec){.iov_base = r->chunk, .iov_len = len};
		there = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = len};
		n = process_vm_readv(r->pid, &local, 1, &there, 1, 0);
		if (n < 8)
			return err_errno(e, ERR_HOST, "cannot read the new process's stack at %#lx", (unsigned long)at);
		r->chunk_at = at;
		r->chunk_n = (unsigned)n / 8;
		index = 0;
	}
	*word = r->chunk[index];
	return 0;
}

/* Moves *at behind the next NULL word. */
static int skip_strings(struct remote *r, uint64_t *at, struct err *e)
{
	uint64_t word;

	do {
		if (remote_word(r, *at, &word, e))
			return -1;
		*at += 8;
	} while (word);
	return 0;
}

static int stack_pointer(pid_t pid, uint64_t *sp, struct err *e)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return err_errno(e, ERR_HOST, "cannot read the new process's registers");
	if (regs.cs != CS_USER_64)
		return err_set(e, ERR_HOST, "not a 64-bit program");
	*sp = regs.rsp;
	return 0;
}

/* The value that the vector is to have for this type; NULL: it is not changed. */
static const uint64_t *id_of(const struct launch_ids *ids, uint64_t type)
{
	static const struct {
		uint64_t type;
		size_t at;
	} known[] = {{AT_UID, offsetof(struct launch_ids, uid)},
		     {AT_EUID, offsetof(struct launch_ids, euid)},
		     {AT_GID, offsetof(struct launch_ids, gid)},
		     {AT_EGID, offsetof(struct launch_ids, egid)}};

	for (unsigned i = 0; ids && i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return (const uint64_t *)((const char *)ids + known[i].at);
	return NULL;
}

int launch_fix_auxv(pid_t pid, const struct launch_ids *ids, struct err *e)
{
	static const uint8_t bytes[LAUNCH_AT_RANDOM_LEN] = LAUNCH_AT_RANDOM_BYTES;
	const uint64_t ignore = AT_IGNORE;
	struct remote r = {.pid = pid};
	uint64_t at = 0, type = 0, value = 0;
	const uint64_t *id;

	if (stack_pointer(pid, &at, e))
		return -1;
	at += 8;
	if (skip_strings(&r, &at, e) || skip_strings(&r, &at, e))
		return -1;
	for (;; at += 16) {
		if (remote_word(&r, at, &type, e) || remote_word(&r, at + 8, &value, e))
			return -1;
		if (type == AT_NULL)
			return 0;
		if (type == AT_RANDOM && remote_write(pid, value, bytes, sizeof(bytes), e))
			return -1;
		id = id_of(ids, type);
		if (id && remote_write(pid, at + 8, id, sizeof(*id), e))
			return -1;
		if (type == AT_SYSINFO_EHDR && remote_write(pid, at, &ignore, sizeof(ignore), e))
			return -1;
	}
}
