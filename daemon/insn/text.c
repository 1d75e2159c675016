/* SPDX-License-Identifier: MIT */
/* text.c: insn_text of insn.h. */
#include <stdio.h>

#include <Zydis/Zydis.h>

#include "insn/insn.h"

/* Prints numbers as GDB does: in lower case, without leading zeros. */
static bool as_gdb(ZydisFormatter *f)
{
	static const ZydisFormatterProperty paddings[] = {
		ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
		ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING};
	bool ok = ZYAN_SUCCESS(ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE));

	for (unsigned k = 0; k < sizeof(paddings) / sizeof(paddings[0]); k++)
		ok &= ZYAN_SUCCESS(ZydisFormatterSetProperty(f, paddings[k], ZYDIS_PADDING_DISABLED));
	return ok;
}

void insn_text(const uint8_t *code, size_t n, uint64_t pc, char *text, size_t size)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisFormatter formatter;
	ZydisDecoder decoder;

	if (ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	    ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &in, op)) &&
	    ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)) && as_gdb(&formatter) &&
	    ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &in, op, in.operand_count_visible, text, size, pc,
							 NULL)))
		return;
	snprintf(text, size, "(bad)");
}
