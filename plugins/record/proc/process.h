/* SPDX-License-Identifier: MIT */
/* process.h: processes begin by fork and exec: their images, PIDs, and what a vfork child leaves. */
#ifndef FRED_RECORD_PROCESS_H
#define FRED_RECORD_PROCESS_H

#include "record/core/state.h"

struct clone_args;
long proc_fork(struct thr *t, struct clone_args *c, uint64_t sp, ucontext_t *uc);

/* --- exec.c --- */
void exec_reap_helper(pid_t pid); /* the process that traced the exec of this image; 0: it is no child */
long proc_exec(struct thr *t, long nr, const long *a, ucontext_t *uc); /* a sys_call */

/* --- image.c --- */
struct rlog_image;
/*
 * Begins the folder of this process, and describes the process there. 0, or -1: it is not recorded, which is noted.
 * argv: NULL for a fork's child.
 */
int image_begin_process(uint32_t parent, enum rlog_origin origin, int argc, char **argv, char **envp);
int image_read_image(uint32_t process, struct rlog_image *im); /* 0, or -1 */
void image_show_pid(const struct rlog_image *im); /* replay: sets the PIDs that the program had */
const char *image_find_execfn(char **envp); /* the file that was executed, as the kernel has it */
/* After a fork: make this process image recorded (or replayed) under a new ordinal. */
void init_fork_child(struct thr *t, uint32_t process, uint32_t parent);
pid_t init_image_pid(uint32_t process); /* the PID that it has in a replay; 0: it is not in the recording */

/* --- vfork.c --- */
struct share;
struct share *vfork_begin(ucontext_t *uc);
void vfork_child_leaves(void);
void vfork_end(struct thr *t, struct share *s, ucontext_t *uc);

/* --- pid_ns.c --- */
uint64_t pid_ns_cell_pid(uint32_t process); /* recording: for the image of a process in an inner namespace */
void pid_ns_child(uint64_t flags); /* in a new process; flags: those of clone */
void pid_ns_moved(void); /* after an unshare or a setns */
/* Replay, in what was an inner namespace: writes the recorded number where the kernel has written another one. */
void pid_ns_show(int *word, int tid);
void pid_ns_show_self(int tid); /* in the word that is cleared at the calling thread's end */

#endif
