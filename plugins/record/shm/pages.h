/* SPDX-License-Identifier: MIT */
/*
 * pages.h: what the pages*.c share (group.h is for the others).
 *
 *   mappings.c     the table of mappings
 *   pages.c        the states of pages, replay
 *   pages_turn.c   the beginning and the end of a turn
 *   pages_fault.c  a page is touched
 *   pages_diff.c   what differs in a page
 *   pages_map.c    mappings that come and go
 *   pages_remap.c  mremap
 *   alias.c        replay: memory that the process has mapped more than once
 */
#ifndef FRED_RECORD_PAGES_H
#define FRED_RECORD_PAGES_H

#include "record/core/state.h"
#include "record/shm/group.h"

#define MAPPINGS 512u
#define PAGE 4096ul

enum {
	STALE = 0,
	READ = 1,
	WRITE = 2,
	STATE = 3,
	MAY_READ = 4,
	MAY_WRITE = 8,
	GONE = 16,
	PINNED = 32,
	MAY_EXEC = 64,
	OWNED = 128
};
#define MAY (MAY_READ | MAY_WRITE | MAY_EXEC)

/* How this process uses a page of a mapping that is followed (pages_turn.c). */
struct page_use {
	uint8_t looks; /* this many changes by others are looked at before it becomes STALE */
	uint8_t heat; /* how often it was written lately */
	uint8_t listed; /* compared at the end of each turn */
	uint8_t writes : 1; /* was written */
	uint8_t unknown : 1; /* its shadow is not what the process has there */
	uint32_t owned_in; /* the turn since which it is OWNED */
};

struct mapping {
	uint64_t lo, hi; /* hi 0: free */
	uint32_t region, first; /* the group's number; page of it at lo */
	enum region_kind kind;
	uint8_t may; /* MAY_* of the mapping, while it is not followed */
	uint64_t dev, ino;
	uint64_t kept[18]; /* struct stat of the file, by which the recording's copy of it is named; all 0: none */
	uint8_t *state, *shadow; /* a byte for each page; what the process knows of the memory; NULL: not followed */
	struct page_use *use; /* for each page */
};

struct pages {
	struct mapping maps[MAPPINGS];
	uint32_t nmaps; /* entries ever used */
	uint64_t lo, hi; /* all mappings are in this range */
};
extern struct pages pages;

static inline uint8_t *page_at(const struct mapping *m, uint32_t i)
{
	return (uint8_t *)(m->lo + i * PAGE);
}

static inline uint8_t *shadow_at(const struct mapping *m, uint32_t i)
{
	return m->shadow + i * PAGE;
}

static inline const uint8_t *known_at(const struct mapping *m, uint32_t i)
{
	return m->use[i].unknown ? 0 : shadow_at(m, i);
}

static inline uint32_t pages_of(const struct mapping *m)
{
	return (uint32_t)((m->hi - m->lo) / PAGE);
}

/* --- pages.c --- */
/* Logs what differs between `was` (NULL: nothing is known) and `page`, as a change at the address `at`. */
void pages_log(struct thr *t, const uint8_t *at, const uint8_t *page, const uint8_t *was);
/* The contents of page i, as in `now`, are known, in each mapping of them. */
void pages_know(struct mapping *m, uint32_t i, const uint8_t *now);

/* --- pages_turn.c --- */
void pages_opened(struct mapping *m, uint32_t i); /* page i is no longer STALE */
void pages_disown(struct mapping *m, uint32_t i); /* an OWNED page becomes one that is listed */
void pages_pin_page(struct mapping *m, uint32_t i); /* pins page i, which can be written */
/* page i can be written, and others may have seen it: it is compared at the end of each turn */
void pages_list(struct mapping *m, uint32_t i);

/* --- pages_diff.c --- */
/*
 * Writes the differences as pieces: offset (2 bytes), length (2 bytes), bytes; at most 2 * PAGE in all. Returns their
 * length; 0: the pages are equal.
 */
uint64_t pages_diff(const uint8_t *was, const uint8_t *now, uint8_t *out);
uint64_t pages_whole(const uint8_t *now, uint8_t *out); /* all of it, as pieces */
int pages_equal(const uint8_t *a, const uint8_t *b);
/* Copies what differs. 1: something did. */
int pages_copy_changes(uint8_t *to, const uint8_t *from);

/* --- mappings.c --- */
/* Zeroed memory of the recorder's own. */
void *pages_alloc(uint64_t len);
struct mapping *mapping_of(uint64_t a); /* or NULL */
/*
 * Around a change of the table, for a few instructions, since threads of a parallel recording may map at the same time.
 */
void mappings_lock(void);
void mappings_unlock(void);
void mappings_widen(uint64_t lo, uint64_t hi); /* widens pages.lo, pages.hi for a new mapping */
void mapping_states(struct mapping *m); /* allocates state and use, all 0 */
void mapping_forget(const struct mapping *m); /* frees those and the shadow */
int mapping_prot(const struct mapping *m, uint64_t a); /* PROT_*, at an address of it */
/* What the process knows of a mapping that is followed from here on: new memory, or an error as raw_failed() tells. */
void *pages_shadow(const struct mapping *m);
/*
 * The next mapping of the process, from *k on, that also has page i of m; m itself is left out. *j: the page's number
 * there; *k: where to go on. NULL: no more. Pages that were unmapped are left out.
 */
struct mapping *mapping_alias(const struct mapping *m, uint32_t i, uint32_t *k, uint32_t *j);
/* Do both map the same memory? They need not overlap. */
int mapping_same(const struct mapping *a, const struct mapping *b);
/* Sets the states of pages [i, end), and protects them accordingly. */
void pages_set(struct mapping *m, uint32_t i, uint32_t end, uint8_t state);
/* PROT_* as MAY_*. */
uint8_t pages_may(int prot);
/* Does the page exist? An access past the end of a file is a SIGBUS, which the program is to get. */
int page_is_backed(const struct mapping *m, const uint8_t *page);

/* --- alias.c --- */
/* A mapping was made: the parts of it that other mappings have as well become the same memory. */
void alias_join(const struct mapping *m);
/* From here on, page i of m, a file's, exists: it contains zeros. */
void alias_make_room(const struct mapping *m, uint32_t i);

#endif
