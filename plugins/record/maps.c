/* SPDX-License-Identifier: MIT */
/* maps.c: the mappings of this process, as the kernel lists them. */
#include "record/shim.h"

#include <string.h>

static const char *hex(const char *p, uint64_t *v)
{
	for (*v = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*v = *v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*v = *v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

int maps_each(int (*fn)(const struct map *m, void *arg), void *arg)
{
	int fd = raw_open("/proc/self/maps", O_RDONLY, 0), stop = 0;
	char buf[4096], *line, *nl;
	size_t have = 0;
	struct map m;
	long n;

	if (fd < 0)
		return -1;
	while (!stop && (n = raw3(SYS_read, fd, buf + have, sizeof(buf) - have)) > 0) {
		have += (size_t)n;
		for (line = buf; !stop && (nl = memchr(line, '\n', have - (size_t)(line - buf))); line = nl + 1) {
			/* "LO-HI PERMS ..." */
			const char *p = hex(line, &m.lo);

			m.perms = hex(p + 1, &m.hi) + 1;
			stop = fn(&m, arg);
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	raw_close(fd);
	return stop;
}
