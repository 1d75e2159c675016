// SPDX-License-Identifier: MIT
/* test_rpc.c: the server with good clients, bad clients, and workers that end in every way. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "rpc/rpc.h"
#include "wire/base64.h"
#include "wire/message.h"

/* What the daemon may take in all; ASan keeps freed memory for a while (256 MB). */
#if defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#endif
#ifdef WITH_ASAN
#define MAX_RESIDENT_KB (600ul << 10)
#else
#define MAX_RESIDENT_KB (64ul << 10)
#endif

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}\n"

static void hello(void **state)
{
	json_auto_t *v = NULL;
	struct peer p;

	peer_open(&p, *state);
	peer_send_str(&p, HELLO);
	v = peer_answer(&p, 1, NULL);
	assert_string_equal(json_string_value(json_object_get(json_object_get(v, "result"), "version")),
			    FRED_VERSION);
	peer_close(&p);
}

/* Garbage gets one error each, and the connection goes on. */
static void garbage_lines(void **state)
{
	static const char *const lines[] = {"GET / HTTP/1.1\r\n", "{\n", "[]\n", "\xff\xfe\x01\n",
					    "{\"jsonrpc\":\"2.0\"}\n"};
	struct peer p;

	peer_open(&p, *state);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int code;

		peer_send_str(&p, lines[i]);
		code = take_code(peer_read(&p));
		assert_true(code == WIRE_E_PARSE || code == WIRE_E_REQUEST);
	}
	peer_send_str(&p, HELLO);
	assert_int_equal(take_code(peer_answer(&p, 1, NULL)), 0);
	peer_close(&p);
}

/* A binary stream without newlines, longer than a message may be: told so and closed. */
static void oversized(void **state)
{
	cleanup_free char *big = calloc(1, WIRE_MAX_MESSAGE + (1 << 20));
	struct peer p, other;

	memset(big, 'x', WIRE_MAX_MESSAGE + (1 << 20));
	peer_open(&p, *state);
	peer_send(&p, big, WIRE_MAX_MESSAGE + (1 << 20));
	assert_int_equal(take_code(peer_read(&p)), WIRE_E_TOO_LARGE);
	assert_null(peer_read(&p));
	peer_close(&p);
	peer_open(&other, *state);
	peer_send_str(&other, HELLO);
	assert_int_equal(take_code(peer_answer(&other, 1, NULL)), 0);
	peer_close(&other);
}

static void byte_by_byte(void **state)
{
	struct peer p;

	peer_open(&p, *state);
	for (const char *c = HELLO; *c; c++)
		peer_send(&p, c, 1);
	assert_int_equal(take_code(peer_answer(&p, 1, NULL)), 0);
	peer_close(&p);
}

static void notifications_get_no_answer(void **state)
{
	struct peer p;

	peer_open(&p, *state);
	peer_send_str(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"status\"}\n"
			  "{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}\n"
			  "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":1}\n" HELLO);
	/* the very first line back is hello's */
	assert_int_equal(take_code(peer_read(&p)), 0);
	peer_close(&p);
}

static void operation_result(void **state)
{
	unsigned notifications = 0;
	json_auto_t *v = NULL;
	struct peer p;

	peer_open(&p, *state);
	peer_replay(&p, 5, "fine");
	v = peer_answer(&p, 5, &notifications);
	assert_string_equal(json_string_value(json_object_get(json_object_get(v, "result"), "did")),
			    "fine");
	assert_int_equal(notifications, 1);
	peer_close(&p);
}

static void operation_big_result(void **state)
{
	json_auto_t *v = NULL;
	struct peer p;

	peer_open(&p, *state);
	peer_replay(&p, 5, "big");
	v = peer_answer(&p, 5, NULL);
	assert_int_equal(json_array_size(json_object_get(v, "result")), 200000);
	peer_close(&p);
}

static void operation_errors(void **state)
{
	static const struct {
		const char *what;
		int code;
		const char *says;
	} cases[] = {
		{"usage", WIRE_E_USAGE, "replay: no"},
		{"budget", WIRE_E_BUDGET, "budget"},
		{"crash", WIRE_E_INTERNAL, "SIGSEGV"},
		{"exit", WIRE_E_INTERNAL, "status 3"},
		{"garbage", WIRE_E_INTERNAL, "is not a valid message"},
		{"half", WIRE_E_INTERNAL, "no result"},
	};
	struct peer p;

	peer_open(&p, *state);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *v;
		const char *text;

		peer_replay(&p, (int)i + 10, cases[i].what);
		v = peer_answer(&p, (int)i + 10, NULL);
		text = json_string_value(json_object_get(json_object_get(v, "error"), "message"));
		assert_non_null(text);
		if (!strstr(text, cases[i].says))
			fail_msg("%s: '%s' does not say '%s'", cases[i].what, text, cases[i].says);
		assert_int_equal(take_code(v), cases[i].code);
	}
	peer_close(&p);
}

static void operation_output(void **state)
{
	cleanup_buf struct buf out = {0};
	struct peer p;
	json_t *v;
	int err_seen = 0;

	peer_open(&p, *state);
	peer_replay(&p, 5, "output");
	while ((v = peer_read(&p)) && !json_object_get(v, "result")) {
		json_t *params = json_object_get(v, "params");
		const char *text = json_string_value(json_object_get(params, "base64"));

		if (text && json_integer_value(json_object_get(params, "fd")) == 1)
			assert_int_equal(base64_decode(&out, text, strlen(text)), 0);
		else if (text)
			err_seen++;
		json_decref(v);
	}
	json_decref(v);
	assert_int_equal(out.len, 256);
	for (int i = 0; i < 256; i++)
		assert_int_equal((unsigned char)out.data[i], i);
	assert_int_equal(err_seen, 1);
	peer_close(&p);
}

/* Sends `line` from `by`, and expects request 5 of p to be answered as cancelled. */
static void expect_cancelled(struct peer *p, struct peer *by, const char *line)
{
	peer_send_str(by, line);
	assert_int_equal(take_code(peer_answer(p, 5, NULL)), WIRE_E_CANCELLED);
}

static void cancel_by_id(void **state)
{
	struct peer p;

	peer_open(&p, *state);
	peer_replay(&p, 5, "hang");
	json_decref(peer_read(&p)); /* progress: it runs */
	expect_cancelled(&p, &p,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"op.cancel\",\"params\":{\"id\":5}}\n");
	peer_close(&p);
}

static void cancel_by_number(void **state)
{
	char line[128];
	struct peer p, other;
	json_t *v;

	peer_open(&p, *state);
	peer_open(&other, *state);
	peer_replay(&p, 5, "hang");
	v = peer_read(&p);
	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"op.cancel\",\"params\":{\"op\":%d}}\n",
		 (int)json_integer_value(json_object_get(json_object_get(v, "params"), "op")));
	json_decref(v);
	/* another client's id 5 is not this one */
	peer_send_str(&other, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"op.cancel\",\"params\":{\"id\":5}}\n");
	assert_int_equal(take_code(peer_answer(&other, 1, NULL)), WIRE_E_USAGE);
	expect_cancelled(&p, &other, line);
	assert_int_equal(take_code(peer_answer(&other, 2, NULL)), 0);
	peer_close(&p);
	peer_close(&other);
}

static void disconnect_kills_worker(void **state)
{
	struct peer p, other;
	int pidfd;
	pid_t pid;

	peer_open(&p, *state);
	peer_open(&other, *state);
	peer_replay(&p, 5, "hang");
	json_decref(peer_read(&p));
	pid = peer_worker(&other);
	assert_true(pid > 0);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	peer_close(&p);
	assert_int_equal(wait_gone(pidfd), 0);
	close(pidfd);
	peer_close(&other);
}

static void two_clients_at_once(void **state)
{
	struct peer a, b;

	peer_open(&a, *state);
	peer_open(&b, *state);
	peer_replay(&a, 5, "hang");
	json_decref(peer_read(&a));
	for (int i = 0; i < 20; i++) {
		peer_replay(&b, i, "fine");
		assert_int_equal(take_code(peer_answer(&b, i, NULL)), 0);
	}
	expect_cancelled(&a, &a,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"op.cancel\",\"params\":{\"id\":5}}\n");
	peer_close(&a);
	peer_close(&b);
}

/* Many operations of one client: answers come with the right ids, the surplus is refused. */
static void many_operations(void **state)
{
	int ok = 0, refused = 0;
	struct peer p;

	peer_open(&p, *state);
	for (int i = 1; i <= RPC_MAX_OPERATIONS + 8; i++)
		peer_replay(&p, i, "hang");
	for (int i = RPC_MAX_OPERATIONS + 1; i <= RPC_MAX_OPERATIONS + 8; i++)
		refused += take_code(peer_answer(&p, i, NULL)) == WIRE_E_HOST;
	assert_int_equal(refused, 8);
	for (int i = 1; i <= RPC_MAX_OPERATIONS; i++) {
		char line[128];

		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"op.cancel\",\"params\":{\"id\":%d}}\n", i);
		peer_send_str(&p, line);
		ok += take_code(peer_answer(&p, i, NULL)) == WIRE_E_CANCELLED;
	}
	assert_int_equal(ok, RPC_MAX_OPERATIONS);
	peer_close(&p);
}

static json_int_t client_count(struct peer *p)
{
	json_auto_t *v = NULL;

	peer_send_str(p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"status\"}\n");
	v = peer_answer(p, 3, NULL);
	return json_integer_value(json_object_get(json_object_get(v, "result"), "clients"));
}

static void too_many_clients(void **state)
{
	static struct peer p[RPC_MAX_CONNS];
	struct peer extra;

	for (int i = 0; i < RPC_MAX_CONNS; i++) {
		peer_open(&p[i], *state);
		peer_send_str(&p[i], HELLO);
		assert_int_equal(take_code(peer_answer(&p[i], 1, NULL)), 0);
	}
	peer_open(&extra, *state);
	assert_int_equal(take_code(peer_read(&extra)), WIRE_E_BUSY);
	assert_null(peer_read(&extra));
	peer_close(&extra);
	for (int i = 1; i < RPC_MAX_CONNS; i++)
		peer_close(&p[i]);
	while (client_count(&p[0]) > 1) /* each is a round trip; the deadline ends it */
		;
	peer_close(&p[0]);
}

static unsigned long resident_kb(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/status", (int)pid);
	cleanup_buf struct buf b = {0};
	unsigned long kb = 0;
	struct err e;
	const char *p;

	assert_int_equal(read_file(path, &b, &e), 0);
	p = strstr(buf_str(&b), "VmRSS:");
	assert_non_null(p);
	assert_int_equal(sscanf(p, "VmRSS: %lu", &kb), 1);
	return kb;
}

/* A client that starts a flood and reads nothing costs the daemon bounded memory, and no one else time. */
static void slow_reader(void **state)
{
	struct harness *h = *state;
	struct peer p, other;
	size_t got = 0;

	peer_open(&p, h);
	peer_open(&other, h);
	peer_replay(&p, 5, "flood");
	json_decref(peer_read(&p)); /* it runs */
	for (int i = 0; i < 2000; i++) {
		peer_send_str(&other, HELLO);
		assert_int_equal(take_code(peer_answer(&other, 1, NULL)), 0);
	}
	assert_true(resident_kb(h->pid) < MAX_RESIDENT_KB);
	/* and it goes on when the client reads: more comes than could have been queued */
	while (got < 4 * RPC_OUT_HIGH) {
		json_t *v = peer_read(&p);

		assert_non_null(v);
		got += 50000;
		json_decref(v);
	}
	peer_close(&p);
	peer_close(&other);
}

/* Requests without reading any answer: the daemon stops listening to this client, not to others. */
static void client_that_never_reads(void **state)
{
	struct harness *h = *state;
	struct peer p, other;
	ssize_t n = 1;

	peer_open(&p, h);
	peer_open(&other, h);
	fcntl(p.fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 200000 && n > 0; i++)
		n = send(p.fd, "[]\n[]\n[]\n[]\n", 12, MSG_NOSIGNAL);
	peer_send_str(&other, HELLO);
	assert_int_equal(take_code(peer_answer(&other, 1, NULL)), 0);
	assert_true(resident_kb(h->pid) < MAX_RESIDENT_KB);
	peer_close(&p);
	peer_close(&other);
}

/* `printf REQUEST | nc -U`: the writing side ends first, the answer still comes, then the end. */
static void half_close(void **state)
{
	struct peer p;

	peer_open(&p, *state);
	peer_replay(&p, 5, "fine");
	shutdown(p.fd, SHUT_WR);
	assert_int_equal(take_code(peer_answer(&p, 5, NULL)), 0);
	assert_null(peer_read(&p));
	peer_close(&p);
}

static void shutdown_cancels(void **state)
{
	struct harness *h = *state;
	json_auto_t *v = NULL;
	struct peer p, other;

	peer_open(&p, h);
	peer_open(&other, h);
	peer_replay(&p, 5, "hang");
	json_decref(peer_read(&p));
	peer_send_str(&other, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}\n");
	v = peer_answer(&other, 1, NULL);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(v, "result"), "cancelled")),
			 1);
	assert_int_equal(take_code(peer_answer(&p, 5, NULL)), WIRE_E_CANCELLED);
	assert_null(peer_read(&p));
	harness_join(h);
	assert_true(WIFEXITED(h->status) && !WEXITSTATUS(h->status));
	peer_close(&p);
	peer_close(&other);
}

static void idle_end(void **state)
{
	struct harness *h = *state;

	harness_join(h);
	assert_true(WIFEXITED(h->status) && !WEXITSTATUS(h->status));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_setup, harness_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hello),
		TEST(garbage_lines),
		TEST(oversized),
		TEST(byte_by_byte),
		TEST(notifications_get_no_answer),
		TEST(operation_result),
		TEST(operation_big_result),
		TEST(operation_errors),
		TEST(operation_output),
		TEST(cancel_by_id),
		TEST(cancel_by_number),
		TEST(disconnect_kills_worker),
		TEST(two_clients_at_once),
		TEST(many_operations),
		TEST(too_many_clients),
		TEST(slow_reader),
		TEST(client_that_never_reads),
		TEST(half_close),
		TEST(shutdown_cancels),
		cmocka_unit_test_setup_teardown(idle_end, harness_setup_idle, harness_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
