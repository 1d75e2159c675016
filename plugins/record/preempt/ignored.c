/* SPDX-License-Identifier: MIT */
/*
 * ignored.c: see ignored.h. An entry is one word, so that threads need no lock: if two are added at once, one may be
 * lost.
 */
#include "record/preempt/ignored.h"
#include "record/core/state.h"

#define ADDRESS_BITS SHIM_HOLE_BITS
#define PROBES 16u

/* an entry: the address in the low ADDRESS_BITS bits, the number of bytes above them; 0: none */
static uint64_t unseen[IGNORED_MAX], *ranges = unseen;

void ignored_init(void)
{
	void *m = raw_mmap((void *)SHIM_HOLES_ADDR, sizeof(unseen), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (!raw_failed(m))
		ranges = m;
}

static uint64_t *slot(uint64_t addr, uint32_t probe)
{
	return &ranges[((uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 40) + probe) % IGNORED_MAX];
}

static uint64_t address(uint64_t entry)
{
	return entry & ((1ull << ADDRESS_BITS) - 1);
}

void ignored_add(const void *obj, uint64_t bytes)
{
	uint64_t addr = (uint64_t)obj, entry = addr | bytes << ADDRESS_BITS, *at, is;

	for (uint32_t i = 0; i < PROBES; i++) {
		at = slot(addr, i);
		is = __atomic_load_n(at, __ATOMIC_RELAXED);
		if (is == entry)
			return;
		if (!is || address(is) == addr)
			break;
	}
	__atomic_store_n(at, entry, __ATOMIC_RELAXED);
}

void ignored_remove(const void *obj)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t *at = slot((uint64_t)obj, i);

		if (address(__atomic_load_n(at, __ATOMIC_RELAXED)) == (uint64_t)obj)
			__atomic_store_n(at, 0, __ATOMIC_RELAXED);
	}
}

void ignored_insert(struct ignored_range *v, uint32_t *n, uint64_t lo, uint64_t hi)
{
	uint32_t k = *n;

	if (k == IGNORED_MAX)
		return;
	for (; k && v[k - 1].lo > lo; k--)
		v[k] = v[k - 1];
	v[k] = (struct ignored_range){lo & ~7ull, (hi + 7) & ~7ull};
	++*n;
}

uint32_t ignored_list(struct ignored_range out[IGNORED_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < IGNORED_MAX; i++) {
		uint64_t is = __atomic_load_n(&ranges[i], __ATOMIC_RELAXED), lo = address(is);

		if (is)
			ignored_insert(out, &n, lo, lo + (is >> ADDRESS_BITS));
	}
	return n;
}
