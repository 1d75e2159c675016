/* SPDX-License-Identifier: MIT */
/* base64.h: bytes inside JSON strings (RFC 4648, with padding, no line breaks). */
#ifndef FRED_WIRE_BASE64_H
#define FRED_WIRE_BASE64_H

#include <stddef.h>

#include "base/buf.h"

void base64_encode(struct buf *out, const void *data, size_t len);
/* Appends the bytes; -1 when text is no base64 (out then holds what came before). */
int base64_decode(struct buf *out, const char *text, size_t len);

#endif
