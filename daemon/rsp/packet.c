/* SPDX-License-Identifier: MIT */
/* packet.c: see packet.h. */
#include "rsp/packet.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SAY_CHUNK ((size_t)4096)

#define INTERRUPT 3

static const char digits[] = "0123456789abcdef";

static int digit(char c)
{
	const char *p = memchr(digits, tolower((unsigned char)c), 16);

	return p ? (int)(p - digits) : -1;
}

void rsp_hex(struct buf *b, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++) {
		buf_add_char(b, digits[p[i] >> 4]);
		buf_add_char(b, digits[p[i] & 15]);
	}
}

size_t rsp_unhex(const char *s, void *out, size_t max)
{
	uint8_t *p = out;
	size_t n = 0;

	while (n < max && digit(s[2 * n]) >= 0 && digit(s[2 * n + 1]) >= 0) {
		p[n] = (uint8_t)(digit(s[2 * n]) << 4 | digit(s[2 * n + 1]));
		n++;
	}
	return n;
}

void rsp_escape(struct buf *b, const void *data, size_t len)
{
	const char *p = data;

	for (size_t i = 0; i < len; i++) {
		if (!memchr("$#}*", p[i], 4)) {
			buf_add_char(b, p[i]);
			continue;
		}
		buf_add_char(b, '}');
		buf_add_char(b, p[i] ^ 0x20);
	}
}

static void unescape(struct buf *out, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '}' && i + 1 < len)
			buf_add_char(out, p[++i] ^ 0x20);
		else
			buf_add_char(out, p[i]);
	}
}

static unsigned checksum(const char *p, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (uint8_t)p[i];
	return sum & 0xff;
}

/* Skips bytes between packets. On a stream, nobody waits for acknowledgements. */
static int skip_noise(struct buf *in)
{
	size_t n = 0;

	while (n < in->len && in->data[n] != '$' && in->data[n] != '%' && in->data[n] != INTERRUPT)
		n++;
	buf_consume(in, n);
	if (!in->len)
		return 0;
	if (in->data[0] != INTERRUPT)
		return in->data[0] == '$' ? RSP_PACKET : RSP_NOTE;
	buf_consume(in, 1);
	return RSP_INTERRUPT;
}

int rsp_parse(struct buf *in, struct buf *p)
{
	int r = skip_noise(in);
	const char *end;
	uint8_t sum;
	size_t len;
	bool good;

	if (r != RSP_PACKET && r != RSP_NOTE)
		return r;
	end = memchr(in->data, '#', in->len);
	len = end ? (size_t)(end - in->data) - 1 : 0;
	if (!end || in->len < len + 4) {
		if (in->len <= RSP_PACKET_MAX + 4)
			return 0;
		buf_clear(in);
		return -1;
	}
	good = rsp_unhex(end + 1, &sum, 1) == 1 && sum == checksum(in->data + 1, len);
	buf_clear(p);
	if (good)
		unescape(p, in->data + 1, len);
	buf_consume(in, len + 4);
	return good ? r : -1;
}

static int write_all(int fd, const char *p, size_t len, struct err *e)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno(e, ERR_HOST, "write to the debugger");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_framed(struct rsp_conn *c, char start, const char *data, size_t len, struct err *e)
{
	cleanup_buf struct buf b = {0};
	char tail[3];
	unsigned sum = checksum(data, len);

	tail[0] = '#';
	tail[1] = digits[sum >> 4];
	tail[2] = digits[sum & 15];
	buf_add_char(&b, start);
	buf_add(&b, data, len);
	buf_add(&b, tail, 3);
	return write_all(c->fd, b.data, b.len, e);
}

int rsp_send(struct rsp_conn *c, const char *data, size_t len, struct err *e)
{
	return send_framed(c, '$', data, len, e);
}

int rsp_note(struct rsp_conn *c, const char *data, size_t len, struct err *e)
{
	return send_framed(c, '%', data, len, e);
}

/* 0: the other side has closed. */
static int fill(struct rsp_conn *c, struct err *e)
{
	char *p = buf_reserve(&c->in, 4096);
	ssize_t n;

	do
		n = read(c->fd, p, 4096);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : err_errno(e, ERR_HOST, "read from the debugger");
	buf_added(&c->in, (size_t)n);
	return n > 0;
}

int rsp_receive(struct rsp_conn *c, struct buf *p, struct err *e)
{
	for (;;) {
		int r = rsp_parse(&c->in, p);

		if (r == RSP_INTERRUPT || r == RSP_NOTE)
			return r;
		if (r && !c->no_ack && write_all(c->fd, r > 0 ? "+" : "-", 1, e))
			return -1;
		if (r > 0)
			return r;
		if (r == 0) {
			r = fill(c, e);
			if (r <= 0)
				return r;
		}
	}
}

int rsp_say(struct rsp_conn *c, const char *text, size_t len, struct err *e)
{
	for (size_t i = 0; i < len; i += SAY_CHUNK) {
		cleanup_buf struct buf packet = {0};

		buf_add_char(&packet, 'O');
		rsp_hex(&packet, text + i, len - i < SAY_CHUNK ? len - i : SAY_CHUNK);
		if (rsp_send(c, packet.data, packet.len, e))
			return -1;
	}
	return 0;
}

static bool take_interrupt(struct rsp_conn *c)
{
	while (c->in.len && c->in.data[0] != '$' && c->in.data[0] != INTERRUPT)
		buf_consume(&c->in, 1);
	if (!c->in.len || c->in.data[0] != INTERRUPT)
		return false;
	buf_consume(&c->in, 1);
	return true;
}

bool rsp_interrupted(struct rsp_conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	struct err ignored;
	bool early = c->interrupted;

	c->interrupted = false;
	/* the interrupt may have come together with the packet before it */
	if (take_interrupt(c) || early)
		return true;
	if (poll(&p, 1, 0) <= 0)
		return false;
	return fill(c, &ignored) <= 0 || take_interrupt(c);
}
