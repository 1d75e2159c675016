/* SPDX-License-Identifier: MIT */
/* script.c: see script.h. */
#include "script.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"

enum { COMMAND = 6, COMMANDS_MAX = 8, FILE_MAX = 1 << 20 };

struct place {
	struct buf *b;
	size_t at;
	uint8_t v, w;
};

static void set_byte(struct place *p)
{
	p->b->data[p->at] = (char)p->v;
}

static void flip_bit(struct place *p)
{
	p->b->data[p->at] ^= (char)(1 << (p->v & 7));
}

static void cut_end(struct place *p)
{
	p->b->len = p->at;
}

/* Numbers at the edge of something, of 1 to 8 bytes. */
static void set_number(struct place *p)
{
	static const uint64_t edges[] = {0,	     1,		 0x7f,	     0x80,  0xffff, 0x7fffffff,
					 0x80000000, 0xffffffff, 1ull << 63, ~0ull, ~1ull,  0x3fffffffffffffff};
	uint64_t n = edges[p->v % (sizeof(edges) / sizeof(edges[0]))];
	size_t len = (size_t)1 << (p->w & 3), left = p->b->len - p->at;

	memcpy(p->b->data + p->at, &n, len < left ? len : left);
}

static void remove_bytes(struct place *p)
{
	size_t n = 1 + p->v, left = p->b->len - p->at;

	n = n < left ? n : left;
	memmove(p->b->data + p->at, p->b->data + p->at + n, left - n);
	p->b->len -= n;
}

/* v bytes of before, once more. */
static void repeat(struct place *p)
{
	size_t n = p->v < p->at ? p->v : p->at, left = p->b->len - p->at;

	if (!n || p->b->len + n > FILE_MAX)
		return;
	buf_reserve(p->b, n);
	memmove(p->b->data + p->at + n, p->b->data + p->at, left);
	memcpy(p->b->data + p->at, p->b->data + p->at - n, n);
	p->b->len += n;
}

void script_run(struct script_file *f, unsigned n, const uint8_t *data, size_t size)
{
	static void (*const how[])(struct place *) = {set_byte, flip_bit, cut_end, set_number, remove_bytes, repeat};

	for (unsigned i = 0; i < n; i++) {
		buf_clear(&f[i].now);
		buf_add(&f[i].now, f[i].was.data, f[i].was.len);
	}
	for (unsigned k = 0; k < COMMANDS_MAX && size >= COMMAND; k++, data += COMMAND, size -= COMMAND) {
		struct script_file *one = &f[data[1] % n];
		struct place p = {&one->now, 0, data[4], data[5]};

		p.at = one->now.len * ((size_t)data[2] << 8 | data[3]) >> 16;
		if (p.at < one->now.len)
			how[data[0] % (sizeof(how) / sizeof(how[0]))](&p);
	}
}

int script_write(const char *path, const struct buf *b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd < 0 ? -1 : write_full(fd, b->data, b->len);

	close(fd);
	return r;
}
