/* SPDX-License-Identifier: MIT */
/* test_condition.c: the condition around a line of source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chain/condition.h"
#include "chain/condition_macro.h"

static const struct {
	const char *source; /* the line with `abort` is asked about */
	const char *good; /* NULL: there is none */
	bool effects;
} rows[] = {
	{"if (!p->ok)\n\tabort();\n", "p->ok", false},
	{"if (n > max) {\n\tputs(\"if (x)\");\n\tabort();\n}\n", "!(n > max)", false},
	{"if (a)\n\tf();\nelse\n\tabort();\n", "a", false},
	{"if (a) {\n} else if (b == 2) {\n\tabort();\n}\n", "!(b == 2)", false},
	{"if (a) { if (b) x(); abort(); }\n", "!(a)", false},
	{"if (a)\n\tx();\nabort();\n", NULL, false},
	{"if (a &&\n    b) /* if (c) */\n\tabort();\n", "!(a &&     b)", false},
	{"// if (c)\nabort();\n", NULL, false},
	{"#define F if (x)\nwhile (1)\n\tif (q)\n\t\tfor (;;)\n\t\t\tabort();\n", "!(q)", false},
	{"if (--n < 0)\n\tabort();\n", "!(--n < 0)", true},
	{"if ((p = next()))\n\tabort();\n", "!((p = next()))", true},
	{"if (c == '\"' || !strcmp(s, \")\"))\n\tabort();\n", "!(c == '\"' || !strcmp(s, \")\"))", false},
	{"if (!a || b)\n\tabort();\n", "!(!a || b)", false},
	{"if (a", NULL, false},
	{"", NULL, false},
};

static int line_of_abort(const char *s)
{
	const char *at = strstr(s, "abort");
	int line = 1;

	for (; at && s < at; s++)
		line += *s == '\n';
	return line;
}

static void around(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct condition c;
		char *good;

		condition_around(rows[i].source, line_of_abort(rows[i].source), &c);
		if (!c.text != !rows[i].good)
			fail_msg("row %zu: %s", i, c.text ? c.text : "none");
		if (c.text) {
			good = condition_good(&c);
			assert_string_equal(good, rows[i].good);
			assert_int_equal(c.effects, rows[i].effects);
			free(good);
		}
		condition_fini(&c);
	}
}

static const struct {
	const char *source;
	condition_finder *find;
	const char *text; /* NULL: there is none */
} loops[] = {
	{"while (!set)\n\tabort();\n", condition_of_wait, "!set"},
	{"while (!set) {\n\tif (abort())\n\t\tx();\n}\n", condition_of_wait, "!set"},
	{"while (running) {\n\tlock();\n\tabort();\n}\n", condition_of_wait, NULL},
	{"while (running) {\n\tlock();\n\tif (!n)\n\t\tabort();\n}\n", condition_of_wait, "!n"},
	{"do {\n\tabort();\n} while (!set);\n", condition_of_wait, "!set"},
	{"while (busy) abort();\n", condition_of_wait, "busy"},
	{"for (i = 0; state != STOP; i++) {\n\tx();\n\tif (i == 3)\n\t\tabort();\n}\n", condition_of_loop,
	 " state != STOP"},
	{"for (;;)\n\tabort();\n", condition_of_loop, NULL},
	{"while (a)\n\tx();\nabort();\n", condition_of_loop, NULL},
	{"do\n\tx();\nwhile (b);\nabort();\n", condition_of_loop, NULL},
};

static void of_loops(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		struct condition c;

		loops[i].find(loops[i].source, line_of_abort(loops[i].source), &c);
		if (!c.text != !loops[i].text || (c.text && strcmp(c.text, loops[i].text)))
			fail_msg("row %zu: %s", i, c.text ? c.text : "none");
		condition_fini(&c);
	}
}

static const struct {
	const char *statement, *array; /* NULL: none, or it is not clear */
} assigned[] = {
	{"ps.tokens[ps.n++] = t; /* a[i] = 2 */", "ps.tokens"},
	{"for (i = 0; i <= n; i++) a[i] += b[i];", "a"},
	{"if (p->names[i] == q || a[i] <= 2 || a[i] != 3)", NULL},
	{"p->names[k[i]] <<= 2;", "p->names"},
	{"a[i]++;", "a"},
	{"a[i] = b[i] = 0;", NULL},
	{"a[i] = *p++ + (*q = 2);", NULL},
	{"a[i] = 1, *(p + i) = 2;", NULL},
	{"a[i] = 1; ++b[i];", NULL},
	{"grid[i][j] = 1;", NULL},
	{"puts(\"a[i] = 1\");", NULL},
	{"= 3", NULL},
	{"", NULL},
};

static void assigned_array(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(assigned) / sizeof(assigned[0]); i++) {
		char *got = condition_assigned_array(assigned[i].statement);

		if (!got != !assigned[i].array || (got && strcmp(got, assigned[i].array) != 0))
			fail_msg("`%s': %s", assigned[i].statement, got ? got : "none");
		free(got);
	}
}

static const struct {
	const char *line, *name;
} sets[] = {
	{"\tr->state = 0;", "r"},      {"e->key.n = NULL; /* gone */", "e"},
	{"p->mode = -MODE_A;", "p"},   {"p->on = false;", "p"},
	{"p->n = n;", NULL},	       {"p->n == 0;", NULL},
	{"p->n = 0, q->n = 1;", NULL}, {"n = 0;", NULL},
	{"p->n += 1;", NULL},	       {"", NULL},
	{"p->n = 0; free(p);", NULL},  {"p->n = 0; /* a */ f();", NULL},
};

static void member_set(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		char *got = condition_member_set(sets[i].line);

		if (!got != !sets[i].name || (got && strcmp(got, sets[i].name) != 0))
			fail_msg("`%s': %s", sets[i].line, got ? got : "none");
		free(got);
	}
}

static void calls(void **state)
{
	(void)state;
	assert_int_equal(condition_calls_in("static void __attribute__((cold)) put(struct r *r)\n{\n}\n"
					    "struct r *put(struct r *r);\nvoid f(void)\n{\n\tput(r);\n"
					    "\tif (r)\n\t\tputs(\"put(r)\");\n\tinput(r);\n}\n",
					    "put"),
			 1);
	assert_int_equal(condition_calls_in("void f(void)\n{\n\tif (r)\n\t\tput(r);\n\telse\n\t\tput (q);\n"
					    "\treturn put(s);\n}\n",
					    "put"),
			 3);
	assert_int_equal(condition_calls_in("void f(void)\n{\n\t/* see\n\t * it; put(r)\n\t */\n\tg(\"; put(r)\");\n"
					    "\t// then put(r); put(s)\n\tput(r);\n}\n",
					    "put"),
			 1);
	assert_int_equal(condition_calls_in("", "put"), 0);
}

/* What cannot be understood is not taken for no condition; what stands in another function does not matter. */
static void lost(void **state)
{
	struct condition c;

	(void)state;
	condition_around("int f(void)\n{\n\tif (a\n\tg();\n}\n", 4, &c);
	assert_true(c.lost);
	condition_fini(&c);
	condition_around("int f(void)\n{\n\tif (a\n}\nint h(void)\n{\n\tg();\n}\n", 7, &c);
	assert_true(!c.lost && !c.text);
	condition_fini(&c);
	condition_around("int f(void)\n{\n\tif (a)\n\t\tg();\n}\n", 4, &c);
	assert_true(!c.lost && c.text);
	condition_fini(&c);
}

static const struct {
	const char *loop, *name, *field;
} walks[] = {
	{"for (e = head; e; e = e->next) n++;", "e", "next"},
	{"while (p) { f(p); p = p -> link ; }", "p", "link"},
	{"while (p && (p = p->next)) ;", "p", "next"},
	{"for (e = x->next; e; e = f->next) ;", NULL, NULL},
	{"while (e) e = e->next->next;", NULL, NULL},
	{"while (e) e = e->next[0];", NULL, NULL},
	{"while (e) e->next = e->next;", NULL, NULL},
	{"while (e == e->next) *e = e->x;", NULL, NULL},
	{"while (p) p = pp->next;", NULL, NULL},
	{"p = p->", NULL, NULL},
	{"", NULL, NULL},
};

static void list_walked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		char *name = NULL, *field = NULL;

		assert_int_equal(condition_list_walked(walks[i].loop, &name, &field), walks[i].name != NULL);
		if (walks[i].name) {
			assert_string_equal(name, walks[i].name);
			assert_string_equal(field, walks[i].field);
		}
		free(name);
		free(field);
	}
}

static void of_numbers(void **state)
{
	static const char *const numbers[] = {"!(((int)0x3) == 3)", "((unsigned char)97) < 0x20 || 1",
					      "(uint32_t)7 >= 8"},
				 *const others[] = {"((struct list *)0x7ffe10)->n == 1",
						    "failed",
						    "((int)0x3) < limit",
						    "*(int *)0x7ffe10",
						    "f(3) == 0",
						    "(f) (3)",
						    "\"3\"",
						    "$1 == 3",
						    "sizeof(int) == 4"};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!condition_is_of_numbers(numbers[i]))
			fail_msg("`%s'", numbers[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (condition_is_of_numbers(others[i]))
			fail_msg("`%s'", others[i]);
}

static void only_tests(void **state)
{
	static const char *const do_not[] = {"\tif (p) f();",	    "\tif (p) f(); // unless it is done",
					     "\tif (p) f(\"/*\");", "\tif (p) f(); /* = */",
					     "\tif ((p = next()))", "\twhile (n--) // all",
					     "\tiffy(p)",	    "\tx = 0; // if (p)",
					     "\t/* if (p) */",	    ""},
				 *const do_[] = {"\tif (p)",
						 "\tif (p) // f();",
						 "\tif (p) // i++, or i = 2",
						 "\t} while (p != q) /* f(); */ ",
						 "\tif (strcmp(p, \"i++;\") <= 0 || c == ';' || c == '=') {",
						 "\tassert(p &&"};

	(void)state;
	for (size_t i = 0; i < sizeof(do_not) / sizeof(do_not[0]); i++)
		if (condition_only_tests(do_not[i]))
			fail_msg("`%s'", do_not[i]);
	for (size_t i = 0; i < sizeof(do_) / sizeof(do_[0]); i++)
		if (!condition_only_tests(do_[i]))
			fail_msg("`%s'", do_[i]);
}

static void macros(void **state)
{
	static const char source[] =
		"#include \"a.h\"\n#include <b.h>\n#define SIZE 4 /* blocks */\n#define\tTWICE (2 * SIZE)\n"
		"# define FULL(q) \\\n\t((q)->n == TWICE) // all of it\n#define MOST(a, b) ((a) > (b) ? (a) : (b))\n"
		"#define NEXT(p) (p = p->next)\n#define COUNT(n) n++\n#define SELF (SELF + 1)\n#define NONE\n"
		"#define A 1\n#define A 2\n#define B 1\n#undef B\n#define C 1\n#define C 1\n#define IS_A(c) (c == "
		"'c')\n"
		"static const char s[] = \"\\\n#define D 1\";\n";
	static const struct {
		const char *from, *to;
	} expanded[] = {
		{"n == SIZE", "n == 4"},
		{"n < TWICE", "n < ((2 * 4))"},
		{"!FULL(&q)", "!(((&q)->n == ((2 * 4))))"},
		{"MOST(f(1, 2), SIZE) == 3", "(((f(1, 2)) > ( 4) ? (f(1, 2)) : ( 4))) == 3"},
		{"!strcmp(s, \"SIZE\") && c != 'S'", "!strcmp(s, \"SIZE\") && c != 'S'"},
		{"NEXT(p) && COUNT(n)", "NEXT(p) && COUNT(n)"},
		{"SELF == 1", "SELF == 1"},
		{"NONE || A == B || SIZES == 0xC", "NONE || A == B || SIZES == 0xC"},
		{"C == FULL", "1 == FULL"},
		{"IS_A(x)", "((x == 'c'))"},
		{"MOST(1)", "MOST(1)"},
		{"n < LIMIT && n < ROOM", "n < LIMIT && n < 8"},
	};
	static const char first[] = "#ifndef LIMIT\n#define LIMIT 4\n#endif\n";
	static const char guarded[] =
		"#ifndef G_H\n#define G_H\n#define ROOM 8\n#if 0\n#include \"c.h\"\n#endif\n#endif\n";
	struct macros m = {0};

	(void)state;
	macros_read(&m, source);
	macros_read(&m, first);
	macros_read(&m, guarded);
	assert_int_equal(m.includes.n, 1);
	assert_string_equal(m.includes.s[0], "a.h");
	for (size_t i = 0; i < sizeof(expanded) / sizeof(expanded[0]); i++) {
		char *got = macros_expand(&m, expanded[i].from);

		assert_string_equal(got, expanded[i].to);
		free(got);
	}
	macros_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(macros),	     cmocka_unit_test(around),
					   cmocka_unit_test(assigned_array), cmocka_unit_test(member_set),
					   cmocka_unit_test(calls),	     cmocka_unit_test(lost),
					   cmocka_unit_test(of_loops),	     cmocka_unit_test(list_walked),
					   cmocka_unit_test(of_numbers),     cmocka_unit_test(only_tests)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
