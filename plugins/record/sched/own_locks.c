/* SPDX-License-Identifier: MIT */
/*
 * own_locks.c: does the program have locks of its own?
 *
 * Rust's std, libgomp, GLib, InnoDB and others synchronise by atomic instructions and call the kernel (futex) only when
 * they must wait. Taking such a lock without a wait makes no event, so a parallel recording would not know the order.
 * Code that calls futex by itself is found in the text of the objects that are loaded, as
 *
 *	mov $202, %edi ... call syscall		in an object that imports syscall()
 *	mov $202, %eax ... syscall
 *
 * Locks of the program's own that never wait in the kernel are found by the loops in which it tries to take them
 * (spin.h).
 *
 * If such code is found, one thread runs at a time from the program's second thread on (gil.c). Code that is not found
 * in this way, such as generated code, is noticed at its first call of futex (sys_calls.c), perhaps late.
 *
 * A conservative garbage collector counts as such code, too: it has locks of its own, and stops the other threads at
 * any instruction to look for pointers on their stacks.
 */
#include "record/sched/own_locks.h"
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/dbt/spin.h"
#include "record/sched/gil.h"
#include "record/store/log.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define NEAR 64 /* bytes from the number to the instruction */

/* Libraries whose locks the recorder wraps. */
static const char *const wrapped[] = {"libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", RLOG_SHIM_NAME};
/* What libstdc++ has for its users, whose atomics are inlined: std::future and the like */
static const char atomic_futex[] = "_ZNSt28__atomic_futex_unsigned_base";
static const char collector[] = "libgc.so.";

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_collector(const char *path)
{
	return !strncmp(name_of(path), collector, sizeof(collector) - 1);
}

static int is_wrapped(const char *path)
{
	const char *name = name_of(path);

	for (unsigned i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++)
		if (!strcmp(name, wrapped[i]))
			return 1;
	return 0;
}

/*
 * Does the object import the symbol? Imported symbols come before the defined ones in the table, and only the latter
 * are hashed.
 */
static int imports(const struct link_map *m, const char *name, size_t n)
{
	const ElfW(Sym) *sym = 0;
	const uint32_t *hash = 0;
	const char *str = 0;

	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			str = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			hash = (const void *)d->d_un.d_ptr;
	}
	if (!sym || !str || !hash || (uint64_t)hash < m->l_addr)
		return 0;
	for (uint32_t i = 1; i < hash[1]; i++)
		if (sym[i].st_shndx == SHN_UNDEF && !strncmp(str + sym[i].st_name, name, n))
			return 1;
	return 0;
}

static int text_calls_futex(const uint8_t *p, const uint8_t *end, int by_function)
{
	static const uint8_t number[4] = {SYS_futex, 0, 0, 0};
	const uint8_t *start = p;

	for (; (p = memchr(p, SYS_futex, (size_t)(end - p))) != 0; p++) {
		if (p == start || end - p < NEAR + 2 || memcmp(p, number, 4))
			continue;
		if (by_function && p[-1] == 0xbf /* mov, %edi */)
			return 1;
		for (int i = 4; p[-1] == 0xb8 /* mov, %eax */ && i < NEAR; i++)
			if (p[i] == 0x0f && p[i + 1] == 0x05)
				return 1;
	}
	return 0;
}

static int object_has_locks(const struct link_map *m)
{
	int by_function = imports(m, "syscall", sizeof("syscall"));
	uint8_t head[4096];
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)head;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(head + sizeof(*eh));
	int fd = raw_open(*m->l_name ? m->l_name : "/proc/self/exe", O_RDONLY, 0);
	long n;

	if (fd < 0)
		return 0;
	n = raw4(SYS_pread64, fd, head, sizeof(head), 0);
	raw_close(fd);
	if (n < (long)sizeof(*eh) || eh->e_phoff != sizeof(*eh) ||
	    sizeof(*eh) + eh->e_phnum * sizeof(*ph) > (uint64_t)n)
		return 0;
	for (int i = 0; i < eh->e_phnum; i++) {
		const uint8_t *at = (const uint8_t *)(m->l_addr + ph[i].p_vaddr);

		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & (PF_X | PF_R)) == (PF_X | PF_R) &&
		    (text_calls_futex(at, at + ph[i].p_filesz, by_function) ||
		     (!*m->l_name && spin_in_text(at, at + ph[i].p_filesz))))
			return 1;
	}
	return 0;
}

static const char *find(void)
{
	static const struct link_map *seen; /* the last object of an earlier look */
	const struct link_map *m = seen ? seen->l_next : _r_debug.r_map;

	/* it may have been unloaded since: then looks from the start */
	for (const struct link_map *x = _r_debug.r_map; seen && x != seen; x = x->l_next)
		if (!x) {
			m = _r_debug.r_map;
			break;
		}
	for (; m; m = m->l_next) {
		seen = m;
		if (is_wrapped(m->l_name) || (uint64_t)m->l_ld < 4096)
			continue;
		if (is_collector(m->l_name) || object_has_locks(m) ||
		    imports(m, atomic_futex, sizeof(atomic_futex) - 1))
			return *m->l_name ? m->l_name : "the program";
	}
	return 0;
}

static void find_for(void *who)
{
	*(const char **)who = find();
}

void own_locks_look(struct thr *t)
{
	const char *who;
	char text[232], *p;

	if (G.mode == SHIM_REPLAY) {
		gil_start_replay(t);
		return;
	}
	if (G.mode != SHIM_RECORD || G.serial)
		return;
	if (G.control->malloc_mode == RLOG_MALLOC_SYSTEM) {
		note(RLOG_NOTE_CHOICE, 0, "one thread ran at a time, because of glibc's heap (--malloc system)");
		gil_start_now(t);
		return;
	}
	own_stack_call(t, find_for, &who);
	if (!who)
		return;
	p = fmt_str(text, text + sizeof(text), "one thread ran at a time, because of the locks of its own in ");
	fmt_str(p, text + sizeof(text), who);
	note(RLOG_NOTE_CHOICE, 0, text);
	gil_start_now(t);
}

/* Is pc in libc's text, whose locks make no events of their own, but not in its function syscall()? */
static int in_libc(uint64_t pc)
{
	static uint64_t lo, hi; /* lo is written last, since other threads read it */
	uint64_t fn = (uint64_t)REAL(syscall);

	if (!__atomic_load_n(&lo, __ATOMIC_ACQUIRE)) {
		const struct link_map *m = _r_debug.r_map;
		const Elf64_Ehdr *eh;
		const Elf64_Phdr *ph;

		while (m && !strstr(m->l_name, "/libc.so.6"))
			m = m->l_next;
		if (!m)
			return 0;
		eh = (const void *)m->l_addr;
		ph = (const void *)(m->l_addr + eh->e_phoff);
		for (int i = 0; i < eh->e_phnum; i++)
			if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
				hi = m->l_addr + ph[i].p_vaddr + ph[i].p_memsz;
				__atomic_store_n(&lo, m->l_addr + ph[i].p_vaddr, __ATOMIC_RELEASE);
			}
	}
	return pc >= lo && pc < hi && !(pc >= fn && pc < fn + NEAR);
}

void own_locks_futex(struct thr *t)
{
	char text[232], *p;

	/* in a replay as well: the next record may be another call's, by which serial recording starts later */
	if (!G.mt || in_libc(t->caller))
		return;
	if (G.mode == SHIM_REPLAY) {
		gil_start_replay(t);
		return;
	}
	p = fmt_str(text, text + sizeof(text), "one thread ran at a time from its own futex on, at ");
	describe_caller(t->caller, p, (unsigned)(text + sizeof(text) - p));
	note(RLOG_NOTE_CHOICE, 0, text);
	gil_start_now(t);
}
