/* SPDX-License-Identifier: MIT */
/* maps.c: the mappings of this process, as the kernel lists them. */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/core/util.h"

#include <string.h>

#define LINE_MAX 2048u /* the rest of a longer line, which ends in a long path, is left out */

/* "LO-HI PERMS OFFSET MAJOR:MINOR INODE   PATH" */
static struct map parse(const char *s)
{
	struct map m;

	m.lo = parse_number(&s, 16);
	m.hi = parse_number(&s, 16);
	m.perms = s;
	while (*s && *s++ != ' ')
		;
	m.off = parse_number(&s, 16);
	parse_number(&s, 16);
	parse_number(&s, 16);
	m.inode = parse_number(&s, 10);
	while (*s == ' ')
		s++;
	m.path = s;
	return m;
}

typedef int map_fn(const struct map *m, void *arg);

static int call(map_fn *fn, void *arg, const char *line, char *end)
{
	struct map m;

	*end = 0;
	m = parse(line);
	return fn(&m, arg);
}

int maps_each(map_fn *fn, void *arg)
{
	int fd = raw_open("/proc/self/maps", O_RDONLY, 0), stop = 0, rest = 0;
	char buf[LINE_MAX + 1], *line, *nl;
	size_t have = 0;
	long n;

	if (fd < 0)
		return -1;
	while (!stop && (n = raw3(SYS_read, fd, buf + have, LINE_MAX - have)) > 0) {
		have += (size_t)n;
		for (line = buf; !stop && (nl = memchr(line, '\n', have - (size_t)(line - buf))); line = nl + 1) {
			stop = rest ? 0 : call(fn, arg, line, nl);
			rest = 0;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (!stop && have == LINE_MAX) {
			stop = rest ? 0 : call(fn, arg, buf, buf + have);
			rest = 1;
			have = 0;
		}
	}
	raw_close(fd);
	return stop;
}
