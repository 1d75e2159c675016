/* SPDX-License-Identifier: MIT */
/* maps.c: see maps.h. */
#include "base/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"

/* A thread without memory has no program either. */
static bool has_memory(pid_t tid)
{
	char path[64], to[1];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	return readlink(path, to, sizeof(to)) > 0 || errno != ENOENT;
}

pid_t maps_owner(pid_t pid)
{
	char path[64];
	cleanup_closedir DIR *d = NULL;
	struct dirent *de;

	if (has_memory(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.' && has_memory(atoi(de->d_name)))
			return atoi(de->d_name);
	return pid;
}

bool maps_is_dead(pid_t pid)
{
	return !has_memory(maps_owner(pid));
}

int maps_end_status(pid_t pid)
{
	char path[64];
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *last;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_file(path, &b, &ignored))
		return 0;
	last = strrchr(buf_str(&b), ' '); /* exit_code in proc(5) */
	return last ? atoi(last) : 0;
}

char maps_state(const char *stat)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;

	if (read_file(stat, &b, &ignored))
		return 0;
	p = strrchr(buf_str(&b), ')');
	return p && p[1] == ' ' ? p[2] : 0;
}

int maps_open_mem(pid_t pid, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)maps_owner(pid));
	return open(path, flags | O_CLOEXEC);
}

int maps_open(struct maps *m, pid_t pid, struct err *e)
{
	char path[64];

	*m = (struct maps){0};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)maps_owner(pid));
	m->f = fopen(path, "re");
	return m->f ? 0 : err_errno(e, ERR_INTERNAL, "open %s", path);
}

static bool parse(const char *line, struct mapping *v)
{
	char perm[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &v->lo, &v->hi, perm, &v->offset,
		   &v->inode, &path) < 5 ||
	    !path)
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

bool maps_find_start(pid_t pid, const char *path, uint64_t *lo)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &m))
		if (!m.offset && !strcmp(m.path, path)) {
			*lo = m.lo;
			return true;
		}
	return false;
}
