/* SPDX-License-Identifier: MIT */
/* libc.c: library functions that hold a lock inside libc: their order between threads is logged. */
#include "record/shim.h"

void lib_init(void)
{
}
