/* SPDX-License-Identifier: MIT */
/* agent_wide.c: 128-bit integers on the stack machine, as C has them. Each opcode gives one word of the result. */
#include "agent/agent.h"

typedef unsigned __int128 wide;
typedef __int128 wide_signed;

/*
 * In C the result is undefined if it does not fit (the least number divided by -1); here the quotient is that number,
 * and the remainder 0.
 */
static wide divide_signed(wide a, wide b, bool rest)
{
	if (b == ~(wide)0)
		return rest ? 0 : -a;
	return rest ? (wide)((wide_signed)a % (wide_signed)b) : (wide)((wide_signed)a / (wide_signed)b);
}

static wide divide(enum agent_op op, wide a, wide b)
{
	switch (op) {
	case AGENT_wdiv_signed:
	case AGENT_wdiv_signed_high:
		return divide_signed(a, b, false);
	case AGENT_wrem_signed:
	case AGENT_wrem_signed_high:
		return divide_signed(a, b, true);
	case AGENT_wdiv_unsigned:
	case AGENT_wdiv_unsigned_high:
		return a / b;
	default:
		return a % b;
	}
}

/* In C a shift by as many bits as there are, or more, is undefined; here only the sign remains. */
static wide shift(enum agent_op op, wide a, wide b)
{
	bool far = b >= 128, negative = (wide_signed)a < 0;

	switch (op) {
	case AGENT_wlsh:
	case AGENT_wlsh_high:
		return far ? 0 : a << (unsigned)b;
	case AGENT_wrsh_signed:
	case AGENT_wrsh_signed_high:
		return far ? -(wide)negative : (wide)((wide_signed)a >> (unsigned)b);
	default:
		return far ? 0 : a >> (unsigned)b;
	}
}

bool agent_wide(enum agent_op op, const uint64_t slot[AGENT_WIDE_SLOTS], uint64_t *out)
{
	wide a = (wide)slot[1] << 64 | slot[0], b = (wide)slot[3] << 64 | slot[2];

	switch (op) {
	case AGENT_wadd_high:
		*out = (uint64_t)((a + b) >> 64);
		return true;
	case AGENT_wsub_high:
		*out = (uint64_t)((a - b) >> 64);
		return true;
	case AGENT_wmul_high:
		*out = (uint64_t)((a * b) >> 64);
		return true;
	case AGENT_wless_signed:
		*out = (wide_signed)a < (wide_signed)b;
		return true;
	case AGENT_wless_unsigned:
		*out = a < b;
		return true;
	case AGENT_wlsh:
	case AGENT_wrsh_signed:
	case AGENT_wrsh_unsigned:
		*out = (uint64_t)shift(op, a, b);
		return true;
	case AGENT_wlsh_high:
	case AGENT_wrsh_signed_high:
	case AGENT_wrsh_unsigned_high:
		*out = (uint64_t)(shift(op, a, b) >> 64);
		return true;
	case AGENT_wdiv_signed_high:
	case AGENT_wdiv_unsigned_high:
	case AGENT_wrem_signed_high:
	case AGENT_wrem_unsigned_high:
		*out = b ? (uint64_t)(divide(op, a, b) >> 64) : 0;
		return b;
	default:
		*out = b ? (uint64_t)divide(op, a, b) : 0;
		return b;
	}
}
