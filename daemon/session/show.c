/* SPDX-License-Identifier: MIT */
/* show.c: see show.h. */
#include "session/show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsonx.h"

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid)
{
	char path[64], name[32] = "";
	cleanup_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid,
		 (int)(tid == target_tid(t, ordinal) && pid != t->pid ? pid : tid));
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	return json_pack("{s:i, s:i, s:o}", "id", (int)ordinal, "tid", (int)tid, "name",
			 text_or_null(*name ? name : NULL));
}

static char *source_line(const char *path, int line)
{
	cleanup_fclose FILE *f = path && line > 0 ? fopen(path, "re") : NULL;
	cleanup_free char *s = NULL;
	size_t cap = 0;
	char *p;

	for (int i = 0; f && i < line; i++)
		if (getline(&s, &cap, f) < 0)
			return NULL;
	if (!s)
		return NULL;
	p = s + strspn(s, " \t");
	p[strcspn(p, "\r\n")] = '\0';
	return strdup(p);
}

json_t *show_location(const char *function, const char *file, const char *fullname, int line)
{
	cleanup_free char *text = source_line(fullname, line);

	return json_pack("{s:o, s:o, s:o, s:o}", "function", text_or_null(function), "file",
			 text_or_null(fullname ? fullname : file), "line",
			 line > 0 ? json_integer(line) : json_null(), "text", text_or_null(text));
}

static bool is_shim(const struct gdb_frame *f)
{
	return f->module && !strncmp(f->module, SHOW_SHIM, strlen(SHOW_SHIM));
}

json_t *show_backtrace(const struct gdb_frame *frames, size_t n)
{
	json_t *list = json_array();
	size_t first = 0;
	int level = 0;

	/* the shim and the signal frame of its trap stand in for the system call */
	for (size_t i = 0; i < n; i++)
		if (is_shim(&frames[i]))
			first = i + 1;
		else if (frames[i].signal_handler && first == i)
			first = i + 1;
		else
			break;
	/* how libc starts a thread has no names without its debug files */
	while (n > first + 1 && !frames[n - 1].func && !frames[n - 1].file)
		n--;
	for (size_t i = first; i < n; i++) {
		char pc[24];

		if (is_shim(&frames[i]))
			continue;
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)frames[i].addr);
		json_array_append_new(
			list, json_pack("{s:i, s:o, s:o, s:o, s:s, s:o, s:o}", "level", level++, "function",
					text_or_null(frames[i].signal_handler ? "<signal handler called>"
									      : frames[i].func),
					"file",
					text_or_null(frames[i].fullname ? frames[i].fullname
									: frames[i].file),
					"line",
					frames[i].line > 0 ? json_integer(frames[i].line) : json_null(),
					"pc", pc, "args", text_or_null(frames[i].args), "module",
					text_or_null(frames[i].module)));
	}
	return list;
}

static bool is_system(const char *path)
{
	return !strncmp(path, "/usr/include/", 13) || !strncmp(path, "/usr/lib/", 9);
}

size_t show_user_frame(const struct gdb_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_shim(&frames[i]) && frames[i].fullname && frames[i].line > 0 &&
		    !is_system(frames[i].fullname))
			return i;
	return n ? (size_t)gdb_frames_user(frames, n, SHOW_SHIM) : 0;
}
