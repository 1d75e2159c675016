/* SPDX-License-Identifier: MIT */
/* Events as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "describe/describe.h"
#include "logbuild.h"

/* Reads the log's only event. The log must outlive ev. */
static void only_event(const struct logbuild *lb, struct reader *r, struct timeline_event *ev)
{
	struct reader_iter it;
	struct err e = {0};

	assert_int_equal(reader_init_mem(r, "log", lb->b.data, lb->b.len, &e), 0);
	it = reader_begin(r);
	*ev = (struct timeline_event){.where = {.number = 12, .process = 1, .thread = 3, .tid = 1003}, .seconds = 0.25};
	assert_int_equal(reader_next(&it, &ev->ev), RLOG_READ_OK);
}

static void expect(struct logbuild *lb, const char *want)
{
	struct buf b = {0};
	struct timeline_event ev;
	struct reader r;

	only_event(lb, &r, &ev);
	describe_event_what(&b, &ev.ev);
	assert_string_equal(buf_str(&b), want);
	buf_fini(&b);
	reader_fini(&r);
	lb_fini(lb);
}

/* A result of n bytes that are in a kept file. */
static void add_ref(struct logbuild *lb, uint64_t n)
{
	struct rlog_ref ref = {.ino = 7, .size = 1 << 20, .offset = 4096};
	char payload[1 + sizeof(ref)] = {0};

	memcpy(payload + 1, &ref, sizeof(ref));
	lb_add_v(lb, RLOG_SYSRET, 0, 0, 1, &n, payload, sizeof(payload));
}

#define EXPECT(want, ...)                                                                                              \
	do {                                                                                                           \
		struct logbuild lb;                                                                                    \
		lb_init(&lb, 1, 3, 0);                                                                                 \
		__VA_ARGS__;                                                                                           \
		expect(&lb, want);                                                                                     \
	} while (0)

static void test_text(void **state)
{
	EXPECT("start", lb_add(&lb, RLOG_START, 1, 0, 0));
	EXPECT("pthread_mutex_lock [3f]", lb_add(&lb, RLOG_LOCK, 1, 0x3f, 0));
	EXPECT("pthread_mutex_lock [01] = 16 (EBUSY)", lb_add(&lb, RLOG_LOCK_RET, 1, 1, 1, 16ul));
	EXPECT("pthread_create thread 2", lb_add(&lb, RLOG_CREATE, 1, 0, 1, 2ul);
	       lb_add(&lb, RLOG_CREATED, 0, 0, 2, 0ul, 1002ul));
	EXPECT("write(1, 0x7ffff7dd1000, 12) = 12",
	       lb_add(&lb, RLOG_SYS, 1, 0, 5, 1ul, 1ul, 0x7ffff7dd1000ul, 12ul, 99ul);
	       lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){12}, "", 0));
	EXPECT("openat(-100, 0x7ffff7dd1000) = -2 (ENOENT)",
	       lb_add(&lb, RLOG_SYS, 1, 0, 4, 257ul, -100ul, 0x7ffff7dd1000ul, 99ul);
	       lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){-2ul}, "", 0));
	EXPECT("getpid() = 0 +5 bytes", lb_add(&lb, RLOG_SYS, 1, 0, 2, 39ul, 9ul);
	       lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){0}, "hello", 5));
	EXPECT("read(3) = 32768 +32768 bytes of inode 7 from 4096", lb_add(&lb, RLOG_SYS, 1, 0, 3, 0ul, 3ul, 9ul);
	       add_ref(&lb, 32768));
	EXPECT("syscall_99999()", lb_add(&lb, RLOG_SYS, 1, 0, 2, 99999ul, 9ul));
	EXPECT("syscall_0()", lb_add(&lb, RLOG_SYS, 1, 0, 0));
	EXPECT("signal SIGUSR1", lb_add(&lb, RLOG_SIGNAL, 1, 0, 1, 10ul));
	EXPECT("signal signal 7777", lb_add(&lb, RLOG_SIGNAL, 1, 0, 1, 7777ul));
	EXPECT("fatal signal SIGSEGV code 1 address 0x10 pc 0x401136",
	       lb_add(&lb, RLOG_CRASH, 1, 0, 4, 11ul, 1ul, 0x10ul, 0x401136ul));
	EXPECT("fork = 4242 [process 2]", lb_add(&lb, RLOG_FORK, 1, 0, 0);
	       lb_add(&lb, RLOG_FORKED, 0, 0, 2, 4242ul, 2ul));
	EXPECT("execve /bin/true", lb_add_v(&lb, RLOG_EXEC, 1, 0, 0, NULL, "/bin/true", 9));
	EXPECT("pthread_barrier_wait [00] = -1", lb_add(&lb, RLOG_BARRIER, 1, 0, 0);
	       lb_add(&lb, RLOG_BARRIER_LEFT, 0, 0, 1, -1ul));
	EXPECT("sem_getvalue(7) [02]", lb_add(&lb, RLOG_SEM_GET, 0, 2, 2, 0ul, 7ul));
}

static void test_line(void **state)
{
	struct logbuild lb;
	struct buf b = {0};
	struct timeline_event ev;
	struct reader r;

	lb_init(&lb, 1, 3, 0);
	lb_add(&lb, RLOG_EXIT, 1, 0, 0);
	only_event(&lb, &r, &ev);
	describe_event_text(&b, &ev);
	assert_string_equal(buf_str(&b), "        12      0.250000  p1 t3  exit");
	buf_fini(&b);
	reader_fini(&r);
	lb_fini(&lb);
}

static void test_json(void **state)
{
	struct logbuild lb;
	struct timeline_event ev;
	struct reader r;
	json_t *got, *want;

	lb_init(&lb, 1, 3, 0);
	lb_add(&lb, RLOG_SYS, 1, 0, 4, 3ul, 7ul, 8ul, 9ul);
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){-9ul}, "", 0);
	only_event(&lb, &r, &ev);
	got = describe_event_json(&ev);
	want = json_pack("{s:i,s:f,s:i,s:i,s:i,s:s,s:s,s:s,s:[i,i],s:i,s:s}", "event", 12, "time", 0.25, "process", 1,
			 "thread", 3, "tid", 1003, "kind", "SYS", "name", "close", "text", "close(7, 8) = -9 (EBADF)",
			 "args", 7, 8, "result", -9, "error", "EBADF");
	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
	reader_fini(&r);
	ev.seconds = -1;
	got = describe_event_json(&ev);
	assert_true(json_is_null(json_object_get(got, "time")));
	json_decref(got);
	lb_fini(&lb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
