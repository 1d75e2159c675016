/* SPDX-License-Identifier: MIT */
/* task.h: tasks of a hunt, also on other machines: who lives, and processes that were left behind. */
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
 * Does the process that wrote this file live? On the same machine its lock tells that, in whichever PID namespace it
 * is; of others it is taken to do so while it has touched the file in the last minute, by the clock of the file system
 * that dir is on. Not for our own file.
 */
bool task_lives(const char *path, const char *dir);
/* Was it written to in the last minute, by that clock? */
bool task_file_is_fresh(const char *path, const char *dir);

/* Ends (SIGKILL) all processes of this machine that record into a path that begins so; how many there were. */
unsigned task_end_recording(const char *begin);
/* Ends all processes below a process, once, but the daemon of our $FRED_HOME and what is below that; how many there
 * were. */
unsigned task_end_below(pid_t pid);
/* The same without ending them. */
unsigned task_count_below(pid_t pid);

#endif
