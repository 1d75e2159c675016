/* SPDX-License-Identifier: MIT */
/* shape.c: see shape.h. */
#include "shape.h"

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
