/* SPDX-License-Identifier: MIT */
/*
 * check.h: what the programs of this folder share. CHECK counts failures and says where; step() prints
 * one `ok` line per group of checks, so that native, recorded and replayed output can be compared;
 * check_status() is the exit status.
 */
#ifndef FRED_SHIM_CHECK_H
#define FRED_SHIM_CHECK_H

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int check_failed, check_failed_before;

static inline int check_that(int good, const char *what, const char *file, int line)
{
	int saved = errno;

	if (!good) {
		atomic_fetch_add(&check_failed, 1);
		fprintf(stderr, "%s:%d: failed: %s (errno %d, %s)\n", file, line, what, saved,
			strerror(saved));
	}
	errno = saved;
	return good;
}

#define CHECK(cond) check_that(!!(cond), #cond, __FILE__, __LINE__)
/* for what makes no sense to go on without */
#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!CHECK(cond))                                                                  \
			exit(1);                                                                   \
	} while (0)

/* Ends a group of checks: prints "ok NAME" or "not ok NAME". */
static inline void step(const char *name)
{
	int failed = atomic_load(&check_failed);

	printf("%s %s\n", failed == atomic_load(&check_failed_before) ? "ok" : "not ok", name);
	atomic_store(&check_failed_before, failed);
	fflush(stdout);
}

static inline int check_status(void)
{
	return atomic_load(&check_failed) != 0;
}

#endif
