/* SPDX-License-Identifier: MIT */
/* terminals.c: pseudo terminals, their settings and sizes, job control. CFLAGS: -lutil */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <utmp.h>

static int master, slave;

static void test_settings(void)
{
	struct termios t, back;
	struct winsize w = {.ws_row = 33, .ws_col = 99}, got = {0};
	char name[64], text[64] = "";
	struct pollfd p = {.events = POLLIN};
	int n = -1;

	NEED(openpty(&master, &slave, name, NULL, &w) == 0);
	p.fd = slave;
	CHECK(isatty(slave) && !strncmp(name, "/dev/pts/", 9) && !strcmp(ttyname(slave), name));
	CHECK(ioctl(slave, TIOCGWINSZ, &got) == 0 && got.ws_row == 33 && got.ws_col == 99);
	CHECK(tcgetattr(slave, &t) == 0 && (t.c_lflag & ICANON));
	cfmakeraw(&t);
	cfsetspeed(&t, B9600);
	CHECK(tcsetattr(slave, TCSANOW, &t) == 0 && tcgetattr(slave, &back) == 0);
	CHECK(!(back.c_lflag & (ICANON | ECHO)) && cfgetospeed(&back) == B9600);
	CHECK(write(master, "raw\r", 4) == 4 && poll(&p, 1, 10000) == 1 && ioctl(slave, FIONREAD, &n) == 0 && n == 4);
	CHECK(read(slave, text, sizeof(text)) == 4 && text[3] == '\r');
	back.c_lflag |= ICANON | ECHO | ISIG;
	back.c_iflag |= ICRNL;
	CHECK(tcsetattr(slave, TCSADRAIN, &back) == 0);
	CHECK(write(master, "line\rpart", 9) == 9 && read(slave, text, sizeof(text)) == 5 && text[4] == '\n');
	CHECK(tcflush(slave, TCIFLUSH) == 0 && tcdrain(slave) == 0);
	CHECK(read(master, text, sizeof(text)) > 0 && !memcmp(text, "line", 4));
	CHECK(ioctl(slave, TIOCOUTQ, &n) == 0 && ioctl(master, TIOCGPTN, &n) == 0 && n == atoi(name + 9));
	step("settings");
}

/* Which settings may not be changed: as flags in a struct that is the kernel's own. */
static void test_locked(void)
{
	unsigned char locked[36] = {0}, back[36];

	memset(back, 0xff, sizeof(back));
	CHECK(ioctl(slave, TIOCGLCKTRMIOS, back) == 0 && !memcmp(back, locked, sizeof(locked)));
	locked[12] = 2; /* c_lflag: ICANON */
	if (ioctl(slave, TIOCSLCKTRMIOS, locked) == 0) { /* not without rights */
		CHECK(ioctl(slave, TIOCGLCKTRMIOS, back) == 0 && !memcmp(back, locked, sizeof(locked)));
		locked[12] = 0;
		CHECK(ioctl(slave, TIOCSLCKTRMIOS, locked) == 0);
	}
	CHECK(ioctl(slave, TIOCSBRK, 0) == ioctl(slave, TIOCCBRK, 0));
	step("locked settings");
}

static volatile sig_atomic_t resized;

static void on_resize(int sig)
{
	(void)sig;
	resized++;
}

static int session(void)
{
	struct winsize w = {0};
	sigset_t set, old;

	CHECK(login_tty(slave) == 0 && getsid(0) == getpid() && tcgetsid(0) == getpid());
	CHECK(tcgetpgrp(0) == getpid() && ctermid(NULL) != NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGWINCH, on_resize);
	CHECK(write(1, "ready", 5) == 5);
	while (!resized)
		sigsuspend(&old);
	CHECK(ioctl(0, TIOCGWINSZ, &w) == 0 && w.ws_col == 11);
	CHECK(write(1, "next!", 5) == 5);
	pause(); /* until the terminal's interrupt character */
	return 1;
}

static void until(const char *text)
{
	char buf[256] = "";
	size_t n = 0;

	while (!strstr(buf, text) && n < sizeof(buf) - 1) {
		long r = read(master, buf + n, sizeof(buf) - 1 - n);

		NEED(r > 0);
		n += (size_t)r;
	}
}

static void test_session(void)
{
	struct winsize w = {.ws_row = 22, .ws_col = 11};
	int status;
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0)
		_exit(session());
	until("ready");
	CHECK(ioctl(master, TIOCSWINSZ, &w) == 0);
	until("next!");
	CHECK(write(master, "\003", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	close(slave);
	CHECK(read(master, &w, 1) == 1 || errno == EIO);
	close(master);
	step("session");
}

static void test_forkpty(void)
{
	int status;
	pid_t pid = forkpty(&master, NULL, NULL, NULL);

	NEED(pid >= 0);
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "test -t 0 && read line && echo got:$line && exit 9", (char *)NULL);
		_exit(1);
	}
	CHECK(write(master, "hello\n", 6) == 6);
	until("got:hello");
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	close(master);
	step("forkpty");
}

int main(void)
{
	test_settings();
	test_locked();
	test_session();
	test_forkpty();
	return check_status();
}
