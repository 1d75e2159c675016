/* SPDX-License-Identifier: MIT */
/* memory.h: checks whether memory that the program passes to a call is mapped. */
#ifndef FRED_RECORD_MEMORY_H
#define FRED_RECORD_MEMORY_H

#include <stddef.h>

void sys_data_init(void); /* once a program */
int sys_plain_memory(const void *p); /* the common cases of good memory: this stack, the shim's heap */
int sys_readable(const void *p, size_t n); /* 0: the kernel would give EFAULT. Of the common cases not all is mapped */
int sys_mapped(const void *p, size_t n); /* the same for an address that may be anything, and is to be read at once */

#endif
