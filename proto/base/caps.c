/* SPDX-License-Identifier: MIT */
/* caps.c: see caps.h. */
#include "base/caps.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"

uint64_t caps_effective(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	unsigned long long caps = 0;
	const char *p;

	if (!read_file("/proc/self/status", &b, &ignored) && (p = strstr(buf_str(&b), "\nCapEff:")))
		sscanf(p, "\nCapEff: %llx", &caps);
	return caps;
}
