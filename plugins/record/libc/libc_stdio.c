/* SPDX-License-Identifier: MIT */
/*
 * libc_stdio.c: functions on a FILE: characters, lines, blocks, position, state.
 */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/sync/lib.h"
#include "record/sync/lib_file.h"

#include <string.h>
#include <wchar.h>

/* ---- characters, lines, blocks ---- */

static void reads_string(const char *s)
{
	shim_tell_read(s, strlen(s) + 1, 1);
}

/* Of a line that contains zeros, only the part before the first one. */
static void writes_string(const char *s)
{
	if (s)
		shim_tell_written(s, strlen(s) + 1);
}

static uint64_t wide_bytes(const wchar_t *s)
{
	uint64_t n = 0;

	while (s[n])
		n++;
	return (n + 1) * sizeof(*s);
}

static void writes_wide(const wchar_t *s)
{
	if (s)
		shim_tell_written(s, wide_bytes(s));
}

FILE_CALL(int, fputc, (int c, FILE *f), f, (c, f))
FILE_CALL(int, putc, (int c, FILE *f), f, (c, f))
FILE_CALL(int, _IO_putc, (int c, FILE *f), f, (c, f))
FILE_CALL(int, putchar, (int c), stdout, (c))
FILE_TELLS(int, fputs, (const char *s, FILE *f), f, (s, f), reads_string(s))
FILE_TELLS(int, puts, (const char *s), stdout, (s), reads_string(s))
FILE_CALL(int, putw, (int w, FILE *f), f, (w, f))
FILE_TELLS(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), f, (p, size, n, f),
	   shim_tell_read(p, ret *size, 1))
FILE_TELLS(size_t, fread, (void *p, size_t size, size_t n, FILE *f), f, (p, size, n, f),
	   shim_tell_written(p, ret *size))
FILE_TELLS(size_t, __fread_chk, (void *p, size_t room, size_t size, size_t n, FILE *f), f, (p, room, size, n, f),
	   shim_tell_written(p, ret *size))
FILE_CALL(int, fgetc, (FILE * f), f, (f))
FILE_CALL(int, getc, (FILE * f), f, (f))
FILE_CALL(int, _IO_getc, (FILE * f), f, (f))
FILE_CALL(int, getchar, (void), stdin, ())
FILE_CALL(int, getw, (FILE * f), f, (f))
FILE_CALL(int, ungetc, (int c, FILE *f), f, (c, f))
FILE_TELLS(char *, fgets, (char *s, int n, FILE *f), f, (s, n, f), writes_string(ret))
FILE_TELLS(char *, __fgets_chk, (char *s, size_t room, int n, FILE *f), f, (s, room, n, f), writes_string(ret))
FILE_TELLS(char *, gets, (char *s), stdin, (s), writes_string(ret))
FILE_TELLS(char *, __gets_chk, (char *s, size_t room), stdin, (s, room), writes_string(ret))

/* Only afterwards is it known which block contains the line. */
#define LINE_CALL(name, params, args)                                                                                  \
	LIBC(ssize_t, name, params)                                                                                    \
	{                                                                                                              \
		int locked = lib_file_enter(f);                                                                        \
		ssize_t ret = REAL_W(name) args;                                                                       \
                                                                                                                       \
		if (ret >= 0)                                                                                          \
			shim_tell_written(*line, (uint64_t)ret + 1);                                                   \
		lib_file_leave(f, locked);                                                                             \
		return ret;                                                                                            \
	}

LINE_CALL(getline, (char **line, size_t *n, FILE *f), (line, n, f))
LINE_CALL(getdelim, (char **line, size_t *n, int delim, FILE *f), (line, n, delim, f))
LINE_CALL(__getdelim, (char **line, size_t *n, int delim, FILE *f), (line, n, delim, f))

/* ---- wide characters ---- */

FILE_CALL(wint_t, fputwc, (wchar_t c, FILE *f), f, (c, f))
FILE_CALL(wint_t, putwc, (wchar_t c, FILE *f), f, (c, f))
FILE_CALL(wint_t, putwchar, (wchar_t c), stdout, (c))
FILE_TELLS(int, fputws, (const wchar_t *s, FILE *f), f, (s, f), shim_tell_read(s, wide_bytes(s), 1))
FILE_CALL(wint_t, fgetwc, (FILE * f), f, (f))
FILE_CALL(wint_t, getwc, (FILE * f), f, (f))
FILE_CALL(wint_t, getwchar, (void), stdin, ())
FILE_CALL(wint_t, ungetwc, (wint_t c, FILE *f), f, (c, f))
FILE_TELLS(wchar_t *, fgetws, (wchar_t * s, int n, FILE *f), f, (s, n, f), writes_wide(ret))
FILE_TELLS(wchar_t *, __fgetws_chk, (wchar_t * s, size_t room, int n, FILE *f), f, (s, room, n, f), writes_wide(ret))
FILE_CALL(int, fwide, (FILE * f, int mode), f, (f, mode))

/* ---- position and state ---- */

FILE_CALL(int, fseek, (FILE * f, long off, int whence), f, (f, off, whence))
FILE_CALL(int, fseeko, (FILE * f, off_t off, int whence), f, (f, off, whence))
FILE_CALL(int, fseeko64, (FILE * f, off64_t off, int whence), f, (f, off, whence))
FILE_CALL(long, ftell, (FILE * f), f, (f))
FILE_CALL(off_t, ftello, (FILE * f), f, (f))
FILE_CALL(off64_t, ftello64, (FILE * f), f, (f))
FILE_VOID(rewind, (FILE * f), f, (f))
FILE_CALL(int, fgetpos, (FILE * f, fpos_t *pos), f, (f, pos))
FILE_CALL(int, fgetpos64, (FILE * f, fpos64_t *pos), f, (f, pos))
FILE_CALL(int, fsetpos, (FILE * f, const fpos_t *pos), f, (f, pos))
FILE_CALL(int, fsetpos64, (FILE * f, const fpos64_t *pos), f, (f, pos))
FILE_CALL(int, feof, (FILE * f), f, (f))
FILE_CALL(int, ferror, (FILE * f), f, (f))
FILE_VOID(clearerr, (FILE * f), f, (f))
FILE_CALL(int, setvbuf, (FILE * f, char *buf, int mode, size_t n), f, (f, buf, mode, n))
FILE_VOID(setbuf, (FILE * f, char *buf), f, (f, buf))
FILE_VOID(setbuffer, (FILE * f, char *buf, size_t n), f, (f, buf, n))
FILE_VOID(setlinebuf, (FILE * f), f, (f))
FILE_CALL(FILE *, freopen, (const char *path, const char *mode, FILE *f), f, (path, mode, f))
FILE_CALL(FILE *, freopen64, (const char *path, const char *mode, FILE *f), f, (path, mode, f))
FILE_VOID(perror, (const char *s), stderr, (s))

/* ---- the program's own locking ---- */

LIBC(void, flockfile, (FILE * f))
{
	lib_file_lock(f);
}

LIBC(void, funlockfile, (FILE * f))
{
	lib_file_unlock(f);
}

LIBC(int, ftrylockfile, (FILE * f))
{
	return lib_file_trylock(f);
}

/* ---- the list of all FILEs ---- */

static int flush_one(FILE *f)
{
	int locked = lib_file_enter(f), ret = 0;

	if (f->_flags & LIB_FILE_PUTTING)
		ret = REAL(fflush)(f);
	lib_file_leave(f, locked);
	return ret;
}

/* fflush(NULL): FILE by FILE, so that each lock is an event; nothing is closed meanwhile. */
static int flush_all(void)
{
	int locked = lib_enter(LIB_FILES), ret = 0;
	FILE *f;

	if (!locked)
		return REAL(fflush)(NULL);
	for (f = *(FILE **)real_table[REAL__IO_list_all]; f; f = f->_chain)
		if (flush_one(f))
			ret = EOF;
	lib_leave(LIB_FILES, locked);
	return ret;
}

LIBC(int, fflush, (FILE * f))
{
	int locked, ret;

	if (!f)
		return flush_all();
	locked = lib_file_enter(f);
	ret = REAL(fflush)(f);
	lib_file_leave(f, locked);
	return ret;
}

/* What is written goes out before the list is locked: it may have to wait for another thread. */
LIBC(int, fclose, (FILE * f))
{
	int locked, ret;

	if (unlikely(G.mt) && !(f->_flags & LIB_FILE_USER_LOCK))
		flush_one(f);
	locked = lib_enter(LIB_FILES);
	ret = REAL(fclose)(f);
	lib_leave(LIB_FILES, locked);
	return ret;
}

/* Starts its child under a lock of its own. */
LIBC(FILE *, popen, (const char *command, const char *mode))
{
	int locked = lib_enter(LIB_PROC);
	FILE *ret = REAL(popen)(command, mode);

	lib_leave(LIB_PROC, locked);
	return ret;
}
