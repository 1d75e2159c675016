/* SPDX-License-Identifier: MIT */
/* lib_file.h: the wrappers' shape for functions that work on a FILE: see lib.h. */
#ifndef FRED_RECORD_LIB_FILE_H
#define FRED_RECORD_LIB_FILE_H

#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/sync/lib.h"

#include <stdarg.h>

/*
 * One call on a FILE, under its lock. In a copy that reports, `tell` says what libc has read and written of the
 * program's memory; it may use ret.
 */
#define FILE_TELLS(type, name, params, f, args, tell)                                                                  \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		int locked = lib_file_enter(f);                                                                        \
		type ret = REAL_W(name) args;                                                                          \
                                                                                                                       \
		if (unlikely(shim_report != 0))                                                                        \
			tell;                                                                                          \
		lib_file_leave(f, locked);                                                                             \
		return ret;                                                                                            \
	}

/* The same with nothing to report. */
#define FILE_CALL(type, name, params, f, args) FILE_TELLS(type, name, params, f, args, (void)0)

/* A call with a format `fmt` and a va_list `ap`, which libc consumes; tell(format, arguments, ret). */
#define FILE_FORMAT(name, params, f, args, tell)                                                                       \
	LIBC(int, name, params)                                                                                        \
	{                                                                                                              \
		int locked = lib_file_enter(f), ret;                                                                   \
		va_list told;                                                                                          \
                                                                                                                       \
		va_copy(told, ap);                                                                                     \
		ret = REAL_W(name) args;                                                                               \
		if (unlikely(shim_report != 0))                                                                        \
			tell(fmt, told, ret);                                                                          \
		va_end(told);                                                                                          \
		lib_file_leave(f, locked);                                                                             \
		return ret;                                                                                            \
	}

/* As FILE_CALL, without a result. */
#define FILE_VOID(name, params, f, args)                                                                               \
	LIBC(void, name, params)                                                                                       \
	{                                                                                                              \
		int locked = lib_file_enter(f);                                                                        \
                                                                                                                       \
		REAL_W(name) args;                                                                                     \
		lib_file_leave(f, locked);                                                                             \
	}

/* A variadic function: calls `to`, also wrapped, which takes a va_list. */
#define FILE_VARIADIC(type, name, params, last, to, args)                                                              \
	LIBC(type, name, params)                                                                                       \
	{                                                                                                              \
		va_list ap;                                                                                            \
		type ret;                                                                                              \
                                                                                                                       \
		va_start(ap, last);                                                                                    \
		ret = w_##to args;                                                                                     \
		va_end(ap);                                                                                            \
		return ret;                                                                                            \
	}

#endif
