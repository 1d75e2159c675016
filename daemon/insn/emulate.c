/* SPDX-License-Identifier: MIT */
/* emulate.c: see emulate.h: keeps decoded instructions, and has the loop that executes them. */
#include "insn/emulate_int.h"

#include <stdlib.h>
#include <string.h>

#define INSNS 4096u /* a power of two */
#define RETURN_TO 0x10ull /* nothing is mapped there */
#define STRING_MAX 4096u
#define STEP_NS 50u
#define PAGE_NS 1500u

struct emulate *emulate_new(const struct emulate_ops *ops)
{
	struct emulate *m = calloc(1, sizeof(*m));

	if (m) {
		m->ops = ops;
		m->page = calloc(EMULATE_PAGES, sizeof(*m->page));
		m->insn = calloc(INSNS, sizeof(*m->insn));
	}
	if (m && m->page && m->insn)
		return m;
	emulate_free(m);
	return NULL;
}

void emulate_free(struct emulate *m)
{
	if (!m)
		return;
	free(m->page);
	free(m->insn);
	free(m);
}

void emulate_begin(struct emulate *m, void *ctx)
{
	m->ctx = ctx;
	for (unsigned i = 0; m->pages && i < EMULATE_PAGES; i++)
		m->page[i].addr = 0;
	m->pages = 0;
	m->last = NULL;
	m->full = false;
	m->steps = 0;
	m->sp = EMULATE_STACK_HI;
}

uint64_t emulate_cost_ns(const struct emulate *m)
{
	return m->steps * STEP_NS + m->pages * PAGE_NS;
}

/* The code may have changed since it was decoded. NULL: it cannot be read. */
static struct emulate_insn *insn_at(struct emulate *m, uint64_t pc)
{
	struct emulate_insn *i = &m->insn[(pc ^ pc >> 12) & (INSNS - 1)];
	uint8_t code[sizeof(i->bytes)];
	size_t n = sizeof(code);
	struct emulate_page *p = emulate_page_at(m, pc);

	if (!p)
		return NULL;
	if ((pc & (EMULATE_PAGE - 1)) + n <= EMULATE_PAGE) {
		memcpy(code, p->data + (pc & (EMULATE_PAGE - 1)), n);
	} else if (emulate_read(m, pc, code, n)) { /* the next page is missing */
		n = EMULATE_PAGE - (pc & (EMULATE_PAGE - 1));
		if (emulate_read(m, pc, code, n))
			return NULL;
		memset(code + n, 0, sizeof(code) - n);
	}
	if (i->pc == pc && !memcmp(i->bytes, code, sizeof(code)))
		return i;
	*i = (struct emulate_insn){.pc = pc};
	memcpy(i->bytes, code, sizeof(code));
	emulate_decode(i, code, n);
	return i;
}

static enum emulate_end run(struct emulate *m, struct emulate_cpu *c)
{
	for (unsigned n = 0; n < EMULATE_STEPS; n++) {
		const struct emulate_insn *i;
		enum emulate_end end;

		if (c->rip == RETURN_TO)
			return EMULATE_DONE;
		m->steps++;
		i = insn_at(m, c->rip);
		if (!i)
			return EMULATE_FAULT;
		if (!i->run)
			return EMULATE_REFUSED;
		c->rip += i->len;
		end = i->run(m, c, i);
		if (end)
			return end;
	}
	return EMULATE_REFUSED;
}

uint64_t emulate_string(struct emulate *m, const char *s)
{
	size_t len = strlen(s) + 1;

	if (len > STRING_MAX || m->sp - len < EMULATE_STACK_HI - EMULATE_STACK_SIZE / 2)
		return 0;
	m->sp -= len;
	return emulate_store(m, m->sp, s, (unsigned)len) ? 0 : m->sp;
}

enum emulate_end emulate_call(struct emulate *m, uint64_t function, const uint64_t arg[EMULATE_ARGS], uint64_t *result)
{
	static const uint8_t place[EMULATE_ARGS] = {7, 6, 2, 1, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */
	struct emulate_cpu c = {.rip = function};
	const uint64_t back = RETURN_TO;
	enum emulate_end end;

	for (unsigned i = 0; i < EMULATE_ARGS; i++)
		c.reg[place[i]] = arg[i];
	c.reg[4] = (m->sp & ~15ull) - 8;
	end = emulate_store(m, c.reg[4], &back, sizeof(back)) ? EMULATE_REFUSED : run(m, &c);
	*result = c.reg[0];
	return end == EMULATE_FAULT && m->full ? EMULATE_REFUSED : end;
}
