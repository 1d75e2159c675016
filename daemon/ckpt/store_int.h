/* SPDX-License-Identifier: MIT */
/* store_int.h: shared by the store's C files. */
#ifndef FRED_CKPT_STORE_INT_H
#define FRED_CKPT_STORE_INT_H

#include <jansson.h>

#include "base/cleanup.h"
#include "ckpt/store.h"

#define STORE_FORMAT 1
#define STORE_TMP "tmp."

struct ckpt_store {
	char *root;
	char *host; /* kernel and processor: images from others cannot be used */
};

/* ROOT/ID, malloc'd. */
char *store_dir(const struct ckpt_store *s, uint64_t id);
/*
 * Reads ROOT/ID/ckpt.json. *files (if wanted): new reference to the array of shared files. Fails
 * when it is missing, of another format, or of another host.
 */
int store_read_meta(const struct ckpt_store *s, uint64_t id, struct ckpt_meta *m, json_t **files, struct err *e);
/* The bytes of all files below dir, ckpt.json excepted. */
uint64_t store_content_bytes(const char *dir);
/*
 * Opens a folder with a lock on it (operation: LOCK_SH or LOCK_EX). The descriptor; -1, errno:
 * EWOULDBLOCK.
 */
int store_lock(const char *dir, int operation);

#endif
