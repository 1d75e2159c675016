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

/* Called with each line, which ends with a 0. It may not be called for the part of a line beyond LINE_MAX. */
typedef int line_fn(const char *line, void *arg);

static int lines_each(const char *path, line_fn *fn, void *arg)
{
	int fd = raw_open(path, O_RDONLY, 0), stop = 0, rest = 0;
	char buf[LINE_MAX + 1], *line, *nl;
	size_t have = 0;
	long n;

	if (fd < 0)
		return -1;
	while (!stop && (n = raw3(SYS_read, fd, buf + have, LINE_MAX - have)) > 0) {
		have += (size_t)n;
		for (line = buf; !stop && (nl = memchr(line, '\n', have - (size_t)(line - buf))); line = nl + 1) {
			*nl = 0;
			stop = rest ? 0 : fn(line, arg);
			rest = 0;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (!stop && have == LINE_MAX) {
			buf[have] = 0;
			stop = rest ? 0 : fn(buf, arg);
			rest = 1;
			have = 0;
		}
	}
	raw_close(fd);
	return stop;
}

struct each {
	int (*fn)(const struct map *m, void *arg);
	void *arg;
};

static int call(const char *line, void *arg)
{
	const struct each *each = arg;
	struct map m = parse(line);

	return each->fn(&m, each->arg);
}

int maps_each(int (*fn)(const struct map *m, void *arg), void *arg)
{
	struct each each = {fn, arg};

	return lines_each("/proc/self/maps", call, &each);
}

#define FLAGS "VmFlags:"

struct each_flags {
	void (*fn)(uint64_t lo, uint64_t hi, const char *flags);
	uint64_t lo, hi;
};

/* A mapping begins with a line as in maps; the lines about it, with its flags, begin with a capital. */
static int call_flags(const char *line, void *arg)
{
	struct each_flags *each = arg;
	struct map m;

	if (*line < 'A' || *line > 'Z') {
		m = parse(line);
		each->lo = m.lo;
		each->hi = m.hi;
	} else if (!strncmp(line, FLAGS, sizeof(FLAGS) - 1)) {
		each->fn(each->lo, each->hi, line + sizeof(FLAGS) - 1);
	}
	return 0;
}

int maps_flags(void (*fn)(uint64_t lo, uint64_t hi, const char *flags))
{
	struct each_flags each = {.fn = fn};

	return lines_each("/proc/self/smaps", call_flags, &each);
}
