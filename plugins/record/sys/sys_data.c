/* SPDX-License-Identifier: MIT */
/*
 * sys_data.c: the memory that a system call reads, for the check in its record, and the pieces of memory
 * that it wrote, which are its outputs.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/util.h"
#include "record/sys/sys.h"

#include <elf.h>
#include <linux/fiemap.h>
#include <net/if.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/uio.h>

static uint32_t check_input(uint32_t crc, const void *p, size_t n)
{
	shim_tell_read(p, n, 0);
	return crc32c(crc, p, n);
}

/* Are the n bytes that a call reads mapped? Of many, only the first is tested. */
static int is_input(const void *p, size_t n)
{
	return n && n <= 0x7ffff000 && sys_readable(p, n <= 65536 ? n : 1);
}

uint32_t sys_check_iov(uint32_t crc, const struct iovec *v, unsigned long n)
{
	for (unsigned long i = 0; i < n && i < 1024; i++)
		if (is_input(v[i].iov_base, v[i].iov_len))
			crc = check_input(crc, v[i].iov_base, v[i].iov_len);
	return crc;
}

/* The part of a socket address that is compared: the bytes after it are often not set. */
static size_t address_len(const uint8_t *p, size_t n)
{
	uint16_t family = (uint16_t)(p[0] | p[1] << 8);
	size_t len = 2;

	if (family == AF_INET)
		return n < 8 ? n : 8;
	if (family != AF_UNIX || n < 3 || !p[2])
		return n;
	while (len < n && p[len])
		len++;
	return len;
}

uint32_t sys_check_inputs(const struct sys_info *s, const long *a)
{
	uint32_t crc = 0;

	for (int i = 0; i < 2 && s->in[i].how; i++) {
		const struct io *d = &s->in[i];
		const uint8_t *p = (const uint8_t *)a[d->arg];
		size_t n;

		if (!p)
			continue;
		switch (d->how) {
		case IO_STR:
			if ((uintptr_t)p < 4096 || !sys_readable(p, 1))
				break;
			for (n = 0; n < 4096 && p[n]; n++)
				if ((uintptr_t)(p + n + 1) % 4096 == 0 && !sys_readable(p + n + 1, 1))
					break;
			shim_tell_read(p, n + (n < 4096), 0); /* up to a 0, or to the last byte that can be read */
			crc = crc32c(crc, p, n);
			break;
		case IO_ARRAY:
		case IO_BYTES:
			n = d->how == IO_ARRAY ? (size_t)a[d->len_arg] * d->n : (size_t)a[d->len_arg] + d->n;
			if (is_input(p, n))
				crc = check_input(crc, p, n);
			break;
		case IO_FIXED:
			if (sys_readable(p + d->len_arg, d->n))
				crc = check_input(crc, p + d->len_arg, d->n);
			break;
		case IO_ADDR:
			n = (size_t)a[d->len_arg] & 255;
			if (n >= 2 && sys_readable(p, n))
				crc = check_input(crc, p, address_len(p, n));
			break;
		case IO_IOV:
			n = (size_t)a[d->len_arg] < 1024 ? (size_t)a[d->len_arg] : 1024;
			if (sys_readable(p, n * sizeof(struct iovec)))
				crc = sys_check_iov(crc, (const struct iovec *)p, (unsigned long)a[d->len_arg]);
			break;
		case IO_MSG:
			if (sys_readable(p, sizeof(struct msghdr))) {
				const struct msghdr *m = (const struct msghdr *)p;

				n = m->msg_iovlen < 1024 ? m->msg_iovlen : 1024;
				if (sys_readable(m->msg_iov, n * sizeof(struct iovec)))
					crc = sys_check_iov(crc, m->msg_iov, n);
			}
			break;
		}
	}
	return crc;
}

static int add_piece(struct piece *v, int k, void *p, uint64_t n)
{
	if (p && n && k < PIECES) {
		v[k] = (struct piece){p, n, 0};
		k++;
	}
	return k;
}

/* A result may be larger than what was written: MSG_TRUNC, or a buffer of size 0 to ask for the size */
static uint64_t at_most(uint64_t ret, const long *a, const struct io *d)
{
	return d->len_arg && ret > (uint64_t)a[d->len_arg] ? (uint64_t)a[d->len_arg] : ret;
}

uint64_t sys_iov_len(const struct iovec *iov, unsigned long cnt, uint64_t n)
{
	uint64_t all = 0;

	for (unsigned long i = 0; i < cnt && all < n; i++)
		all += iov[i].iov_len;
	return all < n ? all : n;
}

static int add_iov(struct piece *v, int k, const struct iovec *iov, unsigned long cnt, uint64_t ret)
{
	uint64_t n = sys_iov_len(iov, cnt, ret);

	if (n && k < PIECES)
		v[k++] = (struct piece){0, n, iov};
	return k;
}

/* Does the call write it although it has failed? */
static int written_on(int how, long ret)
{
	return how == IO_FIXED_ERR || (how == IO_ARGMUL_EINTR && ret == -4 /* EINTR */);
}

/* valres: when recording, the value-result length before the call (the kernel reports the full one) */
int sys_out_pieces(const struct sys_info *s, const long *a, long ret, const uint32_t *before, struct piece *v)
{
	int k = 0;

	for (int i = 0; i < 4 && s->out[i].how; i++) {
		const struct io *d = &s->out[i];
		void *p = (void *)a[d->arg];

		if ((!p && d->how != IO_VALRES) || (ret < 0 && !written_on(d->how, ret)))
			continue;
		switch (d->how) {
		case IO_RET:
			k = add_piece(v, k, p, at_most((uint64_t)ret, a, d));
			break;
		case IO_RETMUL:
			k = add_piece(v, k, p,
				      d->n & 0x8000 ? (uint64_t)ret + (d->n & 0x7fff)
						    : at_most((uint64_t)ret, a, d) * d->n);
			break;
		case IO_FIXED:
		case IO_FIXED_ERR: /* the call may not have examined it */
			if (d->how == IO_FIXED || sys_readable(p, d->n))
				k = add_piece(v, k, p, d->n);
			break;
		case IO_ARGMUL:
		case IO_ARGMUL_EINTR:
			k = add_piece(v, k, p, (uint64_t)a[d->len_arg] * d->n);
			break;
		case IO_FDSET:
			k = add_piece(v, k, p, ((uint64_t)(uint32_t)a[0] + 63) / 64 * 8);
			break;
		case IO_VALRES: {
			uint32_t *lp = (uint32_t *)a[d->len_arg];

			if (!lp)
				break;
			k = add_piece(v, k, lp, 4);
			k = add_piece(v, k, p, *lp < before[i] ? *lp : before[i]);
			break;
		}
		case IO_IFCONF: {
			struct ifconf *c = p;

			k = add_piece(v, k, &c->ifc_len, sizeof(c->ifc_len));
			k = add_piece(v, k, c->ifc_buf, (uint64_t)c->ifc_len);
			break;
		}
		case IO_FIEMAP: {
			struct fiemap *f = p;

			k = add_piece(v, k, f, sizeof(*f));
			k = add_piece(v, k, f->fm_extents,
				      f->fm_extent_count ? f->fm_mapped_extents * sizeof(f->fm_extents[0]) : 0);
			break;
		}
		case IO_IOV:
			k = add_iov(v, k, p, (unsigned long)a[d->len_arg], (uint64_t)ret);
			break;
		case IO_MSG: {
			struct msghdr *m = p;

			k = add_piece(v, k, &m->msg_namelen, 4);
			k = add_piece(v, k, &m->msg_controllen, 8);
			k = add_piece(v, k, &m->msg_flags, 4);
			k = add_piece(v, k, m->msg_name, m->msg_namelen);
			k = add_piece(v, k, m->msg_control, m->msg_controllen);
			k = add_iov(v, k, m->msg_iov, m->msg_iovlen, (uint64_t)ret);
			break;
		}
		}
	}
	return k;
}

int sys_out_room(const struct sys_info *s, const long *a, struct piece *v)
{
	int k = 0;

	for (int i = 0; i < 4 && s->out[i].how; i++) {
		const struct io *d = &s->out[i];
		unsigned len_arg = d->len_arg ? d->len_arg : d->arg + 1u;
		uint64_t n = 0;

		if (d->how == IO_RET)
			n = (uint64_t)a[len_arg];
		else if (d->how == IO_RETMUL)
			n = d->n & 0x8000 ? (uint64_t)a[d->arg + 1] + (d->n & 0x7fff) : (uint64_t)a[len_arg] * d->n;
		else if (d->how == IO_FIXED || d->how == IO_FIXED_ERR)
			n = d->n;
		else if (d->how == IO_ARGMUL || d->how == IO_ARGMUL_EINTR)
			n = (uint64_t)a[d->len_arg] * d->n;
		else if (d->how == IO_FDSET)
			n = ((uint64_t)(uint32_t)a[0] + 63) / 64 * 8;
		if (n < 1ul << 47)
			k = add_piece(v, k, (void *)a[d->arg], n);
	}
	return k;
}

void sys_lens_before(const struct sys_info *s, const long *a, uint32_t *before)
{
	for (int i = 0; i < 4; i++) {
		before[i] = 0;
		if (s->out[i].how == IO_VALRES && a[s->out[i].len_arg])
			before[i] = *(uint32_t *)a[s->out[i].len_arg];
	}
}
