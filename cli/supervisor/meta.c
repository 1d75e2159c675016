/* SPDX-License-Identifier: MIT */
/* meta.c: see meta.h. */
#include "supervisor/meta.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpu.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "describe/damage.h"
#include "supervisor/control.h"

json_t *meta_now(void)
{
	struct timespec ts;
	struct tm tm;
	char date[32], text[48];

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", date, ts.tv_nsec / 1000000);
	return json_string(text);
}

static json_t *cpu_model(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;

	if (read_file("/proc/cpuinfo", &b, &ignored) || !(p = strstr(buf_str(&b), "model name")))
		return json_string("unknown");
	p += strcspn(p, ":\n");
	p += strspn(p, ": \t");
	return json_text(p, strcspn(p, "\n"));
}

static const char *sched_name(enum rlog_sched s)
{
	static const char *const names[] = {"parallel", "serial", "chaos"};

	return names[s];
}

static json_t *text(const char *s)
{
	return json_text(s, strlen(s));
}

/*
 * The host: a replay compares the processor's features; the boot ID tells whether the processes of an unfinished
 * recording can still be running.
 */
static json_t *host(void)
{
	cleanup_strv struct strv features = {0};
	cleanup_buf struct buf boot = {0};
	struct utsname un;
	struct err ignored;
	json_t *list = json_array();

	uname(&un);
	cpu_features(&features);
	for (size_t i = 0; i < features.n; i++)
		json_array_append_new(list, text(features.s[i]));
	if (!read_file("/proc/sys/kernel/random/boot_id", &boot, &ignored))
		boot.len = strcspn(buf_str(&boot), "\n");
	return json_pack("{s:s, s:o, s:o, s:I, s:o}", "kernel", un.release, "cpu", cpu_model(), "cpu_features", list,
			 "xcr0", (json_int_t)cpu_xcr0(), "boot_id", json_text(buf_str(&boot), boot.len));
}

json_t *meta_new(const struct record_opts *o, const char *program, const struct rlog_control *c)
{
	char cwd[PATH_MAX];
	bool known = o->cwd ? realpath(o->cwd, cwd) != NULL : getcwd(cwd, sizeof(cwd)) != NULL;
	json_t *argv = json_array();
	json_t *meta;

	for (char *const *a = o->argv; *a; a++)
		json_array_append_new(argv, text(*a));
	meta = json_pack("{s:i, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:I, s:o, s:b}", "format", (int)RLOG_VERSION,
			 "version", FRED_VERSION, "program", text(program), "argv", argv, "cwd",
			 text(known ? cwd : "/"), "sched", sched_name(o->sched), "malloc",
			 o->malloc_mode == RLOG_MALLOC_SYSTEM ? "system" : "fred", "host", host(), "clock",
			 c->clock ? "counter" : "tsc", "tsc_hz", (json_int_t)c->tsc_hz, "created", meta_now(),
			 "complete", 0);
	if (o->max_log)
		json_object_set_new(meta, "max_log", json_integer((json_int_t)o->max_log));
	if (o->malloc_mode == RLOG_MALLOC_DETECT)
		json_object_set_new(meta, "detect", json_true());
	if (o->sched == RLOG_SCHED_CHAOS)
		json_object_set_new(meta, "chaos_seed", json_integer((json_int_t)o->chaos_seed));
	return meta;
}

/*
 * meta.json is not synced: like the logs, it reaches the disk when the kernel writes it. If it were synced, it could be
 * on the disk earlier than the logs, and say that the recording is complete.
 */
int meta_write(const char *dir, const json_t *meta, struct err *e)
{
	cleanup_free char *path = path_join(dir, "meta.json"), *temp = str_fmt("%s.new", path);
	cleanup_free char *data = json_dumps(meta, JSON_INDENT(2));

	if (!data || write_file(temp, data, strlen(data), 0600, e))
		return -1;
	return rename(temp, path) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

void meta_sync(const char *dir)
{
	cleanup_free char *path = path_join(dir, "meta.json");
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_close int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (file >= 0 && folder >= 0 && !fsync(file) && fsync(folder))
		return;
}

static json_t *meta_notes(const struct rlog_control *c)
{
	json_t *list = json_array();
	char *s;

	for (unsigned i = 0; (s = control_note(c, i)); i++) {
		if (*s)
			json_array_append_new(list, text(s));
		free(s);
	}
	if (c->note_count > RLOG_NOTES)
		json_array_append_new(list, json_sprintf("%u more notes were dropped", c->note_count - RLOG_NOTES));
	return list;
}

void meta_set_notes(json_t *meta, const struct rlog_control *c)
{
	json_object_set_new(meta, "notes", meta_notes(c));
	if (c->malloc_mode == RLOG_MALLOC_DETECT)
		json_object_set_new(meta, "damage", damage_list(c));
}
