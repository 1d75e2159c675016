/* SPDX-License-Identifier: MIT */
/* tell.c: see tell.h. */
#include "record/core/tell.h"

#include <string.h>

struct replay_report *shim_report;
const void *shim_tell_back;

__attribute__((noinline, cold)) void shim_tell(enum replay_report_kind kind, uint64_t pc, uint64_t a, uint64_t b)
{
	static const uint8_t words[] = {
#define X(name, words) words,
		REPORT_KINDS(X)
#undef X
	};
	struct replay_report *r = shim_report;
	uint64_t e[] = {(uint64_t)kind << REPORT_KIND_SHIFT | pc, a, b};

	if (r->cur + sizeof(e) > r->end) {
		r->lost++;
		return;
	}
	memcpy((void *)r->cur, e, words[kind] * sizeof(*e));
	r->cur += words[kind] * sizeof(*e);
}
