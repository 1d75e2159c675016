/* SPDX-License-Identifier: MIT */
/*
 * mutate.c: runs a libFuzzer target without libFuzzer, in every build, with sanitizers or not: on inputs that are damaged
 * at random.
 *
 *   PROGRAM SEEDS [COUNT [SEED]]     SEEDS: a file with an input in each line
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fdio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seeds {
	struct buf text;
	const char *line[512];
	size_t len[512];
	unsigned n;
};

static uint64_t state;

/* xorshift64 */
static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 32) % n;
}

static int read_seeds(const char *path, struct seeds *s)
{
	struct err e;

	if (read_file(path, &s->text, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return -1;
	}
	for (const char *p = buf_str(&s->text); *p && s->n < 512; s->n++) {
		s->line[s->n] = p;
		s->len[s->n] = strcspn(p, "\n");
		p += s->len[s->n];
		p += *p == '\n';
	}
	return s->n ? 0 : -1;
}

static void flip(struct buf *b)
{
	if (b->len)
		b->data[below((unsigned)b->len)] ^= (char)(1 << below(8));
}

static void overwrite(struct buf *b)
{
	static const char bytes[] = "\0\1\3$#}*:;,=-+\"\\{}[]0f\x7f\xff";

	if (b->len)
		b->data[below((unsigned)b->len)] = bytes[below(sizeof(bytes) - 1)];
}

static void cut(struct buf *b)
{
	if (b->len)
		b->len = below((unsigned)b->len);
}

static void repeat(struct buf *b)
{
	unsigned times = 1 + below(20), part = b->len ? 1 + below((unsigned)b->len) : 0;

	for (unsigned i = 0; i < times && part && b->len < 100000; i++) {
		buf_reserve(b, part);
		buf_add(b, b->data, part);
	}
}

static void number(struct buf *b)
{
	static const char *const extreme[] = {"ffffffffffffffff", "-1", "7fffffff", "99999999999999999999", "0"};

	buf_add_str(b, extreme[below(5)]);
}

static void mutate(const struct seeds *s, struct buf *b)
{
	static void (*const how[])(struct buf *b) = {flip, overwrite, cut, repeat, number};
	unsigned i = below(s->n), times = below(4);

	buf_clear(b);
	buf_add(b, s->line[i], s->len[i]);
	while (times--) {
		how[below(5)](b);
		if (!below(4)) {
			i = below(s->n);
			buf_add_char(b, '\n');
			buf_add(b, s->line[i], s->len[i]);
		}
	}
}

int main(int argc, char **argv)
{
	struct seeds s = {0};
	struct buf b = {0};
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 5000;

	state = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
	state |= 1;
	if (argc < 2 || read_seeds(argv[1], &s))
		return 2;
	printf("1..1\n# seed %" PRIu64 "\n", state);
	fflush(stdout);
	for (unsigned long i = 0; i < count; i++) {
		mutate(&s, &b);
		LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&b), b.len);
	}
	printf("ok 1 - %lu inputs\n", count);
	buf_fini(&b);
	buf_fini(&s.text);
	return 0;
}
