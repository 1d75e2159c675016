/* SPDX-License-Identifier: MIT */
/*
 * patch.c: instructions that bring input in without a call: rdrand, rdseed, rdtsc, rdtscp, rdpid, cpuid. A byte of each
 * is changed, which makes it a privileged instruction: it faults, and the handler of the fault makes an event of it
 * (tsc.c). The length stays the same, and the new bytes tell which instruction it was:
 *
 *	rdrand, rdseed	0f c7 /6, /7 with a register	0f 32 f0..ff	rdmsr
 *	rdtsc		0f 31				0f 30		wrmsr
 *	rdtscp		0f 01 f9			0f 32 01
 *	rdpid		f3 0f c7 /7 with a register	f3 0f 32 f8..ff
 *	cpuid		0f a2				0f 09		wbinvd
 *
 * Text is searched when it is mapped, in a replay as when recording; code that the program has generated, when the
 * program makes it executable (mprotect). The bytes may be a part of another instruction. In a function whose bounds
 * are known (.eh_frame), they are changed if decoding the function from its start to its end finds an instruction that
 * begins there. Elsewhere, all ways to decode the text before them must agree that an instruction begins there. They
 * are then changed if the code around them uses the results as those of such an instruction are used; if it does not,
 * an rdrand is noted. Decoding: decode.c. Intel's manual, volume 2; LSB, "Exception Frames".
 */
#include "record/core/maps.h"
#include "record/core/memory.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/input/decode.h"
#include "record/input/input.h"
#include "record/shm/group.h"
#include "record/store/log.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

struct image {
	const uint8_t *file, *file_end; /* the whole file; NULL: it is in memory, as its headers have it */
	uint64_t bias; /* what is added to the addresses in the file */
	const Elf64_Phdr *ph;
	unsigned n;
	const char *name;
	int changed, noted;
	uint64_t lo, hi; /* the mapping that was changed last */
	int prot; /* of that */
};

/* ---- an ELF image ---- */

/* What its headers place at this address; NULL: nothing, or fewer bytes. */
static const uint8_t *image_at(const struct image *im, uint64_t vaddr, uint64_t len)
{
	for (unsigned i = 0; i < im->n; i++) {
		const Elf64_Phdr *p = &im->ph[i];

		if (p->p_type != PT_LOAD || vaddr < p->p_vaddr || vaddr - p->p_vaddr > p->p_filesz ||
		    len > p->p_filesz - (vaddr - p->p_vaddr))
			continue;
		if (!im->file)
			return (const uint8_t *)(im->bias + vaddr);
		vaddr = vaddr - p->p_vaddr + p->p_offset;
		return vaddr <= (uint64_t)(im->file_end - im->file) &&
				       len <= (uint64_t)(im->file_end - im->file) - vaddr
			       ? im->file + vaddr
			       : NULL;
	}
	return NULL;
}

static int32_t read32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The function around an address: its bounds. 0, or -1: none is known. */
static int function_of(const struct image *im, uint64_t vaddr, uint64_t *lo, uint64_t *hi)
{
	const Elf64_Phdr *p = im->ph;
	const uint8_t *hdr, *table, *fde;
	uint64_t at;
	int32_t n, left = 0;

	while (p < im->ph + im->n && p->p_type != PT_GNU_EH_FRAME)
		p++;
	hdr = p < im->ph + im->n ? image_at(im, p->p_vaddr, p->p_memsz) : NULL;
	/* what all linkers write: 4 bytes each; the table from the header's start, sorted */
	if (!hdr || p->p_memsz < 12 || hdr[0] != 1 || (hdr[1] & 0xf) != 0xb || hdr[2] != 3 || hdr[3] != 0x3b)
		return -1;
	n = read32(hdr + 8);
	table = hdr + 12;
	if (n <= 0 || (uint64_t)n > (p->p_memsz - 12) / 8)
		return -1;
	while (n > 1) { /* the last one that begins at or before vaddr */
		int32_t half = n / 2;

		if (p->p_vaddr + (uint64_t)(int64_t)read32(table + 8 * (left + half)) <= vaddr)
			left += half;
		n -= half;
	}
	*lo = p->p_vaddr + (uint64_t)(int64_t)read32(table + 8 * left);
	at = p->p_vaddr + (uint64_t)(int64_t)read32(table + 8 * left + 4);
	fde = image_at(im, at, 16);
	/* the same start, in the encoding that all compilers use: 4 bytes from there */
	if (!fde || at + 8 + (uint64_t)(int64_t)read32(fde + 8) != *lo)
		return -1;
	*hi = *lo + (uint32_t)read32(fde + 12);
	return vaddr >= *lo && vaddr < *hi ? 0 : -1;
}

/* ---- changes ---- */

static int is_at(const struct map *m, void *arg)
{
	struct image *im = arg;

	if (im->lo < m->lo || im->lo >= m->hi)
		return 0;
	im->lo = m->lo;
	im->hi = m->hi;
	im->prot |= m->perms[1] == 'w' ? PROT_WRITE : 0;
	return 1;
}

/* A program may have text that it changes itself. */
static int protection(struct image *im, uint64_t at)
{
	if (at >= im->lo && at < im->hi)
		return im->prot;
	im->lo = at;
	im->hi = at + 1;
	im->prot = PROT_READ | PROT_EXEC;
	maps_each(is_at, im);
	return im->prot;
}

static void change(struct image *im, uint8_t *p)
{
	uint64_t page = (uint64_t)p & ~4095ul, len = (((uint64_t)p + 3 + 4095) & ~4095ul) - page;
	int prot = protection(im, page);

	if (raw3(SYS_mprotect, page, len, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		return;
	if (p[1] == 0x31) {
		p[1] = 0x30;
	} else if (p[1] == 0xa2) {
		p[1] = 0x09;
	} else if (p[1] == 0xc7) {
		p[1] = 0x32;
	} else {
		p[1] = 0x32;
		p[2] = 0x01;
	}
	raw3(SYS_mprotect, page, len, prot);
	im->changed++;
}

static void note_left(struct image *im, uint64_t vaddr)
{
	char text[232], *end = text + sizeof(text), *p;

	if (im->noted++ || G.mode == SHIM_REPLAY)
		return;
	p = fmt_str(text, end, "random numbers of the processor (rdrand) at 0x");
	p = fmt_hex(p, end, vaddr);
	p = fmt_str(p, end, " of ");
	fmt_str(p, end, im->name);
	note(RLOG_NOTE_UNSUPPORTED, (int64_t)vaddr, text);
}

/* f3 0f c7 /6 is another one. */
static int is_other(const uint8_t *p, uint64_t vaddr, uint64_t lo)
{
	int rex = vaddr > lo && (p[-1] & 0xf0) == 0x40;

	return p[1] == 0xc7 && p[2] < 0xf8 && vaddr - rex > lo && p[-1 - rex] == 0xf3;
}

/* [start, end): the text in memory */
static void consider_alone(struct image *im, const uint8_t *start, const uint8_t *end, uint8_t *p, uint64_t vaddr)
{
	int random = p[1] == 0xc7;

	if (!decode_may_begin(start, end, p) || !decode_begins_surely(start, end, p, !im->n) ||
	    (p > start && p[-1] == 0xf3) || (p > start + 1 && p[-2] == 0xf3))
		return;
	if (decode_is_used(start, p, end))
		change(im, p);
	else if (random)
		note_left(im, vaddr);
}

static void consider(struct image *im, const uint8_t *start, const uint8_t *end, uint8_t *p, uint64_t vaddr)
{
	uint64_t lo, hi;
	const uint8_t *text;

	if (function_of(im, vaddr, &lo, &hi)) {
		consider_alone(im, start, end, p, vaddr);
		return;
	}
	text = image_at(im, lo, hi - lo);
	if (text && !is_other(p, vaddr, lo) && decode_may_begin(text, text + (hi - lo), text + (vaddr - lo)) &&
	    decode_begins_there(text, text + (hi - lo), text + (vaddr - lo)))
		change(im, p);
}

/*
 * Which of eight bytes equal the given one, as their highest bits. The lowest bit set is certain; higher ones need not
 * be.
 */
static uint64_t equal(uint64_t v, uint64_t byte)
{
	v ^= byte * 0x0101010101010101ull;
	return (v - 0x0101010101010101ull) & ~v & 0x8080808080808080ull;
}

/* May a pattern begin among the eight bytes at p? There are nine. */
static int may_have(const uint8_t *p)
{
	uint64_t a, b;

	memcpy(&a, p, sizeof(a));
	memcpy(&b, p + 1, sizeof(b));
	a = equal(a, 0x0f);
	return a && (a & (equal(b, 0xc7) | equal(b, 0x31) | equal(b, 0x01) | equal(b, 0xa2)));
}

__attribute__((noinline)) void patch_search(struct image *im, uint8_t *p, uint8_t *end, uint64_t vaddr)
{
	uint8_t *start = p;

	while (p < end) {
		if (end - p >= 9 && !may_have(p)) {
			p += 8;
			continue;
		}
		for (int i = 0; i < 8 && p < end; i++, p++)
			if (*p == 0x0f && decode_pattern(p, end))
				consider(im, start, end, p, vaddr + (uint64_t)(p - start));
	}
}

const uint8_t *patch_find(const uint8_t *p, const uint8_t *end, int random)
{
	const uint8_t *start = p;

	for (; p < end; p++) {
		if (end - p >= 9 && !may_have(p)) {
			p += 7;
			continue;
		}
		if (*p == 0x0f && decode_pattern(p, end) && p[1] != 0xa2 && (p[1] == 0xc7) == random &&
		    (decode_is_used(start, p, end) ||
		     (decode_may_begin(start, end, p) && decode_begins_surely(start, end, p, 1))))
			return p;
	}
	return 0;
}

static void settle(const struct image *im)
{
	if (!im->changed)
		return;
	G.patched = 1;
	if (self)
		sig_need_segv(self);
}

/* ---- what is searched ---- */

static void search_all(struct image *im)
{
	for (unsigned i = 0; i < im->n; i++) {
		uint8_t *text = (uint8_t *)(im->bias + im->ph[i].p_vaddr);

		if (im->ph[i].p_type == PT_LOAD && (im->ph[i].p_flags & (PF_X | PF_R)) == (PF_X | PF_R))
			patch_search(im, text, text + im->ph[i].p_filesz, im->ph[i].p_vaddr);
	}
	settle(im);
}

/* These have cpuid alone, by which glibc chooses its functions: all processors of a machine give it the same. */
static int is_glibc(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strcmp(name, "libc.so.6") || !strcmp(name, "ld-linux-x86-64.so.2");
}

/* It was loaded by the linker: its first page, with the headers, is at its start. */
static void search_loaded(const struct link_map *m)
{
	struct image im = {.bias = m->l_addr, .name = m->l_name};
	const Elf64_Ehdr *eh = (const void *)m->l_addr;

	if (m->l_addr == (uint64_t)__ehdr_start || !sys_readable(eh, sizeof(*eh)) ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return;
	im.ph = (const Elf64_Phdr *)(m->l_addr + eh->e_phoff);
	im.n = eh->e_phnum;
	search_all(&im);
}

void patch_loaded(void)
{
	struct image im = {.ph = (const Elf64_Phdr *)getauxval(AT_PHDR),
			   .n = (unsigned)getauxval(AT_PHNUM),
			   .name = "the program"};

	if (im.ph && image_bias(im.ph, im.n, &im.bias) == 0)
		search_all(&im);
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (*m->l_name && !is_glibc(m->l_name))
			search_loaded(m);
}

/* The file is mapped at an address where no mapping of a program's lies. */
static const uint8_t *map_file(int fd, uint64_t size)
{
	void *at = G.mode == SHIM_REPLAY ? (void *)spare_place((long)size) : 0;
	const uint8_t *p = raw_mmap(at, size, PROT_READ, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);

	return raw_failed((void *)p) ? NULL : p;
}

static void search_mapped(struct image *im, uint8_t *p, uint64_t len, uint64_t off)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)im->file;
	uint64_t size = (uint64_t)(im->file_end - im->file);

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phoff > size ||
	    eh->e_phnum * sizeof(Elf64_Phdr) > size - eh->e_phoff)
		return;
	im->ph = (const Elf64_Phdr *)(im->file + eh->e_phoff);
	im->n = eh->e_phnum;
	if (off >= size)
		return;
	if (len > size - off)
		len = size - off;
	for (unsigned i = 0; i < im->n; i++) {
		const Elf64_Phdr *h = &im->ph[i];
		uint64_t lo, hi;

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) || h->p_offset + h->p_filesz <= off ||
		    h->p_offset >= off + len)
			continue;
		lo = h->p_offset > off ? h->p_offset : off;
		hi = h->p_offset + h->p_filesz < off + len ? h->p_offset + h->p_filesz : off + len;
		patch_search(im, p + (lo - off), p + (hi - off), h->p_vaddr + (lo - h->p_offset));
	}
	settle(im);
}

void patch_made(uint64_t at, uint64_t len)
{
	struct image im = {.name = "code that the program has made"};

	patch_search(&im, (uint8_t *)at, (uint8_t *)(at + len), at);
	settle(&im);
}

void patch_mapped(int fd, uint64_t at, uint64_t len, uint64_t off, const uint64_t *st)
{
	struct image im = {.name = "a library"};
	uint64_t size = st[6];

	if (size < sizeof(Elf64_Ehdr) || !(im.file = map_file(fd, size)))
		return;
	im.file_end = im.file + size;
	search_mapped(&im, (uint8_t *)at, len, off);
	raw2(SYS_munmap, im.file, size);
}
