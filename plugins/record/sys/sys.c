/* SPDX-License-Identifier: MIT */
/*
 * sys.c: one system call of the program, recorded or replayed from the table in syscalls.def.
 *
 * Record: SYS (count, nr, args..., check of the inputs), then the call, then SYSRET (result, outputs). The
 * outputs are logged one behind the other, each as a varint length and its bytes, in the table's order; what was read
 * from a file may be named instead (refs.c).
 * Replay: the same, but the outputs come from the log.
 */
#include "record/shm/group.h"
#include "record/dbt/spin.h"
#include "record/sys/sys.h"

#include "record/core/sys_nr.h"

#include <sys/uio.h>

#define NR_LIMIT 512

#define S(i) {IO_STR, i, 0, 0},
#define B(i, j) {IO_BYTES, i, j, 0},
#define F(i, k) {IO_FIXED, i, 0, k},
#define BP(i, j, k) {IO_BYTES, i, j, k},
#define BM(i, j, k) {IO_ARRAY, i, j, k},
#define V(i, j) {IO_IOV, i, j, 0},
#define M(i) {IO_MSG, i, 0, 0},
#define A(i, j) {IO_ADDR, i, j, 0},
#define R(i) {IO_RET, i, 0, 1},
#define RP(i, k) {IO_RETMUL, i, 0, k | 0x8000},
#define RC(i, j) {IO_RET, i, j, 1},
#define RMC(i, j, k) {IO_RETMUL, i, j, k},
#define RM(i, k) {IO_RETMUL, i, 0, k},
#define E(i, k) {IO_FIXED_ERR, i, 0, k},
#define AM(i, j, k) {IO_ARGMUL, i, j, k},
#define L(i, j) {IO_VALRES, i, j, 0},
#define FD(i) {IO_FDSET, i, 0, 0},
static const struct sys_info sys_table[NR_LIMIT] = {
#define SC(name, nargs, cls, in, out) [__NR_##name] = {CLASS_##cls, nargs, {in}, {out}},
#include "record/start/syscalls.def"
#undef SC
};
#undef S
#undef B
#undef BP
#undef BM
#undef F
#undef V
#undef M
#undef A
#undef R
#undef RM
#undef RMC
#undef RP
#undef RC
#undef E
#undef AM
#undef L
#undef FD

/* ---- the two halves, recording ---- */

/* syscall() takes it from the stack, where nothing sets the other half of an int. */
static int sixth_is_int(long nr)
{
	switch (nr) {
	case SYS_futex:
	case SYS_sendto:
	case SYS_splice:
	case SYS_copy_file_range:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_mbind:
	case SYS_move_pages:
		return 1;
	}
	return 0;
}

unsigned sys_pack(uint64_t *op, long nr, const long *a, unsigned nargs, uint32_t check)
{
	op[0] = (uint64_t)nr;
	for (unsigned i = 0; i < nargs; i++)
		op[1 + i] = (uint64_t)a[i];
	if (nargs == 6 && sixth_is_int(nr))
		op[6] = (uint32_t)a[5];
	op[1 + nargs] = check;
	return nargs + 2;
}

void sys_rec_stay(struct thr *t, const uint64_t *op, unsigned n)
{
	uint8_t *p0 = log_reserve(t, 12 + 10 * (uint64_t)n), *p;
	uint64_t now;

	t->made_event = 1;
	if (!p0)
		return;
	now = stamp_now();
	p = rlog_put(p0 + 1, now - t->last_stamp);
	t->last_stamp = now;
	*p++ = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		p = rlog_put(p, op[i]);
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYS, __ATOMIC_RELEASE);
	t->clean = 1;
}

void sys_rec(struct thr *t, const uint64_t *op, unsigned n)
{
	sys_rec_stay(t, op, n);
	if (unlikely(G.serial))
		gil_point(t);
}

static unsigned varint_len(uint64_t v)
{
	unsigned n = 1;

	while (v >= 0x80) {
		v >>= 7;
		n++;
	}
	return n;
}

/* Between a piece and the log, both ways; gives the end in the log. */
static uint8_t *gather(uint8_t *to, const struct piece *v)
{
	uint64_t left = v->n, n;

	if (!v->iov) {
		put_bytes(to, v->p, left);
		return to + left;
	}
	for (const struct iovec *i = v->iov; left; i++, left -= n, to += n) {
		n = i->iov_len < left ? i->iov_len : left;
		put_bytes(to, i->iov_base, n);
	}
	return to;
}

static const uint8_t *scatter(const struct piece *v, const uint8_t *from, uint64_t left)
{
	uint64_t n;

	if (!v->iov) {
		put_bytes(v->p, from, left);
		return from + left;
	}
	for (const struct iovec *i = v->iov; left; i++, left -= n, from += n) {
		n = i->iov_len < left ? i->iov_len : left;
		put_bytes(i->iov_base, from, n);
	}
	return from;
}

/* A SYSRET with n bytes of payload; they belong behind what it gives (NULL: recording failed), then *p0 takes the kind. */
static uint8_t *begin_ret(struct thr *t, long ret, uint64_t n, uint8_t **p0)
{
	t->fence = 1; /* it may have got what another thread gave to the kernel: see cs.c */
	*p0 = log_reserve(t, 24 + n);
	return *p0 ? rlog_put(rlog_put(*p0 + 1, rlog_zigzag(ret)), n) : 0;
}

static void end_ret(struct thr *t, uint8_t *p0, uint8_t *p)
{
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYSRET, __ATOMIC_RELEASE);
}

void sys_rec_ret(struct thr *t, long ret, const struct piece *v, int k)
{
	uint64_t total = 0;
	uint8_t *p0, *p;

	for (int i = 0; i < k; i++)
		total += varint_len(v[i].n) + v[i].n;
	p = begin_ret(t, ret, total, &p0);
	if (!p)
		return;
	for (int i = 0; i < k; i++) {
		p = rlog_put(p, v[i].n);
		p = gather(p, &v[i]);
	}
	end_ret(t, p0, p);
}

/* The same of a call that may have read from a file. */
static void rec_ret_of(struct thr *t, long nr, const long *a, long ret, const struct piece *v, int k)
{
	struct rlog_ref ref;
	uint8_t *p0, *p;

	if (likely(k != 1 || !refs_find(nr, a, ret, v, &ref))) {
		sys_rec_ret(t, ret, v, k);
		return;
	}
	p = begin_ret(t, ret, 1 + sizeof(ref), &p0);
	if (!p)
		return;
	*p++ = 0;
	put_bytes(p, (const uint8_t *)&ref, sizeof(ref));
	end_ret(t, p0, p + sizeof(ref));
}

void sys_rec_ret_point(struct thr *t, long ret)
{
	if (unlikely(G.serial))
		gil_point(t);
	sys_rec_ret(t, ret, 0, 0);
}

/* ---- replay ---- */

void sys_replay(struct thr *t, const uint64_t *op, unsigned n)
{
	struct rlog_rec r;
	const char *what = 0;

	if (!turn_peek(t, &r) || r.kind != RLOG_SYS)
		turn_diverge(t, turn_peek(t, &r) ? &r : 0, RLOG_SYS, op, n,
			     "a system call that was not made there when recording");
	if (r.nops != n || r.op[0] != op[0])
		what = "another system call";
	for (unsigned i = 1; !what && i < n; i++)
		if (r.op[i] != op[i])
			what = i == n - 1 ? "the data given to the call differ" : "an argument differs";
	if (what)
		turn_diverge(t, &r, RLOG_SYS, op, n, what);
	turn_take(t, &r, RLOG_SYS);
}

/* The lengths of later pieces are in earlier ones: the list is built step by step. */
static int tells_lengths(uint8_t how)
{
	return how == IO_MSG || how == IO_VALRES || how == IO_IFCONF || how == IO_FIEMAP;
}

long sys_replay_ret(struct thr *t, const struct sys_info *s, const long *a, const uint32_t *before)
{
	struct piece v[PIECES];
	struct rlog_rec r;
	const uint8_t *p, *end;
	struct rlog_ref ref;
	uint64_t n;
	long ret;
	int k;

	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	p = r.payload;
	end = p + r.payload_len;
	if (tells_lengths(s->out[0].how) || s->out[1].how == IO_VALRES) {
		for (int i = 0; p < end && i < PIECES; i++) {
			k = sys_out_pieces(s, a, ret, before, v);
			p = rlog_get(p, end, &n);
			if (!p || i >= k || n > (uint64_t)(end - p))
				shim_fail("a system call's outputs do not fit its record");
			p = scatter(&v[i], p, n);
		}
		return ret;
	}
	k = sys_out_pieces(s, a, ret, before, v);
	if (unlikely(k == 1 && rlog_is_ref(&r, &ref))) {
		refs_read(&ref, v);
		return ret;
	}
	for (int i = 0; i < k; i++) {
		p = rlog_get(p, end, &n);
		if (!p || n != v[i].n || n > (uint64_t)(end - p))
			shim_fail("a system call's outputs do not fit its record");
		p = scatter(&v[i], p, n);
	}
	return ret;
}

/* ---- the calls ---- */

/* A recordable call: results from the kernel when recording, from the log when replaying. */
long sys_do(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	struct piece v[PIECES];
	uint64_t op[10];
	uint32_t before[4];
	const long *k = a; /* what the kernel gets */
	long lent[6];
	const uint8_t *from = t->log.cur;
	uint32_t file = 0;
	uint64_t ns;
	unsigned n;
	int shown;
	long ret;

	if (unlikely(G.file_maps && !G.group))
		group_before_write(t, nr, a);
	if (unlikely(G.group) && G.mode == SHIM_RECORD) {
		k = pages_lend(s, a, lent);
		file = group_file(nr, a);
		if (file)
			pages_settle(); /* what the program wrote is known; what the call writes there is not */
	}
	n = sys_pack(op, nr, a, s->nargs, sys_check_inputs(s, a));
	sys_lens_before(s, a, before);
	if (likely(G.mode == SHIM_RECORD)) {
		sys_rec(t, op, n);
		if (sys_never_waits(nr, a) || unlikely(file) || sys_answers_at_once(nr, k)) {
			if (unlikely(G.serial))
				sys_let_others(t, nr);
			if (unlikely(sys_copies(nr)))
				ret = sys_copy(t, nr, k);
			else if (!vdso_call(nr, k, &ret))
				ret = raw6(nr, k[0], k[1], k[2], k[3], k[4], k[5]);
		} else {
			t->wait_mask = sys_waits_with(nr, a);
			if (unlikely(G.serial) && (ns = sys_sleep_ns(nr, a)))
				gil_sleeps(t, ns);
			if (unlikely(G.serial && G.mt)) {
				t->flight = v;
				t->nflight = (uint32_t)sys_out_room(s, k, v);
			}
			wait_begin_event(t);
			ret = unlikely(sys_copies(nr)) ? sys_copy(t, nr, k) : raw6(nr, k[0], k[1], k[2], k[3], k[4], k[5]);
			wait_end(t);
			t->nflight = 0;
			t->wait_mask = 0;
		}
		if (unlikely(G.auxv_files))
			vdso_auxv_read(nr, k, ret);
		rec_ret_of(t, nr, a, ret, v, sys_out_pieces(s, k, ret, before, v));
		if (unlikely(k != a))
			pages_return(s, a, k, ret, before);
		if (unlikely(file))
			group_file_changed(file);
		sys_show_given(t, nr, a, ret);
		if (unlikely(G.mt && !G.serial))
			spin_behind_call(t, nr, a, from);
		return ret;
	}
	sys_replay(t, op, n);
	shown = sys_show_ahead(t, nr, a);
	turn_done(t);
	t->wait_mask = sys_waits_with(nr, a);
	ret = sys_replay_ret(t, s, a, before);
	t->wait_mask = 0;
	if (!shown)
		sys_show(t, nr, a, ret);
	sys_show_given(t, nr, a, ret);
	if (unlikely(G.mt && !G.serial) && G.mode == SHIM_REPLAY)
		spin_behind_call(t, nr, a, 0);
	return ret;
}

/* A library that looks for it does so again and again: the first one is noted. */
static int is_noted(long nr)
{
	const struct rlog_control *c = G.control;

	for (uint32_t i = 0; i < c->note_count && i < RLOG_NOTES; i++)
		if (c->note[i].ready && c->note[i].kind == RLOG_NOTE_REFUSED_SYSCALL && c->note[i].number == nr)
			return 1;
	return 0;
}

static int is_io_uring(long nr)
{
	return nr == SYS_io_uring_setup || nr == SYS_io_uring_enter || nr == SYS_io_uring_register;
}

__attribute__((noinline)) long sys_refuse(struct thr *t, long nr)
{
	char who[232];

	if (G.mode == SHIM_RECORD && !(is_io_uring(nr) && is_noted(nr))) {
		describe_caller(t->caller, who, sizeof(who));
		note(RLOG_NOTE_REFUSED_SYSCALL, nr, who);
	}
	return -38;
}

long sys_refuse_32bit(struct thr *t, long nr)
{
	char text[232], *p = fmt_str(text, text + sizeof(text), "a 32-bit system call (int 0x80) was refused: number ");

	p = fmt_dec(p, text + sizeof(text), (uint64_t)nr, 1);
	p = fmt_str(p, text + sizeof(text), ", called from ");
	if (G.mode == SHIM_RECORD) {
		describe_caller(t->caller, p, (unsigned)(text + sizeof(text) - p));
		note(RLOG_NOTE_UNSUPPORTED, nr, text);
	}
	return -38;
}

/* What pthread_cancel does to send its signal, which depends on the other thread: no events. */
static int cancel_call(long nr, const long *a, ucontext_t *uc, long *ret)
{
	switch (nr) {
	case SYS_getpid:
		*ret = G.shown_pid;
		return 1;
	case SYS_rt_sigprocmask:
		*ret = sig_procmask_native(a, uc);
		return 1;
	case SYS_tgkill:
		*ret = G.mode == SHIM_REPLAY ? 0 : raw3(nr, a[0], a[1], a[2]);
		return 1;
	}
	return 0;
}

long sys_event(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	const struct sys_info *s;
	long ret;

	if (unlikely(nr < 0 || nr >= NR_LIMIT))
		return sys_refuse(t, nr);
	if (unlikely(t->cancelling) && cancel_call(nr, a, uc, &ret))
		return ret;
	if (unlikely(t->filter) && seccomp_check(t, nr, a, uc, &ret))
		return ret;
	s = &sys_table[nr];
	switch (s->cls) {
	case CLASS_REC:
		ret = sys_do(t, s, nr, a);
		if (unlikely(G.mem_files))
			mem_file_written(t, nr, a, ret);
		if (unlikely(G.own_processes) && G.mode == SHIM_REPLAY)
			adopt_waited(nr, a, ret);
		return ret;
	case CLASS_MEM:
		return sys_mem(t, nr, a, s->nargs);
	case CLASS_RAW:
		return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	case CLASS_FN:
		return sys_special(t, nr, a, uc);
	}
	return sys_refuse(t, nr);
}
