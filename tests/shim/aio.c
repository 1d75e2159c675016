/* SPDX-License-Identifier: MIT */
/* aio.c: native AIO (io_setup and so on), as libaio makes the calls. */
#include "check.h"

#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define MANY 40

/* libaio's look into the ring, which saves it a call */
struct ring {
	unsigned id, nr, head, tail, magic;
};

static int is_empty(aio_context_t ctx)
{
	volatile struct ring *r = (struct ring *)ctx;

	return r->magic == 0xa10a10a1 && r->head == r->tail;
}

static long get(aio_context_t ctx, long min, long n, struct io_event *e)
{
	struct timespec limit = {10, 0};

	while (min == 0 && is_empty(ctx))
		;
	return syscall(SYS_io_getevents, ctx, min, n, e, &limit);
}

static void test_one(aio_context_t ctx, int fd)
{
	char out[512], in[512] = "";
	struct iocb cb = {.aio_data = 11, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (uint32_t)fd,
			  .aio_buf = (uint64_t)out, .aio_nbytes = sizeof(out), .aio_offset = 100}, *list = &cb;
	struct iovec v[2] = {{in, 5}, {in + 8, 200}};
	struct io_event e = {0};

	memset(out, 'o', sizeof(out));
	CHECK(syscall(SYS_io_submit, ctx, 1, &list) == 1);
	CHECK(get(ctx, 1, 1, &e) == 1 && e.data == 11 && e.obj == (uint64_t)&cb && e.res == 512);
	cb.aio_lio_opcode = IOCB_CMD_PREAD;
	cb.aio_buf = (uint64_t)in;
	CHECK(syscall(SYS_io_submit, ctx, 1, &list) == 1);
	CHECK(get(ctx, 0, 1, &e) == 1 && e.res == 512 && !memcmp(in, out, 512));
	memset(in, 0, sizeof(in));
	cb.aio_lio_opcode = IOCB_CMD_PREADV;
	cb.aio_buf = (uint64_t)v;
	cb.aio_nbytes = 2;
	CHECK(syscall(SYS_io_submit, ctx, 1, &list) == 1 && get(ctx, 1, 1, &e) == 1 && e.res == 205);
	CHECK(in[4] == 'o' && in[5] == 0 && in[8] == 'o' && in[207] == 'o' && in[208] == 0);
	cb.aio_fildes = 999;
	CHECK(syscall(SYS_io_submit, ctx, 1, &list) == -1 && errno == EBADF);
	step("one at a time");
}

static void test_many(aio_context_t ctx, int fd)
{
	static char buf[MANY][256];
	struct iocb cb[MANY] = {{0}}, *list[MANY];
	struct io_event e[MANY];
	int ev = eventfd(0, EFD_CLOEXEC), seen[MANY] = {0};
	uint64_t count;
	long n = 0;

	for (int i = 0; i < MANY; i++) {
		list[i] = &cb[i];
		cb[i] = (struct iocb){.aio_data = (uint64_t)i, .aio_lio_opcode = IOCB_CMD_PREAD,
				      .aio_fildes = (uint32_t)fd, .aio_buf = (uint64_t)buf[i], .aio_nbytes = 256,
				      .aio_offset = 8 * i, .aio_flags = IOCB_FLAG_RESFD, .aio_resfd = (uint32_t)ev};
	}
	CHECK(syscall(SYS_io_submit, ctx, MANY, list) == MANY);
	CHECK(read(ev, &count, sizeof(count)) == sizeof(count) && count >= 1);
	while (n < MANY) {
		long k = get(ctx, 1, MANY, e);

		NEED(k > 0);
		for (long i = 0; i < k; i++)
			seen[e[i].data] += e[i].res == 256;
		n += k;
	}
	for (int i = 0; i < MANY; i++)
		CHECK(seen[i] == 1 && buf[i][255] == 'o');
	close(ev);
	step("many");
}

/* POSIX AIO: threads that libc makes for itself */
static void test_posix(int fd)
{
	static char out[8][128], in[8][128];
	struct aiocb cb[8], *list[8];

	for (int i = 0; i < 8; i++) {
		memset(out[i], 'a' + i, sizeof(out[i]));
		cb[i] = (struct aiocb){.aio_fildes = fd, .aio_buf = out[i], .aio_nbytes = 128, .aio_offset = 128 * i,
				       .aio_lio_opcode = LIO_WRITE};
		list[i] = &cb[i];
	}
	CHECK(lio_listio(LIO_WAIT, list, 8, NULL) == 0);
	for (int i = 0; i < 8; i++) {
		CHECK(aio_error(&cb[i]) == 0 && aio_return(&cb[i]) == 128);
		cb[i].aio_buf = in[i];
		CHECK(aio_read(&cb[i]) == 0);
	}
	for (int i = 0; i < 8; i++) {
		const struct aiocb *one[] = {&cb[i]};

		while (aio_error(&cb[i]) == EINPROGRESS)
			CHECK(aio_suspend(one, 1, NULL) == 0);
		CHECK(aio_return(&cb[i]) == 128 && !memcmp(in[i], out[i], 128));
	}
	step("by threads");
}

int main(void)
{
	aio_context_t ctx = 0, second = 0;
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	NEED(fd >= 0 && syscall(SYS_io_setup, 64, &ctx) == 0 && ctx);
	CHECK(syscall(SYS_io_setup, 8, &second) == 0 && second != ctx);
	CHECK(syscall(SYS_io_destroy, second) == 0);
	CHECK(syscall(SYS_io_destroy, second) == -1 && errno == EINVAL);
	test_one(ctx, fd);
	test_many(ctx, fd);
	CHECK(syscall(SYS_io_destroy, ctx) == 0);
	test_posix(fd);
	unlink("data");
	return check_status();
}
