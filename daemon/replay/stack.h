/* SPDX-License-Identifier: MIT */
/*
 * stack.h: where a thread of a stopped program is, as results name it: its numbers, its frames without the shim's,
 * and the statement that a user means. show.h makes JSON of these.
 */
#ifndef FRED_REPLAY_STACK_H
#define FRED_REPLAY_STACK_H

#include "base/str.h"
#include "gdb/gdb.h"
#include "reclog/rec.h"
#include "target/target.h"

struct thread_name {
	uint32_t ordinal;
	pid_t tid;
	char name[32]; /* "": unknown */
};

/* The statement: of an instruction itself, or of the call in the program that led to it. */
struct location {
	char *function, *file; /* NULL: unknown */
	int line; /* 0: unknown */
	char *text; /* the source line without the blanks around it; NULL: the file cannot be read */
	bool recorded; /* text is from the recording's copy of the file, which has changed since */
};

struct stack {
	struct gdb_frame *frames; /* without the shim's, and those in which libc starts a thread */
	size_t n;
	struct location location; /* in the frame of stack_user_frame */
};

/* Thread `ordinal` of the replay, whose TID is `tid` in process pid (the replaying process or a copy of it). */
struct thread_name thread_name(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid);

/*
 * Reads the stack of a thread that GDB is attached to, with arguments. Functions of libraries have their names and
 * lines where separate debug files of them are installed. stack_fini frees, also after an error.
 */
int stack_read(struct stack *s, struct gdb *g, pid_t tid, struct err *e);
/* As stack_read, but only the innermost `most` frames, and without the debug files of libraries, which is quicker. */
int stack_read_top(struct stack *s, struct gdb *g, pid_t tid, int most, struct err *e);
void stack_fini(struct stack *s);
/*
 * Of several rows of the line table at one address, GDB prefers one that begins a statement; the last one is that of
 * the instruction. Where GDB so names a header of the system in a function of the program's, the frame gets the last
 * one.
 */
void stack_mend_lines(struct gdb *g, struct gdb_frame *frames, size_t n);
/* Is it a frame of a function of the shim? */
bool stack_is_shim(const struct gdb_frame *f);
/*
 * The frame whose line a user means: the innermost one with source that is the program's own, not a system
 * header's; else the innermost with any source; else the innermost outside of the shim.
 */
size_t stack_user_frame(const struct gdb_frame *frames, size_t n);
/*
 * Has the compiler inlined the function of frame `level` into its caller? The branches in front of it belong to the
 * caller then.
 */
bool stack_is_inlined(const struct gdb_frame *frames, size_t n, size_t level);
/*
 * The innermost frame, from `from` outwards, whose source is the program's own and not a library's header. n: there is
 * none.
 */
size_t stack_own_frame(const struct gdb_frame *frames, size_t n, size_t from);

/* The statement of a frame. location_fini frees. */
void location_of(struct location *l, const struct gdb_frame *f);
void location_fini(struct location *l);
/* The file of a frame: absolute if it can be opened from here, else as it was compiled; NULL: unknown. */
const char *frame_file(const struct gdb_frame *f);

/*
 * Where a source file that the stack names is not what it was, the location's text becomes that of the recording's
 * copy. Adds to `notes` what a user should know of these files.
 */
void stack_use_sources(struct stack *s, const struct rec *rec, struct strv *notes);
struct sources;
/* A line of the recording's copy of a file; false: the file on the disk is what it was. *text: malloc'd, NULL: there is
 * none. */
bool recorded_line(struct sources *s, const char *file, int line, char **text);

#endif
