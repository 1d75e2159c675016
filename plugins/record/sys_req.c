/* SPDX-License-Identifier: MIT */
/* sys_req.c: ioctl, fcntl and prctl: what they read and write depends on the request. */
#include "record/sys.h"

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
	{0x8910, 40, 40}, {0x8912, 16, 16}, {0x8913, 40, 40}, {0x8915, 40, 40}, {0x8927, 40, 40},
	{0x8933, 40, 40}, {0x8903, 0, 4}, {0x8904, 0, 4}, {0x8905, 0, 4},
	{0x80081272 /* BLKGETSIZE64 */, 0, 8}, {0x1268, 0, 4}, {0xc020660b /* FIEMAP */, 32, 32},
	{0x80086601, 0, 8}, {0x40086602, 8, 0},
};

long sys_ioctl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{0}}};
	unsigned long req = (unsigned int)a[1];
	char who[232];

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
		s.in[0] = (struct io){IO_FIXED, 2, 0, 24};
		break;
	case 16: /* F_GETOWN_EX */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 8};
		break;
	}
	return sys_do(t, &s, SYS_fcntl, b);
}

long sys_prctl(struct thr *t, const long *a)
{
	struct sys_info s = {CLASS_REC, 5, {{0}}, {{0}}};
	long b[6] = {a[0], a[1], 0, 0, 0, 0};

	switch ((int)a[0]) {
	case 15: /* PR_SET_NAME: so that a debugger shows it, also in replay */
		s.in[0] = (struct io){IO_FIXED, 1, 0, 1};
		raw2(SYS_prctl, 15, a[1]);
		s.nargs = 2;
		return sys_do(t, &s, SYS_prctl, b);
	case 16: /* PR_GET_NAME */
		s.nargs = 2;
		s.out[0] = (struct io){IO_FIXED, 1, 0, 16};
		return sys_do(t, &s, SYS_prctl, b);
	case 2: /* PR_GET_PDEATHSIG */
	case 37: /* PR_GET_CHILD_SUBREAPER */
		s.nargs = 2;
		s.out[0] = (struct io){IO_FIXED, 1, 0, 4};
		return sys_do(t, &s, SYS_prctl, b);
	case 22: /* PR_SET_SECCOMP */
	case 26: /* PR_SET_TSC */
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH */
		note(RLOG_NOTE_REFUSED_SYSCALL, SYS_prctl, "prctl: seccomp, TSC or dispatch");
		return -22;
	case 0x53564d41: /* PR_SET_VMA: names for mappings */
		return -22;
	}
	return sys_do(t, &s, SYS_prctl, a);
}
