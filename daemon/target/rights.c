/* SPDX-License-Identifier: MIT */
/* rights.c: see rights.h. */
#include "target/rights.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "cell/plain.h"
#include "cell/userns.h"
#include "launch/launch.h"
#include "reclog/files.h"

/* Besides its threads: copies for examining states (trace/fork.c), and those in other cells of the same user. */
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
	return !stat(cell_dir(), &top) && st->st_uid != top.st_uid ? lchown(path, top.st_uid, (gid_t)-1) : 0;
}

/* The files that are made here for the process get its user: root may replay anybody's recording. */
int rights_hand_over(const struct rec *rec, struct err *e)
{
	uid_t owner = confine_may_change_id() ? owner_of(rec) : 0;

	if (owner && (chown(cell_dir(), owner, (gid_t)-1) || nftw(cell_dir(), give, 8, FTW_MOUNT | FTW_PHYS)))
		return err_errno(e, ERR_HOST, "cannot give the files in %s to user %u", cell_dir(), owner);
	return 0;
}

/*
 * A user ID for one start, so that its processes are counted on their own. 0: the caller's. (If the caller is an
 * ordinary user, the kernel counts by that one; or the caller may not choose.)
 */
static uint32_t own_id(void)
{
	uint32_t r = 0;

	if (userns_is_own() || !confine_may_change_id() || getrandom(&r, sizeof(r), 0) != sizeof(r))
		return 0;
	return 0x60000000u + r % 0x10000000u;
}

/*
 * The rights for one start. With a user ID of its own, only the cell's processes are counted; else all of the user's:
 * those of other cells, too, and the worker.
 */
struct launch_confine rights_of(const struct rec *rec, const struct rec_image *img, bool output)
{
	uint32_t id = own_id();
	struct statvfs s;

	return (struct launch_confine){
		.filter = !userns_is_own(),
		.own_id = id,
		.file_uid = owner_of(rec),
		.processes = (id ? PROCESSES_OF_A_CELL : PROCESSES_OF_A_USER) + img->nthreads,
		.file_size = output && !statvfs(cell_dir(), &s) ? s.f_blocks * s.f_frsize / 2 : WRITTEN,
	};
}

/* What the program's environment names, if it is the recorder. */
static void add_recorder(struct rights_files *f, const struct rec *rec, const struct rec_image *img)
{
	cleanup_free char *copy = str_fmt("%s/files/" RLOG_SHIM_NAME, rec->dir);

	for (char **v = img->envp; *v; v++) {
		cleanup_free char *path =
			str_starts(*v, "LD_PRELOAD=") ? strndup(*v + 11, strcspn(*v + 11, ":")) : NULL;

		if (path && same_bytes(path, copy))
			strv_add(&f->read, path);
	}
}

static int add_image(struct rights_files *f, const struct rec *rec, const struct rec_image *img, bool on_host,
		     struct err *e)
{
	cleanup_free char *out = str_fmt("%s/out.%04u", cell_dir(), img->ordinal);
	cleanup_close int fd = -1;
	struct rec_files l;

	if (rec_files_read(rec, img->ordinal, &l, e))
		return -1;
	for (size_t i = 0; on_host && i < l.n; i++)
		strv_add(&f->read, l.f[i].real);
	rec_files_fini(&l);
	fd = open(out, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, ERR_HOST, "%s", out);
	strv_add(&f->write, out);
	return 0;
}

int rights_files_init(struct rights_files *f, const struct rec *rec, const struct rec_image *root,
		      const uint32_t *images, bool on_host, struct err *e)
{
	const struct rec_image *img;

	*f = (struct rights_files){0};
	strv_add(&f->read, cell_dir());
	strv_add(&f->read, rec->dir);
	strv_addf(&f->write, "%s/ctl.%04u", cell_dir(), root->ordinal);
	if (add_image(f, rec, root, on_host, e))
		return -1;
	if (on_host)
		add_recorder(f, rec, root);
	for (; *images; images++) {
		img = rec_image(rec, *images, e);
		if (!img || add_image(f, rec, img, on_host, e))
			return -1;
	}
	return 0;
}

struct landlock_paths rights_files_paths(const struct rights_files *f)
{
	return (struct landlock_paths){f->read.s, f->write.s};
}

void rights_files_fini(struct rights_files *f)
{
	strv_fini(&f->read);
	strv_fini(&f->write);
}

/* A checkpoint can only be restored in namespaces, where the recorded PIDs are free. */
static int refuse_start(const struct rec *rec, const struct rec_image *base, struct err *e)
{
	return base->start ? err_set(e, ERR_HOST,
				     "%s begins with a checkpoint, as it was bounded (--max-log), and there are no "
				     "checkpoints "
				     "without namespaces (in a container, type: " LAUNCH_CONTAINER
				     "; on a host, run fredctl as root)",
				     rec->dir)
			   : 0;
}

int rights_check_plain(const struct rec *rec, const struct rec_image *base, uint32_t root, uint32_t process,
		       struct err *e)
{
	int version = landlock_version();

	if (refuse_start(rec, base, e))
		return -1;
	if (!version)
		return err_set(e, ERR_HOST,
			       "this host has neither namespaces nor Landlock: the code in a recording could do harm "
			       "here, so it is not replayed (in a container, type: " LAUNCH_CONTAINER
			       "; else boot with lsm=landlock, Linux 5.13 or later)");
	if (version < LANDLOCK_SIGNALS && root != process)
		return err_set(
			e, ERR_HOST,
			"process %u of %s: without namespaces, a process that was forked is replayed on Linux 6.12 "
			"or later only (in a container, type: " LAUNCH_CONTAINER ")",
			process, rec->dir);
	return 0;
}
