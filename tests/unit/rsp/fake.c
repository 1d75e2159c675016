/* SPDX-License-Identifier: MIT */
/* fake.c: see fake.h. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM (64 << 20) /* for answers that nobody has read yet */

void fake_init(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	f->tid = 0x10;
	for (unsigned i = 0; i < FAKE_SIZE; i++)
		f->memory[i] = (uint8_t)i;
	f->regs.r.rip = FAKE_ADDR;
}

static unsigned threads(void *ctx, int *tids, unsigned max)
{
	(void)ctx;
	for (unsigned i = 0; i < 2 && i < max; i++)
		tids[i] = 0x10 + (int)i;
	return max < 2 ? max : 2;
}

static void thread_name(void *ctx, int tid, char *buf, size_t size)
{
	static const char odd[] = "a<b>&\"c\"\t";

	(void)ctx;
	if (tid == 0x11 && size >= sizeof(odd))
		memcpy(buf, odd, sizeof(odd));
}

static bool is_thread(int tid)
{
	return tid == 0x10 || tid == 0x11;
}

static int regs(void *ctx, int tid, struct rsp_regs *r, struct err *e)
{
	struct fake *f = ctx;

	*r = f->regs;
	return is_thread(tid) ? 0 : err_set(e, ERR_USAGE, "there is no thread %d", tid);
}

static int set_regs(void *ctx, int tid, const struct rsp_regs *r, struct err *e)
{
	struct fake *f = ctx;

	if (!is_thread(tid))
		return err_set(e, ERR_USAGE, "there is no thread %d", tid);
	f->regs = *r;
	return 0;
}

static size_t there(uint64_t addr, size_t len)
{
	if (addr < FAKE_ADDR || addr - FAKE_ADDR >= FAKE_SIZE)
		return 0;
	addr -= FAKE_ADDR;
	return len < FAKE_SIZE - addr ? len : FAKE_SIZE - addr;
}

static int write_memory(void *ctx, uint64_t addr, const void *data, size_t len, struct err *e)
{
	struct fake *f = ctx;

	if (there(addr, len) < len)
		return err_set(e, ERR_USAGE, "no memory at 0x%llx", (unsigned long long)addr);
	memcpy(f->memory + (addr - FAKE_ADDR), data, len);
	return 0;
}

static size_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake *f = ctx;

	len = there(addr, len);
	if (len)
		memcpy(buf, f->memory + (addr - FAKE_ADDR), len);
	return len;
}

static int set_point(void *ctx, enum rsp_point p, uint64_t addr, unsigned len, bool on, const struct rsp_conditions *c,
		     struct err *e)
{
	struct fake *f = ctx;

	f->conditions = c->n;
	f->met = on && addr == FAKE_ADDR + 8;
	(void)e;
	if (p == RSP_ACCESS && len > 8)
		return 1;
	f->points += on ? 1u : -1u;
	return 0;
}

static void step_range(void *ctx, uint64_t lo, uint64_t hi)
{
	struct fake *f = ctx;

	f->lo = lo;
	f->hi = hi;
}

static int resume(void *ctx, enum rsp_resume how, int tid, struct rsp_stop *stop, struct err *e)
{
	static const int to[] = {[RSP_CONTINUE] = FAKE_END, [RSP_STEP] = 1, [RSP_BACK_CONTINUE] = -FAKE_END,
				 [RSP_BACK_STEP] = -1};
	struct fake *f = ctx;

	if (how == RSP_BACK_STEP && !tid) /* whichever */
		tid = stop->tid;
	if (!is_thread(tid))
		return err_set(e, ERR_USAGE, "there is no thread %d", tid);
	if (f->conn->interrupted && rsp_interrupted(f->conn)) { /* the end of the connection is one, too */
		*stop = (struct rsp_stop){.why = RSP_SIGNALLED, .tid = tid, .sig = 2};
		return 0;
	}
	if (f->met) { /* by the other thread */
		f->met = false;
		*stop = (struct rsp_stop){.why = RSP_BREAKPOINT, .tid = 0x11};
		return 0;
	}
	do
		f->at += to[how];
	while (how == RSP_STEP && f->at >= 0 && (uint64_t)f->at >= f->lo && (uint64_t)f->at < f->hi);
	*stop = (struct rsp_stop){.why = RSP_STEPPED, .tid = tid};
	if (f->at < 0 || f->at > FAKE_END) {
		stop->why = f->at < 0 ? RSP_BEGIN : RSP_END;
		f->at = f->at < 0 ? 0 : FAKE_END;
	}
	return 0;
}

static int object(void *ctx, const char *name, struct buf *out, struct err *e)
{
	(void)ctx;
	(void)e;
	if (strcmp(name, "exec-file"))
		return 1;
	buf_add_str(out, "/bin/a}b#c$d*e");
	return 0;
}

static int monitor(void *ctx, const char *command, struct buf *out, struct err *e)
{
	(void)ctx;
	buf_addf(out, "%s\n", command);
	return *command ? 0 : err_set(e, ERR_USAGE, "no command");
}

static int restart(void *ctx, const char *args, struct rsp_stop *stop, struct err *e)
{
	struct fake *f = ctx;
	struct rsp_conn *conn = f->conn;

	(void)e;
	fake_init(f);
	f->conn = conn;
	*stop = (struct rsp_stop){.why = RSP_STEPPED, .tid = 0x10};
	return 0;
}

static void pass_signals(void *ctx, const int *sigs, unsigned n)
{
	struct fake *f = ctx;

	(void)sigs;
	f->passed = n;
}

static int open_file(void *ctx, const char *path)
{
	static const char text[] = "}#$* text";
	int fd;

	(void)ctx;
	if (strcmp(path, "/file"))
		return -ENOENT;
	fd = memfd_create("file", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, text, sizeof(text)) != sizeof(text))
		abort();
	return fd;
}

const struct rsp_ops fake_ops = {
	.threads = threads,
	.thread_name = thread_name,
	.regs = regs,
	.set_regs = set_regs,
	.write = write_memory,
	.read = read_memory,
	.set_point = set_point,
	.step_range = step_range,
	.resume = resume,
	.object = object,
	.monitor = monitor,
	.restart = restart,
	.open_file = open_file,
	.pass_signals = pass_signals,
};

void fake_frame(struct buf *b, const char *packet, size_t len)
{
	struct buf data = {0};
	unsigned sum = 0;

	rsp_escape(&data, packet, len);
	for (size_t i = 0; i < data.len; i++)
		sum += (uint8_t)data.data[i];
	buf_addf(b, "$");
	buf_add(b, data.data, data.len);
	buf_addf(b, "#%02x", sum & 0xff);
	buf_fini(&data);
}

void fake_talk(struct fake *f, const void *bytes, size_t len, struct buf *answers, int *served)
{
	struct rsp_conn c = {0};
	struct rsp_stop first = {.why = RSP_STEPPED, .tid = f->tid};
	const int room = ROOM;
	struct err e = {0};
	int sv[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		abort();
	for (int i = 0; i < 2; i++)
		if (setsockopt(sv[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) || fcntl(sv[i], F_SETFL, O_NONBLOCK))
			abort();
	n = write(sv[0], bytes, len);
	if (n != (ssize_t)len || shutdown(sv[0], SHUT_WR))
		abort();
	c.fd = sv[1];
	f->conn = &c;
	*served = rsp_serve(&c, &fake_ops, f, &first, &e);
	close(sv[1]);
	while ((n = read(sv[0], buf_reserve(answers, 65536), 65536)) > 0)
		buf_added(answers, (size_t)n);
	close(sv[0]);
	buf_fini(&c.in);
}
