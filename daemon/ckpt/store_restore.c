/* SPDX-License-Identifier: MIT */
/*
 * store_restore.c: from a stored checkpoint back to a process. The shared lock keeps it from
 * removal.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "ckpt/store_int.h"

/* Writes into the existing file, if there is one, since others have it mapped. */
static int put_back(const char *from, const char *to, struct err *e)
{
	cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat have, want;

	if (in < 0 || fstat(in, &want))
		return err_errno(e, ERR_INTERNAL, "%s", from);
	if (out < 0 || fstat(out, &have) || (have.st_size != want.st_size && ftruncate(out, want.st_size)))
		return err_errno(e, ERR_INTERNAL, "%s", to);
	return copy_fd(in, out, e);
}

static int put_files_back(const char *dir, const json_t *files, struct err *e)
{
	size_t i;
	json_t *f;

	json_array_foreach(files, i, f)
	{
		cleanup_free char *from = str_fmt("%s/files/%zu", dir, i);
		const char *to = json_string_value(f);

		if (!to || *to != '/')
			return err_set(e, ERR_USAGE, "%s: damaged ckpt.json", dir);
		if (put_back(from, to, e))
			return -1;
	}
	return 0;
}

static bool same(const struct ckpt_meta *a, const struct ckpt_meta *b)
{
	return a->event == b->event && a->process == b->process && a->variant == b->variant &&
	       a->sched_crc == b->sched_crc;
}

int ckpt_store_restore(const struct ckpt_store *s, const struct ckpt_env *env, const struct ckpt_meta *m, pid_t *pid,
		       struct err *e)
{
	cleanup_free char *dir = store_dir(s, m->id), *images = path_join(dir, "images");
	cleanup_close int lock = store_lock(dir, LOCK_SH);
	json_auto_t *files = NULL;
	struct ckpt_meta now;
	struct err ignored;

	if (lock < 0 || store_read_meta(s, m->id, &now, &files, &ignored) || !same(m, &now))
		return err_set(e, ERR_NOT_FOUND, "checkpoint %llu is gone", (unsigned long long)m->id);
	if (store_content_bytes(dir) != now.bytes)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %llu is damaged", (unsigned long long)m->id);
	if (put_files_back(dir, files, e))
		return -1;
	return ckpt_restore(env, images, pid, e);
}
