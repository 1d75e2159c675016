/* SPDX-License-Identifier: MIT */
/*
 * test_rewrite.c: the expression scanner with made-up answers: names in capitals have addresses, those
 * that begin with E are enumerations, R is in a register.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/rewrite.h"

static enum rewrite_answer resolve(void *ctx, const char *name, char **by)
{
	(void)ctx;
	if (!strcmp(name, "R"))
		return REWRITE_REFUSE;
	if (!isupper((unsigned char)*name))
		return REWRITE_KEEP;
	*by = str_fmt("<%s>", name);
	return REWRITE_REPLACE;
}

static bool needs_cast(void *ctx, const char *operand)
{
	(void)ctx;
	return str_starts(operand, "<E") || str_starts(operand, "*<E") || str_ends(operand, ".enumerator");
}

static const struct rewrite_ops ops = {resolve, needs_cast};

static const struct {
	const char *from, *to;
} table[] = {
	{"a", "a"},
	{"A", "<A>"},
	{"A + b*C", "<A> + b*<C>"},
	{"A.b->C.d", "<A>.b->C.d"},
	{"A[B][c].d", "<A>[<B>][c].d"},
	{"A && B", "<A> && <B>"},
	{"A & B", "<A> & <B>"},
	{"*A & *B", "*<A> & *<B>"},
	{"A * *B", "<A> * *<B>"},
	{"&A == B", "&<A> == <B>"},
	{"A && &B", "<A> && &<B>"},
	{"-A - -B", "-<A> - -<B>"},
	{"!A || !(B)", "!<A> || !(<B>)"},
	{"(struct A *)B", "(struct A *)<B>"},
	{"(enum E)B", "(enum E)<B>"},
	{"f(A, B)", "f(<A>, <B>)"},
	{"E == 3", "((long)(<E>)) == 3"},
	{"*E == b", "((long)(*<E>)) == b"},
	{"A.enumerator < E", "((long)(<A>.enumerator)) < ((long)(<E>))"},
	{"(E == 1) && (B)", "(((long)(<E>)) == 1) && (<B>)"},
	{"A['x']", "<A>['x']"},
	{"A == 'B'", "<A> == 'B'"},
	{"'file.c'::V + 1", "'file.c'::V + 1"},
	{"N::C::m == ::G", "<N::C::m> == ::G"},
	{"A == \"E B\"", "<A> == \"E B\""},
	{"0xEE + 1E5 + A", "0xEE + 1E5 + <A>"},
	{"A ? B : C", "<A> ? <B> : <C>"},
	{"structure + A", "structure + <A>"},
	{"A . b -> c", "<A>. b-> c"},
	{" A", " <A>"},
	{"(A *)B + *(E *)C", "(A *)<B> + *(E *)<C>"},
};

static char *member_at(void *ctx, const char *object, const char *path)
{
	(void)ctx;
	return strstr(path, "none") ? NULL : str_fmt("{%s %s}", object, path);
}

static const struct {
	const char *from, *to;
} members[] = {
	{"a.b + c", "{a .b} + c"},
	{"*a->b.c", "*{{a ->b} .c}"},
	{"a.none.c->d", "{a.none.c ->d}"},
	{"a.none->d", "{a.none ->d}"},
	{"a[i.j].b", "{a[{i .j}] .b}"},
	{"a.none[i].b", "{a.none[i] .b}"},
	{"f(a.b).c < (d.e)->g", "{f({a .b}) .c} < {({d .e}) ->g}"},
	{"a.none", "a.none"},
};

static void test_members(void **state)
{
	static const struct rewrite_ops placing = {.member_at = member_at};

	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		cleanup_free char *out = NULL;

		assert_int_equal(rewrite_expr(members[i].from, &placing, NULL, &out), 0);
		assert_string_equal(out, members[i].to);
	}
}

static char *value_of(void *ctx, const char *object, const char *what, bool arrow, const char *index)
{
	(void)ctx;
	return *what || arrow || index || strcmp(object, "it") ? NULL : xstrdup("{it}");
}

/* An object that is stepped on has to stay what it is: the step is its own operator. */
static void test_values(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"it == b", "{it} == b"},	{"b - it", "b - {it}"},
		{"it - -1", "{it} - -1"},	{"b < *++it", "b < *++it"},
		{"it++ == b", "it++ == b"},	{"b == -- it", "b == -- it"},
		{"f(it) + it", "f(it) + {it}"}, {"it", "it"},
	};
	static const struct rewrite_ops values = {.member = value_of};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *out = NULL;

		assert_int_equal(rewrite_expr(rows[i].from, &values, NULL, &out), 0);
		assert_string_equal(out, rows[i].to);
	}
}

static void test_rewritten(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup_free char *out = NULL;

		if (rewrite_expr(table[i].from, &ops, NULL, &out))
			fail_msg("refused: %s", table[i].from);
		if (strcmp(out, table[i].to))
			fail_msg("%s became %s", table[i].from, out);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"",	   "R",	 "A + R", "(A",	 "A)", "A[1",  "A]",
					  "\"abc", "'a", "A[R]",  "(A]", "::", "A ::", ":: (A)"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cleanup_free char *out = NULL;

		if (!rewrite_expr(bad[i], &ops, NULL, &out))
			fail_msg("%s became %s", bad[i], out);
	}
}

static enum rewrite_answer resolve_addressed(void *ctx, const char *name, char **by)
{
	*by = str_fmt("[%s]", name);
	return REWRITE_REPLACE;
}

/* A name behind an address-of is another one than the same as a value. */
static void test_addressed(void **state)
{
	static const struct rewrite_ops both = {.resolve = resolve, .resolve_addressed = resolve_addressed};
	cleanup_free char *out = NULL;

	(void)state;
	assert_int_equal(rewrite_expr("f(&A, A, & B.c) + A & B && &C", &both, NULL, &out), 0);
	assert_string_equal(out, "f(&[A], <A>, & [B].c) + <A> & <B> && &[C]");
}

/* Whatever the bytes: an end, and no read beyond the text. */
static void test_any_bytes(void **state)
{
	static const char chars[] = "aE(*&)['\"]:.->! \\1";
	unsigned seed = 12345;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		cleanup_free char *text = NULL, *out = NULL;
		size_t n = (seed >> 8) % 24;

		text = malloc(n + 1);
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = chars[(seed >> 16) % (sizeof(chars) - 1)];
		}
		text[n] = '\0';
		seed = seed * 1103515245 + 12345;
		assert_in_range(rewrite_expr(text, &ops, NULL, &out), 0, 1);
	}
}

static void test_deep(void **state)
{
	cleanup_buf struct buf b = {0};
	cleanup_free char *out = NULL;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_add_char(&b, '(');
	assert_int_equal(rewrite_expr(buf_str(&b), &ops, NULL, &out), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewritten),
		cmocka_unit_test(test_values), cmocka_unit_test(test_members),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_addressed), cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests_name("gdb-rewrite", tests, NULL, NULL);
}
