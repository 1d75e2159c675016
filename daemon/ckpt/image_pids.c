/* SPDX-License-Identifier: MIT */
/* image_pids.c: see image_pids.h. CRIU 4 names one file by PID for each process and each thread. */
#include "ckpt/image_pids.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cell/cell.h"

/* N of "PREFIXN.img", or 0. */
static pid_t number_in(const char *name, const char *prefix)
{
	size_t n = strlen(name), skip = strlen(prefix);
	cleanup_free char *digits = NULL;
	uint64_t pid;

	if (!str_starts(name, prefix) || !str_ends(name, ".img") || n < skip + 4)
		return 0;
	digits = xstrndup(name + skip, n - skip - 4);
	return str_u64(digits, 10, 1, 1 << 22, &pid) ? 0 : (pid_t)pid;
}

static void add(pid_t **list, size_t *n, pid_t pid)
{
	if (!pid)
		return;
	*list = xreallocarray(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = pid;
}

int image_pids_read(const char *dir, struct image_pids *p, struct err *e)
{
	cleanup_closedir DIR *d = opendir(dir);
	struct dirent *de;

	if (!d)
		return err_errno(e, ERR_INTERNAL, "%s", dir);
	while ((de = readdir(d))) {
		add(&p->process, &p->processes, number_in(de->d_name, "mm-"));
		add(&p->thread, &p->threads, number_in(de->d_name, "core-"));
	}
	if (!p->processes || !p->threads)
		return err_set(e, ERR_INTERNAL, "there is no image in it");
	return 0;
}

void image_pids_fini(struct image_pids *p)
{
	free(p->process);
	free(p->thread);
	*p = (struct image_pids){0};
}

int image_pids_check_free(const struct image_pids *p, struct err *e)
{
	for (size_t i = 0; i < p->processes; i++)
		cell_free_pid(p->process[i]);
	/* kill finds any thread by its TID, zombies included. */
	for (size_t i = 0; i < p->threads; i++)
		if (!kill(p->thread[i], 0) || errno != ESRCH)
			return err_set(e, ERR_INTERNAL, "PID %d is taken", p->thread[i]);
	return 0;
}

void image_pids_clear(const struct image_pids *p)
{
	for (size_t i = 0; i < p->processes; i++) {
		siginfo_t si;

		/*
		 * Only children of this process are killed: a failed restore may have reaped the process, and another
		 * one may have its PID now.
		 */
		if (waitid(P_PID, (id_t)p->process[i], &si, WEXITED | WNOHANG | WNOWAIT))
			continue;
		kill(p->process[i], SIGKILL);
		while (waitpid(p->process[i], NULL, __WALL) < 0 && errno == EINTR)
			;
	}
}
