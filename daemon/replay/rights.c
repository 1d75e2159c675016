/* SPDX-License-Identifier: MIT */
/* rights.c: see rights.h. */
#include "replay/rights.h"

#include <ftw.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cell/userns.h"
#include "rlog/replay.h"

/* Beside its threads: copies for looking at states (trace/fork.c), and those of the same user's other cells. */
enum { PROCESSES_OF_A_CELL = 2048, PROCESSES_OF_A_USER = 4096 };
#define WRITTEN (64ull << 20) /* bytes: of what a called function writes (debug/spoken.h) */

static uid_t owner_of(const struct rec *rec)
{
	struct stat st;

	return stat(rec->dir, &st) ? 0 : st.st_uid;
}

static int give(const char *path, const struct stat *st, int type, struct FTW *where)
{
	struct stat top;

	(void)type;
	(void)where;
	return !stat(REPLAY_DIR, &top) && st->st_uid != top.st_uid ? lchown(path, top.st_uid, (gid_t)-1) : 0;
}

/* What is made here for the process is its user's: root may replay anybody's recording. */
int rights_hand_over(const struct rec *rec, struct err *e)
{
	uid_t owner = confine_may_change_id() ? owner_of(rec) : 0;

	if (owner && (chown(REPLAY_DIR, owner, (gid_t)-1) || nftw(REPLAY_DIR, give, 8, FTW_MOUNT | FTW_PHYS)))
		return err_errno(e, ERR_HOST, "cannot give the files in " REPLAY_DIR " to user %u", owner);
	return 0;
}

/*
 * Chosen anew for each start, so that each has a count of processes of its own. 0: the caller's, whose processes the
 * kernel counts (an ordinary user's), or who may not choose.
 */
static uint32_t own_id(void)
{
	uint32_t r = 0;

	if (userns_is_own() || !confine_may_change_id() || getrandom(&r, sizeof(r), 0) != sizeof(r))
		return 0;
	return 0x60000000u + r % 0x10000000u;
}

/* Above what hosts and containers use; of a set-up with limits: room for copies, other cells, and the worker itself. */
struct launch_confine rights_of(const struct rec *rec, const struct rec_image *img, bool output)
{
	uint32_t id = own_id();
	struct statvfs s;

	return (struct launch_confine){
		.filter = !userns_is_own(),
		.own_id = id,
		.file_uid = owner_of(rec),
		.processes = (id ? PROCESSES_OF_A_CELL : PROCESSES_OF_A_USER) + img->nthreads,
		.file_size = output && !statvfs(REPLAY_DIR, &s) ? s.f_blocks * s.f_frsize / 2 : WRITTEN,
	};
}
