/* SPDX-License-Identifier: MIT */
/* hist.c: see hist.h. */
#include "hist/hist.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[HIST_CMDS] = {
	[HIST_CONTINUE] = "continue", [HIST_FINISH] = "finish", [HIST_UNTIL] = "until",
	[HIST_NEXT] = "next",	      [HIST_STEP] = "step",	[HIST_STEPI] = "stepi",
};

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_fini(struct hist *h)
{
	free(h->v);
	hist_init(h);
}

static int reserve(struct hist *h, size_t n, struct err *e)
{
	size_t cap = h->cap ? h->cap : 8;
	struct hist_entry *v;

	while (cap < n)
		cap *= 2;
	if (cap == h->cap)
		return 0;
	v = reallocarray(h->v, cap, sizeof(*v));
	if (!v)
		return err_set(e, ERR_HOST, "out of memory for the debug history");
	h->v = v;
	h->cap = cap;
	return 0;
}

int hist_append(struct hist *h, enum hist_cmd cmd, uint64_t count, struct err *e)
{
	if (!count)
		return 0;
	if (h->n && h->v[h->n - 1].cmd == cmd) {
		h->v[h->n - 1].count += count;
		return 0;
	}
	if (reserve(h, h->n + 1, e))
		return -1;
	h->v[h->n++] = (struct hist_entry){cmd, count};
	return 0;
}

int hist_append_all(struct hist *h, const struct hist *more, struct err *e)
{
	if (reserve(h, h->n + more->n, e))
		return -1;
	for (size_t i = 0; i < more->n; i++)
		if (hist_append(h, more->v[i].cmd, more->v[i].count, e))
			return -1;
	return 0;
}

int hist_copy(struct hist *to, const struct hist *from, struct err *e)
{
	hist_init(to);
	return hist_append_all(to, from, e);
}

uint64_t hist_length(const struct hist *h)
{
	uint64_t length = 0;

	for (size_t i = 0; i < h->n; i++)
		length += h->v[i].count;
	return length;
}

void hist_truncate(struct hist *h, uint64_t length)
{
	size_t i = 0;

	while (i < h->n && h->v[i].count <= length)
		length -= h->v[i++].count;
	if (i < h->n && length)
		h->v[i++].count = length;
	h->n = i;
}

enum hist_cmd hist_at(const struct hist *h, uint64_t i)
{
	size_t k = 0;

	while (k + 1 < h->n && h->v[k].count <= i)
		i -= h->v[k++].count;
	return h->v[k].cmd;
}

const char *hist_cmd_name(enum hist_cmd cmd)
{
	return cmd < HIST_CMDS ? names[cmd] : "?";
}

enum hist_cmd hist_cmd_from_name(const char *name)
{
	int c = 0;

	while (c < HIST_CMDS && strcmp(names[c], name))
		c++;
	return (enum hist_cmd)c;
}

char *hist_format(const struct hist *h)
{
	size_t cap = h->n * 32 + 1, len = 0;
	char *s = malloc(cap);

	if (!s)
		return NULL;
	s[0] = '\0';
	for (size_t i = 0; i < h->n; i++) {
		len += (size_t)snprintf(s + len, cap - len, "%s%s", i ? ", " : "",
					names[h->v[i].cmd]);
		if (h->v[i].count > 1)
			len += (size_t)snprintf(s + len, cap - len, " %" PRIu64, h->v[i].count);
	}
	return s;
}
