/* SPDX-License-Identifier: MIT */
/* store.c: reading, removing and thinning the store. See store.h for its rules. */
#include "ckpt/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "ckpt/policy.h"
#include "ckpt/store_int.h"

/*
 * The kernel and the processor, for example "6.1.0-1 Intel(R) Xeon(R) ...": an image holds their register state and
 * vDSO.
 */
static char *host_key(void)
{
	cleanup_buf struct buf cpu = {0};
	struct utsname u = {0};
	struct err ignored;
	const char *model = NULL;

	uname(&u);
	if (!read_file("/proc/cpuinfo", &cpu, &ignored))
		model = strstr(buf_str(&cpu), "model name\t: ");
	model = model ? model + 13 : "unknown processor";
	return str_fmt("%s %.*s", u.release, (int)strcspn(model, "\n"), model);
}

int ckpt_store_open(const char *root, struct ckpt_store **out, struct err *e)
{
	struct ckpt_store *s;

	if (mkdir_p(root, 0700, e))
		return -1;
	s = xcalloc(1, sizeof(*s));
	s->root = xstrdup(root);
	s->host = host_key();
	*out = s;
	return 0;
}

void ckpt_store_free(struct ckpt_store *s)
{
	if (!s)
		return;
	free(s->root);
	free(s->host);
	free(s);
}

char *store_dir(const struct ckpt_store *s, uint64_t id)
{
	return str_fmt("%s/%llu", s->root, (unsigned long long)id);
}

int store_lock(const char *dir, int operation)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, operation | LOCK_NB)) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

static uint64_t folder_bytes(const char *path)
{
	cleanup_closedir DIR *d = opendir(path);
	uint64_t sum = 0;
	struct dirent *de;
	struct stat st;

	while (d && (de = readdir(d)))
		if (!fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	return sum;
}

uint64_t store_content_bytes(const char *dir)
{
	cleanup_free char *images = path_join(dir, "images"), *files = path_join(dir, "files");

	return folder_bytes(images) + folder_bytes(files);
}

static int parse_meta(const json_t *o, struct ckpt_meta *m, struct err *e)
{
	uint64_t process, variant, crc;

	if (json_get_u64(o, "event", &m->event, e) || json_get_u64(o, "process", &process, e) ||
	    json_get_u64(o, "rung", &variant, e) || json_get_u64(o, "sched_crc", &crc, e) ||
	    json_get_bool(o, "keep", &m->keep, e) || json_get_u64(o, "created", &m->created, e) ||
	    json_get_u64(o, "bytes", &m->bytes, e) || json_get_real(o, "cost_s", &m->cost_s, e))
		return -1;
	m->process = (uint32_t)process;
	m->variant = (uint32_t)variant;
	m->sched_crc = (uint32_t)crc;
	return 0;
}

static int check_origin(const struct ckpt_store *s, const json_t *o, struct err *e)
{
	const char *host;
	uint64_t format;

	if (json_get_u64(o, "format", &format, e) || json_get_str(o, "host", &host, e))
		return -1;
	if (format != STORE_FORMAT)
		return err_set(e, ERR_USAGE, "format %llu is not known", (unsigned long long)format);
	if (!str_eq(host, s->host))
		return err_set(e, ERR_USAGE, "made on another host (%s)", host);
	return 0;
}

int store_read_meta(const struct ckpt_store *s, uint64_t id, struct ckpt_meta *m, json_t **files, struct err *e)
{
	cleanup_free char *path = str_fmt("%s/%llu/ckpt.json", s->root, (unsigned long long)id);
	json_auto_t *o = json_load_path(path, e);
	json_t *list;

	*m = (struct ckpt_meta){.id = id};
	if (!o)
		return -1;
	if (check_origin(s, o, e) || parse_meta(o, m, e) || json_get_arr(o, "files", &list, e))
		return err_wrap(e, "%s", path);
	if (files)
		*files = json_incref(list);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct ckpt_meta *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void ckpt_list_fini(struct ckpt_list *l)
{
	free(l->v);
	*l = (struct ckpt_list){0};
}

int ckpt_store_list(const struct ckpt_store *s, struct ckpt_list *out, struct err *e)
{
	cleanup_closedir DIR *d = opendir(s->root);
	struct dirent *de;

	*out = (struct ckpt_list){0};
	if (!d)
		return err_errno(e, ERR_INTERNAL, "%s", s->root);
	while ((de = readdir(d))) {
		struct ckpt_meta m;
		struct err ignored;
		uint64_t id;

		if (str_u64(de->d_name, 10, 1, UINT64_MAX, &id) || store_read_meta(s, id, &m, NULL, &ignored))
			continue;
		out->v = xreallocarray(out->v, out->n + 1, sizeof(*out->v));
		out->v[out->n++] = m;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare);
	return 0;
}

int ckpt_store_get(const struct ckpt_store *s, uint64_t id, struct ckpt_meta *out, struct err *e)
{
	cleanup_free char *dir = store_dir(s, id);

	if (!path_is_dir(dir))
		return err_set(e, ERR_USAGE, "no checkpoint %llu", (unsigned long long)id);
	return store_read_meta(s, id, out, NULL, e);
}

int ckpt_store_nearest(const struct ckpt_store *s, const struct ckpt_meta *like, struct ckpt_meta *out, struct err *e)
{
	__attribute__((cleanup(ckpt_list_fini))) struct ckpt_list l = {0};
	int found = 0;

	if (ckpt_store_list(s, &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++) {
		const struct ckpt_meta *m = &l.v[i];

		if (m->process != like->process || m->variant != like->variant || m->sched_crc != like->sched_crc ||
		    m->event > like->event)
			continue;
		*out = *m;
		found = 1;
	}
	return found;
}

/* Renames the folder, so that it is no checkpoint any more, and deletes it. The caller holds its lock. */
static int delete_locked(const struct ckpt_store *s, const char *dir, struct err *e)
{
	cleanup_free char *gone = str_fmt("%s/%sXXXXXX", s->root, STORE_TMP);

	/* mkdtemp finds a free name; renaming a folder over an empty one replaces it. */
	if (!mkdtemp(gone) || rename(dir, gone))
		return err_errno(e, ERR_INTERNAL, "cannot remove %s", dir);
	return rm_rf(gone, e);
}

int ckpt_store_remove(const struct ckpt_store *s, uint64_t id, struct err *e)
{
	cleanup_free char *dir = store_dir(s, id);
	cleanup_close int lock = store_lock(dir, LOCK_EX);

	if (lock < 0 && errno == EWOULDBLOCK)
		return 1;
	if (lock < 0 && errno == ENOENT)
		return err_set(e, ERR_USAGE, "no checkpoint %llu", (unsigned long long)id);
	if (lock < 0)
		return err_errno(e, ERR_INTERNAL, "%s", dir);
	return delete_locked(s, dir, e);
}

static bool is_damaged(const struct ckpt_store *s, uint64_t id)
{
	cleanup_free char *dir = store_dir(s, id);
	struct ckpt_meta m;
	struct err ignored;

	return store_read_meta(s, id, &m, NULL, &ignored) || store_content_bytes(dir) != m.bytes;
}

/* Removes one entry of the root folder if it is garbage and nobody has locked it. */
static int sweep_entry(const struct ckpt_store *s, const char *name, struct ckpt_gc_result *r, struct err *e)
{
	cleanup_free char *path = path_join(s->root, name);
	cleanup_close int lock = -1;
	uint64_t id;
	bool tmp = str_starts(name, STORE_TMP);

	if (!tmp && (str_u64(name, 10, 1, UINT64_MAX, &id) || !is_damaged(s, id)))
		return 0;
	lock = store_lock(path, LOCK_EX);
	if (lock < 0)
		return 0;
	/* Before the lock was taken, it may have been replaced by a good one. */
	if (!tmp && !is_damaged(s, id))
		return 0;
	if (tmp ? rm_rf(path, e) : delete_locked(s, path, e))
		return -1;
	*(tmp ? &r->leftovers : &r->damaged) += 1;
	return 0;
}

static int sweep(const struct ckpt_store *s, struct ckpt_gc_result *r, struct err *e)
{
	cleanup_closedir DIR *d = opendir(s->root);
	struct strv names = {0};
	struct dirent *de;
	int rc = 0;

	if (!d)
		return err_errno(e, ERR_INTERNAL, "%s", s->root);
	while ((de = readdir(d)))
		strv_add(&names, de->d_name);
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = sweep_entry(s, names.s[i], r, e);
	strv_fini(&names);
	return rc;
}

/* Thins the checkpoints v[0..n), which are of one process. */
static int thin(const struct ckpt_store *s, const struct ckpt_meta *v, size_t n, const struct ckpt_limits *l,
		struct ckpt_gc_result *r)
{
	cleanup_free struct ckpt_point *p = xcalloc(n, sizeof(*p));
	cleanup_free bool *drop = xcalloc(n, sizeof(*drop));
	struct err ignored;

	for (size_t i = 0; i < n; i++)
		p[i] = (struct ckpt_point){v[i].event, v[i].bytes, v[i].keep};
	ckpt_policy_thin(p, n, l->total, l->max_count, l->max_bytes, drop);
	for (size_t i = 0; i < n; i++)
		/* A checkpoint that is in use stays; the next gc removes it. */
		if (drop[i] && !ckpt_store_remove(s, v[i].id, &ignored))
			r->thinned++;
	return 0;
}

int ckpt_store_gc(const struct ckpt_store *s, const struct ckpt_limits *limits, struct ckpt_gc_result *result,
		  struct err *e)
{
	__attribute__((cleanup(ckpt_list_fini))) struct ckpt_list l = {0};
	struct ckpt_gc_result r = {0};

	if (sweep(s, &r, e) || ckpt_store_list(s, &l, e))
		return -1;
	for (size_t from = 0, to; limits && from < l.n; from = to) {
		for (to = from; to < l.n && l.v[to].process == l.v[from].process;)
			to++;
		thin(s, l.v + from, to - from, limits, &r);
	}
	if (result)
		*result = r;
	return 0;
}
