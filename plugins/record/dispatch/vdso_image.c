/* SPDX-License-Identifier: MIT */
/*
 * vdso_image.c: a vDSO of the recorder's, for programs that look it up themselves (AT_SYSINFO_EHDR): its functions are
 * events. The kernel's is hidden before the program's start, so that libc makes system calls; when libc has read the
 * auxiliary vector, this one takes its place there. The same in a replay, at the same address. See vdso(7), elf(5).
 */
#include "record/core/scrub.h"
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/event/ev.h"
#include "record/input/input.h"
#include "record/sys/sys.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#define FUNCTIONS 5
#define NAMES (2 * FUNCTIONS) /* each also without the prefix */
#define STUB 16 /* bytes of code of each function */

enum section { SECTION_TEXT = 1, SECTION_DYNSYM, SECTION_DYNSTR, SECTIONS };

struct vdso_image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Shdr sh[SECTIONS];
	Elf64_Dyn dyn[12];
	Elf64_Sym sym[1 + NAMES];
	uint32_t hash[2 + 1 + 1 + NAMES]; /* buckets, symbols, a bucket, the chain */
	struct {
		uint32_t buckets, first, blooms, shift;
		uint64_t bloom;
		uint32_t bucket, chain[NAMES];
	} gnu_hash;
	uint16_t versions[1 + NAMES];
	struct {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
	} verdef[2];
	char strings[512];
	uint8_t code[FUNCTIONS][STUB] __attribute__((aligned(16)));
};

static long call(uint64_t caller, long nr, long a0, long a1, long a2)
{
	struct thr *t = shim_enter();
	const long a[6] = {a0, a1, a2};
	long r;

	if (!t)
		return raw3(nr, a0, a1, a2);
	t->caller = caller;
	r = sys_event(t, nr, a, 0);
	shim_leave(self);
	scrub_stack();
	return r;
}

#define CALLER() ((uint64_t)__builtin_return_address(0))

static long do_clock(long clock, long ts)
{
	return call(CALLER(), SYS_clock_gettime, (int)clock, ts, 0);
}

static long do_day(long tv, long tz)
{
	return call(CALLER(), SYS_gettimeofday, tv, tz, 0);
}

static long do_time(long when)
{
	return call(CALLER(), SYS_time, when, 0, 0);
}

static long do_cpu(long cpu, long node)
{
	return call(CALLER(), SYS_getcpu, cpu, node, 0);
}

static long do_resolution(long clock, long ts)
{
	return call(CALLER(), SYS_clock_getres, (int)clock, ts, 0);
}

#define PREFIX "__vdso_"
static const struct {
	const char *name;
	const void *fn;
} functions[FUNCTIONS] = {
	{PREFIX "clock_gettime", (const void *)do_clock},
	{PREFIX "gettimeofday", (const void *)do_day},
	{PREFIX "time", (const void *)do_time},
	{PREFIX "getcpu", (const void *)do_cpu},
	{PREFIX "clock_getres", (const void *)do_resolution},
};

#define AT(member) offsetof(struct vdso_image, member)

static uint32_t add_string(struct vdso_image *v, uint32_t *n, const char *s)
{
	uint32_t at = *n, len = (uint32_t)strlen(s) + 1;

	memcpy(v->strings + at, s, len);
	*n += len;
	return at;
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return h;
}

/* One bucket each: all names are in one chain. */
static void add_names(struct vdso_image *v, uint32_t *n)
{
	v->hash[0] = 1;
	v->hash[1] = 1 + NAMES;
	v->hash[2] = 1;
	v->gnu_hash.buckets = v->gnu_hash.first = v->gnu_hash.blooms = v->gnu_hash.bucket = 1;
	v->gnu_hash.bloom = ~0ull;
	for (uint32_t i = 0; i < NAMES; i++) {
		const char *name = functions[i / 2].name + (i % 2 ? sizeof(PREFIX) - 1 : 0);

		v->sym[1 + i] = (Elf64_Sym){.st_name = add_string(v, n, name),
					    .st_info = ELF64_ST_INFO(i % 2 ? STB_WEAK : STB_GLOBAL, STT_FUNC),
					    .st_shndx = SECTION_TEXT,
					    .st_value = AT(code) + i / 2 * STUB,
					    .st_size = STUB};
		v->hash[3 + 1 + i] = i + 1 < NAMES ? i + 2 : 0;
		v->gnu_hash.chain[i] = (gnu_hash(name) & ~1u) | (i + 1 == NAMES);
		v->versions[1 + i] = 2;
	}
}

static uint32_t elf_hash(const char *s)
{
	uint32_t h = 0, g;

	for (; *s; s++) {
		h = (h << 4) + (uint8_t)*s;
		g = h & 0xf0000000;
		h = (h ^ g >> 24) & ~g;
	}
	return h;
}

static void add_versions(struct vdso_image *v, uint32_t *n, const char *soname)
{
	const char *names[2] = {soname, "LINUX_2.6"};

	for (int i = 0; i < 2; i++) {
		v->verdef[i].def = (Elf64_Verdef){.vd_version = VER_DEF_CURRENT,
						  .vd_flags = i ? 0 : VER_FLG_BASE,
						  .vd_ndx = (uint16_t)(i + 1),
						  .vd_cnt = 1,
						  .vd_hash = elf_hash(names[i]),
						  .vd_aux = sizeof(Elf64_Verdef),
						  .vd_next = i ? 0 : sizeof(v->verdef[0])};
		v->verdef[i].aux.vda_name = add_string(v, n, names[i]);
	}
}

/* Adds sections for programs that look up the symbol table by its name. */
static void add_sections(struct vdso_image *v, uint32_t *n)
{
	static const char *const name[SECTIONS] = {"", ".text", ".dynsym", ".dynstr"};

	v->sh[SECTION_TEXT] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					   .sh_offset = AT(code),
					   .sh_size = sizeof(v->code)};
	v->sh[SECTION_DYNSYM] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
					     .sh_flags = SHF_ALLOC,
					     .sh_offset = AT(sym),
					     .sh_size = sizeof(v->sym),
					     .sh_link = SECTION_DYNSTR,
					     .sh_info = 1,
					     .sh_entsize = sizeof(v->sym[0])};
	v->sh[SECTION_DYNSTR] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC, .sh_offset = AT(strings), .sh_size = sizeof(v->strings)};
	for (int i = 1; i < SECTIONS; i++) {
		v->sh[i].sh_name = add_string(v, n, name[i]);
		v->sh[i].sh_addr = v->sh[i].sh_offset;
		v->sh[i].sh_addralign = 8;
	}
}

static void add_head(struct vdso_image *v)
{
	static const uint8_t ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

	memcpy(v->eh.e_ident, ident, sizeof(ident));
	v->eh.e_type = ET_DYN;
	v->eh.e_machine = EM_X86_64;
	v->eh.e_version = EV_CURRENT;
	v->eh.e_phoff = AT(ph);
	v->eh.e_ehsize = sizeof(v->eh);
	v->eh.e_phentsize = sizeof(v->ph[0]);
	v->eh.e_phnum = 2;
	v->eh.e_shoff = AT(sh);
	v->eh.e_shentsize = sizeof(v->sh[0]);
	v->eh.e_shnum = SECTIONS;
	v->eh.e_shstrndx = SECTION_DYNSTR;
	v->ph[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, 0, 0, sizeof(*v), sizeof(*v), 4096};
	v->ph[1] = (Elf64_Phdr){PT_DYNAMIC, PF_R, AT(dyn), AT(dyn), AT(dyn), sizeof(v->dyn), sizeof(v->dyn), 8};
}

/* mov FN, %r11; jmp *%r11 */
static void add_code(struct vdso_image *v)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		uint8_t *p = v->code[i];

		memcpy(p, "\x49\xbb", 2);
		memcpy(p + 2, &functions[i].fn, 8);
		memcpy(p + 10, "\x41\xff\xe3\xcc\xcc\xcc", 6);
	}
}

static void fill(struct vdso_image *v)
{
	uint32_t n = 1, soname = add_string(v, &n, "linux-vdso.so.1");
	const Elf64_Dyn dyn[] = {
		{DT_SONAME, {soname}},
		{DT_HASH, {AT(hash)}},
		{DT_GNU_HASH, {AT(gnu_hash)}},
		{DT_STRTAB, {AT(strings)}},
		{DT_SYMTAB, {AT(sym)}},
		{DT_STRSZ, {sizeof(v->strings)}},
		{DT_SYMENT, {sizeof(v->sym[0])}},
		{DT_VERDEF, {AT(verdef)}},
		{DT_VERDEFNUM, {2}},
		{DT_VERSYM, {AT(versions)}},
	};

	add_head(v);
	memcpy(v->dyn, dyn, sizeof(dyn)); /* zeros after it end it */
	add_names(v, &n);
	add_versions(v, &n, v->strings + soname);
	add_sections(v, &n);
	add_code(v);
}

void vdso_give(char **envp)
{
	struct vdso_image *v;
	Elf64_auxv_t *av, *entry;

	entry = vdso_entry(envp);
	if (!entry)
		return;
	v = raw_mmap((void *)SHIM_VDSO_ADDR, sizeof(*v), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (raw_failed(v))
		return;
	fill(v);
	raw3(SYS_mprotect, v, sizeof(*v), PROT_READ | PROT_EXEC);
	while (*envp)
		envp++;
	av = (Elf64_auxv_t *)(envp + 1);
	vdso_auxv_gives((uint64_t)((char *)entry - (char *)av), (uint64_t)v);
	entry->a_un.a_val = (uint64_t)v;
	entry->a_type = AT_SYSINFO_EHDR;
}
