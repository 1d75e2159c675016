/* SPDX-License-Identifier: MIT */
/* caps.h: this process's capabilities (capabilities(7)). The numbers are those of linux/capability.h, which clashes
 * with libcap. */
#ifndef FRED_BASE_CAPS_H
#define FRED_BASE_CAPS_H

#include <stdint.h>

enum { CAP_BIT_SYS_PTRACE = 19, CAP_BIT_SYS_ADMIN = 21, CAP_BIT_CHECKPOINT_RESTORE = 40 };

/* The effective set: bit N is capability N. */
uint64_t caps_effective(void);

#endif
