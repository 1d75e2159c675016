/* SPDX-License-Identifier: MIT */
/* syscall.c: one system call of the program: its row in syscalls.def says how it is recorded and replayed. */
#include "record/dispatch/syscall.h"
#include "record/core/state.h"
#include "record/dispatch/sys_nr.h"
#include "record/proc/process.h"
#include "record/proc/thread.h"
#include "record/signal/sig.h"
#include "record/sys/sys.h"

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
#define AMI(i, j, k) {IO_ARGMUL_EINTR, i, j, k},
#define L(i, j) {IO_VALRES, i, j, 0},
#define FD(i) {IO_FDSET, i, 0, 0},
#define CLASS_FN(fn) CLASS_OWN, .record = fn, .replay = fn
#define CLASS_LOGFN(fn) CLASS_FN(fn)
#define CLASS_PAIR(record_fn, replay_fn) CLASS_OWN, .record = record_fn, .replay = replay_fn
static const struct row {
	struct sys_info info;
	sys_call *record, *replay; /* CLASS_OWN */
} rows[NR_LIMIT] = {
#define SC(name, n, how, reads, writes)                                                                                \
	[__NR_##name] = {.info.nargs = n, .info.in = {reads}, .info.out = {writes}, .info.cls = CLASS_##how},
#include "record/dispatch/syscalls.def"
#undef SC
};
#undef CLASS_FN
#undef CLASS_LOGFN
#undef CLASS_PAIR
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
#undef AMI
#undef L
#undef FD

/* The calls by which pthread_cancel sends its signal depend on the state of the other thread: they are no events. */
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
	const struct row *r = &rows[nr];
	long ret;

	if (unlikely(nr < 0 || nr >= NR_LIMIT))
		return sys_refuse(t, nr);
	if (unlikely(t->cancel.sends) && cancel_call(nr, a, uc, &ret))
		return ret;
	if (unlikely(t->filter) && seccomp_check(t, nr, a, uc, &ret))
		return ret;
	switch (r->info.cls) {
	case CLASS_REC:
	case CLASS_QUICK:
		ret = sys_do(t, &r->info, nr, a);
		if (unlikely(G.mem_files))
			mem_file_written(t, nr, a, ret);
		if (unlikely(G.own_processes) && G.mode == SHIM_REPLAY)
			adopt_waited(nr, a, ret);
		return ret;
	case CLASS_MEM:
		return sys_mem(t, nr, a, r->info.nargs);
	case CLASS_RAW:
		ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		/* the kernel's number of the thread, which differs in a copy, and in a replay in a plain cell */
		if (nr == SYS_set_tid_address && G.mode == SHIM_REPLAY)
			return t->ordinal == 1 ? G.shown_pid : t->shown_tid;
		return ret;
	case CLASS_OWN:
		return (G.mode == SHIM_REPLAY ? r->replay : r->record)(t, nr, a, uc);
	}
	return sys_refuse(t, nr);
}
