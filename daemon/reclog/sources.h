/* SPDX-License-Identifier: MIT */
/*
 * sources.h: the program's source files as they were when it was recorded (meta.json, "sources"; their texts are in one
 * file of REC/files, each compressed on its own); decides whether the recorded text is to be shown, and what to say if
 * the files on the disk differ.
 */
#ifndef FRED_RECLOG_SOURCES_H
#define FRED_RECLOG_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/str.h"
#include "reclog/rec.h"

struct source {
	const char *name; /* absolute, as compiled, after path_clean */
	const char *dir; /* where the compiler ran, if the file was named relative to that; else "" */
	const char *stamp; /* "DEV-INO-SIZE-MTIMENS" in hexadecimal, as it was */
	uint64_t at, bytes; /* where its text is in that file; 0 bytes: the text was not recorded */
	bool newer; /* it was newer than the program when that was recorded */
	int state; /* enum source_state, set by sources_use; -1: not yet */
};

/* What the user must know about a file. */
enum source_note { NOTE_CHANGED, NOTE_GONE, NOTE_UNKEPT, NOTE_NEWER, NOTE_RECENT, SOURCE_NOTES };

struct sources {
	const struct rec *rec;
	char *path; /* of the file with the texts; NULL: there is none */
	struct source *v;
	size_t n;
	unsigned long long program_ns; /* mtime of the program, once that was needed */
	struct strv notes[SOURCE_NOTES]; /* names of files */
};

/* Empty for a recording that has no list. The strings belong to the recording. */
void sources_init(struct sources *s, const struct rec *rec);
void sources_fini(struct sources *s);

#define SOURCE_MAX (1u << 20) /* bytes: larger files are not recorded */

/* malloc'd. */
char *source_stamp(const struct stat *st);

/* The file of this name, as a debugger writes it (symbolic links may have been resolved); NULL: not known. */
struct source *sources_find(const struct sources *s, const char *fullname);

enum source_state {
	SOURCE_SAME, /* the file on the disk is what it was */
	SOURCE_CHANGED,
	SOURCE_GONE,
};
enum source_state source_state(const struct sources *s, const struct source *f);
/* Appends the recorded text. ERR_NOT_FOUND when it was not recorded. */
int source_read(const struct sources *s, const struct source *f, struct buf *out, struct err *e);

/*
 * Do the source lines of fullname come from the recording? true: its text is appended to `text`, unless that is NULL.
 * false: they come from the disk. Notes what the user must know: that the file has changed, or is newer than the
 * program.
 */
bool sources_use(struct sources *s, const char *fullname, struct buf *text);
void sources_note(struct sources *s, enum source_note kind, const char *name);
/* Adds the notes, one text for each kind. */
void sources_notes(const struct sources *s, struct strv *out);

#endif
