/* SPDX-License-Identifier: MIT */
/*
 * vdso.c: recording: reads the clock without a system call. The vDSO is hidden from libc, so that reading the clock is
 * an event (launch/fix_auxv.h); the recorder itself uses the vDSO to make that event. See vdso(7).
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/input/input.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

enum { VDSO_CLOCK, VDSO_DAY, VDSO_TIME, VDSO_CALLS };

static const struct {
	const char *name;
	long nr;
} calls[VDSO_CALLS] = {
	[VDSO_CLOCK] = {"__vdso_clock_gettime", SYS_clock_gettime},
	[VDSO_DAY] = {"__vdso_gettimeofday", SYS_gettimeofday},
	[VDSO_TIME] = {"__vdso_time", SYS_time},
};
static long (*found[VDSO_CALLS])(long, long);

/* Where the auxiliary vector had its header, before the type was overwritten. */
Elf64_auxv_t *vdso_entry(char **envp)
{
	Elf64_auxv_t *av;
	Elf64_Ehdr h;
	struct iovec l = {&h, sizeof(h)}, r = {0, sizeof(h)};

	while (*envp)
		envp++;
	for (av = (Elf64_auxv_t *)(envp + 1); av->a_type; av++) {
		r.iov_base = (void *)av->a_un.a_val;
		if (av->a_type == AT_IGNORE && av->a_un.a_val &&
		    raw6(SYS_process_vm_readv, G.pid, (long)&l, 1, (long)&r, 1, 0) == sizeof(h) &&
		    !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_type == ET_DYN)
			return av;
	}
	return 0;
}

static const void *dynamic(const char *base, const Elf64_Ehdr *eh, int64_t tag)
{
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_DYNAMIC)
			continue;
		for (const Elf64_Dyn *d = (const Elf64_Dyn *)(base + ph[i].p_offset); d->d_tag; d++)
			if (d->d_tag == tag)
				return base + d->d_un.d_ptr;
	}
	return 0;
}

void vdso_init(char **envp)
{
	const Elf64_auxv_t *entry = vdso_entry(envp);
	const Elf64_Ehdr *eh = entry ? (const Elf64_Ehdr *)entry->a_un.a_val : 0;
	const char *base = (const char *)eh, *names;
	const Elf64_Sym *sym;
	const uint32_t *hash;

	if (!eh)
		return;
	sym = dynamic(base, eh, DT_SYMTAB);
	names = dynamic(base, eh, DT_STRTAB);
	hash = dynamic(base, eh, DT_HASH); /* its second word: how many symbols */
	for (uint32_t i = 0; sym && names && hash && i < hash[1]; i++)
		for (int k = 0; k < VDSO_CALLS; k++)
			if (sym[i].st_shndx && !strcmp(names + sym[i].st_name, calls[k].name))
				found[k] = (long (*)(long, long))(base + sym[i].st_value);
}

/*
 * The vDSO's function writes directly, and would crash where the kernel returns EFAULT: it is used only for memory
 * that certainly exists.
 */
static int there(long p)
{
	return !p || sys_plain_memory((void *)p);
}

int vdso_call(long nr, const long *a, long *ret)
{
	/* it reads the TSC, which would fault (tsc.c) */
	if (unlikely(G.no_tsc))
		return 0;
	for (int k = 0; k < VDSO_CALLS; k++) {
		if (nr != calls[k].nr)
			continue;
		if (!found[k] || !there(k == VDSO_CLOCK ? a[1] : a[0]) || (k == VDSO_DAY && a[1]) ||
		    (k == VDSO_CLOCK && !a[1]))
			return 0;
		*ret = found[k](a[0], a[1]);
		return 1;
	}
	return 0;
}
