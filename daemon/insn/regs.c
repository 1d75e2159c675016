/* SPDX-License-Identifier: MIT */
/* regs.c: insn_regs of insn.h. */
#include <string.h>

#include <Zydis/Zydis.h>

#include "insn/insn.h"

#define CALLEE_SAVED (1u << INSN_RBX | 1u << INSN_RBP | 0xf000u) /* System V ABI */

/* The bit of a register; 0: it is not followed. *whole: a write replaces its whole contents. */
static uint64_t bit_of(ZydisRegister reg, bool *whole)
{
	ZydisRegister largest = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	unsigned id = (unsigned)ZydisRegisterGetId(largest);

	*whole = true;
	if (reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_EFLAGS || reg == ZYDIS_REGISTER_FLAGS)
		return 1ull << INSN_FLAGS;
	switch (ZydisRegisterGetClass(largest)) {
	case ZYDIS_REGCLASS_GPR64:
		*whole = class == ZYDIS_REGCLASS_GPR64 || class == ZYDIS_REGCLASS_GPR32;
		return id == INSN_RSP ? 0 : 1ull << id;
	case ZYDIS_REGCLASS_ZMM:
		return 1ull << (INSN_XMM0 + id);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		*whole = false;
		return 1ull << INSN_REGS_X87;
	case ZYDIS_REGCLASS_MASK:
		return 1ull << (INSN_REGS_MASK + id);
	default:
		return 0;
	}
}

static void see(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, struct insn_regs *r)
{
	bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ, writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
	     whole, unused;
	uint64_t bit;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		r->reads |= bit_of(o->mem.base, &unused) | bit_of(o->mem.index, &unused);
		return;
	}
	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	bit = bit_of(o->reg.value, &whole);
	if (bit == 1ull << INSN_FLAGS) {
		reads &= in->cpu_flags && in->cpu_flags->tested;
		writes &= in->cpu_flags && (in->cpu_flags->modified | in->cpu_flags->set_0 | in->cpu_flags->set_1 |
					    in->cpu_flags->undefined);
	}
	whole &= !(o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE);
	r->reads |= reads || (writes && !whole) ? bit : 0;
	r->writes |= writes ? bit : 0;
}

/* Is it xor r, r or the like, which reads nothing? */
static bool is_zeroing(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	unsigned n = in->operand_count_visible;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
		return n >= 2 && op[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       op[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER && op[n - 1].reg.value == op[n - 2].reg.value;
	default:
		return false;
	}
}

void insn_regs(const uint8_t *code, size_t n, struct insn_regs *r)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	bool unused;

	memset(r, 0, sizeof(*r));
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n, &in, op)))
		return;
	for (unsigned k = 0; k < in.operand_count; k++)
		see(&in, &op[k], r);
	if (is_zeroing(&in, op))
		r->reads = 0;
	r->push = in.mnemonic == ZYDIS_MNEMONIC_PUSH || in.mnemonic == ZYDIS_MNEMONIC_CALL;
	r->call = in.meta.category == ZYDIS_CATEGORY_CALL;
	r->jump = in.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	r->pop = in.mnemonic == ZYDIS_MNEMONIC_POP;
	r->leave = in.mnemonic == ZYDIS_MNEMONIC_LEAVE;
	if (r->leave)
		r->reads = 0;
	r->saves = r->leave ||
		   ((in.mnemonic == ZYDIS_MNEMONIC_PUSH || r->pop) && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    bit_of(op[0].reg.value, &unused) & CALLEE_SAVED);
}
