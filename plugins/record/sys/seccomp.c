/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c: the program's own seccomp filters. The kernel does not get them: they would apply to the recorder's calls
 * as well, and a replay has a filter of its own. They are stored here and run (classic BPF, as in the kernel) for each
 * call of the program, with the same outcome in both modes. They are lost at an exec, and a note says so.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/sys/sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <ucontext.h>

#define POOL 32768u /* instructions, as the kernel's limit */
#define FILTERS 256u
#define MEMORY BPF_MEMWORDS

static struct sock_filter pool[POOL];
static uint32_t pool_used;
static struct filter {
	uint32_t first, len;
	uint32_t prev; /* number, 0: none */
} filters[FILTERS];
static uint32_t filters_used = 1;

/* ---- classic BPF on struct seccomp_data ---- */

static uint32_t alu(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	}
	return -a; /* BPF_NEG */
}

static int jumps(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	}
	return (a & b) != 0; /* BPF_JSET */
}

static uint32_t run(const struct filter *f, const struct seccomp_data *d)
{
	const struct sock_filter *p = &pool[f->first];
	uint32_t a = 0, x = 0, mem[MEMORY] = {0}, b;

	for (;; p++) {
		b = BPF_SRC(p->code) == BPF_X ? x : p->k;
		switch (BPF_CLASS(p->code)) {
		case BPF_LD:
			if (BPF_MODE(p->code) == BPF_ABS)
				a = *(const uint32_t *)((const uint8_t *)d + p->k);
			else if (BPF_MODE(p->code) == BPF_LEN)
				a = sizeof(*d);
			else
				a = BPF_MODE(p->code) == BPF_MEM ? mem[p->k] : p->k;
			break;
		case BPF_LDX:
			if (BPF_MODE(p->code) == BPF_LEN)
				x = sizeof(*d);
			else
				x = BPF_MODE(p->code) == BPF_MEM ? mem[p->k] : p->k;
			break;
		case BPF_ST:
			mem[p->k] = a;
			break;
		case BPF_STX:
			mem[p->k] = x;
			break;
		case BPF_ALU:
			if (BPF_OP(p->code) == BPF_DIV && !b)
				return 0;
			a = alu(BPF_OP(p->code), a, b);
			break;
		case BPF_JMP:
			if (BPF_OP(p->code) == BPF_JA)
				p += p->k;
			else
				p += jumps(BPF_OP(p->code), a, b) ? p->jt : p->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(p->code) == BPF_A ? a : p->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(p->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
}

/* Would the kernel accept the instruction at i of n for seccomp? */
static int valid(const struct sock_filter *p, uint32_t i, uint32_t n)
{
	uint32_t left = n - i - 1;

	switch (p->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return p->k < sizeof(struct seccomp_data) && !(p->k & 3);
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_ALU | BPF_NEG:
		return 1;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return p->k < MEMORY;
	case BPF_JMP | BPF_JA:
		return p->k < left;
	}
	if (BPF_CLASS(p->code) == BPF_JMP) {
		uint16_t op = BPF_OP(p->code);

		return p->jt < left && p->jf < left &&
		       (op == BPF_JEQ || op == BPF_JGT || op == BPF_JGE || op == BPF_JSET);
	}
	if (BPF_CLASS(p->code) == BPF_ALU && BPF_OP(p->code) <= BPF_XOR && BPF_OP(p->code) != BPF_MOD) {
		if (BPF_SRC(p->code) == BPF_X)
			return 1;
		return BPF_OP(p->code) == BPF_DIV
			       ? p->k != 0
			       : (BPF_OP(p->code) != BPF_LSH && BPF_OP(p->code) != BPF_RSH) || p->k < 32;
	}
	return 0;
}

/* ---- installing ---- */

/* Number of the new filter, or -errno. */
static long add_filter(const struct sock_fprog *prog, uint32_t prev)
{
	uint32_t n, first, number;

	if (!sys_readable(prog, sizeof(*prog)))
		return -14;
	n = prog->len;
	if (!n || n > BPF_MAXINSNS)
		return -22;
	if (!sys_readable(prog->filter, n * sizeof(struct sock_filter)))
		return -14;
	for (uint32_t i = 0; i < n; i++)
		if (!valid(&prog->filter[i], i, n))
			return -22;
	if (BPF_CLASS(prog->filter[n - 1].code) != BPF_RET)
		return -22;
	first = __atomic_fetch_add(&pool_used, n, __ATOMIC_RELAXED);
	number = __atomic_fetch_add(&filters_used, 1, __ATOMIC_RELAXED);
	if (first + n > POOL || number >= FILTERS)
		return -12;
	__builtin_memcpy(&pool[first], prog->filter, n * sizeof(struct sock_filter));
	filters[number] = (struct filter){first, n, prev};
	return number;
}

/* The kernel requires one of these, so that a filter cannot deceive a setuid program. */
static int may_filter(void)
{
	uint32_t head[2] = {0x20080522, 0}, data[6] = {0};

	if (raw6(SYS_prctl, 39 /* PR_GET_NO_NEW_PRIVS */, 0, 0, 0, 0, 0) == 1)
		return 1;
	return raw2(SYS_capget, head, data) == 0 && (data[0] & 1u << 21 /* CAP_SYS_ADMIN */);
}

static long install(struct thr *t, const long *a)
{
	long number;

	if (t->filter == SECCOMP_STRICT || (a[1] & ~0x3fl) || (G.mode == SHIM_RECORD && !may_filter()))
		return t->filter == SECCOMP_STRICT || (a[1] & ~0x3fl) ? -22 : -13;
	if (a[1] & 8 /* SECCOMP_FILTER_FLAG_NEW_LISTENER */) {
		sys_refuse(t, SYS_seccomp);
		return -22;
	}
	number = add_filter((const struct sock_fprog *)a[2], t->filter);
	if (number < 0)
		return number;
	t->filter = (uint32_t)number;
	for (uint32_t i = 1; (a[1] & 1 /* TSYNC */) && i < G.next_thread; i++)
		G.thr[i].filter = t->filter;
	return 0;
}

static long record_seccomp(struct thr *t, const long *a, const uint64_t *op, unsigned n)
{
	long ret = -22;

	sys_rec(t, op, n);
	if ((int)a[0] == 1) {
		ret = install(t, a);
	} else if ((int)a[0] == 0 && !a[1] && !a[2] && !t->filter) {
		t->filter = SECCOMP_STRICT;
		ret = 0;
	}
	sys_rec_ret(t, ret, 0, 0);
	return ret;
}

static long replay_seccomp(struct thr *t, const long *a, const uint64_t *op, unsigned n)
{
	long ret;

	sys_replay(t, op, n);
	ret = sys_replay_end(t, a);
	if (ret == 0 && (int)a[0] == 1)
		install(t, a);
	else if (ret == 0)
		t->filter = SECCOMP_STRICT;
	return ret;
}

long seccomp_call(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const struct sys_info none = {CLASS_REC, 3, {{0}}, {{0}}};
	static const struct sys_info sizes = {CLASS_REC, 3, {{0}}, {{IO_FIXED, 2, 0, 6}}};
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, 3, 0);

	if ((int)a[0] == 2 || (int)a[0] == 3) /* GET_ACTION_AVAIL, GET_NOTIF_SIZES */
		return sys_do(t, (int)a[0] == 2 ? &none : &sizes, nr, a);
	return (G.mode == SHIM_REPLAY ? replay_seccomp : record_seccomp)(t, a, op, n);
}

int seccomp_mode(void)
{
	return !self->filter ? 0 : self->filter == SECCOMP_STRICT ? 1 : 2;
}

/* ---- deciding ---- */

uint32_t seccomp_decide(uint32_t number, const struct seccomp_data *d)
{
	uint32_t result = SECCOMP_RET_ALLOW, r;

	if (number == SECCOMP_STRICT)
		return d->nr == SYS_read || d->nr == SYS_write || d->nr == SYS_exit || d->nr == SYS_rt_sigreturn
			       ? SECCOMP_RET_ALLOW
			       : SECCOMP_RET_KILL_THREAD;
	for (; number; number = filters[number].prev) {
		r = run(&filters[number], d);
		if ((int32_t)(r & SECCOMP_RET_ACTION_FULL) < (int32_t)(result & SECCOMP_RET_ACTION_FULL))
			result = r;
	}
	return result;
}
