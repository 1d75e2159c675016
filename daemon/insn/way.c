/* SPDX-License-Identifier: MIT */
/* way.c: insn_way of insn.h. */
#include <string.h>

#include <Zydis/Zydis.h>

#include "insn/insn.h"

void insn_way(const uint8_t *code, size_t n, struct insn_way *w)
{
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	bool goes;

	memset(w, 0, sizeof(*w));
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, n, &in)))
		return;
	w->len = in.length;
	w->falls_through = in.meta.category != ZYDIS_CATEGORY_RET && in.meta.category != ZYDIS_CATEGORY_UNCOND_BR &&
			   in.mnemonic != ZYDIS_MNEMONIC_HLT && in.mnemonic != ZYDIS_MNEMONIC_UD2;
	w->syscall = in.meta.category == ZYDIS_CATEGORY_SYSCALL;
	goes = in.meta.category == ZYDIS_CATEGORY_CALL || in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       in.meta.category == ZYDIS_CATEGORY_COND_BR;
	w->indirect = goes && !in.raw.imm[0].is_relative;
	if (goes && !w->indirect)
		w->target = in.length + in.raw.imm[0].value.s;
}
