/* SPDX-License-Identifier: MIT */
/* regs.c: see regs.h. One table gives the order, the description and where a value is. */
#include "rsp/regs.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "rsp/packet.h"

enum where { GENERAL, ST, FPU, XMM, MXCSR, YMMH };

struct reg_group {
	const char *feature;
	const char *name; /* with %u when there are several */
	unsigned count, bits;
	const char *type;
	enum where where;
	size_t offset; /* in user_regs_struct; for FPU: the number of the register */
};

#define R(name_, field, bits_, type_)                                                                                  \
	{                                                                                                              \
		NULL, name_, 1, bits_, type_, GENERAL, offsetof(struct user_regs_struct, field)                        \
	}
#define F(name_, which)                                                                                                \
	{                                                                                                              \
		NULL, name_, 1, 32, "int", FPU, which                                                                  \
	}

static const struct reg_group groups[] = {
	{"org.gnu.gdb.i386.core", "rax", 1, 64, "int64", GENERAL, offsetof(struct user_regs_struct, rax)},
	R("rbx", rbx, 64, "int64"),
	R("rcx", rcx, 64, "int64"),
	R("rdx", rdx, 64, "int64"),
	R("rsi", rsi, 64, "int64"),
	R("rdi", rdi, 64, "int64"),
	R("rbp", rbp, 64, "data_ptr"),
	R("rsp", rsp, 64, "data_ptr"),
	R("r8", r8, 64, "int64"),
	R("r9", r9, 64, "int64"),
	R("r10", r10, 64, "int64"),
	R("r11", r11, 64, "int64"),
	R("r12", r12, 64, "int64"),
	R("r13", r13, 64, "int64"),
	R("r14", r14, 64, "int64"),
	R("r15", r15, 64, "int64"),
	R("rip", rip, 64, "code_ptr"),
	R("eflags", eflags, 32, "int32"),
	R("cs", cs, 32, "int32"),
	R("ss", ss, 32, "int32"),
	R("ds", ds, 32, "int32"),
	R("es", es, 32, "int32"),
	R("fs", fs, 32, "int32"),
	R("gs", gs, 32, "int32"),
	{NULL, "st%u", 8, 80, "i387_ext", ST, 0},
	F("fctrl", 0),
	F("fstat", 1),
	F("ftag", 2),
	F("fiseg", 3),
	F("fioff", 4),
	F("foseg", 5),
	F("fooff", 6),
	F("fop", 7),
	{"org.gnu.gdb.i386.sse", "xmm%u", 16, 128, "vec128", XMM, 0},
	{NULL, "mxcsr", 1, 32, "int32", MXCSR, 0},
	{"org.gnu.gdb.i386.linux", "orig_rax", 1, 64, "int64", GENERAL, offsetof(struct user_regs_struct, orig_rax)},
	{"org.gnu.gdb.i386.segments", "fs_base", 1, 64, "int64", GENERAL, offsetof(struct user_regs_struct, fs_base)},
	R("gs_base", gs_base, 64, "int64"),
	{"org.gnu.gdb.i386.avx", "ymm%uh", 16, 128, "uint128", YMMH, 0},
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

unsigned rsp_regs_count(void)
{
	unsigned n = 0;

	for (size_t g = 0; g < GROUPS; g++)
		n += groups[g].count;
	return n;
}

/* FXSAVE keeps one bit per register, 1 for "not empty"; the full tag word says 3 for empty. */
static uint32_t full_tags(uint16_t abridged)
{
	uint32_t tags = 0;

	for (unsigned i = 0; i < 8; i++)
		if (!(abridged & 1u << i))
			tags |= 3u << (2 * i);
	return tags;
}

static uint32_t fpu(const struct user_fpregs_struct *f, size_t which)
{
	const uint32_t v[] = {f->cwd,
			      f->swd,
			      full_tags(f->ftw),
			      (uint32_t)(f->rip >> 32),
			      (uint32_t)f->rip,
			      (uint32_t)(f->rdp >> 32),
			      (uint32_t)f->rdp,
			      f->fop};

	return v[which];
}

static void value(struct buf *b, const struct rsp_regs *r, const struct reg_group *g, unsigned i)
{
	uint32_t word;

	switch (g->where) {
	case GENERAL:
		rsp_hex(b, (const char *)&r->r + g->offset, g->bits / 8);
		break;
	case ST:
		rsp_hex(b, (const char *)r->fp.st_space + 16 * i, 10);
		break;
	case FPU:
		word = fpu(&r->fp, g->offset);
		rsp_hex(b, &word, 4);
		break;
	case XMM:
		rsp_hex(b, (const char *)r->fp.xmm_space + 16 * i, 16);
		break;
	case MXCSR:
		rsp_hex(b, &r->fp.mxcsr, 4);
		break;
	case YMMH:
		rsp_hex(b, r->ymmh[i], 16);
		break;
	}
}

void rsp_reg_hex(struct buf *b, const struct rsp_regs *r, unsigned i)
{
	for (size_t g = 0; g < GROUPS; g++) {
		if (i < groups[g].count) {
			value(b, r, &groups[g], i);
			return;
		}
		i -= groups[g].count;
	}
}

static uint16_t abridged_tags(uint32_t tags)
{
	uint16_t ftw = 0;

	for (unsigned i = 0; i < 8; i++)
		if ((tags >> (2 * i) & 3) != 3)
			ftw |= (uint16_t)(1u << i);
	return ftw;
}

static void set_fpu(struct user_fpregs_struct *f, size_t which, uint32_t v)
{
	const uint64_t low = 0xffffffffu, high = (uint64_t)v << 32;

	switch (which) {
	case 0:
		f->cwd = (uint16_t)v;
		break;
	case 1:
		f->swd = (uint16_t)v;
		break;
	case 2:
		f->ftw = abridged_tags(v);
		break;
	case 3:
		f->rip = (f->rip & low) | high;
		break;
	case 4:
		f->rip = (f->rip & ~low) | v;
		break;
	case 5:
		f->rdp = (f->rdp & low) | high;
		break;
	case 6:
		f->rdp = (f->rdp & ~low) | v;
		break;
	case 7:
		f->fop = (uint16_t)v;
		break;
	}
}

static void set_value(struct rsp_regs *r, const struct reg_group *g, unsigned i, const uint8_t *v)
{
	uint32_t word;

	memcpy(&word, v, sizeof(word));
	switch (g->where) {
	case GENERAL:
		memcpy((char *)&r->r + g->offset, v, g->bits / 8);
		break;
	case ST:
		memcpy((char *)r->fp.st_space + 16 * i, v, 10);
		break;
	case FPU:
		set_fpu(&r->fp, g->offset, word);
		break;
	case XMM:
		memcpy((char *)r->fp.xmm_space + 16 * i, v, 16);
		break;
	case MXCSR:
		r->fp.mxcsr = word;
		break;
	case YMMH:
		memcpy(r->ymmh[i], v, 16);
		break;
	}
}

size_t rsp_reg_set(struct rsp_regs *r, unsigned i, const char *hex)
{
	uint8_t v[16] = {0};

	for (size_t g = 0; g < GROUPS; g++) {
		size_t len = groups[g].bits / 8;

		if (i >= groups[g].count) {
			i -= groups[g].count;
			continue;
		}
		if (rsp_unhex(hex, v, len) != len)
			return 0;
		set_value(r, &groups[g], i, v);
		return len;
	}
	return 0;
}

static const char vec128[] =
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/><vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/><vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/><vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/><field name=\"v2_double\" type=\"v2d\"/>"
	"<field name=\"v16_int8\" type=\"v16i8\"/><field name=\"v8_int16\" type=\"v8i16\"/>"
	"<field name=\"v4_int32\" type=\"v4i32\"/><field name=\"v2_int64\" type=\"v2i64\"/>"
	"<field name=\"uint128\" type=\"uint128\"/></union>";

void rsp_regs_xml(struct buf *b)
{
	bool open = false;

	buf_add_str(b, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
		       "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>");
	for (size_t g = 0; g < GROUPS; g++) {
		if (groups[g].feature) {
			buf_addf(b, "%s<feature name=\"%s\">", open ? "</feature>" : "", groups[g].feature);
			open = true;
			if (groups[g].where == XMM)
				buf_add_str(b, vec128);
		}
		for (unsigned i = 0; i < groups[g].count; i++) {
			buf_add_str(b, "<reg name=\"");
			if (strchr(groups[g].name, '%'))
				buf_addf(b, "%.*s%u%s", (int)strcspn(groups[g].name, "%"), groups[g].name, i,
					 strchr(groups[g].name, '%') + 2);
			else
				buf_add_str(b, groups[g].name);
			buf_addf(b, "\" bitsize=\"%u\" type=\"%s\"/>", groups[g].bits, groups[g].type);
		}
	}
	buf_add_str(b, "</feature></target>");
}
