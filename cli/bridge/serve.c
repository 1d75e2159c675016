/* SPDX-License-Identifier: MIT */
/* serve.c: see serve.h. */
#include "bridge/serve.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bridge/bridge.h"
#include "client/out.h"

static int listen_on(uint64_t *port, struct err *e)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&a, &len)) {
		err_errno(e, ERR_HOST, "listen on 127.0.0.1:%u", (unsigned)*port);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(a.sin_port);
	return fd;
}

static int say_port(const struct cli *cli, uint64_t port, struct err *e)
{
	if (cli->json) {
		json_auto_t *o = json_pack("{s:i}", "port", (int)port);

		return out_json(o, e);
	}
	printf("listening; in gdb: target extended-remote 127.0.0.1:%u\n", (unsigned)port);
	fflush(stdout);
	return 0;
}

/* Serves one debugger. 0; 1: the user wants to stop; -1 with e set. */
static int serve_one(int listener, struct bridge *b, struct err *e)
{
	int on = 1, fd = bridge_accept(b, listener, 0);

	if (fd == -2)
		return 1;
	if (fd < 0)
		return err_set(e, ERR_INTERNAL, "the debugging session has ended");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return bridge_copy(b, fd);
}

/* Serves debuggers, one after the other; each finds the program where the previous one left it. */
static int serve(int listener, bool once, struct bridge *b, struct err *e)
{
	int r;

	do
		r = serve_one(listener, b, e);
	while (!r && !once && !bridge_next(b, e));
	return r < 0 || e->text[0] ? -1 : 0;
}

/* A descriptor that becomes readable when the user wants to stop. */
static int stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int serve_rsp(const struct cli *cli, uint64_t port, bool once, json_t *params, int *code, struct err *e)
{
	cleanup_close int listener = listen_on(&port, e), stop_fd = -1;
	struct bridge b;
	int r;

	if (listener < 0) {
		json_decref(params);
		return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	json_object_set_new(params, "stay", json_boolean(!once));
	r = bridge_start(&b, cli, params, code, e);
	if (!r) {
		b.signal_fd = stop_fd = stop_signals();
		r = say_port(cli, port, e) || serve(listener, once, &b, e) ? -1 : 0;
	}
	bridge_end(&b);
	return r < 0 ? -1 : 0;
}
