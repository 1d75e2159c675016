/* SPDX-License-Identifier: MIT */
/* client.c: see client.h. */
#include "client/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/home.h"
#include "base/str.h"
#include "client/out.h"
#include "client/out_text.h"
#include "wire/addr.h"
#include "wire/base64.h"
#include "wire/methods.h"

#define HELLO_TRIES 3

/* One call that is being waited for. */
struct client_request {
	struct client *client;
	json_int_t id;
	int sig_fd;
	unsigned interrupts;
	struct progress progress;
	json_t *result;
	struct err *e;
	enum { CALL_RUNNING, CALL_DONE, CALL_FAILED } state;
};

static int fail(struct client_request *k)
{
	k->state = CALL_FAILED;
	return -1;
}

static int send_message(struct client *c, json_t *msg, struct err *e)
{
	json_auto_t *owned = msg;
	size_t len = 0, done = 0;
	cleanup_free char *line = owned ? wire_line(owned, &len) : NULL;

	if (!line)
		return err_set(e, ERR_USAGE, "an argument is not valid UTF-8");
	while (done < len) {
		ssize_t n = send(c->fd, line + done, len - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "fredd");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void print_output(struct client_request *k, const json_t *params)
{
	const char *text = json_string_value(json_object_get(params, "base64"));
	int fd = (int)json_integer_value(json_object_get(params, "fd"));
	cleanup_buf struct buf b = {0};

	if (!text || base64_decode(&b, text, strlen(text)))
		return;
	progress_clear(&k->progress);
	/* with --json, standard output is for the result alone */
	if (fd == 1 && k->client->output)
		k->client->output(k->client->ctx, b.data, b.len);
	else if (fd == 1 && !k->client->cli->json)
		fwrite(b.data, 1, b.len, stdout);
	else if (write_full(STDERR_FILENO, b.data, b.len))
		return;
}

static void print_note(struct client_request *k, const json_t *params)
{
	progress_clear(&k->progress);
	out_note(k->client->cli, "%s", out_str(params, "text", ""));
}

static void got_notification(struct client_request *k, const struct wire_msg *m)
{
	if (json_integer_value(json_object_get(m->params, "id")) != k->id)
		return;
	if (!strcmp(m->method, "op.progress"))
		progress_draw(&k->progress, json_number_value(json_object_get(m->params, "fraction")),
			      json_string_value(json_object_get(m->params, "text")));
	else if (!strcmp(m->method, "op.output"))
		print_output(k, m->params);
	else if (!strcmp(m->method, "op.note"))
		print_note(k, m->params);
}

static void got_message(struct client_request *k, const char *line, size_t len)
{
	cleanup_wire_msg struct wire_msg m;
	int code;

	if (wire_msg_parse(line, len, &m, &code, k->e)) {
		err_wrap(k->e, "fredd sent data that is not a valid message");
		k->e->kind = ERR_INTERNAL;
		fail(k);
	} else if (m.type == WIRE_MSG_NOTIFICATION) {
		got_notification(k, &m);
	} else if (m.type == WIRE_MSG_ERROR && (json_is_null(m.id) || !m.id)) {
		wire_msg_to_err(&m, k->e); /* the connection has ended */
		fail(k);
	} else if (json_integer_value(m.id) == k->id && m.type == WIRE_MSG_RESULT) {
		k->result = json_incref(m.result);
		k->state = CALL_DONE;
	} else if (json_integer_value(m.id) == k->id && m.type == WIRE_MSG_ERROR) {
		wire_msg_to_err(&m, k->e);
		fail(k);
	}
}

static int read_socket(struct client_request *k)
{
	struct client *c = k->client;
	ssize_t n = wire_frame_read(&c->in, c->fd);
	enum wire_frame_result r = WIRE_FRAME_MORE;
	const char *line;
	size_t len;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0) {
		err_errno(k->e, ERR_INTERNAL, "fredd");
		return fail(k);
	}
	if (n == 0) {
		err_set(k->e, ERR_INTERNAL, "fredd has closed the connection; see fredd.log");
		return fail(k);
	}
	while (k->state == CALL_RUNNING && (r = wire_frame_next(&c->in, &line, &len)) == WIRE_FRAME_LINE)
		got_message(k, line, len);
	if (k->state == CALL_RUNNING && r == WIRE_FRAME_LOST) {
		err_set(k->e, ERR_INTERNAL, "fredd sent a message over the limit");
		return fail(k);
	}
	return 0;
}

static int interrupted(struct client_request *k)
{
	struct signalfd_siginfo si;

	if (read(k->sig_fd, &si, sizeof(si)) != sizeof(si))
		return 0;
	if (k->interrupts++) {
		err_set(k->e, ERR_CANCELLED, "interrupted; the daemon stops the operation");
		return fail(k);
	}
	if (si.ssi_signo == SIGINT)
		progress_draw(&k->progress, -1, "cancelling (Ctrl-C again: do not wait)");
	if (send_message(k->client, wire_notification("op.cancel", json_pack("{s:I}", "id", k->id)), k->e))
		return fail(k);
	return 0;
}

static int wait_answer(struct client_request *k)
{
	struct pollfd p[2] = {{k->client->fd, POLLIN, 0}, {k->sig_fd, POLLIN, 0}};

	while (k->state == CALL_RUNNING) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			err_errno(k->e, ERR_INTERNAL, "poll");
			return fail(k);
		}
		if (p[1].revents && interrupted(k))
			return -1;
		if (p[0].revents && read_socket(k))
			return -1;
	}
	return k->state == CALL_DONE ? 0 : -1;
}

int client_call(struct client *c, const char *method, json_t *params, json_t **result, struct err *e)
{
	struct client_request k = {.client = c, .id = ++c->next_id, .e = e};
	cleanup_close int sig_fd = -1;
	sigset_t set, old;
	int r;

	sigemptyset(&set);
	if (!c->cli->background) {
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
	}
	sigprocmask(SIG_BLOCK, &set, &old);
	k.sig_fd = sig_fd = signalfd(-1, &set, SFD_CLOEXEC);
	progress_init(&k.progress, c->cli);
	r = send_message(c, wire_request(k.id, method, params), e);
	if (!r)
		r = wait_answer(&k);
	progress_clear(&k.progress);
	sigprocmask(SIG_SETMASK, &old, NULL);
	*result = k.result;
	return r;
}

void client_wait_close(struct client *c)
{
	ssize_t n;

	do
		n = wire_frame_read(&c->in, c->fd);
	while (n > 0 || (n < 0 && errno == EINTR));
}

static void disconnect(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	wire_frame_fini(&c->in);
}

void client_close(struct client *c)
{
	disconnect(c);
}

static int connect_to(struct client *c, const char *home, enum client_open how, struct err *e)
{
	struct wire_addr addr;

	disconnect(c);
	if (how == CLIENT_START) {
		c->fd = spawn_connect(home, e);
		return c->fd < 0 ? -1 : 0;
	}
	if (wire_addr_init(&addr, home, e))
		return -1;
	c->fd = wire_connect(&addr, e);
	if (c->fd == -1)
		return -1;
	if (c->fd == -2)
		c->fd = -1;
	return 0;
}

/* Ends the running daemon if it is another build of fredd than ours and idle: 1. */
static int replace_old(struct client *c, const json_t *hello, struct err *e)
{
	cleanup_free char *build = spawn_build_id();
	json_t *answer = NULL;

	if (!build || str_eq(build, out_str(hello, "build", "")))
		return 0;
	if (out_int(hello, "operations")) {
		out_note(c->cli, "the running fredd is another build: fredctl shutdown replaces it");
		return 0;
	}
	if (client_call(c, "shutdown", NULL, &answer, e))
		return -1;
	json_decref(answer);
	client_wait_close(c);
	return 1;
}

static int check_hello(struct client *c, enum client_open how, struct err *e)
{
	json_auto_t *hello = NULL;
	json_int_t protocol;

	if (client_call(c, "hello", NULL, &hello, e))
		return -1;
	if (how == CLIENT_ONLY_RUNNING)
		return 0;
	protocol = out_int(hello, "protocol");
	if (replace_old(c, hello, e) == 1)
		return 1;
	if (protocol != WIRE_PROTOCOL)
		return err_set(
			e, ERR_HOST,
			"the running fredd speaks protocol %lld, this fredctl %d: end it with fredctl shutdown, and "
			"try again",
			(long long)protocol, WIRE_PROTOCOL);
	return 0;
}

int client_open(struct client *c, const struct cli *cli, enum client_open how, struct err *e)
{
	cleanup_free char *home = home_dir(e);

	*c = (struct client){.fd = -1, .cli = cli};
	wire_frame_init(&c->in, WIRE_MAX_MESSAGE);
	if (!home)
		return -1;
	/* again if the daemon was just ending, or was replaced */
	for (int i = 0; i < HELLO_TRIES; i++) {
		int r = connect_to(c, home, how, e);

		if (r || c->fd < 0)
			return r;
		r = check_hello(c, how, e);
		if (!r || (r < 0 && e->kind != ERR_INTERNAL))
			return r;
	}
	return err_wrap(e, "no answer from the daemon");
}

int client_run(const struct cli *cli, const char *method, json_t *params, json_t **result, struct err *e)
{
	struct client c;
	int r = client_open(&c, cli, CLIENT_START, e);

	if (r)
		json_decref(params);
	else
		r = client_call(&c, method, params, result, e);
	client_close(&c);
	return r;
}

int client_show(const struct cli *cli, const json_t *result, void (*print)(const struct cli *cli, const json_t *result),
		struct err *e)
{
	if (cli->json)
		return out_json(result, e);
	text_notes(cli, result);
	print(cli, result);
	return 0;
}

int client_print(const struct cli *cli, const char *method, json_t *params,
		 void (*print)(const struct cli *cli, const json_t *result), const char *verdict, struct err *e)
{
	json_auto_t *result = NULL;

	if (!params || client_run(cli, method, params, &result, e) || client_show(cli, result, print, e))
		return -1;
	return verdict && !json_is_true(json_object_get(result, verdict)) ? 1 : 0;
}
