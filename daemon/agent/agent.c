/* SPDX-License-Identifier: MIT */
/*
 * agent.c: the stack machine. All arithmetic is on 64-bit words; it is done unsigned, where signed
 * overflow would be undefined. Operands in the code are big-endian, the program's memory is
 * little-endian.
 */
#include <string.h>

#include "agent/agent.h"

/* Indexed by opcode; operand bytes + 1, so that 0 means unknown. */
static const uint8_t operand_size[256] = {
#define X(name, number, operand) [number] = (operand) + 1,
	AGENT_OPCODES(X)
#undef X
#define X(name, number, slots) [number] = 1,
		AGENT_FLOATS(X)
#undef X
#define X(name, number) [number] = 1,
			AGENT_WIDES(X)
#undef X
};

unsigned agent_operand_size(uint8_t op)
{
	return operand_size[op] ? operand_size[op] - 1u : 0;
}

/* How many slots an opcode needs on the stack. */
static const uint8_t needs[256] = {[AGENT_add] = 2,
				   [AGENT_sub] = 2,
				   [AGENT_mul] = 2,
				   [AGENT_div_signed] = 2,
				   [AGENT_div_unsigned] = 2,
				   [AGENT_rem_signed] = 2,
				   [AGENT_rem_unsigned] = 2,
				   [AGENT_lsh] = 2,
				   [AGENT_rsh_signed] = 2,
				   [AGENT_rsh_unsigned] = 2,
				   [AGENT_log_not] = 1,
				   [AGENT_bit_and] = 2,
				   [AGENT_bit_or] = 2,
				   [AGENT_bit_xor] = 2,
				   [AGENT_bit_not] = 1,
				   [AGENT_equal] = 2,
				   [AGENT_less_signed] = 2,
				   [AGENT_less_unsigned] = 2,
				   [AGENT_ext] = 1,
				   [AGENT_ref8] = 1,
				   [AGENT_ref16] = 1,
				   [AGENT_ref32] = 1,
				   [AGENT_ref64] = 1,
				   [AGENT_if_goto] = 1,
				   [AGENT_end] = 1,
				   [AGENT_dup] = 1,
				   [AGENT_pop] = 1,
				   [AGENT_zero_ext] = 1,
				   [AGENT_swap] = 2,
				   [AGENT_rot] = 3,
#define X(name, number, slots) [number] = (slots),
				   AGENT_FLOATS(X)
#undef X
#define X(name, number) [number] = AGENT_WIDE_SLOTS,
					   AGENT_WIDES(X)
#undef X
};

struct machine {
	const struct agent_ops *ops;
	void *ctx;
	struct agent_result *out;
	const uint8_t *code;
	size_t len;
	size_t pc; /* after the current instruction */
	uint64_t operand;
	size_t sp; /* slots in use */
	uint64_t stack[AGENT_STACK];
};

static uint64_t *top(struct machine *m, size_t down)
{
	return &m->stack[m->sp - 1 - down];
}

static enum agent_status push(struct machine *m, uint64_t v)
{
	if (m->sp >= AGENT_STACK)
		return AGENT_BAD_CODE;
	m->stack[m->sp++] = v;
	return AGENT_OK;
}

static uint64_t sign_extend(uint64_t v, unsigned bits)
{
	unsigned shift;

	if (!bits || bits >= 64)
		return v;
	shift = 64 - bits;
	return (uint64_t)((int64_t)(v << shift) >> shift);
}

static uint64_t zero_extend(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static uint64_t shift_right_signed(uint64_t a, uint64_t by)
{
	return (uint64_t)((int64_t)a >> (by > 63 ? 63 : by));
}

static void note_range(struct agent_result *out, uint64_t addr, uint32_t len)
{
	for (size_t i = 0; i < out->ranges_n; i++)
		if (out->range[i].addr == addr && out->range[i].len >= len)
			return;
	if (out->ranges_n == AGENT_MAX_RANGES) {
		out->ranges_full = true;
		return;
	}
	out->range[out->ranges_n++] = (struct agent_range){addr, len};
}

/* Replaces the address on top by the n bytes there. */
static enum agent_status reference(struct machine *m, size_t n)
{
	uint64_t addr = *top(m, 0), v = 0;

	if (m->ops->read_mem(m->ctx, addr, &v, n)) {
		m->out->fault_addr = addr;
		return AGENT_BAD_MEMORY;
	}
	note_range(m->out, addr, (uint32_t)n);
	*top(m, 0) = v;
	return AGENT_OK;
}

static enum agent_status divide(int op, uint64_t a, uint64_t b, uint64_t *r)
{
	if (!b)
		return AGENT_DIV_ZERO;
	switch (op) {
	case AGENT_div_unsigned:
		*r = a / b;
		break;
	case AGENT_rem_unsigned:
		*r = a % b;
		break;
	/* The one signed division that overflows: INT64_MIN / -1. */
	case AGENT_div_signed:
		*r = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
		break;
	default:
		*r = b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
		break;
	}
	return AGENT_OK;
}

static enum agent_status arithmetic(int op, uint64_t a, uint64_t b, uint64_t *r)
{
	switch (op) {
	case AGENT_add:
		*r = a + b;
		return AGENT_OK;
	case AGENT_sub:
		*r = a - b;
		return AGENT_OK;
	case AGENT_mul:
		*r = a * b;
		return AGENT_OK;
	case AGENT_lsh:
		*r = b > 63 ? 0 : a << b;
		return AGENT_OK;
	case AGENT_rsh_signed:
		*r = shift_right_signed(a, b);
		return AGENT_OK;
	case AGENT_rsh_unsigned:
		*r = b > 63 ? 0 : a >> b;
		return AGENT_OK;
	case AGENT_bit_and:
		*r = a & b;
		return AGENT_OK;
	case AGENT_bit_or:
		*r = a | b;
		return AGENT_OK;
	case AGENT_bit_xor:
		*r = a ^ b;
		return AGENT_OK;
	case AGENT_equal:
		*r = a == b;
		return AGENT_OK;
	case AGENT_less_signed:
		*r = (int64_t)a < (int64_t)b;
		return AGENT_OK;
	case AGENT_less_unsigned:
		*r = a < b;
		return AGENT_OK;
	default:
		return divide(op, a, b, r);
	}
}

static bool is_float_op(int op)
{
	return op >= AGENT_of_float && op <= AGENT_fless;
}

static void floating(struct machine *m, int op)
{
	uint64_t b = *top(m, 0), *a = top(m, needs[op] - 1u);

	m->sp -= needs[op] - 1u;
	*a = agent_float((enum agent_op)op, *a, b);
}

static bool is_wide_op(int op)
{
	return op >= AGENT_wadd_high && op <= AGENT_wrsh_unsigned_high;
}

static enum agent_status wide(struct machine *m, int op)
{
	uint64_t *a = top(m, AGENT_WIDE_SLOTS - 1), out;

	if (!agent_wide((enum agent_op)op, a, &out))
		return AGENT_DIV_ZERO;
	m->sp -= AGENT_WIDE_SLOTS - 1;
	*a = out;
	return AGENT_OK;
}

/* Two slots in, one out. */
static enum agent_status binary(struct machine *m, int op)
{
	uint64_t b = *top(m, 0), *a = top(m, 1);

	m->sp--;
	return arithmetic(op, *a, b, a);
}

static enum agent_status jump(struct machine *m)
{
	if (m->operand >= m->len)
		return AGENT_BAD_CODE;
	m->pc = (size_t)m->operand;
	return AGENT_OK;
}

static enum agent_status conditional_jump(struct machine *m)
{
	uint64_t c = *top(m, 0);

	m->sp--;
	return c ? jump(m) : AGENT_OK;
}

static enum agent_status push_register(struct machine *m)
{
	uint64_t v;

	if (!m->ops->read_reg || m->ops->read_reg(m->ctx, (unsigned)m->operand, &v))
		return AGENT_BAD_REGISTER;
	return push(m, v);
}

static enum agent_status pick(struct machine *m)
{
	return m->operand < m->sp ? push(m, *top(m, (size_t)m->operand)) : AGENT_BAD_CODE;
}

/* a b c (c on top) becomes c a b. */
static void rotate(struct machine *m)
{
	uint64_t c = *top(m, 0);

	*top(m, 0) = *top(m, 1);
	*top(m, 1) = *top(m, 2);
	*top(m, 2) = c;
}

static void swap(struct machine *m)
{
	uint64_t s = *top(m, 0);

	*top(m, 0) = *top(m, 1);
	*top(m, 1) = s;
}

static enum agent_status step(struct machine *m, int op)
{
	switch (op) {
	case AGENT_ext:
		*top(m, 0) = sign_extend(*top(m, 0), (unsigned)m->operand);
		return AGENT_OK;
	case AGENT_zero_ext:
		*top(m, 0) = zero_extend(*top(m, 0), (unsigned)m->operand);
		return AGENT_OK;
	case AGENT_log_not:
		*top(m, 0) = !*top(m, 0);
		return AGENT_OK;
	case AGENT_bit_not:
		*top(m, 0) = ~*top(m, 0);
		return AGENT_OK;
	case AGENT_ref8:
		return reference(m, 1);
	case AGENT_ref16:
		return reference(m, 2);
	case AGENT_ref32:
		return reference(m, 4);
	case AGENT_ref64:
		return reference(m, 8);
	case AGENT_if_goto:
		return conditional_jump(m);
	case AGENT_goto:
		return jump(m);
	case AGENT_const8:
	case AGENT_const16:
	case AGENT_const32:
	case AGENT_const64:
		return push(m, m->operand);
	case AGENT_reg:
		return push_register(m);
	case AGENT_dup:
		return push(m, *top(m, 0));
	case AGENT_pop:
		m->sp--;
		return AGENT_OK;
	case AGENT_swap:
		swap(m);
		return AGENT_OK;
	case AGENT_rot:
		rotate(m);
		return AGENT_OK;
	case AGENT_pick:
		return pick(m);
	default:
		if (is_wide_op(op))
			return wide(m, op);
		if (!is_float_op(op))
			return binary(m, op);
		floating(m, op);
		return AGENT_OK;
	}
}

/* Reads the instruction at pc, checks it against the code's end and the stack. */
static enum agent_status fetch(struct machine *m, int *op)
{
	size_t n;

	if (m->pc >= m->len)
		return AGENT_BAD_CODE;
	*op = m->code[m->pc++];
	if (!operand_size[*op] || needs[*op] > m->sp)
		return AGENT_BAD_CODE;
	n = agent_operand_size((uint8_t)*op);
	if (n > m->len - m->pc)
		return AGENT_BAD_CODE;
	m->operand = 0;
	while (n--)
		m->operand = m->operand << 8 | m->code[m->pc++];
	return AGENT_OK;
}

enum agent_status agent_run(const uint8_t *code, size_t len, const struct agent_ops *ops, void *ctx,
			    struct agent_result *out)
{
	struct machine m = {.ops = ops, .ctx = ctx, .out = out, .code = code, .len = len};

	memset(out, 0, sizeof(*out));
	for (unsigned steps = 0; steps < AGENT_MAX_STEPS; steps++) {
		int op;
		enum agent_status s = fetch(&m, &op);

		if (s)
			return s;
		if (op == AGENT_end) {
			out->value = (int64_t)*top(&m, 0);
			return AGENT_OK;
		}
		s = step(&m, op);
		if (s)
			return s;
	}
	return AGENT_TOO_LONG;
}

const char *agent_status_text(enum agent_status status)
{
	static const char *const text[] = {
		[AGENT_OK] = "",
		[AGENT_BAD_MEMORY] = "memory that is not mapped",
		[AGENT_DIV_ZERO] = "division by zero",
		[AGENT_BAD_REGISTER] = "a register whose value is not known",
		[AGENT_BAD_CODE] = "damaged expression bytecode",
		[AGENT_TOO_LONG] = "an expression that does not end",
	};

	return (unsigned)status < sizeof(text) / sizeof(text[0]) ? text[status] : "unknown status";
}
