/* SPDX-License-Identifier: MIT */
/*
 * strings.c: see strings.h. Of functions that one of these calls in libc, nothing is told: what they read is that of
 * the outer call.
 */
#include "memcheck/strings.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/str.h"
#include "rlog/rlog.h"

#define COPY_MAX (1ull << 30) /* of a string, bytes */
#define NO_LIMIT COPY_MAX

enum how {
	HOW_COPY, /* to, from, how many */
	HOW_MOVE, /* the same, areas that overlap are allowed */
	HOW_STRING_COPY, /* to, from */
	HOW_STRING_COPY_WITHIN, /* to, from, at most so many */
	HOW_STRING_APPEND,
	HOW_STRING_APPEND_WITHIN,
	HOW_LENGTH, /* a string; the result is its length */
	HOW_LENGTH_WITHIN, /* a string, at most so many */
	HOW_FIND, /* characters, one of them, how many; the result is where, or NULL */
	HOW_FIND_LAST, /* the same, from the end */
	HOW_FIND_IN_STRING, /* a string, a character */
	HOW_FIND_UNBOUNDED, /* characters, one of them, which is there */
	HOW_FIND_LAST_IN_STRING,
	HOW_FIND_STRING, /* a string, another one */
	HOW_FIND_ANY, /* a string, a set of characters: the result is where, or NULL */
	HOW_SPAN, /* the same: the result is how many */
	HOW_COMPARE, /* memory, how many */
	HOW_COMPARE_STRINGS,
	HOW_COMPARE_STRINGS_WITHIN,
	HOW_COMPARE_NO_CASE,
	HOW_COMPARE_NO_CASE_WITHIN,
};

#define WIDE sizeof(wchar_t)

/* X(name, how, bytes of a character) */
#define FUNCTIONS(X)                                                                                                   \
	X("memcpy", HOW_COPY, 1)                                                                                       \
	X("mempcpy", HOW_COPY, 1)                                                                                      \
	X("__memcpy_chk", HOW_COPY, 1)                                                                                 \
	X("__mempcpy_chk", HOW_COPY, 1)                                                                                \
	X("wmemcpy", HOW_COPY, WIDE)                                                                                   \
	X("memmove", HOW_MOVE, 1)                                                                                      \
	X("__memmove_chk", HOW_MOVE, 1)                                                                                \
	X("bcopy", HOW_MOVE, 1)                                                                                        \
	X("wmemmove", HOW_MOVE, WIDE)                                                                                  \
	X("strcpy", HOW_STRING_COPY, 1)                                                                                \
	X("stpcpy", HOW_STRING_COPY, 1)                                                                                \
	X("__strcpy_chk", HOW_STRING_COPY, 1)                                                                          \
	X("__stpcpy_chk", HOW_STRING_COPY, 1)                                                                          \
	X("wcscpy", HOW_STRING_COPY, WIDE)                                                                             \
	X("strncpy", HOW_STRING_COPY_WITHIN, 1)                                                                        \
	X("stpncpy", HOW_STRING_COPY_WITHIN, 1)                                                                        \
	X("__strncpy_chk", HOW_STRING_COPY_WITHIN, 1)                                                                  \
	X("__stpncpy_chk", HOW_STRING_COPY_WITHIN, 1)                                                                  \
	X("strcat", HOW_STRING_APPEND, 1)                                                                              \
	X("__strcat_chk", HOW_STRING_APPEND, 1)                                                                        \
	X("wcscat", HOW_STRING_APPEND, WIDE)                                                                           \
	X("strncat", HOW_STRING_APPEND_WITHIN, 1)                                                                      \
	X("__strncat_chk", HOW_STRING_APPEND_WITHIN, 1)                                                                \
	X("strlen", HOW_LENGTH, 1)                                                                                     \
	X("wcslen", HOW_LENGTH, WIDE)                                                                                  \
	X("strnlen", HOW_LENGTH_WITHIN, 1)                                                                             \
	X("wcsnlen", HOW_LENGTH_WITHIN, WIDE)                                                                          \
	X("memchr", HOW_FIND, 1)                                                                                       \
	X("wmemchr", HOW_FIND, WIDE)                                                                                   \
	X("memrchr", HOW_FIND_LAST, 1)                                                                                 \
	X("strchr", HOW_FIND_IN_STRING, 1)                                                                             \
	X("index", HOW_FIND_IN_STRING, 1)                                                                              \
	X("strchrnul", HOW_FIND_IN_STRING, 1)                                                                          \
	X("rawmemchr", HOW_FIND_UNBOUNDED, 1)                                                                          \
	X("wcschr", HOW_FIND_IN_STRING, WIDE)                                                                          \
	X("strrchr", HOW_FIND_LAST_IN_STRING, 1)                                                                       \
	X("rindex", HOW_FIND_LAST_IN_STRING, 1)                                                                        \
	X("wcsrchr", HOW_FIND_LAST_IN_STRING, WIDE)                                                                    \
	X("strstr", HOW_FIND_STRING, 1)                                                                                \
	X("strpbrk", HOW_FIND_ANY, 1)                                                                                  \
	X("strspn", HOW_SPAN, 1)                                                                                       \
	X("strcspn", HOW_SPAN, 1)                                                                                      \
	X("memcmp", HOW_COMPARE, 1)                                                                                    \
	X("bcmp", HOW_COMPARE, 1)                                                                                      \
	X("wmemcmp", HOW_COMPARE, WIDE)                                                                                \
	X("strcmp", HOW_COMPARE_STRINGS, 1)                                                                            \
	X("wcscmp", HOW_COMPARE_STRINGS, WIDE)                                                                         \
	X("strncmp", HOW_COMPARE_STRINGS_WITHIN, 1)                                                                    \
	X("wcsncmp", HOW_COMPARE_STRINGS_WITHIN, WIDE)                                                                 \
	X("strcasecmp", HOW_COMPARE_NO_CASE, 1)                                                                        \
	X("strncasecmp", HOW_COMPARE_NO_CASE_WITHIN, 1)

static const char *const names[] = {
#define X(name, how, width) name,
	FUNCTIONS(X)
#undef X
};

static const struct {
	uint8_t how, width;
} functions[] = {
#define X(name, how, width) {how, width},
	FUNCTIONS(X)
#undef X
};

static enum how how_of(const struct string_call *c)
{
	return (enum how)functions[c->function].how;
}

static unsigned width_of(const struct string_call *c)
{
	return functions[c->function].width;
}

static bool only_copies(enum how how)
{
	return how == HOW_COPY || how == HOW_MOVE;
}

/* REPORT_CHECK_... */
static uint8_t memory_of(unsigned function)
{
	static const uint8_t memory[] = {
		[HOW_COPY] = REPORT_CHECK | REPORT_CHECK_TWO | REPORT_CHECK_APART,
		[HOW_MOVE] = REPORT_CHECK | REPORT_CHECK_TWO,
		[HOW_LENGTH] = REPORT_CHECK | REPORT_CHECK_STRINGS,
		[HOW_LENGTH_WITHIN] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_WITHIN,
		[HOW_FIND] = REPORT_CHECK | REPORT_CHECK_EARLY,
		[HOW_FIND_LAST] = REPORT_CHECK | REPORT_CHECK_EARLY,
		[HOW_FIND_IN_STRING] = REPORT_CHECK | REPORT_CHECK_STRINGS,
		[HOW_FIND_LAST_IN_STRING] = REPORT_CHECK | REPORT_CHECK_STRINGS,
		[HOW_FIND_STRING] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO,
		[HOW_FIND_ANY] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO,
		[HOW_SPAN] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO,
		[HOW_COMPARE] = REPORT_CHECK | REPORT_CHECK_TWO | REPORT_CHECK_EARLY,
		[HOW_COMPARE_STRINGS] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO,
		[HOW_COMPARE_STRINGS_WITHIN] =
			REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO | REPORT_CHECK_WITHIN,
		[HOW_COMPARE_NO_CASE] = REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO,
		[HOW_COMPARE_NO_CASE_WITHIN] =
			REPORT_CHECK | REPORT_CHECK_STRINGS | REPORT_CHECK_TWO | REPORT_CHECK_WITHIN,
	};
	uint8_t check = memory[functions[function].how];

	if (check && functions[function].width == WIDE)
		check |= REPORT_CHECK_WIDE;
	/* __memcpy_chk and the like */
	return check & REPORT_CHECK && names[function][0] == '_' ? check | REPORT_CHECK_LIMITED : check;
}

/* What is known of the functions that the words lead to. */
static void know(struct strings *s, pid_t pid)
{
	int function;

	if (s->memory_files == s->imports.known_files)
		return;
	s->memory = xreallocarray(s->memory, s->imports.nknown + 1, sizeof(*s->memory));
	for (size_t k = 0; k < s->imports.nknown; k++) {
		function = imports_find(&s->imports, pid, s->imports.known[k]);
		s->memory[k] = function < 0 ? 0 : memory_of((unsigned)function);
	}
	s->memory_files = s->imports.known_files;
}

void strings_init(struct strings *s, const struct string_ops *ops, void *ctx)
{
	*s = (struct strings){.ops = ops, .ctx = ctx, .open = xcalloc(RLOG_MAX_THREADS, sizeof(struct string_call))};
	imports_init(&s->imports, names, sizeof(names) / sizeof(names[0]));
}

void strings_forget(struct strings *s)
{
	imports_forget(&s->imports);
	s->memory_files = 0;
}

void strings_fini(struct strings *s)
{
	imports_fini(&s->imports);
	for (unsigned k = 0; s->open && k < RLOG_MAX_THREADS; k++)
		loads_fini(&s->open[k].loads);
	free(s->open);
	free(s->memory);
	*s = (struct strings){0};
}

bool strings_inside(const struct strings *s, uint32_t thread)
{
	return s->open[thread].sp != 0;
}

bool strings_decides(const struct strings *s, uint32_t thread)
{
	return strings_inside(s, thread) && !only_copies(how_of(&s->open[thread]));
}

static void reads(struct strings *s, const struct string_call *c, uint64_t addr, uint64_t len)
{
	if (len)
		s->ops->reads(s->ctx, names[c->function], addr, len, !only_copies(how_of(c)));
}

/* A copy of a structure to itself is made by compilers, too, and does no harm. */
static void may_overlap(struct strings *s, const struct string_call *c, uint64_t to, uint64_t from, uint64_t len)
{
	if (to != from && to < from + len && from < to + len)
		s->ops->overlaps(s->ctx, names[c->function], to, from, len);
}

/* So many characters, in bytes. */
static uint64_t bytes_of(const struct string_call *c, uint64_t n)
{
	return n < NO_LIMIT ? n * width_of(c) : NO_LIMIT;
}

void strings_call(struct strings *s, pid_t pid, uint32_t thread, uint64_t slot, const uint64_t *arg, uint64_t sp)
{
	struct string_call *c = &s->open[thread];
	int function;

	if (c->sp && sp < c->sp)
		return;
	function = imports_find(&s->imports, pid, slot);
	if (function < 0)
		return;
	c->sp = sp;
	c->function = (unsigned)function;
	memcpy(c->arg, arg, sizeof(c->arg));
	loads_reset(&c->loads);
	if (how_of(c) == HOW_COPY)
		may_overlap(s, c, arg[0], arg[1], bytes_of(c, arg[2]));
	if (only_copies(how_of(c)))
		reads(s, c, arg[names[function][0] != 'b'], bytes_of(c, arg[2]));
}

int strings_known(struct strings *s, pid_t pid, uint32_t thread, struct segcur_report *r, struct err *e)
{
	if (imports_read(&s->imports, pid, e))
		return -1;
	r->word = s->imports.known;
	r->words = s->imports.nknown;
	know(s, pid);
	r->memory = s->memory;
	r->called_sp = s->open[thread].sp;
	return 0;
}

void strings_load(struct strings *s, uint32_t thread, uint64_t addr, const uint8_t *bytes, size_t n)
{
	if (strings_decides(s, thread))
		loads_add(&s->open[thread].loads, addr, bytes, n);
}

/* ---- what was read, once it has returned: false: that is not known ---- */

/* A string, at most `most` characters of it, to the beginning or the end of another one. */
static bool copied(struct strings *s, struct string_call *c, bool appends, uint64_t most)
{
	uint64_t to = c->arg[0], n;

	if (appends) {
		if (!loads_length(&c->loads, to, NO_LIMIT, width_of(c), &n))
			return false;
		reads(s, c, to, n);
		to += n - width_of(c);
	}
	if (!loads_length(&c->loads, c->arg[1], most, width_of(c), &n))
		return false;
	reads(s, c, c->arg[1], n);
	may_overlap(s, c, to, c->arg[1], n);
	return true;
}

/* A whole string. */
static bool reads_string(struct strings *s, struct string_call *c, uint64_t at)
{
	uint64_t n;

	if (!loads_length(&c->loads, at, NO_LIMIT, width_of(c), &n))
		return false;
	reads(s, c, at, n);
	return true;
}

/* Up to where it has found it, and `len` bytes there; none: so many if it has not. */
static bool found(struct strings *s, struct string_call *c, uint64_t rax, uint64_t len, uint64_t none)
{
	if (rax >= c->arg[0])
		reads(s, c, c->arg[0], rax - c->arg[0] + len);
	else if (!rax)
		reads(s, c, c->arg[0], none);
	return true;
}

static bool found_in_string(struct strings *s, struct string_call *c, uint64_t rax, uint64_t len)
{
	return rax ? found(s, c, rax, len, 0) : reads_string(s, c, c->arg[0]);
}

static bool found_last(struct strings *s, struct string_call *c, uint64_t rax)
{
	uint64_t from = rax ? rax : c->arg[0], end = c->arg[0] + c->arg[2];

	if (from >= c->arg[0] && from < end)
		reads(s, c, from, end - from);
	return true;
}

static bool found_string(struct strings *s, struct string_call *c, uint64_t rax)
{
	uint64_t n;

	if (!loads_length(&c->loads, c->arg[1], NO_LIMIT, width_of(c), &n))
		return false;
	reads(s, c, c->arg[1], n);
	return found_in_string(s, c, rax, n - width_of(c));
}

static bool found_any(struct strings *s, struct string_call *c, uint64_t rax)
{
	bool known = reads_string(s, c, c->arg[1]);

	return found_in_string(s, c, rax, width_of(c)) && known;
}

static bool compared(struct strings *s, struct string_call *c, uint64_t most, enum loads_compare how, uint64_t rax)
{
	uint64_t n;

	if (!loads_differ(&c->loads, c->arg[0], c->arg[1], most, width_of(c), how, &n)) {
		if ((uint32_t)rax || how != LOADS_MEMORY)
			return false;
		n = bytes_of(c, most);
	}
	reads(s, c, c->arg[0], n);
	reads(s, c, c->arg[1], n);
	return true;
}

static bool has_read(struct strings *s, struct string_call *c, uint64_t rax)
{
	switch (how_of(c)) {
	case HOW_COPY:
	case HOW_MOVE:
		return false;
	case HOW_STRING_COPY:
	case HOW_STRING_APPEND:
		return copied(s, c, how_of(c) == HOW_STRING_APPEND, NO_LIMIT);
	case HOW_STRING_COPY_WITHIN:
	case HOW_STRING_APPEND_WITHIN:
		return copied(s, c, how_of(c) == HOW_STRING_APPEND_WITHIN, c->arg[2]);
	case HOW_LENGTH:
		reads(s, c, c->arg[0], bytes_of(c, rax + 1));
		return true;
	case HOW_LENGTH_WITHIN:
		reads(s, c, c->arg[0], bytes_of(c, rax < c->arg[1] ? rax + 1 : c->arg[1]));
		return true;
	case HOW_FIND:
		return found(s, c, rax, width_of(c), bytes_of(c, c->arg[2]));
	case HOW_FIND_LAST:
		return found_last(s, c, rax);
	case HOW_FIND_IN_STRING:
	case HOW_FIND_UNBOUNDED:
		return found_in_string(s, c, rax, width_of(c));
	case HOW_FIND_LAST_IN_STRING:
		return reads_string(s, c, c->arg[0]);
	case HOW_FIND_STRING:
		return found_string(s, c, rax);
	case HOW_FIND_ANY:
		return found_any(s, c, rax);
	case HOW_SPAN:
		reads(s, c, c->arg[0], bytes_of(c, rax + 1));
		return reads_string(s, c, c->arg[1]);
	case HOW_COMPARE:
		return compared(s, c, c->arg[2], LOADS_MEMORY, rax);
	case HOW_COMPARE_STRINGS:
		return compared(s, c, NO_LIMIT, LOADS_STRINGS, rax);
	case HOW_COMPARE_STRINGS_WITHIN:
		return compared(s, c, c->arg[2], LOADS_STRINGS, rax);
	case HOW_COMPARE_NO_CASE:
		return compared(s, c, NO_LIMIT, LOADS_STRINGS_NO_CASE, rax);
	case HOW_COMPARE_NO_CASE_WITHIN:
		return compared(s, c, c->arg[2], LOADS_STRINGS_NO_CASE, rax);
	}
	return false;
}

bool strings_return(struct strings *s, uint32_t thread, uint64_t sp, uint64_t rax)
{
	struct string_call *c = &s->open[thread];

	if (!c->sp || c->sp != sp)
		return false;
	c->sp = 0;
	return has_read(s, c, rax);
}
