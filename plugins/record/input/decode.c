/* SPDX-License-Identifier: MIT */
/*
 * decode.c: does an instruction that brings input in begin at these bytes? See patch.c. Nothing is written here.
 */
#include "record/input/decode.h"
#include "record/dbt/insn.h"

#include <string.h>

unsigned decode_pattern(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 2)
		return 0;
	if (p[1] == 0x31 || p[1] == 0xa2)
		return 2;
	if (end - p < 3)
		return 0;
	return (p[1] == 0xc7 && p[2] >= 0xf0) || (p[1] == 0x01 && p[2] == 0xf9) ? 3 : 0;
}

/* ---- where instructions begin ---- */

/* The length of an instruction at which decoding stops, if it is in this list; else 0. */
static unsigned stop_length(const uint8_t *p, const struct insn *i)
{
	uint8_t two = i->op_at && p[i->op_at - 1] == 0x0f;

	if (two && (i->op == 0x01 || i->op == 0xb9 || i->op == 0xff)) {
		unsigned m = p[i->op_at + 1], mod = m >> 6, rm = m & 7, n = i->op_at + 2u;

		if (mod == 3)
			return n;
		if (rm == 4) {
			rm = p[n++] & 7;
			rm = rm == 5 ? 5 : 0;
		}
		return n + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
	}
	if (two &&
	    (i->op == 0x05 || i->op == 0x09 || i->op == 0x0b || (i->op >= 0x30 && i->op <= 0x34) || i->op == 0xaa))
		return i->op_at + 1u;
	if (i->map == 0 && (i->op == 0xcd || (i->op >= 0xe4 && i->op <= 0xe7)))
		return i->op_at + 2u;
	if (i->map == 0 && (i->op == 0xcc || i->op == 0xce || i->op == 0xf1 || i->op == 0xf4 || i->op == 0xfa ||
			    i->op == 0xfb || (i->op >= 0xec && i->op <= 0xef) || (i->op >= 0x6c && i->op <= 0x6f)))
		return i->op_at + 1u;
	return i->modrm_at ? i->len : 0;
}

#define DECODED_MOST 32 /* an instruction has at most 15 bytes: no more than these are looked at */

/* 0: it cannot be decoded, or is not whole at the end of the text. */
static unsigned length_at(const uint8_t *p, const uint8_t *end, struct insn *i)
{
	uint8_t last[DECODED_MOST] = {0};
	unsigned len;

	if (end - p < DECODED_MOST) {
		memcpy(last, p, (size_t)(end - p));
		p = last;
		end = last + (end - p);
	}
	insn_decode(p, i);
	len = i->kind == INSN_STOP ? stop_length(p, i) : i->len;
	return len <= (uint64_t)(end - p) ? len : 0;
}

int decode_begins_there(const uint8_t *lo, const uint8_t *end, const uint8_t *p)
{
	int met = 0;

	while (lo < end) {
		struct insn i;
		unsigned len;

		len = length_at(lo, end, &i);
		if (!len)
			return 0;
		met |= i.map == 1 && i.op_at && lo + i.op_at - 1 == p;
		lo += len;
	}
	return met && lo == end;
}

#define BEFORE 32
int decode_may_begin(const uint8_t *lo, const uint8_t *end, const uint8_t *p)
{
	uint8_t begins[BEFORE + 15 + 16] = {0}; /* from p - BEFORE - 15 on */
	const uint8_t *from = p - BEFORE - 15;

	if (p - lo < BEFORE + 15)
		return 1;
	memset(begins, 1, 15);
	for (unsigned k = 0; k < BEFORE + 15; k++) {
		struct insn i;
		unsigned len;

		if (!begins[k])
			continue;
		len = length_at(from + k, end, &i);
		if (i.map == 1 && i.op_at && from + k + i.op_at - 1 == p)
			return 1;
		if (len && len < 16)
			begins[k + len] = 1;
	}
	return begins[BEFORE + 15];
}

/*
 * Decodes from one place before it. 1: an instruction begins there; 0: none does; -1: what comes before cannot be
 * decoded.
 */
static int begins_from(const uint8_t *from, const uint8_t *end, const uint8_t *p)
{
	struct insn i;

	while (from <= p) {
		unsigned len = length_at(from, end, &i);

		if (!len)
			return -1;
		if (i.map == 1 && i.op_at && from + i.op_at - 1 == p)
			return 1;
		from += len;
	}
	return 0;
}

#define FAR 256
int decode_begins_surely(const uint8_t *lo, const uint8_t *end, const uint8_t *p, int starts)
{
	int good = 0;

	if (p - lo < FAR + 15) /* only decoding from the start is possible, if code begins there */
		return starts && begins_from(lo, end, p) == 1;
	for (int k = 0; k < 15; k++) {
		int begins = begins_from(p - FAR - k, end, p);

		if (!begins)
			return 0;
		good += begins > 0;
	}
	return good >= 8;
}

/* ---- what a number is used for ---- */

/* jb, jae, setb, setae, cmovb, cmovae, adc, sbb: by the carry that rdrand gives. shl $32, %rdx: the halves of rdtsc. */
static int number_is_used(const uint8_t *p, const uint8_t *end, int random)
{
	struct insn i;

	for (unsigned k = 0, len = 1; k < 8 && len && p < end; k++, p += len) {
		len = length_at(p, end, &i);
		if (!len)
			return 0;
		if (random && k && k <= 3 &&
		    ((i.map == 0 &&
		      ((i.op | 1) == 0x73 || (i.op & 0xfe) == 0x10 || (i.op & 0xfe) == 0x12 || (i.op & 0xfe) == 0x18 ||
		       (i.op & 0xfe) == 0x1a ||
		       (i.op == 0x83 && ((p[i.modrm_at] >> 3 & 7) == 2 || (p[i.modrm_at] >> 3 & 7) == 3)))) ||
		     (i.map == 1 && ((i.op | 1) == 0x83 || (i.op | 1) == 0x93 || (i.op | 1) == 0x43))))
			return 1;
		if (!random && k && len == 4 && !memcmp(p, "\x48\xc1\xe2\x20", 4))
			return 1;
	}
	return 0;
}

/* ---- what cpuid is used for ---- */

#define LEAVES 0x40u /* of each of the ranges that begin at 0, at 0x40000000 and at 0x80000000 */

/* Is eax set to a constant that cpuid knows, right before it? push %rbx and xor %ecx, %ecx may follow. */
static int leaf_is_set(const uint8_t *lo, const uint8_t *p)
{
	uint32_t leaf;

	for (int k = 0; k < 3; k++) {
		if (p - lo >= 1 && p[-1] == 0x53)
			p--;
		else if (p - lo >= 2 && (p[-2] == 0x31 || p[-2] == 0x33) && p[-1] == 0xc9)
			p -= 2;
	}
	if (p - lo >= 2 && (p[-2] == 0x31 || p[-2] == 0x33) && p[-1] == 0xc0)
		return 1;
	if (p - lo < 5 || p[-5] != 0xb8)
		return 0;
	memcpy(&leaf, p - 4, sizeof(leaf));
	return (leaf & 0x3fffffff) < LEAVES && leaf >> 30 != 3;
}

struct uses {
	unsigned reads, sets; /* bits by the registers' numbers, rax to r15 */
};

/* Of instructions that often follow cpuid: which registers they read, and which get a value that was not in them. */
static struct uses uses_of(const uint8_t *p, const struct insn *i)
{
	uint8_t m = i->modrm_at ? p[i->modrm_at] : 0, group = m >> 3 & 7;
	unsigned reg = 1u << (group | (i->rex & 4) << 1), low = 1u << ((i->op & 7) | (i->rex & 1) << 3);
	unsigned rm = m >= 0xc0 ? 1u << ((m & 7) | (i->rex & 1) << 3) : 0;

	if (i->vex || i->map > 1)
		return (struct uses){0};
	if (i->map == 1)
		return (struct uses){.reads = i->op == 0xba ? rm : i->op == 0xa3 ? rm | reg : 0};
	switch (i->op) {
	case 0x89:
		return (struct uses){.reads = reg, .sets = rm};
	case 0x8b:
		return (struct uses){.reads = rm, .sets = reg};
	case 0x31:
	case 0x33:
		if (reg == rm)
			return (struct uses){.sets = reg};
		return (struct uses){.reads = reg | rm};
	case 0x09:
	case 0x0b:
	case 0x21:
	case 0x23:
	case 0x39:
	case 0x3b:
	case 0x85:
	case 0x87:
		return (struct uses){.reads = reg | rm};
	case 0x81:
	case 0x83:
	case 0xc1:
		return (struct uses){.reads = rm};
	case 0xf7:
		return (struct uses){.reads = group ? 0 : rm};
	case 0x25: /* and, cmp, test with eax */
	case 0x3d:
	case 0xa9:
		return (struct uses){.reads = 1};
	}
	if (i->op >= 0xb8 && i->op <= 0xbf)
		return (struct uses){.sets = low};
	if (i->op >= 0x91 && i->op <= 0x97) /* xchg with eax */
		return (struct uses){.reads = low | 1};
	return (struct uses){0};
}

/* One of its results is read, and before it the leaf is set; or three are. */
static int cpuid_is_used(const uint8_t *lo, const uint8_t *p, const uint8_t *end)
{
	unsigned results = 0xf /* eax, ecx, edx, ebx */, read = 0;
	int enough = leaf_is_set(lo, p) ? 1 : 3;
	struct insn i;

	for (unsigned k = 0, len; k < 9 && p < end; k++, p += len) {
		struct uses u;

		len = length_at(p, end, &i);
		if (!len || (k && i.kind != INSN_PLAIN && i.kind != INSN_JCC))
			break;
		if (!k) /* cpuid itself */
			continue;
		u = uses_of(p, &i);
		read |= u.reads & results;
		results &= ~u.sets;
		if (__builtin_popcount(read) >= enough)
			return 1;
	}
	return 0;
}

int decode_is_used(const uint8_t *lo, const uint8_t *p, const uint8_t *end)
{
	return p[1] == 0xa2 ? cpuid_is_used(lo, p, end) : number_is_used(p, end, p[1] == 0xc7);
}
