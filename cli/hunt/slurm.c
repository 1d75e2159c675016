/* SPDX-License-Identifier: MIT */
/* slurm.c: see slurm.h. */
#include "hunt/slurm.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "hunt/spec.h"

#define TASKS "1-8" /* of the array, unless --array says otherwise */

/* How many words of sbatch's --array begin at words[i] (its value may be the next word); 0: it is another option. */
static size_t array_words(const struct strv *words, size_t i)
{
	const char *w = words->s[i];

	if (str_eq(w, "-a") || str_eq(w, "--array"))
		return i + 1 < words->n ? 2 : 1;
	return str_starts(w, "--array=") || str_starts(w, "-a") ? 1 : 0;
}

static bool has_array(const struct strv *words)
{
	for (size_t i = 0; i < words->n; i++)
		if (array_words(words, i))
			return true;
	return false;
}

/* Copies the options without --array, for the single job after the array. */
static void without_array(struct strv *out, const struct strv *words)
{
	for (size_t i = 0, n; i < words->n; i += n ? n : 1) {
		n = array_words(words, i);
		if (!n)
			strv_add(out, words->s[i]);
	}
}

/* The command line of this process, without --slurm; reports: with --report. */
static int own_words(struct strv *out, bool reports, struct err *e)
{
	cleanup_buf struct buf b = {0};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool program = false, skip = false;

	if (n < 0 || read_file("/proc/self/cmdline", &b, e))
		return err_set(e, ERR_HOST, "/proc/self: cannot read its own command line");
	self[n] = '\0';
	strv_add(out, self);
	for (const char *p = b.data + strlen(b.data) + 1; p < b.data + b.len; p += strlen(p) + 1) {
		bool report = str_starts(p, "--report");

		program |= str_eq(p, "--");
		if (!program && (skip || str_starts(p, "--slurm") || (report && !reports))) {
			skip = !skip && report && !strchr(p, '='); /* its value is the next word */
			continue;
		}
		strv_add(out, p);
	}
	return 0;
}

/* sbatch with these words; its standard input is a script that runs the command. The job's ID. */
static int submit(struct strv *words, const struct strv *command, char id[64], struct err *e)
{
	cleanup_free char *line = hunt_command_text(command), *sbatch = NULL;
	cleanup_free char *path = xstrdup("/tmp/fred-slurm.XXXXXX");
	int fd = mkstemp(path), status;
	FILE *f;

	if (fd < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	if (dprintf(fd, "#!/bin/sh\nexec %s\n", line) < 0) {
		close(fd);
		unlink(path);
		return err_errno(e, ERR_HOST, "%s", path);
	}
	close(fd);
	strv_add(words, path);
	sbatch = hunt_command_text(words);
	f = popen(sbatch, "re");
	id[0] = '\0';
	if (f && !fgets(id, 64, f))
		id[0] = '\0';
	id[strcspn(id, ";\n")] = '\0';
	status = f ? pclose(f) : -1;
	unlink(path);
	if (status == -1)
		return err_errno(e, ERR_HOST, "sbatch");
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
		return err_set(e, ERR_HOST, "there is no sbatch: this machine is not part of a Slurm cluster");
	return status || !*id
		       ? err_set(e, ERR_HOST, "sbatch refused the job (exit %d): %s", WEXITSTATUS(status), sbatch)
		       : 0;
}

int slurm_submit(const struct strv *options, const char *state, struct err *e)
{
	cleanup_strv struct strv array = {0}, last = {0}, command = {0}, rest = {0};
	char id[64], report[64];

	if (!state)
		return err_set(e, ERR_USAGE, "--slurm needs --state DIR, on a file system that all nodes have");
	strv_add_all(&array, (const char *const[]){"sbatch", "--parsable", NULL});
	for (size_t i = 0; i < options->n; i++)
		strv_split(&array, options->s[i], " ");
	if (!has_array(&array))
		strv_add(&array, "--array=" TASKS);
	without_array(&last, &array);
	if (own_words(&command, false, e) || own_words(&rest, true, e) || submit(&array, &command, id, e))
		return -1;
	strv_addf(&last, "--dependency=afterany:%s", id);
	if (submit(&last, &rest, report, e))
		return err_wrap(e, "the array is job %s, but the job after it, which reports, could not be submitted",
				id);
	printf("array %s, report %s\n", id, report);
	return 0;
}
