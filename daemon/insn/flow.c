/* SPDX-License-Identifier: MIT */
/* flow.c: see flow.h. */
#include "insn/flow.h"

#include <string.h>

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	unsigned at[ZYDIS_MAX_OPERAND_COUNT]; /* the operands that are written in the text, without masks */
	unsigned n;
	bool masked;
};

static bool decode(const uint8_t *code, size_t n, struct decoded *d)
{
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &d->in, d->op)))
		return false;
	d->n = 0;
	d->masked = false;
	for (unsigned k = 0; k < d->in.operand_count_visible; k++) {
		if (d->op[k].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			d->masked |= d->op[k].reg.value != ZYDIS_REGISTER_K0;
		else
			d->at[d->n++] = k;
	}
	return true;
}

/* ---- what to do, by mnemonic ---- */

struct rule {
	ZydisMnemonic mnemonic;
	enum flow_op op;
	uint8_t element; /* 0: as the operand has it */
};

#define BOTH(name, ...)                                                                                                \
	{ZYDIS_MNEMONIC_##name, __VA_ARGS__},                                                                          \
	{                                                                                                              \
		ZYDIS_MNEMONIC_V##name, __VA_ARGS__                                                                    \
	}
#define ONE(name, ...)                                                                                                 \
	{                                                                                                              \
		ZYDIS_MNEMONIC_##name, __VA_ARGS__                                                                     \
	}

static const struct rule rules[] = {
	ONE(MOV, FLOW_MOVE, 0),
	ONE(MOVZX, FLOW_MOVE, 0),
	ONE(MOVNTI, FLOW_MOVE, 0),
	BOTH(MOVD, FLOW_MOVE, 0),
	BOTH(MOVQ, FLOW_MOVE, 0),
	ONE(MOVSX, FLOW_SIGN_EXTEND, 0),
	ONE(MOVSXD, FLOW_SIGN_EXTEND, 0),
	ONE(LEA, FLOW_ADDRESS, 0),
	ONE(AND, FLOW_AND, 0),
	ONE(TEST, FLOW_AND, 0),
	ONE(OR, FLOW_OR, 0),
	ONE(XOR, FLOW_XOR, 0),
	ONE(ADD, FLOW_ADD, 0),
	ONE(SUB, FLOW_ADD, 0),
	ONE(CMP, FLOW_ADD, 0),
	ONE(ADC, FLOW_ADD_CARRY, 0),
	ONE(SBB, FLOW_ADD_CARRY, 0),
	ONE(INC, FLOW_NEGATE, 0),
	ONE(DEC, FLOW_NEGATE, 0),
	ONE(NEG, FLOW_NEGATE, 0),
	ONE(NOT, FLOW_NOT, 0),
	ONE(SHL, FLOW_SHIFT_LEFT, 0),
	ONE(SHR, FLOW_SHIFT_RIGHT, 0),
	ONE(SAR, FLOW_SHIFT_ARITHMETIC, 0),
	ONE(ROL, FLOW_ROTATE_LEFT, 0),
	ONE(ROR, FLOW_ROTATE_RIGHT, 0),
	ONE(IMUL, FLOW_MULTIPLY, 0),
	ONE(MUL, FLOW_WIDE, 0),
	ONE(DIV, FLOW_WIDE, 0),
	ONE(IDIV, FLOW_WIDE, 0),
	ONE(BSWAP, FLOW_SWAP_BYTES, 0),
	ONE(BT, FLOW_BIT_TEST, 0),
	ONE(BTS, FLOW_BIT_TEST, 0),
	ONE(BTR, FLOW_BIT_TEST, 0),
	ONE(BTC, FLOW_BIT_TEST, 0),
	ONE(BSF, FLOW_COUNT, 0),
	ONE(BSR, FLOW_COUNT, 0),
	ONE(TZCNT, FLOW_COUNT, 0),
	ONE(LZCNT, FLOW_COUNT, 0),
	ONE(POPCNT, FLOW_COUNT, 0),
	ONE(XCHG, FLOW_EXCHANGE, 0),
	ONE(XADD, FLOW_EXCHANGE_ADD, 0),
	ONE(CBW, FLOW_SIGN_EXTEND, 0),
	ONE(CWDE, FLOW_SIGN_EXTEND, 0),
	ONE(CDQE, FLOW_SIGN_EXTEND, 0),
	ONE(CWD, FLOW_SPREAD_SIGN, 0),
	ONE(CDQ, FLOW_SPREAD_SIGN, 0),
	ONE(CQO, FLOW_SPREAD_SIGN, 0),
	ONE(PUSH, FLOW_PUSH, 0),
	ONE(POP, FLOW_POP, 0),
	ONE(LEAVE, FLOW_LEAVE, 0),
	ONE(MOVSB, FLOW_STRING_COPY, 0),
	ONE(MOVSW, FLOW_STRING_COPY, 0),
	ONE(MOVSQ, FLOW_STRING_COPY, 0),
	ONE(STOSB, FLOW_STRING_FILL, 0),
	ONE(STOSW, FLOW_STRING_FILL, 0),
	ONE(STOSD, FLOW_STRING_FILL, 0),
	ONE(STOSQ, FLOW_STRING_FILL, 0),
	BOTH(MOVAPS, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVUPS, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVAPD, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVUPD, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVDQA, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVDQU, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVNTDQ, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVNTPS, FLOW_VECTOR_MOVE, 0),
	BOTH(MOVNTPD, FLOW_VECTOR_MOVE, 0),
	BOTH(LDDQU, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQU8, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQU16, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQU32, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQU64, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQA32, FLOW_VECTOR_MOVE, 0),
	ONE(VMOVDQA64, FLOW_VECTOR_MOVE, 0),
	BOTH(PAND, FLOW_VECTOR_AND, 0),
	BOTH(PANDN, FLOW_VECTOR_AND, 0),
	BOTH(ANDPS, FLOW_VECTOR_AND, 0),
	BOTH(ANDPD, FLOW_VECTOR_AND, 0),
	BOTH(ANDNPS, FLOW_VECTOR_AND, 0),
	BOTH(ANDNPD, FLOW_VECTOR_AND, 0),
	BOTH(POR, FLOW_VECTOR_OR, 0),
	BOTH(PXOR, FLOW_VECTOR_OR, 0),
	BOTH(ORPS, FLOW_VECTOR_OR, 0),
	BOTH(ORPD, FLOW_VECTOR_OR, 0),
	BOTH(XORPS, FLOW_VECTOR_OR, 0),
	BOTH(XORPD, FLOW_VECTOR_OR, 0),
	BOTH(PADDB, FLOW_VECTOR_LANES, 1),
	BOTH(PADDW, FLOW_VECTOR_LANES, 2),
	BOTH(PADDD, FLOW_VECTOR_LANES, 4),
	BOTH(PADDQ, FLOW_VECTOR_LANES, 8),
	BOTH(PSUBB, FLOW_VECTOR_LANES, 1),
	BOTH(PSUBW, FLOW_VECTOR_LANES, 2),
	BOTH(PSUBD, FLOW_VECTOR_LANES, 4),
	BOTH(PSUBQ, FLOW_VECTOR_LANES, 8),
	BOTH(PMULLD, FLOW_VECTOR_LANES, 4),
	BOTH(ADDPS, FLOW_VECTOR_LANES, 4),
	BOTH(SUBPS, FLOW_VECTOR_LANES, 4),
	BOTH(MULPS, FLOW_VECTOR_LANES, 4),
	BOTH(DIVPS, FLOW_VECTOR_LANES, 4),
	BOTH(ADDPD, FLOW_VECTOR_LANES, 8),
	BOTH(SUBPD, FLOW_VECTOR_LANES, 8),
	BOTH(MULPD, FLOW_VECTOR_LANES, 8),
	BOTH(DIVPD, FLOW_VECTOR_LANES, 8),
	BOTH(ADDSS, FLOW_VECTOR_SCALAR, 4),
	BOTH(SUBSS, FLOW_VECTOR_SCALAR, 4),
	BOTH(MULSS, FLOW_VECTOR_SCALAR, 4),
	BOTH(DIVSS, FLOW_VECTOR_SCALAR, 4),
	BOTH(ADDSD, FLOW_VECTOR_SCALAR, 8),
	BOTH(SUBSD, FLOW_VECTOR_SCALAR, 8),
	BOTH(MULSD, FLOW_VECTOR_SCALAR, 8),
	BOTH(DIVSD, FLOW_VECTOR_SCALAR, 8),
	BOTH(CVTSI2SS, FLOW_VECTOR_CONVERT, 4),
	BOTH(CVTSI2SD, FLOW_VECTOR_CONVERT, 8),
	BOTH(CVTSS2SD, FLOW_VECTOR_CONVERT, 8),
	BOTH(CVTSD2SS, FLOW_VECTOR_CONVERT, 4),
	BOTH(CVTTSS2SI, FLOW_VECTOR_CONVERT, 0),
	BOTH(CVTTSD2SI, FLOW_VECTOR_CONVERT, 0),
	BOTH(CVTSS2SI, FLOW_VECTOR_CONVERT, 0),
	BOTH(CVTSD2SI, FLOW_VECTOR_CONVERT, 0),
	BOTH(COMISS, FLOW_VECTOR_COMPARE, 4),
	BOTH(COMISD, FLOW_VECTOR_COMPARE, 8),
	BOTH(UCOMISS, FLOW_VECTOR_COMPARE, 4),
	BOTH(UCOMISD, FLOW_VECTOR_COMPARE, 8),
	BOTH(PINSRB, FLOW_VECTOR_INSERT, 1),
	BOTH(PINSRW, FLOW_VECTOR_INSERT, 2),
	BOTH(PINSRD, FLOW_VECTOR_INSERT, 4),
	BOTH(PINSRQ, FLOW_VECTOR_INSERT, 8),
	ONE(VINSERTI128, FLOW_VECTOR_INSERT, 16),
	ONE(VINSERTF128, FLOW_VECTOR_INSERT, 16),
	BOTH(PEXTRB, FLOW_VECTOR_EXTRACT, 1),
	BOTH(PEXTRW, FLOW_VECTOR_EXTRACT, 2),
	BOTH(PEXTRD, FLOW_VECTOR_EXTRACT, 4),
	BOTH(PEXTRQ, FLOW_VECTOR_EXTRACT, 8),
	ONE(VEXTRACTI128, FLOW_VECTOR_EXTRACT, 16),
	ONE(VEXTRACTF128, FLOW_VECTOR_EXTRACT, 16),
	BOTH(PUNPCKLBW, FLOW_VECTOR_LOW, 1),
	BOTH(PUNPCKLWD, FLOW_VECTOR_LOW, 2),
	BOTH(PUNPCKLDQ, FLOW_VECTOR_LOW, 4),
	BOTH(PUNPCKLQDQ, FLOW_VECTOR_LOW, 8),
	BOTH(UNPCKLPS, FLOW_VECTOR_LOW, 4),
	BOTH(UNPCKLPD, FLOW_VECTOR_LOW, 8),
	BOTH(MOVLHPS, FLOW_VECTOR_LOW, 8),
	BOTH(PUNPCKHBW, FLOW_VECTOR_HIGH, 1),
	BOTH(PUNPCKHWD, FLOW_VECTOR_HIGH, 2),
	BOTH(PUNPCKHDQ, FLOW_VECTOR_HIGH, 4),
	BOTH(PUNPCKHQDQ, FLOW_VECTOR_HIGH, 8),
	BOTH(UNPCKHPS, FLOW_VECTOR_HIGH, 4),
	BOTH(UNPCKHPD, FLOW_VECTOR_HIGH, 8),
	BOTH(PSHUFD, FLOW_VECTOR_SHUFFLE, 4),
	ONE(VPBROADCASTB, FLOW_VECTOR_BROADCAST, 1),
	ONE(VPBROADCASTW, FLOW_VECTOR_BROADCAST, 2),
	ONE(VPBROADCASTD, FLOW_VECTOR_BROADCAST, 4),
	ONE(VPBROADCASTQ, FLOW_VECTOR_BROADCAST, 8),
	ONE(VBROADCASTSS, FLOW_VECTOR_BROADCAST, 4),
	ONE(VBROADCASTSD, FLOW_VECTOR_BROADCAST, 8),
	ONE(VZEROUPPER, FLOW_VECTOR_UPPER, 0),
	ONE(VZEROALL, FLOW_VECTOR_ALL, 0),
	ONE(XRSTOR, FLOW_VECTOR_ALL, 0),
	ONE(XRSTOR64, FLOW_VECTOR_ALL, 0),
	ONE(FXRSTOR, FLOW_VECTOR_ALL, 0),
	ONE(FXRSTOR64, FLOW_VECTOR_ALL, 0),
};

static const struct rule *rule_of(const struct decoded *d)
{
	for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++)
		if (rules[k].mnemonic == d->in.mnemonic)
			return &rules[k];
	return NULL;
}

static enum flow_op op_of_category(const struct decoded *d)
{
	switch (d->in.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return FLOW_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return FLOW_JUMP;
	case ZYDIS_CATEGORY_CALL:
		return FLOW_CALL;
	case ZYDIS_CATEGORY_RET:
		return FLOW_RETURN;
	case ZYDIS_CATEGORY_CMOV:
		return FLOW_MOVE_IF;
	case ZYDIS_CATEGORY_SETCC:
		return FLOW_SET_IF;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
		return FLOW_NOTHING;
	default:
		return FLOW_UNKNOWN;
	}
}

/* ---- operands ---- */

static bool of_register(ZydisRegister reg, struct flow_loc *l)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZydisRegisterClass class = ZydisRegisterGetClass(whole);

	*l = (struct flow_loc){.reg = (uint8_t)ZydisRegisterGetId(whole),
			       .off = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH,
			       .len = (uint8_t)(ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8)};
	l->where = class == ZYDIS_REGCLASS_GPR64 ? FLOW_REGISTER
		   : class == ZYDIS_REGCLASS_ZMM ? FLOW_VECTOR
						 : FLOW_NOWHERE;
	return l->where != FLOW_NOWHERE;
}

static bool of_operand(const ZydisDecodedOperand *o, struct flow_loc *l)
{
	*l = (struct flow_loc){0};
	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return of_register(o->reg.value, l);
	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		l->where = FLOW_CONSTANT;
		return true;
	}
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB || o->size / 8 > 64)
		return false;
	*l = (struct flow_loc){.where = FLOW_MEMORY, .len = (uint8_t)(o->size / 8)};
	return true;
}

static uint8_t number_of(ZydisRegister reg)
{
	struct flow_loc l;

	return reg != ZYDIS_REGISTER_NONE && of_register(reg, &l) && l.where == FLOW_REGISTER ? l.reg : INSN_NO_REG;
}

static bool is_segment_base(const ZydisDecodedOperand *o)
{
	return o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS;
}

static void see_memory(const struct decoded *d, struct insn_flow *f)
{
	f->base = f->index = INSN_NO_REG;
	for (unsigned k = 0; k < d->in.operand_count; k++) {
		const ZydisDecodedOperand *o = &d->op[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			continue;
		f->base = number_of(o->mem.base);
		f->index = number_of(o->mem.index);
		f->scale = o->mem.scale;
		f->reads_memory |= o->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
				   (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) && !is_segment_base(o);
	}
}

/* The operands as they stand; false: there is one that is not followed. */
static bool take_operands(const struct decoded *d, struct insn_flow *f)
{
	struct flow_loc l;

	if (d->n && !of_operand(&d->op[d->at[0]], &f->dst))
		return false;
	for (unsigned k = 1; k < d->n; k++) {
		const ZydisDecodedOperand *o = &d->op[d->at[k]];

		if (!of_operand(o, &l))
			return false;
		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			f->has_imm = true;
			f->imm = o->imm.value.s;
		} else if (f->nsrc < 2) {
			f->src[f->nsrc++] = l;
		}
	}
	return true;
}

static bool is_same(const struct flow_loc *a, const struct flow_loc *b)
{
	return a->where == b->where && a->where != FLOW_MEMORY && a->reg == b->reg && a->off == b->off &&
	       a->len == b->len;
}

static bool is_vector(const struct flow_loc *l)
{
	return l->where == FLOW_VECTOR;
}

static bool is_legacy(const struct decoded *d)
{
	return d->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

/* SSE's two operands, as AVX's three. */
static void dst_is_source(struct insn_flow *f)
{
	f->src[1] = f->src[0];
	f->src[0] = f->dst;
	f->nsrc = 2;
}

/* Moves between memory and a part of a vector register. */
static bool special_move(const struct decoded *d, struct insn_flow *f)
{
	bool store = f->dst.where == FLOW_MEMORY;

	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_VMOVSS:
	case ZYDIS_MNEMONIC_VMOVSD:
		if (d->in.meta.category == ZYDIS_CATEGORY_STRINGOP) {
			f->op = FLOW_STRING_COPY;
			return true;
		}
		f->element = d->in.mnemonic == ZYDIS_MNEMONIC_MOVSS || d->in.mnemonic == ZYDIS_MNEMONIC_VMOVSS ? 4 : 8;
		if (!store && f->src[0].where == FLOW_MEMORY) {
			f->op = FLOW_MOVE;
			return true;
		}
		break;
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
	case ZYDIS_MNEMONIC_VMOVLPS:
	case ZYDIS_MNEMONIC_VMOVLPD:
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_VMOVHPS:
	case ZYDIS_MNEMONIC_VMOVHPD:
		f->element = 8;
		f->imm = d->in.mnemonic == ZYDIS_MNEMONIC_MOVHPS || d->in.mnemonic == ZYDIS_MNEMONIC_MOVHPD ||
			 d->in.mnemonic == ZYDIS_MNEMONIC_VMOVHPS || d->in.mnemonic == ZYDIS_MNEMONIC_VMOVHPD;
		f->has_imm = true;
		break;
	default:
		return false;
	}
	f->op = store ? FLOW_VECTOR_EXTRACT : FLOW_VECTOR_INSERT;
	if (!store && f->nsrc == 1)
		dst_is_source(f);
	return true;
}

static bool is_string(enum flow_op op)
{
	return op == FLOW_STRING_COPY || op == FLOW_STRING_FILL;
}

/* Registers that do not stand in the text. */
static void take_hidden(const struct decoded *d, struct insn_flow *f)
{
	unsigned width = d->in.operand_width / 8;

	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
		f->dst = (struct flow_loc){FLOW_REGISTER, INSN_RAX, 0, (uint8_t)width};
		f->src[0] = (struct flow_loc){FLOW_REGISTER, INSN_RAX, 0, (uint8_t)(width / 2)};
		f->nsrc = 1;
		break;
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		f->dst = (struct flow_loc){FLOW_REGISTER, INSN_RDX, 0, (uint8_t)width};
		f->src[0] = (struct flow_loc){FLOW_REGISTER, INSN_RAX, 0, (uint8_t)width};
		f->nsrc = 1;
		break;
	default:
		break;
	}
}

static bool is_branch_on_rcx(const struct decoded *d)
{
	return d->in.mnemonic == ZYDIS_MNEMONIC_JRCXZ || d->in.mnemonic == ZYDIS_MNEMONIC_JECXZ ||
	       d->in.mnemonic == ZYDIS_MNEMONIC_LOOP;
}

/* Bytes of the vector register that a conversion reads. */
static uint8_t converted(const struct decoded *d)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_VCVTSS2SD:
	case ZYDIS_MNEMONIC_CVTTSS2SI:
	case ZYDIS_MNEMONIC_VCVTTSS2SI:
	case ZYDIS_MNEMONIC_CVTSS2SI:
	case ZYDIS_MNEMONIC_VCVTSS2SI:
		return 4;
	default:
		return 8;
	}
}

static void arrange(const struct decoded *d, struct insn_flow *f)
{
	unsigned bits = f->dst.len * 8u;

	f->same = f->nsrc && is_same(f->nsrc == 2 ? &f->src[1] : &f->dst, &f->src[0]);
	switch ((enum flow_op)f->op) {
	case FLOW_AND:
	case FLOW_ADD:
		f->subtracts = d->in.mnemonic == ZYDIS_MNEMONIC_SUB || d->in.mnemonic == ZYDIS_MNEMONIC_CMP;
		f->keeps_dst = d->in.mnemonic == ZYDIS_MNEMONIC_TEST || d->in.mnemonic == ZYDIS_MNEMONIC_CMP;
		f->zero = f->same && (d->in.mnemonic == ZYDIS_MNEMONIC_SUB || d->in.mnemonic == ZYDIS_MNEMONIC_CMP);
		break;
	case FLOW_ADD_CARRY:
		f->zero = f->same && d->in.mnemonic == ZYDIS_MNEMONIC_SBB;
		break;
	case FLOW_XOR:
		f->zero = f->same;
		break;
	case FLOW_MULTIPLY:
		if (d->n == 1)
			f->op = FLOW_WIDE;
		else if (d->n == 2)
			dst_is_source(f);
		break;
	case FLOW_SHIFT_LEFT:
	case FLOW_SHIFT_RIGHT:
	case FLOW_SHIFT_ARITHMETIC:
	case FLOW_ROTATE_LEFT:
	case FLOW_ROTATE_RIGHT:
		if (!f->has_imm && !f->nsrc)
			f->op = FLOW_UNKNOWN;
		f->imm &= bits == 64 ? 63 : 31;
		if (bits < 32 && f->imm >= bits)
			f->op = FLOW_UNKNOWN;
		break;
	case FLOW_BIT_TEST:
		f->imm &= bits - 1;
		f->keeps_dst = d->in.mnemonic == ZYDIS_MNEMONIC_BT;
		if (f->dst.where == FLOW_MEMORY && !f->has_imm) /* a bit of a longer string */
			f->op = FLOW_UNKNOWN;
		break;
	case FLOW_BRANCH:
		f->nsrc = 0;
		if (is_branch_on_rcx(d))
			f->src[f->nsrc++] = (struct flow_loc){FLOW_REGISTER, INSN_RCX, 0, 8};
		break;
	case FLOW_CALL:
	case FLOW_JUMP:
	case FLOW_PUSH:
		f->src[0] = f->dst;
		f->nsrc = f->dst.where != FLOW_CONSTANT;
		f->dst = (struct flow_loc){0};
		break;
	case FLOW_VECTOR_AND:
	case FLOW_VECTOR_OR:
	case FLOW_VECTOR_LANES:
	case FLOW_VECTOR_SCALAR:
	case FLOW_VECTOR_INSERT:
	case FLOW_VECTOR_LOW:
	case FLOW_VECTOR_HIGH:
		if (f->nsrc == 1)
			dst_is_source(f);
		f->same = is_same(&f->src[0], &f->src[1]);
		f->zero =
			f->same && (d->in.mnemonic == ZYDIS_MNEMONIC_PXOR || d->in.mnemonic == ZYDIS_MNEMONIC_VPXOR ||
				    d->in.mnemonic == ZYDIS_MNEMONIC_XORPS || d->in.mnemonic == ZYDIS_MNEMONIC_VXORPS ||
				    d->in.mnemonic == ZYDIS_MNEMONIC_XORPD || d->in.mnemonic == ZYDIS_MNEMONIC_VXORPD);
		break;
	case FLOW_VECTOR_COMPARE:
		dst_is_source(f);
		break;
	case FLOW_VECTOR_CONVERT:
		if (f->nsrc == 2) /* AVX: the rest is the first one's */
			f->src[0] = f->src[1];
		f->nsrc = 1;
		if (f->src[0].where == FLOW_VECTOR)
			f->src[0].len = converted(d);
		break;
	case FLOW_MOVE:
		if (f->src[0].where == FLOW_VECTOR && f->dst.where == FLOW_VECTOR)
			f->src[0].len = 8;
		break;
	default:
		break;
	}
}

static bool writes_sp(const struct decoded *d)
{
	for (unsigned k = 0; k < d->in.operand_count; k++)
		if (d->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && d->op[k].reg.value == ZYDIS_REGISTER_RSP &&
		    (d->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return true;
	return false;
}

static bool lowers_sp(const struct decoded *d)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_ENTER:
		return true;
	default:
		return false;
	}
}

void insn_flow(const uint8_t *code, size_t n, struct insn_flow *f)
{
	const struct rule *rule;
	struct insn_regs regs;
	struct decoded d;

	*f = (struct insn_flow){.op = FLOW_UNKNOWN, .base = INSN_NO_REG, .index = INSN_NO_REG};
	if (!decode(code, n, &d))
		return;
	insn_regs(code, n, &regs);
	f->writes = regs.writes;
	f->touches = regs.reads | regs.writes;
	if (d.in.cpu_flags) {
		f->tested = (uint16_t)(d.in.cpu_flags->tested & FLOW_FLAGS);
		f->flags = (uint16_t)((d.in.cpu_flags->modified | d.in.cpu_flags->set_0 | d.in.cpu_flags->set_1 |
				       d.in.cpu_flags->undefined) &
				      FLOW_FLAGS);
	}
	see_memory(&d, f);
	f->moves_sp = writes_sp(&d);
	f->lowers = f->moves_sp && lowers_sp(&d);
	f->from_operand = d.n && d.op[d.at[0]].encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG;
	rule = rule_of(&d);
	f->op = (uint8_t)(rule ? rule->op : op_of_category(&d));
	f->element = rule ? rule->element : 0;
	if (!take_operands(&d, f) || (d.masked && rule)) {
		f->op = FLOW_UNKNOWN;
		return;
	}
	if (!special_move(&d, f))
		take_hidden(&d, f);
	if (!is_string(f->op))
		arrange(&d, f);
	f->zeroes = is_vector(&f->dst) && (!is_legacy(&d) || f->op == FLOW_MOVE);
	if (f->op == FLOW_NOTHING)
		f->base = f->index = INSN_NO_REG;
}
