/* SPDX-License-Identifier: MIT */
/*
 * libc_printf.c: formatted output and input, narrow and wide, with the checked variants.
 */
#include "record/core/state.h"
#include "record/libc/format.h"
#include "record/sync/lib_file.h"

#include <wchar.h>

/* ---- narrow ---- */

FILE_FORMAT(vfprintf, (FILE * f, const char *fmt, va_list ap), f, (f, fmt, ap), libc_tell_printf)
FILE_FORMAT(vprintf, (const char *fmt, va_list ap), stdout, (fmt, ap), libc_tell_printf)
FILE_VARIADIC(int, fprintf, (FILE * f, const char *fmt, ...), fmt, vfprintf, (f, fmt, ap))
FILE_VARIADIC(int, printf, (const char *fmt, ...), fmt, vprintf, (fmt, ap))
FILE_FORMAT(__vfprintf_chk, (FILE * f, int flag, const char *fmt, va_list ap), f, (f, flag, fmt, ap), libc_tell_printf)
FILE_FORMAT(__vprintf_chk, (int flag, const char *fmt, va_list ap), stdout, (flag, fmt, ap), libc_tell_printf)
FILE_VARIADIC(int, __fprintf_chk, (FILE * f, int flag, const char *fmt, ...), fmt, __vfprintf_chk, (f, flag, fmt, ap))
FILE_VARIADIC(int, __printf_chk, (int flag, const char *fmt, ...), fmt, __vprintf_chk, (flag, fmt, ap))

FILE_FORMAT(vfscanf, (FILE * f, const char *fmt, va_list ap), f, (f, fmt, ap), libc_tell_scanf)
FILE_FORMAT(vscanf, (const char *fmt, va_list ap), stdin, (fmt, ap), libc_tell_scanf)
FILE_VARIADIC(int, fscanf, (FILE * f, const char *fmt, ...), fmt, vfscanf, (f, fmt, ap))
FILE_VARIADIC(int, scanf, (const char *fmt, ...), fmt, vscanf, (fmt, ap))
FILE_FORMAT(__isoc99_vfscanf, (FILE * f, const char *fmt, va_list ap), f, (f, fmt, ap), libc_tell_scanf)
FILE_FORMAT(__isoc99_vscanf, (const char *fmt, va_list ap), stdin, (fmt, ap), libc_tell_scanf)
FILE_VARIADIC(int, __isoc99_fscanf, (FILE * f, const char *fmt, ...), fmt, __isoc99_vfscanf, (f, fmt, ap))
FILE_VARIADIC(int, __isoc99_scanf, (const char *fmt, ...), fmt, __isoc99_vscanf, (fmt, ap))
FILE_FORMAT(__isoc23_vfscanf, (FILE * f, const char *fmt, va_list ap), f, (f, fmt, ap), libc_tell_scanf)
FILE_FORMAT(__isoc23_vscanf, (const char *fmt, va_list ap), stdin, (fmt, ap), libc_tell_scanf)
FILE_VARIADIC(int, __isoc23_fscanf, (FILE * f, const char *fmt, ...), fmt, __isoc23_vfscanf, (f, fmt, ap))
FILE_VARIADIC(int, __isoc23_scanf, (const char *fmt, ...), fmt, __isoc23_vscanf, (fmt, ap))

/* ---- wide ---- */

FILE_CALL(int, vfwprintf, (FILE * f, const wchar_t *fmt, va_list ap), f, (f, fmt, ap))
FILE_CALL(int, vwprintf, (const wchar_t *fmt, va_list ap), stdout, (fmt, ap))
FILE_VARIADIC(int, fwprintf, (FILE * f, const wchar_t *fmt, ...), fmt, vfwprintf, (f, fmt, ap))
FILE_VARIADIC(int, wprintf, (const wchar_t *fmt, ...), fmt, vwprintf, (fmt, ap))
FILE_CALL(int, __vfwprintf_chk, (FILE * f, int flag, const wchar_t *fmt, va_list ap), f, (f, flag, fmt, ap))
FILE_CALL(int, __vwprintf_chk, (int flag, const wchar_t *fmt, va_list ap), stdout, (flag, fmt, ap))
FILE_VARIADIC(int, __fwprintf_chk, (FILE * f, int flag, const wchar_t *fmt, ...), fmt, __vfwprintf_chk,
	      (f, flag, fmt, ap))
FILE_VARIADIC(int, __wprintf_chk, (int flag, const wchar_t *fmt, ...), fmt, __vwprintf_chk, (flag, fmt, ap))

FILE_CALL(int, vfwscanf, (FILE * f, const wchar_t *fmt, va_list ap), f, (f, fmt, ap))
FILE_CALL(int, vwscanf, (const wchar_t *fmt, va_list ap), stdin, (fmt, ap))
FILE_VARIADIC(int, fwscanf, (FILE * f, const wchar_t *fmt, ...), fmt, vfwscanf, (f, fmt, ap))
FILE_VARIADIC(int, wscanf, (const wchar_t *fmt, ...), fmt, vwscanf, (fmt, ap))
FILE_CALL(int, __isoc99_vfwscanf, (FILE * f, const wchar_t *fmt, va_list ap), f, (f, fmt, ap))
FILE_CALL(int, __isoc99_vwscanf, (const wchar_t *fmt, va_list ap), stdin, (fmt, ap))
FILE_VARIADIC(int, __isoc99_fwscanf, (FILE * f, const wchar_t *fmt, ...), fmt, __isoc99_vfwscanf, (f, fmt, ap))
FILE_VARIADIC(int, __isoc99_wscanf, (const wchar_t *fmt, ...), fmt, __isoc99_vwscanf, (fmt, ap))
FILE_CALL(int, __isoc23_vfwscanf, (FILE * f, const wchar_t *fmt, va_list ap), f, (f, fmt, ap))
FILE_CALL(int, __isoc23_vwscanf, (const wchar_t *fmt, va_list ap), stdin, (fmt, ap))
FILE_VARIADIC(int, __isoc23_fwscanf, (FILE * f, const wchar_t *fmt, ...), fmt, __isoc23_vfwscanf, (f, fmt, ap))
FILE_VARIADIC(int, __isoc23_wscanf, (const wchar_t *fmt, ...), fmt, __isoc23_vwscanf, (fmt, ap))
