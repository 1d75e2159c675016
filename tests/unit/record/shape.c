/* SPDX-License-Identifier: MIT */
/* shape.c: see shape.h. */
#include "shape.h"

#include <Zydis/Zydis.h>

#include "insn/insn.h"

int shape_bytes(const uint8_t *code, size_t n, unsigned *len)
{
	struct insn_shape s;

	insn_shape(code, n, &s);
	*len = s.len;
	if (!s.len)
		return -1;
	return s.irregular || s.masked || s.scaled ? -2 : (int)s.bytes;
}

unsigned shape_way(const uint8_t *code, size_t n)
{
	struct insn_shape s;

	insn_shape(code, n, &s);
	return s.locked ? 4 : (unsigned)s.reads | (unsigned)s.writes << 1;
}

#define FLAGS                                                                                                          \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |                \
	 ZYDIS_CPUFLAG_OF)

unsigned shape_flags(const uint8_t *code, size_t n)
{
	ZydisDecodedInstruction i;
	const ZydisAccessedFlags *f;
	ZydisDecoder d;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code, n, &i)))
		return 0;
	f = i.cpu_flags;
	if (!f)
		return 2;
	return (f->tested & FLAGS ? 1u : 0u) | (FLAGS & ~(f->modified | f->set_0 | f->set_1 | f->undefined) ? 2u : 0u);
}
