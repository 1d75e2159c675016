/* SPDX-License-Identifier: MIT */
/* sys_req.c: ioctl, fcntl and prctl: what they read and write depends on the request. */
#include "record/sys.h"

#include <sys/prctl.h>

/* in: 0, when some of what it reads may never have been set (names shorter than their field, holes) */
struct req {
	unsigned long req;
	uint16_t in, out;
};

static const struct req ioctls[] = {
	{0x5401 /* TCGETS */, 0, 36}, {0x5402, 36, 0}, {0x5403, 36, 0}, {0x5404, 36, 0},
	{0x540b /* TCFLSH */, 0, 0}, {0x5409, 0, 0}, {0x540a, 0, 0},
	{0x540e /* TIOCSCTTY */, 0, 0}, {0x540f /* TIOCGPGRP */, 0, 4}, {0x5410, 4, 0},
	{0x5413 /* TIOCGWINSZ */, 0, 8}, {0x5414, 8, 0}, {0x541b /* FIONREAD */, 0, 4},
	{0x5411, 0, 4}, {0x5421 /* FIONBIO */, 4, 0}, {0x5422, 0, 0}, {0x5429, 0, 4},
	{0x5450, 0, 0}, {0x5451, 0, 0}, {0x5452, 4, 0}, {0x80045430, 0, 4}, {0x40045431, 4, 0},
	{0x5441, 0, 0}, {0x40049409 /* FICLONE */, 0, 0}, {0x4020940d, 32, 0},
	{0x8910 /* SIOCGIFNAME and the like */, 0, 40}, {0x8913, 0, 40}, {0x8915, 0, 40}, {0x8927, 0, 40},
	{0x8933, 0, 40}, {0x8903, 0, 4}, {0x8904, 0, 4}, {0x8905, 0, 4},
	{0x80081272 /* BLKGETSIZE64 */, 0, 8}, {0x1268, 0, 4},
	{0x80086601, 0, 8}, {0x40086602, 8, 0},
};

/* Those whose output has no fixed size */
static uint8_t output_of(unsigned long req)
{
	return req == 0x8912 /* SIOCGIFCONF */ ? IO_IFCONF : req == 0xc020660b ? IO_FIEMAP : 0;
}

long sys_ioctl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};
	unsigned long req = (unsigned int)a[1];
	char who[232];

	s.out[0] = (struct io){output_of(req), 2, 0, 0};
	if (s.out[0].how)
		return sys_do(t, &s, SYS_ioctl, a);
	for (unsigned i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++) {
		if (ioctls[i].req != req)
			continue;
		if (ioctls[i].in)
			s.in[0] = (struct io){IO_FIXED, 2, 0, ioctls[i].in};
		if (ioctls[i].out)
			s.out[0] = (struct io){IO_FIXED, 2, 0, ioctls[i].out};
		return sys_do(t, &s, SYS_ioctl, a);
	}
	describe_caller(t->caller, who, sizeof(who));
	note(RLOG_NOTE_REFUSED_IOCTL, (int64_t)req, who);
	return -25; /* ENOTTY */
}

long sys_fcntl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};
	long b[6] = {a[0], a[1], a[2]};

	switch ((int)a[1]) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETPIPE_SZ:
	case 1034: /* F_GET_SEALS */
	case F_GETLEASE:
	case F_GETSIG:
		b[2] = 0; /* not an argument: whatever was in the register */
		break;
	case F_GETLK:
	case 36: /* F_OFD_GETLK */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 32};
		/* fall through */
	case F_SETLK:
	case F_SETLKW:
	case 37: /* F_OFD_SETLK */
	case 38: /* F_OFD_SETLKW */
		s.in[0] = (struct io){IO_FIXED, 2, 0, 4}; /* then a hole */
		s.in[1] = (struct io){IO_FIXED, 2, 8, 16};
		break;
	case 16: /* F_GETOWN_EX */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 8};
		break;
	}
	return sys_do(t, &s, SYS_fcntl, b);
}

/* Arguments that an option has, itself included. What is in the registers of the others does not count. */
static uint8_t prctl_args(int option)
{
	switch (option) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_TIMING:
	case PR_GET_SECCOMP:
	case PR_GET_SECUREBITS:
	case PR_GET_TIMERSLACK:
	case PR_GET_NO_NEW_PRIVS:
	case PR_GET_THP_DISABLE:
	case PR_MCE_KILL_GET:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
	case PR_GET_IO_FLUSHER:
		return 1;
	case PR_MCE_KILL:
	case PR_GET_SPECULATION_CTRL:
		return 3;
	case PR_SET_SPECULATION_CTRL:
		return 4;
	case PR_SET_MM:
	case PR_CAP_AMBIENT:
	case 62: /* PR_SCHED_CORE */
		return 5;
	}
	return 2;
}

/* Bytes that an option writes where its second argument points. */
static uint16_t prctl_out(int option)
{
	switch (option) {
	case PR_GET_NAME:
		return 16;
	case PR_GET_TID_ADDRESS:
		return 8;
	case PR_GET_PDEATHSIG:
	case PR_GET_UNALIGN:
	case PR_GET_FPEMU:
	case PR_GET_FPEXC:
	case PR_GET_ENDIAN:
	case PR_GET_TSC:
	case PR_GET_CHILD_SUBREAPER:
		return 4;
	}
	return 0;
}

long sys_prctl(struct thr *t, const long *a)
{
	int option = (int)a[0];
	struct sys_info s = {CLASS_REC, prctl_args(option), {{0}}, {{0}}};

	switch (option) {
	case PR_SET_NAME: /* also in replay, so that a debugger shows it */
		s.in[0] = (struct io){IO_FIXED, 1, 0, 1};
		raw2(SYS_prctl, PR_SET_NAME, a[1]);
		break;
	case PR_SET_SECCOMP:
	case PR_SET_TSC:
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH */
		note(RLOG_NOTE_REFUSED_SYSCALL, SYS_prctl, "prctl: seccomp, TSC or dispatch");
		return -22;
	case PR_SET_VMA: /* names for mappings */
		return -22;
	}
	if (prctl_out(option))
		s.out[0] = (struct io){IO_FIXED, 1, 0, prctl_out(option)};
	return sys_do(t, &s, SYS_prctl, a);
}
