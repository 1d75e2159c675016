/* SPDX-License-Identifier: MIT */
/* sources.c: see sources.h. */
#include "reclog/sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "reclog/files.h"

static bool is_hex(const char *s)
{
	return s && *s && !s[strspn(s, "0123456789abcdef-")];
}

/* The names in a recording from elsewhere must not lead out of it. */
static bool is_valid(const struct source *f)
{
	return f->name && f->name[0] == '/' && !strstr(f->name, "/../") && !str_ends(f->name, "/..") &&
	       is_hex(f->stamp);
}

static uint64_t unsigned_of(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

void sources_init(struct sources *s, const struct rec *rec)
{
	const json_t *sources = json_object_get(rec->meta, "sources"), *list = json_object_get(sources, "files"), *o;
	const char *file = json_string_value(json_object_get(sources, "copies"));
	size_t i;

	*s = (struct sources){.rec = rec, .v = xcalloc(json_array_size(list) + 1, sizeof(*s->v))};
	if (is_hex(file))
		s->path = str_fmt("%s/files/%s", rec->dir, file);
	json_array_foreach((json_t *)list, i, o)
	{
		struct source f = {
			.name = json_string_value(json_object_get(o, "name")),
			.dir = json_string_value(json_object_get(o, "dir")),
			.stamp = json_string_value(json_object_get(o, "stamp")),
			.at = unsigned_of(o, "at"),
			.bytes = unsigned_of(o, "bytes"),
			.newer = json_is_true(json_object_get(o, "newer")),
		};

		f.dir = f.dir ? f.dir : "";
		f.state = -1;
		if (is_valid(&f))
			s->v[s->n++] = f;
	}
	if (s->path && !path_exists(s->path)) /* the recording was packed without the data */
		for (i = 0; i < s->n; i++)
			s->v[i].bytes = 0;
}

void sources_fini(struct sources *s)
{
	for (int k = 0; k < SOURCE_NOTES; k++)
		strv_fini(&s->notes[k]);
	free(s->path);
	free(s->v);
	*s = (struct sources){0};
}

char *source_stamp(const struct stat *st)
{
	return str_fmt(
		"%lx-%lx-%lx-%llx", (unsigned long)st->st_dev, (unsigned long)st->st_ino, (unsigned long)st->st_size,
		(unsigned long long)st->st_mtim.tv_sec * 1000000000ull + (unsigned long long)st->st_mtim.tv_nsec);
}

struct source *sources_find(const struct sources *s, const char *fullname)
{
	cleanup_free char *clean = fullname && *fullname == '/' ? path_clean(fullname) : NULL;

	for (size_t i = 0; clean && i < s->n; i++)
		if (str_eq(s->v[i].name, clean))
			return &s->v[i];
	for (size_t i = 0; clean && i < s->n; i++) {
		cleanup_free char *real = NULL;

		if (!str_eq(path_base(s->v[i].name), path_base(clean)))
			continue;
		real = realpath(s->v[i].name, NULL);
		if (str_eq(real, clean))
			return &s->v[i];
	}
	return NULL;
}

int source_read(const struct sources *s, const struct source *f, struct buf *out, struct err *e)
{
	cleanup_close int fd = s->path && f->bytes ? open(s->path, O_RDONLY | O_CLOEXEC) : -1;
	cleanup_free void *packed = NULL, *text = NULL;
	unsigned long long size;
	size_t got;

	if (fd < 0)
		return err_set(e, ERR_NOT_FOUND, "%s: not kept in the recording", f->name);
	if (f->bytes > ZSTD_compressBound(SOURCE_MAX))
		return err_set(e, ERR_USAGE, "%s: damaged recording: a source file of that size is not kept", f->name);
	packed = xmalloc(f->bytes);
	if (pread_full(fd, packed, f->bytes, (off_t)f->at) != (ssize_t)f->bytes)
		return err_set(e, ERR_USAGE, "%s: damaged: it is truncated", s->path);
	size = ZSTD_getFrameContentSize(packed, f->bytes);
	if (size > SOURCE_MAX)
		return err_set(e, ERR_USAGE, "%s: damaged: no text of a source file at %llu", s->path,
			       (unsigned long long)f->at);
	text = xmalloc(size + 1);
	got = ZSTD_decompress(text, size, packed, f->bytes);
	if (ZSTD_isError(got) || got != size)
		return err_set(e, ERR_USAGE, "%s: damaged: no text of a source file at %llu", s->path,
			       (unsigned long long)f->at);
	buf_add(out, text, size);
	return 0;
}

static bool same_text(const struct sources *s, const struct source *f)
{
	cleanup_buf struct buf kept = {0}, now = {0};
	struct err ignored;

	return !source_read(s, f, &kept, &ignored) && !read_file(f->name, &now, &ignored) && kept.len == now.len &&
	       (!kept.len || !memcmp(kept.data, now.data, kept.len));
}

enum source_state source_state(const struct sources *s, const struct source *f)
{
	cleanup_free char *now = NULL;
	struct stat st;

	if (stat(f->name, &st) || !S_ISREG(st.st_mode))
		return SOURCE_GONE;
	now = source_stamp(&st);
	return str_eq(now, f->stamp) || (st.st_size <= SOURCE_MAX && same_text(s, f)) ? SOURCE_SAME : SOURCE_CHANGED;
}

/* ---- which files to read, and the notes ---- */

#define TOLD 3u /* at most this many files are named */

void sources_note(struct sources *s, enum source_note kind, const char *name)
{
	if (!strv_has(&s->notes[kind], name))
		strv_add(&s->notes[kind], name);
}

void sources_notes(const struct sources *s, struct strv *out)
{
	static const struct {
		const char *before, *after; /* the text of the note before and after the names */
	} texts[SOURCE_NOTES] = {
		[NOTE_CHANGED] =
			{"", "changed since the program was recorded: lines are those of the copy in the recording"},
		[NOTE_GONE] = {"", "gone since the program was recorded: lines are those of the copy in the recording"},
		[NOTE_UNKEPT] = {"warning: ",
				 "changed since the program was recorded, and no copy was kept: lines may be wrong"},
		[NOTE_NEWER] = {"warning: ", "newer than the program already when it was recorded: lines may be wrong"},
		[NOTE_RECENT] = {"warning: ", "newer than the program: lines may be wrong"},
	};

	for (int k = 0; k < SOURCE_NOTES; k++) {
		const struct strv *names = &s->notes[k];
		struct strv first = {.s = names->s, .n = names->n < TOLD ? names->n : TOLD};
		cleanup_free char *list = names->n ? strv_join(&first, ", ") : NULL;

		if (names->n > TOLD)
			strv_addf(out, "%s%s and %zu others: %s", texts[k].before, list, names->n - TOLD,
				  texts[k].after);
		else if (list)
			strv_addf(out, "%s%s: %s", texts[k].before, list, texts[k].after);
	}
}

/* When the newest of the programs and their own libraries was written; 0: unknown. */
static unsigned long long program_time(const struct rec *rec)
{
	unsigned long long dev, ino, size, ns, newest = 0;

	for (unsigned i = 0; i < rec->nimages; i++) {
		struct rec_files l;
		struct err ignored;

		if (rec_files_read(rec, rec->images[i].ordinal, &l, &ignored))
			continue;
		for (size_t k = 0; k < l.n; k++)
			if (sscanf(l.f[k].copy, "%llx-%llx-%llx-%llx", &dev, &ino, &size, &ns) == 4 &&
			    (str_eq(l.f[k].real, rec->images[i].exe) ||
			     (l.f[k].base && !path_is_system(l.f[k].real))) &&
			    ns > newest)
				newest = ns;
		rec_files_fini(&l);
	}
	return newest;
}

/* For a file that the recording does not list: compares the times, as GDB does. */
static void compare_times(struct sources *s, const char *fullname)
{
	unsigned long long program = s->program_ns ? s->program_ns : program_time(s->rec);
	struct stat st;

	s->program_ns = program;
	if (program && !stat(fullname, &st) && (unsigned long long)st.st_mtim.tv_sec > program / 1000000000)
		sources_note(s, NOTE_RECENT, fullname);
}

bool sources_use(struct sources *s, const char *fullname, struct buf *text)
{
	struct source *f = sources_find(s, fullname);
	struct err ignored;

	if (!f) {
		if (fullname && *fullname == '/')
			compare_times(s, fullname);
		return false;
	}
	if (f->state < 0)
		f->state = (int)source_state(s, f);
	if (f->newer && (f->bytes || f->state == SOURCE_SAME))
		sources_note(s, NOTE_NEWER, f->name);
	if (f->state == SOURCE_SAME)
		return false;
	if (f->bytes && (!text || !source_read(s, f, text, &ignored))) {
		sources_note(s, f->state == SOURCE_GONE ? NOTE_GONE : NOTE_CHANGED, f->name);
		return true;
	}
	if (f->state == SOURCE_CHANGED)
		sources_note(s, NOTE_UNKEPT, f->name);
	return false;
}
