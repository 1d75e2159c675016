/* SPDX-License-Identifier: MIT */
/* memory.c: is memory of the program, which the recorder is about to read, mapped? */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/util.h"

#include <elf.h>
#include <sys/auxv.h>

int sys_plain_memory(const void *p)
{
	uintptr_t a = (uintptr_t)p, here = (uintptr_t)__builtin_frame_address(0);

	return (a >= SHIM_HEAP_MAIN_ADDR && a < SHIM_STACK_ADDR + (RLOG_MAX_THREADS << 26ull)) || a - here < (1u << 16);
}

/* The program's own text and constants, up to the first piece that it can write to. Its file cannot be cut while it
 * runs. */
static struct {
	uintptr_t lo, hi;
} constants;

void sys_data_init(void)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	uint64_t n = getauxval(AT_PHNUM), bias;

	if (image_bias(p, n, &bias))
		return;
	for (uint64_t i = 0; i < n; i++) {
		uintptr_t at = bias + p[i].p_vaddr;

		if (p[i].p_type != PT_LOAD)
			continue;
		if ((p[i].p_flags & (PF_R | PF_W)) != PF_R || (constants.hi && (at & ~4095ull) != constants.hi))
			return;
		if (!constants.lo)
			constants.lo = at;
		constants.hi = (at + p[i].p_filesz + 4095) & ~4095ull;
	}
}

/*
 * Can the word be read? The kernel reads the new mask first, and then rejects the invalid `how`. This takes a tenth of
 * the time of process_vm_readv(2).
 */
static int is_word(uintptr_t a)
{
	return raw4(SYS_rt_sigprocmask, ~0l, a & ~7ull, 0, 8) != -14 /* EFAULT */;
}

int sys_mapped(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p, last = a + n - 1;

	if (!p || !n || a < 4096 || last < a)
		return 0;
	if (a >= constants.lo && last < constants.hi)
		return 1;
	for (; a <= last; a = (a & ~4095ull) + 4096)
		if (!is_word(a))
			return 0;
	return 1;
}

/* Memory that the kernel would reject must not crash the recorder: such a call fails with EFAULT by itself. */
int sys_readable(const void *p, size_t n)
{
	return (n && (uintptr_t)p + n > (uintptr_t)p && sys_plain_memory(p)) || sys_mapped(p, n);
}
