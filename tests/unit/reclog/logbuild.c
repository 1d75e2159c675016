/* SPDX-License-Identifier: MIT */
/* logbuild.c: see logbuild.h. */
#include "logbuild.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/reader.h"
#include "reclog/rec.h"

static void must(int r, const struct err *e)
{
	if (!r)
		return;
	fprintf(stderr, "logbuild: %s\n", e->text);
	abort();
}

void lb_init(struct logbuild *lb, uint32_t process, uint32_t thread, uint64_t stamp0)
{
	struct rlog_head head = {
		.magic = RLOG_MAGIC_LOG,
		.version = RLOG_VERSION,
		.process = process,
		.thread = thread,
		.tid = (int32_t)(1000 * process + thread),
		.stamp0 = stamp0,
	};

	*lb = (struct logbuild){.last = stamp0};
	buf_add(&lb->b, &head, sizeof(head));
}

void lb_fini(struct logbuild *lb)
{
	buf_fini(&lb->b);
}

void lb_add_v(struct logbuild *lb, enum rlog_kind kind, uint64_t stamp, uint8_t hash, unsigned nops,
	      const uint64_t *op, const void *payload, size_t len)
{
	const struct rlog_kind_info *info = reader_kind(kind);
	uint8_t *p = (uint8_t *)buf_reserve(&lb->b, 200), *start = p;

	if (info->nops != RLOG_V && info->nops != nops)
		abort();
	*p++ = (uint8_t)kind;
	if (info->flags & RF_S) {
		if (stamp < lb->last)
			abort();
		p = rlog_put(p, stamp - lb->last);
		lb->last = stamp;
	}
	if (info->flags & RF_H)
		*p++ = hash;
	if (info->nops == RLOG_V)
		p = rlog_put(p, nops);
	for (unsigned i = 0; i < nops; i++)
		p = rlog_put(p, !i && (info->flags & RF_Z) ? rlog_zigzag((int64_t)op[0]) : op[i]);
	if (info->flags & RF_P)
		p = rlog_put(p, len);
	buf_added(&lb->b, (size_t)(p - start));
	if (info->flags & RF_P)
		buf_add(&lb->b, payload, len);
}

void lb_add(struct logbuild *lb, enum rlog_kind kind, uint64_t stamp, uint8_t hash, unsigned nops,
	    ...)
{
	uint64_t op[10];
	va_list ap;

	va_start(ap, nops);
	for (unsigned i = 0; i < nops; i++)
		op[i] = va_arg(ap, uint64_t);
	va_end(ap);
	lb_add_v(lb, kind, stamp, hash, nops, op, "", 0);
}

/*
 * ---- recordings
 * -----------------------------------------------------------------------------------
 */

const char *rb_path(const struct recbuild *rb, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", rb->dir, name);
	return path;
}

static void write_meta(struct recbuild *rb, json_t *manifest)
{
	json_t *m =
		json_pack("{s:i, s:s, s:s, s:[s,s], s:s, s:s, s:s, s:{s:i}, s:f, s:b}", "format",
			  (int)RLOG_VERSION, "version", "0.1.0", "program", "/bin/prog", "argv",
			  "prog", "x", "cwd", "/", "sched", "parallel", "malloc", "fred", "exit",
			  "signal", 11, "wall_s", 1.5, "complete", manifest != NULL);
	struct err e;

	if (manifest) {
		json_object_set_new(m, "manifest", manifest);
		rec_seal_meta(m);
	}
	must(json_write_path(rb_path(rb, "meta.json"), m, 0600, &e), &e);
	json_decref(m);
}

void rb_init(struct recbuild *rb, uint64_t clock_hz)
{
	struct rlog_control c = {
		.magic = RLOG_MAGIC_CONTROL,
		.version = RLOG_VERSION,
		.next_process = 1,
		.tsc_hz = clock_hz,
		.clock = !clock_hz,
	};
	struct err e;

	strcpy(rb->dir, "/tmp/test-reclog-XXXXXX");
	if (!mkdtemp(rb->dir))
		abort();
	must(write_file(rb_path(rb, "control"), &c, sizeof(c), 0600, &e), &e);
	write_meta(rb, NULL);
}

void rb_image(struct recbuild *rb, uint32_t process, uint32_t parent, enum rlog_origin origin,
	      uint64_t start_stamp)
{
	static const char strings[] = "prog\0/bin/prog\0/\0prog\0x\0A=1";
	struct rlog_image img = {
		.magic = RLOG_MAGIC_IMAGE,
		.version = RLOG_VERSION,
		.process = process,
		.parent = parent,
		.origin = origin,
		.pid = (int32_t)(1000 * process + 1),
		.start_stamp = start_stamp,
	};
	struct buf b = {0};
	char name[32];
	struct err e;

	if (origin == RLOG_ORIGIN_EXEC) {
		img.argc = 2;
		img.envc = 1;
		img.strings_len = sizeof(strings);
	}
	buf_add(&b, &img, sizeof(img));
	buf_add(&b, strings, img.strings_len);
	snprintf(name, sizeof(name), "p%04u", process);
	if (mkdir(rb_path(rb, name), 0700))
		abort();
	snprintf(name, sizeof(name), "p%04u/image", process);
	must(write_file(rb_path(rb, name), b.data, b.len, 0600, &e), &e);
	buf_fini(&b);
}

void rb_log(struct recbuild *rb, uint32_t process, uint32_t thread, const struct logbuild *lb)
{
	char name[32];
	struct err e;

	snprintf(name, sizeof(name), "p%04u/t%04u.log", process, thread);
	must(write_file(rb_path(rb, name), lb->b.data, lb->b.len, 0600, &e), &e);
}

void rb_finish(struct recbuild *rb)
{
	struct err e;
	json_t *manifest = rec_make_manifest(rb->dir, &e);

	must(manifest ? 0 : -1, &e);
	write_meta(rb, manifest);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void rb_fini(struct recbuild *rb)
{
	nftw(rb->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
