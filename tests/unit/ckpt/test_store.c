/* SPDX-License-Identifier: MIT */
/*
 * test_store.c: the store's rules, without CRIU: images are made-up files. A process that adds and
 * removes is killed at random moments; what is left must be whole, and gc must clear the rest away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "ckpt/store.h"

enum { IMAGE_BYTES = 200000 };

static char root[] = "/tmp/fred-test-store-XXXXXX";
static struct ckpt_store *store;

static int setup(void **state)
{
	struct err e;

	return !mkdtemp(root) || ckpt_store_open(root, &store, &e);
}

static int teardown(void **state)
{
	struct err e;

	ckpt_store_free(store);
	return rm_rf(root, &e);
}

static int empty(void **state)
{
	struct err e;

	ckpt_store_free(store);
	return rm_rf(root, &e) || ckpt_store_open(root, &store, &e);
}

/* A checkpoint whose image is IMAGE_BYTES times the event's low byte. */
static int add(struct ckpt_meta *m, struct err *e)
{
	char *bytes = malloc(IMAGE_BYTES);
	struct ckpt_add a;
	int r = -1;

	if (!ckpt_add_begin(store, &a, e)) {
		cleanup_free char *image = path_join(a.images, "pages.img");

		memset(bytes, (int)m->event, IMAGE_BYTES);
		r = write_file(image, bytes, IMAGE_BYTES, 0600, e) ||
		    ckpt_add_file(&a, "/proc/self/comm", e) || ckpt_add_commit(&a, m, e);
		ckpt_add_abort(&a);
	}
	free(bytes);
	return r;
}

static void must_add(struct ckpt_meta *m)
{
	struct err e;

	if (add(m, &e))
		fail_msg("%s", e.text);
}

static size_t entries(const char *prefix)
{
	cleanup_closedir DIR *d = opendir(root);
	struct dirent *de;
	size_t n = 0;

	while ((de = readdir(d)))
		n += str_starts(de->d_name, prefix) && de->d_name[0] != '.';
	return n;
}

static void test_list_sorted(void **state)
{
	static const uint64_t events[] = {500, 20, 300, 20};
	struct ckpt_list l;
	struct err e;

	for (int i = 0; i < 4; i++)
		must_add(&(struct ckpt_meta){.event = events[i], .process = 2});
	must_add(&(struct ckpt_meta){.event = 900, .process = 1, .variant = 3, .keep = true,
				     .sched_crc = 0xffffffff, .cost_s = 0.25});
	assert_int_equal(ckpt_store_list(store, &l, &e), 0);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.v[0].event, 900);
	assert_int_equal(l.v[0].variant, 3);
	assert_int_equal(l.v[0].sched_crc, 0xffffffff);
	assert_true(l.v[0].keep);
	assert_true(l.v[0].cost_s == 0.25);
	assert_true(l.v[0].bytes > IMAGE_BYTES);
	assert_true(l.v[0].created > 1700000000);
	assert_int_equal(l.v[1].id, 2);
	assert_int_equal(l.v[2].id, 4);
	assert_int_equal(l.v[3].event, 300);
	assert_int_equal(l.v[4].event, 500);
	ckpt_list_fini(&l);
}

static void test_nearest(void **state)
{
	struct ckpt_meta m, like = {.event = 99, .process = 1, .sched_crc = 7};
	struct err e;

	assert_int_equal(ckpt_store_nearest(store, &like, &m, &e), 0);
	for (uint64_t event = 100; event <= 300; event += 100)
		must_add(&(struct ckpt_meta){.event = event, .process = 1, .sched_crc = 7});
	must_add(&(struct ckpt_meta){.event = 50, .process = 1, .sched_crc = 8});
	must_add(&(struct ckpt_meta){.event = 60, .process = 2, .sched_crc = 7});
	must_add(&(struct ckpt_meta){.event = 70, .process = 1, .sched_crc = 7, .variant = 1});
	assert_int_equal(ckpt_store_nearest(store, &like, &m, &e), 0);
	like.event = 100;
	assert_int_equal(ckpt_store_nearest(store, &like, &m, &e), 1);
	assert_int_equal(m.event, 100);
	like.event = 299;
	assert_int_equal(ckpt_store_nearest(store, &like, &m, &e), 1);
	assert_int_equal(m.event, 200);
	like.event = UINT64_MAX;
	assert_int_equal(ckpt_store_nearest(store, &like, &m, &e), 1);
	assert_int_equal(m.event, 300);
}

static void test_get_remove(void **state)
{
	struct ckpt_meta a = {.event = 1}, b = {.event = 2}, m;
	struct err e;

	must_add(&a);
	must_add(&b);
	assert_int_equal(ckpt_store_get(store, b.id, &m, &e), 0);
	assert_int_equal(m.event, 2);
	assert_int_equal(ckpt_store_remove(store, a.id, &e), 0);
	assert_int_equal(ckpt_store_get(store, a.id, &m, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_string_equal(e.text, "no checkpoint 1");
	assert_int_equal(ckpt_store_remove(store, a.id, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(entries(""), 1);
}

/* While one is being restored (a shared lock) it cannot be removed, nor thinned out. */
static void test_in_use(void **state)
{
	const struct ckpt_limits none = {.max_bytes = 1};
	struct ckpt_meta a = {.event = 1};
	struct ckpt_gc_result r;
	struct err e;
	char dir[100];
	int fd;

	must_add(&a);
	snprintf(dir, sizeof(dir), "%s/1", root);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	assert_int_equal(ckpt_store_remove(store, 1, &e), 1);
	assert_int_equal(ckpt_store_gc(store, &none, &r, &e), 0);
	assert_int_equal(r.thinned, 0);
	close(fd);
	assert_int_equal(ckpt_store_gc(store, &none, &r, &e), 0);
	assert_int_equal(r.thinned, 1);
	assert_int_equal(entries(""), 0);
}

/* One that is being made is not a leftover; after an abort nothing is left. */
static void test_gc_spares_living(void **state)
{
	struct ckpt_gc_result r;
	struct ckpt_add a;
	struct err e;

	assert_int_equal(ckpt_add_begin(store, &a, &e), 0);
	assert_int_equal(ckpt_store_gc(store, NULL, &r, &e), 0);
	assert_int_equal(r.leftovers, 0);
	assert_int_equal(entries("tmp."), 1);
	ckpt_add_abort(&a);
	assert_int_equal(entries(""), 0);
	ckpt_add_abort(&a);
}

static void spoil(uint64_t id, const char *name, const char *text)
{
	cleanup_free char *path = str_fmt("%s/%llu/%s", root, (unsigned long long)id, name);
	struct err e;

	assert_int_equal(text ? write_file(path, text, strlen(text), 0600, &e) : unlink(path), 0);
}

static void test_damage(void **state)
{
	struct ckpt_meta m[6];
	struct ckpt_gc_result r;
	struct ckpt_list l;
	struct err e;
	pid_t pid;

	for (int i = 0; i < 6; i++) {
		m[i] = (struct ckpt_meta){.event = (uint64_t)i + 1};
		must_add(&m[i]);
	}
	spoil(m[0].id, "ckpt.json", NULL);
	spoil(m[1].id, "ckpt.json", "{\"format\": 1, \"host\"");
	spoil(m[2].id, "ckpt.json", "{\"format\": 99, \"host\": \"x\"}");
	spoil(m[3].id, "images/pages.img", "short");
	spoil(m[4].id, "ckpt.json",
	      "{\"format\": 1, \"host\": \"another\", \"event\": 5, \"process\": 0, \"rung\": 0}");
	assert_int_equal(ckpt_store_list(store, &l, &e), 0);
	assert_int_equal(l.n, 2); /* sizes are looked at when it matters */
	ckpt_list_fini(&l);
	assert_int_equal(ckpt_store_restore(store, NULL, &m[3], &pid, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_string_equal(e.text, "checkpoint 4 is damaged");
	assert_int_equal(ckpt_store_restore(store, NULL, &m[0], &pid, &e), -1);
	assert_string_equal(e.text, "checkpoint 1 is gone");
	assert_int_equal(ckpt_store_gc(store, NULL, &r, &e), 0);
	assert_int_equal(r.damaged, 5);
	assert_int_equal(entries(""), 1);
	assert_int_equal(ckpt_store_get(store, m[5].id, &m[0], &e), 0);
}

/* A number given out again: the old meta does not restore the new checkpoint. */
static void test_reused_id(void **state)
{
	struct ckpt_meta old = {.event = 1}, new = {.event = 2};
	struct err e;
	pid_t pid;

	must_add(&old);
	assert_int_equal(ckpt_store_remove(store, old.id, &e), 0);
	must_add(&new);
	assert_int_equal(old.id, new.id);
	assert_int_equal(ckpt_store_restore(store, NULL, &old, &pid, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_thin(void **state)
{
	const struct ckpt_limits l = {.max_count = 4, .total = 1000};
	struct ckpt_gc_result r;
	struct ckpt_list list;
	struct err e;

	for (uint64_t i = 1; i <= 20; i++)
		must_add(&(struct ckpt_meta){.event = i * 50, .process = 1, .keep = i == 2});
	for (uint64_t i = 1; i <= 3; i++)
		must_add(&(struct ckpt_meta){.event = i, .process = 2});
	assert_int_equal(ckpt_store_gc(store, &l, &r, &e), 0);
	assert_int_equal(r.thinned, 16);
	assert_int_equal(ckpt_store_list(store, &list, &e), 0);
	assert_int_equal(list.n, 7);
	assert_int_equal(list.v[0].event, 100);
	assert_true(list.v[1].event >= 200 && list.v[3].event <= 900);
	ckpt_list_fini(&list);
}

/* Adds and removes until it is killed; counts the adds that were promised to be there. */
static void churn(uint64_t seed, volatile uint32_t *added)
{
	for (uint64_t i = 0;; i++) {
		struct ckpt_meta m = {.event = seed * 1000 + i, .process = 1};
		struct err e;

		if (add(&m, &e))
			_exit(1);
		__atomic_add_fetch(added, 1, __ATOMIC_SEQ_CST);
		if (i % 3 == 2)
			ckpt_store_remove(store, m.id, &e);
	}
}

static void check_whole(const struct ckpt_meta *m)
{
	cleanup_free char *path =
		str_fmt("%s/%llu/images/pages.img", root, (unsigned long long)m->id);
	cleanup_buf struct buf b = {0};
	struct err e;

	assert_int_equal(read_file(path, &b, &e), 0);
	assert_int_equal(b.len, IMAGE_BYTES);
	for (size_t i = 0; i < b.len; i++)
		if ((uint8_t)b.data[i] != (uint8_t)m->event)
			fail_msg("checkpoint %llu differs at %zu", (unsigned long long)m->id, i);
}

static void test_kill_during_add(void **state)
{
	volatile uint32_t *added = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t leftovers = 0;
	struct err e;

	srand(7);
	for (uint64_t round = 0; round < 60; round++) {
		struct timespec moment = {.tv_nsec = rand() % 6000000};
		struct ckpt_gc_result r;
		struct ckpt_list l;
		pid_t pid = fork();

		if (!pid)
			churn(round, added);
		/* A random moment of its life: after the first promise, and a bit. */
		while (__atomic_load_n(added, __ATOMIC_SEQ_CST) == 0)
			sched_yield();
		nanosleep(&moment, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(ckpt_store_list(store, &l, &e), 0);
		for (size_t i = 0; i < l.n; i++)
			check_whole(&l.v[i]);
		assert_true(l.n >= *added - *added / 3);
		assert_int_equal(ckpt_store_gc(store, &(struct ckpt_limits){.max_count = 5}, &r, &e),
				 0);
		assert_int_equal(r.damaged, 0);
		assert_int_equal(entries("tmp."), 0);
		leftovers += r.leftovers;
		*added = 0;
		ckpt_list_fini(&l);
	}
	/* Or the kills came at no interesting moment. */
	assert_true(leftovers > 5);
}

/* Two processes add and thin at once: each add gets a number of its own, none is lost or broken. */
static void test_concurrent(void **state)
{
	enum { EACH = 40 };
	struct ckpt_list l;
	struct err e;
	pid_t pid[2];

	for (int k = 0; k < 2; k++) {
		pid[k] = fork();
		if (pid[k])
			continue;
		for (uint64_t i = 0; i < EACH; i++) {
			struct ckpt_meta m = {.event = i, .process = (uint32_t)k + 1};

			if (add(&m, &e) || ckpt_store_gc(store, NULL, NULL, &e))
				_exit(1);
		}
		_exit(0);
	}
	for (int k = 0; k < 2; k++) {
		int status;

		assert_int_equal(waitpid(pid[k], &status, 0), pid[k]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(ckpt_store_list(store, &l, &e), 0);
	assert_int_equal(l.n, 2 * EACH);
	for (size_t i = 0; i < l.n; i++)
		check_whole(&l.v[i]);
	ckpt_list_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list_sorted, empty),
		cmocka_unit_test_setup(test_nearest, empty),
		cmocka_unit_test_setup(test_get_remove, empty),
		cmocka_unit_test_setup(test_in_use, empty),
		cmocka_unit_test_setup(test_gc_spares_living, empty),
		cmocka_unit_test_setup(test_damage, empty),
		cmocka_unit_test_setup(test_reused_id, empty),
		cmocka_unit_test_setup(test_thin, empty),
		cmocka_unit_test_setup(test_kill_during_add, empty),
		cmocka_unit_test_setup(test_concurrent, empty),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
