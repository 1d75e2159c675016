/* SPDX-License-Identifier: MIT */
/*
 * script.h: damage to binary files as a fuzzer's input: a file that is changed in a few places gets further than bytes
 * that are made up. Each command has 6 bytes: what, of which file, where (2 bytes, as a part of its length), and two
 * values.
 */
#ifndef FRED_TEST_FUZZ_SCRIPT_H
#define FRED_TEST_FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct script_file {
	char *name;
	struct buf was, now;
};

/* now = was in all, and the commands on top. */
void script_run(struct script_file *f, unsigned n, const uint8_t *data, size_t size);
/* Makes the file anew, without waiting for the disk. */
int script_write(const char *path, const struct buf *b);

#endif
