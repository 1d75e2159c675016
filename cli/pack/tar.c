/* SPDX-License-Identifier: MIT */
/* tar.c: headers of tar archives. See pack.h. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pack/pack.h"

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6], version[2];
	char uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == TAR_BLOCK, "ustar");

static unsigned sum_of(const struct ustar *h)
{
	const uint8_t *p = (const uint8_t *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*h); i++)
		sum += i >= offsetof(struct ustar, sum) && i < offsetof(struct ustar, type) ? ' ' : p[i];
	return sum;
}

/* Writes octal digits; a size that is too large for them (8 GiB) in base 256, as GNU tar does. */
static void put_size(char out[12], uint64_t size)
{
	if (size < 1ull << 33) {
		snprintf(out, 12, "%011llo", (unsigned long long)size);
		return;
	}
	memset(out, 0, 12);
	out[0] = (char)0x80;
	for (int i = 0; i < 8; i++)
		out[11 - i] = (char)(size >> (8 * i));
}

static int get_octal(const char *p, size_t n, uint64_t *v)
{
	*v = 0;
	for (size_t i = 0; i < n && p[i] && p[i] != ' '; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		*v = *v << 3 | (uint64_t)(p[i] - '0');
	}
	return 0;
}

static int get_size(const char p[12], uint64_t *v)
{
	if (!(p[0] & 0x80))
		return get_octal(p, 12, v);
	*v = 0;
	for (int i = 4; i < 12; i++)
		*v = *v << 8 | (uint8_t)p[i];
	return p[1] || p[2] || p[3] || *v >> 62 ? -1 : 0;
}

void tar_header(uint8_t out[TAR_BLOCK], const char *name, uint64_t size, unsigned mode)
{
	struct ustar *h = (struct ustar *)out;

	memset(h, 0, sizeof(*h));
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->mode, sizeof(h->mode), "%07o", mode & 0777);
	memset(h->uid, '0', sizeof(h->uid) - 1);
	memset(h->gid, '0', sizeof(h->gid) - 1);
	memset(h->mtime, '0', sizeof(h->mtime) - 1);
	put_size(h->size, size);
	h->type = '0';
	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	snprintf(h->sum, sizeof(h->sum), "%06o", sum_of(h));
	h->sum[7] = ' ';
}

int tar_parse(const uint8_t in[TAR_BLOCK], struct tar_entry *out, struct err *e)
{
	static const uint8_t zero[TAR_BLOCK];
	const struct ustar *h = (const struct ustar *)in;
	uint64_t sum;

	if (!memcmp(in, zero, TAR_BLOCK))
		return 0;
	if (memcmp(h->magic, "ustar", 5) || get_octal(h->sum, sizeof(h->sum), &sum) || sum != sum_of(h))
		return err_set(e, ERR_USAGE, "damaged: not the head of a file in a tar archive");
	memcpy(out->name, h->name, sizeof(h->name));
	out->name[100] = '\0';
	if (h->type != '0' || h->prefix[0])
		return err_set(e, ERR_USAGE, "not a packed recording: '%s' is not a plain file", out->name);
	if (get_size(h->size, &out->size))
		return err_set(e, ERR_USAGE, "damaged: the size of '%s'", out->name);
	return 1;
}
