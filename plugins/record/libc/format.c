/* SPDX-License-Identifier: MIT */
/* format.c: see format.h. ISO C, 7.23.6.1 and 7.23.6.2; GNU's %m, %as and %ms. */
#include "record/libc/format.h"
#include "record/core/state.h"
#include "record/core/tell.h"

#include <stddef.h>
#include <string.h>
#include <wchar.h>

/* Between % and the letter of a conversion. */
struct spec {
	int skips; /* scanf: * */
	int allocates; /* scanf: m */
	int longs, shorts, is_long_double;
	long width; /* -1: none is given */
	long precision;
};

static const char *number(const char *p, long *n)
{
	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		if (*n < 1 << 30)
			*n = *n * 10 + (*p - '0');
	return p;
}

static const char *modifiers(const char *p, struct spec *s)
{
	for (;; p++)
		switch (*p) {
		case 'h':
			s->shorts++;
			break;
		case 'l':
			s->longs++;
			break;
		case 'j':
		case 'z':
		case 't':
		case 'q':
			s->longs = 2;
			break;
		case 'L':
			s->is_long_double = 1;
			s->longs = 2;
			break;
		default:
			return p;
		}
}

static uint64_t integer_bytes(const struct spec *s)
{
	return s->longs ? 8 : s->shorts > 1 ? 1 : s->shorts ? 2 : 4;
}

static int is_integer(char letter)
{
	return letter && strchr("diouxX", letter);
}

static int is_floating(char letter)
{
	return letter && strchr("eEfFgGaA", letter);
}

/* ---- printf ---- */

/* With the arguments for width and precision, which come first. */
static const char *width_and_precision(const char *p, struct spec *s, va_list ap)
{
	while (*p && strchr("-+ #0'I", *p))
		p++;
	if (*p == '*') {
		s->width = va_arg(ap, int);
		p++;
	} else {
		p = number(p, &s->width);
	}
	if (*p != '.')
		return p;
	if (*++p == '*') {
		s->precision = va_arg(ap, int);
		return p + 1;
	}
	return number(p, &s->precision);
}

static void reads_text(const char *text, long most)
{
	size_t n = 0;

	while ((most < 0 || n < (size_t)most) && text[n])
		n++;
	shim_tell_read(text, n + (most < 0 || n < (size_t)most), 1);
}

/* The precision counts bytes, and a wide character takes at least one. */
static void reads_wide(const wchar_t *text, long most)
{
	size_t n = 0;

	if (most >= 0)
		return;
	while (text[n])
		n++;
	shim_tell_read(text, (n + 1) * sizeof(*text), 1);
}

/* false: it is not known which argument is next. */
static int prints(char letter, const struct spec *s, va_list ap)
{
	const void *text;

	if (is_integer(letter) || letter == 'c' || letter == 'C') {
		if (s->longs)
			(void)va_arg(ap, long);
		else
			(void)va_arg(ap, int);
		return 1;
	}
	if (is_floating(letter)) {
		if (s->is_long_double)
			(void)va_arg(ap, long double);
		else
			(void)va_arg(ap, double);
		return 1;
	}
	switch (letter) {
	case '%':
	case 'm':
		return 1;
	case 's':
	case 'S':
		text = va_arg(ap, const void *);
		if (text && (s->longs || letter == 'S'))
			reads_wide(text, s->precision);
		else if (text)
			reads_text(text, s->precision);
		return 1;
	case 'p':
		(void)va_arg(ap, void *);
		return 1;
	case 'n':
		shim_tell_written(va_arg(ap, void *), integer_bytes(s));
		return 1;
	default:
		return 0;
	}
}

void libc_tell_printf(const char *fmt, va_list ap, int ret)
{
	if (ret < 0)
		return;
	for (const char *p = fmt; *p; p++) {
		struct spec s = {.width = -1, .precision = -1};

		if (*p != '%')
			continue;
		p = modifiers(width_and_precision(p + 1, &s, ap), &s);
		if (!prints(*p, &s, ap))
			return;
	}
}

/* ---- scanf ---- */

/* After [: where the set ends. */
static const char *set_end(const char *p)
{
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']')
		p++;
	return p;
}

static void writes_text(void *to, char letter, const struct spec *s)
{
	uint64_t n = 0, unit = s->longs || letter == 'S' || letter == 'C' ? sizeof(wchar_t) : 1;

	if (s->allocates) {
		shim_tell_written(to, sizeof(to));
		to = *(void **)to;
	}
	if (letter == 'c' || letter == 'C') {
		shim_tell_written(to, (uint64_t)(s->width < 0 ? 1 : s->width) * unit);
		return;
	}
	if (unit == 1)
		n = strlen(to);
	else
		while (((const wchar_t *)to)[n])
			n++;
	shim_tell_written(to, (n + 1) * unit);
}

/* false: it is not known which argument is next. */
static int scans(char letter, const struct spec *s, void *to)
{
	if (is_integer(letter) || letter == 'n')
		shim_tell_written(to, integer_bytes(s));
	else if (is_floating(letter))
		shim_tell_written(to, s->is_long_double ? 10 : s->longs ? 8 : 4);
	else if (letter == 'p')
		shim_tell_written(to, sizeof(to));
	else if (letter && strchr("sScC[", letter))
		writes_text(to, letter, s);
	else
		return 0;
	return 1;
}

/*
 * ret: how many were assigned. It is not known whether the input has matched what comes after the last of these. %n
 * counts as written, as it is if nothing or only white space is in between.
 */
void libc_tell_scanf(const char *fmt, va_list ap, int ret)
{
	for (const char *p = fmt; *p && ret >= 0; p++) {
		struct spec s = {.width = -1, .precision = -1};
		char letter;

		if (*p != '%')
			continue;
		s.skips = *++p == '*';
		p += s.skips;
		if (*p >= '0' && *p <= '9')
			p = number(p, &s.width);
		s.allocates = *p == 'm';
		p = modifiers(p + s.allocates, &s);
		letter = *p;
		if (letter == '[')
			p = set_end(p + 1);
		if (!*p)
			return;
		if (letter == '%' || s.skips)
			continue;
		if (!ret && letter != 'n')
			return;
		if (!scans(letter, &s, va_arg(ap, void *)))
			return;
		ret -= letter != 'n';
	}
}
