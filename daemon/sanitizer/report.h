/* SPDX-License-Identifier: MIT */
/* report.h: the text that a sanitizer's runtime writes before it ends the program. Pure. */
#ifndef FRED_SANITIZER_REPORT_H
#define FRED_SANITIZER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct sanitizer_report {
	char tool[64]; /* AddressSanitizer, say */
	char what[256]; /* heap-buffer-overflow, or a sentence */
	uint64_t addr; /* 0: none is named */
	uint64_t size; /* of the access; 0: not known */
	bool writes;
};

/* false: the text contains no report, nor the beginning of one. */
bool sanitizer_report_parse(const char *text, struct sanitizer_report *r);
/* Does it say that the memory was used, or freed again, after its life had ended? */
bool sanitizer_report_is_stale(const struct sanitizer_report *r);

#endif
