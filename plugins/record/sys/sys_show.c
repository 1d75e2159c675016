/* SPDX-License-Identifier: MIT */
/*
 * sys_show.c: what a replay writes to the program's first standard output and error goes to a file, if somebody
 * watches.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sys/sys.h"

#include <string.h>
#include <sys/socket.h>

static uint8_t fd_is_out[1024] = {0, 1, 2};

void sys_set_outputs(uint64_t map)
{
	for (int fd = 0; fd < 16; fd++)
		fd_is_out[fd] = (uint8_t)(map >> (2 * fd) & 3);
}

static void append_out(uint64_t stamp, uint32_t fd, const void *p, uint32_t n)
{
	struct replay_out h = {stamp, fd, n};
	char path[300];
	struct iovec v[2] = {{&h, sizeof(h)}, {(void *)p, n}};
	int f;

	turn_file(path, path + sizeof(path), "out", G.process);
	f = raw_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (f < 0)
		return;
	raw3(SYS_writev, f, v, 2);
	raw_close(f);
}

static void append_move(const struct thr *t, uint32_t out, enum replay_out_kind kind, long at)
{
	uint64_t where = (uint64_t)at;

	append_out(t->last_stamp, out | (uint32_t)kind << REPLAY_OUT_SHIFT, &where, sizeof(where));
}

int sys_show_identify(long fd, uint64_t *id)
{
	uint64_t st[18];

	if (raw2(SYS_fstat, fd, st) < 0)
		return -1;
	id[0] = st[0];
	id[1] = st[1];
	id[2] = st[5]; /* st_rdev */
	return 0;
}

uint32_t sys_show_output(long fd, int error_first)
{
	uint64_t id[3];

	for (int i = 0; !sys_show_identify(fd, id) && i < 2; i++)
		if (!memcmp(id, G.control->output[i ^ error_first], sizeof(id)))
			return (uint32_t)(i ^ error_first) + 1;
	return 0;
}

static void show_iov(const struct thr *t, uint32_t out, const struct iovec *v, unsigned long cnt, uint64_t ret)
{
	uint64_t left = sys_iov_len(v, cnt, ret), n;

	for (; left; left -= n, v++) {
		n = v->iov_len < left ? v->iov_len : left;
		append_out(t->last_stamp, out, v->iov_base, (uint32_t)n);
	}
}

static void show_messages(const struct thr *t, uint32_t out, const struct mmsghdr *v, long ret)
{
	for (; ret > 0; ret--, v++)
		show_iov(t, out, v->msg_hdr.msg_iov, v->msg_hdr.msg_iovlen, v->msg_len);
}

static void show_bytes(const struct thr *t, uint32_t out, long nr, const long *a, long ret)
{
	const struct msghdr *m = (const struct msghdr *)a[1];

	switch (nr) {
	case SYS_write:
	case SYS_sendto:
		append_out(t->last_stamp, out, (void *)a[1], (uint32_t)ret);
		return;
	case SYS_pwrite64:
		append_move(t, out, REPLAY_OUT_AT, a[3]);
		append_out(t->last_stamp, out, (void *)a[1], (uint32_t)ret);
		append_move(t, out, REPLAY_OUT_BACK, 0);
		return;
	case SYS_pwritev:
	case SYS_pwritev2:
		if (a[3] != -1) /* -1: pwritev2 uses the descriptor's position */
			append_move(t, out, REPLAY_OUT_AT, a[3]);
		show_iov(t, out, (const struct iovec *)a[1], (unsigned long)a[2], (uint64_t)ret);
		if (a[3] != -1)
			append_move(t, out, REPLAY_OUT_BACK, 0);
		return;
	case SYS_lseek:
		append_move(t, out, REPLAY_OUT_SEEK, ret);
		return;
	case SYS_ftruncate:
		append_move(t, out, REPLAY_OUT_SIZE, a[1]);
		return;
	case SYS_writev:
	case SYS_vmsplice:
		show_iov(t, out, (const struct iovec *)a[1], (unsigned long)a[2], (uint64_t)ret);
		return;
	case SYS_sendmsg:
		show_iov(t, out, m->msg_iov, m->msg_iovlen, (uint64_t)ret);
		return;
	case SYS_sendmmsg:
		show_messages(t, out, (const struct mmsghdr *)a[1], ret);
		return;
	}
}

uint32_t sys_shown(unsigned long fd)
{
	return fd < 1024 && (G.ctl->flags & REPLAY_F_OUTPUT) ? fd_is_out[fd] : 0;
}

void sys_show_copied(uint64_t stamp, unsigned long fd, const void *p, uint64_t n)
{
	uint32_t out = sys_shown(fd);

	if (out && n)
		append_out(stamp, out, p, (uint32_t)n);
}

void sys_show(struct thr *t, long nr, const long *a, long ret)
{
	unsigned long fd = (unsigned long)a[0];

	if (ret < 0)
		return;
	switch (nr) {
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		if ((unsigned long)ret < 1024)
			fd_is_out[ret] = fd < 1024 ? fd_is_out[fd] : 0;
		return;
	case SYS_fcntl:
		if ((a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC) && ret < 1024 && fd < 1024)
			fd_is_out[ret] = fd_is_out[fd];
		return;
	case SYS_close:
		if (fd < 1024)
			fd_is_out[fd] = 0;
		return;
	}
	if (sys_shown(fd))
		show_bytes(t, fd_is_out[fd], nr, a, ret);
}

/* Is the data in memory before the call, and is its length known once the result is? */
static int is_known_ahead(long nr)
{
	switch (nr) {
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
		return 1;
	}
	return 0;
}

int sys_show_ahead(struct thr *t, long nr, const long *a)
{
	long ret;

	if (!is_known_ahead(nr) || !sys_result_ahead(t, &ret))
		return 0;
	sys_show(t, nr, a, ret);
	return 1;
}

/* ---- descriptors that are not made by dup ---- */

static void given(struct thr *t, long fd)
{
	uint32_t out = G.mode == SHIM_RECORD && fd >= 0 && fd < 1024 ? sys_show_output(fd, 0) : 0;
	int64_t what = fd * 4 + out;

	if (G.mode == SHIM_RECORD ? !out : !turn_next_call_is(t, RLOG_CALL_OUTPUT))
		return;
	ev(t, RLOG_CALL, 0, RLOG_CALL_OUTPUT, 0);
	ev_done(t);
	ev_callret(t, &what, 0, 0);
	if (G.mode == SHIM_REPLAY && what >= 0 && what < 4 * 1024)
		fd_is_out[what / 4] = what & 3;
}

/* Does the path name a descriptor, as "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" do? */
static int names_descriptor(const char *path)
{
	return sys_readable(path, 5) && (!memcmp(path, "/dev/", 5) || !memcmp(path, "/proc", 5)) &&
	       (strstr(path, "/fd/") || strstr(path, "/std"));
}

static void given_by_message(struct thr *t, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		for (size_t at = CMSG_LEN(0);
		     c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= c->cmsg_len;
		     at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)c + at, sizeof(fd));
			given(t, fd);
		}
}

void sys_show_given(struct thr *t, long nr, const long *a, long ret)
{
	if (likely(nr != SYS_recvmsg && nr != SYS_openat && nr != SYS_open && nr != SYS_pidfd_getfd) || ret < 0)
		return;
	if (nr == SYS_recvmsg)
		given_by_message(t, (struct msghdr *)a[1]);
	else if (nr == SYS_pidfd_getfd || names_descriptor((const char *)a[nr == SYS_openat]))
		given(t, ret);
}
