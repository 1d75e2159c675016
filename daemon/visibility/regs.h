/* SPDX-License-Identifier: MIT */
/* regs.h: registers, memory and signals of a stopped thread in the form of the remote protocol (daemon/rsp). */
#ifndef FRED_VISIBILITY_REGS_H
#define FRED_VISIBILITY_REGS_H

#include "rsp/stub.h"
#include "visibility/breakpoints.h"

int regs_get(struct trace *t, struct rsp_regs *r, struct err *e);
/* Sets registers; now: the thread's present ones. */
int regs_set(struct trace *t, const struct rsp_regs *now, const struct rsp_regs *r, struct err *e);
/* How many bytes can be read from addr on, up to the first page that is missing. */
size_t regs_read_memory(pid_t pid, uint64_t addr, void *buf, size_t len);
/* As rsp_ops.set_point; pid: whose memory it is. */
int regs_set_point(struct breaks *b, enum rsp_point p, uint64_t addr, unsigned len, bool on,
		   const struct rsp_conditions *c, pid_t pid);
/* The name as in /proc; buf is unchanged if there is none. */
void regs_thread_name(pid_t pid, int tid, char *buf, size_t size);
/* From and to GDB's signal numbers (include/gdb/signals.def); 0: there is none. */
int regs_gdb_signal(int sig);
/* A set of GDB's signal numbers as bits: bit N - 1 for signal N. */
uint64_t regs_signal_set(const int *gdb, unsigned n);
int regs_host_signal(int gdb);

#endif
