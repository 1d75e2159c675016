/* SPDX-License-Identifier: MIT */
/*
 * written.c: recording: code that the program writes into memory which is executable already, as some compilers at run
 * time do. No call tells when it is complete, so its instructions that bring input in are not changed (patch.c), and
 * what they give is not recorded. It is looked for when the memory is unmapped, and when the process ends, and noted.
 */
#include "record/core/maps.h"
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/input/input.h"
#include "record/store/log.h"

#include <sys/mman.h>

#define RANGES 32u

struct range {
	uint64_t lo, hi;
};

/* What the program could write to and execute. When there are more, the last one grows over what is between. */
static struct range ranges[RANGES];
static unsigned used;
static int noted;

void written_mapped(uint64_t at, uint64_t len, int prot, int shared)
{
	struct range *last = used ? &ranges[used - 1] : 0;

	if (G.mode != SHIM_RECORD || !(prot & PROT_EXEC) || !((prot & PROT_WRITE) || shared))
		return;
	for (unsigned i = 0; i < used; i++)
		if (at >= ranges[i].lo && at + len <= ranges[i].hi)
			return;
	if (last && (used == RANGES || (at <= last->hi && at + len >= last->lo))) {
		last->lo = at < last->lo ? at : last->lo;
		last->hi = at + len > last->hi ? at + len : last->hi;
		return;
	}
	ranges[used++] = (struct range){at, at + len};
}

static void note_it(const uint8_t *p, const char *name)
{
	char text[200], *end = text + sizeof(text), *q;

	q = fmt_str(text, end, "an instruction (");
	q = fmt_str(q, end, name);
	q = fmt_str(q, end, ") at 0x");
	q = fmt_hex(q, end, (uint64_t)p);
	fmt_str(q, end, " in code written into executable memory, which a replay may not match");
	note(RLOG_NOTE_UNSUPPORTED, (int64_t)p, text);
	noted = 1;
}

static void look(uint64_t lo, uint64_t hi)
{
	const uint8_t *p = patch_find((const uint8_t *)lo, (const uint8_t *)hi, 1);

	if (p) {
		note_it(p, "rdrand, rdseed or rdpid");
		return;
	}
	p = G.no_tsc ? 0 : patch_find((const uint8_t *)lo, (const uint8_t *)hi, 0);
	if (p)
		note_it(p, "rdtsc or rdtscp");
}

/* The part of a mapping that is in one of the ranges and in [only->lo, only->hi). */
static int look_at_map(const struct map *m, void *arg)
{
	const struct range *only = arg;

	if (m->perms[0] != 'r' || m->perms[2] != 'x' || (m->perms[1] != 'w' && m->perms[3] != 's'))
		return 0;
	for (unsigned i = 0; i < used && !noted; i++) {
		uint64_t lo = m->lo > ranges[i].lo ? m->lo : ranges[i].lo;
		uint64_t hi = m->hi < ranges[i].hi ? m->hi : ranges[i].hi;

		lo = lo > only->lo ? lo : only->lo;
		hi = hi < only->hi ? hi : only->hi;
		if (lo < hi && sys_readable((const void *)(hi - 1), 1))
			look(lo, hi);
	}
	return noted;
}

void written_unmapped(uint64_t at, uint64_t len)
{
	struct range r = {at, at + len};

	for (unsigned i = 0; i < used && !noted && G.mode == SHIM_RECORD; i++)
		if (r.lo < ranges[i].hi && r.hi > ranges[i].lo) {
			maps_each(look_at_map, &r);
			return;
		}
}

void written_look(void)
{
	struct range all = {0, ~0ull};

	if (used && !noted && G.mode == SHIM_RECORD)
		maps_each(look_at_map, &all);
}
