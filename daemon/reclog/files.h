/* SPDX-License-Identifier: MIT */
/*
 * files.h: pNNNN/files: what a process image was started from (the program, its interpreter, the dynamic linker and its
 * cache, libraries), and the files with code that it mapped later. Copies are in REC/files.
 */
#ifndef FRED_RECLOG_FILES_H
#define FRED_RECLOG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "reclog/rec.h"

struct rec_file {
	const char *copy; /* its name in REC/files */
	const char *path; /* as the program named it; may be relative to the image's cwd; "": not known */
	const char *real; /* the absolute path where it really was */
	uint64_t base; /* load address; of a file mapped later: the address of its text minus the text's offset in the
			  file; or 0 */
};

struct rec_files {
	struct rec_file *f;
	size_t n;
	char *text; /* what the above point into */
};

/*
 * The files of one image; none when it has no list. An entry that is incomplete, because the recorder was killed, ends
 * the list. A name that the recorder cannot have written is ERR_USAGE.
 */
int rec_files_read(const struct rec *r, uint32_t process, struct rec_files *out, struct err *e);
void rec_files_fini(struct rec_files *l);

#endif
