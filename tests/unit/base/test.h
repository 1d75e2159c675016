/* SPDX-License-Identifier: MIT */
/* test.h: cmocka with the headers it wants before it, and a scratch folder for a group of tests. */
#ifndef FRED_TESTS_BASE_TEST_H
#define FRED_TESTS_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/str.h"

/* Group set-up and tear-down: *state is the path of an empty folder. */
static inline int scratch_up(void **state)
{
	char *dir = xstrdup("/tmp/fred-base.XXXXXX");

	*state = mkdtemp(dir);
	return *state ? 0 : -1;
}

static inline int scratch_down(void **state)
{
	int r = rm_rf(*state, NULL);

	free(*state);
	return r;
}

#endif
