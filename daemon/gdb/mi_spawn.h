/* SPDX-License-Identifier: MIT */
/* mi_spawn.h: starting GDB as a child with pipes for its three streams and no terminal. */
#ifndef FRED_GDB_MI_SPAWN_H
#define FRED_GDB_MI_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct mi_proc {
	pid_t pid;
	int pidfd;
	int in, out, err; /* our ends, non-blocking: its input, output, standard error; -1: closed */
	bool reaped;
};

/*
 * Starts argv[0] from PATH: in a new session, default signals, no inherited descriptors, killed when
 * the calling thread ends. ERR_HOST when it cannot be executed. is_gdb: it is GDB itself, and not a program that starts
 * one.
 */
int mi_spawn(struct mi_proc *p, char *const argv[], bool is_gdb, struct err *e);
void mi_proc_close(struct mi_proc *p);

#endif
