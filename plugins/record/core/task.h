/* SPDX-License-Identifier: MIT */
/* task.h: threads and processes as the kernel shows them. */
#ifndef FRED_RECORD_TASK_H
#define FRED_RECORD_TASK_H

#include "record/core/state.h"

char read_task_state(const char *stat); /* the letter in a "/proc/PID/stat"; 0: there is none */
/* "/proc/self/task/TID/FILE" in path, which is returned. */
char *task_path(char *path, char *end, const struct thr *x, const char *file);
char task_state(const struct thr *x); /* as proc(5) has it; 0: it is gone */
uint64_t task_cpu_ns(void); /* CPU time of the calling thread */
/*
 * Recording: t's CPU time up to now was the recorder's work, which a replay does not do; its computation is measured
 * from here on.
 */
void task_not_computing(struct thr *t);
#define PID_INNER 0x40000000u /* a bit in a PID: it is a number of a PID namespace that the program made */
int process_is_elsewhere(
	uint32_t pid); /* may it be the number of a process in another PID namespace, which means nothing here? */
/* "/proc/PID/task": are there two threads or more? A first thread that has ended counts while others live. */
int task_has_others(const char *tasks);
int process_is_dead(uint32_t pid); /* has it ended, or is it a zombie without living threads? 0 is no process */
/* In a child that clone made with CLONE_PARENT: it ends with that parent, which may have ended by now. */
void task_end_with(pid_t parent);
/* clone with a function, on a new stack, without libc; ctid: for CLONE_CHILD_CLEARTID */
long clone_fn(unsigned long flags, void *stack_top, int (*fn)(void *), void *arg, uint32_t *ctid);

#endif
