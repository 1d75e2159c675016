// SPDX-License-Identifier: MIT
/* test_base64.c: RFC 4648's vectors, all bytes, and what is refused. */
#include "test.h"
#include "wire/base64.h"

static void vectors(void **state)
{
	static const char *const v[][2] = {
		{"", ""},	      {"f", "Zg=="},	     {"fo", "Zm8="},	      {"foo", "Zm9v"},
		{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		cleanup_buf struct buf enc = {0}, dec = {0};

		base64_encode(&enc, v[i][0], strlen(v[i][0]));
		assert_string_equal(buf_str(&enc), v[i][1]);
		assert_int_equal(base64_decode(&dec, v[i][1], strlen(v[i][1])), 0);
		assert_string_equal(buf_str(&dec), v[i][0]);
	}
}

static void all_bytes(void **state)
{
	unsigned char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		cleanup_buf struct buf enc = {0}, dec = {0};

		base64_encode(&enc, bytes, len);
		assert_int_equal(base64_decode(&dec, buf_str(&enc), enc.len), 0);
		assert_int_equal(dec.len, len);
		assert_true(!len || !memcmp(dec.data, bytes, len));
	}
}

static void refused(void **state)
{
	static const char *const bad[] = {"A",	"AB",	"ABC",	"A===",	    "====",  "AB=C",
					  "AB C", "AB\nC", "=ABC", "ABCD====", "AB*D", "A=BC"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cleanup_buf struct buf out = {0};

		if (base64_decode(&out, bad[i], strlen(bad[i])) != -1)
			fail_msg("accepted: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(all_bytes),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
