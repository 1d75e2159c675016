/* SPDX-License-Identifier: MIT */
/*
 * touched.h: which pages of private memory a replay touches. The memory of the process is written into a file, which is
 * mapped privately in its place: then no page is present in the process before it has been touched (/proc/PID/pagemap).
 * This does not change what the process does, except for calls that drop pages or extend mappings: memory for which the
 * window has such calls is left alone. Pages of mapped files (code) are found in the same way: after a restore, none is
 * present.
 */
#ifndef FRED_CUT_TOUCHED_H
#define FRED_CUT_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cut/criu_pages.h"
#include "target/target.h"

/* Memory whose pages are watched, by address. */
struct touched_range {
	uint64_t lo, hi;
	uint64_t offset; /* of lo in the file */
	uint64_t *pages; /* after touched_end, a bit for each page: it is needed */
	int prot;
};

/* A file that the process has mapped, and which of its pages are needed. */
struct touched_file {
	uint64_t inode;
	uint64_t *pages;
	uint64_t npages;
	bool whole; /* the process has unmapped some of it: which pages are needed is not known */
};

struct touched {
	struct touched_range *ranges;
	size_t n;
	struct touched_file *files;
	size_t nfiles;
	struct maps_copy *before; /* the mapped files at the beginning */
	struct maps_copy *mapped; /* the files that the window maps */
	bool lost; /* part of these was unmapped by the end: nothing is known of files that were not mapped before */
	char *path; /* the file */
	uint64_t inode;
};

/*
 * The process has just been restored from the image with these pages, and all its threads wait. dir: where a file can
 * be made; inside: the same folder as the process sees it. from, to: the events of the window. Call touched_fini in any
 * case.
 */
int touched_begin(struct touched *x, struct target *t, const struct criu_pages *pages, const char *dir,
		  const char *inside, uint64_t from, uint64_t to, struct err *e);
/* To be called at the end of the window. */
int touched_end(struct touched *x, struct target *t, struct err *e);
/* Is this page of the image needed? For criu_pages_prune. */
bool touched_keeps(const void *touched, uint64_t addr);
/* Is this page of the file needed? inode: as the mapping of the file has shown it. */
bool touched_needs_file(const struct touched *x, uint64_t inode, uint64_t page);
void touched_fini(struct touched *x);

#endif
