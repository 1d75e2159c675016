/* SPDX-License-Identifier: MIT */
/* emulate_memory.c: the memory that an interpreted function sees, and operands in it and in registers. */
#include "insn/emulate_int.h"

#include <string.h>

#define STACK_PROTECTOR 0x28 /* in thread-local memory: any number will do */

static bool is_stack(uint64_t addr)
{
	return addr < EMULATE_STACK_HI && addr >= EMULATE_STACK_HI - EMULATE_STACK_SIZE;
}

static int read_page(struct emulate *m, uint64_t at, uint8_t *out)
{
	if (!is_stack(at))
		return m->ops->page(m->ctx, at, out);
	memset(out, 0, EMULATE_PAGE);
	return 0;
}

struct emulate_page *emulate_page_at(struct emulate *m, uint64_t addr)
{
	uint64_t at = addr & ~(uint64_t)(EMULATE_PAGE - 1);
	unsigned slot = (unsigned)((at >> 12 ^ at >> 24) & (EMULATE_PAGES - 1));

	if (m->last && m->last->addr == at)
		return m->last;
	if (!at)
		return NULL;
	while (m->page[slot].addr && m->page[slot].addr != at)
		slot = (slot + 1) & (EMULATE_PAGES - 1);
	if (!m->page[slot].addr) {
		m->full |= m->pages >= EMULATE_PAGES - EMULATE_PAGES / 8;
		if (m->full || read_page(m, at, m->page[slot].data))
			return NULL;
		m->page[slot].addr = at;
		m->pages++;
	}
	m->last = &m->page[slot];
	return m->last;
}

/* Copies between memory and a buffer, page by page. */
static int copy(struct emulate *m, uint64_t addr, uint8_t *out, const uint8_t *from, size_t len)
{
	while (len) {
		size_t off = addr & (EMULATE_PAGE - 1), n = len < EMULATE_PAGE - off ? len : EMULATE_PAGE - off;
		struct emulate_page *p = emulate_page_at(m, addr);

		if (!p)
			return -1;
		if (out) {
			memcpy(out, p->data + off, n);
			out += n;
		} else {
			memcpy(p->data + off, from, n);
			from += n;
		}
		addr += n;
		len -= n;
	}
	return 0;
}

int emulate_read(struct emulate *m, uint64_t addr, void *out, size_t len)
{
	return copy(m, addr, out, NULL, len);
}

int emulate_load(struct emulate *m, uint64_t addr, void *out, unsigned len)
{
	if (copy(m, addr, out, NULL, len))
		return -1;
	if (!is_stack(addr) && m->ops->has_read)
		m->ops->has_read(m->ctx, addr, len);
	return 0;
}

int emulate_store(struct emulate *m, uint64_t addr, const void *from, unsigned len)
{
	return copy(m, addr, NULL, from, len);
}

/* ---- operands ---- */

uint64_t emulate_address(const struct emulate_cpu *c, const struct emulate_operand *o)
{
	uint64_t a = (uint64_t)o->value;

	if (o->base == EMULATE_RIP)
		a += c->rip;
	else if (o->base != EMULATE_NO_REG)
		a += c->reg[o->base];
	if (o->index != EMULATE_NO_REG)
		a += c->reg[o->index] * o->scale;
	return a;
}

static enum emulate_end load(struct emulate *m, const struct emulate_cpu *c, const struct emulate_operand *o, void *out)
{
	if (o->fs && o->value == STACK_PROTECTOR && o->base == EMULATE_NO_REG && o->index == EMULATE_NO_REG) {
		memset(out, 0, o->bits / 8);
		return EMULATE_DONE;
	}
	if (o->fs)
		return EMULATE_REFUSED;
	return emulate_load(m, emulate_address(c, o), out, o->bits / 8) ? EMULATE_FAULT : EMULATE_DONE;
}

enum emulate_end emulate_get(struct emulate *m, const struct emulate_cpu *c, const struct emulate_operand *o,
			     uint64_t *v)
{
	*v = 0;
	switch (o->kind) {
	case EMULATE_REG:
		if (o->reg >= EMULATE_XMM)
			return EMULATE_REFUSED;
		*v = (o->high ? c->reg[o->reg] >> 8 : c->reg[o->reg]) & emulate_mask(o->bits);
		return EMULATE_DONE;
	case EMULATE_MEM:
		return o->bits > 64 ? EMULATE_REFUSED : load(m, c, o, v);
	case EMULATE_IMM:
		*v = (uint64_t)o->value;
		return EMULATE_DONE;
	default:
		return EMULATE_REFUSED;
	}
}

enum emulate_end emulate_put(struct emulate *m, struct emulate_cpu *c, const struct emulate_operand *o, uint64_t v)
{
	uint64_t keep;

	if (o->kind == EMULATE_MEM)
		return o->fs							  ? EMULATE_REFUSED
		       : emulate_store(m, emulate_address(c, o), &v, o->bits / 8) ? EMULATE_FAULT
										  : EMULATE_DONE;
	if (o->kind != EMULATE_REG || o->reg >= EMULATE_XMM)
		return EMULATE_REFUSED;
	keep = o->bits >= 32 ? 0 : o->high ? ~0xff00ull : ~emulate_mask(o->bits);
	v &= emulate_mask(o->bits);
	c->reg[o->reg] = (c->reg[o->reg] & keep) | (o->high ? v << 8 : v);
	return EMULATE_DONE;
}
