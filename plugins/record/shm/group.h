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
/*
 * A number in the group for memory that this process shares: that of the file with this device and inode, or, for 0, 0,
 * a new one for anonymous memory.
 */
uint32_t group_region(uint64_t dev, uint64_t ino);
int group_has_region(uint64_t dev, uint64_t ino); /* has a process of this group mapped that file writable? */
/*
 * Before a system call that changes a file: if a process of the group has mapped that file, its region's number + 1,
 * else 0. The call is made with the turn; then group_file_changed() is called.
 */
uint32_t group_file(long nr, const long *a);
void group_file_changed(uint32_t region);
/*
 * The same in a process that is in no group, whose writes to the file show in its own mappings. It joins, so that these
 * are followed. Replay: as the log says.
 */
void group_before_write(struct thr *t, long nr, const long *a);
/*
 * Writes to the journal, which the other processes read: the page has changed. PAGES_ALL: any page of that region may
 * have; region ~0: any page.
 */
#define PAGES_ALL 0xffffffffu
#define REGIONS_ALL 0x7fffu
#define LOOKED 0x8000u /* a bit beside the region: the page was looked at, not changed */
void group_journal(uint32_t region, uint32_t page, int own);
/*
 * group_own: from this turn on, this process has the page OWNED (pages_turn.c). group_look: it looks at the page,
 * whose contents are `now` (NULL: not known); if another process has the page OWNED, that one is told.
 */
void group_own(uint32_t region, uint32_t page);
void group_look(uint32_t region, uint32_t page, const void *now);
const void *group_base(uint64_t base); /* the page as it was at this entry of the journal; NULL: no longer known */
/*
 * Waiting for an object in shared memory, and waking those that wait. The wait ends at a wake-up after `seen`, at a
 * signal, or after a while. 0, or -EINTR.
 */
uint32_t group_seen(const void *obj);
long group_wait(const void *obj, uint32_t seen);
void group_wake(const void *obj);

/* --- pages.c --- */
enum region_kind { REGION_ANON = 1, REGION_FILE, REGION_SYSV };
/*
 * A mapping was made that others may share. kept: struct stat of the file of which the recording has a copy, or NULL.
 */
void pages_mapped(uint64_t lo, uint64_t len, int prot, enum region_kind kind, uint64_t dev, uint64_t ino, uint64_t off,
		  const uint64_t *kept);
void pages_unmapped(uint64_t lo, uint64_t len);
void pages_protected(uint64_t lo, uint64_t len, int prot);
/*
 * A mapping is about to be moved or resized. If all of it is moved, it is followed there: 1, and pages_moved() is
 * called later. A part of a mapping, or one that stays at its address as well (to_len 0), is treated as private memory
 * from here on: 0.
 */
int pages_move(struct thr *t, uint64_t from, uint64_t len, uint64_t to_len);
void pages_moved(uint64_t from, uint64_t to, uint64_t len);
/* The same memory was mapped at another address as well: mremap of 0 bytes. */
void pages_duplicated(uint64_t from, uint64_t to, uint64_t len);
uint64_t pages_attached(const void *p); /* bytes of the System V segment that was attached there, 0: none */
int pages_any(void); /* are there such mappings? */
int pages_of_file(uint64_t dev, uint64_t ino); /* is that file mapped? */
int pages_at(const void *p); /* is p in such a mapping? */
int pages_range(const void *p, uint64_t len);
void pages_begin(void); /* from here on, the mappings are followed */
void pages_enter(void);
void pages_leave(void);
void pages_publish(void); /* tells the others what was written so far, without giving up the turn */
void pages_pin(const void *p); /* the kernel may write at p when a process dies */
void pages_kernel_word(struct thr *t, const uint32_t *word); /* has the kernel set FUTEX_OWNER_DIED in the word? */
void pages_settle(void); /* before a fork */
int pages_fault(struct thr *t, uint64_t addr, int writes);
/* SIGBUS past the end of a mapped file. 1: in a replay of an access that succeeded; the page is there now, to try
 * again. 0: the program gets the signal. */
int pages_past_end(struct thr *t, uint64_t addr, ucontext_t *uc);
/* Makes memory that the kernel is about to read, or to write, accessible. */
void pages_touch(const void *p, uint64_t len, int writes);
void pages_stale(uint32_t region, uint32_t page); /* the page is to be looked at again */
void pages_replay(struct thr *t); /* applies the changes that the next records contain */

long sys_put(void *to, const void *from, size_t n); /* copies into memory of the program. 0, or -EFAULT */

/* --- alias.c --- */
long spare_place(long len); /* replay: a free range of len bytes, at an address that no mapping of the program's gets */
/* replay: the page of a file past its former end becomes zeros; 0: not a page of such a mapping */
int pages_grown(uint64_t page);
/*
 * Replay: gives a copy of the process memory of its own in place of what a fork would share with the original.
 * alias_own_make is called in the copy while the original is stopped; alias_own_take installs the result there. NULL:
 * there is no such memory.
 */
struct alias_own;
struct alias_own *alias_own_make(void);
void alias_own_take(struct alias_own *own);
/*
 * For a child that is forked next: made before the fork, taken in the child, dropped in the parent. Out: NULL as above.
 * 0, or -1: it cannot be made, or there are more than `most` bytes of such mappings.
 */
int alias_own_try(uint64_t most, struct alias_own **out);
void alias_own_drop(struct alias_own *own);

#endif
