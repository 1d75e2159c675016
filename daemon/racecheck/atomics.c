/* SPDX-License-Identifier: MIT */
/* atomics.c: see atomics.h. */
#include "racecheck/atomics.h"

#include <ctype.h>
#include <string.h>

void atomics_fini(struct atomics *a)
{
	strv_fini(&a->names);
}

/* ---- tokens: identifiers, and single characters; comments, strings and numbers are none ---- */

struct token {
	const char *s;
	size_t n; /* 0: the text is over */
	bool word;
};

struct scan {
	const char *p, *end;
};

static const char *skip_to(const char *p, const char *end, const char *what)
{
	size_t n = strlen(what);
	const char *q = memmem(p, (size_t)(end - p), what, n);

	return q ? q + n : end;
}

static const char *skip_quoted(const char *p, const char *end)
{
	char q = *p++;

	while (p < end && *p != q && *p != '\n')
		p += *p == '\\' ? 2 : 1;
	return p < end ? p + 1 : end;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct token next(struct scan *t)
{
	struct token k = {0};

	while (t->p < t->end) {
		const char *p = t->p;
		size_t left = (size_t)(t->end - p);

		if (left > 1 && !memcmp(p, "/*", 2)) {
			t->p = skip_to(p + 2, t->end, "*/");
		} else if (left > 1 && !memcmp(p, "//", 2)) {
			p = memchr(p, '\n', left);
			t->p = p ? p : t->end;
		} else if (left > 1 && !memcmp(p, "\\\n", 2)) {
			t->p += 2;
		} else if (*p == '"' || *p == '\'') {
			t->p = skip_quoted(p, t->end);
		} else if (isdigit((unsigned char)*p)) {
			while (t->p < t->end && (is_word(*t->p) || *t->p == '.' || *t->p == '\''))
				t->p++;
		} else if (*p == ' ' || *p == '\t' || *p == '\r') {
			t->p++;
		} else {
			k = (struct token){p, 1, is_word(*p)};
			while (k.word && p + k.n < t->end && is_word(p[k.n]))
				k.n++;
			t->p += k.n;
			return k;
		}
	}
	return k;
}

static bool is(const struct token *k, const char *s)
{
	return k->n == strlen(s) && !memcmp(k->s, s, k->n);
}

static bool begins(const struct token *k, const char *s)
{
	return k->n > strlen(s) && !memcmp(k->s, s, strlen(s));
}

/* ---- names ---- */

static bool has(const struct atomics *a, const struct token *k)
{
	for (size_t i = 0; i < a->names.n; i++)
		if (strlen(a->names.s[i]) == k->n && !memcmp(a->names.s[i], k->s, k->n))
			return true;
	return false;
}

static void add(struct atomics *a, const struct token *k)
{
	if (!has(a, k))
		strv_addf(&a->names, "%.*s", (int)k->n, k->s);
}

/* Is it a function, or a macro of a library, that is atomic by its name? */
static bool is_call(const struct token *k)
{
	return k->word && (begins(k, "__sync_") || memmem(k->s, k->n, "atomic_", 7) != NULL);
}

/* A type such as atomic_int, but not a function such as atomic_load: those that C11 7.17.6 lists, and atomic_flag. */
static bool is_type(const struct token *k)
{
	static const char *const ends[] = {"bool", "char", "schar", "uchar", "short",  "ushort", "int",
					   "uint", "long", "ulong", "llong", "ullong", "flag"};

	if (!k->word)
		return false;
	if (is(k, "_Atomic"))
		return true;
	if (!begins(k, "atomic_"))
		return false;
	if (k->n > 9 && !memcmp(k->s + k->n - 2, "_t", 2))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (k->n == 7 + strlen(ends[i]) && !memcmp(k->s + 7, ends[i], strlen(ends[i])))
			return true;
	return false;
}

/* `atomic<`: skips its parameters. */
static bool is_template(const struct token *k, struct scan *t)
{
	struct scan ahead = *t;
	struct token n;
	int deep = 0;

	if (!is(k, "atomic") && !is(k, "atomic_ref"))
		return false;
	do {
		n = next(&ahead);
		deep += is(&n, "<") ? 1 : is(&n, ">") ? -1 : 0;
	} while (n.n && deep > 0);
	if (!n.n || deep || !is(&n, ">")) /* #include <atomic> has no parameters */
		return false;
	*t = ahead;
	return true;
}

/* After a type: adds the names that are declared with it, up to the end of the declaration. */
static void declared(struct atomics *a, struct scan *t)
{
	struct token was = {0}, k;
	int deep = 0, inside = 0;

	for (k = next(t); k.n && !(deep <= 0 && (is(&k, ";") || is(&k, "}"))); was = k, k = next(t)) {
		bool end = is(&k, ",") || is(&k, "=") || is(&k, "[") || is(&k, ")") || is(&k, "{") || is(&k, "(");

		if (was.word && end && inside <= 0 && !is(&was, "int") && !is(&was, "long") && !is(&was, "_Atomic"))
			add(a, &was);
		if (is(&k, "="))
			inside = 1;
		else if (is(&k, ",") && deep <= 0)
			inside = 0;
		deep += is(&k, "(") || is(&k, "{") || is(&k, "[")   ? 1
			: is(&k, ")") || is(&k, "}") || is(&k, "]") ? -1
								    : 0;
		if (deep < 0) /* the end of a function's parameter */
			return;
	}
	if (was.word && inside <= 0 && is(&k, ";"))
		add(a, &was);
}

/* #define NAME ...: is its text atomic? */
static void macro(struct atomics *a, struct scan *t)
{
	struct token name = next(t), k;

	if (!name.word)
		return;
	while ((k = next(t)).n && !is(&k, "\n"))
		if (is_call(&k) || has(a, &k)) {
			add(a, &name);
			break;
		}
	while (k.n && !is(&k, "\n"))
		k = next(t);
}

static void scan_once(struct atomics *a, const char *text, size_t len)
{
	struct scan t = {text, text + len};
	struct token was = {0}, k;

	for (k = next(&t); k.n; was = k, k = next(&t)) {
		if (is(&was, "#") && is(&k, "define"))
			macro(a, &t);
		else if (is_type(&k) || is_template(&k, &t))
			declared(a, &t);
	}
}

void atomics_scan(struct atomics *a, const char *text, size_t len)
{
	size_t n;

	/* a macro may use one that is defined later */
	do {
		n = a->names.n;
		scan_once(a, text, len);
	} while (a->names.n != n);
}

/* After the name of a function or macro: is the variable among its arguments? */
static bool gives(struct scan t, const char *variable)
{
	struct token k = next(&t);
	int deep = 1;

	if (!is(&k, "("))
		return false;
	while (deep > 0 && (k = next(&t)).n) {
		if (is(&k, variable))
			return true;
		deep += is(&k, "(") ? 1 : is(&k, ")") ? -1 : 0;
	}
	return deep > 0; /* the arguments go on in another line */
}

/* ---- objects ---- */

static bool is_object(const struct token *k, const struct atomics *a, const struct atomics *b)
{
	return k->word && (has(a, k) || (b && has(b, k)));
}

#define OBJECT_NAMES 8
#define OBJECT_DEEP 4
/* A variable and its members, as far as they were read: queue.head->n. */
struct object_names {
	struct token name[OBJECT_NAMES];
	size_t n; /* 0: none, or it begins with something else */
	bool member; /* the next name is a member's */
};

struct naming {
	struct object_names now, around[OBJECT_DEEP]; /* those whose index is being read */
	size_t deep;
};

/* was: the token before k. */
static void follow(struct naming *c, const struct token *k, const struct token *was)
{
	struct object_names *x = &c->now;

	if (k->word) {
		x->n = !x->member ? 0 : x->n && x->n < OBJECT_NAMES ? x->n : OBJECT_NAMES;
		if (x->n < OBJECT_NAMES)
			x->name[x->n++] = *k;
		else
			x->n = 0;
		x->member = false;
	} else if (is(k, "[") && c->deep < OBJECT_DEEP) {
		c->around[c->deep++] = *x;
		*x = (struct object_names){0};
	} else if (is(k, "]") && c->deep) {
		*x = c->around[--c->deep];
	} else if (is(k, ".") || (is(k, ">") && is(was, "-"))) {
		x->member = true;
	} else if (!is(k, "-")) {
		/* names of a scope are not looked up */
		*x = (struct object_names){.member = is(k, ":")};
	}
}

static bool is_plain(const struct object_names *c, const struct atomics_types *types)
{
	cleanup_strv struct strv names = {0};

	for (size_t i = 0; i < c->n; i++)
		strv_addf(&names, "%.*s", (int)c->name[i].n, c->name[i].s);
	return c->n && types && types->plain(types->ctx, (const char *const *)names.s, names.n);
}

bool atomics_line(const struct atomics *a, const struct atomics *b, const char *line, size_t len, const char *variable,
		  const struct atomics_types *types)
{
	struct scan t = {line, line + len};
	struct token k, was = {0};
	struct naming c = {0};

	for (; (k = next(&t)).n; was = k) {
		follow(&c, &k, &was);
		if (!is_call(&k) && !is_type(&k) && (!is_object(&k, a, b) || is_plain(&c.now, types)))
			continue;
		if (!variable || is(&k, variable) || gives(t, variable))
			return true;
	}
	return false;
}

/* Is it a function of C, or of GCC, whose last argument is the order? */
static bool has_order(const struct token *k)
{
	static const char explicit[] = "_explicit";

	return (begins(k, "atomic_") && k->n > sizeof(explicit) &&
		!memcmp(k->s + k->n - (sizeof(explicit) - 1), explicit, sizeof(explicit) - 1)) ||
	       (begins(k, "__atomic_") && memmem(k->s, k->n, "_fetch", 6)) || begins(k, "__atomic_fetch_") ||
	       is(k, "__atomic_load_n") || is(k, "__atomic_store_n") || is(k, "__atomic_exchange_n");
}

/* After `memory_order`: is this memory_order::relaxed, as in C++20? Then moves past it. */
static bool is_scoped_relaxed(struct scan *t)
{
	struct token k = next(t);

	if (!is(&k, ":"))
		return false;
	k = next(t);
	if (!is(&k, ":"))
		return false;
	k = next(t);
	return is(&k, "relaxed");
}

/*
 * After the name of a function with that many orders: are all of them relaxed, and is at most one object atomic,
 * including those before the name? Moves past the arguments.
 */
static bool is_relaxed(struct scan *t, unsigned orders, unsigned objects, const struct atomics *a,
		       const struct atomics *b)
{
	struct token k = next(t);
	unsigned relaxed = 0;
	int deep = 1;

	if (!is(&k, "("))
		return false;
	while (deep > 0 && (k = next(t)).n) {
		deep += is(&k, "(") ? 1 : is(&k, ")") ? -1 : 0;
		objects += is_object(&k, a, b);
		if (is_call(&k) || objects > 1)
			return false;
		if (is(&k, "memory_order_relaxed") || is(&k, "__ATOMIC_RELAXED") ||
		    (is(&k, "memory_order") && is_scoped_relaxed(t)))
			relaxed++;
		else if (begins(&k, "memory_order") || is(&k, "memory_order") || begins(&k, "__ATOMIC_"))
			return false;
	}
	return !deep && relaxed == orders;
}

/* Is it a function of std::atomic whose last argument is the order? */
static bool is_method(const struct token *k)
{
	static const char *const names[] = {"load", "store", "exchange", "test_and_set", "clear", "test"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(k, names[i]))
			return true;
	return begins(k, "fetch_") || begins(k, "compare_exchange_");
}

/*
 * After an object, or the name of an array of objects: if such a function is called for it, moves past the function's
 * name.
 */
static bool calls_method(struct scan *t, struct token *method, const struct atomics *a, const struct atomics *b)
{
	struct scan ahead = *t;
	struct token k = next(&ahead);
	bool object;

	if (is(&k, "[")) {
		while ((k = next(&ahead)).n && !is(&k, "]"))
			if (is(&k, "[") || is_call(&k) || is_object(&k, a, b))
				return false;
		k = next(&ahead);
	}
	object = is(&k, ".");
	if (is(&k, "-")) {
		k = next(&ahead);
		object = is(&k, ">");
	}
	*method = next(&ahead);
	if (!object || !is_method(method))
		return false;
	*t = ahead;
	return true;
}

bool atomics_relaxed(const struct atomics *a, const struct atomics *b, const char *line, size_t len)
{
	struct scan t = {line, line + len};
	struct token k;
	bool found = false;

	while ((k = next(&t)).n) {
		bool object = is_object(&k, a, b);

		if ((k.word && has_order(&k)) || (object && calls_method(&t, &k, a, b))) {
			/* the second order is for a failing comparison */
			unsigned orders = memmem(k.s, k.n, "compare_exchange", 16) ? 2 : 1;

			if (found || !is_relaxed(&t, orders, object, a, b))
				return false;
			found = true;
		} else if (object || (k.word && is_call(&k))) {
			return false;
		}
	}
	return found;
}

bool atomics_fences(const char *text, size_t len)
{
	struct scan t = {text, text + len};
	struct token k;

	while ((k = next(&t)).n)
		if (k.word && (memmem(k.s, k.n, "fence", 5) || is(&k, "__sync_synchronize") || is(&k, "asm") ||
			       is(&k, "__asm__") || is(&k, "__asm") || is(&k, "membarrier")))
			return true;
	return false;
}

enum atomics_pragma atomics_pragma(const char *line, size_t len)
{
	static const char *const begin[] = {"#", "pragma", "omp"};
	struct scan t = {line, line + len};
	struct token k;

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		k = next(&t);
		if (!is(&k, begin[i]))
			return ATOMICS_NO_PRAGMA;
	}
	k = next(&t);
	if (is(&k, "atomic"))
		return ATOMICS_NEXT;
	for (; k.n; k = next(&t))
		if (is(&k, "reduction"))
			return ATOMICS_HERE;
	return ATOMICS_NO_PRAGMA;
}
