/* SPDX-License-Identifier: MIT */
/* wait.h: waits for a child that shares our terminal, as a shell would. */
#ifndef FRED_CLI_WAIT_H
#define FRED_CLI_WAIT_H

#include <sys/types.h>

#include "base/err.h"

/* Before the child is started: the terminal's SIGINT and SIGQUIT are for the child, not for us. */
void wait_prepare(void);
/*
 * Waits for pid, reaping whatever else becomes our child. A signal that someone sends to us is passed
 * on. *status as from waitpid. When it takes longer, does later(arg) meanwhile, once.
 */
int wait_for_program(pid_t pid, int *status, void (*later)(const void *), const void *arg, struct err *e);

#endif
