/* SPDX-License-Identifier: MIT */
/*
 * arm.c: how system calls are caught.
 *
 * Recording: Syscall User Dispatch (Documentation/admin-guide/syscall-user-dispatch.rst). It is per
 * thread and not inherited, so exec and vfork children start without it. Calls from the shim's text
 * always pass; calls from elsewhere pass while the thread's selector byte is 0.
 * Replaying: a seccomp filter, which CRIU can carry over a checkpoint; no selector, so the handler
 * itself runs the call when the thread is inside the shim (depth > 0). With REPLAY_F_DISPATCH, which an ordinary user's
 * replay has, Syscall User Dispatch does the same: its selector byte is always 1.
 */
#include "record/event/arm.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/store/log.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

static const char always = 1;

static int dispatch(const volatile char *selector)
{
	return (int)raw6(SYS_prctl, 59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, (long)G.text_lo,
			 (long)(G.text_hi - G.text_lo), (long)selector, 0);
}

void arm_replay_thread(void)
{
	uint64_t ours = SIG_OURS;

	if (!(G.ctl->flags & REPLAY_F_DISPATCH))
		return;
	/* libc may have begun the thread with all signals blocked */
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, 0, 8);
	if (dispatch(&always) < 0)
		shim_fail("cannot switch Syscall User Dispatch on");
}

void arm_thread(struct thr *t)
{
	int r = dispatch(&t->selector);

	if (r < 0) {
		G.mode = SHIM_OFF;
		note(RLOG_NOTE_LOG_FAILED, -r, "prctl(PR_SET_SYSCALL_USER_DISPATCH)");
	}
}

void arm_release(void)
{
	raw6(SYS_prctl, 59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 0, 0, 0, 0);
}

static void install_filter(void)
{
	uint32_t hi = (uint32_t)(G.text_lo >> 32), lo = (uint32_t)G.text_lo, end = (uint32_t)G.text_hi;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, hi, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lo, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, end, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(f) / sizeof(f[0]), f};

	raw6(SYS_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0, 0);
	if (raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		shim_fail("cannot install the seccomp filter");
}

void trap_start_replay(void)
{
	if (G.ctl->flags & REPLAY_F_DISPATCH)
		arm_replay_thread();
	else
		install_filter();
}
