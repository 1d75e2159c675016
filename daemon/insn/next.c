/* SPDX-License-Identifier: MIT */
/* next.c: see next.h. */
#include "insn/next.h"

#include <stdbool.h>

#include <Zydis/Zydis.h>

static bool ends(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_HLT || m == ZYDIS_MNEMONIC_UD0 || m == ZYDIS_MNEMONIC_UD1 ||
	       m == ZYDIS_MNEMONIC_UD2 || m == ZYDIS_MNEMONIC_INT3;
}

static enum insn_next_kind kind_of(const ZydisDecodedInstruction *in, bool direct)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return NEXT_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? NEXT_JUMP : NEXT_ANYWHERE;
	case ZYDIS_CATEGORY_CALL:
		return NEXT_CALL;
	case ZYDIS_CATEGORY_RET:
		return NEXT_RETURN;
	default:
		return ends(in->mnemonic) ? NEXT_NOWHERE : NEXT_FOLLOWS;
	}
}

struct insn_next insn_next(const uint8_t *code, size_t n, uint64_t pc)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	struct insn_next x = {0};
	ZydisDecoder decoder;
	bool direct;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &in, op)))
		return x;
	x.len = in.length;
	direct = in.operand_count && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[0].imm.is_relative;
	x.kind = kind_of(&in, direct);
	if (direct)
		ZydisCalcAbsoluteAddress(&in, &op[0], pc, &x.target);
	else if ((x.kind == NEXT_CALL || x.kind == NEXT_ANYWHERE) && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 op[0].mem.base == ZYDIS_REGISTER_RIP)
		ZydisCalcAbsoluteAddress(&in, &op[0], pc, &x.slot);
	return x;
}
