/* SPDX-License-Identifier: MIT */
/* crc32c.h: the Castagnoli CRC (iSCSI, RFC 3720 B.4), with the processor's instruction if it has one. */
#ifndef FRED_BASE_CRC32C_H
#define FRED_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The CRC of some bytes followed by p[0..n): pass 0 as crc at first, then the previous result. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
/* The same with tables only. For tests. */
uint32_t crc32c_soft(uint32_t crc, const void *p, size_t n);
/* The CRC of some bytes followed by n zeros. */
uint32_t crc32c_zeros(uint32_t crc, uint64_t n);
/* CRC and size of a whole file, of which holes are not read. */
int crc32c_file(const char *path, uint32_t *crc, uint64_t *size, struct err *e);

#endif
