/* SPDX-License-Identifier: MIT */
/*
 * rlog.h: the recording's binary formats. Freestanding: shared by the shim inside the recorded
 * program (which may use no libc) and the daemon.
 *
 * A recording is a directory:
 *   meta.json     what was run, how it ended, and after a clean end a manifest (size, CRC of each file)
 *   control       struct rlog_control, mapped by every recorded process
 *   pNNNN/        one per process image: from exec, or from fork, to its exec or exit
 *     image       struct rlog_image and its strings: how to start this image again
 *     files       what it was started from, and code that it mapped: four strings each, see fred-recording(5)
 *     traps       struct rlog_traps; none if nothing was trapped
 *     tNNNN.log   struct rlog_head, then the records of thread NNNN (1 is the first)
 *     start       of a bounded recording: where the remaining part of this image begins, see fred-recording(5)
 *     ckpt/       with it: the checkpoint from which a replay of that part begins
 *     tNNNN.zst   parts of that log, compressed: see struct rlog_frame; none if nothing was compressed
 *   files/        libfred-record.so as it was used, and copies of files that were mapped or read, named
 *                 "DEV-INO-SIZE-MTIMENS" in hexadecimal
 *
 * A record is: kind (1 byte, events.def), the stamp as a varint (if S: ticks since this thread's
 * previous stamp, the first one since rlog_head.stamp0), the hash byte (if H), the operands as varints, the payload (if
 * P). The writer stores the kind last, so a record is complete exactly when its kind is not 0, and a
 * log ends at the first 0: a program killed at any moment leaves a readable log.
 * Varints are LEB128 (7 bits a byte, low bits first); Z operands are zigzag-coded first.
 *
 * Version rule: any change that an older reader would misread raises RLOG_VERSION; a recording of
 * another version is refused.
 */
#ifndef FRED_RLOG_H
#define FRED_RLOG_H

#include <stdint.h>

#include "rlog/waits.h"

#define RLOG_VERSION 3u
#define RLOG_MAGIC_LOG 0x474f4c44455246ull /* "FREDLOG" */
#define RLOG_MAGIC_IMAGE 0x474d4944455246ull /* "FREDIMG" */
#define RLOG_MAGIC_CONTROL 0x4c544344455246ull /* "FREDCTL" */
#define RLOG_MAGIC_TRAPS 0x504152544445524full /* "OREDTRAP" */
#define RLOG_MAGIC_SCHED 0x44435344455246ull /* "FREDSCD" */

#define RLOG_MAX_THREADS 8192u /* per process image, over its whole life */
#define RLOG_MAX_PROCESSES 9999u
#define RLOG_SHIM_NAME "libfred-record.so"

enum { RF_S = 1, RF_C = 2, RF_H = 4, RF_P = 8, RF_Z = 16 };
#define RLOG_V 255

enum rlog_kind {
	RLOG_END = 0,
#define EVENT(name, number, flags, operands, text) RLOG_##name = number,
#include "rlog/events.def"
#undef EVENT
	RLOG_KIND_LIMIT = 48
};

struct rlog_head {
	uint64_t magic;
	uint32_t version;
	uint32_t process; /* ordinal of the process image */
	uint32_t thread; /* ordinal of the thread in it, from 1 */
	int32_t tid;
	uint64_t stamp0;
	/* offset at which a late record starts, 0: none. It speeds up the search for the log's end */
	uint64_t boundary;
	/* 1: it is not a thread, but a process that shares the memory (CLONE_VM); tid is its PID */
	uint64_t own_process;
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct rlog_head) == 64, "rlog_head");

/*
 * pNNNN/tNNNN.zst: parts of a log that its thread has finished, one after the other. Each is a struct rlog_frame, which
 * zstd skips, and a zstd frame with its checksum. They replace the same range of the log, which may be a hole or cut
 * off. The log's first page is in none of them.
 */
#define RLOG_FRAME_MAGIC 0x184d2a5fu
#define RLOG_FRAME_START 4096u /* where in the log the first part begins */
struct rlog_frame {
	uint32_t magic, skip; /* skip: the bytes after this word that zstd skips */
	uint64_t offset; /* of the part in the log */
	uint32_t bytes; /* the part's length in the log */
	uint32_t packed; /* the length of the zstd frame that follows */
};
_Static_assert(sizeof(struct rlog_frame) == 24, "rlog_frame");

/* pNNNN/image. After the struct: execfn, exe, cwd, then argc + envc strings, each with its NUL. */
enum rlog_origin { RLOG_ORIGIN_EXEC = 1, RLOG_ORIGIN_FORK = 2 };
struct rlog_image {
	uint64_t magic;
	uint32_t version;
	uint32_t process;
	uint32_t parent; /* ordinal of the image that forked or exec'd this one; 0: none */
	uint32_t origin; /* enum rlog_origin; a FORK image has no strings */
	int32_t pid, ppid;
	uint32_t argc, envc;
	uint64_t strings_len;
	uint64_t stack_limit; /* RLIMIT_STACK, soft */
	uint64_t sp; /* initial stack pointer: must be equal at replay */
	uint64_t shim_base; /* load address of the shim: must be equal at replay */
	uint64_t tsc_hz; /* 0: unknown */
	uint64_t start_realtime_ns;
	uint64_t start_stamp;
	uint64_t sig_ignored, sig_blocked; /* at the exec: bit SIGNO - 1 */
	uint64_t outputs; /* EXEC: RLOG_OUTPUTS_KNOWN, and 2 bits for each of the first 16 descriptors: is it
			     the recording's standard output (1), its standard error (2) or neither (0)? And
			     RLOG_NO_CLONE3 */
	/*
	 * if the program made a PID namespace, so that pid cannot be used in a replay: the PID for the replay; else 0
	 */
	uint64_t cell_pid;
};
#define RLOG_OUTPUTS_KNOWN (1ull << 63)
#define RLOG_NO_CLONE3                                                                                                 \
	(1ull << 62) /* clone3 answered ENOSYS, and libc made its threads by clone: so it does in the replay */
_Static_assert(sizeof(struct rlog_image) == 128, "rlog_image");

/* After the strings of an EXEC image, in recordings that have it. */
struct rlog_begin {
	uint64_t uid, euid, gid, egid; /* the process's IDs, as its auxiliary vector has them */
	/*
	 * of the first process: the positions in their files at which its standard output and error began; ~0: it is
	 * not a file, or is always written at its end (O_APPEND)
	 */
	uint64_t out_at[2];
};
_Static_assert(sizeof(struct rlog_begin) == 48, "rlog_begin");

/* REC/control: shared by all recorded processes and the recording client. */
enum rlog_sched { RLOG_SCHED_PARALLEL = 0, RLOG_SCHED_SERIAL = 1, RLOG_SCHED_CHAOS = 2 };
enum rlog_malloc { RLOG_MALLOC_FRED = 0, RLOG_MALLOC_SYSTEM = 1, RLOG_MALLOC_DETECT = 2 /* fred's, with --detect */ };
#define RLOG_NOTES 64

/* What --detect has found: a damaged block of the heap. It is in a note of RLOG_NOTE_DAMAGE, in place of the text. */
enum rlog_damage_kind {
	RLOG_DAMAGE_AFTER = 1, /* a write after the bytes that were asked for */
	RLOG_DAMAGE_BEFORE = 2, /* a write before the block */
	RLOG_DAMAGE_FREED = 3, /* a write after the block was freed */
};
enum rlog_damage_when { RLOG_DAMAGE_AT_FREE = 1, RLOG_DAMAGE_AT_REUSE = 2, RLOG_DAMAGE_AT_END = 3 };
struct rlog_damage {
	uint32_t kind, when; /* enum rlog_damage_kind, enum rlog_damage_when */
	uint64_t memory, size; /* of the block, as the program has them */
	uint64_t header; /* address of struct heap_block */
	uint64_t at; /* the first byte that was changed */
	uint64_t expected, found; /* ... of which these are the values */
	uint64_t thread; /* ordinal of the thread that freed the block or reused it; 0: found at the end */
	uint64_t site; /* the address after the call that allocated it; 0: not known */
	char where[152]; /* the same: "/path/of/libfoo.so+0x12" */
};
struct rlog_note { /* something that the user must know: a refusal, an unrecorded child */
	uint32_t ready; /* 1 once the rest is written */
	uint32_t kind; /* enum rlog_note_kind */
	uint32_t process;
	uint32_t count;
	int64_t number; /* system call number, errno, ... */
	char text[232]; /* NUL-terminated: caller ("libfoo.so+0x12"), path, ... */
};
enum rlog_note_kind {
	RLOG_NOTE_NONE = 0, /* withdrawn: its place is free */
	RLOG_NOTE_REFUSED_SYSCALL = 1, /* number: nr; text: caller; answered with ENOSYS */
	RLOG_NOTE_UNRECORDED_EXEC = 2, /* text: "path: reason" */
	RLOG_NOTE_LOG_FAILED = 3, /* number: errno; the log ends here, and the program went on unrecorded */
	RLOG_NOTE_REFUSED_IOCTL = 4, /* number: request; text: caller */
	RLOG_NOTE_UNSUPPORTED = 5, /* text: what */
	RLOG_NOTE_CHOICE = 6, /* text: how the recorder continued, and why */
	RLOG_NOTE_BOUND = 7, /* text: why the recording could not be kept within its bound */
	/*
	 * number: a thread; text: what it waits for. The last note of a deadlock has the number 0 or
	 * RLOG_DEADLOCK_FOR_EVER. Withdrawn when a thread continues.
	 */
	RLOG_NOTE_DEADLOCK = 8,
	/* as DEADLOCK, for threads that wait for each other while others run; not withdrawn when those continue */
	RLOG_NOTE_CYCLE = 9,
	RLOG_NOTE_DAMAGE = 10, /* number: address of the block; text: struct rlog_damage */
};
/* neither a handler nor another process can end the wait: the client ends the program */
#define RLOG_DEADLOCK_FOR_EVER (-1)
_Static_assert(sizeof(struct rlog_damage) <= sizeof(((struct rlog_note *)0)->text), "rlog_damage");
struct rlog_control {
	uint64_t magic;
	uint32_t version;
	uint32_t next_process; /* atomically incremented: ordinals of process images, first is 1 */
	uint32_t sched; /* enum rlog_sched */
	uint32_t malloc_mode;
	uint64_t chaos_seed;
	uint64_t tsc_hz;
	uint32_t clock; /* 0: rdtsc; 1: shared atomic counter (next_stamp) */
	uint32_t note_count; /* atomically incremented; may exceed RLOG_NOTES */
	uint64_t next_stamp;
	uint64_t output[2][3]; /* device, inode, special device: of the first process's standard output and error */
	uint64_t went_serial; /* a process has recorded a CALL_SERIAL */
	uint64_t client; /* PID of the client that is the parent of the first process; 0: none */
	struct rlog_note note[RLOG_NOTES];
	/* for a bounded recording (--max-log); 0 in others; not in the control page of an older recorder */
	uint64_t log_limit; /* the limit for all logs, including what they have allocated ahead of their threads */
	/* their present size: the recorder adds to it, and the process that removes their oldest parts subtracts */
	uint64_t log_used;
	uint32_t log_chunk; /* how far a log grows at once */
	/* how long that process is taken to be alive: a time of CLOCK_MONOTONIC in tenths of a second */
	uint32_t log_lease;
	uint32_t log_freed; /* futex: +1 when a part was removed */
	uint32_t waiting_count; /* atomically incremented; may exceed RLOG_WAITING */
	struct rlog_waiting waiting[RLOG_WAITING];
	/* for rlog/keeper.h; not in the control page of an older recorder */
	uint64_t secret[2]; /* random numbers: an answer that contains them is for this recording */
	uint64_t dir[2], self[2]; /* device and inode of the recording, and of this page, as the client sees them */
	uint32_t subreapers; /* a process has made itself a subreaper, so it would get the recorder's orphans */
	/*
	 * PID of a process that is about to execute a program with the recorder, and is traced by another process,
	 * which must place the new image (launch/place.h); 0: none. This and the next field are not in the control page
	 * of an older recorder.
	 */
	uint32_t traced_exec;
	uint64_t traced_stack; /* the soft RLIMIT_STACK that this process is to have then */
};

/*
 * pNNNN/traps: which instructions made system calls that were trapped (as no wrapper saw them), and how often. A hash
 * table of RLOG_TRAPS entries, shared by all threads; made at the first trap.
 */
#define RLOG_TRAPS 512u
struct rlog_traps {
	uint64_t magic, others; /* others: calls that had no room in the table */
	struct {
		uint64_t key; /* address after the instruction, and the number << RLOG_TRAP_SHIFT; 0: free */
		uint64_t count;
	} at[RLOG_TRAPS - 1];
};
#define RLOG_TRAP_SHIFT 48
_Static_assert(sizeof(struct rlog_traps) == RLOG_TRAPS * 16, "rlog_traps");

/* The library call that a CALL record is about. New ones come at the end. */
enum rlog_call {
	RLOG_CALL_SPAWN_ERROR = 1, /* posix_spawn's own result */
	RLOG_CALL_GETCPU = 2,
	RLOG_CALL_CANCEL = 3, /* pthread_cancel */
	RLOG_CALL_SERIAL = 4, /* from here on one thread ran at a time (a CALL without CALLRET) */
	RLOG_CALL_RANDOM_DEVICE = 5, /* std::random_device::operator() */
	RLOG_CALL_PIDFD = 6, /* after a fork: the descriptor that CLONE_PIDFD gave */
	RLOG_CALL_TSC = 8, /* rdtsc, rdtscp: the result; payload: the processor (4 bytes) */
	RLOG_CALL_SELF_MEM = 9, /* after a write to /proc/self/mem: the address */
	RLOG_CALL_GROUP = 7, /* from here on in a group of processes that share memory (a CALL without CALLRET) */
	RLOG_CALL_SETXID = 10, /* setuid and its like, in all threads */
	RLOG_CALL_COPIED =
		12, /* after splice and the like, to standard output or error; payload: the bytes, or a part of them */
	RLOG_CALL_RANDOM = 13, /* rdrand, rdseed, rdpid: the result; payload: did it give one? (4 bytes) */
	RLOG_CALL_SPLIT = 14, /* after a PREEMPT: payload: struct split of plugins/record/sched/chaos.h */
	RLOG_CALL_NO_MEMORY = 15, /* the kernel refused memory for the heap: where; payload: how much (8 bytes) */
	RLOG_CALL_OUTPUT = 11, /* a call returned a descriptor of the recording's standard output (4 * descriptor + 1)
				  or error (+ 2) */
	RLOG_CALL_JOINS = 16, /* at the end of an event of a thread that ran side by side with others: from here on it
				 waits for its turn, before it goes on in the program (a CALL without CALLRET) */
	RLOG_CALL_CPUID = 17, /* cpuid: eax and ebx; payload: ecx and edx (8 bytes) */
};

/*
 * Bytes that a call has read from an unchanged file are not in its SYSRET, which has a 0 in place of their length, and
 * then this struct. It says where in a recorded file they are; the call's result is their number.
 */
struct rlog_ref {
	uint64_t dev, ino, size, mtime_ns, part; /* the copy's name, "DEV-INO-SIZE-MTIMENS[-PART]" in hexadecimal */
	uint64_t offset;
	uint32_t sum; /* CRC-32C of the bytes */
	uint32_t reserved;
};
_Static_assert(sizeof(struct rlog_ref) == 56, "rlog_ref");

static inline uint64_t rlog_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t rlog_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* The one-byte hash of an object's address in H records. */
static inline uint8_t rlog_hash_addr(const void *p)
{
	uint64_t v = (uint64_t)(uintptr_t)p;

	return (uint8_t)((v >> 3) ^ (v >> 11) ^ (v >> 19) ^ (v >> 27));
}

/* Writes v at p, returns the byte after it. At most 10 bytes. */
static inline uint8_t *rlog_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Reads a varint in [p, end) into *v; returns the byte after it, or 0 when it does not fit. */
static inline const uint8_t *rlog_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t r = 0;
	unsigned shift = 0;

	while (p < end && shift < 64) {
		uint8_t b = *p++;

		r |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*v = r;
			return p;
		}
		shift += 7;
	}
	return 0;
}

/* One decoded record. Pointers are into the log. */
struct rlog_rec {
	uint8_t kind;
	uint8_t flags;
	uint8_t hash;
	uint8_t nops;
	uint64_t delta; /* S: stamp, relative to the previous one of this thread */
	uint64_t op[10]; /* Z: op[0] is already un-zigzagged (cast to int64_t) */
	const uint8_t *payload;
	uint64_t payload_len;
};

struct rlog_kind_info {
	uint8_t known, flags, nops;
	const char *name;
};

/* enum rlog_read: what rlog_next found */
enum rlog_read { RLOG_READ_OK = 0, RLOG_READ_END = 1, RLOG_READ_BAD = 2 };

/*
 * Decodes the record at *p (before end) into r and moves *p after it. RLOG_READ_END at a 0 kind or at
 * the end of the data; RLOG_READ_BAD when the bytes are no record (unknown kind, or cut short).
 * table: rlog_kinds (rlog/kinds.h).
 */
static inline enum rlog_read rlog_next(const struct rlog_kind_info *table, const uint8_t **p, const uint8_t *end,
				       struct rlog_rec *r)
{
	const uint8_t *q = *p;
	uint64_t n;

	if (q >= end || !*q)
		return RLOG_READ_END;
	r->kind = *q++;
	if (r->kind >= RLOG_KIND_LIMIT || !table[r->kind].known)
		return RLOG_READ_BAD;
	r->flags = table[r->kind].flags;
	r->delta = 0;
	r->hash = 0;
	r->payload = 0;
	r->payload_len = 0;
	if ((r->flags & RF_S) && !(q = rlog_get(q, end, &r->delta)))
		return RLOG_READ_BAD;
	if (r->flags & RF_H) {
		if (q >= end)
			return RLOG_READ_BAD;
		r->hash = *q++;
	}
	n = table[r->kind].nops;
	if (n == RLOG_V) {
		if (!(q = rlog_get(q, end, &n)) || n > 10)
			return RLOG_READ_BAD;
	}
	r->nops = (uint8_t)n;
	for (unsigned i = 0; i < r->nops; i++)
		if (!(q = rlog_get(q, end, &r->op[i])))
			return RLOG_READ_BAD;
	if ((r->flags & RF_Z) && r->nops)
		r->op[0] = (uint64_t)rlog_unzigzag(r->op[0]);
	if (r->flags & RF_P) {
		if (!(q = rlog_get(q, end, &r->payload_len)) || r->payload_len > (uint64_t)(end - q))
			return RLOG_READ_BAD;
		r->payload = q;
		q += r->payload_len;
	}
	*p = q;
	return RLOG_READ_OK;
}

/* Does this SYSRET have a struct rlog_ref? Then gives it. */
static inline int rlog_is_ref(const struct rlog_rec *r, struct rlog_ref *ref)
{
	if (r->kind != RLOG_SYSRET || r->payload_len != 1 + sizeof(*ref) || *r->payload)
		return 0;
	__builtin_memcpy(ref, r->payload + 1, sizeof(*ref));
	return 1;
}

#endif
