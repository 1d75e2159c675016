/* SPDX-License-Identifier: MIT */
/* A function closes what its caller goes on to read, and the program exits when that fails. KIND: exit */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct file {
	int fd;
};

static int __attribute__((noinline)) first_byte(struct file *f)
{
	unsigned char c;
	int n = (int)read(f->fd, &c, 1);

	close(f->fd); /* BUG */
	return n == 1 ? c : -1;
}

int main(void)
{
	struct file f = {open("/dev/zero", O_RDONLY)};
	char rest[4];

	if (first_byte(&f) != 0)
		return 2;
	if (read(f.fd, rest, sizeof(rest)) < 0) {
		perror("read");
		exit(1);
	}
	return 0;
}
