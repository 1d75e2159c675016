/* SPDX-License-Identifier: MIT */
/*
 * sys.c: one system call of the program, recorded or replayed as its row in dispatch/syscalls.def says.
 *
 * Record: SYS (count, nr, args..., check of the inputs), then the call, then SYSRET (result, outputs). The outputs are
 * logged one after the other, each as a varint length and its bytes, in the table's order; what was read from a file
 * may be named instead (refs.c). Replay: the same, but the outputs come from the log.
 */
#include "record/sys/sys.h"
#include "record/core/held.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/sched/gil.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/store/log.h"

#include <sys/uio.h>

static long call_kernel(struct thr *t, long nr, const long *a)
{
	if (unlikely(t->queue.n))
		sig_queue_show(t, nr);
	if (unlikely(t->hidden) && held_shows(t, nr))
		return sys_wait_call(t, nr, a);
	return unlikely(sys_copies(nr)) ? sys_copy(t, nr, a) : raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The thread keeps the turn. */
static long call_at_once(struct thr *t, long nr, const long *a)
{
	long ret;

	if (unlikely(G.serial))
		sys_let_others(t, nr);
	return vdso_call(nr, a, &ret) ? ret : call_kernel(t, nr, a);
}

/*
 * Other threads may run meanwhile. k: the arguments for the kernel, instead of a; v has room for the pieces that the
 * call may write.
 */
static long call_and_wait(struct thr *t, const struct sys_info *s, long nr, const long *a, const long *k,
			  struct piece *v)
{
	uint64_t ns;
	long ret;

	t->wait_mask = sys_waits_with(nr, a);
	if (unlikely(G.serial) && (ns = sys_sleep_ns(nr, a)))
		gil_sleeps(t, ns);
	if (unlikely(G.serial && G.mt)) {
		t->flight = v;
		t->nflight = (uint32_t)sys_out_room(s, k, v);
	}
	wait_begin_event(t);
	ret = unlikely(sys_copies(nr)) ? sys_copy(t, nr, k) : sys_wait_call(t, nr, k);
	wait_end(t);
	t->nflight = 0;
	t->wait_mask = 0;
	return ret;
}

/* The result comes from the kernel. */
static long record_call(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	struct piece v[PIECES];
	uint64_t op[10];
	uint32_t before[4], file = 0;
	const uint8_t *from = t->log.cur;
	const long *k = a; /* the arguments for the kernel */
	long bounced[6], ret;
	unsigned n;
	int sleeps = 0;

	/* before the call, which may overwrite its time limit with what is left of it */
	if (unlikely(G.mt && !G.serial))
		sleeps = nr == SYS_sched_yield || sys_sleep_ns(nr, a) || spin_may_read_timer(nr, a);
	if (unlikely(G.group)) {
		k = bounce_in(s, a, bounced);
		file = group_file(nr, a);
		if (file)
			pages_settle(); /* so that the program's writes are known, and the call's are not */
	}
	n = sys_pack(op, nr, a, s->nargs, sys_check_inputs(s, a));
	sys_lens_before(s, a, before);
	sys_rec(t, op, n);
	if (s->cls == CLASS_QUICK || unlikely(file) || sys_answers_at_once(nr, k))
		ret = call_at_once(t, nr, k);
	else
		ret = call_and_wait(t, s, nr, a, k, v);
	if (unlikely(G.auxv_files))
		vdso_auxv_read(nr, k, ret);
	sys_rec_ret_of(t, nr, a, ret, v, sys_out_pieces(s, k, ret, before, v));
	if (unlikely(k != a))
		bounce_out(s, a, k, ret, before);
	if (unlikely(file))
		group_file_changed(file);
	if (unlikely(sys_copies(nr)))
		sys_copy_log(t, nr, a, ret);
	sys_show_given(t, nr, a, ret);
	if (unlikely(G.mt && !G.serial))
		spin_after_call(t, nr, a, sleeps, from);
	return ret;
}

/* The result comes from the log. */
static long replay_call(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	uint64_t op[10];
	uint32_t before[4];
	unsigned n = sys_pack(op, nr, a, s->nargs, sys_check_inputs(s, a));
	int shown;
	long ret;

	sys_lens_before(s, a, before);
	sys_replay(t, op, n);
	shown = sys_show_ahead(t, nr, a);
	turn_done(t);
	t->wait_mask = sys_waits_with(nr, a);
	ret = sys_replay_ret(t, s, a, before);
	t->wait_mask = 0;
	if (!shown)
		sys_show(t, nr, a, ret);
	if (unlikely(sys_copies(nr)))
		sys_copy_log(t, nr, a, ret);
	sys_show_given(t, nr, a, ret);
	if (unlikely(G.mt && !G.serial))
		spin_after_call(t, nr, a, 0, 0);
	return ret;
}

SHIM_CLOSED long sys_do(struct thr *t, const struct sys_info *s, long nr, const long *a)
{
	if (unlikely(G.file_maps && !G.group))
		group_before_write(t, nr, a);
	return likely(G.mode != SHIM_REPLAY) ? record_call(t, s, nr, a) : replay_call(t, s, nr, a);
}

/* A library that looks for such a call does so again and again: only the first one is noted. */
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
