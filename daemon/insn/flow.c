/* SPDX-License-Identifier: MIT */
/* flow.c: see flow.h. */
#include "insn/flow.h"

#include <string.h>

#include "insn/flow_rules.h"

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
	}
}

/* Takes the operands in their order; false: one of them cannot be followed. */
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

/* SSE has two operands where AVX has three: the first is a source, too. */
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

/* Takes the registers that are not in the text. */
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

/* How many bytes of the vector register a conversion reads. */
static uint8_t converted(const struct decoded *d)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_VCVTSS2SD:
	case ZYDIS_MNEMONIC_CVTTSS2SI:
	case ZYDIS_MNEMONIC_VCVTTSS2SI:
	case ZYDIS_MNEMONIC_CVTSS2SI:
	case ZYDIS_MNEMONIC_VCVTSS2SI:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_VRCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_VRSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_VROUNDSS:
		return 4;
	default:
		return 8;
	}
}

/* ---- operands, in the order that flow.h says for the operation ---- */

static bool is_mnemonic(const struct decoded *d, ZydisMnemonic a, ZydisMnemonic b)
{
	return d->in.mnemonic == a || d->in.mnemonic == b;
}

static void arrange_and_add(const struct decoded *d, struct insn_flow *f)
{
	f->subtracts = is_mnemonic(d, ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_CMP);
	f->keeps_dst = is_mnemonic(d, ZYDIS_MNEMONIC_TEST, ZYDIS_MNEMONIC_CMP);
	f->zero = f->same && f->subtracts;
}

static void arrange_negate(const struct decoded *d, struct insn_flow *f)
{
	f->increments = d->in.mnemonic == ZYDIS_MNEMONIC_INC;
}

static void arrange_add_carry(const struct decoded *d, struct insn_flow *f)
{
	f->zero = f->same && d->in.mnemonic == ZYDIS_MNEMONIC_SBB;
}

static void arrange_address(const struct decoded *d, struct insn_flow *f)
{
	f->imm = d->op[d->at[1]].mem.disp.value;
}

static void arrange_xor(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	f->zero = f->same;
}

static void arrange_multiply(const struct decoded *d, struct insn_flow *f)
{
	if (d->n == 1)
		f->op = FLOW_WIDE;
	else if (d->n == 2)
		dst_is_source(f);
}

static void arrange_mix(const struct decoded *d, struct insn_flow *f)
{
	if (d->in.mnemonic == ZYDIS_MNEMONIC_MULX) {
		f->src[0] = f->src[1];
		f->src[1] = (struct flow_loc){FLOW_REGISTER, INSN_RDX, 0, f->dst.len};
	} else {
		dst_is_source(f);
		f->nsrc = d->in.mnemonic == ZYDIS_MNEMONIC_CRC32 ? 2 : 1;
	}
}

static void arrange_double_shift(const struct decoded *d, struct insn_flow *f)
{
	f->left = d->in.mnemonic == ZYDIS_MNEMONIC_SHLD;
	f->imm &= f->dst.len == 8 ? 63 : 31;
	if (f->dst.len < 4)
		f->op = FLOW_UNKNOWN;
}

static void arrange_shift(const struct decoded *d, struct insn_flow *f)
{
	unsigned bits = f->dst.len * 8u;

	(void)d;
	if (!f->has_imm && !f->nsrc)
		f->op = FLOW_UNKNOWN;
	f->imm &= bits == 64 ? 63 : 31;
	if (bits < 32 && f->imm >= bits)
		f->op = FLOW_UNKNOWN;
}

static void arrange_bit_test(const struct decoded *d, struct insn_flow *f)
{
	f->imm &= f->dst.len * 8u - 1;
	f->keeps_dst = d->in.mnemonic == ZYDIS_MNEMONIC_BT;
	if (f->dst.where == FLOW_MEMORY && !f->has_imm) /* a bit of a string that is longer than the operand */
		f->op = FLOW_UNKNOWN;
}

static void arrange_branch(const struct decoded *d, struct insn_flow *f)
{
	f->nsrc = 0;
	if (is_branch_on_rcx(d))
		f->src[f->nsrc++] = (struct flow_loc){FLOW_REGISTER, INSN_RCX, 0, 8};
}

/* The only operand is a source. */
static void arrange_source(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	f->src[0] = f->dst;
	f->nsrc = f->dst.where != FLOW_CONSTANT;
	f->dst = (struct flow_loc){0};
}

/* If both operands are the same vector: is the result the same for any vector? */
static bool is_same_for_all(ZydisMnemonic m)
{
	static const ZydisMnemonic of_itself[] = {
		ZYDIS_MNEMONIC_PXOR,	ZYDIS_MNEMONIC_VPXOR,	 ZYDIS_MNEMONIC_XORPS,	 ZYDIS_MNEMONIC_VXORPS,
		ZYDIS_MNEMONIC_XORPD,	ZYDIS_MNEMONIC_VXORPD,	 ZYDIS_MNEMONIC_PCMPEQB, ZYDIS_MNEMONIC_VPCMPEQB,
		ZYDIS_MNEMONIC_PCMPEQW, ZYDIS_MNEMONIC_VPCMPEQW, ZYDIS_MNEMONIC_PCMPEQD, ZYDIS_MNEMONIC_VPCMPEQD,
		ZYDIS_MNEMONIC_PCMPEQQ, ZYDIS_MNEMONIC_VPCMPEQQ, ZYDIS_MNEMONIC_PCMPGTB, ZYDIS_MNEMONIC_VPCMPGTB,
		ZYDIS_MNEMONIC_PCMPGTW, ZYDIS_MNEMONIC_VPCMPGTW, ZYDIS_MNEMONIC_PCMPGTD, ZYDIS_MNEMONIC_VPCMPGTD,
		ZYDIS_MNEMONIC_PCMPGTQ, ZYDIS_MNEMONIC_VPCMPGTQ, ZYDIS_MNEMONIC_PSUBB,	 ZYDIS_MNEMONIC_VPSUBB,
		ZYDIS_MNEMONIC_PSUBW,	ZYDIS_MNEMONIC_VPSUBW,	 ZYDIS_MNEMONIC_PSUBD,	 ZYDIS_MNEMONIC_VPSUBD,
		ZYDIS_MNEMONIC_PSUBQ,	ZYDIS_MNEMONIC_VPSUBQ,	 ZYDIS_MNEMONIC_PANDN,	 ZYDIS_MNEMONIC_VPANDN,
	};

	for (size_t k = 0; k < sizeof(of_itself) / sizeof(of_itself[0]); k++)
		if (of_itself[k] == m)
			return true;
	return false;
}

static bool is_and_not(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_PANDN || m == ZYDIS_MNEMONIC_VPANDN || m == ZYDIS_MNEMONIC_ANDNPS ||
	       m == ZYDIS_MNEMONIC_VANDNPS || m == ZYDIS_MNEMONIC_ANDNPD || m == ZYDIS_MNEMONIC_VANDNPD;
}

static void arrange_two_vectors(const struct decoded *d, struct insn_flow *f)
{
	f->inverts = is_and_not(d->in.mnemonic);
	f->adds_dst = d->in.meta.category == ZYDIS_CATEGORY_VFMA;
	if (f->nsrc == 1)
		dst_is_source(f);
	f->same = is_same(&f->src[0], &f->src[1]);
	f->zero = f->same && is_same_for_all(d->in.mnemonic);
}

/* Elements of one register, or of two. */
static void arrange_permute(const struct decoded *d, struct insn_flow *f)
{
	bool two = f->wide == FLOW_TWO_AND_TWO || f->wide == FLOW_BLEND || f->wide == FLOW_HALVES;

	if (two)
		arrange_two_vectors(d, f);
	else if (f->nsrc != 1 || (f->wide != FLOW_EVEN && f->wide != FLOW_ODD && !f->has_imm))
		f->op = FLOW_UNKNOWN; /* it depends on what a register contains */
}

static void arrange_shuffle(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	if (!f->has_imm)
		f->op = FLOW_UNKNOWN;
}

static void arrange_vector_test(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	dst_is_source(f);
	f->dst = (struct flow_loc){0};
}

/* By a constant, or by what a register or memory has. */
static void arrange_vector_shift(const struct decoded *d, struct insn_flow *f)
{
	if (f->has_imm && !f->nsrc) {
		f->src[0] = f->dst;
		f->nsrc = 1;
	} else if (!f->has_imm) {
		f->op = FLOW_VECTOR_SHIFT_BY;
		arrange_two_vectors(d, f);
	}
}

static void arrange_vector_bytes(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	if (!f->nsrc)
		f->src[f->nsrc++] = f->dst;
}

static void arrange_vector_extend(const struct decoded *d, struct insn_flow *f)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_PMOVZXBQ:
	case ZYDIS_MNEMONIC_PMOVSXBQ:
	case ZYDIS_MNEMONIC_VPMOVZXBQ:
	case ZYDIS_MNEMONIC_VPMOVSXBQ:
		f->wide = 8;
		break;
	case ZYDIS_MNEMONIC_PMOVZXBD:
	case ZYDIS_MNEMONIC_PMOVSXBD:
	case ZYDIS_MNEMONIC_VPMOVZXBD:
	case ZYDIS_MNEMONIC_VPMOVSXBD:
	case ZYDIS_MNEMONIC_PMOVZXWQ:
	case ZYDIS_MNEMONIC_PMOVSXWQ:
	case ZYDIS_MNEMONIC_VPMOVZXWQ:
	case ZYDIS_MNEMONIC_VPMOVSXWQ:
		f->wide = (uint8_t)(f->element * 4);
		break;
	default:
		f->wide = (uint8_t)(f->element * 2);
	}
}

static void arrange_compare(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	dst_is_source(f);
}

static void arrange_convert(const struct decoded *d, struct insn_flow *f)
{
	if (f->nsrc == 2) /* AVX: the other bytes are those of the first source */
		f->src[0] = f->src[1];
	f->nsrc = 1;
	if (f->src[0].where == FLOW_VECTOR)
		f->src[0].len = converted(d);
}

static void arrange_move(const struct decoded *d, struct insn_flow *f)
{
	(void)d;
	if (f->src[0].where == FLOW_VECTOR && f->dst.where == FLOW_VECTOR)
		f->src[0].len = 8;
}

/* NULL: the operands stay as they are written. */
static void (*const arranges[FLOW_OPS])(const struct decoded *d, struct insn_flow *f) = {
	[FLOW_MOVE] = arrange_move,
	[FLOW_ADDRESS] = arrange_address,
	[FLOW_AND] = arrange_and_add,
	[FLOW_XOR] = arrange_xor,
	[FLOW_ADD] = arrange_and_add,
	[FLOW_ADD_CARRY] = arrange_add_carry,
	[FLOW_SHIFT_LEFT... FLOW_ROTATE_RIGHT] = arrange_shift,
	[FLOW_MULTIPLY] = arrange_multiply,
	[FLOW_BIT_TEST] = arrange_bit_test,
	[FLOW_BRANCH] = arrange_branch,
	[FLOW_PUSH] = arrange_source,
	[FLOW_CALL... FLOW_JUMP] = arrange_source,
	[FLOW_NEGATE] = arrange_negate,
	[FLOW_MIX] = arrange_mix,
	[FLOW_DOUBLE_SHIFT] = arrange_double_shift,
	[FLOW_VECTOR_AND... FLOW_VECTOR_MIX] = arrange_two_vectors,
	[FLOW_VECTOR_SHIFT_BY] = arrange_two_vectors,
	[FLOW_VECTOR_PERMUTE] = arrange_permute,
	[FLOW_VECTOR_SHUFFLE] = arrange_shuffle,
	[FLOW_VECTOR_SHIFT_LEFT... FLOW_VECTOR_SHIFT_ARITHMETIC] = arrange_vector_shift,
	[FLOW_VECTOR_BYTES_LEFT... FLOW_VECTOR_BYTES_RIGHT] = arrange_vector_bytes,
	[FLOW_VECTOR_EXTEND] = arrange_vector_extend,
	[FLOW_VECTOR_TEST] = arrange_vector_test,
	[FLOW_VECTOR_CONVERT] = arrange_convert,
	[FLOW_VECTOR_COMPARE] = arrange_compare,
};

static void arrange(const struct decoded *d, struct insn_flow *f)
{
	f->same = f->nsrc && is_same(f->nsrc == 2 ? &f->src[1] : &f->dst, &f->src[0]);
	if (arranges[f->op])
		arranges[f->op](d, f);
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
	const struct flow_rule *rule;
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
	rule = flow_rule_of(d.in.mnemonic);
	f->op = (uint8_t)(rule ? rule->op : op_of_category(&d));
	f->element = rule ? rule->element : 0;
	f->wide = rule ? rule->wide : 0;
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
