/* SPDX-License-Identifier: MIT */
/* vectors.c: see vectors.h. */
#include "replay/vectors.h"

#include <cpuid.h>
#include <string.h>

#include "trace/trace.h"

#define XSAVE_MAX 16384
#define LEGACY_BYTES 416 /* of x87 and SSE */
#define LAST_AT 6 /* opcode and addresses of the last x87 instruction */
#define LAST_BYTES 18
#define PRESENT_AT 512 /* a bit for each component that is not as at the start of a program */
#define COMPONENTS 8 /* the rest is no data of a computation */

static uint64_t mix(uint64_t hash, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		hash = (hash ^ p[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/* One that is not there and one of zeros are the same to the program. */
static uint64_t add_component(uint64_t hash, const uint8_t *xsave, size_t len, unsigned i)
{
	unsigned size, at, c, d;

	__cpuid_count(0xd, i, size, at, c, d);
	if (!(xsave[PRESENT_AT] >> i & 1) || at + size > len || all_zero(xsave + at, size))
		return hash;
	return mix(hash + i, xsave + at, size);
}

int vectors_hash(pid_t pid, pid_t tid, uint64_t *hash, struct err *e)
{
	uint8_t xsave[XSAVE_MAX];
	size_t len = sizeof(xsave);
	struct trace t;

	if (trace_seize(&t, pid, tid, e))
		return -1;
	if (trace_get_xsave(&t, xsave, &len, e)) {
		trace_detach(&t, false, &(struct err){0});
		return -1;
	}
	memset(xsave + LAST_AT, 0, LAST_BYTES);
	*hash = mix(1, xsave, LEGACY_BYTES);
	for (unsigned i = 2; i < COMPONENTS; i++)
		*hash = add_component(*hash, xsave, len, i);
	return trace_detach(&t, false, e);
}
