/* SPDX-License-Identifier: MIT */
/* emulate_decode.c: the instructions that emulate.h knows: decoded by Zydis, each executed by a function of the table.
 */
#include "insn/emulate_int.h"

#include <Zydis/Zydis.h>

#define CONDITION(name, number)                                                                                        \
	{ZYDIS_MNEMONIC_J##name, emulate_do_jcc, number}, {ZYDIS_MNEMONIC_SET##name, emulate_do_set, number},          \
	{                                                                                                              \
		ZYDIS_MNEMONIC_CMOV##name, emulate_do_cmov, number                                                     \
	}

static const struct {
	ZydisMnemonic mnemonic;
	emulate_fn *run;
	unsigned arg;
} known[] = {
	{ZYDIS_MNEMONIC_MOV, emulate_do_mov, 0},
	{ZYDIS_MNEMONIC_MOVZX, emulate_do_mov, 0},
	{ZYDIS_MNEMONIC_MOVSX, emulate_do_movsx, 0},
	{ZYDIS_MNEMONIC_MOVSXD, emulate_do_movsx, 0},
	{ZYDIS_MNEMONIC_LEA, emulate_do_lea, 0},
	{ZYDIS_MNEMONIC_XCHG, emulate_do_xchg, 0},
	{ZYDIS_MNEMONIC_CBW, emulate_do_extend_rax, 8},
	{ZYDIS_MNEMONIC_CWDE, emulate_do_extend_rax, 16},
	{ZYDIS_MNEMONIC_CDQE, emulate_do_extend_rax, 32},
	{ZYDIS_MNEMONIC_CDQ, emulate_do_sign_to_rdx, 32},
	{ZYDIS_MNEMONIC_CQO, emulate_do_sign_to_rdx, 64},
	{ZYDIS_MNEMONIC_NOP, emulate_do_nop, 0},
	{ZYDIS_MNEMONIC_ENDBR64, emulate_do_nop, 0},
	{ZYDIS_MNEMONIC_ADD, emulate_do_arith, EMULATE_ADD},
	{ZYDIS_MNEMONIC_SUB, emulate_do_arith, EMULATE_SUB},
	{ZYDIS_MNEMONIC_CMP, emulate_do_arith, EMULATE_CMP},
	{ZYDIS_MNEMONIC_AND, emulate_do_arith, EMULATE_AND},
	{ZYDIS_MNEMONIC_OR, emulate_do_arith, EMULATE_OR},
	{ZYDIS_MNEMONIC_XOR, emulate_do_arith, EMULATE_XOR},
	{ZYDIS_MNEMONIC_TEST, emulate_do_arith, EMULATE_TEST},
	{ZYDIS_MNEMONIC_INC, emulate_do_by_one, EMULATE_ADD},
	{ZYDIS_MNEMONIC_DEC, emulate_do_by_one, EMULATE_SUB},
	{ZYDIS_MNEMONIC_NEG, emulate_do_neg, 0},
	{ZYDIS_MNEMONIC_NOT, emulate_do_not, 0},
	{ZYDIS_MNEMONIC_SHL, emulate_do_shift, EMULATE_SHL},
	{ZYDIS_MNEMONIC_SHR, emulate_do_shift, EMULATE_SHR},
	{ZYDIS_MNEMONIC_SAR, emulate_do_shift, EMULATE_SAR},
	{ZYDIS_MNEMONIC_IMUL, emulate_do_imul, 0},
	{ZYDIS_MNEMONIC_DIV, emulate_do_div, 0},
	{ZYDIS_MNEMONIC_IDIV, emulate_do_div, 1},
	{ZYDIS_MNEMONIC_PUSH, emulate_do_push, 0},
	{ZYDIS_MNEMONIC_POP, emulate_do_pop, 0},
	{ZYDIS_MNEMONIC_LEAVE, emulate_do_leave, 0},
	{ZYDIS_MNEMONIC_JMP, emulate_do_jmp, 0},
	{ZYDIS_MNEMONIC_CALL, emulate_do_call, 0},
	{ZYDIS_MNEMONIC_RET, emulate_do_ret, 0},
	CONDITION(O, 0),
	CONDITION(NO, 1),
	CONDITION(B, 2),
	CONDITION(NB, 3),
	CONDITION(Z, 4),
	CONDITION(NZ, 5),
	CONDITION(BE, 6),
	CONDITION(NBE, 7),
	CONDITION(S, 8),
	CONDITION(NS, 9),
	CONDITION(P, 10),
	CONDITION(NP, 11),
	CONDITION(L, 12),
	CONDITION(NL, 13),
	CONDITION(LE, 14),
	CONDITION(NLE, 15),
	{ZYDIS_MNEMONIC_MOVAPS, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVUPS, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVAPD, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVUPD, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVDQA, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVDQU, emulate_do_vector_move, 16},
	{ZYDIS_MNEMONIC_MOVQ, emulate_do_vector_move, 8},
	{ZYDIS_MNEMONIC_MOVD, emulate_do_vector_move, 4},
	{ZYDIS_MNEMONIC_MOVSD, emulate_do_vector_move, 8 + 1},
	{ZYDIS_MNEMONIC_MOVSS, emulate_do_vector_move, 4 + 1},
	{ZYDIS_MNEMONIC_PXOR, emulate_do_vector_zero, 0},
	{ZYDIS_MNEMONIC_XORPS, emulate_do_vector_zero, 0},
	{ZYDIS_MNEMONIC_XORPD, emulate_do_vector_zero, 0},
};

/* false: this register is not kept. */
static bool decode_register(ZydisRegister reg, struct emulate_operand *o)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	int id = ZydisRegisterGetId(whole);

	o->kind = EMULATE_REG;
	o->bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg);
	o->high = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
	if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64)
		o->reg = (uint8_t)id;
	else if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_XMM && id < 16)
		o->reg = (uint8_t)(EMULATE_XMM + id);
	else
		return false;
	return true;
}

static bool decode_part(ZydisRegister reg, uint8_t *to)
{
	struct emulate_operand o = {0};

	*to = EMULATE_NO_REG;
	if (reg == ZYDIS_REGISTER_NONE)
		return true;
	if (reg == ZYDIS_REGISTER_RIP) {
		*to = EMULATE_RIP;
		return true;
	}
	if (ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_GPR64 || !decode_register(reg, &o))
		return false;
	*to = o.reg;
	return true;
}

static bool decode_operand(const ZydisDecodedOperand *from, struct emulate_operand *o)
{
	switch (from->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return decode_register(from->reg.value, o);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		*o = (struct emulate_operand){.kind = EMULATE_IMM, .bits = 64, .value = (int64_t)from->imm.value.u};
		if (from->imm.is_signed)
			o->value = from->imm.value.s;
		return true;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		*o = (struct emulate_operand){.kind = EMULATE_MEM,
					      .bits = from->size,
					      .scale = from->mem.scale,
					      .value = from->mem.disp.value};
		o->fs = from->mem.segment == ZYDIS_REGISTER_FS || from->mem.segment == ZYDIS_REGISTER_GS;
		return decode_part(from->mem.base, &o->base) && decode_part(from->mem.index, &o->index);
	default:
		return false;
	}
}

/*
 * Are there no prefixes that lock or repeat, and no addresses of 32 bits? (In rep ret and bnd jumps the prefix has no
 * effect.)
 */
static bool is_plain(const ZydisDecodedInstruction *in)
{
	return in->address_width == 64 && !(in->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP |
							      ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE));
}

void emulate_decode(struct emulate_insn *i, const uint8_t *code, size_t n)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	unsigned k;

	i->run = NULL;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &in, op)) || !is_plain(&in))
		return;
	i->len = in.length;
	for (k = 0; k < in.operand_count_visible && k < EMULATE_OPERANDS; k++)
		if (!decode_operand(&op[k], &i->op[k]))
			return;
	if (k < in.operand_count_visible)
		return;
	for (k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (known[k].mnemonic == in.mnemonic) {
			i->run = known[k].run;
			i->arg = known[k].arg;
		}
}
