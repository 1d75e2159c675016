/* SPDX-License-Identifier: MIT */
/*
 * fake.h: a made-up program after the stub: two threads, 64 KiB of memory at FAKE_ADDR, a timeline of 100 instructions
 * from which one event is made by each tenth.
 */
#ifndef FRED_TEST_RSP_FAKE_H
#define FRED_TEST_RSP_FAKE_H

#include "rsp/stub.h"

#define FAKE_ADDR 0x10000u
#define FAKE_SIZE 0x10000u
#define FAKE_END 100

struct fake {
	uint8_t memory[FAKE_SIZE];
	struct rsp_regs regs;
	unsigned points; /* set now */
	unsigned conditions; /* of the last one */
	bool met; /* a breakpoint at FAKE_ADDR + 8, which the other thread comes to next */
	unsigned passed; /* signals that are no stops */
	int at; /* 0 .. FAKE_END */
	uint64_t lo, hi; /* of the next step: it goes on while `at` is in there */
	int tid;
	struct rsp_conn *conn; /* while it is talked to */
};

extern const struct rsp_ops fake_ops;

void fake_init(struct fake *f);
/*
 * All that the stub answers to these bytes and the end of the connection, acknowledgements included; *served: what
 * rsp_serve returned.
 */
void fake_talk(struct fake *f, const void *bytes, size_t len, struct buf *answers, int *served);
/* A packet as it goes over the line. */
void fake_frame(struct buf *b, const char *packet, size_t len);

#endif
