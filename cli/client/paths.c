/* SPDX-License-Identifier: MIT */
/* paths.c: see paths.h. */
#include "client/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "client/out.h"

char *paths_own(enum paths_own which, struct err *e)
{
	static const struct {
		const char *name, *places[3];
		bool records; /* also installed where fred can only record (Debian: package fred-record) */
	} own[] = {
		[PATHS_RECORDER] = {"libfred-record.so",
				    {"../plugins/record/libfred-record.so", FRED_LIB "/libfred-record.so"},
				    true},
		[PATHS_DAEMON] = {"fredd", {"../daemon/fredd", "fredd"}},
		[PATHS_DAP] = {"fred-dap", {"dap/fred-dap", "fred-dap"}},
		[PATHS_REPL] = {"fred-repl", {"repl/fred-repl", "fred-repl"}},
	};
	char *path = own_file(own[which].name, own[which].places, e);

	if (!path && !own[which].records) {
		cleanup_free char *why = xstrdup(e->text);

		err_set(e, ERR_HOST,
			"%s; if only the part of fred that records is installed, the package fred has the rest "
			"(Debian: apt install fred)",
			why);
	}
	return path;
}

static int has_meta(const char *dir)
{
	cleanup_free char *meta = path_join(dir, "meta.json");

	return path_exists(meta);
}

/* The recording made last: by its directory's meta.json, which is written when it begins and ends. */
static char *latest(const char *all, struct err *e)
{
	cleanup_closedir DIR *d = opendir(all);
	struct timespec best = {0};
	char *found = NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *meta = str_fmt("%s/%s/meta.json", all, de->d_name);
		struct stat st;

		if (de->d_name[0] == '.' || stat(meta, &st))
			continue;
		if (found && (st.st_mtim.tv_sec < best.tv_sec ||
			      (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec <= best.tv_nsec)))
			continue;
		best = st.st_mtim;
		free(found);
		found = path_join(all, de->d_name);
	}
	if (!found)
		err_set(e, ERR_USAGE, "there is no recording yet: fredctl record -- PROGRAM");
	return found;
}

char *paths_recording(const char *name, struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e);
	cleanup_free char *named = NULL;

	if (!all)
		return NULL;
	if (!name)
		return latest(all, e);
	if (has_meta(name) || (strchr(name, '/') && path_is_dir(name)))
		return realpath(name, NULL);
	named = path_join(all, name);
	if (!strchr(name, '/') && *name && *name != '.' && path_is_dir(named))
		return steal_ptr(&named);
	if (path_is_dir(name))
		return realpath(name, NULL);
	if (path_exists(name) && !access(name, X_OK))
		err_set(e, ERR_USAGE, "%s is a program, not a recording: fredctl record -- %s makes one", name, name);
	else
		err_set(e, ERR_USAGE, "no such recording: %s (fredctl ls)", name);
	return NULL;
}

int paths_is_recording(const char *name)
{
	struct err ignored;
	cleanup_free char *dir = paths_recording(name, &ignored);

	return dir && has_meta(dir);
}

/*
 * Is this the meta.json of a recording of that program? "program" is as it was given: a path, or a name that the shell
 * looked up.
 */
static bool is_of(const json_t *meta, const char *program)
{
	const char *started = out_str(meta, "program", "");
	cleanup_free char *path = path_join(out_str(meta, "cwd", "/"), started), *real = NULL;

	if (!strchr(started, '/'))
		return str_eq(started, path_base(program));
	if (started[0] == '/')
		str_set(&path, "%s", started);
	real = realpath(path, NULL);
	return str_eq(real ? real : path, program);
}

char *paths_recording_of(const char *program, struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e), *real = realpath(program, NULL);
	cleanup_closedir DIR *d = all ? opendir(all) : NULL;
	cleanup_free char *when = xstrdup("");
	char *best = NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/meta.json", all, de->d_name);
		struct err ignored;
		json_auto_t *meta = de->d_name[0] == '.' ? NULL : json_load_path(path, &ignored);

		if (!meta || !is_of(meta, real ? real : program) || strcmp(out_str(meta, "created", ""), when) < 0)
			continue;
		str_set(&when, "%s", out_str(meta, "created", ""));
		free(best);
		best = path_join(all, de->d_name);
	}
	if (!best && all)
		err_set(e, ERR_USAGE, "there is no recording of %s: fredctl record -- %s", program, program);
	return best;
}

/* The recording whose control page (rlog/rlog.h) this line of /proc/PID/maps (proc(5)) shows. malloc'd, or NULL. */
static char *recording_of_line(char *line)
{
	char *path = strchr(line, '/'), *name = path ? strrchr(path, '/') : NULL;

	line[strcspn(line, "\n")] = '\0';
	if (!name || strcmp(name, "/control"))
		return NULL;
	*name = '\0';
	return has_meta(path) ? realpath(path, NULL) : NULL;
}

char *paths_recording_of_process(const char *pid, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%s/maps", pid), *line = NULL;
	char *found = NULL;
	uint64_t n;
	size_t room = 0;
	FILE *f;

	if (str_u64(pid, 10, 1, INT32_MAX, &n)) {
		err_set(e, ERR_USAGE, "'%s' is not a PID", pid);
		return NULL;
	}
	f = fopen(path, "re");
	if (!f) {
		err_set(e, ERR_USAGE, "process %s: %s", pid, errno == ENOENT ? "there is none" : strerror(errno));
		return NULL;
	}
	while (!found && getline(&line, &room, f) > 0)
		found = recording_of_line(line);
	if (!found && ferror(f))
		err_errno(e, ERR_USAGE, "%s", path);
	else if (!found)
		err_set(e, ERR_USAGE,
			"fred does not record process %s, so it does not know its past: start the program by fredctl "
			"debug -- "
			"PROGRAM, or fredctl record -- PROGRAM",
			pid);
	fclose(f);
	return found;
}

/* The letters, digits and a few other characters of the program's name, so that it is easy to type. */
static char *plain_name(const char *program)
{
	char *name = xstrndup(path_base(program), 60);

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._+-", *p))
			*p = '_';
	if (*name == '.' || *name == '-')
		*name = '_';
	return name;
}

static uint64_t highest_number(const char *all, const char *name)
{
	cleanup_closedir DIR *d = opendir(all);
	size_t len = strlen(name);
	uint64_t max = 0, n;
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (!strncmp(de->d_name, name, len) && de->d_name[len] == '-' &&
		    !str_u64(de->d_name + len + 1, 10, 1, 1u << 30, &n) && n > max)
			max = n;
	return max;
}

static char *make_numbered(const char *program, struct err *e)
{
	cleanup_free char *all = home_subdir("recordings", e);
	cleanup_free char *name = plain_name(program);

	for (uint64_t n = all ? highest_number(all, name) + 1 : 0; all; n++) {
		char *dir = str_fmt("%s/%s-%llu", all, name, (unsigned long long)n);

		if (!mkdir(dir, 0700))
			return dir;
		if (errno != EEXIST) { /* EEXIST: another process was quicker */
			err_errno(e, ERR_HOST, "%s", dir);
			free(dir);
			return NULL;
		}
		free(dir);
	}
	return NULL;
}

static int check_empty(const char *dir, struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;

	if (!d)
		return err_errno(e, ERR_USAGE, "%s", dir);
	while ((de = readdir(d)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			return err_set(e, ERR_USAGE, "%s exists and is not empty", dir);
	return 0;
}

static char *make_wanted(const char *wanted, struct err *e)
{
	char *dir;

	if (path_exists(wanted) ? check_empty(wanted, e) : mkdir_p(wanted, 0700, e))
		return NULL;
	dir = realpath(wanted, NULL);
	if (!dir || chmod(dir, 0700) || access(dir, W_OK | X_OK)) {
		err_errno(e, ERR_USAGE, "%s", wanted);
		free(dir);
		return NULL;
	}
	return dir;
}

char *paths_new_recording(const char *wanted, const char *program, struct err *e)
{
	return wanted ? make_wanted(wanted, e) : make_numbered(program, e);
}
