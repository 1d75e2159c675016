// SPDX-License-Identifier: MIT
/*
 * test_inputs.c: inputs/good/NAME.json is a message that must be taken; inputs/bad/CODE-NAME.json one
 * that must be refused with the JSON-RPC error -CODE. Each file is a test. Prints TAP.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "wire/message.h"
#include "wire/methods.h"

/* What the daemon would answer: 0 or a JSON-RPC error code; the reason in e. */
static int judge(const struct buf *b, struct err *e)
{
	const struct wire_method *method;
	cleanup_wire_msg struct wire_msg m;
	size_t len = b->len;
	int code = 0;

	while (len && b->data[len - 1] == '\n')
		len--;
	if (wire_msg_parse(b->data, len, &m, &code, e))
		return code;
	if (m.type != WIRE_MSG_REQUEST && m.type != WIRE_MSG_NOTIFICATION)
		return 0;
	method = wire_method_find(m.method);
	if (!method && m.type == WIRE_MSG_NOTIFICATION)
		return 0; /* those are the daemon's own */
	if (!method)
		return WIRE_E_METHOD;
	return wire_params_check(method, m.params, e) ? WIRE_E_PARAMS : 0;
}

static int run_file(const char *dir, const char *name, bool bad, int number)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_buf struct buf b = {0};
	struct err e = {0};
	int want = 0, got;

	if (bad && sscanf(name, "%d-", &want) != 1) {
		printf("not ok %d - %s # its name gives no code\n", number, name);
		return 1;
	}
	got = read_file(path, &b, &e) ? 1 : judge(&b, &e);
	printf("%sok %d - %s\n", got == -want ? "" : "not ", number, name);
	if (got != -want)
		printf("# wanted %d, got %d: %s\n", -want, got, e.text);
	return got != -want;
}

static int run_dir(const char *dir, bool bad, int *number)
{
	cleanup_closedir DIR *d = opendir(dir);
	cleanup_strv struct strv names = {0};
	struct dirent *de;
	int failed = 0;

	while (d && (de = readdir(d)))
		if (str_ends(de->d_name, ".json"))
			strv_add(&names, de->d_name);
	strv_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		failed += run_file(dir, names.s[i], bad, ++*number);
	return names.n ? failed : 1;
}

int main(int argc, char **argv)
{
	cleanup_free char *good = path_join(argc > 1 ? argv[1] : ".", "good");
	cleanup_free char *bad = path_join(argc > 1 ? argv[1] : ".", "bad");
	int number = 0, failed;

	failed = run_dir(good, false, &number);
	failed += run_dir(bad, true, &number);
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
