/* SPDX-License-Identifier: MIT */
/*
 * hostio.h: the vFile packets, by which GDB reads the program's files from the remote side (its default sysroot is
 * `target:`). Files can only be read, and only those that ops->open_file opens. See the GDB manual, "Host I/O
 * Packets".
 */
#ifndef FRED_RSP_HOSTIO_H
#define FRED_RSP_HOSTIO_H

#include "base/buf.h"
#include "rsp/stub.h"

#define HOSTIO_FILES 32

struct hostio {
	int fd[HOSTIO_FILES]; /* one more than the descriptor; 0: free */
};

/* Answers a packet, given the text after "vFile:". An empty answer: there is no such operation. */
void hostio_answer(struct hostio *h, const struct rsp_ops *ops, void *ctx, const char *args, struct buf *out);
void hostio_fini(struct hostio *h);

#endif
