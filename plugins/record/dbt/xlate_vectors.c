/* SPDX-License-Identifier: MIT */
/* xlate_vectors.c: entries of a report for vector registers that say which memory an instruction accesses. */
#include "record/dbt/xlate_entry.h"

#define EVEX_BYTES 4
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

/* vmovups %ymm, 8(%rax), or with EVEX %zmm */
static void put_store(struct cache *c, unsigned reg, int evex)
{
	uint8_t high = (uint8_t)((reg & 8 ? 0 : 0x80) | 0x61), modrm = (uint8_t)((reg & 7) << 3);

	if (evex) {
		const uint8_t b[] = {0x62, (uint8_t)(high | (reg & 16 ? 0 : 0x10)), 0x7c, 0x48, MOVUPS, modrm | 0x80};

		put(c, b, sizeof(b));
		put32(c, 8);
	} else {
		const uint8_t b[] = {0xc4, high, 0x7c, MOVUPS, modrm | 0x40, 8};

		put(c, b, sizeof(b));
	}
}

static void put_vector(struct xlate *x, struct cache *c, enum replay_report_vector which, unsigned reg, int evex)
{
	keep_rax_rcx(c);
	put_cur(x, c, LOAD);
	put_store(c, reg, evex);
	put_head(c, REPORT_VECTOR, which);
	end(x, c, WORDS);
}

void xlate_put_vectors(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	int gather = xlate_is_gather(p, i), evex = i->vex == EVEX_BYTES;
	uint8_t last = p[i->op_at - 1]; /* of the prefix */

	if (gather)
		put_vector(x, c, REPORT_VECTOR_INDEX,
			   (p[i->modrm_at + 1] >> 3 & 7) | (insn_extension(p, i) & 2) << 2 |
				   (evex && !(last & 8) ? 16u : 0),
			   evex);
	if ((gather && !evex) || is_masked_move(p, i))
		put_vector(x, c, REPORT_VECTOR_MASK, ~last >> 3 & 15u, 0);
}
