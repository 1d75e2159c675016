/* SPDX-License-Identifier: MIT */
/* criu_log.c: see criu_log.h. */
#include "ckpt/criu_log.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"

enum { MAX_LINES = 16 };

struct span {
	const char *s;
	size_t n;
};

/* CRIU reports this at each start without CAP_SYS_RESOURCE; it is harmless */
static const char harmless[] = "rlimit: Can't setup RLIMIT_NOFILE";

/* The message of an error line, or n == 0. */
static struct span error_of(const char *line, const char *end)
{
	static const char mark[] = "Error (";
	const char *p = memmem(line, (size_t)(end - line), mark, sizeof(mark) - 1);
	const char *text;

	if (!p)
		return (struct span){0};
	text = memmem(p, (size_t)(end - p), "): ", 3);
	p = text ? text + 3 : p;
	if ((size_t)(end - p) >= sizeof(harmless) - 1 && !memcmp(p, harmless, sizeof(harmless) - 1))
		return (struct span){0};
	while (end > p && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	return (struct span){p, (size_t)(end - p)};
}

static int same(struct span a, struct span b)
{
	return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

int criu_log_errors(const char *text, int lines, char *out, size_t size)
{
	struct span kept[MAX_LINES];
	int n = 0, found = 0;
	size_t len = 0;

	if (lines > MAX_LINES)
		lines = MAX_LINES;
	for (const char *line = text; *line && lines > 0;) {
		const char *end = strchrnul(line, '\n');
		struct span s = error_of(line, end);

		line = *end ? end + 1 : end;
		if (!s.n)
			continue;
		found++;
		if (n && same(kept[n - 1], s))
			continue;
		if (n == lines) {
			int gone = lines / 2;

			memmove(kept + gone, kept + gone + 1, (size_t)(--n - gone) * sizeof(*kept));
		}
		kept[n++] = s;
	}
	for (int i = 0; i < n && size; i++) {
		for (const char *sep = i ? "; " : ""; *sep && len + 1 < size; sep++)
			out[len++] = *sep;
		for (size_t k = 0; k < kept[i].n && len + 1 < size; k++)
			out[len++] = kept[i].s[k];
	}
	if (size)
		out[len] = 0;
	return found;
}

int criu_log_file_errors(const char *path, int lines, char *out, size_t size)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;

	if (size)
		*out = 0;
	if (read_file(path, &b, &ignored))
		return 0;
	return criu_log_errors(buf_str(&b), lines, out, size);
}
