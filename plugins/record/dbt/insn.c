/* SPDX-License-Identifier: MIT */
/*
 * insn.c: see insn.h. Intel's manual, volume 2: appendix A (opcode maps), chapter 2 (prefixes, ModRM, VEX, EVEX).
 *
 * Each opcode has a letter that says what follows it. In the maps after 0f 38 and 0f 3a, and after VEX and EVEX,
 * all have a ModRM byte, and a byte of immediate in few places.
 */
#include "record/dbt/insn.h"

#include <string.h>

/*
 * '.' nothing   b 1 byte   w 2 bytes   z 4 bytes (2 with 66)   v 4, 8 with REX.W, 2 with 66   e 2 + 1   a an address
 * M ModRM   B ModRM and 1 byte   Z ModRM and z   f ModRM; 1 byte if its middle is 0 or 1   F the same with z
 * J branch by 1 byte   L by 4 bytes   x stop   p prefix or escape: not looked up
 */
static const char one_byte[] = "MMMMbzxxMMMMbzxp" /* 00 */
			       "MMMMbzxxMMMMbzxx" /* 10 */
			       "MMMMbzpxMMMMbzpx" /* 20 */
			       "MMMMbzpxMMMMbzpx" /* 30 */
			       "pppppppppppppppp" /* 40: REX */
			       "................" /* 50 */
			       "xxpMppppzZbBxxxx" /* 60; in and out of ports */
			       "JJJJJJJJJJJJJJJJ" /* 70 */
			       "BZxBMMMMMMMMMMMM" /* 80 */
			       "..........x....." /* 90 */
			       "aaaa....bz......" /* a0 */
			       "bbbbbbbbvvvvvvvv" /* b0 */
			       "BBw.ppBZe.xxxxxx" /* c0 */
			       "MMMMxxx.MMMMMMMM" /* d0 */
			       "JJJJxxxxLLxJxxxx" /* e0 */
			       "pxppx.fF......MM"; /* f0 */

static const char two_bytes[] = "xxxxxxxxxxxxxM.B" /* 0f 00: the kernel's; prefetchw, femms, 3DNow! */
				"MMMMMMMMMMMMMMMM" /* 10 */
				"xxxxxxxxMMMMMMMM" /* 20 */
				"xxxxxxxxpxpxxxxx" /* 30: rdtsc, sysenter */
				"MMMMMMMMMMMMMMMM" /* 40 */
				"MMMMMMMMMMMMMMMM" /* 50 */
				"MMMMMMMMMMMMMMMM" /* 60 */
				"BBBBMMM.MMxxMMMM" /* 70 */
				"LLLLLLLLLLLLLLLL" /* 80 */
				"MMMMMMMMMMMMMMMM" /* 90 */
				"...MBMxx..xMBMMM" /* a0 */
				"MMMMMMMMMxBMMMMM" /* b0 */
				"MMBMBBBM........" /* c0 */
				"MMMMMMMMMMMMMMMM" /* d0 */
				"MMMMMMMMMMMMMMMM" /* e0 */
				"MMMMMMMMMMMMMMMx"; /* f0 */

enum { MAP_0F = 1, MAP_0F38 = 2, MAP_0F3A = 3 };

struct reading {
	const uint8_t *p;
	unsigned at;
	int size16, addr32, map;
};

static int32_t read32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void prefixes(struct reading *r, struct insn *i)
{
	static const char all[] = {0x66, 0x67, (char)0xf2, (char)0xf3, (char)0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};

	for (; r->at < 14 && memchr(all, r->p[r->at], sizeof(all)); r->at++) {
		r->size16 |= r->p[r->at] == 0x66;
		r->addr32 |= r->p[r->at] == 0x67;
	}
	if ((r->p[r->at] & 0xf0) == 0x40)
		i->rex = r->p[r->at++];
}

static void modrm(struct reading *r, struct insn *i)
{
	unsigned m = r->p[r->at], mod = m >> 6, rm = m & 7, base = rm;

	i->modrm_at = (uint8_t)r->at++;
	if (mod == 3)
		return;
	if (rm == 4)
		base = r->p[r->at++] & 7;
	if (mod == 0 && rm == 5)
		i->rip_at = (uint8_t)r->at;
	if (mod == 1)
		r->at += 1;
	else if (mod == 2 || (mod == 0 && base == 5))
		r->at += 4;
}

static void immediate(struct reading *r, struct insn *i, unsigned n)
{
	if (!n)
		return;
	i->imm_at = (uint8_t)r->at;
	i->imm_len = (uint8_t)n;
	r->at += n;
}

/* Reads the bytes after a VEX or EVEX prefix, with the opcode at op_at. Returns the letter of what follows. */
static char vector_form(const struct reading *r, const struct insn *i)
{
	if (r->map == MAP_0F3A)
		return 'B';
	if (r->map != MAP_0F)
		return 'M';
	if (i->op == 0x77)
		return '.';
	return (i->op >= 0x70 && i->op <= 0x73) || i->op == 0xc2 || (i->op >= 0xc4 && i->op <= 0xc6) ? 'B' : 'M';
}

static char vector(struct reading *r, struct insn *i)
{
	const uint8_t *p = r->p + r->at;

	r->map = p[0] == 0xc5 ? MAP_0F : p[0] == 0xc4 ? p[1] & 0x1f : p[1] & 7;
	i->vex = p[0] == 0xc5 ? 2 : p[0] == 0xc4 ? 3 : 4;
	r->at += i->vex;
	i->op_at = (uint8_t)r->at;
	i->op = r->p[r->at++];
	return vector_form(r, i);
}

/* Reads the opcode. Returns the letter of what follows. */
static char opcode(struct reading *r, struct insn *i)
{
	uint8_t c = r->p[r->at];

	if (c == 0xc4 || c == 0xc5 || c == 0x62)
		return vector(r, i);
	if (c == 0x0f) {
		r->map = MAP_0F;
		c = r->p[++r->at];
		if (c == 0x38 || c == 0x3a) {
			r->map = c == 0x38 ? MAP_0F38 : MAP_0F3A;
			c = r->p[++r->at];
		}
	}
	i->op_at = (uint8_t)r->at++;
	i->op = c;
	switch (r->map) {
	case MAP_0F:
		return two_bytes[c];
	case MAP_0F38:
		return 'M';
	case MAP_0F3A:
		return 'B';
	default:
		return one_byte[c];
	}
}

static void operands(struct reading *r, struct insn *i, char form)
{
	unsigned wide = i->rex & 8, z = r->size16 && !wide ? 2 : 4, middle;

	if (strchr("MBZfF", form))
		modrm(r, i);
	middle = i->modrm_at ? r->p[i->modrm_at] >> 3 & 7 : 0;
	switch (form) {
	case 'b':
	case 'B':
	case 'J':
		immediate(r, i, 1);
		break;
	case 'w':
		immediate(r, i, 2);
		break;
	case 'e':
		immediate(r, i, 3);
		break;
	case 'z':
	case 'Z':
		immediate(r, i, z);
		break;
	case 'L':
		immediate(r, i, 4);
		break;
	case 'v':
		immediate(r, i, wide ? 8 : z);
		break;
	case 'a':
		immediate(r, i, r->addr32 ? 4 : 8);
		break;
	case 'f':
		immediate(r, i, middle < 2 ? 1 : 0);
		break;
	case 'F':
		immediate(r, i, middle < 2 ? z : 0);
		break;
	}
}

/* The kind of FF and C7, for which the middle field of ModRM decides. */
static enum insn_kind by_modrm(const struct reading *r, const struct insn *i)
{
	unsigned m = r->p[i->modrm_at], middle = m >> 3 & 7;

	if (i->op == 0xff && (middle == 2 || middle == 4))
		return middle == 2 ? INSN_CALL_BY : INSN_JMP_BY;
	if ((i->op == 0xff && (middle == 3 || middle == 5)) || ((i->op | 1) == 0xc7 && m == 0xf8))
		return INSN_STOP; /* far; a transaction */
	return INSN_PLAIN;
}

static enum insn_kind kind_of(const struct reading *r, const struct insn *i, char form)
{
	if (form == 'x' || form == 'p')
		return INSN_STOP;
	if (r->map == MAP_0F)
		return form == 'L' ? INSN_JCC : INSN_PLAIN;
	if (r->map)
		return INSN_PLAIN;
	if (form == 'J')
		return i->op == 0xeb ? INSN_JMP : i->op >= 0xe0 ? INSN_LOOP : INSN_JCC;
	if (form == 'L')
		return i->op == 0xe8 ? INSN_CALL : INSN_JMP;
	if (i->op == 0xc2 || i->op == 0xc3)
		return INSN_RET;
	return i->modrm_at ? by_modrm(r, i) : INSN_PLAIN;
}

void insn_decode(const uint8_t *p, struct insn *i)
{
	struct reading r = {.p = p};
	char form;

	memset(i, 0, sizeof(*i));
	prefixes(&r, i);
	form = opcode(&r, i);
	operands(&r, i, form);
	i->len = (uint8_t)r.at;
	i->map = (uint8_t)r.map;
	i->kind = r.at > 15 || (r.addr32 && i->rip_at) ? INSN_STOP : kind_of(&r, i, form);
	if (i->kind == INSN_RET)
		i->target = i->imm_len ? (uint64_t)(p[i->imm_at] | p[i->imm_at + 1] << 8) : 0;
	else if (form == 'J')
		i->target = (uint64_t)p + r.at + (uint64_t)(int64_t)(int8_t)p[i->imm_at];
	else if (form == 'L')
		i->target = (uint64_t)p + r.at + (uint64_t)(int64_t)read32(p + i->imm_at);
}

/* ---- what it accesses ---- */

/*
 * Does it access the memory that its operand names? lea, nop and prefetches do not; nor do jumps through memory count.
 */
static int touches(const uint8_t *p, const struct insn *i)
{
	int two = i->op_at && p[i->op_at - 1] == 0x0f;

	if (!i->modrm_at || p[i->modrm_at] >> 6 == 3 || i->kind != INSN_PLAIN)
		return 0;
	return two ? i->op != 0x0d && (i->op & 0xf8) != 0x18 : i->op != 0x8d;
}

static int is_own(const uint8_t *p, const struct insn *i)
{
	for (unsigned k = 0; k + i->vex < i->op_at; k++)
		if (p[k] == 0x64 || p[k] == 0x65)
			return 1;
	return 0;
}

uint64_t insn_rip_target(const uint8_t *p, const struct insn *i)
{
	return (uint64_t)p + i->len + (uint64_t)(int64_t)read32(p + i->rip_at);
}

uint8_t insn_extension(const uint8_t *p, const struct insn *i)
{
	if (!i->vex)
		return i->rex & 3;
	return i->vex == 2 ? 0 : (uint8_t)(~p[i->op_at - i->vex + 1] >> 5 & 3);
}

uint64_t insn_address(const uint8_t *p, const struct insn *i, const uint64_t *reg)
{
	unsigned m = p[i->modrm_at], mod = m >> 6, rm = m & 7, base = rm;
	const uint8_t *at = p + i->modrm_at + 1;
	uint8_t extension = insn_extension(p, i);
	uint64_t a = 0;

	if (!touches(p, i) || is_own(p, i) || (i->vex == 4 && mod == 1))
		return 0;
	if (i->rip_at)
		return insn_rip_target(p, i);
	if (rm == 4) {
		unsigned sib = *at++, index = (sib >> 3 & 7) | (extension & 2 ? 8 : 0);

		base = sib & 7;
		if (index != 4)
			a = reg[index] << (sib >> 6);
	}
	if (mod || base != 5)
		a += reg[base | (extension & 1 ? 8 : 0)];
	if (mod == 1)
		a += (uint64_t)(int64_t)(int8_t)*at;
	else if (mod == 2 || (!mod && base == 5))
		a += (uint64_t)(int64_t)read32(at);
	return a;
}

#define TRAP_BRKPT_ 1 /* libc's headers have these in an enum */
#define TRAP_TRACE_ 2
#define TRAP_HWBKPT_ 4
#define FLAG_TRACE 0x100
#define INT1 0xf1

int insn_stepped(int si_code, uint64_t flags, const uint8_t *last)
{
	if (si_code == TRAP_TRACE_)
		return 1;
	if (!(flags & FLAG_TRACE))
		return 0;
	return si_code == TRAP_HWBKPT_ || (si_code == TRAP_BRKPT_ && !(last && *last == INT1));
}

/* The si_code of an int3 differs; when the program steps itself, the trap flag is set. */
int insn_stray_trap(int si_code, uint64_t flags, uint8_t before)
{
	return si_code == TRAP_BRKPT_ && !(flags & FLAG_TRACE) && before != INT1;
}

/*
 * Which instructions write to memory, by opcode:
 *
 * '.': no.
 * r: no, it only reads its operand.
 * w: perhaps: it may write its operand, if that is in memory. So are those that are not known for certain: to look in
 *    vain costs little.
 * i: yes, whatever its operand is.
 * c, t, b: no if the middle field of ModRM is 7; 0, 1 or at least 4; 4. Else as w.
 * p: as w, and yes if that field is 6: it pushes.
 */
static const char writes_one[] = "wwrr..ww"
				 "wwrr..ww" /* 00 */
				 "wwrr..ww"
				 "wwrr..ww" /* 10 */
				 "wwrr...."
				 "wwrr...." /* 20 */
				 "wwrr...."
				 "rrrr...." /* 30 */
				 "........"
				 "........" /* 40 */
				 "iiiiiiii"
				 "........" /* 50: push, pop */
				 "...r...."
				 "irir...." /* 60 */
				 "........"
				 "........" /* 70 */
				 "ccwcrrww"
				 "wwrrwrrw" /* 80 */
				 "........"
				 "....i..." /* 90: pushf */
				 "..iiii.."
				 "..ii...." /* a0 */
				 "........"
				 "........" /* b0 */
				 "ww....ww"
				 "i......." /* c0: enter */
				 "wwww...."
				 "rwwwrwww" /* d0 */
				 "........"
				 "........" /* e0 */
				 "......tt"
				 "......wp"; /* f0 */

static const char writes_two[] = "wwrrwwww"
				 "wwwwwrww" /* 00 */
				 "rwrwrrrw"
				 "rrrrrrrr" /* 10 */
				 "wwwwwwww"
				 "rwrwrrrr" /* 20 */
				 "wwwwwwww"
				 "wwwwwwww" /* 30 */
				 "rrrrrrrr"
				 "rrrrrrrr" /* 40 */
				 "rrrrrrrr"
				 "rrrrrrrr" /* 50 */
				 "rrrrrrrr"
				 "rrrrrrrr" /* 60 */
				 "rrrrrrr."
				 "wwwwrrww" /* 70 */
				 "........"
				 "........" /* 80 */
				 "wwwwwwww"
				 "wwwwwwww" /* 90 */
				 "i..rwwww"
				 "i..wwwwr" /* a0: push */
				 "wwwwwwrr"
				 "rwbwrrrr" /* b0 */
				 "wwrwrrrw"
				 "........" /* c0 */
				 "rrrrrrwr"
				 "rrrrrrrr" /* d0 */
				 "rrrrrrrw"
				 "rrrrrrrr" /* e0 */
				 "rrrrrrri"
				 "rrrrrrrr"; /* f0: maskmov */

int insn_may_write(const uint8_t *p, const struct insn *i)
{
	int memory = i->modrm_at && p[i->modrm_at] >> 6 != 3;
	unsigned middle = i->modrm_at ? p[i->modrm_at] >> 3 & 7 : 0;

	if (i->kind == INSN_CALL || i->kind == INSN_CALL_BY)
		return 1;
	if (i->kind != INSN_PLAIN)
		return 0;
	switch (i->map == 0 ? writes_one[i->op] : i->map == MAP_0F ? writes_two[i->op] : 'w') {
	case '.':
	case 'r':
		return 0;
	case 'i':
		return 1;
	case 'c':
		return memory && middle != 7;
	case 't':
		return memory && (middle == 2 || middle == 3);
	case 'b':
		return memory && middle != 4;
	case 'p':
		return memory || middle == 6;
	default:
		return memory;
	}
}
