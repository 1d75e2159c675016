/* SPDX-License-Identifier: MIT */
/*
 * sys.h: what the sys_*.c share: how a system call is described, and the steps of recording and replaying it. The table
 * is dispatch/syscalls.def.
 *
 *   sys.c        the steps of one call
 *   sys_records.c  the records of a call, written and read
 *   mem_file.c   what is written to /proc/self/mem
 *   refs.c       what is read from files that do not change
 *   sys_data.c   the memory that a call reads and writes
 *   sys_map.c    mmap, brk and others; copies of mapped files
 *   sys_remap.c  mremap
 *   sys_advice.c madvise
 *   sys_msg.c    calls with many or nested outputs: messages, native AIO
 *   sys_req.c    ioctl, fcntl, prctl and others: by request
 *   sys_shm.c    System V shared memory
 *   sys_walk.c   rare ones with nested outputs: bpf and the like
 *   sys_show.c   standard output and error, for those who watch a replay
 *   sys_again.c, sys_rest.c  calls that the recorder's own signal has interrupted
 *   seccomp.c    the program's own filters
 *   bounce.c     calls on memory that processes share
 */
#ifndef FRED_RECORD_SYS_H
#define FRED_RECORD_SYS_H

#include "record/core/state.h"

/* The classes of syscalls.def; CLASS_OWN: with a function of its own. */
enum sys_class { CLASS_UNKNOWN = 0, CLASS_REC, CLASS_QUICK, CLASS_MEM, CLASS_RAW, CLASS_OWN, CLASS_NOSYS };

/* Such a function: records or replays the call, and returns its result. uc: the trap's context, NULL from a wrapper. */
typedef long sys_call(struct thr *t, long nr, const long *a, ucontext_t *uc);

enum io_how {
	IO_END = 0,
	IO_STR,
	IO_BYTES,
	IO_FIXED,
	IO_IOV,
	IO_MSG,
	IO_ADDR,
	IO_RET,
	IO_RETMUL,
	IO_FIXED_ERR,
	IO_ARGMUL,
	IO_ARGMUL_EINTR,
	IO_VALRES,
	IO_FDSET,
	IO_IFCONF,
	IO_FIEMAP,
	IO_ARRAY,
};

struct io {
	uint8_t how, arg, len_arg; /* IO_FIXED, what is read: len_arg is the offset */
	uint16_t n;
};

struct sys_info {
	uint8_t cls, nargs;
	struct io in[2], out[4];
};

#define PIECES 16

static inline void put_bytes(uint8_t *d, const uint8_t *s, uint64_t n)
{
	__builtin_memcpy(d, s, n);
}

/* --- auxv_file.c --- */
void vdso_auxv_gives(uint64_t at,
		     uint64_t addr); /* the program's vector says addr in place of the kernel's, at this offset */
void vdso_auxv_opened(const char *path, long fd); /* fd: the result of an open */
void vdso_auxv_read(long nr, const long *a, long ret); /* recording, after a call; only if G.auxv_files */

/* --- sys.c --- */
/* A call by int 0x80, whose number and structures are those of 32-bit programs: refused, with a note. */
long sys_refuse_32bit(struct thr *t, long nr);
/* Stores the operands of a call's record: number, arguments, checksum of the inputs. Returns how many there are. */
unsigned sys_pack(uint64_t *op, long nr, const long *a, unsigned nargs, uint32_t check);
/* Recording: write the two records of a call: SYS, and SYSRET with the k pieces of v. */
void sys_rec(struct thr *t, const uint64_t *op, unsigned n);
void sys_rec_ret(struct thr *t, long ret, const struct piece *v, int k);
/* As sys_rec_ret, for a call that may have read from a file. */
void sys_rec_ret_of(struct thr *t, long nr, const long *a, long ret, const struct piece *v, int k);
/*
 * As sys_rec and sys_rec_ret, for a call without output that must take effect before another thread runs, in a serial
 * recording too.
 */
void sys_rec_stay(struct thr *t, const uint64_t *op, unsigned n);
void sys_rec_ret_point(struct thr *t, long ret);
/*
 * Replaying: the first compares the SYS record; the second takes the SYSRET record, fills in the outputs and returns
 * the result.
 */
void sys_replay(struct thr *t, const uint64_t *op, unsigned n);
long sys_replay_ret(struct thr *t, const struct sys_info *s, const long *a, const uint32_t *before);
/* As sys_replay_ret, for a call without outputs: other threads may run before the second half. */
long sys_replay_end(struct thr *t, const long *a);
/* Replay: if the next record is the call's result, *ret is that: 1. */
int sys_result_ahead(const struct thr *t, long *ret);
/* A recordable call: results from the kernel when recording, from the log when replaying. */
long sys_do(struct thr *t, const struct sys_info *s, long nr, const long *a);

/* Notes for the user that a call was refused; returns -ENOSYS. */
long sys_refuse(struct thr *t, long nr);

/* --- sys_data.c --- */
uint32_t sys_check_inputs(const struct sys_info *s, const long *a);
/* before: the value-result lengths before the call; after it, the kernel reports the full ones */
void sys_lens_before(const struct sys_info *s, const long *a, uint32_t *before);
/* Stores the pieces of memory that a call with this result has written, in v[PIECES]. Returns how many there are. */
int sys_out_pieces(const struct sys_info *s, const long *a, long ret, const uint32_t *before, struct piece *v);
/* The memory that a call in progress may write to, as far as its arguments alone tell. */
int sys_out_room(const struct sys_info *s, const long *a, struct piece *v);
/* How many of the first n bytes the iovec has room for. */
uint64_t sys_iov_len(const struct iovec *iov, unsigned long cnt, uint64_t n);
uint32_t sys_check_iov(uint32_t crc, const struct iovec *v, unsigned long n);
/*
 * A real call that may wait, between wait_begin and wait_end: goes on if only the recorder's own signal has interrupted
 * it (sys_again.c).
 */
long sys_wait_call(struct thr *t, long nr, const long *a);
/*
 * Does what such a signal has left undone (sys_rest.c). ret: what the call has returned; control_room: as before the
 * call.
 */
long sys_wait_rest(struct thr *t, long nr, const long *a, long ret, uint64_t control_room);
uint64_t sys_control_room(long nr, const long *a); /* bytes of control data that a message has room for */
/* does it keep the turn, as calls of CLASS_QUICK do? That depends on its descriptor */
int sys_answers_at_once(long nr, const long *a);
/*
 * Recording one thread at a time: lets other threads run if this one yields or asks for the time again and again, since
 * it may wait for them.
 */
void sys_let_others(struct thr *t, long nr);
/*
 * The time in ns for which the call sleeps, if it does nothing else; 0: it is no such call, or the time is not known.
 */
uint64_t sys_sleep_ns(long nr, const long *a);
/* The signal mask with which the call waits and runs handlers, if it is not the thread's; NULL. */
const uint64_t *sys_waits_with(long nr, const long *a);

/* --- sys_msg.c --- */
/*
 * The outputs of a call one after the other, where the table cannot describe them: a walk names them in order, and is
 * called to count, to write and to read them. A length precedes the output to which it belongs.
 */
struct outs {
	enum { OUTS_COUNT, OUTS_WRITE, OUTS_READ } mode;
	uint64_t total;
	uint8_t *to;
	const uint8_t *from, *end;
};
void outs_add(struct outs *o, void *p, uint64_t n);
typedef void outs_walk(struct outs *o, const long *a, long ret, void *arg);
/* A recordable call with outputs that `walk` names. */
long sys_do_walk(struct thr *t, long nr, const long *a, unsigned nargs, uint32_t check, outs_walk *walk, void *arg);
sys_call sys_mmsg;
sys_call sys_vmsplice;
sys_call record_io_setup, replay_io_setup, record_io_destroy, replay_io_destroy, sys_io_submit, sys_io_getevents;

/* --- mem_file.c --- */
void mem_file_opened(const char *path, long flags, long fd); /* fd: the result of an open */
void mem_file_written(struct thr *t, long nr, const long *a, long ret); /* after a call; only if G.mem_files */

/* --- sys_walk.c --- */
sys_call sys_bpf;
sys_call sys_sysfs;
sys_call sys_setsockopt;
long sys_bridges(struct thr *t, const long *a); /* ioctl with SIOCGIFBR or SIOCSIFBR */

/* --- refs.c --- */
void refs_opened(long fd); /* fd now belongs to another file; negative: to none */
/*
 * Recording: a call has read ret bytes, the piece v. 1: a copied file has them, and *ref says which file and where; 0:
 * they must go into the log.
 */
int refs_find(long nr, const long *a, long ret, const struct piece *v, struct rlog_ref *ref);
/* Replaying: fills the piece. */
void refs_read(const struct rlog_ref *ref, const struct piece *v);
void refs_fork_child(void);

/* --- sys_map.c --- */
/* A call that changes the address space: it is also made when replaying, and must have the same result. */
long sys_mem(struct thr *t, long nr, const long *a, unsigned nargs);
sys_call record_mmap, replay_mmap;
sys_call sys_ldt;
static inline int sys_is_error(long ret)
{
	return ret < 0 && ret > -4096;
}

/* --- sys_remap.c --- */
sys_call record_mremap, replay_mremap;

/* --- sys_advice.c --- */
long sys_advise(const long *a); /* makes the call; returns the kernel's result */
void sys_advice_child(void); /* replay: in the child of a replayed fork */

/* --- sys_shm.c --- */
sys_call record_shmat, replay_shmat, record_shmdt, replay_shmdt, sys_shmctl;

/* --- sys_req.c --- */
sys_call sys_ioctl;
sys_call sys_fcntl;
sys_call sys_prctl;
/* What semctl, msgctl, quotactl, keyctl and syslog write depends on the command. */
sys_call sys_semctl;
sys_call sys_command;

/* --- limits.c --- */
int limits_are_ours(long nr, const long *a); /* getrlimit, setrlimit, prlimit64: about RLIMIT_NOFILE of this process? */
long limits_call(struct thr *t, const struct sys_info *s, long nr, const long *a);
void limits_before_exec(void); /* the kernel's limits become those that the program has set */

/* --- seccomp.c --- */
/* seccomp(2): the recorder stores and evaluates the program's own filters. */
sys_call seccomp_call;
int seccomp_mode(void); /* as prctl(PR_GET_SECCOMP) gives it */
#define SECCOMP_STRICT (~0u) /* thr.filter: SECCOMP_MODE_STRICT */
struct seccomp_data;
uint32_t seccomp_decide(uint32_t number,
			const struct seccomp_data *d); /* SECCOMP_RET_*, by filter `number` and those before it */

/* --- sys_copy.c: calls that bring bytes from one descriptor to another --- */
static inline int sys_copies(long nr)
{
	return nr == SYS_sendfile || nr == SYS_splice || nr == SYS_tee || nr == SYS_copy_file_range;
}

long sys_copy(struct thr *t, long nr, const long *a); /* recording: makes the call */
/* Both modes, after the call: what it has copied to standard output or error, as events of their own. */
void sys_copy_log(struct thr *t, long nr, const long *a, long ret);

/* --- bounce.c --- */
/*
 * bounce_in: the arguments of a system call, with buffers of the recorder's in place of shared memory; bounce_out:
 * copies the results back.
 */
const long *bounce_in(const struct sys_info *s, const long *a, long *b);
void bounce_out(const struct sys_info *s, const long *a, const long *b, long ret, const uint32_t *before);

/* --- sys_show.c --- */
void sys_set_outputs(uint64_t map); /* replay: rlog_image.outputs */
/* Replay: keeps track of which descriptors are the first standard output and error, and shows what is written there. */
void sys_show(struct thr *t, long nr, const long *a, long ret);
uint32_t sys_shown(unsigned long fd); /* replay: which of those fd is, if somebody watches; else 0 */
void sys_show_copied(uint64_t stamp, unsigned long fd, const void *p, uint64_t n); /* replay: this went there */
/* Recording: three words that identify a file, which may have several descriptors. -1: there is no such descriptor. */
int sys_show_identify(long fd, uint64_t *id);
/* 1: the recording's standard output, 2: its error, 0: neither. When both are the same file, error_first decides. */
uint32_t sys_show_output(long fd, int error_first);
/* The same at the record of a write whose result is next, before its event, which may be the last one. 1: done. */
int sys_show_ahead(struct thr *t, long nr, const long *a);
/*
 * Both modes: after a call by which the program may have got another descriptor for one of those, which is an event of
 * its own.
 */
void sys_show_given(struct thr *t, long nr, const long *a, long ret);

#endif
