/* SPDX-License-Identifier: MIT */
/* Optimized, the result of a call is compared in registers alone with what it should be. KIND: assertion */
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>
struct log {
	int fd;
};
static void __attribute__((noinline)) log_close(struct log *l)
{
	close(l->fd); /* BUG */
}
static void __attribute__((noinline)) put(int fd, const char *s, size_t n)
{
	ssize_t r = write(fd, s, n);
	assert(r == (ssize_t)n);
}
int main(void)
{
	struct log l = {open("/dev/null", O_WRONLY)};
	put(l.fd, "a", 1);
	log_close(&l);
	put(l.fd, "bb", 2);
	return 0;
}
