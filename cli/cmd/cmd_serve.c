/* SPDX-License-Identifier: MIT */
/* cmd_serve.c: fredctl serve: GDB's remote protocol on a port of the loopback interface. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "client/rec_arg.h"

static const struct cli_option options[] = {
	{"rsp", "PORT", "listen on 127.0.0.1:PORT; 0: any free one", .required = true},
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{"once", NULL, "end with the first debugger that goes"},
	{0},
};

static int listen_on(uint64_t *port, struct err *e)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
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

/* One debugger: 0; 1: the user wants to stop; -1 with e set. */
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

/* One after the other, each where the one before left. */
static int serve(const struct cli *cli, int listener, struct bridge *b, struct err *e)
{
	int r;

	do
		r = serve_one(listener, b, e);
	while (!r && !cli_has(cli, "once") && !bridge_next(b, e));
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

static int exec_serve(struct cli *cli, struct err *e)
{
	cleanup_close int listener = -1, stop_fd = -1;
	struct bridge b;
	uint64_t port;
	json_t *params;
	int code = 0, r;

	if (str_u64(cli_value(cli, "rsp"), 10, 0, 65535, &port))
		return err_set(e, ERR_USAGE, "--rsp %s: a port is a number up to 65535", cli_value(cli, "rsp"));
	params = rec_arg_at_params(cli, e);
	if (!params)
		return -1;
	json_object_set_new(params, "stay", json_boolean(!cli_has(cli, "once")));
	signal(SIGPIPE, SIG_IGN);
	listener = listen_on(&port, e);
	if (listener < 0) {
		json_decref(params);
		return -1;
	}
	r = bridge_start(&b, cli, params, &code, e);
	if (!r) {
		b.signal_fd = stop_fd = stop_signals();
		r = say_port(cli, port, e) || serve(cli, listener, &b, e) ? -1 : 0;
	}
	bridge_end(&b);
	return r < 0 ? -1 : code;
}

const struct cli_command cmd_serve = {
	.name = "serve",
	.help = "let a GDB connect to a recording, forwards and backwards",
	.usage = "--rsp PORT [REC] [--at POS] [--process N] [--once]",
	.options = options,
	.exec = exec_serve,
	.max_args = 1,
	.word = WORD_REC,
};
