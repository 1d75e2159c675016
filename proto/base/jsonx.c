// SPDX-License-Identifier: MIT
/* jsonx.c: loading, dumping and picking apart JSON, with errors that say which field is wrong. */
#include "base/jsonx.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define DUMP_FLAGS (JSON_COMPACT | JSON_ENCODE_ANY)

json_t *json_parse(const char *text, size_t len, struct err *e)
{
	json_error_t error;
	json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

	if (!v)
		err_set(e, ERR_USAGE, "not JSON: line %d, column %d: %s", error.line, error.column, error.text);
	return v;
}

json_t *json_load_path(const char *path, struct err *e)
{
	cleanup_buf struct buf b = {0};
	json_t *v;

	if (read_file(path, &b, e) < 0)
		return NULL;
	v = json_parse(buf_str(&b), b.len, e);
	if (!v)
		err_wrap(e, "%s", path);
	return v;
}

static int add_piece(const char *p, size_t n, void *b)
{
	buf_add(b, p, n);
	return 0;
}

void json_add_to(struct buf *b, const json_t *v)
{
	json_dump_callback(v, add_piece, b, DUMP_FLAGS);
}

int json_dump_line(int fd, const json_t *v, struct err *e)
{
	cleanup_buf struct buf b = {0};

	json_add_to(&b, v);
	buf_add_char(&b, '\n');
	if (write_full(fd, b.data, b.len) < 0)
		return err_errno(e, ERR_INTERNAL, "write");
	return 0;
}

int json_write_path(const char *path, const json_t *v, mode_t mode, struct err *e)
{
	cleanup_buf struct buf b = {0};

	json_dump_callback(v, add_piece, &b, JSON_INDENT(2) | JSON_ENCODE_ANY);
	buf_add_char(&b, '\n');
	return write_file_atomic(path, b.data, b.len, mode, e);
}

const char *json_type_name(const json_t *v)
{
	if (!v)
		return "nothing";
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a real number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "unknown";
}

static int wrong(const char *key, const char *want, const json_t *got, struct err *e)
{
	return err_set(e, ERR_USAGE, "field \"%s\": expected %s, got %s", key, want, json_type_name(got));
}

static bool absent(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return !v || json_is_null(v);
}

int json_get_str(const json_t *o, const char *key, const char **out, struct err *e)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		return wrong(key, "a string", v, e);
	*out = json_string_value(v);
	return 0;
}

int json_get_i64(const json_t *o, const char *key, int64_t *out, struct err *e)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		return wrong(key, "an integer", v, e);
	*out = json_integer_value(v);
	return 0;
}

int json_get_u64(const json_t *o, const char *key, uint64_t *out, struct err *e)
{
	int64_t v;

	if (json_get_i64(o, key, &v, e) < 0)
		return -1;
	if (v < 0)
		return err_set(e, ERR_USAGE, "field \"%s\": %lld is negative", key, (long long)v);
	*out = (uint64_t)v;
	return 0;
}

int json_get_bool(const json_t *o, const char *key, bool *out, struct err *e)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_boolean(v))
		return wrong(key, "a boolean", v, e);
	*out = json_is_true(v);
	return 0;
}

int json_get_real(const json_t *o, const char *key, double *out, struct err *e)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_number(v))
		return wrong(key, "a number", v, e);
	*out = json_number_value(v);
	return 0;
}

int json_get_obj(const json_t *o, const char *key, json_t **out, struct err *e)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_object(v))
		return wrong(key, "an object", v, e);
	*out = v;
	return 0;
}

int json_get_arr(const json_t *o, const char *key, json_t **out, struct err *e)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_array(v))
		return wrong(key, "an array", v, e);
	*out = v;
	return 0;
}

int json_opt_str(const json_t *o, const char *key, const char **out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_str(o, key, out, e);
}

int json_opt_i64(const json_t *o, const char *key, int64_t *out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_i64(o, key, out, e);
}

int json_opt_u64(const json_t *o, const char *key, uint64_t *out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_u64(o, key, out, e);
}

int json_opt_bool(const json_t *o, const char *key, bool *out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_bool(o, key, out, e);
}

int json_opt_real(const json_t *o, const char *key, double *out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_real(o, key, out, e);
}

int json_opt_obj(const json_t *o, const char *key, json_t **out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_obj(o, key, out, e);
}

int json_opt_arr(const json_t *o, const char *key, json_t **out, struct err *e)
{
	return absent(o, key) ? 0 : json_get_arr(o, key, out, e);
}

/* Length of the UTF-8 sequence at s (n > 0 bytes left), 0 when it is none that jansson accepts. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	uint32_t c;

	if (len <= 1)
		return len;
	if (len > n)
		return 0;
	c = *s & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

json_t *json_text(const char *s, size_t n)
{
	cleanup_buf struct buf b = {0};
	json_t *v;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_len((const unsigned char *)s + i, n - i);

		if (len)
			buf_add(&b, s + i, len);
		else
			buf_add_str(&b, "\xef\xbf\xbd");
		i += len ? len : 1;
	}
	v = json_stringn(buf_str(&b), b.len);
	if (!v)
		abort(); /* the text is valid: only memory can be missing */
	return v;
}
