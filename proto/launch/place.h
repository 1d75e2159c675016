/* SPDX-License-Identifier: MIT */
/*
 * place.h: fixed addresses without personality(ADDR_NO_RANDOMIZE), which containers refuse. Freestanding: the recorder
 * includes it too, for the programs that a program executes.
 *
 * At the exec stop, the tracer has the new image move itself (mremap), says where its parts are now (PR_SET_MM_MAP,
 * which needs no rights), and writes the stack's table of arguments anew, without the kernel's random distance. New
 * mappings get addresses below the kernel's mmap_base, which nobody can set: a PROT_NONE mapping from a fixed address,
 * the top, to above all values that it may have, makes them begin below the top.
 *
 *     0x555555554000      the program, if it is position-independent; after it the heap of brk
 *     ... top             the dynamic loader, and below it all that is mapped without an address
 *     top ...             the vDSO and its data: their size, which depends on the kernel, places nothing else
 *     ... end             PROT_NONE
 *     ... 0x7ffffffff000  the stack, as the kernel lays it out without randomisation
 *
 * The top depends on vm.mmap_rnd_bits and is a multiple of 1 TiB; the recorder's own address tells it (place_top_of). A
 * replay places at the same top, whether its host refuses personality or not: from any start, the result is the same.
 */
#ifndef FRED_LAUNCH_PLACE_H
#define FRED_LAUNCH_PLACE_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "launch/place_text.h"

#define PLACE_UNIT (1ull << 40)
#define PLACE_TASK_END 0x7ffffffff000ull
/* place_top_of returns this if the kernel has chosen the address, without randomisation */
#define PLACE_KERNELS 0x800000000000ull
#define PLACE_EXE 0x555555554000ull /* the kernel's address without randomisation */
#define PLACE_STACK_MAX                                                                                                \
	(16ull << 30) /* larger limits are set after the exec: without one, the kernel maps from the bottom up */
#define PLACE_LOW 0x500000000000ull /* a program below this has fixed addresses, and stays where it is */
#define PLACE_HIGH 0x6a0000000000ull /* below: the program; above: the loader */
#define PLACE_TEMP 0x6c0000000000ull /* free at an exec stop */
#define PLACE_STACK_RANDOM (16ull << 30) /* the kernel's stack_maxrandom_size() */
#define PLACE_TEXT 262144u /* of /proc/PID/maps */
#define PLACE_MAPS 64u

enum place_kind { PLACE_IS_EXE, PLACE_IS_LOADER, PLACE_IS_VDSO, PLACE_IS_STACK, PLACE_KINDS };

struct place_group {
	uint64_t lo, hi; /* as the kernel had it; 0, 0: there is none */
	uint64_t delta;
};

struct place {
	pid_t pid;
	uint64_t top, gate; /* gate: of a system call instruction in the vDSO */
	const char *why; /* what failed */
	struct user_regs_struct regs; /* with which the program begins */
	struct place_group group[PLACE_KINDS];
	struct {
		uint64_t lo, hi;
		enum place_kind kind;
	} map[PLACE_MAPS];
	unsigned maps;
	uint64_t stat[64]; /* of /proc/PID/stat, by proc(5)'s numbers */
	char text[PLACE_TEXT];
};

/* From an address in the recorder. PLACE_KERNELS: the image was not placed. */
static inline uint64_t place_top_of(uint64_t shim_base)
{
	return (shim_base | (PLACE_UNIT - 1)) + 1;
}

/* For vm.mmap_rnd_bits: above this address, the kernel's mmap_base is always. */
static inline uint64_t place_top_for(unsigned bits)
{
	return (PLACE_TASK_END - (4096ull << bits) - PLACE_STACK_RANDOM - PLACE_STACK_MAX - PLACE_UNIT / 4) &
	       ~(PLACE_UNIT - 1);
}

static inline long place_call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline int place_fail(struct place *p, const char *why)
{
	if (!p->why)
		p->why = why;
	return -1;
}

static inline int place_read(struct place *p, uint64_t at, void *to, uint64_t n)
{
	struct iovec l = {to, n}, r = {(void *)at, n};

	if (place_call(SYS_process_vm_readv, p->pid, (long)&l, 1, (long)&r, 1) != (long)n)
		return place_fail(p, "its memory cannot be read (process_vm_readv)");
	return 0;
}

static inline int place_write(struct place *p, uint64_t at, const void *from, uint64_t n)
{
	struct iovec l = {(void *)from, n}, r = {(void *)at, n};

	if (place_call(SYS_process_vm_writev, p->pid, (long)&l, 1, (long)&r, 1) != (long)n)
		return place_fail(p, "its memory cannot be written (process_vm_writev)");
	return 0;
}

/* Reads /proc/PID/NAME into text, with a NUL after it. Its length, or -1. */
static inline long place_file(struct place *p, const char *name)
{
	char path[64] = "/proc/", digits[12], *to = path + 6;
	long n = 0, r = 0;
	int k = 0, fd;

	for (unsigned v = (unsigned)p->pid; v || !k; v /= 10)
		digits[k++] = (char)('0' + v % 10);
	while (k)
		*to++ = digits[--k];
	for (*to++ = '/'; *name;)
		*to++ = *name++;
	*to = 0;
	fd = (int)place_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0);
	if (fd < 0)
		return place_fail(p, "its files in /proc cannot be opened");
	while (n < (long)sizeof(p->text) - 1 &&
	       (r = place_call(SYS_read, fd, (long)(p->text + n), (long)sizeof(p->text) - 1 - n, 0, 0)) > 0)
		n += r;
	place_call(SYS_close, fd, 0, 0, 0, 0);
	p->text[n] = 0;
	return r ? place_fail(p, "its files in /proc cannot be read") : n;
}

static inline int place_kind(const char *name, uint64_t lo)
{
	if (place_starts(name, "[vvar") || place_starts(name, "[vdso"))
		return PLACE_IS_VDSO;
	if (place_starts(name, "[stack"))
		return PLACE_IS_STACK;
	return lo < PLACE_HIGH ? PLACE_IS_EXE : PLACE_IS_LOADER;
}

static inline int place_see(struct place *p, uint64_t lo, uint64_t hi, const char *name)
{
	int kind = place_kind(name, lo);
	struct place_group *g = &p->group[kind];

	if (hi > PLACE_TASK_END) /* vsyscall */
		return 0;
	if (p->maps == PLACE_MAPS)
		return place_fail(p, "it has too many mappings");
	p->map[p->maps].lo = lo;
	p->map[p->maps].hi = hi;
	p->map[p->maps++].kind = (enum place_kind)kind;
	if (!g->hi || lo < g->lo)
		g->lo = lo;
	if (hi > g->hi)
		g->hi = hi;
	return 0;
}

static inline int place_see_maps(struct place *p)
{
	const char *s = p->text;

	if (place_file(p, "maps") < 0)
		return -1;
	while (*s) {
		uint64_t lo = place_number(&s, 16), hi;

		s++;
		hi = place_number(&s, 16);
		for (int fields = 0; fields < 4 && *s && *s != '\n'; fields++) /* permissions, offset, device, inode */
			for (s++; *s && *s != ' ' && *s != '\n'; s++)
				;
		while (*s == ' ')
			s++;
		if (place_see(p, lo, hi, s))
			return -1;
		while (*s && *s != '\n')
			s++;
		s += *s == '\n';
	}
	return 0;
}

static inline int place_has_parts(struct place *p)
{
	if (!p->group[PLACE_IS_STACK].hi || !p->group[PLACE_IS_LOADER].hi || !p->group[PLACE_IS_VDSO].hi)
		return place_fail(p, "it has no loader, no stack or no vDSO");
	return 0;
}

static inline int place_see_stat(struct place *p)
{
	const char *s, *at;

	if (place_file(p, "stat") < 0)
		return -1;
	for (s = at = p->text; *s; s++)
		if (*s == ')') /* the name of a program may contain one, too */
			at = s + 1;
	for (unsigned i = 3; i < 64 && *at == ' '; i++) {
		at += at[1] == '-' ? 2 : 1;
		p->stat[i] = place_number(&at, 10);
		while (*at && *at != ' ') /* the state, a letter */
			at++;
	}
	return p->stat[50] ? 0 : place_fail(p, "the kernel does not say where its arguments are (/proc/PID/stat)");
}

static inline int place_find_gate(struct place *p)
{
	for (unsigned i = 0; i < p->maps; i++) {
		uint64_t n = p->map[i].hi - p->map[i].lo;

		if (p->map[i].kind != PLACE_IS_VDSO || n > sizeof(p->text) || place_read(p, p->map[i].lo, p->text, n)) {
			p->why = 0; /* the kernel's data cannot be read */
			continue;
		}
		for (uint64_t k = 0; k + 1 < n; k++)
			if (p->text[k] == 0x0f && p->text[k + 1] == 0x05) {
				p->gate = p->map[i].lo + k;
				return 0;
			}
	}
	return place_fail(p, "its vDSO makes no system call");
}

/* The program is moved to its largest alignment, as the kernel does it. */
static inline int place_exe_at(struct place *p, uint64_t *at)
{
	uint64_t lo = p->group[PLACE_IS_EXE].lo, align = 4096;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (place_read(p, lo, &eh, sizeof(eh)))
		return -1;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (place_read(p, lo + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return -1;
		if (ph.p_type == PT_LOAD && ph.p_align > align && !(ph.p_align & (ph.p_align - 1)))
			align = ph.p_align;
	}
	*at = PLACE_EXE & ~(align - 1);
	return 0;
}

/* Until its next stop at a system call's entry or exit. Signals that wait are blocked. */
static inline int place_step(struct place *p)
{
	int status;
	long r;

	for (;;) {
		if (place_call(SYS_ptrace, PTRACE_SYSCALL, p->pid, 0, 0, 0) < 0)
			return place_fail(p, "it cannot be led on (ptrace)");
		do
			r = place_call(SYS_wait4, p->pid, (long)&status, 0x40000000 /* __WALL */, 0, 0);
		while (r == -EINTR);
		if (r < 0 || (status & 0x7f) != 0x7f)
			return place_fail(p,
					  r < 0 || (status & 0x7f) != SIGKILL ? "it ended" : "it was killed (SIGKILL)");
		if (status >> 16 == 0)
			return 0;
	}
}

static inline long place_inject(struct place *p, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	struct user_regs_struct r = p->regs;

	r.rip = p->gate;
	r.rax = (unsigned long)nr;
	r.orig_rax = ~0ul;
	r.rdi = a;
	r.rsi = b;
	r.rdx = c;
	r.r10 = d;
	r.r8 = e;
	r.r9 = f;
	if (place_call(SYS_ptrace, PTRACE_SETREGS, p->pid, 0, (long)&r, 0) < 0 || place_step(p) || place_step(p) ||
	    place_call(SYS_ptrace, PTRACE_GETREGS, p->pid, 0, (long)&r, 0) < 0) {
		place_fail(p, "it cannot make a system call (ptrace)");
		return -EIO;
	}
	return (long)r.rax;
}

static inline int place_shift(struct place *p, enum place_kind kind, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < p->maps; i++) {
		uint64_t n = p->map[i].hi - p->map[i].lo;

		if (p->map[i].kind != kind)
			continue;
		if (place_inject(p, SYS_mremap, p->map[i].lo + from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED,
				 p->map[i].lo + to, 0) < 0)
			return place_fail(p, "a part of it cannot be moved (mremap)");
		if (p->gate - (p->map[i].lo + from) < n)
			p->gate += to - from;
	}
	return 0;
}

/* In two steps if it would be moved over itself. */
static inline int place_move(struct place *p, enum place_kind kind, uint64_t lo)
{
	struct place_group *g = &p->group[kind];
	uint64_t span = g->hi - g->lo, temp = PLACE_TEMP - g->lo;

	g->delta = lo - g->lo;
	if (!g->delta)
		return 0;
	if (g->delta + span > 2 * span)
		return place_shift(p, kind, 0, g->delta);
	return place_shift(p, kind, 0, temp) || place_shift(p, kind, temp, g->delta);
}

/* Where a part of the image is now. */
static inline uint64_t place_now(const struct place *p, uint64_t addr)
{
	for (int i = 0; i < PLACE_KINDS; i++)
		if (addr >= p->group[i].lo && addr < p->group[i].hi)
			return addr + p->group[i].delta;
	return addr;
}

static inline void place_fix_vector(const struct place *p, uint64_t *v, uint64_t words, uint64_t random,
				    uint64_t platform)
{
	for (; words >= 2 && v[0] != AT_NULL; v += 2, words -= 2) {
		switch (v[0]) {
		case AT_RANDOM:
			v[1] = random;
			break;
		case AT_PLATFORM:
			v[1] = platform;
			break;
		case AT_PHDR:
		case AT_BASE:
		case AT_ENTRY:
		case AT_SYSINFO_EHDR:
		case AT_EXECFN:
			v[1] = place_now(p, v[1]);
		}
	}
}

/* The table on the stack, n words of which are read: how many are in it; *vector: which begins its auxiliary vector. */
static inline uint64_t place_table_words(const uint64_t *w, uint64_t n, uint64_t *vector)
{
	uint64_t i = 1;

	for (int lists = 0; lists < 2; lists++, i++)
		while (i < n && w[i])
			i++;
	*vector = i;
	while (i + 1 < n && w[i] != AT_NULL)
		i += 2;
	return i + 1 < n ? i + 2 : 0;
}

/*
 * The kernel's create_elf_tables(): from the strings down, the platform's name, the random bytes, and the table,
 * aligned to 16. in: the old one, n bytes from the stack pointer up to the strings; out: zeroed, `more` bytes below it
 * to them.
 */
static inline int place_build(struct place *p, const uint8_t *in, uint64_t n, uint8_t *out, uint64_t more,
			      uint64_t *random, uint64_t *platform)
{
	const uint64_t *w = (const uint64_t *)(const void *)in;
	uint64_t strings = p->stat[48] + p->group[PLACE_IS_STACK].delta, base = strings - n - more, vector;
	uint64_t words = place_table_words(w, n / 8, &vector), at = strings & ~15ull, sp, *to, name = 0, bytes = 0;
	uint64_t sp_old = p->regs.rsp;

	if (!words)
		return place_fail(p, "its stack is not as expected");
	for (uint64_t i = vector; i < words; i += 2) {
		if (w[i] == AT_PLATFORM)
			name = w[i + 1];
		if (w[i] == AT_RANDOM)
			bytes = w[i + 1];
	}
	if (name) {
		uint64_t len = 0;

		if (name - sp_old >= n)
			return place_fail(p, "its stack is not as expected");
		while (name - sp_old + len < n && in[name - sp_old + len])
			len++;
		at -= len + 1;
		for (uint64_t i = 0; i < len; i++)
			out[at - base + i] = in[name - sp_old + i];
	}
	*platform = name ? at : 0;
	at -= 16;
	*random = at;
	if (!bytes || bytes - sp_old > n - 16)
		return place_fail(p, "its stack is not as expected");
	for (int i = 0; i < 16; i++)
		out[at - base + (uint64_t)i] = in[bytes - sp_old + (uint64_t)i];
	sp = (at - words * 8) & ~15ull;
	if (sp < base)
		return place_fail(p, "its stack is not as expected");
	to = (uint64_t *)(void *)(out + (sp - base));
	for (uint64_t i = 0; i < words; i++)
		to[i] = i && i < vector && w[i] ? place_now(p, w[i]) : w[i];
	place_fix_vector(p, to + vector, words - vector, *random, *platform);
	p->regs.rsp = sp;
	return 0;
}

/* Where a request is written: below the stack pointer, where nothing is yet. */
static inline uint64_t place_room(const struct place *p)
{
	return (p->regs.rsp - 16384) & ~15ull;
}

/*
 * Behind a large environment the stack may end at its pointer. It grows for the program's own accesses, but not for
 * another process's (Linux 6.5): a call of the program's writes there.
 */
static inline int place_grow(struct place *p)
{
	if (place_inject(p, SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)place_room(p), 8, 0, 0) < 0)
		return place_fail(p, "its stack cannot grow");
	return 0;
}

/* Tells the kernel where the parts are now, which decides where the heap is and what /proc shows. */
static inline int place_tell_kernel(struct place *p, uint64_t random, uint64_t platform)
{
	const struct place_group *exe = &p->group[PLACE_IS_EXE], *main = exe->hi ? exe : &p->group[PLACE_IS_LOADER];
	uint64_t stack = p->group[PLACE_IS_STACK].delta;
	uint64_t at = place_room(p), heap = exe->hi ? exe->hi + exe->delta : PLACE_EXE;
	struct prctl_mm_map m = {
		.start_code = p->stat[26] + main->delta,
		.end_code = p->stat[27] + main->delta,
		.start_data = p->stat[45] + main->delta,
		.end_data = p->stat[46] + main->delta,
		.start_brk = heap,
		.brk = heap,
		.start_stack = p->regs.rsp,
		.arg_start = p->stat[48] + stack,
		.arg_end = p->stat[49] + stack,
		.env_start = p->stat[50] + stack,
		.env_end = p->stat[51] + stack,
		.exe_fd = (uint32_t)-1,
	};
	long n = place_file(p, "auxv");

	if (n < 0 || n > 8192)
		return place_fail(p, "its auxiliary vector cannot be read");
	place_fix_vector(p, (uint64_t *)(void *)p->text, (uint64_t)n / 8, random, platform);
	m.auxv = (__u64 *)(at + sizeof(m));
	m.auxv_size = (uint32_t)n;
	if (place_write(p, at, &m, sizeof(m)) || place_write(p, at + sizeof(m), p->text, (uint64_t)n))
		return -1;
	if (place_inject(p, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, at, sizeof(m), 0, 0) < 0)
		return place_fail(p, "the kernel refuses PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)");
	for (uint64_t i = 0; i < sizeof(m) + (uint64_t)n; i++)
		p->text[i] = 0;
	return place_write(p, at, p->text, sizeof(m) + (uint64_t)n);
}

static inline int place_stack(struct place *p)
{
	uint64_t delta = p->group[PLACE_IS_STACK].delta, sp = p->regs.rsp, n = p->stat[48] - sp, more = 64;
	uint64_t size = 2 * n + more + 16, random = 0, platform = 0, half = (n + 15) & ~15ull;
	uint8_t *in = (uint8_t *)(place_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1));
	int r;

	if ((uint64_t)in >= (uint64_t)-4095)
		return place_fail(p, "no memory");
	r = n < 64 || n > 64ull << 20 ? place_fail(p, "its stack is not as expected") : 0;
	r = r || place_read(p, sp + delta, in, n) || place_build(p, in, n, in + half, more, &random, &platform) ||
	    place_grow(p) || place_write(p, sp + delta - more, in + half, n + more) ||
	    place_tell_kernel(p, random, platform);
	place_call(SYS_munmap, (long)in, (long)size, 0, 0, 0);
	return r ? -1 : 0;
}

/* Takes all addresses above the top that the kernel could choose. */
static inline int place_hide(struct place *p, uint64_t stack_limit)
{
	uint64_t room = (stack_limit < PLACE_STACK_MAX ? stack_limit : PLACE_STACK_MAX) + (1ull << 20);
	uint64_t from = p->top + p->group[PLACE_IS_VDSO].hi - p->group[PLACE_IS_VDSO].lo;
	uint64_t to = (PLACE_TASK_END - (room < 128ull << 20 ? 128ull << 20 : room) + 4095) & ~4095ull;

	if (place_inject(p, SYS_mmap, from, to - from, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | 0x100000 /* MAP_FIXED_NOREPLACE */, ~0ull,
			 0) != (long)from)
		return place_fail(p, "its addresses cannot be reserved (mmap)");
	return 0;
}

/* What the host may refuse is tried before anything is moved: the image can still run where it is. */
static inline int place_try(struct place *p)
{
	uint64_t size = PLACE_TASK_END - p->top;
	unsigned known = 0;
	long at = place_inject(p, SYS_mmap, 0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0);

	if (at < 0)
		return place_fail(p, "its addresses cannot be reserved: is there a limit of its memory (ulimit -v)?");
	if (place_inject(p, SYS_munmap, (uint64_t)at, size, 0, 0, 0, 0) < 0)
		return place_fail(p, "its memory cannot be freed");
	if (place_call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP_SIZE, (long)&known, 0, 0) < 0 ||
	    known < sizeof(struct prctl_mm_map))
		return place_fail(p, "the kernel has no PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)");
	return 0;
}

static inline int place_all(struct place *p, uint64_t stack_limit)
{
	const struct place_group *exe = &p->group[PLACE_IS_EXE], *loader = &p->group[PLACE_IS_LOADER];
	const struct place_group *stack = &p->group[PLACE_IS_STACK];
	uint64_t at;

	if (place_call(SYS_ptrace, PTRACE_GETREGS, p->pid, 0, (long)&p->regs, 0) < 0)
		return place_fail(p, "its registers cannot be read (ptrace)");
	if (place_see_maps(p) || place_has_parts(p) || place_see_stat(p) || place_find_gate(p))
		return -1;
	if (loader->lo < p->top + PLACE_UNIT / 8)
		return place_fail(p, "vm.mmap_rnd_bits is larger than where it was recorded");
	at = exe->lo;
	if (at >= PLACE_LOW && place_exe_at(p, &at))
		return -1;
	if (place_step(p) /* out of execve */ || place_try(p))
		return -1;
	if (place_move(p, PLACE_IS_VDSO, p->top) ||
	    place_move(p, PLACE_IS_LOADER, p->top - (loader->hi - loader->lo)) || place_move(p, PLACE_IS_EXE, at) ||
	    place_move(p, PLACE_IS_STACK, PLACE_TASK_END - (stack->hi - stack->lo)) || place_hide(p, stack_limit) ||
	    place_stack(p))
		return -1;
	p->regs.rip = place_now(p, p->regs.rip);
	p->regs.orig_rax = ~0ul;
	p->regs.rax = 0;
	return place_call(SYS_ptrace, PTRACE_SETREGS, p->pid, 0, (long)&p->regs, 0) < 0
		       ? place_fail(p, "its registers cannot be set (ptrace)")
		       : 0;
}

/*
 * pid is traced by the caller and in its exec stop; stack_limit is its soft limit at the exec, which is no larger than
 * PLACE_STACK_MAX. NULL: it stands before its first instruction, placed, and *sp is its stack pointer. Else what
 * failed.
 */
static inline const char *place_image(pid_t pid, uint64_t top, uint64_t stack_limit, uint64_t *sp)
{
	struct place *p = (struct place *)place_call(SYS_mmap, 0, sizeof(*p), PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t mask = 0, all = ~0ull;
	const char *why;

	if ((uint64_t)p >= (uint64_t)-4095)
		return "no memory";
	p->pid = pid;
	p->top = top;
	/* what is sent to it meanwhile waits */
	if (place_call(SYS_ptrace, PTRACE_GETSIGMASK, pid, 8, (long)&mask, 0) < 0 ||
	    place_call(SYS_ptrace, PTRACE_SETSIGMASK, pid, 8, (long)&all, 0) < 0)
		place_fail(p, "its signals cannot be blocked (ptrace)");
	else {
		if (place_all(p, stack_limit) && p->regs.rip)
			place_call(SYS_ptrace, PTRACE_SETREGS, pid, 0, (long)&p->regs, 0);
		if (place_call(SYS_ptrace, PTRACE_SETSIGMASK, pid, 8, (long)&mask, 0) < 0)
			place_fail(p, "its signals cannot be unblocked (ptrace)");
	}
	*sp = p->regs.rsp;
	why = p->why;
	place_call(SYS_munmap, (long)p, sizeof(*p), 0, 0, 0);
	return why;
}

#endif
