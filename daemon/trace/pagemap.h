/* SPDX-License-Identifier: MIT */
/* pagemap.h: which pages of a process are in memory (Documentation/admin-guide/mm/pagemap.rst). */
#ifndef FRED_TRACE_PAGEMAP_H
#define FRED_TRACE_PAGEMAP_H

#include <stdint.h>

/*
 * The first page at or after `from`, up to `to`, that is in memory or swapped out; `to`: none is. fd: of
 * /proc/PID/pagemap. Linux before 6.7 cannot tell: then it is `from`. For large mappings of which few pages were
 * touched, such as the shadow memory of AddressSanitizer.
 */
uint64_t pagemap_next_used(int fd, uint64_t from, uint64_t to);

#endif
