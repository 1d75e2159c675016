/* SPDX-License-Identifier: MIT */
/* second_ui.c: see second_ui.h. GDB's output is read even without a client: GDB would block on a full terminal. */
#include "bridge/second_ui.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"

#define INTERRUPT '\3'

static int open_terminal(struct second_ui *s, struct err *e)
{
	struct termios t;

	s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->master < 0 || grantpt(s->master) || unlockpt(s->master) || ptsname_r(s->master, s->tty, sizeof(s->tty)))
		return err_errno(e, ERR_HOST, "a terminal for GDB");
	s->slave = open(s->tty, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->slave < 0 || tcgetattr(s->slave, &t))
		return err_errno(e, ERR_HOST, "%s", s->tty);
	cfmakeraw(&t);
	return tcsetattr(s->slave, TCSANOW, &t) ? err_errno(e, ERR_HOST, "%s", s->tty) : 0;
}

int second_ui_open(struct second_ui *s, const struct bridge *b, const char *session_dir, struct err *e)
{
	*s = (struct second_ui){.master = -1, .slave = -1, .listener = -1, .client = -1};
	if (open_terminal(s, e))
		return -1;
	s->listener = bridge_listen(b, "control", s->path, e);
	if (s->listener < 0)
		return -1;
	s->link = path_join(session_dir, SECOND_LINK);
	return write_file_atomic(s->link, s->path, strlen(s->path), 0600, e);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void second_ui_close(struct second_ui *s)
{
	close_fd(&s->client);
	close_fd(&s->master);
	close_fd(&s->slave);
	if (s->listener >= 0)
		unlink(s->path);
	close_fd(&s->listener);
	if (s->link)
		unlink(s->link);
	free(s->link);
	s->link = NULL;
}

void second_ui_poll(const struct second_ui *s, struct pollfd p[SECOND_UI_FDS])
{
	p[0] = (struct pollfd){.fd = s->master, .events = POLLIN};
	p[1] = (struct pollfd){.fd = s->listener, .events = POLLIN};
	p[2] = (struct pollfd){.fd = s->client, .events = POLLIN};
}

/* The number of bytes read; 0: the other side has gone. */
static size_t take(int fd, char *data, size_t size)
{
	ssize_t n;

	do
		n = read(fd, data, size);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

static void from_gdb(struct second_ui *s)
{
	char data[4096];
	size_t n = take(s->master, data, sizeof(data));

	if (s->client >= 0 && n && write_full(s->client, data, n))
		close_fd(&s->client);
}

static void welcome(struct second_ui *s)
{
	/* sent as the answer to the first command of this connection */
	static const char busy[] =
		"1^error,msg=\"another user interface is connected to this session\",code=\"fred-busy\"\n";
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (s->client < 0) {
		s->client = fd;
		return;
	}
	send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL); /* it may have gone already */
	close(fd);
}

static void from_client(struct second_ui *s, int worker)
{
	char data[4096], *end, *p = data;
	size_t n = take(s->client, data, sizeof(data));

	if (!n) {
		close_fd(&s->client);
		return;
	}
	while ((end = memchr(p, INTERRUPT, n))) {
		size_t before = (size_t)(end - p);

		if (write_full(s->master, p, before) || write_full(worker, end, 1))
			return;
		n -= before + 1;
		p = end + 1;
	}
	if (write_full(s->master, p, n))
		close_fd(&s->client);
}

void second_ui_handle(struct second_ui *s, const struct pollfd p[SECOND_UI_FDS], int worker)
{
	if (p[0].revents)
		from_gdb(s);
	if (p[2].revents)
		from_client(s, worker);
	if (p[1].revents)
		welcome(s);
}
