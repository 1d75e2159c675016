/* SPDX-License-Identifier: MIT */
/* insn.c: see insn.h. */
#include "insn/insn.h"

#include <string.h>

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const struct insn *i, struct decoded *d)
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, i->code, i->n, &d->in, d->op));
}

uint64_t insn_reg(const struct user_regs_struct *r, unsigned reg)
{
	const unsigned long long v[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
					r->r8,	r->r9,	r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

	return reg < sizeof(v) / sizeof(v[0]) ? v[reg] : reg == INSN_FLAGS ? r->eflags : 0;
}

const char *insn_reg_name(unsigned reg)
{
	static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	return reg < sizeof(names) / sizeof(names[0]) ? names[reg] : reg == INSN_FLAGS ? "eflags" : "a vector register";
}

/* ---- operands ---- */

/* Where a register is; false: values are not followed in this register. */
static bool of_register(ZydisRegister reg, struct insn_loc *l)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZydisRegisterClass class = ZydisRegisterGetClass(whole);

	*l = (struct insn_loc){.where = INSN_IN_REG, .len = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8};
	if (class == ZYDIS_REGCLASS_GPR64)
		l->reg = (unsigned)ZydisRegisterGetId(whole);
	else if (class == ZYDIS_REGCLASS_ZMM)
		l->reg = INSN_XMM0 + (unsigned)ZydisRegisterGetId(whole);
	else if (reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_EFLAGS || reg == ZYDIS_REGISTER_FLAGS)
		l->reg = INSN_FLAGS;
	else
		return false;
	l->off = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
	return true;
}

static unsigned number_of(ZydisRegister reg)
{
	struct insn_loc l;

	return reg != ZYDIS_REGISTER_NONE && of_register(reg, &l) ? l.reg : INSN_NO_REG;
}

static uint64_t address_of(const struct insn *i, const struct decoded *d, const ZydisDecodedOperand *o)
{
	uint64_t a = (uint64_t)o->mem.disp.value;

	if (o->mem.base == ZYDIS_REGISTER_RIP)
		a += i->regs->rip + d->in.length;
	else if (o->mem.base != ZYDIS_REGISTER_NONE)
		a += insn_reg(i->regs, number_of(o->mem.base));
	if (o->mem.index != ZYDIS_REGISTER_NONE)
		a += insn_reg(i->regs, number_of(o->mem.index)) * o->mem.scale;
	if (d->in.address_width == 32)
		a = (uint32_t)a;
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		a += i->regs->fs_base;
	else if (o->mem.segment == ZYDIS_REGISTER_GS)
		a += i->regs->gs_base;
	return a;
}

static bool is_push(const struct decoded *d)
{
	return d->in.mnemonic == ZYDIS_MNEMONIC_PUSH || d->in.mnemonic == ZYDIS_MNEMONIC_CALL;
}

/* Where an operand is; false: it is a constant, or in a place that is not followed. */
static bool place_of(const struct insn *i, const struct decoded *d, unsigned k, struct insn_loc *l)
{
	const ZydisDecodedOperand *o = &d->op[k];

	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return of_register(o->reg.value, l);
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return false;
	*l = (struct insn_loc){.where = INSN_IN_MEM, .addr = address_of(i, d, o), .len = o->size / 8};
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && is_push(d)) {
		l->len = 8;
		l->addr = i->regs->rsp - 8;
	}
	return true;
}

static bool reads(const ZydisDecodedOperand *o)
{
	return (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

static bool writes(const ZydisDecodedOperand *o)
{
	return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

static bool is_explicit(const ZydisDecodedOperand *o)
{
	return o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
}

/* ---- what kind ---- */

unsigned insn_len(const struct insn *i)
{
	struct decoded d;

	return decode(i, &d) ? d.in.length : 0;
}

enum insn_kind insn_kind(const struct insn *i)
{
	struct decoded d;

	if (!decode(i, &d))
		return INSN_BAD;
	switch (d.in.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return INSN_CALL;
	case ZYDIS_CATEGORY_RET:
		return INSN_RET;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return INSN_JUMP;
	case ZYDIS_CATEGORY_COND_BR:
		return INSN_BRANCH;
	case ZYDIS_CATEGORY_SYSCALL:
		return INSN_SYSCALL;
	default:
		return INSN_OTHER;
	}
}

/* ---- where a value comes from ---- */

static bool is_string(const struct decoded *d)
{
	return d->in.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static uint64_t repeats(const struct insn *i, const struct decoded *d)
{
	return d->in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE) ? i->regs->rcx
													  : 1;
}

/* The part of l that lies in [addr, addr + len). */
static bool cut(const struct insn_loc *l, uint64_t addr, uint64_t len, struct insn_loc *part)
{
	uint64_t lo = l->addr > addr ? l->addr : addr,
		 hi = l->addr + l->len < addr + len ? l->addr + l->len : addr + len;

	if (lo >= hi)
		return false;
	*part = *l;
	part->addr = lo;
	part->len = (unsigned)(hi - lo);
	return true;
}

static void copied_from(struct insn_origin *o, enum insn_effect effect, const struct insn_loc *from)
{
	o->effect = effect;
	o->from[0] = *from;
	o->n = 1;
}

/* For movs, stos and lods. 1: it is another instruction, or does not write l. */
static int origin_of_string(const struct insn *i, const struct decoded *d, const struct insn_loc *l,
			    struct insn_origin *o)
{
	unsigned size = d->in.operand_width / 8;
	uint64_t n = repeats(i, d), di = i->regs->rdi, si = i->regs->rsi, all = n * size;
	bool down = (i->regs->eflags & 0x400) != 0;
	bool movs = d->in.mnemonic == ZYDIS_MNEMONIC_MOVSB || d->in.mnemonic == ZYDIS_MNEMONIC_MOVSW ||
		    d->in.mnemonic == ZYDIS_MNEMONIC_MOVSD || d->in.mnemonic == ZYDIS_MNEMONIC_MOVSQ;
	bool stos = d->in.mnemonic == ZYDIS_MNEMONIC_STOSB || d->in.mnemonic == ZYDIS_MNEMONIC_STOSW ||
		    d->in.mnemonic == ZYDIS_MNEMONIC_STOSD || d->in.mnemonic == ZYDIS_MNEMONIC_STOSQ;
	uint64_t lo = down ? di + size - all : di;
	struct insn_loc from;

	if (!is_string(d) || !(movs || stos) || l->where != INSN_IN_MEM || !all)
		return 1;
	if (!cut(l, lo, all, &o->what))
		return 1;
	if (movs)
		from = (struct insn_loc){.where = INSN_IN_MEM, .addr = si + (o->what.addr - di), .len = o->what.len};
	else
		from = (struct insn_loc){.where = INSN_IN_REG,
					 .reg = INSN_RAX,
					 .off = (unsigned)((o->what.addr - lo) % size),
					 .len = o->what.len < size ? o->what.len : size};
	copied_from(o, INSN_COPIES, &from);
	return 0;
}

static bool is_move(const struct decoded *d)
{
	static const ZydisMnemonic moves[] = {
		ZYDIS_MNEMONIC_MOV,	  ZYDIS_MNEMONIC_MOVZX,	    ZYDIS_MNEMONIC_MOVSX,     ZYDIS_MNEMONIC_MOVSXD,
		ZYDIS_MNEMONIC_MOVD,	  ZYDIS_MNEMONIC_MOVQ,	    ZYDIS_MNEMONIC_MOVAPS,    ZYDIS_MNEMONIC_MOVUPS,
		ZYDIS_MNEMONIC_MOVAPD,	  ZYDIS_MNEMONIC_MOVUPD,    ZYDIS_MNEMONIC_MOVDQA,    ZYDIS_MNEMONIC_MOVDQU,
		ZYDIS_MNEMONIC_MOVSS,	  ZYDIS_MNEMONIC_MOVSD,	    ZYDIS_MNEMONIC_MOVLPS,    ZYDIS_MNEMONIC_MOVLPD,
		ZYDIS_MNEMONIC_MOVNTI,	  ZYDIS_MNEMONIC_MOVNTDQ,   ZYDIS_MNEMONIC_MOVNTPS,   ZYDIS_MNEMONIC_LDDQU,
		ZYDIS_MNEMONIC_VMOVD,	  ZYDIS_MNEMONIC_VMOVQ,	    ZYDIS_MNEMONIC_VMOVAPS,   ZYDIS_MNEMONIC_VMOVUPS,
		ZYDIS_MNEMONIC_VMOVAPD,	  ZYDIS_MNEMONIC_VMOVUPD,   ZYDIS_MNEMONIC_VMOVDQA,   ZYDIS_MNEMONIC_VMOVDQU,
		ZYDIS_MNEMONIC_VMOVDQU8,  ZYDIS_MNEMONIC_VMOVDQU16, ZYDIS_MNEMONIC_VMOVDQU32, ZYDIS_MNEMONIC_VMOVDQU64,
		ZYDIS_MNEMONIC_VMOVDQA32, ZYDIS_MNEMONIC_VMOVDQA64, ZYDIS_MNEMONIC_VMOVNTDQ,  ZYDIS_MNEMONIC_MOVBE};

	for (unsigned k = 0; k < sizeof(moves) / sizeof(moves[0]); k++)
		if (d->in.mnemonic == moves[k])
			return !is_string(d) && d->in.operand_count_visible == 2;
	return false;
}

static bool condition_holds(const struct decoded *d, uint64_t f)
{
	bool c = f & 1, p = f & 4, z = f & 0x40, s = f & 0x80, o = f & 0x800;

	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_CMOVB:
		return c;
	case ZYDIS_MNEMONIC_CMOVNB:
		return !c;
	case ZYDIS_MNEMONIC_CMOVBE:
		return c || z;
	case ZYDIS_MNEMONIC_CMOVNBE:
		return !c && !z;
	case ZYDIS_MNEMONIC_CMOVZ:
		return z;
	case ZYDIS_MNEMONIC_CMOVNZ:
		return !z;
	case ZYDIS_MNEMONIC_CMOVS:
		return s;
	case ZYDIS_MNEMONIC_CMOVNS:
		return !s;
	case ZYDIS_MNEMONIC_CMOVP:
		return p;
	case ZYDIS_MNEMONIC_CMOVNP:
		return !p;
	case ZYDIS_MNEMONIC_CMOVO:
		return o;
	case ZYDIS_MNEMONIC_CMOVNO:
		return !o;
	case ZYDIS_MNEMONIC_CMOVL:
		return s != o;
	case ZYDIS_MNEMONIC_CMOVNL:
		return s == o;
	case ZYDIS_MNEMONIC_CMOVLE:
		return z || s != o;
	default:
		return !z && s == o;
	}
}

/* Does operand k write to l? *part: what it writes of l; *at: where in the operand this begins. */
static bool concerns(const struct insn *i, const struct decoded *d, unsigned k, const struct insn_loc *l,
		     struct insn_loc *part, unsigned *at)
{
	unsigned hi, lo, end;
	struct insn_loc p;

	if (!writes(&d->op[k]) || !place_of(i, d, k, &p) || p.where != l->where)
		return false;
	if (l->where == INSN_IN_MEM) {
		if (!cut(l, p.addr, p.len, part))
			return false;
		*at = (unsigned)(part->addr - p.addr);
		return true;
	}
	if (p.reg != l->reg)
		return false;
	end = p.off + p.len;
	if (p.reg < INSN_XMM0 && p.len == 4) /* the upper half of the register becomes 0 */
		end = 8;
	lo = l->off > p.off ? l->off : p.off;
	hi = l->off + l->len < end ? l->off + l->len : end;
	if (lo >= hi)
		return false;
	*part = *l;
	part->off = lo;
	part->len = hi - lo;
	*at = lo - p.off;
	return true;
}

/* Narrows a source to the bytes that become those at `at` of the destination. */
static void shifted(struct insn_loc *from, unsigned at, unsigned len)
{
	if (at >= from->len) { /* it was extended: these bytes depend on the whole source */
		return;
	}
	if (from->where == INSN_IN_MEM)
		from->addr += at;
	else
		from->off += at;
	from->len = len < from->len - at ? len : from->len - at;
}

/* Adds everything that the instruction reads. */
static void add_sources(const struct insn *i, const struct decoded *d, struct insn_origin *o)
{
	struct insn_loc l;

	for (unsigned k = 0; k < d->in.operand_count && o->n < INSN_SOURCES; k++) {
		if (d->op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && d->op[k].mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
			if (of_register(d->op[k].mem.base, &l))
				o->from[o->n++] = l;
			if (o->n < INSN_SOURCES && of_register(d->op[k].mem.index, &l))
				o->from[o->n++] = l;
			continue;
		}
		if (!reads(&d->op[k]) || !place_of(i, d, k, &l))
			continue;
		if (l.where == INSN_IN_REG && (l.reg == INSN_FLAGS) && !(d->in.cpu_flags && d->in.cpu_flags->tested))
			continue;
		o->from[o->n++] = l;
	}
}

static bool same_operands(const struct decoded *d, unsigned a, unsigned b)
{
	return d->op[a].type == ZYDIS_OPERAND_TYPE_REGISTER && d->op[b].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       d->op[a].reg.value == d->op[b].reg.value;
}

/* Is it xor r, r or the like? */
static bool is_zeroing(const struct decoded *d)
{
	unsigned last = d->in.operand_count_visible;

	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
		return last >= 2 && same_operands(d, last - 1, last - 2);
	case ZYDIS_MNEMONIC_OR:
		return d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->op[1].imm.value.s == -1;
	case ZYDIS_MNEMONIC_AND:
		return d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->op[1].imm.value.s == 0;
	default:
		return false;
	}
}

/* 1: it is not a special case. k: the operand that is written, from its byte `at` on. */
static int special(const struct insn *i, const struct decoded *d, unsigned k, unsigned at, struct insn_origin *o)
{
	unsigned len = o->what.len;
	struct insn_loc from;

	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (d->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			o->effect = INSN_SETS;
			return 0;
		}
		if (k == 0 || !place_of(i, d, 0, &from))
			return 1;
		shifted(&from, at, len);
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_CALL:
		o->effect = INSN_SETS;
		return 0;
	case ZYDIS_MNEMONIC_POP:
		if (k != 0)
			return 1;
		from = (struct insn_loc){.where = INSN_IN_MEM, .addr = i->regs->rsp + at, .len = len};
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
		from = (struct insn_loc){.where = INSN_IN_REG, .reg = INSN_RAX, .len = d->in.operand_width / 16};
		shifted(&from, at, len);
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_LEAVE:
		if (o->what.where != INSN_IN_REG || o->what.reg != INSN_RBP)
			return 1;
		from = (struct insn_loc){.where = INSN_IN_MEM, .addr = i->regs->rbp + at, .len = len};
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_XCHG:
		if (!place_of(i, d, !k, &from))
			return 1;
		shifted(&from, at, len);
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_XADD:
		/* what was in memory goes to a register; of what goes to memory, an exchange is a copy */
		if (k == 0 && d->in.mnemonic == ZYDIS_MNEMONIC_XADD)
			return 1;
		if (!place_of(i, d, k == 0 ? 1 : 0, &from))
			return 1;
		shifted(&from, at, len);
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		if (k != 0 || d->in.operand_count_visible != 2 || !place_of(i, d, 1, &from))
			return 1;
		if (o->what.where == INSN_IN_REG && o->what.off < 8) {
			o->effect = INSN_KEEPS;
			return 0;
		}
		if (o->what.where == INSN_IN_REG)
			shifted(&from, o->what.off - 8, len);
		else
			from = (struct insn_loc){.where = INSN_IN_REG, .reg = from.reg, .off = 8 + at, .len = len};
		copied_from(o, INSN_COPIES, &from);
		return 0;
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
	case ZYDIS_MNEMONIC_VPUNPCKLQDQ: {
		unsigned n = d->in.operand_count_visible, src = o->what.off < 8 ? n - 2 : n - 1;

		if (o->what.off < 8 && n == 2) {
			o->effect = INSN_KEEPS;
			return 0;
		}
		if (o->what.off + len > 16 || !place_of(i, d, src, &from))
			return 1;
		shifted(&from, o->what.off % 8, len);
		copied_from(o, INSN_COPIES, &from);
		return 0;
	}
	case ZYDIS_MNEMONIC_VPBROADCASTB:
	case ZYDIS_MNEMONIC_VPBROADCASTW:
	case ZYDIS_MNEMONIC_VPBROADCASTD:
	case ZYDIS_MNEMONIC_VPBROADCASTQ:
		if (!place_of(i, d, 1, &from))
			return 1;
		copied_from(o, INSN_DERIVES, &from);
		return 0;
	default:
		return 1;
	}
}

static bool is_same(const struct insn_loc *a, const struct insn_loc *b)
{
	return a->where == b->where && a->reg == b->reg && a->off == b->off && a->addr == b->addr && a->len == b->len;
}

static void origin_in(const struct insn *i, const struct decoded *d, unsigned k, unsigned at, struct insn_origin *o)
{
	struct insn_loc from;
	unsigned kept = 0;

	if (d->in.meta.category == ZYDIS_CATEGORY_CMOV) {
		o->effect = INSN_KEEPS;
		if (condition_holds(d, i->regs->eflags) && place_of(i, d, 1, &from)) {
			shifted(&from, at, o->what.len);
			copied_from(o, INSN_COPIES, &from);
		}
		return;
	}
	if (!special(i, d, k, at, o))
		return;
	if (is_zeroing(d)) {
		o->effect = INSN_SETS;
		return;
	}
	if (is_move(d) && k == 0) {
		if (!place_of(i, d, 1, &from)) {
			o->effect = d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? INSN_SETS : INSN_COMPUTES;
			return;
		}
		shifted(&from, at, o->what.len);
		copied_from(o, INSN_COPIES, &from);
		return;
	}
	o->effect = INSN_COMPUTES;
	if (is_string(d))
		return;
	add_sources(i, d, o);
	if (!o->n && d->in.mnemonic == ZYDIS_MNEMONIC_LEA) {
		o->effect = INSN_SETS;
		return;
	}
	/* an operand that is read twice counts once */
	for (unsigned a = 0; a < o->n; a++) {
		bool twice = false;

		for (unsigned b = 0; b < kept; b++)
			twice |= is_same(&o->from[a], &o->from[b]);
		if (!twice)
			o->from[kept++] = o->from[a];
	}
	o->n = kept;
	if (o->n == 1)
		o->effect = INSN_DERIVES;
}

void insn_origin(const struct insn *i, const struct insn_loc *l, struct insn_origin *o)
{
	struct decoded d;
	unsigned at;

	memset(o, 0, sizeof(*o));
	o->what = *l;
	if (!decode(i, &d)) {
		o->effect = INSN_COMPUTES;
		return;
	}
	if (!origin_of_string(i, &d, l, o))
		return;
	for (unsigned k = 0; k < d.in.operand_count; k++)
		if (concerns(i, &d, k, l, &o->what, &at)) {
			origin_in(i, &d, k, at, o);
			return;
		}
	o->what = *l;
}

/* ---- what is accessed ---- */

unsigned insn_accesses(const struct insn *i, struct insn_access v[INSN_ACCESSES])
{
	struct insn_loc l;
	struct decoded d;
	unsigned n = 0;

	if (!decode(i, &d))
		return 0;
	for (unsigned k = 0; k < d.in.operand_count && n < INSN_ACCESSES; k++) {
		const ZydisDecodedOperand *o = &d.op[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
		    !place_of(i, &d, k, &l))
			continue;
		v[n++] = (struct insn_access){
			.addr = l.addr,
			.len = l.len ? l.len : 1,
			.writes = writes(o),
			.base = o->mem.base == ZYDIS_REGISTER_RIP ? INSN_NO_REG : number_of(o->mem.base),
			.index = number_of(o->mem.index),
			.scale = o->mem.scale,
			.disp = o->mem.disp.value,
			.stack = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && !is_string(&d),
		};
	}
	return n;
}

unsigned insn_operands(const struct insn *i, struct insn_loc *v, unsigned most)
{
	struct decoded d;
	unsigned n = 0;

	if (!decode(i, &d))
		return 0;
	if (d.in.meta.category == ZYDIS_CATEGORY_RET && most) {
		v[0] = (struct insn_loc){.where = INSN_IN_MEM, .addr = i->regs->rsp, .len = 8};
		return 1;
	}
	for (unsigned k = 0; k < d.in.operand_count_visible && n < most; k++)
		if (is_explicit(&d.op[k]) && reads(&d.op[k]) && place_of(i, &d, k, &v[n]) &&
		    !(n && is_same(&v[n], &v[n - 1])))
			n++;
	return n;
}
