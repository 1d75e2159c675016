/* SPDX-License-Identifier: MIT */
/*
 * tree.h: replaces a root of its own (root.h) where nothing can be mounted: a folder of the cell with copies of the
 * recording's files by their names, from which launch/files.h starts a program. They are copies and not links, since a
 * process shows the real names of the files that it has mapped.
 */
#ifndef FRED_TARGET_TREE_H
#define FRED_TARGET_TREE_H

#include "base/err.h"
#include "base/str.h"
#include "launch/files.h"
#include "reclog/rec.h"

/*
 * Makes the tree at `own`, for an EXEC image and the FORK images of follow. A tree of another image that is there is
 * removed.
 */
int tree_make(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, const char *own,
	      struct err *e);

/* How a program in a tree is executed. */
struct tree_start {
	struct launch_files files;
	struct strv argv; /* for a script: those of its interpreter */
	struct launch_identity *shown;
	char *dir, *name, *linker;
};
/* tree_start_fini in any case. */
int tree_start_init(struct tree_start *s, const struct rec *rec, const struct rec_image *img, const char *own,
		    struct err *e);
void tree_start_fini(struct tree_start *s);

#endif
