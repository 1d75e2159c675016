/* SPDX-License-Identifier: MIT */
/*
 * packet.h: packets of GDB's remote serial protocol: $DATA#CHECKSUM, with acknowledgements until they are
 * switched off, and notifications, %DATA#CHECKSUM, which have none. See the GDB manual, "Remote Protocol", "Overview"
 * and "Notification Packets".
 */
#ifndef FRED_RSP_PACKET_H
#define FRED_RSP_PACKET_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define RSP_PACKET_MAX 0x10000

struct rsp_conn {
	int fd; /* borrowed */
	struct buf in;
	bool no_ack;
	bool interrupted; /* by an interrupt that came before a packet: it is meant for the next resume */
};

enum rsp_got { RSP_CLOSED = 0, RSP_PACKET = 1, RSP_INTERRUPT = 2, RSP_NOTE = 3 /* a notification */ };

/* Waits for the next packet or notification: its data, unescaped, in *p (cleared first). enum rsp_got, or -1. */
int rsp_receive(struct rsp_conn *c, struct buf *p, struct err *e);
int rsp_send(struct rsp_conn *c, const char *data, size_t len, struct err *e);
/* A notification, at any time. Debuggers ignore those that they do not know. */
int rsp_note(struct rsp_conn *c, const char *data, size_t len, struct err *e);
/* Text for the debugger's user, while it waits for an answer. */
int rsp_say(struct rsp_conn *c, const char *text, size_t len, struct err *e);
/* Has the debugger asked to interrupt the program, or gone away? Does not wait. */
bool rsp_interrupted(struct rsp_conn *c);

/* Adds binary data; bytes that have a meaning in the protocol are escaped. */
void rsp_escape(struct buf *b, const void *data, size_t len);
void rsp_hex(struct buf *b, const void *data, size_t len);
/* Reads hexadecimal digits, at most 2 * max; returns how many bytes. */
size_t rsp_unhex(const char *s, void *out, size_t max);

/* One packet taken out of the front of `in`: RSP_PACKET, RSP_NOTE, RSP_INTERRUPT, 0 when it is not complete, -1 when it
 * is damaged. */
int rsp_parse(struct buf *in, struct buf *p);

#endif
