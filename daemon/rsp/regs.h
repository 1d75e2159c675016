/* SPDX-License-Identifier: MIT */
/*
 * regs.h: the registers of x86-64 as the remote protocol numbers them. See the GDB manual, "i386 Features".
 */
#ifndef FRED_RSP_REGS_H
#define FRED_RSP_REGS_H

#include <stdint.h>
#include <sys/user.h>

#include "base/buf.h"

struct rsp_regs {
	struct user_regs_struct r;
	struct user_fpregs_struct fp; /* as FXSAVE writes it */
	uint8_t ymmh[16][16]; /* the upper halves */
};

#define RSP_PC 16u /* the number of rip */

unsigned rsp_regs_count(void);
/* Register i in hexadecimal, in the target's byte order. */
void rsp_reg_hex(struct buf *b, const struct rsp_regs *r, unsigned i);
/* Sets register i from hexadecimal digits; the number of its bytes, 0: there are too few digits. */
size_t rsp_reg_set(struct rsp_regs *r, unsigned i, const char *hex);
/* The text of target.xml. */
void rsp_regs_xml(struct buf *b);

#endif
