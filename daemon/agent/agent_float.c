/* SPDX-License-Identifier: MIT */
/*
 * agent_float.c: floating point on the stack machine. GDB computes with the host's own types, and a float alone as a
 * float (value_args_as_target_float in its valarith.c): what is computed here and rounded (round_float) is the same,
 * since a double has more than twice a float's bits.
 */
#include <string.h>

#include "agent/agent.h"

static double number(uint64_t v)
{
	double d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

static uint64_t bits(double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	return v;
}

static double of_float(uint64_t v)
{
	uint32_t low = (uint32_t)v;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

/* In C the result is undefined if the number does not fit; this is the result on x86-64. */
static uint64_t to_signed(double d)
{
	return d >= -0x1p63 && d < 0x1p63 ? (uint64_t)(int64_t)d : 1ull << 63;
}

uint64_t agent_float(enum agent_op op, uint64_t a, uint64_t b)
{
	double x = number(a), y = number(b);

	switch (op) {
	case AGENT_of_float:
		return bits(of_float(a));
	case AGENT_of_signed:
		return bits((double)(int64_t)a);
	case AGENT_of_unsigned:
		return bits((double)a);
	case AGENT_round_float:
		return bits((float)x);
	case AGENT_to_signed:
		return to_signed(x);
	case AGENT_to_unsigned:
		return x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : to_signed(x);
	case AGENT_neg:
		return bits(-x);
	case AGENT_fadd:
		return bits(x + y);
	case AGENT_fsub:
		return bits(x - y);
	case AGENT_fmul:
		return bits(x * y);
	case AGENT_fdiv:
		return bits(x / y);
	case AGENT_fequal:
		return x == y;
	default:
		return x < y;
	}
}
