/* SPDX-License-Identifier: MIT */
/*
 * sys_show.c: what a replay writes to the program's first standard output and error goes to a file, for those
 * who watch.
 */
#include "record/sys.h"

static uint8_t fd_is_out[1024] = {0, 1, 2};

void sys_set_outputs(uint64_t map)
{
	for (int fd = 0; fd < 16; fd++)
		fd_is_out[fd] = (uint8_t)(map >> (2 * fd) & 3);
}

static void append_out(struct thr *t, uint32_t fd, const void *p, uint32_t n)
{
	struct replay_out h = {t->last_stamp, fd, n};
	char path[64], *q;
	struct iovec v[2] = {{&h, sizeof(h)}, {(void *)p, n}};
	int f;

	q = fmt_str(path, path + sizeof(path), REPLAY_DIR "/out.");
	fmt_dec(q, path + sizeof(path), G.process, 4);
	f = raw_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (f < 0)
		return;
	raw3(SYS_writev, f, v, 2);
	raw_close(f);
}

/* Follows which descriptors are the program's first standard output and error, and shows what goes there. */
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
	case SYS_write:
		if (fd < 1024 && fd_is_out[fd] && (G.ctl->flags & REPLAY_F_OUTPUT))
			append_out(t, fd_is_out[fd], (void *)a[1], (uint32_t)ret);
		return;
	case SYS_writev:
		if (fd < 1024 && fd_is_out[fd] && (G.ctl->flags & REPLAY_F_OUTPUT)) {
			const struct iovec *v = (const struct iovec *)a[1];
			uint64_t left = sys_iov_len(v, (unsigned long)a[2], (uint64_t)ret), n;

			for (; left; left -= n, v++) {
				n = v->iov_len < left ? v->iov_len : left;
				append_out(t, fd_is_out[fd], v->iov_base, (uint32_t)n);
			}
		}
		return;
	}
}
