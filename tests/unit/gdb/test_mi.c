/* SPDX-License-Identifier: MIT */
/* test_mi.c: the MI parser and the quoting, without a GDB: good lines, bad lines, cut lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/mi_parse.h"
#include "gdb/mi_quote.h"

static struct mi_record *parse(const char *line)
{
	struct mi_record *r = NULL;
	struct err e = {0};

	if (mi_parse(line, strlen(line), &r, &e))
		fail_msg("%s: %s", line, e.text);
	return r;
}

static const char *const good[] = {
	"^done",
	"1^done",
	"42^running",
	"^exit\r\n",
	"(gdb) ",
	"(gdb) \n",
	"(gdb)",
	"7^error,msg=\"No symbol \\\"x\\\" in current context.\"",
	"^error,msg=\"Undefined MI command: x\",code=\"undefined-command\"",
	"*stopped,reason=\"breakpoint-hit\",frame={addr=\"0x1\",args=[{name=\"a\",value=\"1\"}]},core=\"0\"",
	"*running,thread-id=\"all\"",
	"=thread-group-added,id=\"i1\"",
	"=library-loaded,id=\"/l\",ranges=[{from=\"0x1\",to=\"0x2\"}]",
	"+download,{section=\".text\"}",
	"~\"text\\n\"",
	"@\"target\"",
	"&\"log \\\\ \\\"x\\\" \\t\\033[0m\"",
	"~\"\\303\\251 caf\xc3\xa9\"",
	"^done,stack=[frame={level=\"0\"},frame={level=\"1\"}]",
	"^done,names=[\"a\",\"\",\"b\"]",
	"^done,empty=[],none={}",
	"^done,bkpt={number=\"1\"},{number=\"1.1\"}",
	"^done,value=\"\"",
	"^done,a={b={c=[{d=\"e\"}]}}",
};

static const char *const bad[] = {
	"",		   "\n",
	"x",		   "done",
	"^",		   "12",
	"12x",		   "^done,",
	"^done,x",	   "^done,x=",
	"^done,x=y",	   "^done,x=\"",
	"^done,x=\"\\",	   "^done,x=\"\\q\"",
	"^done,x={",	   "^done,x={a}",
	"^done,x={a=\"1\"", "^done,x=[\"a\"",
	"^done,x=[\"a\",]", "^done,x=[\"a\" \"b\"]",
	"^done x=\"1\"",   "^done,x=\"1\"y",
	"~text",	   "~\"text",
	"~\"text\"x",	   "&",
	"(gdb",		   "(gdb) x",
	"(bash) ",	   "1234567890123456789^done",
	"^done,x={a=\"1\"]", "^done,=\"1\"",
	"Reading symbols from a...", "^done,x=\"\\8\"",
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		mi_record_free(parse(good[i]));
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mi_record *r = NULL;
		struct err e = {0};

		if (!mi_parse(bad[i], strlen(bad[i]), &r, &e))
			fail_msg("taken: %s", bad[i]);
		assert_null(r);
		assert_int_equal(e.kind, ERR_INTERNAL);
		assert_non_null(strstr(e.text, "byte "));
	}
}

/* Every good line cut at every byte: parsed or refused, in memory of exactly that size. */
static void test_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		for (size_t len = 0; len < strlen(good[i]); len++) {
			cleanup_free char *exact = malloc(len ? len : 1);
			struct mi_record *r = NULL;
			struct err e = {0};

			memcpy(exact, good[i], len);
			assert_true(!mi_parse(exact, len, &r, &e) == !e.text[0]);
			mi_record_free(r);
		}
}

/* One byte changed: the same. */
static void test_flipped(void **state)
{
	static const char with[] = {'"', '{', '}', '[', ']', ',', '=', '\\', '^', '\0', '\n', 'x', '\xff'};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		for (size_t at = 0; at < strlen(good[i]); at++)
			for (size_t w = 0; w < sizeof(with); w++) {
				cleanup_free char *copy = xstrdup(good[i]);
				struct mi_record *r = NULL;
				struct err e = {0};

				copy[at] = with[w];
				assert_true(!mi_parse(copy, strlen(good[i]), &r, &e) == !e.text[0]);
				mi_record_free(r);
			}
}

static void test_depth(void **state)
{
	struct mi_record *r = NULL;
	struct err e = {0};

	(void)state;
	for (int depth = MI_MAX_DEPTH - 1; depth <= MI_MAX_DEPTH + 1; depth++) {
		cleanup_buf struct buf b = {0};

		buf_add_str(&b, "^done,x=");
		for (int i = 0; i < depth; i++)
			buf_add_char(&b, '[');
		for (int i = 0; i < depth; i++)
			buf_add_char(&b, ']');
		assert_int_equal(mi_parse(b.data, b.len, &r, &e), depth <= MI_MAX_DEPTH ? 0 : -1);
		if (depth <= MI_MAX_DEPTH)
			mi_record_free(r);
	}
}

static void test_values(void **state)
{
	struct mi_record *r = parse("17*stopped,reason=\"a \\\"b\\\"\\n\",frame={addr=\"0x00007ffff7d0\","
				    "level=\"3\",args=[{name=\"p\"}]},ids=[\"1\",\"2\"],big=\"99999999999\"");
	const struct mi_value *frame = mi_get(r->results, "frame"), *ids;
	uint64_t addr;
	int n;

	(void)state;
	assert_int_equal(r->type, MI_EXEC);
	assert_int_equal(r->token, 17);
	assert_string_equal(r->klass, "stopped");
	assert_string_equal(mi_str(r->results, "reason"), "a \"b\"\n");
	assert_int_equal(mi_u64(frame, "addr", &addr), 0);
	assert_int_equal(addr, 0x7ffff7d0);
	assert_int_equal(mi_int(frame, "level", &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(mi_str(mi_get(frame, "args")->item[0], "name"), "p");
	ids = mi_get(r->results, "ids");
	assert_int_equal(ids->kind, MI_LIST);
	assert_int_equal(ids->n, 2);
	assert_string_equal(ids->item[1]->str, "2");
	assert_null(mi_get(r->results, "nosuch"));
	assert_null(mi_str(r->results, "frame"));
	assert_null(mi_str(NULL, "x"));
	assert_int_equal(mi_int(r->results, "big", &n), -1);
	assert_int_equal(mi_int(r->results, "reason", &n), -1);
	assert_int_equal(mi_u64(r->results, "nosuch", &addr), -1);
	mi_record_free(r);
}

static void test_streams(void **state)
{
	struct mi_record *r = parse("~\"a\\tb\\\\c\\033\\303\\251\\000z\\e\"");

	(void)state;
	assert_int_equal(r->type, MI_CONSOLE);
	assert_int_equal(r->token, -1);
	assert_int_equal(r->text_len, 11);
	assert_memory_equal(r->text, "a\tb\\c\033\xc3\xa9\0z\033", 12);
	mi_record_free(r);
	r = parse("(gdb) \n");
	assert_int_equal(r->type, MI_PROMPT);
	mi_record_free(r);
}

/* What is quoted is parsed back to the same bytes, and is one line. */
static void test_quote(void **state)
{
	static const char *const texts[] = {"", "plain", "a \"b\"", "back\\slash\\", "tab\tand\nline\r",
					    "\x01\x1f\x7f", "caf\xc3\xa9", "\\n", "'\"'\"'", "\\\"",
					    "\0017"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cleanup_free char *q = mi_quote(texts[i]), *line = str_fmt("~%s", q);
		struct mi_record *r = parse(line);

		assert_null(strpbrk(q, "\n\r"));
		assert_string_equal(r->text, texts[i]);
		mi_record_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	 cmocka_unit_test(test_bad),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_depth),	 cmocka_unit_test(test_values),
		cmocka_unit_test(test_streams),	 cmocka_unit_test(test_quote),
	};

	return cmocka_run_group_tests_name("gdb-mi", tests, NULL, NULL);
}
