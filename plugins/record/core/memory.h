/* SPDX-License-Identifier: MIT */
/* memory.h: checks whether memory that the program passes to a call is mapped. */
#ifndef FRED_RECORD_MEMORY_H
#define FRED_RECORD_MEMORY_H

#include <stddef.h>

void sys_data_init(void); /* once a program */
int sys_plain_memory(const void *p); /* quick, for common cases: is p on this stack or in the recorder's heap? */
int sys_readable(const void *p, size_t n); /* 0: the kernel would return EFAULT. Common cases are not checked exactly */
int sys_mapped(const void *p, size_t n); /* exact: for any address that is read afterwards */

#endif
