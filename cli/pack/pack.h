/* SPDX-License-Identifier: MIT */
/*
 * pack.h: a recording as one file: a tar archive (ustar), compressed by zstd with its checksum. meta.json comes first;
 * all other files follow in the order of its manifest, which has the size and sum of each.
 */
#ifndef FRED_PACK_PACK_H
#define FRED_PACK_PACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define PACK_META "meta.json"
#define PACK_MAX_META (256u << 20)

/* May a pack contain a file of this name? It must be a control page, an image, a list, a log or a copy. */
bool pack_name_ok(const char *name);

/*
 * Writes the recording rec to a new file. without_data: what the program read is zero, the files that it mapped and the
 * values of its environment are left out. *bytes: the file's size. On failure there is no file.
 */
int pack_write(const char *rec, const char *file, bool without_data, uint64_t *bytes, struct err *e);

/* ---- reading: the file is not trusted ---- */

struct pack;
/*
 * Opens a packed file and reads its meta.json, which pack_meta returns (borrowed). ERR_USAGE: it is not a packed
 * recording, or is damaged.
 */
int pack_open(const char *file, struct pack **out, struct err *e);
const json_t *pack_meta(const struct pack *p);
/*
 * Makes a recording from it: in the folder `wanted` (NULL: a new one in $FRED_HOME); *dir: its path, malloc'd. All
 * files are checked against the manifest. ERR_HOST: this host cannot replay it. On failure nothing is left.
 */
int pack_unpack(struct pack *p, const char *wanted, char **dir, struct err *e);
void pack_close(struct pack *p);

/* ---- tar.c: headers of 512 bytes (POSIX.1-1988 ustar) ---- */

#define TAR_BLOCK 512u
struct tar_entry {
	char name[101];
	uint64_t size;
};
void tar_header(uint8_t out[TAR_BLOCK], const char *name, uint64_t size, unsigned mode);
/* 1: an entry; 0: the block of zeros at the end; -1: neither (ERR_USAGE). Only regular files are accepted. */
int tar_parse(const uint8_t in[TAR_BLOCK], struct tar_entry *out, struct err *e);

#endif
