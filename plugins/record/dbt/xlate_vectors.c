/* SPDX-License-Identifier: MIT */
/* xlate_vectors.c: entries of a report for vector registers that say which memory an instruction accesses. */
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate_entry.h"

#define MOVUPS 0x11
#define WORDS 9

static int is_memory(const uint8_t *p, const struct insn *i)
{
	return i->vex && i->map == 2 && i->modrm_at && p[i->modrm_at] >> 6 != 3;
}

int xlate_is_gather(const uint8_t *p, const struct insn *i)
{
	return is_memory(p, i) && (p[i->modrm_at] & 7) == 4 &&
	       ((i->op & 0xfc) == 0x90 || (i->vex == EVEX_BYTES && (i->op & 0xfc) == 0xa0));
}

/* vmaskmovps, vmaskmovpd, vpmaskmovd, vpmaskmovq */
static int is_masked_move(const uint8_t *p, const struct insn *i)
{
	return is_memory(p, i) && i->vex != EVEX_BYTES && ((i->op & 0xfc) == 0x2c || (i->op & 0xfd) == 0x8c);
}

/* movups %xmm, 8(%rax), or with VEX %ymm, with EVEX %zmm: in the encoding that the instruction itself has */
static void put_store(struct cache *c, unsigned reg, unsigned vex)
{
	uint8_t high = (uint8_t)((reg & 8 ? 0 : 0x80) | 0x61), modrm = (uint8_t)((reg & 7) << 3);

	if (vex == EVEX_BYTES) {
		const uint8_t b[] = {0x62, (uint8_t)(high | (reg & 16 ? 0 : 0x10)), 0x7c, 0x48, MOVUPS, modrm | 0x80};

		put(c, b, sizeof(b));
		put32(c, 8);
	} else if (vex) {
		const uint8_t b[] = {0xc4, high, 0x7c, MOVUPS, modrm | 0x40, 8};

		put(c, b, sizeof(b));
	} else {
		const uint8_t b[] = {(uint8_t)(0x40 | (reg & 8) >> 1), 0x0f, MOVUPS, modrm | 0x40, 8};

		put(c, b, sizeof(b));
	}
}

static void put_vector(struct xlate *x, struct cache *c, enum replay_report_vector which, unsigned reg, unsigned vex)
{
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
	put_store(c, reg, vex);
	put_head(c, REPORT_VECTOR, which);
	end(x, c, WORDS);
}

/* pand, pandn, por, andps and the like, pshufb: whose values decide which bits of the others count */
static int has_values(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);

	if (i->vex == EVEX_BYTES || !i->modrm_at || p[i->modrm_at] >> 6 != 3)
		return 0;
	if (i->map == 1 && i->op >= 0x54 && i->op <= 0x56)
		return pp == INSN_PP_NONE || pp == INSN_PP_66;
	return pp == INSN_PP_66 &&
	       (i->map == 1 ? i->op == 0xdb || i->op == 0xdf || i->op == 0xeb : i->map == 2 && i->op == 0x00);
}

void xlate_put_vector_values(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	unsigned first = i->vex ? ~p[i->op_at - 1] >> 3 & 15u : (p[i->modrm_at] >> 3 & 7) | (i->rex & 4u) << 1;

	if (!report_knows(report_of(x), REPORT_VECTOR) || !has_values(p, i))
		return;
	put_vector(x, c, REPORT_VECTOR_FIRST, first, i->vex);
	put_vector(x, c, REPORT_VECTOR_SECOND, (p[i->modrm_at] & 7) | (insn_extension(p, i) & 1u) << 3, i->vex);
}

void xlate_put_vectors(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int gather = xlate_is_gather(p, i), evex = i->vex == EVEX_BYTES;
	uint8_t last = i->vex ? p[i->op_at - 1] : 0; /* of the prefix */

	if (!report_knows(report_of(x), REPORT_VECTOR))
		return;
	if (gather)
		put_vector(x, c, REPORT_VECTOR_INDEX,
			   (p[i->modrm_at + 1] >> 3 & 7) | (insn_extension(p, i) & 2) << 2 |
				   (evex && !(last & 8) ? 16u : 0),
			   i->vex);
	if ((gather && !evex) || is_masked_move(p, i))
		put_vector(x, c, REPORT_VECTOR_MASK, ~last >> 3 & 15u, i->vex);
}
