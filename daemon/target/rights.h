/* SPDX-License-Identifier: MIT */
/*
 * rights.h: what a replaying process may do (launch/confine.h), depending on its cell and on the owner of the
 * recording.
 */
#ifndef FRED_TARGET_RIGHTS_H
#define FRED_TARGET_RIGHTS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "launch/confine.h"
#include "reclog/rec.h"

/* The rights for one start. output: the process writes what the program wrote (REPLAY_F_OUTPUT). */
struct launch_confine rights_of(const struct rec *rec, const struct rec_image *img, bool output);
/*
 * Of a replay in a plain cell, which has no root of its own: the files that are left to an image and to these FORK
 * images, a list that ends with 0; on_host: the host's, too. Their files for output are made.
 */
struct rights_files {
	struct strv read, write;
};
int rights_files_init(struct rights_files *f, const struct rec *rec, const struct rec_image *root,
		      const uint32_t *images, bool on_host, struct err *e);
/* The same for launch/confine.h; valid as long as f is. */
struct landlock_paths rights_files_paths(const struct rights_files *f);
void rights_files_fini(struct rights_files *f);
/* Can a plain cell replay the process, starting with `base`, and confine it on this host? Else ERR_HOST. */
int rights_check_plain(const struct rec *rec, const struct rec_image *base, uint32_t root, uint32_t process,
		       struct err *e);
/*
 * Gives the files in REPLAY_DIR that belong to a process to the user that it runs as: root may replay anybody's
 * recording.
 */
int rights_hand_over(const struct rec *rec, struct err *e);

#endif
