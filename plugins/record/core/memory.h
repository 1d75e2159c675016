/* SPDX-License-Identifier: MIT */
/* memory.h: checks whether memory that the program passes to a call is mapped. */
#ifndef FRED_RECORD_MEMORY_H
#define FRED_RECORD_MEMORY_H

#include <stddef.h>

void sys_data_init(void); /* once a program */
int sys_plain_memory(const void *p); /* the common cases of good memory: this stack, the shim's heap */
int sys_readable(const void *p, size_t n); /* 0: the kernel would give EFAULT. Not exact in the common cases */
int sys_mapped(const void *p, size_t n); /* exact: for an address that may be anything, and is then read */

#endif
