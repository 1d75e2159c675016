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
 * are then changed if the code after them uses a result as that of such an instruction is used; if it does not, an
 * rdrand is noted. A cpuid is left alone there. Intel's manual, volume 2; LSB, "Exception Frames".
 */
#include "record/core/maps.h"
#include "record/core/memory.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/dbt/insn.h"
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

/* ---- instructions ---- */

/* Bytes of the pattern at p, which begins with 0f: 0: it is none of them. */
static unsigned pattern(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 2)
		return 0;
	if (p[1] == 0x31 || p[1] == 0xa2)
		return 2;
	if (end - p < 3)
		return 0;
	return (p[1] == 0xc7 && p[2] >= 0xf0) || (p[1] == 0x01 && p[2] == 0xf9) ? 3 : 0;
}

/* The length of an instruction at which decoding stops, if it is in this list; else 0. */
static unsigned stop_length(const uint8_t *p, const struct insn *i)
{
	uint8_t two = i->op_at && p[i->op_at - 1] == 0x0f;

	if (two && (i->op == 0x01 || i->op == 0xb9 || i->op == 0xff)) {
		unsigned m = p[i->op_at + 1], mod = m >> 6, rm = m & 7, n = i->op_at + 2u;

		if (mod == 3)
			return n;
		if (rm == 4) {
			rm = p[n++] & 7;
			rm = rm == 5 ? 5 : 0;
		}
		return n + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
	}
	if (two &&
	    (i->op == 0x05 || i->op == 0x09 || i->op == 0x0b || (i->op >= 0x30 && i->op <= 0x34) || i->op == 0xaa))
		return i->op_at + 1u;
	if (i->map == 0 && (i->op == 0xcd || (i->op >= 0xe4 && i->op <= 0xe7)))
		return i->op_at + 2u;
	if (i->map == 0 && (i->op == 0xcc || i->op == 0xce || i->op == 0xf1 || i->op == 0xf4 || i->op == 0xfa ||
			    i->op == 0xfb || (i->op >= 0xec && i->op <= 0xef) || (i->op >= 0x6c && i->op <= 0x6f)))
		return i->op_at + 1u;
	return i->modrm_at ? i->len : 0;
}

#define DECODED_MOST 32 /* an instruction has at most 15 bytes: no more than these are looked at */

/* 0: it cannot be decoded, or is not whole at the end of the text. */
static unsigned length_at(const uint8_t *p, const uint8_t *end, struct insn *i)
{
	uint8_t last[DECODED_MOST] = {0};
	unsigned len;

	if (end - p < DECODED_MOST) {
		memcpy(last, p, (size_t)(end - p));
		p = last;
		end = last + (end - p);
	}
	insn_decode(p, i);
	len = i->kind == INSN_STOP ? stop_length(p, i) : i->len;
	return len <= (uint64_t)(end - p) ? len : 0;
}

/* Is there an instruction whose opcode begins with these bytes? p lies in [lo, end), a function. */
static int begins_there(const uint8_t *lo, const uint8_t *end, const uint8_t *p)
{
	int met = 0;

	while (lo < end) {
		struct insn i;
		unsigned len;

		len = length_at(lo, end, &i);
		if (!len)
			return 0;
		met |= i.map == 1 && i.op_at && lo + i.op_at - 1 == p;
		lo += len;
	}
	return met && lo == end;
}

/*
 * A quick test: is it certain that no instruction begins there? An instruction has at most 15 bytes, so one begins
 * among any 15 bytes in a row, and decoding from there finds those after it. Decoding from any other place soon finds
 * the same ones.
 */
#define BEFORE 32
static int may_begin(const uint8_t *lo, const uint8_t *end, const uint8_t *p)
{
	uint8_t begins[BEFORE + 15 + 16] = {0}; /* from p - BEFORE - 15 on */
	const uint8_t *from = p - BEFORE - 15;

	if (p - lo < BEFORE + 15)
		return 1;
	memset(begins, 1, 15);
	for (unsigned k = 0; k < BEFORE + 15; k++) {
		struct insn i;
		unsigned len;

		if (!begins[k])
			continue;
		len = length_at(from + k, end, &i);
		if (i.map == 1 && i.op_at && from + k + i.op_at - 1 == p)
			return 1;
		if (len && len < 16)
			begins[k + len] = 1;
	}
	return begins[BEFORE + 15];
}

/*
 * Decodes from one place before it. 1: an instruction begins there; 0: none does; -1: what comes before cannot be
 * decoded.
 */
static int begins_from(const uint8_t *from, const uint8_t *end, const uint8_t *p)
{
	struct insn i;

	while (from <= p) {
		unsigned len = length_at(from, end, &i);

		if (!len)
			return -1;
		if (i.map == 1 && i.op_at && from + i.op_at - 1 == p)
			return 1;
		from += len;
	}
	return 0;
}

/* jb, jae, setb, setae, cmovb, cmovae, adc, sbb: by the carry that rdrand gives. shl $32, %rdx: the halves of rdtsc. */
static int is_used(const uint8_t *p, const uint8_t *end, int random)
{
	struct insn i;

	for (unsigned k = 0, len = 1; k < 8 && len && p < end; k++, p += len) {
		len = length_at(p, end, &i);
		if (!len)
			return 0;
		if (random && k && k <= 3 &&
		    ((i.map == 0 &&
		      ((i.op | 1) == 0x73 || (i.op & 0xfe) == 0x10 || (i.op & 0xfe) == 0x12 || (i.op & 0xfe) == 0x18 ||
		       (i.op & 0xfe) == 0x1a ||
		       (i.op == 0x83 && ((p[i.modrm_at] >> 3 & 7) == 2 || (p[i.modrm_at] >> 3 & 7) == 3)))) ||
		     (i.map == 1 && ((i.op | 1) == 0x83 || (i.op | 1) == 0x93 || (i.op | 1) == 0x43))))
			return 1;
		if (!random && k && len == 4 && !memcmp(p, "\x48\xc1\xe2\x20", 4))
			return 1;
	}
	return 0;
}

/*
 * For text of which no table says where functions begin: do all ways to decode the text before it, one of which is the
 * right one, find an instruction that begins there? The text begins at lo. starts: if it is code, an instruction
 * begins at lo.
 */
#define FAR 256
static int begins_surely(const uint8_t *lo, const uint8_t *end, const uint8_t *p, int starts)
{
	int good = 0;

	if (p - lo < FAR + 15) /* only decoding from the start is possible, if code begins there */
		return starts && begins_from(lo, end, p) == 1;
	for (int k = 0; k < 15; k++) {
		int begins = begins_from(p - FAR - k, end, p);

		if (!begins)
			return 0;
		good += begins > 0;
	}
	return good >= 8;
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

	if (p[1] == 0xa2 || !may_begin(start, end, p) || !begins_surely(start, end, p, !im->n) ||
	    (p > start && p[-1] == 0xf3) || (p > start + 1 && p[-2] == 0xf3))
		return;
	if (is_used(p, end, random))
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
	if (text && !is_other(p, vaddr, lo) && may_begin(text, text + (hi - lo), text + (vaddr - lo)) &&
	    begins_there(text, text + (hi - lo), text + (vaddr - lo)))
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
			if (*p == 0x0f && pattern(p, end))
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
		if (*p == 0x0f && pattern(p, end) && p[1] != 0xa2 && (p[1] == 0xc7) == random &&
		    (is_used(p, end, random) || (may_begin(start, end, p) && begins_surely(start, end, p, 1))))
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
