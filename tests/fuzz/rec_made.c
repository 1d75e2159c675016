/* SPDX-License-Identifier: MIT */
/* rec_made.c: see rec_made.h. */
#include "rec_made.h"

#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fdio.h"
#include "base/str.h"
#include "reclog/rec.h"
#include "rlog/rlog.h"
#include "sim.h"

enum { FILES_MAX = 64, BYTES_MAX = 1 << 20, STEPS = 1500 };

static struct rec_made made;
static struct script_file files[FILES_MAX];
static pid_t maker;

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_made(void)
{
	if (getpid() == maker)
		nftw(made.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int take_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct script_file *f = &files[made.n];
	const char *name = path + strlen(made.dir) + 1;
	struct err e;

	(void)ftw;
	if (type != FTW_F || st->st_size > BYTES_MAX || made.n == FILES_MAX)
		return 0;
	must(read_file(path, &f->was, &e), path);
	f->name = xstrdup(name);
	made.n++;
	return 0;
}

/* All of it but the copies of files, of which it is the names that count. */
static void copy_recording(const char *from)
{
	char *command =
		str_fmt("cp -r '%s/.' '%s' && rm -rf '%s/files' '%s/checkpoints' '%s/.verified' && chmod -R u+w '%s'",
			from, made.dir, made.dir, made.dir, made.dir, made.dir);

	must(system(command), command);
	free(command);
}

/* The second half of a log, compressed, as the supervisor does with what is long over. */
static void compress(const struct recbuild *rb, const struct logbuild *lb)
{
	static uint8_t out[1 << 20];
	struct rlog_frame h = {RLOG_FRAME_MAGIC, sizeof(h) - 8, RLOG_FRAME_START,
			       (uint32_t)(lb->b.len - RLOG_FRAME_START), 0};
	size_t n = ZSTD_compress(out, sizeof(out), lb->b.data + RLOG_FRAME_START, h.bytes, 1);
	int fd = open(rb_path(rb, "p0001/t0001.zst"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	h.packed = (uint32_t)n;
	must(ZSTD_isError(n) || fd < 0 || write_full(fd, &h, sizeof(h)) || write_full(fd, out, n), "compress");
	close(fd);
}

static void make(struct recbuild *rb)
{
	static const char list[] = "1-2-3-4\0/bin/prog\0/bin/prog\0"
				   "0\0"
				   "5-6-7-8\0/lib/l.so\0/lib/l.so.1\0"
				   "7ffff7c2a000";
	struct sim s;
	struct logbuild lb;
	struct err e;

	sim_run(&s, 1, STEPS, SIM_CRASH, 3);
	rb_init(rb, 1000000);
	rb_image(rb, 1, 0, RLOG_ORIGIN_EXEC, 1);
	for (unsigned i = 1; i <= s.nthreads; i++)
		rb_log(rb, 1, i, &s.thread[i].log);
	if (s.thread[1].log.b.len > RLOG_FRAME_START)
		compress(rb, &s.thread[1].log);
	sim_fini(&s);
	rb_image(rb, 2, 1, RLOG_ORIGIN_FORK, 301);
	lb_init(&lb, 2, 1, 301);
	lb_add(&lb, RLOG_SYS, 400, 0, 5, 1ul, 1ul, 0x555555554000ul, 12ul, 9ul);
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){12}, "", 0);
	lb_add(&lb, RLOG_CRASH, 500, 0, 4, 11ul, 1ul, 0ul, 0x401136ul);
	rb_log(rb, 2, 1, &lb);
	lb_fini(&lb);
	must(write_file(rb_path(rb, "p0001/files"), list, sizeof(list), 0600, &e), "files");
	rb_finish(rb);
}

static void make_or_copy(void)
{
	const char *real = getenv("FUZZ_RECORDING");
	struct recbuild rb;

	if (!real)
		make(&rb);
	copy_recording(real ? real : rb.dir);
	if (!real)
		rb_fini(&rb);
}

static void meta_first(void)
{
	for (unsigned i = 1; i < made.n; i++)
		if (str_eq(files[i].name, "meta.json")) {
			struct script_file was = files[0];

			files[0] = files[i];
			files[i] = was;
		}
	must(!made.n || !str_eq(files[0].name, "meta.json"), "no meta.json");
}

struct rec_made *rec_made(void)
{
	if (made.n)
		return &made;
	/* in memory: a disk may take its time over each file that ends */
	snprintf(made.dir, sizeof(made.dir), "%s/fred-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	must(!mkdtemp(made.dir), made.dir);
	maker = getpid();
	atexit(remove_made);
	make_or_copy();
	made.f = files;
	must(nftw(made.dir, take_file, 16, FTW_PHYS), made.dir);
	meta_first();
	return &made;
}

static void seal(struct buf *meta)
{
	json_t *m = json_loadb(meta->data, meta->len, 0, NULL);
	char *text;

	if (!json_is_object(m) || !json_object_get(m, "crc32c")) {
		json_decref(m);
		return;
	}
	rec_seal_meta(m);
	text = json_dumps(m, JSON_INDENT(1));
	buf_clear(meta);
	buf_add_str(meta, text);
	free(text);
	json_decref(m);
}

void rec_made_write(const struct rec_made *m)
{
	seal(&m->f[0].now);
	for (unsigned i = 0; i < m->n; i++) {
		char *path = str_fmt("%s/%s", m->dir, m->f[i].name);

		must(script_write(path, &m->f[i].now), path);
		free(path);
	}
}
