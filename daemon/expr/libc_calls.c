/* SPDX-License-Identifier: MIT */
/* libc_calls.c: see libc_calls.h. Functions that an expression may call: they change nothing. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/libc_calls.h"
#include "expr/text.h"
#include "gdb/refusal.h"

/* Each list begins and ends with a blank, as do the names in it. */
static const struct {
	const char *type, *names;
} returns[] = {
	{"int",
	 " strcmp strncmp strcasecmp strncasecmp strcoll memcmp bcmp abs atoi isalnum isalpha isblank iscntrl "
	 "isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper ffs ffsl ffsll wcscmp "
	 "wcsncmp wmemcmp feof ferror fileno fnmatch getpid getppid gettid isatty access sched_getcpu "
	 "pthread_equal isinf isnan finite "},
	{"unsigned long", " strlen strnlen strspn strcspn wcslen wcsnlen malloc_usable_size pthread_self "
			  "confstr mbstowcs "},
	{"char *", " strchr strrchr strchrnul strstr strcasestr strpbrk index rindex getenv secure_getenv strerror "
		   "strsignal basename setlocale "},
	{"void *", " memchr memrchr rawmemchr memmem bsearch "},
	{"long", " labs atol atoll llabs strtol strtoll time ftell clock sysconf lrint lround "},
	{"unsigned long", " strtoul strtoull "},
	{"unsigned int", " htonl ntohl getuid geteuid getgid getegid "},
	{"unsigned short", " htons ntohs "},
	{"double", " atof strtod fabs sqrt floor ceil round trunc fmod pow exp log log2 log10 sin cos tan atan2 "
		   "hypot fmin fmax difftime "},
	{"float", " fabsf sqrtf floorf ceilf roundf fmodf powf expf logf fminf fmaxf "},
};

/* Macros, which programs know from headers, and GDB only with -g3. */
static const struct {
	const char *name, *value;
} constants[] = {
	{"NULL", "0"},
	{"nullptr", "0"},
	{"true", "1"},
	{"false", "0"},
	{"EOF", "(-1)"},
	{"INT_MAX", "2147483647"},
	{"INT_MIN", "(-2147483647-1)"},
	{"UINT_MAX", "4294967295u"},
	{"LONG_MAX", "9223372036854775807l"},
	{"LONG_MIN", "(-9223372036854775807l-1)"},
	{"ULONG_MAX", "18446744073709551615ul"},
	{"SIZE_MAX", "18446744073709551615ul"},
	{"INT64_MAX", "9223372036854775807l"},
	{"UINT64_MAX", "18446744073709551615ul"},
	{"INT32_MAX", "2147483647"},
	{"UINT32_MAX", "4294967295u"},
};

/* libc's variables. Each list begins and ends with a blank. */
static const struct {
	const char *type, *names;
} variables[] = {
	{"int", " errno h_errno optind opterr optopt daylight "},
	{"long", " timezone "},
	{"char *", " optarg program_invocation_name program_invocation_short_name "},
	{"char **", " environ "},
};

static bool lists(const char *names, const char *name, size_t len)
{
	for (const char *p = names; (p = memmem(p, strlen(p), name, len)); p += len)
		if (p > names && p[-1] == ' ' && p[len] == ' ')
			return true;
	return false;
}

const char *expr_libc_type(const char *name, size_t len)
{
	for (size_t i = 0; len && i < sizeof(returns) / sizeof(returns[0]); i++)
		if (lists(returns[i].names, name, len))
			return returns[i].type;
	return NULL;
}

static bool is_call(const char *expr, const char *at, size_t len)
{
	if (at > expr && (text_is_name(at[-1]) || strchr(".>:", at[-1])))
		return false;
	at += len;
	return at[strspn(at, " \t")] == '(';
}

static char *cast_calls(const char *expr, const char *name, size_t len, const char *type)
{
	cleanup_buf struct buf out = {0};
	const char *from = expr, *p = expr, *end;
	bool any = false;

	while ((p = memmem(p, strlen(p), name, len))) {
		end = is_call(expr, p, len) ? text_after_group(p + len + strspn(p + len, " \t")) : NULL;
		if (!end) {
			p += len;
			continue;
		}
		/* the arguments may contain such calls, too: only the text before them is finished here */
		buf_add(&out, from, (size_t)(p - from));
		buf_addf(&out, "((%s)", type);
		cleanup_free char *call = xstrndup(p + len, (size_t)(end - p) - len);
		cleanup_free char *inner = cast_calls(call, name, len, type);

		buf_add(&out, name, len);
		buf_addf(&out, "%s)", inner ? inner : call);
		from = p = end;
		any = true;
	}
	if (!any)
		return NULL;
	buf_add_str(&out, from);
	return buf_steal(&out);
}

/* In p->name, s.name or scope::name, it is not the name itself. */
static bool is_qualified(const char *expr, const char *name)
{
	while (name > expr && isspace((unsigned char)name[-1]))
		name--;
	return name > expr &&
	       (name[-1] == '.' || (name - expr > 1 && (!memcmp(name - 2, "->", 2) || !memcmp(name - 2, "::", 2))));
}

/* Replaces each use of the name that is not in quotes, and is not a part of something else. */
static char *replace_name(const char *expr, const char *name, const char *value)
{
	cleanup_buf struct buf out = {0};
	size_t len = strlen(name);

	for (const char *p = expr; *p;) {
		const char *from = p;

		if (text_is_quote(*p)) {
			p = text_after_quote(p);
			if (!p)
				p = from + strlen(from);
		} else if (text_is_name(*p)) {
			while (text_is_name(*p))
				p++;
		} else {
			p++;
		}
		if ((size_t)(p - from) == len && !memcmp(from, name, len) && !is_qualified(expr, from))
			buf_add_str(&out, value);
		else
			buf_add(&out, from, (size_t)(p - from));
	}
	return buf_steal(&out);
}

static char *constant(const char *expr, const char *name)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (!strcmp(name, constants[i].name))
			return replace_name(expr, name, constants[i].value);
	return NULL;
}

static char *variable(const char *expr, const char *name)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		cleanup_free char *typed = NULL;

		if (!lists(variables[i].names, name, strlen(name)))
			continue;
		typed = str_fmt("(*(%s *)&%s)", variables[i].type, name);
		/* it has the cast already, and was refused again */
		return strstr(expr, typed) ? NULL : replace_name(expr, name, typed);
	}
	return NULL;
}

char *expr_libc_supply(const char *expr, const struct err *why)
{
	cleanup_free char *name = gdb_refused_name(why);
	const char *type;

	if (!name || !*name)
		return NULL;
	switch (gdb_reason_of(why)) {
	case GDB_NO_SYMBOL:
		return constant(expr, name);
	case GDB_NO_TYPE:
		return variable(expr, name);
	default:
		type = expr_libc_type(name, strlen(name));
		return type ? cast_calls(expr, name, strlen(name), type) : NULL;
	}
}
