/* SPDX-License-Identifier: MIT */
/* The descriptor of the log is closed by a function that has another one to close. KIND: abort */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int log_fd;

static void __attribute__((noinline)) tell(const char *what)
{
	if (write(log_fd, what, 1) < 0)
		abort();
}

static void __attribute__((noinline)) finish(int first, int n)
{
	for (int i = 0; i < n; i++)
		close(first + i); /* BUG */
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	close(fd);
	fd = open("/dev/zero", O_RDONLY);
	log_fd = open("/dev/null", O_WRONLY);
	tell("a");
	finish(fd, 2);
	tell("b");
	return 0;
}
