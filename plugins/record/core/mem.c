/* SPDX-License-Identifier: MIT */
/*
 * mem.c: copying, comparing and searching for the shim alone, hidden from the program. libc's functions leave data in
 * vector registers. Recording and replay look at different data, but the vector registers must be the same in both
 * afterwards.
 */
#include "record/core/state.h"

#include <string.h>

/* bytes: from this size on, the string instructions are faster in spite of their start-up time */
#define LONG 256
/* Without this the compiler would replace the loop in a function by a call of that same function. */
#define NO_CALL() __asm__ volatile("" ::: "memory")

static inline uint64_t load(const void *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store(void *p, uint64_t v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/* Copies in ascending order: the areas may overlap when `to` is below `from`. */
static void *copy_up(void *to, const void *from, size_t n)
{
	uint64_t last;
	size_t i;

	if (n >= LONG) {
		void *d = to;

		__asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
		return to;
	}
	if (n < 8) {
		for (i = 0; i < n; i++) {
			((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
			NO_CALL();
		}
		return to;
	}
	last = load((const uint8_t *)from + n - 8);
	for (i = 0; i + 8 < n; i += 8) {
		store((uint8_t *)to + i, load((const uint8_t *)from + i));
		NO_CALL();
	}
	store((uint8_t *)to + n - 8, last);
	return to;
}

static void *copy_down(void *to, const void *from, size_t n)
{
	for (; n >= 8; n -= 8) {
		store((uint8_t *)to + n - 8, load((const uint8_t *)from + n - 8));
		NO_CALL();
	}
	for (; n; n--) {
		((uint8_t *)to)[n - 1] = ((const uint8_t *)from)[n - 1];
		NO_CALL();
	}
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	return copy_up(to, from, n);
}

void *memmove(void *to, const void *from, size_t n)
{
	return (uintptr_t)to - (uintptr_t)from >= n ? copy_up(to, from, n) : copy_down(to, from, n);
}

void *memset(void *to, int c, size_t n)
{
	void *d = to;

	if (n >= LONG) {
		__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
		return to;
	}
	for (; n >= 8; n -= 8, d = (uint8_t *)d + 8) {
		store(d, (uint8_t)c * 0x0101010101010101ull);
		NO_CALL();
	}
	for (; n; n--, d = (uint8_t *)d + 1) {
		*(uint8_t *)d = (uint8_t)c;
		NO_CALL();
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *p = a, *q = b;

	for (; n >= 8 && load(p) == load(q); n -= 8, p += 8, q += 8)
		;
	for (; n; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

void *memchr(const void *p, int c, size_t n)
{
	for (const uint8_t *q = p; n; n--, q++)
		if (*q == (uint8_t)c)
			return (void *)(uintptr_t)q;
	return NULL;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		NO_CALL();
	return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (uint8_t)*a - (uint8_t)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do
		if (*s == (char)c)
			last = s;
	while (*s++);
	return (char *)(uintptr_t)last;
}

char *strstr(const char *s, const char *what)
{
	size_t n = strlen(what);

	for (; *s; s++)
		if (!strncmp(s, what, n))
			break;
	return *s || !n ? (char *)(uintptr_t)s : NULL;
}
