/* SPDX-License-Identifier: MIT */
/*
 * maps.h: the mappings of a process, by address, as proc_pid_maps(5) lists them. A process may change its mappings
 * meanwhile: the kernel continues from the address that it has reached, so each mapping is listed as it was when it was
 * read.
 */
#ifndef FRED_BASE_MAPS_H
#define FRED_BASE_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

struct mapping {
	uint64_t lo, hi; /* [lo, hi) */
	uint64_t offset; /* in the file, bytes */
	uint64_t inode; /* 0: of no file */
	bool read, write, exec, shared;
	char path[PATH_MAX + 16]; /* as it is there: "/FILE", "/FILE (deleted)", "[stack]"; "": without a name */
};

struct maps {
	FILE *f;
	char *line;
	size_t cap;
};

/*
 * When a process's first thread has ended, its memory cannot be read by its PID, neither in /proc nor by
 * process_vm_readv, but it can by the TID of any other thread. Returns such a TID; else pid.
 */
pid_t maps_owner(pid_t pid);
/* Has the process ended, or is it ending? Then none of its threads has memory any more. */
bool maps_is_dead(pid_t pid);
/*
 * How a dead process has ended, as waitpid would tell. waitpid itself may not tell it yet, as long as a tracer holds a
 * thread of the process. 0 also if it cannot be seen.
 */
int maps_end_status(pid_t pid);
/* The state letter in a /proc/PID/stat or /proc/PID/task/TID/stat, as proc(5) has them; 0: there is no such file. */
char maps_state(const char *stat);
/* Opens its /proc/PID/mem, or that of its owner, with flags as open(2). -1 with errno. */
int maps_open_mem(pid_t pid, int flags);

/* cleanup_maps struct maps m = {0}; */
int maps_open(struct maps *m, pid_t pid, struct err *e);
/* The next one. false: there is none, or the process has gone. */
bool maps_next(struct maps *m, struct mapping *v);
void maps_close(struct maps *m);
/* The mapping in which addr lies. false: none, or the process cannot be seen. */
bool maps_find(pid_t pid, uint64_t addr, struct mapping *v);
/* Where the mapping of the first bytes of this file begins; false: there is none. */
bool maps_find_start(pid_t pid, const char *path, uint64_t *lo);

static inline bool mapping_has(const struct mapping *v, uint64_t addr)
{
	return addr >= v->lo && addr < v->hi;
}

#define cleanup_maps __attribute__((cleanup(maps_close)))

#endif
