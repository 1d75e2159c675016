/* SPDX-License-Identifier: MIT */
/* rec_made.h: the recording that is damaged: two processes, made up, with all kinds of files; or that of
 * $FUZZ_RECORDING. */
#ifndef FRED_TEST_FUZZ_REC_MADE_H
#define FRED_TEST_FUZZ_REC_MADE_H

#include "script.h"

struct rec_made {
	char dir[256]; /* of a copy, without its REC/files */
	struct script_file *f; /* meta.json is the first one */
	unsigned n;
};

/* Once. What fails ends the program. The folder is removed at its end. */
struct rec_made *rec_made(void);
/* Writes f[].now; meta.json with the sum that it has of itself, if it is JSON: else no damage in it would get further.
 */
void rec_made_write(const struct rec_made *m);

#endif
