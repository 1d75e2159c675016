/* SPDX-License-Identifier: MIT */
/* slurm.h: a hunt as a Slurm job array: each task of it is a `fredctl bisect` on the same state, which is on a shared
 * file system. */
#ifndef FRED_HUNT_SLURM_H
#define FRED_HUNT_SLURM_H

#include "base/err.h"
#include "base/str.h"

/*
 * Submits this very command line, without --slurm, as an array (sbatch; options: words of its, separated by blanks),
 * and after it a job that does what killed tasks left undone and writes the reports. 0 when it was submitted; -1:
 * ERR_USAGE, ERR_HOST.
 */
int slurm_submit(const struct strv *options, const char *state, struct err *e);

#endif
