// SPDX-License-Identifier: MIT
/* harness.c: see harness.h. */
#include "harness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "rpc/server.h"
#include "wire/addr.h"

/* As cell_start, without namespaces, so that the tests need no privileges. */
static int start_plain(int (*init)(void *arg), void *arg, struct cell *out, struct err *e)
{
	out->pidfd = -1;
	out->end_signal = SIGKILL;
	out->pid = fork();
	if (out->pid < 0)
		return err_errno(e, ERR_HOST, "fork");
	if (out->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(init(arg));
	}
	return 0;
}

static _Noreturn void run_server(const struct harness *h, int listen_fd, uint64_t idle_ms)
{
	struct server_config c = {
		.listen_fd = listen_fd,
		.home = h->dir,
		.build = "test",
		.ops = fake_ops,
		.start_cell = start_plain,
		.idle_ms = idle_ms,
	};
	const struct rlimit no_core = {0, 0};
	struct loop *l;
	struct server *s;
	struct err e;
	int r;

	alarm(DEADLINE_S);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	l = loop_new(&e);
	s = l ? server_new(l, &c, &e) : NULL;
	if (!s)
		_exit(99);
	r = loop_run(l, &e);
	server_free(s);
	loop_free(l);
	_exit(r ? 98 : 0);
}

static int setup(void **state, uint64_t idle_ms)
{
	struct harness *h = calloc(1, sizeof(*h));
	struct wire_addr a;
	struct err e;
	int fd;

	*state = h;
	strcpy(h->dir, "/tmp/fred-test-XXXXXX");
	if (!mkdtemp(h->dir) || wire_addr_init(&a, h->dir, &e))
		return -1;
	fd = wire_listen(&a, &e);
	if (fd < 0)
		return -1;
	fflush(NULL);
	h->pid = fork();
	if (h->pid == 0)
		run_server(h, fd, idle_ms);
	close(fd);
	alarm(DEADLINE_S);
	return h->pid > 0 ? 0 : -1;
}

int harness_setup(void **state)
{
	return setup(state, 0);
}

int harness_setup_idle(void **state)
{
	return setup(state, 10);
}

void harness_join(struct harness *h)
{
	if (!h->pid)
		return;
	assert_int_equal(waitpid(h->pid, &h->status, 0), h->pid);
	h->pid = 0;
}

int harness_teardown(void **state)
{
	struct harness *h = *state;
	struct peer p;
	struct err e;
	int status;

	if (h->pid) {
		peer_open(&p, h);
		peer_send_str(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}\n");
		harness_join(h);
		peer_close(&p);
	}
	alarm(0);
	status = h->status;
	rm_rf(h->dir, &e);
	free(h);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

void peer_open(struct peer *p, const struct harness *h)
{
	struct timeval limit = {.tv_sec = DEADLINE_S / 2};
	struct wire_addr a;
	struct err e;

	wire_frame_init(&p->in, WIRE_MAX_MESSAGE);
	assert_int_equal(wire_addr_init(&a, h->dir, &e), 0);
	p->fd = wire_connect(&a, &e);
	assert_true(p->fd >= 0);
	assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
}

void peer_close(struct peer *p)
{
	close(p->fd);
	wire_frame_fini(&p->in);
}

/* The server may close while we send: then the answer that it left says why. */
void peer_send(struct peer *p, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(p->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return;
		assert_true(n > 0);
		data += n;
		len -= (size_t)n;
	}
}

void peer_send_str(struct peer *p, const char *line)
{
	peer_send(p, line, strlen(line));
}

void peer_replay(struct peer *p, int id, const char *what)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"replay\",\"params\":{\"rec\":\"%s\"}}\n", id,
		 what);
	peer_send_str(p, line);
}

json_t *peer_read(struct peer *p)
{
	const char *line;
	size_t len;

	for (;;) {
		enum wire_frame_result r = wire_frame_next(&p->in, &line, &len);
		ssize_t n;

		assert_int_not_equal(r, WIRE_FRAME_LOST);
		if (r == WIRE_FRAME_LINE) {
			json_t *v = json_loadb(line, len, 0, NULL);

			assert_non_null(v);
			return v;
		}
		n = wire_frame_read(&p->in, p->fd);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return NULL;
		if (n < 0)
			fail_msg("read: %s", strerror(errno));
	}
}

json_t *peer_answer(struct peer *p, int id, unsigned *notifications)
{
	json_t *v;

	while ((v = peer_read(p))) {
		if (json_integer_value(json_object_get(v, "id")) == id && !json_object_get(v, "method"))
			return v;
		if (notifications)
			++*notifications;
		json_decref(v);
	}
	fail_msg("the connection ended without an answer to %d", id);
	return NULL;
}

int take_code(json_t *msg)
{
	json_t *code = json_object_get(json_object_get(msg, "error"), "code");
	int r = (int)json_integer_value(code);

	assert_true(code || json_object_get(msg, "result"));
	json_decref(msg);
	return r;
}

pid_t peer_worker(struct peer *p)
{
	json_auto_t *v = NULL;
	json_t *ops;

	peer_send_str(p, "{\"jsonrpc\":\"2.0\",\"id\":777,\"method\":\"status\"}\n");
	v = peer_answer(p, 777, NULL);
	ops = json_object_get(json_object_get(v, "result"), "operations");
	return (pid_t)json_integer_value(json_object_get(json_array_get(ops, 0), "pid"));
}

int wait_gone(int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	return poll(&p, 1, DEADLINE_S * 500) == 1 ? 0 : -1;
}
