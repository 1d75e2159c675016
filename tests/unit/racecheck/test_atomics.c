/* SPDX-License-Identifier: MIT */
/* test_atomics.c: which lines of source have atomic operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "racecheck/atomics.h"

static const char text[] = "#include <stdatomic.h>\n"
			   "/* atomic_int not_this; */\n"
			   "static atomic_ulong counted, handled = 3;\n"
			   "static _Atomic(int) *pointer;\n"
			   "static struct { volatile long balance; _Atomic struct pair *head; atomic_bool go[2]; } s;\n"
			   "std::atomic<std::map<int, int>> table{};\n"
			   "static const char *words = \"atomic_int in_text;\";\n"
			   "#define LOAD(p) \\\n	__atomic_load_n(p, __ATOMIC_ACQUIRE)\n"
			   "#define AGAIN(p) LOAD(p)\n"
			   "#define PLAIN(p) (*(p))\n"
			   "static int plain;\n"
			   "static void f(atomic_int *given) { int local = 0; }\n";

struct line {
	const char *text, *variable;
	bool atomic;
};

static const struct line lines[] = {
	{"x = __atomic_load_n(&flag, __ATOMIC_ACQUIRE);", NULL, true},
	{"__sync_synchronize();", NULL, true},
	{"if (atomic_load_explicit(&p->x, memory_order_acquire))", NULL, true},
	{"g_atomic_int_get(&count);", NULL, true},
	{"while (LOAD(&flag))", NULL, true},
	{"while (AGAIN(&flag))", NULL, true},
	{"while (PLAIN(&flag))", NULL, false},
	{"counted++;", NULL, true},
	{"p->head = NULL;", NULL, true},
	{"if (s.go[1])", NULL, true},
	{"*given = 1;", NULL, true},
	{"auto t = table;", NULL, true},
	{"s.balance += 1;", NULL, false},
	{"plain = local;", NULL, false},
	{"not_this = in_text;", NULL, false},
	{"x = 1; /* counted */", NULL, false},
	{"puts(\"atomic_load(x)\"); // counted", NULL, false},
	/* another variable's on the same line */
	{"was = plain, old = atomic_load(&counted);", "plain", false},
	{"was = plain, old = atomic_load(&counted);", "counted", true},
	{"x = __atomic_load_n(&plain, __ATOMIC_ACQUIRE);", "plain", true},
	{"x = LOAD(&s.balance);", "balance", true},
	{"counted = plain;", "plain", false},
};

static void names(void **state)
{
	static const char included[] =
		"#include <atomic>\n#include <thread>\nstatic int plain;\nstd::atomic<int> after;\n";
	struct atomics a = {0}, none = {0};

	(void)state;
	atomics_scan(&a, text, strlen(text));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct line *l = &lines[i];

		if (atomics_line(&a, NULL, l->text, strlen(l->text), l->variable, NULL) != l->atomic)
			fail_msg("%s (%s)", l->text, l->variable ? l->variable : "any");
	}
	/* of a header */
	assert_true(atomics_line(&none, &a, "counted++", 9, NULL, NULL));
	assert_false(atomics_line(&none, NULL, "counted++", 9, NULL, NULL));
	atomics_scan(&none, included, strlen(included));
	assert_false(atomics_line(&none, NULL, "plain++", 7, NULL, NULL));
	assert_true(atomics_line(&none, NULL, "after++", 7, NULL, NULL));
	atomics_fini(&none);
	atomics_fini(&a);
}

/* Objects of the same name: what the source says of their types. */
static bool plain(void *ctx, const char *const *names, size_t n)
{
	str_set(ctx, "%s", "");
	for (size_t i = 0; i < n; i++)
		str_set(ctx, "%s%s%s", *(char **)ctx, i ? "." : "", names[i]);
	return names[0][0] == 'p';
}

static void objects(void **state)
{
	static const struct {
		const char *line, *asked;
		bool atomic;
	} all[] = {{"p->left[i].counted++;", "p.left.counted", false},
		   {"p[q->i].counted = 1;", "p.counted", false},
		   {"x = q->counted;", "q.counted", true},
		   {"*counted = p.x;", "counted", true},
		   {"f(p)->counted = 1;", NULL, true},
		   {"p::counted = 1;", NULL, true},
		   {"p - counted;", "counted", true},
		   {"atomic_inc(&p->counted);", NULL, true},
		   {"p.a.b.c.d.e.f.g.h.counted = 1;", NULL, true},
		   {"p[q[counted", "counted", true},
		   {"p.counted = q.counted;", "q.counted", true}};
	struct atomics a = {0};

	(void)state;
	atomics_scan(&a, text, strlen(text));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *asked = NULL;
		const struct atomics_types types = {plain, &asked};

		if (atomics_line(&a, NULL, all[i].line, strlen(all[i].line), NULL, &types) != all[i].atomic ||
		    !str_eq(asked, all[i].asked))
			fail_msg("%s (%s)", all[i].line, asked);
		free(asked);
	}
	atomics_fini(&a);
}

static void pragmas(void **state)
{
	static const struct {
		const char *line;
		enum atomics_pragma is;
	} lines[] = {{"#pragma omp atomic", ATOMICS_NEXT},
		     {"	# pragma omp atomic capture /* x */", ATOMICS_NEXT},
		     {"#pragma omp parallel for reduction(+ : s)", ATOMICS_HERE},
		     {"#pragma omp parallel for", ATOMICS_NO_PRAGMA},
		     {"#pragma omp critical(reductions)", ATOMICS_NO_PRAGMA},
		     {"#pragma GCC reduction", ATOMICS_NO_PRAGMA},
		     {"// #pragma omp atomic", ATOMICS_NO_PRAGMA},
		     {"reduction(x);", ATOMICS_NO_PRAGMA},
		     {"", ATOMICS_NO_PRAGMA}};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(atomics_pragma(lines[i].line, strlen(lines[i].line)), lines[i].is);
}

static void relaxed(void **state)
{
	static const struct {
		const char *line;
		bool is;
	} lines[] = {
		{"while (!atomic_load_explicit(&n, memory_order_relaxed))", true},
		{"x = __atomic_load_n(&p->n, __ATOMIC_RELAXED) + 1;", true},
		{"if (flag && atomic_load_explicit(&n, memory_order_relaxed))", false},
		{"atomic_load_explicit(&n, memory_order_relaxed) + atomic_load(&m)", false},
		{"atomic_load_explicit(&n, x ? memory_order_acquire : memory_order_relaxed)", false},
		{"atomic_load_explicit(&n,", false},
		{"atomic_load_explicit(&n, order)", false},
		{"flag.store(1, std::memory_order_relaxed);", true},
		{"while (!p->flag.load(std::memory_order::relaxed))", true},
		{"flag.fetch_add(2, std::memory_order_relaxed);", true},
		{"flag.store(1, std::memory_order_release);", false},
		{"flag.store(1);", false},
		{"flag.store(relaxed);", false},
		{"flag.store(other, std::memory_order_relaxed);", false},
		{"other[i + 1].store(2, std::memory_order_relaxed);", true},
		{"other[flag].store(2, std::memory_order_relaxed);", false},
		{"flag.store(flag.load(std::memory_order_relaxed), std::memory_order_relaxed);", false},
		{"flag.compare_exchange_weak(e, 1, std::memory_order_relaxed, std::memory_order_relaxed)", true},
		{"flag.compare_exchange_weak(e, 1, std::memory_order_acquire, std::memory_order_relaxed)", false},
		{"flag.load(std::memory_order_relaxed) + flag", false},
		{"atomic_load(&n) /* memory_order_relaxed */", false},
		{"atomic_store_explicit(&flag, 1, memory_order_relaxed);", true},
		{"atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);", true},
		{"__atomic_add_fetch(&n, 1, __ATOMIC_RELAXED);", true},
		{"atomic_store_explicit(&n, flag ? flag : 1, memory_order_relaxed);", false},
		{"atomic_compare_exchange_weak_explicit(&n, &m, 1, memory_order_relaxed, memory_order_relaxed);", true},
		{"atomic_compare_exchange_weak_explicit(&n, &m, 1, memory_order_acquire, memory_order_relaxed);",
		 false},
		{"atomic_compare_exchange_weak_explicit(&n, &m, 1, order, memory_order_relaxed);", false},
		{"atomic_fetch_add(&flag, 1);", false},
		{"atomic_store_explicit(&flag, 1, memory_order_release);", false}};
	static const char text[] = "atomic_int flag, other[3];";
	struct atomics a = {0};

	(void)state;
	atomics_scan(&a, text, sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (atomics_relaxed(&a, NULL, lines[i].line, strlen(lines[i].line)) != lines[i].is)
			fail_msg("%s", lines[i].line);
	assert_true(atomics_fences("atomic_thread_fence(memory_order_acquire)", 41));
	assert_false(atomics_fences("/* fence */ x = defend(y);", 26));
	atomics_fini(&a);
}

/* Any text is fine. */
static void damaged(void **state)
{
	static const char *const texts[] = {"atomic_int",
					    "atomic_int x",
					    "std::atomic<",
					    "#define",
					    "#define X \\",
					    "/* atomic_int",
					    "\"atomic_int",
					    "atomic_int ((((",
					    "_Atomic }",
					    "atomic<int>>>>;",
					    "'",
					    "\\"};
	struct atomics a = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t n = 0; n <= strlen(texts[i]); n++)
			atomics_scan(&a, texts[i], n);
	atomics_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(objects),
					   cmocka_unit_test(pragmas), cmocka_unit_test(relaxed),
					   cmocka_unit_test(damaged)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
