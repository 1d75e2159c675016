// SPDX-License-Identifier: MIT
/* test_methods.c: the table of methods is consistent, and parameters are checked against it. */
#include "test.h"
#include "wire/methods.h"

static void table_is_consistent(void **state)
{
	static const char *const names[] = {
#define METHOD(name, mode, result, text) #name,
#define PARAM(method, name, type, required, text)
#include "wire/methods.def"
#undef METHOD
#undef PARAM
	};
	const struct wire_method *m;
	const struct wire_param *p;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		m = wire_method_find(names[i]);
		assert_string_equal(m->name, names[i]);
		assert_true(*m->text && *m->result);
		for (size_t k = 0; (p = wire_param_at(m, k)); k++)
			assert_true(*p->name && *p->text);
	}
	assert_non_null(wire_method_find("reverse_watch"));
	assert_null(wire_method_find("nope"));
}

static int check(const char *method, const char *params, struct err *e)
{
	json_auto_t *v = params ? json_loads(params, JSON_DECODE_ANY, NULL) : NULL;

	assert_true(!params || v);
	return wire_params_check(wire_method_find(method), v, e);
}

static void accepted(void **state)
{
	struct err e;

	assert_int_equal(check("status", NULL, &e), 0);
	assert_int_equal(check("status", "{}", &e), 0);
	assert_int_equal(check("replay", "{\"rec\": \"/r\"}", &e), 0);
	assert_int_equal(check("replay", "{\"rec\": \"/r\", \"verify\": true}", &e), 0);
	assert_int_equal(check("eval", "{\"rec\": \"/r\", \"at\": \"end\", \"exprs\": [\"x\"]}", &e), 0);
	assert_int_equal(check("op.cancel", "{\"id\": \"any\"}", &e), 0);
}

static void refused(void **state)
{
	static const char *const bad[][3] = {
		{"replay", NULL, "'rec' is missing"},
		{"replay", "{}", "'rec' is missing"},
		{"replay", "[]", "must be an object"},
		{"replay", "{\"rec\": 5}", "'rec' must be: string"},
		{"replay", "{\"rec\": null}", "'rec' must be: string"},
		{"replay", "{\"rec\": \"/r\", \"verify\": 1}", "'verify' must be: boolean"},
		{"replay", "{\"rec\": \"/r\", \"untill\": \"end\"}", "unknown parameter 'untill'"},
		{"eval", "{\"rec\": \"/r\", \"at\": \"1\", \"exprs\": []}", "'exprs' must be"},
		{"eval", "{\"rec\": \"/r\", \"at\": \"1\", \"exprs\": [1]}", "'exprs' must be"},
		{"eval", "{\"rec\": \"/r\", \"at\": \"1\", \"exprs\": \"x\"}", "'exprs' must be"},
		{"op.cancel", "{\"op\": 1.5}", "'op' must be: integer"},
		{"status", "{\"x\": 1}", "unknown parameter 'x'"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};

		assert_int_equal(check(bad[i][0], bad[i][1], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.text, bad[i][2]))
			fail_msg("'%s' does not say \"%s\"", e.text, bad[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_consistent),
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
