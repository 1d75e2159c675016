/* SPDX-License-Identifier: MIT */
/* sys_req.c: ioctl, fcntl and prctl: what they read and write depends on the request. */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/input/input.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <sys/prctl.h>

/* in: 0 if some bytes that it reads may be unset (names shorter than their field, padding) */
struct req {
	unsigned long req;
	uint16_t in, out;
};

static const struct req ioctls[] = {
	/* terminals */
	{0x5401 /* TCGETS */, 0, 36},
	{0x5402, 36, 0},
	{0x5403, 36, 0},
	{0x5404, 36, 0},
	{0x5405 /* TCGETA */, 0, 18},
	{0x5406, 18, 0},
	{0x5407, 18, 0},
	{0x5408, 18, 0},
	{0x802c542a /* TCGETS2 */, 0, 44},
	{0x402c542b, 44, 0},
	{0x402c542c, 44, 0},
	{0x402c542d, 44, 0},
	{0x5409 /* TCSBRK */, 0, 0},
	{0x540a /* TCXONC */, 0, 0},
	{0x540b /* TCFLSH */, 0, 0},
	{0x5427 /* TIOCSBRK */, 0, 0},
	{0x5428 /* TIOCCBRK */, 0, 0},
	{0x5456 /* TIOCGLCKTRMIOS */, 0, 36},
	{0x5457, 36, 0},
	{0x5425 /* TCSBRKP */, 0, 0},
	{0x540c /* TIOCEXCL */, 0, 0},
	{0x540d, 0, 0},
	{0x80045440, 0, 4},
	{0x540e /* TIOCSCTTY */, 0, 0},
	{0x540f /* TIOCGPGRP */, 0, 4},
	{0x5410, 4, 0},
	{0x5411 /* TIOCOUTQ */, 0, 4},
	{0x5412 /* TIOCSTI */, 1, 0},
	{0x5413 /* TIOCGWINSZ */, 0, 8},
	{0x5414, 8, 0},
	{0x5415 /* TIOCMGET */, 0, 4},
	{0x5416, 4, 0},
	{0x5417, 4, 0},
	{0x5418, 4, 0},
	{0x5419, 0, 4},
	{0x541b /* FIONREAD */, 0, 4},
	{0x545d /* TIOCGICOUNT */, 0, 80},
	{0x5459 /* TIOCSERGETLSR */, 0, 4},
	{0x541e /* TIOCGSERIAL */, 0, 72},
	{0x5420 /* TIOCPKT */, 4, 0},
	{0x5421 /* FIONBIO */, 4, 0},
	{0x5422 /* TIOCNOTTY */, 0, 0},
	{0x5423 /* TIOCSETD */, 4, 0},
	{0x5424, 0, 4},
	{0x5429 /* TIOCGSID */, 0, 4},
	{0x5437 /* TIOCVHANGUP */, 0, 0},
	{0x80045430 /* TIOCGPTN */, 0, 4},
	{0x40045431 /* TIOCSPTLCK */, 4, 0},
	{0x80045432, 0, 4},
	{0x80045438 /* TIOCGPKT */, 0, 4},
	{0x80045439 /* TIOCGPTLCK */, 0, 4},
	{0x5441 /* TIOCGPTPEER */, 0, 0},
	{0x4b33 /* KDGKBTYPE */, 0, 1},
	{0x4b3b /* KDGETMODE */, 0, 4},
	{0x4b44 /* KDGKBMODE */, 0, 4},
	{0x5600 /* VT_OPENQRY */, 0, 4},
	{0x5603 /* VT_GETSTATE */, 0, 6},
	/* all descriptors, and files */
	{0x5450 /* FIONCLEX */, 0, 0},
	{0x5451, 0, 0},
	{0x5452 /* FIOASYNC */, 4, 0},
	{0x5460 /* FIOQSIZE */, 0, 8},
	{1 /* FIBMAP */, 4, 4},
	{2 /* FIGETBSZ */, 0, 4},
	{0x40049409 /* FICLONE */, 0, 0},
	{0x4020940d, 32, 0},
	{0x80086601 /* FS_IOC_GETFLAGS */, 0, 4},
	{0x40086602, 4, 0},
	{0x80087601 /* FS_IOC_GETVERSION */, 0, 4},
	{0x801c581f /* FS_IOC_FSGETXATTR */, 0, 28},
	{0x401c5820, 28, 0},
	{0x81009431 /* GETFSLABEL */, 0, 256},
	{0x8004f50c /* F2FS_IOC_GET_FEATURES */, 0, 4},
	{0xc0045877 /* FIFREEZE */, 0, 0},
	{0xc0045878, 0, 0},
	{0xc0185879 /* FITRIM */, 24, 24},
	/* sockets and network interfaces */
	{0x8901 /* FIOSETOWN */, 4, 0},
	{0x8902, 4, 0},
	{0x8903, 0, 4},
	{0x8904, 0, 4},
	{0x8905 /* SIOCATMARK */, 0, 4},
	{0x8906 /* SIOCGSTAMP */, 0, 16},
	{0x8907, 0, 16},
	{0x80108906 /* SIOCGSTAMP_NEW */, 0, 16},
	{0x80108907, 0, 16},
	{0x8910 /* SIOCGIFNAME */, 0, 40},
	{0x8913, 0, 40},
	{0x8914, 0, 40},
	{0x8915, 0, 40},
	{0x8916, 0, 40},
	{0x8917, 0, 40},
	{0x8918, 0, 40},
	{0x8919, 0, 40},
	{0x891a, 0, 40},
	{0x891b, 0, 40},
	{0x891c, 0, 40},
	{0x891d, 0, 40},
	{0x891e, 0, 40},
	{0x8921 /* SIOCGIFMTU */, 0, 40},
	{0x8922, 0, 40},
	{0x8923, 0, 40},
	{0x8924, 0, 40},
	{0x8927 /* SIOCGIFHWADDR */, 0, 40},
	{0x8933 /* SIOCGIFINDEX */, 0, 40},
	{0x8942, 0, 40},
	{0x8943, 0, 40},
	{0x8b01 /* SIOCGIWNAME */, 0, 32},
	{0x890b /* SIOCADDRT: gaps between its fields */, 0, 0},
	{0x890c /* SIOCDELRT */, 0, 0},
	{0x8970 /* SIOCGIFMAP */, 0, 40},
	{0x894c /* SIOCGSKNS */, 0, 0},
	{0x89a0 /* SIOCBRADDBR */, 1, 0},
	{0x89a1, 1, 0},
	{0x89a2 /* SIOCBRADDIF */, 0, 0},
	{0x89a3, 0, 0},
	{0x400454ca /* TUNSETIFF */, 40, 40},
	{0x400454cb, 0, 0},
	{0x800454cf, 0, 4},
	{0x800454d2, 0, 40},
	{0x400454cc /* TUNSETOWNER */, 0, 0},
	{0x400454cd, 0, 0},
	{0x400454ce, 0, 0},
	{0x400454d0, 0, 0},
	{0x401054d5 /* TUNATTACHFILTER */, 0, 0},
	{0x401054d6, 0, 0},
	{0x801054db /* TUNGETFILTER */, 0, 16},
	{0x400454e2 /* TUNSETCARRIER */, 4, 0},
	{0x800454d3 /* TUNGETSNDBUF */, 0, 4},
	{0x400454d4, 4, 0},
	{0x800454d7 /* TUNGETVNETHDRSZ */, 0, 4},
	{0x400454d8, 4, 0},
	{0x400454d9 /* TUNSETQUEUE */, 40, 0},
	{0x400454dc, 4, 0},
	{0x800454dd, 0, 4},
	{0x400454de, 4, 0},
	{0x800454df, 0, 4},
	/* block devices, loop devices */
	{0x125e /* BLKROGET */, 0, 4},
	{0x125f /* BLKRRPART */, 0, 0},
	{0x1260 /* BLKGETSIZE */, 0, 8},
	{0x1261 /* BLKFLSBUF */, 0, 0},
	{0x1268 /* BLKSSZGET */, 0, 4},
	{0x1277 /* BLKDISCARD */, 16, 0},
	{0x1278, 0, 4},
	{0x1279, 0, 4},
	{0x127a, 0, 4},
	{0x127b /* BLKPBSZGET */, 0, 4},
	{0x127e, 0, 2},
	{0x80081270 /* BLKBSZGET */, 0, 4},
	{0x80081272 /* BLKGETSIZE64 */, 0, 8},
	{0x301 /* HDIO_GETGEO */, 0, 16},
	{0x4c00 /* LOOP_SET_FD */, 0, 0},
	{0x4c01, 0, 0},
	{0x4c04, 232, 0},
	{0x4c05, 0, 232},
	{0x4c0a, 304, 0},
	{0x4c82 /* LOOP_CTL_GET_FREE */, 0, 0},
	/* namespaces, epoll, counters, clocks, random numbers */
	{0xb701 /* NS_GET_USERNS */, 0, 0},
	{0xb702, 0, 0},
	{0xb703, 0, 0},
	{0xb704, 0, 4},
	{0x40088a01 /* EPIOCSPARAMS */, 8, 0},
	{0x80088a02, 0, 8},
	{0x40044900 /* INOTIFY_IOC_SETNEXTWD */, 0, 0},
	{0x2400 /* PERF_EVENT_IOC_ENABLE */, 0, 0},
	{0x2401, 0, 0},
	{0x2402, 0, 0},
	{0x2403, 0, 0},
	{0x40082404, 8, 0},
	{0x80082407 /* PERF_EVENT_IOC_ID */, 0, 8},
	{0x80247009 /* RTC_RD_TIME */, 0, 36},
	{0x7b9 /* IOCTL_VM_SOCKETS_GET_LOCAL_CID */, 0, 4},
	{0x80045200 /* RNDGETENTCNT */, 0, 4},
};

/* Those whose output has no fixed size */
static uint8_t output_of(unsigned long req)
{
	return req == 0x8912 /* SIOCGIFCONF */ ? IO_IFCONF : req == 0xc020660b ? IO_FIEMAP : 0;
}

/* Requests that never wait. Others may, for a terminal's output (tcdrain) or its lock, or for a disk. */
static int is_quick_request(unsigned int req)
{
	switch (req) {
	case 0x5401: /* TCGETS */
	case 0x540f: /* TIOCGPGRP */
	case 0x5411: /* TIOCOUTQ */
	case 0x5413: /* TIOCGWINSZ */
	case 0x541b: /* FIONREAD */
	case 0x5421: /* FIONBIO */
	case 0x5450: /* FIONCLEX */
	case 0x5451: /* FIOCLEX */
	case 0x5452: /* FIOASYNC */
		return 1;
	}
	return 0;
}

long sys_ioctl(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	unsigned long req = (unsigned int)a[1];
	struct sys_info s = {is_quick_request((unsigned int)req) ? CLASS_QUICK : CLASS_REC, 3, {{0}}, {{0}}};
	char who[232];

	if (req == 0x8940 /* SIOCGIFBR */ || req == 0x8941)
		return sys_bridges(t, a);
	s.out[0] = (struct io){output_of(req), 2, 0, 0};
	if (s.out[0].how)
		return sys_do(t, &s, SYS_ioctl, a);
	for (unsigned i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++) {
		if (ioctls[i].req != req)
			continue;
		if (!ioctls[i].in && !ioctls[i].out)
			s.nargs = 2; /* the third register has an arbitrary value, or a number that is not compared */
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

/* ---- calls with commands ---- */

struct command {
	uint16_t nr;
	uint8_t cmd_arg, ptr_arg;
	uint32_t cmd;
	uint16_t out; /* bytes */
	uint8_t len_arg; /* with out 0: as many bytes as the result, at most this argument */
};

static const struct command commands[] = {
	{SYS_semctl, 2, 3, 2 /* IPC_STAT */, 104, 0},
	{SYS_semctl, 2, 3, 18 /* SEM_STAT */, 104, 0},
	{SYS_semctl, 2, 3, 20 /* SEM_STAT_ANY */, 104, 0},
	{SYS_semctl, 2, 3, 3 /* IPC_INFO */, 40, 0},
	{SYS_semctl, 2, 3, 19 /* SEM_INFO */, 40, 0},
	{SYS_msgctl, 1, 2, 2, 120, 0},
	{SYS_msgctl, 1, 2, 11 /* MSG_STAT */, 120, 0},
	{SYS_msgctl, 1, 2, 13 /* MSG_STAT_ANY */, 120, 0},
	{SYS_msgctl, 1, 2, 3, 32, 0},
	{SYS_msgctl, 1, 2, 12 /* MSG_INFO */, 32, 0},
	{SYS_keyctl, 0, 2, 6 /* DESCRIBE */, 0, 3},
	{SYS_keyctl, 0, 2, 11 /* READ */, 0, 3},
	{SYS_keyctl, 0, 2, 17 /* GET_SECURITY */, 0, 3},
	{SYS_syslog, 0, 1, 2 /* READ */, 0, 2},
	{SYS_syslog, 0, 1, 3 /* READ_ALL */, 0, 2},
	{SYS_syslog, 0, 1, 4 /* READ_CLEAR */, 0, 2},
	{SYS_quotactl, 0, 3, 0x800004 /* Q_GETFMT */, 4, 0},
	{SYS_quotactl, 0, 3, 0x800005 /* Q_GETINFO */, 24, 0},
	{SYS_quotactl, 0, 3, 0x800007 /* Q_GETQUOTA */, 72, 0},
	{SYS_quotactl, 0, 3, 0x800009, 80, 0},
	{SYS_quotactl, 0, 3, 0x5803 /* Q_XGETQUOTA */, 112, 0},
	{SYS_quotactl, 0, 3, 0x5809, 112, 0},
	{SYS_quotactl, 0, 3, 0x5805 /* Q_XGETQSTAT */, 80, 0},
	{SYS_quotactl, 0, 3, 0x5808, 160, 0},
	{SYS_quotactl_fd, 1, 3, 0x800004, 4, 0},
	{SYS_quotactl_fd, 1, 3, 0x800005, 24, 0},
	{SYS_quotactl_fd, 1, 3, 0x800007, 72, 0},
	{SYS_quotactl_fd, 1, 3, 0x800009, 80, 0},
};

long sys_command(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 5, {{0}}, {{0}}};

	/* callers of keyctl leave arbitrary values in the registers after a command's arguments */
	s.nargs = nr == SYS_msgctl || nr == SYS_syslog ? 3 : nr == SYS_keyctl ? 2 : 4;
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *c = &commands[i];
		uint32_t cmd = (uint32_t)a[c->cmd_arg];

		if (nr == SYS_quotactl || nr == SYS_quotactl_fd)
			cmd >>= 8; /* the rest is the type of quota */
		if (c->nr != nr || c->cmd != (nr == SYS_semctl || nr == SYS_msgctl ? cmd & ~0x100u : cmd))
			continue;
		s.out[0] = c->out ? (struct io){IO_FIXED, c->ptr_arg, 0, c->out}
				  : (struct io){IO_RET, c->ptr_arg, c->len_arg, 1};
		break;
	}
	return sys_do(t, &s, nr, a);
}

/* GETALL: two bytes for each semaphore. */
static void walk_getall(struct outs *o, const long *a, long ret, void *arg)
{
	if (ret < 0)
		return;
	outs_add(o, arg, 8);
	outs_add(o, (void *)a[3], *(uint64_t *)arg * 2);
}

long sys_semctl(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	long b[6] = {a[0], a[1], a[2], a[3]}, cmd = a[2] & ~0x100l;
	uint64_t ds[13] = {0}, n = 0;

	if (cmd == 13 /* GETALL */) {
		/* struct semid64_ds: the number of semaphores is the word at 80 */
		if (G.mode == SHIM_RECORD && raw4(SYS_semctl, a[0], 0, 2 /* IPC_STAT */, ds) >= 0)
			n = ds[10];
		return sys_do_walk(t, SYS_semctl, a, 4, 0, walk_getall, &n);
	}
	if (cmd == 0 /* IPC_RMID */ || cmd == 11 || cmd == 12 || cmd == 14 || cmd == 15)
		b[3] = 0; /* GETPID, GETVAL, GETNCNT, GETZCNT: the register has an arbitrary value */
	return sys_command(t, nr, b, 0);
}

long sys_fcntl(struct thr *t, long nr, const long *a, ucontext_t *uc)
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
		b[2] = 0; /* not an argument: the register has an arbitrary value */
		break;
	case F_GETLK:
	case 36: /* F_OFD_GETLK */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 32};
		/* fall through */
	case F_SETLK:
	case F_SETLKW:
	case 37: /* F_OFD_SETLK */
	case 38: /* F_OFD_SETLKW */
		s.in[0] = (struct io){IO_FIXED, 2, 0, 4}; /* padding follows */
		s.in[1] = (struct io){IO_FIXED, 2, 8, 16};
		break;
	case 1036: /* F_SET_RW_HINT */
	case 1038: /* F_SET_FILE_RW_HINT */
	case 15: /* F_SETOWN_EX */
		s.in[0] = (struct io){IO_FIXED, 2, 0, 8};
		break;
	case 1035: /* F_GET_RW_HINT */
	case 1037: /* F_GET_FILE_RW_HINT */
	case 16: /* F_GETOWN_EX */
		s.out[0] = (struct io){IO_FIXED, 2, 0, 8};
		break;
	}
	return sys_do(t, &s, SYS_fcntl, b);
}

/* The number of arguments that an option has, including itself. The registers of the others are not compared. */
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
	case PR_GET_CHILD_SUBREAPER:
		return 4;
	}
	return 0;
}

long sys_prctl(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	int option = (int)a[0];
	struct sys_info s = {CLASS_QUICK, prctl_args(option), {{0}}, {{0}}};

	switch (option) {
	case PR_SET_NAME: /* also in replay, so that a debugger shows it */
		s.in[0] = (struct io){IO_FIXED, 1, 0, 1};
		raw2(SYS_prctl, PR_SET_NAME, a[1]);
		break;
	case 0x41555856: /* PR_GET_AUXV */
		s.out[0] = (struct io){IO_RET, 1, 2, 1};
		s.nargs = 3;
		G.auxv_files = 1;
		return sys_do(t, &s, SYS_prctl, a);
	case PR_SET_MM:
		if (a[1] == 15 /* PR_SET_MM_MAP_SIZE */)
			s.out[0] = (struct io){IO_FIXED, 2, 0, 4};
		return sys_do(t, &s, SYS_prctl, a);
	case 62: /* PR_SCHED_CORE */
		if (a[1] == 0)
			s.out[0] = (struct io){IO_FIXED, 4, 0, 8};
		return sys_do(t, &s, SYS_prctl, a);
	case PR_GET_SECCOMP:
		return seccomp_mode();
	case PR_SET_SECCOMP: {
		long call[6] = {a[1] == 1 ? 0 : 1 /* strict, filter */, 0, a[1] == 1 ? 0 : a[2]};

		return seccomp_call(t, SYS_seccomp, call, uc);
	}
	case PR_GET_TSC: /* the recorder's own setting is not the program's */
		if (!sys_readable((const void *)a[1], 4))
			return -14;
		*(int *)a[1] = t->tsc_faults ? PR_TSC_SIGSEGV : PR_TSC_ENABLE;
		return 0;
	case PR_SET_TSC:
		return tsc_set(t, a[1]);
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH */
		note(RLOG_NOTE_REFUSED_SYSCALL, SYS_prctl, "prctl: dispatch of system calls");
		return -22;
	case PR_SET_CHILD_SUBREAPER:
		if (a[1] && G.mode == SHIM_RECORD)
			__atomic_store_n(&G.control->subreapers, 1, __ATOMIC_RELAXED);
		break;
	case PR_SET_VMA: /* names for mappings */
		return -22;
	}
	if (prctl_out(option))
		s.out[0] = (struct io){IO_FIXED, 1, 0, prctl_out(option)};
	return sys_do(t, &s, SYS_prctl, a);
}
