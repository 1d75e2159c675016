/* SPDX-License-Identifier: MIT */
/*
 * cell.h: cells, the namespaces in which one replay runs (pid, mount, net, ipc). The daemon makes a
 * cell with cell_start; everything else here is for the function that runs as its pid 1.
 *
 * Inside: its own /proc; a tmpfs on /run (what was in /run/user and /run/media stays visible) with
 * an empty /run/fred (mode 0700); `lo` up; mounts do not propagate. PIDs that no one chooses start
 * high (3/4 of pid_max), out of the way of recorded ones. When pid 1 ends, or the process that
 * started the cell, the kernel kills all in it.
 */
#ifndef FRED_CELL_CELL_H
#define FRED_CELL_CELL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define CELL_RUN_DIR "/run/fred"
#define CELL_DIR_SIZE 24u
#define CELL_PROCESSES 4096u /* a plain cell in which there are more is ended, */
#define CELL_CROWDED 124 /* with this exit status */

struct cell {
	pid_t pid; /* of the cell's pid 1, as the caller sees it: its child */
	int pidfd; /* close-on-exec; readable when the cell has ended */
	int end_signal; /* the signal that ends the cell and all its processes */
	char dir[CELL_DIR_SIZE]; /* the folder of a cell without namespaces, removed by its guard; else "" */
};

/*
 * Makes a cell and runs init(arg) in a fork of the caller as its pid 1; init's result is the exit
 * status. The child has default signal dispositions, nothing blocked, the SIGCHLD handler of
 * cell/wait.h, and the caller's memory and descriptors. Returns when the cell is ready (some
 * milliseconds), or with the error of its set-up: ERR_HOST names what the host lacks. The caller
 * must be a thread whose death may end the cell, and reaps out->pid. Needs CAP_SYS_ADMIN
 * in the caller's user namespace: userns_enter gives it to an ordinary user's daemon.
 */
int cell_start(int (*init)(void *arg), void *arg, struct cell *out, struct err *e);
/*
 * As cell_start, where no namespaces can be made, and without any rights: see plain.h. out->pid is a guard, whose child
 * runs init. The guard ends when the child has ended (with its status), when it gets SIGTERM, or when the caller ends;
 * first it kills all that the child has left behind, and removes the cell's folder. If the guard itself is killed
 * (SIGKILL), the child and what it has started die, and the caller removes the folder (cell_remove_dir, cell_join); if
 * the caller is killed, too, the folder stays.
 */
int cell_start_plain(int (*init)(void *arg), void *arg, struct cell *out, struct err *e);
/*
 * Kills the cell, waits for its end, closes the pidfd. Fine on a cell with pid 0. Returns its wait
 * status.
 */
int cell_kill(struct cell *c);
/* Removes the folder (cell.dir) of a cell that has ended and was reaped, unless its guard has done so. */
void cell_remove_dir(const char *dir);
/* Waits for the end of the cell and closes the pidfd; *status as from waitpid. */
int cell_join(struct cell *c, int *status, struct err *e);

/* ---- init.c: for the function that runs as PID 1 ---- */

/* Waits for the end of this child; EINTR is retried. */
int cell_wait_pid(pid_t pid, int *status, struct err *e);
/* Reaps every dead child that is not in keep[0..n). Never blocks. Returns how many it reaped. */
int cell_reap_except(const pid_t *keep, size_t n);
/*
 * Ends what is left of the process group that pid led, and reaps it: a PID can be chosen again only when no process is
 * in a group or session of that number. Does nothing while pid itself is there.
 */
void cell_free_pid(pid_t pid);
/* Binds the folder or file src on dst, which is made if it does not exist (its parent must). */
int cell_mount_bind(const char *src, const char *dst, int read_only, struct err *e);
/* The next process or thread of the cell gets a PID above n (ns_last_pid), unless its creator chooses one. */
int cell_set_last_pid(pid_t n, struct err *e);

#endif
