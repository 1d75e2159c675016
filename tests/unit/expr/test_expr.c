/* SPDX-License-Identifier: MIT */
/*
 * test_expr.c: expressions compiled by GDB and interpreted here give what GDB's print gives. The targets
 * are built without and with optimisation; paths: argv[1] C -O0, argv[2] C -O2, argv[3] C++ (may lack).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../gdb/live.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/compile.h"
#include "expr/containers.h"

static const char *c_plain, *c_optimized, *cxx;

/* What GDB adds after a pointer's or function's number: the symbol, the string. */
static void cut_decoration(const struct expr_type *t, char *text)
{
	char *p;

	if (t->kind != EXPR_TYPE_POINTER)
		return;
	p = strstr(text, "0x");
	if (p && p != text)
		memmove(text, p, strlen(p) + 1);
	text[strcspn(text, " ")] = '\0';
}

/* The value in GDB's manner; NULL and *status when the bytecode fails. */
static char *interpret(struct live *l, const struct expr_code *x, struct agent_result *out, enum agent_status *status)
{
	struct live_memory mem = {l->pid};

	*status = agent_run(x->code, x->len, &live_agent_ops, &mem, out);
	return *status ? NULL : expr_type_format(&x->type, out->value);
}

/* One expression must compile, and agree with GDB. */
static void agree(struct live *l, const char *expr)
{
	cleanup_free char *ours = NULL, *gdbs = NULL;
	enum agent_status status;
	struct agent_result out;
	struct expr_code x;
	struct err e = {0};

	if (expr_compile(l->gdb, expr, &l->at, &x, &e))
		fail_msg("%s does not compile: %s", expr, e.text);
	ours = interpret(l, &x, &out, &status);
	if (status)
		fail_msg("%s: %s", expr, agent_status_text(status));
	if (gdb_eval(l->gdb, expr, l->at.tid, l->at.frame, 0, &gdbs, &e))
		fail_msg("%s: %s", expr, e.text);
	cut_decoration(&x.type, gdbs);
	if (strcmp(ours, gdbs))
		fail_msg("%s (%s): %s, GDB says %s", expr, x.type.definition, ours, gdbs);
	expr_code_fini(&x);
}

/* Compiles, but has no value now, here or in GDB. */
static void agree_fault(struct live *l, const char *expr, enum agent_status want)
{
	cleanup_free char *ours = NULL, *gdbs = NULL;
	enum agent_status status;
	struct agent_result out;
	struct expr_code x;
	struct err e = {0};

	if (expr_compile(l->gdb, expr, &l->at, &x, &e))
		fail_msg("%s does not compile: %s", expr, e.text);
	ours = interpret(l, &x, &out, &status);
	assert_int_equal(status, want);
	assert_int_equal(gdb_eval(l->gdb, expr, l->at.tid, l->at.frame, 0, &gdbs, &e), GDB_UNAVAILABLE);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	expr_code_fini(&x);
}

/* Valid for GDB's print, not for the agent. */
static void not_compilable(struct live *l, const char *expr)
{
	struct expr_code x = {0};
	struct err e = {0};
	int r = expr_compile(l->gdb, expr, &l->at, &x, &e);

	if (r != EXPR_NOT_COMPILABLE || e.kind != ERR_NOT_FOUND || !e.text[0])
		fail_msg("%s: %d, %s", expr, r, e.text);
}

static void refused(struct live *l, const char *expr)
{
	struct expr_code x = {0};
	struct err e = {0};
	int r = expr_compile(l->gdb, expr, &l->at, &x, &e);

	if (r != -1 || e.kind != ERR_USAGE || !e.text[0])
		fail_msg("%s: %d, %s", expr, r, e.text);
}

#define EACH(l, list, check)                                                                                           \
	for (size_t i_ = 0; i_ < sizeof(list) / sizeof(list[0]); i_++)                                                 \
	check(l, list[i_])

static const char *const globals[] = {
	"head->value",
	"head->five",
	"head->three",
	"head->wide",
	"second.three",
	"third.three",
	"head->next->next->value",
	"head->next->next->next == 0",
	"head->name[1]",
	"head->text[2]",
	"head->small",
	"head->ok",
	"!head->ok",
	"head->u.b[2]",
	"head->u.i",
	"head->grid[1][2]",
	"members.mode",
	"members.low",
	"members.left",
	"members.wide",
	"members.on",
	"members.color",
	"members.half[1]",
	"members.deep",
	"members.outer.in",
	"to_members->mode != 5",
	"to_members->left - 2",
	"to_members->wide >> 3",
	"!to_members->on",
	"tight.one",
	"tight.a",
	"tight.b",
	"file_static",
	"'target.c'::file_static",
	"'work'::counter",
	"numbers[3]",
	"numbers[1] + numbers[2]",
	"*(numbers + 4)",
	"&numbers[2] - numbers",
	"bytes[1]",
	"(signed char)bytes[1]",
	"huge",
	"huge >> 60",
	"(long)huge < 0",
	"tiny",
	"tiny * 2",
	"half",
	"half + 1",
	"uint_max",
	"uint_max + 1",
	"-uint_max",
	"uint_max > -1",
	"tiny < half",
	"(unsigned char)tiny",
	"~tiny",
	"callback == puts",
	"handler == list_len",
	"callback",
	"callback != 0 && head->value < 0",
	"head && head->next",
	"nothing || head->five == 31",
	"nothing ? 1 : 2",
	"sizeof(struct node)",
	"((struct node *)head->next)->value",
	"head",
	"&head->next",
	"head->next",
	"head == &first",
	"(void *)head == opaque",
	"((struct node *)opaque)->value",
	"7 / 2 * 2",
	"-7 / 2",
	"-7 % 3",
	"7u % 4",
	"1 << 33",
	"(long)1 << 33",
	"head->value & 0xff",
	"head->value | 1",
	"head->value ^ head->next->value",
	"head->value <= -10",
	"0x7fffffff + 1",
	"'a' + 1",
	"message[0]",
	"message",
	"message[0] == 'h'",
	"head->name == message",
	"(char)(head->value)",
	"(short)huge",
	"flag",
	"typedefed.x",
	"typedefed.how == SOME",
	"unnamed.y[1]",
	"sizeof(unnamed)",
	/* rewritten */
	"color",
	"color == BLUE",
	"head->color == GREEN",
	"head->color < color",
	"level",
	"level == LOW",
	"level < 0",
	"level != HIGH && head->color != RED",
	"(color == RED) || (head->color == GREEN)",
	"color + 1",
	"numbers[head->color - 4]",
	"tls_counter",
	"tls_counter + 1",
	"tls_node->value",
	"tls_node->color == BLUE",
	"&tls_counter",
	"head->value < 0 && tls_node->next->value == 30",
	"*&color == BLUE",
};

static const char *const locals[] = {
	"n",
	"local",
	"local + n",
	"us",
	"sc",
	"sc < us",
	"node->value",
	"node == head",
	"here.value",
	"here.next->value",
	"array[2]",
	"array[n - 3]",
	"alias->value",
	"alias == &here",
	"&array[1]",
	"counter",
	"here.color == GREEN",
	"*alias->name",
	"here.three",
	"mine.x",
	"mine.how",
	"mine.how != NONE",
};

static const char *const beyond[] = {
	"single",
	"real < 0",
	"head->ratio > 1.0",
	"list_len(head)",
	"list_len(head) <= 10",
	"first",
	"*head",
	"numbers",
	"array",
	"$rip",
	"$sp + 8",
	"file_static = 3",
	"*file_static",
	"head->value++",
	"$_",
	"&list_len == handler",
	"numbers[0]@3",
};

static const char *const wrong[] = {
	"",
	"   ",
	"1 +",
	"nosuch",
	"head->nosuch",
	"head->value)",
	"(head",
	"head..value",
	"\"abc",
	"nosuch(1)",
	"struct node",
	"int",
	"head + head",
	"head->",
	"a b",
	"'",
	"[",
	"first + 1",
	"'nosuch.c'::file_static",
	"head\n->value",
};

static void test_c_plain(void **state)
{
	struct live l;

	(void)state;
	live_in(&l, c_plain, "work");
	EACH(&l, globals, agree);
	EACH(&l, locals, agree);
	EACH(&l, beyond, not_compilable);
	EACH(&l, wrong, refused);
	not_compilable(&l, "nameless.z");
	agree_fault(&l, "nothing->value", AGENT_BAD_MEMORY);
	agree_fault(&l, "third.next->next->value", AGENT_BAD_MEMORY);
	agree_fault(&l, "1 / (head->five - 31)", AGENT_DIV_ZERO);
	agree_fault(&l, "1 % nothing->value", AGENT_BAD_MEMORY);
	live_look_from(&l, 0, "inlined_step");
	agree(&l, "doubled");
	agree(&l, "depth");
	/* From the innermost frame too, which has no debug information. */
	live_look_from(&l, 0, NULL);
	for (size_t i = 0; i < 20; i++)
		agree(&l, globals[i]);
	/* It is in another file, where struct node is another type. */
	agree(&l, "head->value");
	agree(&l, "head->next->name[0]");
	agree(&l, "block_node.value");
	agree(&l, "((struct node *)&block_node)->value");
	not_compilable(&l, "tls_node->value");
	live_end(&l);
}

static void test_c_optimized(void **state)
{
	static const char *const in_memory[] = {"local", "us", "sc", "here.value", "array[2]", "counter"};
	/* The optimiser has left these in registers, or nowhere. */
	static const char *const not_in_memory[] = {"node->value", "n", "n + 1"};
	struct live l;

	(void)state;
	live_in(&l, c_optimized, "work");
	EACH(&l, globals, agree);
	EACH(&l, in_memory, agree);
	EACH(&l, not_in_memory, not_compilable);
	live_look_from(&l, 0, "inlined_step");
	agree(&l, "doubled");
	EACH(&l, wrong, refused);
	live_end(&l);
}

static void test_cxx(void **state)
{
	static const char *const good[] = {
		"m_count",
		"this->m_count",
		"this->m_open",
		"m_id",
		"m_extra",
		"this->m_next->m_count",
		"m_next->m_id == 11",
		"here",
		"s_count",
		"shop::Store::s_count",
		"shop::total",
		"total",
		"store.m_count",
		"::store.m_count",
		"&store == this",
		"m_state == shop::State::Closed",
		"m_items._M_impl._M_finish - m_items._M_impl._M_start",
		"*m_items._M_impl._M_start",
		"m_items._M_impl._M_start[3]",
		"m_count == 4 && m_open",
		"this != 0",
		"sizeof(*this)",
		"static_cast<long>(m_count)",
		"tl_value",
		"tl_value > 5",
		"limit",
		"limit + 1",
		"other.m_count",
		"&other == m_next",
		"true",
		"!m_open",
	};
	static const char *const fall_back[] = {"size()", "(bool)m_count", "m_items",
						"other",  "m_name",	   "store.size() == 4"};
	static const char *const bad[] = {"m_nosuch", "this->", "shop::nosuch", "nosuch::total"};
	struct live l;

	(void)state;
	if (!cxx)
		skip();
	live_in(&l, cxx, "shop::Store::run");
	EACH(&l, good, agree);
	EACH(&l, fall_back, not_compilable);
	EACH(&l, bad, refused);
	live_end(&l);
}

/* libstdc++'s methods and operators, spelled out, are compiled. Not so what is shown as it is. */
static void test_containers(void **state)
{
	static const struct {
		const char *expr, *value;
	} good[] = {
		{"holder.hits + 1", "6"},
		{"holder.hits.load()", "5"},
		{"!holder.ready", "true"},
		{"holder.ready == false", "true"},
		{"holder.jobs.size()", "399"},
		{"holder.jobs.front()", "1"},
		{"holder.jobs.back()", "399"},
		{"holder.undo.top()", "399"},
		{"holder.best.top()", "399"},
		{"holder.best.empty()", "false"},
		{"holder.many[300]", "602"},
		{"holder.many.at(holder.hits)", "12"},
		{"holder.many.back()", "798"},
		{"holder.maybe.has_value()", "true"},
		{"holder.maybe.value()", "6"},
		{"holder.none.has_value()", "false"},
		{"holder.triple[1] + holder.triple.at(2)", "5"},
		{"holder.triple.size()", "3"},
		{"holder.state == \"o\\\"k\\n\"", "true"},
		{"holder.state != \"o\\\"k\\n\"", "false"},
		{"\"other\" == holder.state", "false"},
		{"holder.empty == \"\"", "true"},
		{"holder.view == \"view\" && holder.state != \"x\"", "true"},
		{"holder.view == \"vieW\" || holder.view == \"views\"", "false"},
		{"holder.long_text == \"more than fifteen bytes long\"", "true"},
		{"holder.long_text != \"more than fifteen bytes lonG\"", "true"},
		{"holder.shared == 0", "false"},
		{"holder.nothing == 0", "true"},
		{"holder.shared.use_count()", "2"},
		{"*holder.shared == 7", "true"},
		{"store.m_owned != 0 && *store.m_owned > 8", "true"},
		{"store.m_items.at(2)", "20"},
	};
	static const char *const as_it_is[] = {"holder.hits",
					       "holder.state",
					       "store.m_owned",
					       "&holder.hits",
					       "holder.state == holder.empty",
					       "total + 1",
					       "holder.state == \"\\x41\""};
	struct live l;

	(void)state;
	if (!cxx)
		skip();
	live_in(&l, cxx, "shop::Store::run");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cleanup_free char *text = NULL, *value = NULL;
		enum agent_status status;
		struct agent_result out;
		struct expr_code x = {0};
		struct err e = {0};

		if (expr_without_containers(l.gdb, good[i].expr, 0, l.at.frame, &text, &e))
			fail_msg("%s: not spelled out", good[i].expr);
		if (expr_compile(l.gdb, text, &l.at, &x, &e))
			fail_msg("%s as %s: %s", good[i].expr, text, e.text);
		value = interpret(&l, &x, &out, &status);
		if (status)
			fail_msg("%s as %s: %s", good[i].expr, text, agent_status_text(status));
		if (strcmp(value, good[i].value))
			fail_msg("%s as %s: %s", good[i].expr, text, value);
		expr_code_fini(&x);
	}
	for (size_t i = 0; i < sizeof(as_it_is) / sizeof(as_it_is[0]); i++) {
		cleanup_free char *text = NULL;
		struct err e = {0};

		if (expr_without_containers(l.gdb, as_it_is[i], 0, l.at.frame, &text, &e) != 1)
			fail_msg("%s became %s", as_it_is[i], text);
	}
	live_end(&l);
}

/* What was read is what decides the value: for the watchpoints. */
static void test_ranges(void **state)
{
	struct live l;
	struct expr_code x;
	struct agent_result out;
	enum agent_status status;
	cleanup_free char *text = NULL, *head_at = NULL, *next_at = NULL;
	struct err e = {0};

	(void)state;
	live_in(&l, c_plain, "work");
	assert_int_equal(expr_compile(l.gdb, "head->next->value", &l.at, &x, &e), 0);
	text = interpret(&l, &x, &out, &status);
	assert_string_equal(text, "20");
	assert_int_equal(out.ranges_n, 3);
	assert_int_equal(gdb_eval(l.gdb, "(long)&head", 0, 0, 0, &head_at, &e), 0);
	assert_int_equal(gdb_eval(l.gdb, "(long)&first.next", 0, 0, 0, &next_at, &e), 0);
	assert_int_equal(out.range[0].addr, strtoull(head_at, NULL, 10));
	assert_int_equal(out.range[1].addr, strtoull(next_at, NULL, 10));
	assert_int_equal(out.range[0].len, 8);
	assert_int_equal(out.range[2].len, 4);
	expr_code_fini(&x);
	live_end(&l);
}

/* A local's address is fixed when it is compiled: it is read the same after GDB is gone. */
static void test_local_without_gdb(void **state)
{
	struct live l;
	struct expr_code x;
	struct agent_result out;
	enum agent_status status;
	cleanup_free char *text = NULL;
	struct err e = {0};

	(void)state;
	live_in(&l, c_optimized, "work");
	assert_int_equal(expr_compile(l.gdb, "array[3]", &l.at, &x, &e), 0);
	assert_int_equal(gdb_detach(l.gdb, &e), 0);
	text = interpret(&l, &x, &out, &status);
	assert_string_equal(text, "6");
	expr_code_fini(&x);
	live_end(&l);
}

/* A thread-local variable is that of the thread it was compiled for. */
static void test_thread_local(void **state)
{
	struct live l;
	struct gdb_thread *t;
	struct err e = {0};
	size_t n;

	(void)state;
	live_attach(&l, c_plain, "thread", 2);
	assert_int_equal(gdb_threads(l.gdb, &t, &n, &e), 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		bool first = t[i].tid == l.pid;
		const char *func = first ? "work" : "second_thread";
		cleanup_free char *text = NULL, *node = NULL;
		enum agent_status status;
		struct agent_result out;
		struct expr_code x;

		live_look_from(&l, t[i].tid, func);
		assert_int_equal(expr_compile(l.gdb, "tls_counter", &l.at, &x, &e), 0);
		text = interpret(&l, &x, &out, &status);
		assert_string_equal(text, first ? "5" : "77");
		expr_code_fini(&x);
		assert_int_equal(expr_compile(l.gdb, "tls_node->value", &l.at, &x, &e), 0);
		node = interpret(&l, &x, &out, &status);
		assert_string_equal(node, first ? "20" : "30");
		expr_code_fini(&x);
	}
	gdb_threads_free(t, n);
	live_end(&l);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_plain),	     cmocka_unit_test(test_c_optimized),
		cmocka_unit_test(test_cxx),	     cmocka_unit_test(test_containers),
		cmocka_unit_test(test_ranges),	     cmocka_unit_test(test_local_without_gdb),
		cmocka_unit_test(test_thread_local),
	};

	if (argc < 3)
		return 2;
	c_plain = argv[1];
	c_optimized = argv[2];
	cxx = argc > 3 ? argv[3] : NULL;
	return cmocka_run_group_tests_name("gdb-expr", tests, NULL, NULL);
}
