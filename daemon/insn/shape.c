/* SPDX-License-Identifier: MIT */
/* shape.c: insn_shape of insn.h. */
#include <string.h>

#include <Zydis/Zydis.h>

#include "insn/insn.h"

struct decoded {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *code, size_t n, struct decoded *d)
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &d->in, d->op));
}

static bool reads(const ZydisDecodedOperand *o)
{
	return (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

static bool writes(const ZydisDecodedOperand *o)
{
	return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

static void string_operand(const ZydisDecodedOperand *o, struct insn_shape *s)
{
	s->string = o->size / 8;
	s->reads_rsi |= o->mem.base == ZYDIS_REGISTER_RSI && reads(o);
	s->reads_rdi |= o->mem.base == ZYDIS_REGISTER_RDI && reads(o);
	s->writes_rdi |= o->mem.base == ZYDIS_REGISTER_RDI && writes(o);
}

/* Is the mask in a vector register (maskmov), and not an opmask? */
static bool has_vector_mask(const struct decoded *d)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return true;
	default:
		return false;
	}
}

static bool has_vector_register(const struct decoded *d)
{
	for (unsigned k = 0; k < d->in.operand_count_visible; k++) {
		ZydisRegisterClass class = d->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER
						   ? ZydisRegisterGetClass(d->op[k].reg.value)
						   : ZYDIS_REGCLASS_INVALID;

		if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM || class == ZYDIS_REGCLASS_ZMM)
			return true;
	}
	return false;
}

/* There are as many elements as fit for the wider of data and indices. */
static void gather(const struct decoded *d, const ZydisDecodedOperand *o, struct insn_shape *s)
{
	bool evex = d->in.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	unsigned bytes = d->in.avx.vector_length / 8u;

	s->element = (evex ? d->in.raw.evex.W : d->in.raw.vex.W) ? 8 : 4;
	s->index = d->in.opcode & 1 ? 8 : 4;
	s->count = bytes / (s->element > s->index ? s->element : s->index);
	s->scale = o->mem.scale;
}

static void memory_operand(const struct decoded *d, const ZydisDecodedOperand *o, struct insn_shape *s)
{
	bool evex = d->in.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;

	s->bytes = o->size / 8;
	if (evex && d->in.avx.broadcast.mode)
		s->bytes = o->element_size / 8;
	s->reads = reads(o);
	s->writes = writes(o);
	s->fs = o->mem.segment == ZYDIS_REGISTER_FS;
	s->gs = o->mem.segment == ZYDIS_REGISTER_GS;
	s->vector = has_vector_register(d);
	s->locked = (d->in.attributes & ZYDIS_ATTRIB_HAS_LOCK) || d->in.mnemonic == ZYDIS_MNEMONIC_XCHG;
	s->irregular = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB || has_vector_mask(d);
	s->masked = evex && d->in.avx.mask.reg != ZYDIS_REGISTER_NONE && d->in.avx.mask.reg != ZYDIS_REGISTER_K0;
	s->packed = d->in.meta.category == ZYDIS_CATEGORY_COMPRESS || d->in.meta.category == ZYDIS_CATEGORY_EXPAND;
	s->element = o->element_size ? o->element_size / 8 : s->bytes;
	if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		gather(d, o, s);
	if (evex && d->in.raw.disp.size == 8)
		s->scaled = o->mem.disp.value - (int64_t)(int8_t)d->in.raw.disp.value;
}

void insn_shape(const uint8_t *code, size_t n, struct insn_shape *s)
{
	struct decoded d;

	memset(s, 0, sizeof(*s));
	if (!decode(code, n, &d))
		return;
	s->len = d.in.length;
	s->call = d.in.meta.category == ZYDIS_CATEGORY_CALL;
	s->ret = d.in.meta.category == ZYDIS_CATEGORY_RET;
	s->direct = s->call && d.op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d.op[0].imm.is_relative;
	if (s->direct)
		s->target = d.op[0].imm.value.s + d.in.length;
	if (d.in.meta.category == ZYDIS_CATEGORY_PREFETCH || d.in.meta.category == ZYDIS_CATEGORY_NOP ||
	    d.in.meta.category == ZYDIS_CATEGORY_WIDENOP)
		return;
	s->jumps = (s->call || d.in.meta.category == ZYDIS_CATEGORY_UNCOND_BR) &&
		   d.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
	for (unsigned k = 0; k < d.in.operand_count; k++) {
		const ZydisDecodedOperand *o = &d.op[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (d.in.meta.category == ZYDIS_CATEGORY_STRINGOP)
			string_operand(o, s);
		else if (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			memory_operand(&d, o, s);
	}
}
