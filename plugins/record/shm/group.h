/* SPDX-License-Identifier: MIT */
/*
 * group.h: processes of one recording that share writable memory. See group.c (whose turn it is) and pages.c
 * (what the others changed).
 */
#ifndef FRED_RECORD_GROUP_H
#define FRED_RECORD_GROUP_H

#include "record/core/state.h"

#include <ucontext.h>

/* --- group.c --- */
/* Recording: this process joins, if it has not yet. Replay: as the log says. */
void group_begin(struct thr *t);
void group_enter(struct thr *t); /* waits until it is this process's turn */
void group_leave(void);
void group_yield(struct thr *t); /* leaves, and enters again after others that wait */
void group_fault(void); /* the process has looked at a page */
int group_wanted(void); /* does another process wait for the turn? */
void group_fork_child(void);
/* A new number of the group's for memory that it shares: of a file with this device and inode, or 0, 0: anonymous. */
uint32_t group_region(uint64_t dev, uint64_t ino);
int group_has_region(uint64_t dev,
		     uint64_t ino); /* has a process of this one's group mapped that file to write there? */
/*
 * A system call that changes a file which a process of the group has mapped: its region's number + 1, else 0. It is
 * made with the turn; then group_file_changed().
 */
uint32_t group_file(long nr, const long *a);
void group_file_changed(uint32_t region);
/*
 * The same in a process that is alone: what it writes there shows in its own mappings. It joins, so that they are
 * followed. Replay: as the log says.
 */
void group_before_write(struct thr *t, long nr, const long *a);
/* The journal: pages that changed, for the others to read. PAGES_ALL: any of that region; region ~0: all. */
#define PAGES_ALL 0xffffffffu
#define REGIONS_ALL 0x7fffu
#define LOOKED 0x8000u /* beside the region: the page was looked at, not changed */
void group_journal(uint32_t region, uint32_t page, int own);
/*
 * This process has the page OWNED (pages_turn.c) from this turn on. And: it looks at the page, as it is now (NULL: that
 * is not known): if another one has it OWNED, that one is told.
 */
void group_own(uint32_t region, uint32_t page);
void group_look(uint32_t region, uint32_t page, const void *now);
const void *group_base(uint64_t base); /* of a journal's entry: the page as it was; NULL: it is gone */
/*
 * Waits and wake-ups for an object in shared memory. The wait ends at a wake-up after `seen`, a signal, or
 * after a while. 0, or -EINTR.
 */
uint32_t group_seen(const void *obj);
long group_wait(const void *obj, uint32_t seen);
void group_wake(const void *obj);

/* --- pages.c --- */
enum region_kind { REGION_ANON = 1, REGION_FILE, REGION_SYSV };
/* A mapping that others may share was made. kept: struct stat of the file that the recording has a copy of, or NULL. */
void pages_mapped(uint64_t lo, uint64_t len, int prot, enum region_kind kind, uint64_t dev, uint64_t ino, uint64_t off,
		  const uint64_t *kept);
void pages_unmapped(uint64_t lo, uint64_t len);
void pages_protected(uint64_t lo, uint64_t len, int prot);
/*
 * About to be moved or resized. A whole mapping is followed to where it goes: 1, and pages_moved() comes after. If it
 * is a part, or stays there as well (to_len 0), it is like private memory from here on: 0.
 */
int pages_move(struct thr *t, uint64_t from, uint64_t len, uint64_t to_len);
void pages_moved(uint64_t from, uint64_t to, uint64_t len);
/* The same memory was mapped at another address as well: mremap of 0 bytes. */
void pages_duplicated(uint64_t from, uint64_t to, uint64_t len);
uint64_t pages_attached(const void *p); /* bytes of the System V segment that was attached there, 0: none */
int pages_any(void); /* are there such mappings? */
int pages_of_file(uint64_t dev, uint64_t ino); /* of this file? */
int pages_at(const void *p); /* is this in one? */
int pages_range(const void *p, uint64_t len);
void pages_begin(void); /* from here on they are followed */
void pages_enter(void);
void pages_leave(void);
void pages_publish(void); /* what was written so far, while the turn goes on */
void pages_pin(const void *p); /* the kernel may write there when a process dies */
void pages_kernel_word(struct thr *t, const uint32_t *word); /* it has set FUTEX_OWNER_DIED there? */
void pages_settle(void); /* before a fork */
int pages_fault(struct thr *t, uint64_t addr, int writes);
/* SIGBUS past the end of a mapped file. 1: in a replay of an access that succeeded; the page is there now, to try
 * again. 0: the program gets the signal. */
int pages_past_end(struct thr *t, uint64_t addr, ucontext_t *uc);
/* Makes memory that the kernel is about to read, or to write, accessible. */
void pages_touch(const void *p, uint64_t len, int writes);
void pages_stale(uint32_t region, uint32_t page); /* to be looked at again */
void pages_replay(struct thr *t); /* takes over what the next records bring */

long sys_put(void *to, const void *from, size_t n); /* into memory of the program. 0, or -EFAULT */

/* --- alias.c --- */
long spare_place(long len); /* replay: for so many bytes where no program's mapping comes */
int pages_grown(uint64_t page); /* replay: zeros in a file's page after the end that it had; 0: of no such mapping */
/*
 * Replay: gives a copy its own memory in place of what a fork would share with the original: made in the copy while its
 * original is stopped, and taken there. NULL: there is no such memory.
 */
struct alias_own;
struct alias_own *alias_own_make(void);
void alias_own_take(struct alias_own *own);

#endif
