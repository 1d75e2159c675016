/* SPDX-License-Identifier: MIT */
/* strings.c: see strings.h. How far a copy of a string went is told by what it has written. */
#include "memcheck/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rlog/rlog.h"

#define COPY_MAX (1ull << 30) /* of a string, bytes */

enum how {
	HOW_COPY, /* to, from, bytes */
	HOW_MOVE, /* the same, areas that overlap are allowed */
	HOW_STRING_COPY, /* to, from */
	HOW_STRING_APPEND,
	HOW_LENGTH, /* a string; the result is its length */
	HOW_LENGTH_WITHIN, /* a string, at most so many bytes */
	HOW_FIND, /* bytes, a byte, how many; the result is where, or NULL */
	HOW_FIND_IN_STRING, /* a string, a byte */
	HOW_EQUAL, /* two pieces of memory, bytes: the result 0 means that all were compared */
};

#define FUNCTIONS(X)                                                                                                   \
	X("memcpy", HOW_COPY)                                                                                          \
	X("mempcpy", HOW_COPY)                                                                                         \
	X("__memcpy_chk", HOW_COPY)                                                                                    \
	X("__mempcpy_chk", HOW_COPY)                                                                                   \
	X("memmove", HOW_MOVE)                                                                                         \
	X("__memmove_chk", HOW_MOVE)                                                                                   \
	X("bcopy", HOW_MOVE)                                                                                           \
	X("strcpy", HOW_STRING_COPY)                                                                                   \
	X("stpcpy", HOW_STRING_COPY)                                                                                   \
	X("__strcpy_chk", HOW_STRING_COPY)                                                                             \
	X("__stpcpy_chk", HOW_STRING_COPY)                                                                             \
	X("strcat", HOW_STRING_APPEND)                                                                                 \
	X("__strcat_chk", HOW_STRING_APPEND)                                                                           \
	X("strlen", HOW_LENGTH)                                                                                        \
	X("strnlen", HOW_LENGTH_WITHIN)                                                                                \
	X("memchr", HOW_FIND)                                                                                          \
	X("strchr", HOW_FIND_IN_STRING)                                                                                \
	X("index", HOW_FIND_IN_STRING)                                                                                 \
	X("strchrnul", HOW_FIND_IN_STRING)                                                                             \
	X("rawmemchr", HOW_FIND_IN_STRING)                                                                             \
	X("memcmp", HOW_EQUAL)                                                                                         \
	X("bcmp", HOW_EQUAL)

static const char *const names[] = {
#define X(name, how) name,
	FUNCTIONS(X)
#undef X
};

static const uint8_t hows[] = {
#define X(name, how) how,
	FUNCTIONS(X)
#undef X
};

void strings_init(struct strings *s, const struct string_ops *ops, void *ctx)
{
	*s = (struct strings){.ops = ops, .ctx = ctx, .open = xcalloc(RLOG_MAX_THREADS, sizeof(struct string_call))};
	imports_init(&s->imports, names, sizeof(names) / sizeof(names[0]));
}

void strings_fini(struct strings *s)
{
	imports_fini(&s->imports);
	free(s->open);
	*s = (struct strings){0};
}

bool strings_inside(const struct strings *s, uint32_t thread)
{
	return s->open[thread].sp != 0;
}

static void reads(struct strings *s, const struct string_call *c, uint64_t addr, uint64_t len)
{
	if (len)
		s->ops->reads(s->ctx, names[c->function], addr, len,
			      hows[c->function] != HOW_COPY && hows[c->function] != HOW_MOVE);
}

/* A copy of a structure to itself is made by compilers, too, and does no harm. */
static void may_overlap(struct strings *s, const struct string_call *c, uint64_t to, uint64_t from, uint64_t len)
{
	if (to != from && to < from + len && from < to + len)
		s->ops->overlaps(s->ctx, names[c->function], to, from, len);
}

void strings_call(struct strings *s, pid_t pid, uint32_t thread, uint64_t slot, const uint64_t *arg, uint64_t sp)
{
	int function = imports_find(&s->imports, pid, slot);
	struct string_call *c = &s->open[thread];

	if (function < 0)
		return;
	*c = (struct string_call){
		.sp = sp, .function = (unsigned)function, .arg = {arg[0], arg[1], arg[2]}, .lo = UINT64_MAX};
	if (hows[function] == HOW_COPY)
		may_overlap(s, c, arg[0], arg[1], arg[2]);
	if (hows[function] == HOW_COPY || hows[function] == HOW_MOVE)
		reads(s, c, arg[names[function][0] != 'b'], arg[2]);
}

void strings_write(struct strings *s, uint32_t thread, uint64_t addr, uint64_t len)
{
	struct string_call *c = &s->open[thread];

	/* what the loader writes to find the function at its first call lies below */
	if (!c->sp || addr < c->arg[0] || addr - c->arg[0] > COPY_MAX)
		return;
	if (addr < c->lo)
		c->lo = addr;
	if (addr + len > c->hi)
		c->hi = addr + len;
}

static void copied_string(struct strings *s, const struct string_call *c, bool appends)
{
	uint64_t to = appends ? c->lo : c->arg[0];

	if (c->hi <= to)
		return;
	reads(s, c, c->arg[1], c->hi - to);
	may_overlap(s, c, to, c->arg[1], c->hi - to);
}

static void found(struct strings *s, const struct string_call *c, uint64_t rax, uint64_t none)
{
	if (rax >= c->arg[0])
		reads(s, c, c->arg[0], rax - c->arg[0] + 1);
	else if (!rax)
		reads(s, c, c->arg[0], none);
}

void strings_return(struct strings *s, uint32_t thread, uint64_t sp, uint64_t rax)
{
	struct string_call c = s->open[thread];

	if (!c.sp || c.sp != sp)
		return;
	switch ((enum how)hows[c.function]) {
	case HOW_COPY:
	case HOW_MOVE:
		break;
	case HOW_STRING_COPY:
	case HOW_STRING_APPEND:
		copied_string(s, &c, hows[c.function] == HOW_STRING_APPEND);
		break;
	case HOW_LENGTH:
		reads(s, &c, c.arg[0], rax + 1);
		break;
	case HOW_LENGTH_WITHIN:
		reads(s, &c, c.arg[0], rax < c.arg[1] ? rax + 1 : c.arg[1]);
		break;
	case HOW_FIND:
		found(s, &c, rax, c.arg[2]);
		break;
	case HOW_FIND_IN_STRING:
		found(s, &c, rax, 1);
		break;
	case HOW_EQUAL:
		if (!(uint32_t)rax) {
			reads(s, &c, c.arg[0], c.arg[2]);
			reads(s, &c, c.arg[1], c.arg[2]);
		}
		break;
	}
	s->open[thread].sp = 0;
}
