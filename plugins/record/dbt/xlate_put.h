/* SPDX-License-Identifier: MIT */
/* xlate_put.h: bytes of translated code, for the files xlate_*.c that emit it. */
#ifndef FRED_RECORD_XLATE_PUT_H
#define FRED_RECORD_XLATE_PUT_H

#include "record/core/state.h"
#include "record/dbt/xlate_emit.h"

#include <string.h>

static inline void put(struct cache *c, const void *p, size_t n)
{
	memcpy(c->cur, p, n);
	c->cur += n;
}

#define BYTES(c, ...)                                                                                                  \
	do {                                                                                                           \
		static const uint8_t bytes_[] = {__VA_ARGS__};                                                         \
		put(c, bytes_, sizeof(bytes_));                                                                        \
	} while (0)

static inline void put32(struct cache *c, uint32_t v)
{
	put(c, &v, sizeof(v));
}

static inline void put64(struct cache *c, uint64_t v)
{
	put(c, &v, sizeof(v));
}

/* An instruction with REX.W (and REX.R) on %gs:field. */
static inline void put_gs(struct cache *c, uint8_t op, int reg, uint32_t field)
{
	const uint8_t b[] = {0x65, (uint8_t)(0x48 | (reg & 8) >> 1), op, (uint8_t)(0x04 | (reg & 7) << 3), 0x25};

	put(c, b, sizeof(b));
	put32(c, field);
}
#define STORE 0x89
#define LOAD 0x8b
#define COMPARE 0x3b

static inline void keep_flags(struct cache *c)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	BYTES(c, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
	put_gs(c, STORE, RAX, GS(kept_flags));
}

/* Changes no flags but those that it restores. */
static inline void restore_flags(struct cache *c)
{
	put_gs(c, LOAD, RAX, GS(kept_flags));
	BYTES(c, 0x04, 0x7f, 0x9e); /* add $0x7f, %al; sahf */
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

/* In between, the translated code may use rax and rcx. */
static inline void keep_rax_rcx(struct cache *c)
{
	put_gs(c, STORE, RAX, GS(kept_rax));
	put_gs(c, STORE, RCX, GS(kept_rcx));
}

static inline void restore_rax_rcx(struct cache *c)
{
	put_gs(c, LOAD, RCX, GS(kept_rcx));
	put_gs(c, LOAD, RAX, GS(kept_rax));
}

#define LONG_JUMP 5 /* bytes: opcode and distance */

/* Emits a jump that is skipped when rcx and rax add up to 0; no flag is changed. Returns its place, for jumps_lead. */
static inline uint8_t *put_jump_unless_zero(struct cache *c)
{
	uint8_t *jump;

	BYTES(c, 0x48, 0x8d, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
	BYTES(c, 0xe3, LONG_JUMP); /* jrcxz */
	jump = c->cur;
	c->cur += LONG_JUMP;
	return jump;
}

static inline void jumps_lead(uint8_t *const *jump, unsigned n, const uint8_t *to)
{
	for (unsigned i = 0; i < n; i++) {
		struct cache at = {.cur = jump[i]};

		BYTES(&at, 0xe9);
		put32(&at, (uint32_t)(to - (jump[i] + LONG_JUMP)));
	}
}

#endif
