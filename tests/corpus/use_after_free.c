/* SPDX-License-Identifier: MIT */
/*
 * use_after_free.c: a cached pointer outlives its object; the allocator gives the same block to a record
 * of another type, whose field lies over the object's mark.
 *
 * EXPECT-EXPR: cached->mark == 0x5e55
 * EXPECT-LINE: BUG: another type's block
 * EXPECT-FUNC: record_fill
 * EXPECT-EXIT: 134
 */
#include <stdio.h>
#include <stdlib.h>

struct session {
	long pad[6];
	unsigned mark, user;
};

struct record {
	long values[6];
	unsigned serial, kind;
};

static struct session *cached;
static struct record *records[4096];

static __attribute__((noinline)) struct session *session_new(unsigned user)
{
	struct session *s = calloc(1, sizeof(*s));

	s->user = user;
	s->mark = 0x5e55;
	return s;
}

static __attribute__((noinline)) void record_fill(struct record *r, unsigned serial)
{
	r->serial = serial; /* BUG: another type's block */
}

/* The owner forgets the cache. */
static __attribute__((noinline)) void logout(struct session *s)
{
	printf("user %u leaves\n", s->user);
	free(s);
}

static __attribute__((noinline)) void use_cached(void)
{
	if (cached->mark != 0x5e55) {
		fprintf(stderr, "not a session: %x\n", cached->mark);
		abort();
	}
	cached->user++;
}

int main(void)
{
	struct session *s = session_new(1);

	cached = s;
	for (unsigned i = 0; i < 4096; i++) {
		if (i == 1500)
			logout(s);
		records[i] = malloc(sizeof(*records[i]));
		record_fill(records[i], i);
		if (i % 100 == 0) {
			printf("%u records\n", i);
			use_cached();
		}
	}
	printf("never reused\n");
	return 0;
}
