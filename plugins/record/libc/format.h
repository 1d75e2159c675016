/* SPDX-License-Identifier: MIT */
/*
 * format.h: in a copy that reports: what libc reads of the program's strings for printf, and writes for scanf, which
 * the recorder calls. Arguments by number (%1$s) are not looked at, nor is what comes after a conversion that is not
 * known.
 */
#ifndef FRED_RECORD_FORMAT_H
#define FRED_RECORD_FORMAT_H

#include <stdarg.h>

/* shim_report is not NULL. ret: what the function has returned. */
void libc_tell_printf(const char *fmt, va_list ap, int ret);
void libc_tell_scanf(const char *fmt, va_list ap, int ret);

#endif
