/* SPDX-License-Identifier: MIT */
/* memory.c: the memory of unwritten.h. A page without an entry was written. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "unwritten/unwritten.h"

#define PAGE 4096u
#define GRAIN 4u /* bytes with one origin */

void unwritten_memory_init(struct unwritten_memory *m)
{
	*m = (struct unwritten_memory){.last = UINT64_MAX};
	table_init(&m->pages, sizeof(struct unwritten_page));
}

void unwritten_memory_fini(struct unwritten_memory *m)
{
	for (struct unwritten_page *p = NULL; (p = table_next(&m->pages, p));) {
		free(p->bits);
		free(p->origin);
	}
	table_fini(&m->pages);
	*m = (struct unwritten_memory){0};
}

/* NULL: it was written. */
static struct unwritten_page *find(struct unwritten_memory *m, uint64_t addr)
{
	if (addr / PAGE != m->last) {
		m->last = addr / PAGE;
		m->last_page = table_find(&m->pages, m->last + 1);
	}
	return m->last_page;
}

static struct unwritten_page *make(struct unwritten_memory *m, uint64_t addr)
{
	if (!find(m, addr))
		m->last_page = table_add(&m->pages, m->last + 1);
	return m->last_page;
}

/* The page's bytes differ from now on: gives it an array. */
static void split(struct unwritten_page *p)
{
	if (p->bits)
		return;
	p->bits = xmalloc(PAGE);
	memset(p->bits, p->all ? 0xff : 0, PAGE);
	p->origin = xcalloc(PAGE / GRAIN, sizeof(*p->origin));
	for (unsigned k = 0; k < PAGE / GRAIN; k++)
		p->origin[k] = p->all_origin;
}

/* How much of [addr, addr + len) is in one page. */
static unsigned piece(uint64_t addr, uint64_t len)
{
	uint64_t room = PAGE - addr % PAGE;

	return (unsigned)(len < room ? len : room);
}

static bool any(const uint8_t *bits, unsigned len)
{
	uint8_t all = 0;

	for (unsigned k = 0; k < len; k++)
		all |= bits[k];
	return all != 0;
}

static uint32_t origin_in(const struct unwritten_page *p, unsigned at, unsigned len)
{
	if (!p->bits)
		return p->all_origin;
	for (unsigned k = at; k < at + len; k++)
		if (p->bits[k])
			return p->origin[k / GRAIN];
	return 0;
}

bool unwritten_load(struct unwritten_memory *m, uint64_t addr, unsigned len, uint8_t *bits, uint32_t *origin)
{
	bool found = false;

	for (unsigned done = 0, n; done < len; done += n, addr += n) {
		const struct unwritten_page *p = find(m, addr);
		unsigned at = (unsigned)(addr % PAGE);

		n = piece(addr, len - done);
		if (p && p->bits)
			memcpy(bits + done, p->bits + at, n);
		else
			memset(bits + done, p && p->all ? 0xff : 0, n);
		if (found || !p || !any(bits + done, n))
			continue;
		found = true;
		*origin = origin_in(p, at, n);
	}
	return found;
}

void unwritten_store(struct unwritten_memory *m, uint64_t addr, unsigned len, const uint8_t *bits, uint32_t origin)
{
	for (unsigned done = 0, n; done < len; done += n, addr += n) {
		bool some;
		unsigned at = (unsigned)(addr % PAGE);
		struct unwritten_page *p;

		n = piece(addr, len - done);
		some = any(bits + done, n);
		p = some ? make(m, addr) : find(m, addr);
		if (!p || (!some && !p->bits && !p->all))
			continue;
		split(p);
		memcpy(p->bits + at, bits + done, n);
		for (unsigned k = at / GRAIN; some && k <= (at + n - 1) / GRAIN; k++)
			p->origin[k] = origin;
	}
}

void unwritten_fill(struct unwritten_memory *m, uint64_t addr, uint64_t len, bool never, uint32_t origin)
{
	for (unsigned n; len; len -= n, addr += n) {
		struct unwritten_page *p = never ? make(m, addr) : find(m, addr);
		unsigned at = (unsigned)(addr % PAGE);

		n = piece(addr, len);
		if (!p || (!never && !p->bits && !p->all))
			continue;
		if (n == PAGE) {
			free(p->bits);
			free(p->origin);
			p->bits = NULL;
			p->origin = NULL;
			p->all = never;
			p->all_origin = origin;
			continue;
		}
		split(p);
		memset(p->bits + at, never ? 0xff : 0, n);
		for (unsigned k = at / GRAIN; never && k <= (at + n - 1) / GRAIN; k++)
			p->origin[k] = origin;
	}
}

void unwritten_copy(struct unwritten_memory *m, uint64_t to, uint64_t from, uint64_t len)
{
	uint8_t bits[UNWRITTEN_BYTES];

	for (unsigned n; len; len -= n, to += n, from += n) {
		uint32_t origin = 0;

		n = len < sizeof(bits) ? (unsigned)len : (unsigned)sizeof(bits);
		unwritten_load(m, from, n, bits, &origin);
		unwritten_store(m, to, n, bits, origin);
	}
}

bool unwritten_find(struct unwritten_memory *m, uint64_t addr, uint64_t len, uint64_t *at, uint32_t *origin)
{
	for (unsigned n; len; len -= n, addr += n) {
		const struct unwritten_page *p = find(m, addr);

		n = piece(addr, len);
		for (unsigned k = (unsigned)(addr % PAGE), end = k + n; p && k < end; k++)
			if (p->bits ? p->bits[k] : p->all) {
				*at = addr + (k - addr % PAGE);
				*origin = p->bits ? p->origin[k / GRAIN] : p->all_origin;
				return true;
			}
	}
	return false;
}
