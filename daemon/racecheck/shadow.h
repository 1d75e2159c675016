/* SPDX-License-Identifier: MIT */
/*
 * shadow.h: what is known of each byte of memory: its last write, and the reads since then. Bytes that were always
 * accessed together share one struct shadow_var: 8, 4 or 1 of them.
 */
#ifndef FRED_RACECHECK_SHADOW_H
#define FRED_RACECHECK_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

/* An access: when it was made, and by what. */
struct shadow_mark {
	uint64_t epoch; /* vclock.h; 0: none */
	uint32_t site, hits; /* the caller's: what made it */
};

struct shadow_var {
	struct shadow_mark w, r; /* r.epoch SHADOW_SHARED: r.site is the number of a list */
};
#define SHADOW_SHARED (~0ull)

/* Reads of several threads, of which none knows of another: one for each thread. */
struct shadow_reads {
	struct shadow_mark *v;
	uint32_t n, cap;
};

#define SHADOW_PAGE 4096u
struct shadow_page {
	uint64_t addr;
	uint32_t *cell; /* for each 8 bytes: how they are divided in the two lowest bits, and the first of its vars */
};

#define SHADOW_NEAR 512u /* a power of two */
struct shadow {
	struct table pages; /* of struct shadow_page */
	uint8_t **slab; /* in which all cells are */
	size_t slabs, slab_used; /* used: bytes, in all of them */
	struct shadow_var **chunk; /* all vars */
	uint32_t nvars, chunks;
	uint32_t spare[4]; /* by kind of division: the first of a list of free ones, linked by w.site */
	struct shadow_reads *reads;
	uint32_t nreads, creads, spare_reads;
	/* The pages that were looked up last, by the low bits of their numbers. cell NULL: none. */
	struct {
		uint64_t addr;
		uint32_t *cell;
	} near[SHADOW_NEAR];
};

void shadow_init(struct shadow *s);
void shadow_fini(struct shadow *s);

/* How the 8 bytes of a cell are divided. */
enum shadow_split { SHADOW_NONE = 0, SHADOW_WHOLE, SHADOW_HALVES, SHADOW_BYTES };

/* The cell of the 8 bytes at addr; make: NULL if nothing is known of its page, else never. Valid up to shadow_drop. */
uint32_t *shadow_cell(struct shadow *s, uint64_t addr, bool make);
struct shadow_var *shadow_var_at(const struct shadow *s, uint32_t number);

/*
 * The vars of bytes [from, from + len) of a cell, for an access to these; the cell is divided so that these bytes have
 * vars of their own. *n: how many, consecutively.
 */
struct shadow_var *shadow_vars(struct shadow *s, uint32_t *cell, unsigned from, unsigned len, unsigned *n);
/* The same without dividing the cell: for reading only. NULL: it is divided into larger pieces, or nothing is known. */
struct shadow_var *shadow_peek(const struct shadow *s, uint32_t cell, unsigned from, unsigned len, unsigned *n);
/* All vars of the cell are the same: they become one. */
void shadow_unite(struct shadow *s, uint32_t *cell);
/* All vars that a cell has. */
struct shadow_var *shadow_all(const struct shadow *s, uint32_t cell, unsigned *n);
/* Forgets [addr, addr + len); addr and its end may be in the middle of a cell. */
void shadow_drop(struct shadow *s, uint64_t addr, uint64_t len);

/* The pages that overlap with [addr, addr + len) and of which something is known, in ascending order. The caller frees.
 */
uint64_t *shadow_pages_in(const struct shadow *s, uint64_t addr, uint64_t len, size_t *n);

/* Makes a list of reads; returns its number. */
uint32_t shadow_reads_new(struct shadow *s);
struct shadow_reads *shadow_reads_of(const struct shadow *s, uint32_t number);
void shadow_reads_drop(struct shadow *s, uint32_t number);

/* Has what is known of this byte brought into the processor's cache; far: only how its cell is divided. */
void shadow_prefetch(struct shadow *s, uint64_t addr, bool far);

#endif
