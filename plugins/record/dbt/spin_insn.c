/* SPDX-License-Identifier: MIT */
/*
 * spin_insn.c: see spin_insn.h. Intel's manual, volume 2. A loop with an instruction that is not
 * known here does not count as one that waits.
 */
#include "record/dbt/spin_insn.h"
#include "record/core/state.h"
#include "record/dbt/insn.h"

#include <string.h>

static unsigned reg_field(const uint8_t *p, const struct insn *i)
{
	return 1u << ((p[i->modrm_at] >> 3 & 7) | (i->rex & 4 ? 8 : 0));
}

static unsigned rm_field(const uint8_t *p, const struct insn *i)
{
	return 1u << ((p[i->modrm_at] & 7) | (i->rex & 1 ? 8 : 0));
}

static int is_memory(const uint8_t *p, const struct insn *i)
{
	return i->modrm_at && p[i->modrm_at] >> 6 != 3;
}

static void find_address(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	static const uint64_t none[16];
	unsigned m = p[i->modrm_at], sib = (m & 7) == 4 ? p[i->modrm_at + 1] : 0, base = (m & 7) == 4 ? sib & 7 : m & 7;

	e->where = insn_address(p, i, none);
	if (i->rip_at)
		return;
	if ((m & 7) == 4 && ((sib >> 3 & 7) != 4 || (i->rex & 2)))
		e->base |= 1u << ((sib >> 3 & 7) | (i->rex & 2 ? 8 : 0));
	if (m >> 6 || base != 5)
		e->base |= 1u << (base | (i->rex & 1 ? 8 : 0));
	e->where ^= (uint64_t)e->base << 48;
	if (e->base == 1u << RSP || (by_rbp && e->base == 1u << RBP))
		e->flags |= ON_STACK;
}

/* The instruction writes its operand r/m: a computed register, or memory. */
static void computes_rm(const uint8_t *p, const struct insn *i, struct effect *e)
{
	if (!is_memory(p, i))
		e->computed |= rm_field(p, i);
}

static void moves_rm_to_reg(const uint8_t *p, const struct insn *i, struct effect *e)
{
	e->moved = reg_field(p, i);
	e->from = is_memory(p, i) ? 0 : rm_field(p, i);
}

static void moves_reg_to_rm(const uint8_t *p, const struct insn *i, struct effect *e)
{
	e->from = reg_field(p, i);
	e->moved = is_memory(p, i) ? 0 : rm_field(p, i);
}

/* add, or, adc, sbb, and, sub, xor, cmp: op's middle says which; its low bits the operands. */
static void arithmetic(const uint8_t *p, const struct insn *i, struct effect *e)
{
	unsigned which = i->op >> 3 & 7, form = i->op & 7;
	int same = form < 4 && !is_memory(p, i) && reg_field(p, i) == rm_field(p, i);

	if (which == 7)
		e->flags |= TESTS;
	else if (which == 6 && same) /* it becomes 0 */
		e->moved = rm_field(p, i);
	else if ((which == 1 || which == 4) && same)
		e->flags |= TESTS;
	else if (form < 2)
		computes_rm(p, i, e);
	else
		e->computed |= form < 4 ? reg_field(p, i) : 1;
}

static void by_middle(const uint8_t *p, const struct insn *i, struct effect *e)
{
	unsigned middle = p[i->modrm_at] >> 3 & 7;

	switch (i->op) {
	case 0x80:
	case 0x81:
	case 0x83:
		if (middle == 7)
			e->flags |= TESTS;
		else
			computes_rm(p, i, e);
		break;
	case 0xf6:
	case 0xf7:
		if (middle < 2)
			e->flags |= TESTS;
		else if (middle < 4)
			computes_rm(p, i, e);
		else
			e->computed |= 1u | 1u << 2;
		break;
	default: /* fe, ff */
		if (middle < 2)
			computes_rm(p, i, e);
		else if (middle != 6 && i->kind == INSN_PLAIN)
			e->flags |= UNKNOWN;
	}
}

static void lea(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	struct effect address = {0};

	find_address(p, i, by_rbp, &address);
	if (i->rip_at || (address.flags & ON_STACK))
		e->moved = reg_field(p, i);
	else
		e->computed = reg_field(p, i);
}

static void one_byte(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	unsigned low = 1u << ((i->op & 7) | (i->rex & 1 ? 8 : 0));

	if (i->op < 0x40) {
		arithmetic(p, i, e);
		return;
	}
	switch (i->op) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0xa8 ... 0xa9:
	case 0x9b:
		break;
	case 0x58 ... 0x5f:
		e->moved = low;
		e->flags |= READS | ON_STACK;
		break;
	case 0x69:
	case 0x6b:
		e->computed = reg_field(p, i);
		break;
	case 0x80 ... 0x83:
	case 0xf6 ... 0xf7:
	case 0xfe ... 0xff:
		by_middle(p, i, e);
		break;
	case 0x84 ... 0x85:
		e->flags |= TESTS;
		break;
	case 0x86 ... 0x87:
		e->flags |= ATOMIC;
		e->moved = reg_field(p, i);
		break;
	case 0x88 ... 0x89:
		moves_reg_to_rm(p, i, e);
		break;
	case 0x63:
	case 0x8a ... 0x8b:
		moves_rm_to_reg(p, i, e);
		break;
	case 0x8d:
		lea(p, i, by_rbp, e);
		break;
	case 0x90:
		e->flags |= p[0] == 0xf3 ? PAUSES : 0;
		break;
	case 0x98: /* cltq */
		e->moved = e->from = 1;
		break;
	case 0x99:
		e->moved = 1u << 2;
		e->from = 1;
		break;
	case 0xb0 ... 0xbf:
		e->moved = low;
		break;
	case 0xc0 ... 0xc1:
	case 0xd0 ... 0xd3:
		computes_rm(p, i, e);
		break;
	case 0xc6 ... 0xc7:
		if (!is_memory(p, i))
			e->moved = rm_field(p, i);
		break;
	case 0xc9: /* leave */
		break;
	default:
		e->flags |= UNKNOWN;
	}
}

static void two_bytes(const uint8_t *p, const struct insn *i, struct effect *e)
{
	switch (i->op) {
	case 0x0d:
	case 0x1e ... 0x1f:
	case 0xae: /* fences */
		break;
	case 0x40 ... 0x4f:
	case 0xb6 ... 0xb7:
	case 0xbe ... 0xbf:
		moves_rm_to_reg(p, i, e);
		break;
	case 0x90 ... 0x9f: /* set */
		if (!is_memory(p, i))
			e->moved = rm_field(p, i);
		break;
	case 0xa3:
		e->flags |= TESTS;
		break;
	case 0xb0 ... 0xb1:
		e->flags |= ATOMIC | TESTS;
		e->moved = 1;
		break;
	case 0xaf:
	case 0xbc ... 0xbd:
		e->computed = reg_field(p, i);
		break;
	case 0xab:
	case 0xb3:
	case 0xba:
	case 0xbb: /* lock bts and the like */
		e->flags |= ATOMIC | TESTS;
		computes_rm(p, i, e);
		break;
	default:
		e->flags |= UNKNOWN;
	}
}

void spin_effect(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e)
{
	memset(e, 0, sizeof(*e));
	if (i->kind == INSN_STOP || i->kind == INSN_LOOP)
		e->flags = UNKNOWN;
	if (i->kind != INSN_PLAIN)
		return;
	if (i->map == 0)
		one_byte(p, i, by_rbp, e);
	else if (i->map == 1 && i->op_at && p[i->op_at - 1] == 0x0f)
		two_bytes(p, i, e);
	else
		e->flags |= UNKNOWN;
	if (!is_memory(p, i) || !(i->map == 0 ? i->op != 0x8d : i->op != 0x0d && (i->op & 0xf8) != 0x18))
		return;
	find_address(p, i, by_rbp, e);
	e->flags |= insn_may_write(p, i) ? WRITES : READS;
	if (e->flags & ATOMIC)
		e->flags |= READS;
}
