/* SPDX-License-Identifier: MIT */
/*
 * lib.h: library locks, for the libc_*.c files: see lib.c. All wrappers have this shape:
 *
 *	int locked = lib_enter(LIB_TZ);
 *	struct tm *ret = REAL(localtime)(when);
 *
 *	lib_leave(LIB_TZ, locked);
 *	return ret;
 *
 * The wrappers are called w_NAME in C, and NAME in the symbol table (by the macro LIBC): the
 * headers' own redirections and inline functions then do not get in the way.
 */
#ifndef FRED_RECORD_LIB_H
#define FRED_RECORD_LIB_H

#include "record/core/real.h"
#include "record/core/state.h"
#include "record/core/tell.h"

#include <stdio.h>

enum lib_id {
	LIB_FILES, /* the list of all FILEs */
	LIB_RANDOM,
	LIB_DRAND48,
	LIB_TZ,
	LIB_ENV,
	LIB_NSS, /* databases, the resolver */
	LIB_SYSLOG,
	LIB_LOCALE,
	LIB_ICONV,
	LIB_EXIT, /* the lists of exit handlers */
	LIB_PROC, /* popen */
	LIB_DEPOT, /* heap.c */
	LIB_DL, /* the dynamic linker */
	LIB_PHDR, /* its list of objects */
	LIB_DIR, /* directory streams, by address: LIB_DIRS locks */
	LIB_DIRS = 32,
	LIB_LOCKS = LIB_DIR + LIB_DIRS,
};

struct lib_lock {
	uint32_t word; /* futex: 0 free, 1 taken, 2 taken and waited for */
	uint32_t owner; /* thread ordinal */
	uint32_t depth;
	uint32_t pad;
};
extern struct lib_lock lib_locks[LIB_LOCKS];

#define LIB_FILE_USER_LOCK 0x8000 /* libio: the program locks this FILE itself */
#define LIB_FILE_PUTTING 0x800 /* libio: the buffer holds what is to be written */

#define LIBC(type, name, params)                                                                                       \
	EXPORT type w_##name params __asm__(#name);                                                                    \
	type w_##name params
/* The real function of a wrapper (LIBC), which need not be declared by a header. */
#define REAL_W(name) ((__typeof__(&w_##name))real_table[REAL_##name])
#define REAL_LATE(name) ((__typeof__(&w_##name))real_late(REAL_##name))

/*
 * One call under a lock. In a copy that reports, `tell` reports what libc has read and written of the program's memory;
 * it may use ret. LIB_CALL: the same with nothing to report; LIB_VOID: the same without a result.
 */
#define LIB_TELLS(lock, type, name, params, args, tell)                                                                \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		int locked = lib_enter(lock);                                                                          \
		type ret = REAL_W(name) args;                                                                          \
                                                                                                                       \
		if (unlikely(shim_report != 0))                                                                        \
			tell;                                                                                          \
		lib_leave(lock, locked);                                                                               \
		return ret;                                                                                            \
	}
#define LIB_CALL(lock, type, name, params, args) LIB_TELLS(lock, type, name, params, args, (void)0)
#define LIB_VOID(lock, name, params, args)                                                                             \
	LIBC(void, name, params)                                                                                       \
	{                                                                                                              \
		int locked = lib_enter(lock);                                                                          \
                                                                                                                       \
		REAL_W(name) args;                                                                                     \
		lib_leave(lock, locked);                                                                               \
	}

/* Slow paths: 1: the lock was taken, and leave must follow. */
int lib_enter_slow(struct lib_lock *l);
void lib_leave_slow(struct lib_lock *l);
int lib_file_enter_slow(FILE *f);
void lib_file_leave_slow(FILE *f);

/* For calls from inside malloc: no signal is delivered at the end. lib_quiet_enter: 1: the lock was taken. */
int lib_quiet_enter(unsigned id);
void lib_quiet_leave(unsigned id);
/* The same from inside the recorder. */
void lib_thread_lock(struct thr *t, unsigned id);
void lib_thread_unlock(struct thr *t, unsigned id);
/* As lib_thread_lock(), but gives up after a while, since the holder may wait for this thread. 1: it has the lock. */
int lib_thread_lock_soon(struct thr *t, unsigned id);

/* What the program's flockfile, funlockfile and ftrylockfile do. */
void lib_file_lock(FILE *f);
void lib_file_unlock(FILE *f);
int lib_file_trylock(FILE *f);

static inline int lib_enter(unsigned id)
{
	return likely(!G.mt) ? 0 : lib_enter_slow(&lib_locks[id]);
}

static inline void lib_leave(unsigned id, int locked)
{
	if (unlikely(locked))
		lib_leave_slow(&lib_locks[id]);
}

static inline int lib_file_enter(FILE *f)
{
	return likely(!G.mt) ? 0 : lib_file_enter_slow(f);
}

static inline void lib_file_leave(FILE *f, int locked)
{
	if (unlikely(locked))
		lib_file_leave_slow(f);
}

void lib_thread_end(struct thr *t); /* releases the locks that the thread still holds */
void lib_fork_child(uint32_t was, struct thr *now); /* was: the ordinal that the thread had in the parent */

#endif
