/* SPDX-License-Identifier: MIT */
/*
 * task.h: the tasks of a hunt, also on other machines: which of them live, and ending processes that dead ones have
 * left behind.
 */
#ifndef FRED_HUNT_TASK_H
#define FRED_HUNT_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* {host, boot, pid}: this process, for tasks/TASK.json. New reference. */
json_t *task_self(void);
/* Locks an open task file, to show that its process is alive: until it ends, or closes any descriptor of that file. */
bool task_lock(int fd);
/*
 * Does the process that wrote this file live? On the same machine the file's lock shows that, whatever PID namespace
 * the process is in. On another machine it counts as alive if it has touched the file in the last minute, by the clock
 * of the file system that dir is on. Not for our own file.
 */
bool task_lives(const char *path, const char *dir);
/* Was it written to in the last minute, by that clock? */
bool task_file_is_fresh(const char *path, const char *dir);

/* Ends (SIGKILL) all processes of this machine that record into a path that begins so; how many there were. */
unsigned task_end_recording(const char *begin);
/*
 * Ends all descendants of a process that exist now, except the daemon of our $FRED_HOME and its descendants. Returns
 * how many there were.
 */
unsigned task_end_below(pid_t pid);
/* Counts them instead. */
unsigned task_count_below(pid_t pid);

#endif
