/* SPDX-License-Identifier: MIT */
/* test_criu_pages.c: reading and thinning images of pages, which the test writes as CRIU 3 and 4 do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "cut/criu_pages.h"

#define MAGIC "\x10\x19\x51\x54\x19\x10\x84\x56"
#define HEAD "\x02\0\0\0\x08\x03" /* pages_id: 3 */
/* 0x10000: 3 pages, as CRIU 3 writes them; 0x40000: 2 pages, as CRIU 4 does */
#define RUN_3 "\x08\0\0\0\x08\x80\x80\x04\x10\x03\x20\x04"
#define RUN_4 "\x0a\0\0\0\x08\x80\x80\x10\x10\x00\x20\x04\x28\x02"
#define FIRST 0x10000u
#define SECOND 0x40000u
#define PAGES 5u

static char root[] = "/tmp/fred-test-pages.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return !mkdtemp(root);
}

static int teardown(void **state)
{
	struct err e;

	(void)state;
	return rm_rf(root, &e);
}

static void put(const char *name, const void *data, size_t n)
{
	cleanup_free char *path = path_join(root, name);
	struct err e;

	assert_int_equal(write_file(path, data, n, 0600, &e), 0);
}

static void put_pages(void)
{
	static uint8_t pages[PAGES * CRIU_PAGE];

	for (unsigned k = 0; k < PAGES; k++)
		memset(pages + k * CRIU_PAGE, (int)('a' + k), CRIU_PAGE);
	put("pages-3.img", pages, sizeof(pages));
}

static bool keep(const void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr != FIRST + CRIU_PAGE && addr != SECOND;
}

/* Pages in the middle of one run and at the beginning of another are taken out; the rest is where it was. */
static void prunes(void **state)
{
	static const struct {
		uint64_t addr;
		bool wide;
	} left[] = {{FIRST, false}, {FIRST + 2 * CRIU_PAGE, false}, {SECOND + CRIU_PAGE, true}};
	cleanup_free char *path = path_join(root, "pages-3.img");
	cleanup_buf struct buf b = {0};
	struct criu_pages p;
	uint64_t kept, all;
	struct err e;

	(void)state;
	put("pagemap-17.img", MAGIC HEAD RUN_3 RUN_4, sizeof(MAGIC HEAD RUN_3 RUN_4) - 1);
	put_pages();
	assert_int_equal(criu_pages_read(&p, root, &e), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.runs[1].addr, SECOND);
	assert_int_equal(p.runs[1].pages, 2);
	assert_int_equal(criu_pages_prune(&p, keep, NULL, &kept, &all, &e), 0);
	criu_pages_fini(&p);
	assert_int_equal(kept, 3);
	assert_int_equal(all, PAGES);
	assert_int_equal(criu_pages_read(&p, root, &e), 0);
	assert_int_equal(p.n, 3);
	for (size_t k = 0; k < p.n; k++) {
		assert_int_equal(p.runs[k].addr, left[k].addr);
		assert_int_equal(p.runs[k].pages, 1);
		assert_int_equal(p.runs[k].wide, left[k].wide);
	}
	assert_int_equal(read_file(path, &b, &e), 0);
	assert_int_equal(b.len, 3 * CRIU_PAGE);
	assert_int_equal(b.data[0], 'a');
	assert_int_equal(b.data[CRIU_PAGE], 'c');
	assert_int_equal(b.data[2 * CRIU_PAGE], 'e');
	criu_pages_fini(&p);
}

/* What is not known is refused: nothing of it may be taken out. */
static void refuses(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
#define BAD(bytes) {bytes, sizeof(bytes) - 1}
		BAD(""),
		BAD(MAGIC),
		BAD(MAGIC "\x02\0\0"),
		BAD(MAGIC "\x7f\0\0\0\x08\x03"),
		BAD(MAGIC HEAD "\x08\0\0\0\x08\x80\x80\x04\x10\x03"), /* cut short */
		BAD(MAGIC HEAD "\x06\0\0\0\x08\x80\x80\x04\x10\x00"), /* no pages */
		BAD(MAGIC HEAD "\x08\0\0\0\x08\x80\x80\x04\x10\x03\x18\x01"), /* in the parent's image */
		BAD(MAGIC HEAD "\x08\0\0\0\x08\x80\x80\x04\x10\x03\x20\x02"), /* its contents are elsewhere */
		BAD(MAGIC HEAD "\x08\0\0\0\x08\x81\x80\x04\x10\x03\x20\x04"), /* not at the beginning of a page */
		BAD(MAGIC HEAD "\x08\0\0\0\x08\x80\x80\x04\x10\x03\x30\x01"), /* a field that is not known */
#undef BAD
	};
	struct criu_pages p;
	struct err e;

	(void)state;
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		put("pagemap-17.img", bad[k].bytes, bad[k].n);
		if (!criu_pages_read(&p, root, &e))
			fail_msg("image %zu was read", k);
		assert_int_equal(e.kind, ERR_INTERNAL);
		criu_pages_fini(&p);
	}
	put("pagemap-18.img", MAGIC HEAD, sizeof(MAGIC HEAD) - 1);
	assert_int_equal(criu_pages_read(&p, root, &e), -1);
	assert_non_null(strstr(e.text, "several processes"));
	criu_pages_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(prunes), cmocka_unit_test(refuses)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
