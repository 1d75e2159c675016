/* SPDX-License-Identifier: MIT */
/*
 * Opening a recording: what is read, and that every kind of damage gets one clear message of the
 * right kind. At the end, every byte of every file of a recording is flipped, and every length cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "describe/counts.h"
#include "describe/describe.h"
#include "logbuild.h"
#include "reclog/timeline.h"

/* Two processes: an exec'd one with two threads and a fork of it. */
static void build(struct recbuild *rb, bool finish)
{
	struct logbuild lb;

	rb_init(rb, 1000000);
	rb_image(rb, 1, 0, RLOG_ORIGIN_EXEC, 100);
	lb_init(&lb, 1, 1, 100);
	lb_add(&lb, RLOG_START, 100, 0, 0);
	lb_add(&lb, RLOG_CREATE, 110, 0, 1, 2ul);
	lb_add(&lb, RLOG_CREATED, 0, 0, 2, 0ul, 1002ul);
	lb_add(&lb, RLOG_FORK, 300, 0, 0);
	lb_add(&lb, RLOG_FORKED, 0, 0, 2, 2001ul, 2ul);
	lb_add(&lb, RLOG_SYS, 600, 0, 3, 231ul, 0ul, 9ul);
	rb_log(rb, 1, 1, &lb);
	lb_fini(&lb);
	lb_init(&lb, 1, 2, 120);
	lb_add(&lb, RLOG_START, 120, 0, 0);
	lb_add(&lb, RLOG_LOCK, 0, 3, 0);
	lb_add(&lb, RLOG_UNLOCK, 200, 3, 0);
	lb_add(&lb, RLOG_LOCK, 0, 3, 0);
	rb_log(rb, 1, 2, &lb);
	lb_fini(&lb);
	rb_image(rb, 2, 1, RLOG_ORIGIN_FORK, 301);
	lb_init(&lb, 2, 1, 301);
	lb_add(&lb, RLOG_SYS, 400, 0, 5, 1ul, 1ul, 0x555555554000ul, 12ul, 9ul);
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){12}, "", 0);
	lb_add(&lb, RLOG_CRASH, 500, 0, 4, 11ul, 1ul, 0ul, 0x401136ul);
	rb_log(rb, 2, 1, &lb);
	lb_fini(&lb);
	if (finish)
		rb_finish(rb);
}

/* Everything a command may do with a recording. 0, or -1 and a checked error. */
static int use_all(const char *dir, struct err *e)
{
	struct rec *rec = NULL;
	json_t *counts = NULL;
	int r = -1;

	*e = (struct err){0};
	if (rec_open(dir, &rec, e) || rec_verify_manifest(rec, e) || !(counts = counts_json(rec, e)))
		goto out;
	for (unsigned i = 0; i < rec->nimages; i++) {
		struct timeline *tl;
		struct timeline_walk w;
		struct timeline_event ev;
		struct buf text = {0};
		int got;

		if (timeline_build(rec, rec->images[i].ordinal, NULL, &tl, e))
			goto out;
		if (timeline_walk_init(&w, tl, 1, e))
			fail_msg("%s", e->text);
		while ((got = timeline_walk_next(&w, &ev, e)) == 1) {
			describe_event_text(&text, &ev);
			json_decref(describe_event_json(&ev));
		}
		assert_int_equal(got, 0);
		timeline_walk_fini(&w);
		buf_fini(&text);
		timeline_free(tl);
	}
	r = 0;
out:
	json_decref(counts);
	rec_free(rec);
	if (r) {
		assert_int_equal(e->kind, ERR_USAGE);
		assert_true(e->text[0] && !strchr(e->text, '\n'));
	}
	return r;
}

static void test_open(void **state)
{
	struct recbuild rb;
	struct rec *rec;
	struct err e = {0};

	build(&rb, true);
	assert_int_equal(rec_open(rb.dir, &rec, &e), 0);
	assert_int_equal(rec_verify_manifest(rec, &e), 0);
	assert_true(rec->complete);
	assert_null(rec_incomplete_text(rec));
	assert_string_equal(rec->program, "/bin/prog");
	assert_string_equal(rec->sched, "parallel");
	assert_int_equal(rec->end, REC_END_SIGNAL);
	assert_int_equal(rec->end_value, 11);
	assert_int_equal(rec->nimages, 2);
	assert_string_equal(rec->images[0].argv[1], "x");
	assert_null(rec->images[0].argv[2]);
	assert_string_equal(rec->images[0].envp[0], "A=1");
	assert_string_equal(rec->images[0].exe, "/bin/prog");
	assert_int_equal(rec->images[0].nthreads, 2);
	assert_int_equal(rec->images[1].head.origin, RLOG_ORIGIN_FORK);
	assert_null(rec->images[1].argv[0]);
	assert_null(rec_image(rec, 3, &e));
	assert_non_null(strstr(e.text, "no process 3"));
	rec_free(rec);
	rb_fini(&rb);
}

static void test_counts(void **state)
{
	struct recbuild rb;
	struct rec *rec;
	struct err e = {0};
	json_t *c, *p;

	build(&rb, true);
	assert_int_equal(rec_open(rb.dir, &rec, &e), 0);
	c = counts_json(rec, &e);
	assert_non_null(c);
	assert_int_equal(json_integer_value(json_object_get(c, "events")), 10);
	assert_int_equal(json_integer_value(json_object_get(c, "records")), 13);
	p = json_array_get(json_object_get(c, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(p, "events")), 8);
	assert_int_equal(json_array_size(json_object_get(c, "syscalls")), 2);
	json_decref(c);
	rec_free(rec);
	rb_fini(&rb);
}

/* Changes a file (NULL data: removes it), expects this message, and puts the file back. */
static void expect(struct recbuild *rb, const char *name, const void *data, size_t len, const char *text)
{
	char *path = xstrdup(rb_path(rb, name));
	struct buf old = {0};
	struct err e = {0};

	assert_int_equal(read_file(path, &old, &e), 0);
	if (data)
		assert_int_equal(write_file(path, data, len, 0600, &e), 0);
	else
		assert_int_equal(unlink(path), 0);
	assert_int_equal(use_all(rb->dir, &e), -1);
	if (!strstr(e.text, text))
		fail_msg("%s: \"%s\" is not in \"%s\"", name, text, e.text);
	assert_int_equal(write_file(path, old.data, old.len, 0600, &e), 0);
	assert_int_equal(use_all(rb->dir, &e), 0);
	buf_fini(&old);
	free(path);
}

static void expect_json(struct recbuild *rb, const char *text, const char *want)
{
	expect(rb, "meta.json", text, strlen(text), want);
}

/* The same, with a checksum that fits. */
static void expect_sealed(struct recbuild *rb, const char *text, const char *want)
{
	json_auto_t *meta = json_loads(text, 0, NULL);
	cleanup_free char *sealed = NULL;

	rec_seal_meta(meta);
	sealed = json_dumps(meta, JSON_INDENT(1));
	expect_json(rb, sealed, want);
}

static void test_messages(void **state)
{
	struct rlog_control c = {.magic = RLOG_MAGIC_CONTROL, .version = 99};
	struct rlog_image img = {.magic = RLOG_MAGIC_IMAGE, .version = RLOG_VERSION, .process = 1};
	struct recbuild rb;
	struct err e;

	build(&rb, true);
	expect(&rb, "meta.json", NULL, 0, "not a recording: there is no meta.json");
	expect_json(&rb, "{", "meta.json: not JSON: line 1");
	expect_json(&rb, "[]", "meta.json: not an object");
	expect_json(&rb, "{\"format\": 99}", "recording version 99, this fred reads version");
	expect_json(&rb, "{\"format\": 3, \"complete\": true}", "without a manifest");
	expect_json(&rb, "{\"format\": 3, \"complete\": true, \"manifest\": []}", "checksum");
	expect_json(&rb, "{\"format\": 3, \"crc32c\": \"1a2b3c4d\"}", "damaged: the checksum");
	expect_sealed(&rb, "{\"format\": 3, \"complete\": true, \"manifest\": []}",
		      "the manifest lacks p0001/t0001.log");
	expect_sealed(&rb,
		      "{\"format\":3,\"complete\":true,\"manifest\":[{\"path\":\"../"
		      "x\",\"size\":1,\"crc32c\":"
		      "\"0\"}]}",
		      "leaves the recording");
	expect(&rb, "control", NULL, 0, "control");
	expect(&rb, "control", "x", 1, "control: truncated at offset 1");
	expect(&rb, "control", &c, sizeof(c), "recording version 99");
	expect(&rb, "p0001/image", NULL, 0, "p0001/image");
	expect(&rb, "p0001/image", "abc", 3, "p0001/image: truncated at offset 3");
	expect(&rb, "p0001/image", &img, sizeof(img), "unknown origin 0");
	expect(&rb, "p0001/t0002.log", NULL, 0, "p0001/t0002.log: a file of the recording is missing");
	expect(&rb, "p0001/t0002.log", "", 0, "p0001/t0002.log: truncated at offset 0");
	assert_int_equal(rb_path(&rb, "")[0], '/');
	assert_int_equal(use_all("/nonexistent/rec", &e), -1);
	assert_non_null(strstr(e.text, "no such recording: /nonexistent/rec"));
	assert_int_equal(use_all("/dev/null", &e), -1);
	rb_fini(&rb);
}

/* Calls fn for every file of the recording. */
static void each_file(struct recbuild *rb, void (*fn)(struct recbuild *, const char *name, void *arg), void *arg)
{
	static const char *const names[] = {
		"control", "p0001/image", "p0001/t0001.log", "p0001/t0002.log", "p0002/image", "p0002/t0001.log",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fn(rb, names[i], arg);
}

/* arg: whether the damage must be noticed. */
static void damage(struct recbuild *rb, const char *name, void *arg)
{
	char *path = xstrdup(rb_path(rb, name));
	const bool noticed = *(bool *)arg;
	size_t step;
	struct buf b = {0};
	struct err e = {0};

	assert_int_equal(read_file(path, &b, &e), 0);
	step = b.len > 1000 ? 97 : 1;
	for (size_t i = 0; i < b.len; i += step) {
		static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x2b};

		for (unsigned k = 0; k < sizeof(flips); k++) {
			b.data[i] ^= (char)flips[k];
			assert_int_equal(write_file(path, b.data, b.len, 0600, &e), 0);
			if (!use_all(rb->dir, &e) && noticed)
				fail_msg("%s: flipped byte %zu was not noticed", name, i);
			b.data[i] ^= (char)flips[k];
		}
		assert_int_equal(write_file(path, b.data, i, 0600, &e), 0);
		if (!use_all(rb->dir, &e) && noticed)
			fail_msg("%s: truncation to %zu was not noticed", name, i);
	}
	assert_int_equal(write_file(path, b.data, b.len, 0600, &e), 0);
	assert_int_equal(use_all(rb->dir, &e), 0);
	buf_fini(&b);
	free(path);
}

static void test_damage_complete(void **state)
{
	struct recbuild rb;
	bool noticed = true;

	build(&rb, true);
	each_file(&rb, damage, &noticed);
	rb_fini(&rb);
}

/* Without a manifest, damage may pass for another recording; nothing else may happen. */
static void test_damage_incomplete(void **state)
{
	struct recbuild rb;
	bool noticed = false;

	build(&rb, false);
	each_file(&rb, damage, &noticed);
	rb_fini(&rb);
}

/* A recording whose client was killed: logs with room after them, a thread that has not run. */
static void test_incomplete(void **state)
{
	struct recbuild rb;
	struct logbuild lb;
	struct rec *rec;
	struct err e = {0};
	char *text;

	build(&rb, false);
	lb_init(&lb, 1, 2, 120);
	lb_add(&lb, RLOG_START, 120, 0, 0);
	buf_add(&lb.b, "\0\7\7\7", 4); /* a record whose kind was not written yet */
	rb_log(&rb, 1, 2, &lb);
	memset(lb.b.data, 0, lb.b.len);
	rb_log(&rb, 1, 3, &lb);
	lb_fini(&lb);
	assert_int_equal(mkdir(rb_path(&rb, "p0003"), 0700), 0);
	assert_int_equal(rec_open(rb.dir, &rec, &e), 0);
	assert_int_equal(rec->nimages, 2);
	assert_int_equal(rec->images[0].nthreads, 2);
	text = rec_incomplete_text(rec);
	assert_non_null(strstr(text, "not finished"));
	free(text);
	rec_free(rec);
	assert_int_equal(use_all(rb.dir, &e), 0);
	rb_fini(&rb);
}

/* A large recording's sums are kept, until a file changes. */
static void test_verified_cache(void **state)
{
	struct recbuild rb;
	struct rec *rec;
	struct err e = {0};
	FILE *f;

	build(&rb, false);
	assert_int_equal(mkdir(rb_path(&rb, "files"), 0700), 0);
	f = fopen(rb_path(&rb, "files/1-2-3-4"), "w");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), 65 << 20), 0);
	rb_finish(&rb);
	assert_int_equal(rec_open(rb.dir, &rec, &e), 0);
	assert_int_equal(rec_verify_manifest(rec, &e), 0);
	assert_int_equal(access(rb_path(&rb, ".verified"), F_OK), 0);
	assert_int_equal(rec_verify_manifest(rec, &e), 0);
	assert_int_equal(fseek(f, 12345, SEEK_SET), 0);
	assert_int_equal(fputc('x', f), 'x');
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rec_verify_manifest(rec, &e), -1);
	assert_non_null(strstr(e.text, "files/1-2-3-4: damaged: its CRC32C"));
	rec_free(rec);
	rb_fini(&rb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_incomplete),
		cmocka_unit_test(test_verified_cache),
		cmocka_unit_test(test_damage_complete),
		cmocka_unit_test(test_damage_incomplete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
