/* SPDX-License-Identifier: MIT */
/*
 * store_add.c: making a checkpoint. It grows in ROOT/tmp.*, locked; ckpt.json is written last and synced; a rename
 * publishes it. The images are not synced: a kill -9 loses nothing of them, and after a power failure their sizes show
 * the damage (store.h: a cache).
 */
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "ckpt/store_int.h"

enum { BEGIN_TRIES = 10 };

/*
 * A new locked temporary folder. Between mkdtemp and flock a gc may take it for a leftover: try
 * again.
 */
static char *make_tmp(const struct ckpt_store *s, int *lock, struct err *e)
{
	for (int i = 0; i < BEGIN_TRIES; i++) {
		cleanup_free char *dir = str_fmt("%s/%sXXXXXX", s->root, STORE_TMP);
		struct stat st, here;

		if (!mkdtemp(dir))
			break;
		*lock = store_lock(dir, LOCK_EX);
		if (*lock >= 0 && !fstat(*lock, &st) && !stat(dir, &here) && st.st_ino == here.st_ino)
			return steal_ptr(&dir);
		cleanup_close_p(lock);
		*lock = -1;
	}
	err_errno(e, ERR_INTERNAL, "cannot make a folder in %s", s->root);
	return NULL;
}

int ckpt_add_begin(const struct ckpt_store *s, struct ckpt_add *a, struct err *e)
{
	cleanup_free char *files = NULL;

	*a = (struct ckpt_add){.store = s, .lock = -1};
	a->dir = make_tmp(s, &a->lock, e);
	if (!a->dir)
		return -1;
	a->images = path_join(a->dir, "images");
	a->files = json_array();
	files = path_join(a->dir, "files");
	if (!mkdir(a->images, 0700) && !mkdir(files, 0700))
		return 0;
	err_errno(e, ERR_INTERNAL, "cannot make folders in %s", a->dir);
	ckpt_add_abort(a);
	return -1;
}

int ckpt_add_file(struct ckpt_add *a, const char *path, struct err *e)
{
	cleanup_free char *to = str_fmt("%s/files/%zu", a->dir, json_array_size(a->files));

	if (copy_file(path, to, e))
		return -1;
	json_array_append_new(a->files, json_string(path));
	return 0;
}

static int write_meta(const struct ckpt_add *a, const struct ckpt_meta *m, struct err *e)
{
	cleanup_free char *path = path_join(a->dir, "ckpt.json");
	json_auto_t *o = json_pack("{s:i s:s s:I s:I s:I s:I s:b s:I s:I s:f s:O}", "format", STORE_FORMAT, "host",
				   a->store->host, "event", (json_int_t)m->event, "process", (json_int_t)m->process,
				   "rung", (json_int_t)m->variant, "sched_crc", (json_int_t)m->sched_crc, "keep",
				   (int)m->keep, "created", (json_int_t)m->created, "bytes", (json_int_t)m->bytes,
				   "cost_s", m->cost_s, "files", a->files);

	if (!o)
		return err_set(e, ERR_INTERNAL, "cannot describe a checkpoint");
	return json_write_path(path, o, 0600, e);
}

int ckpt_store_note_size(const struct ckpt_store *s, uint64_t id, struct err *e)
{
	cleanup_free char *dir = store_dir(s, id), *path = path_join(dir, "ckpt.json");
	json_auto_t *o = json_load_path(path, e);

	if (!o)
		return -1;
	json_object_set_new(o, "bytes", json_integer((json_int_t)store_content_bytes(dir)));
	return json_write_path(path, o, 0600, e);
}

static uint64_t last_id(const struct ckpt_store *s)
{
	cleanup_closedir DIR *d = opendir(s->root);
	uint64_t last = 0, id;
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (!str_u64(de->d_name, 10, 1, UINT64_MAX - 1, &id) && id > last)
			last = id;
	return last;
}

/* Gives the folder the next free number. */
static int publish(struct ckpt_add *a, struct ckpt_meta *m, struct err *e)
{
	for (uint64_t id = last_id(a->store) + 1;; id++) {
		cleanup_free char *dir = store_dir(a->store, id);

		if (!renameat2(AT_FDCWD, a->dir, AT_FDCWD, dir, RENAME_NOREPLACE)) {
			m->id = id;
			return 0;
		}
		if (errno != EEXIST)
			return err_errno(e, ERR_INTERNAL, "cannot make %s", dir);
	}
}

static void add_fini(struct ckpt_add *a)
{
	cleanup_close_p(&a->lock);
	free(a->dir);
	free(a->images);
	json_decref(a->files);
	*a = (struct ckpt_add){.lock = -1};
}

int ckpt_add_commit(struct ckpt_add *a, struct ckpt_meta *m, struct err *e)
{
	m->created = (uint64_t)time(NULL);
	m->bytes = store_content_bytes(a->dir);
	if (write_meta(a, m, e) || publish(a, m, e))
		return -1;
	add_fini(a);
	return 0;
}

void ckpt_add_abort(struct ckpt_add *a)
{
	struct err ignored;

	if (!a->dir)
		return;
	rm_rf(a->dir, &ignored);
	add_fini(a);
}

int ckpt_store_add(const struct ckpt_store *s, const struct ckpt_env *env, pid_t pid, const char *const *files,
		   struct ckpt_meta *m, struct err *e)
{
	double start = clock_s();
	struct ckpt_add a;

	if (ckpt_add_begin(s, &a, e))
		return -1;
	if (ckpt_dump(env, pid, a.images, e))
		goto fail;
	for (; files && *files; files++)
		if (ckpt_add_file(&a, *files, e))
			goto fail;
	m->cost_s = clock_s() - start;
	if (!ckpt_add_commit(&a, m, e))
		return 0;
fail:
	ckpt_add_abort(&a);
	return -1;
}
