/* SPDX-License-Identifier: MIT */
/* maps.c: see maps.h. */
#include "base/maps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int maps_open(struct maps *m, pid_t pid, struct err *e)
{
	char path[64];

	*m = (struct maps){0};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	m->f = fopen(path, "re");
	return m->f ? 0 : err_errno(e, ERR_INTERNAL, "open %s", path);
}

static bool parse(const char *line, struct mapping *v)
{
	char perm[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &v->lo, &v->hi, perm, &v->offset,
		   &v->inode, &path) < 5 || !path)
		return false;
	v->read = perm[0] == 'r';
	v->write = perm[1] == 'w';
	v->exec = perm[2] == 'x';
	v->shared = perm[3] == 's';
	snprintf(v->path, sizeof(v->path), "%.*s", (int)strcspn(line + path, "\n"), line + path);
	return true;
}

bool maps_next(struct maps *m, struct mapping *v)
{
	while (m->f && getline(&m->line, &m->cap, m->f) > 0)
		if (parse(m->line, v))
			return true;
	return false;
}

void maps_close(struct maps *m)
{
	if (m->f)
		fclose(m->f);
	free(m->line);
	*m = (struct maps){0};
}

bool maps_find(pid_t pid, uint64_t addr, struct mapping *v)
{
	cleanup_maps struct maps m = {0};
	struct err ignored;

	if (maps_open(&m, pid, &ignored))
		return false;
	while (maps_next(&m, v))
		if (mapping_has(v, addr))
			return true;
	return false;
}
