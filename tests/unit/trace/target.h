/* SPDX-License-Identifier: MIT */
/*
 * target.h: programs to trace. A target is a fork of the test that runs one function; it waits in a
 * futex until it is held, so that each test begins in a known state, inside a system call.
 */
#ifndef FRED_TESTS_TRACE_TARGET_H
#define FRED_TESTS_TRACE_TARGET_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include "trace/trace.h"

/* Shared by the test and the target. */
struct target_ctl {
	uint32_t ready; /* futex */
	uint32_t go;	/* futex */
	int32_t tid;	/* of the thread that waits for go */
	uint64_t out[8];
};

struct target {
	pid_t pid;
	struct target_ctl *ctl;
	struct trace t;
};

extern const char target_gadget[]; /* a syscall instruction */
#define GADGET	((uint64_t)(uintptr_t)target_gadget)
#define ADDR(x) ((uint64_t)(uintptr_t)(x))

/* Starts fn in a new process and holds the thread that calls target_wait. */
void target_start(struct target *g, void (*fn)(struct target_ctl *ctl));
/* In the target: the tracer takes over here. */
void target_wait(struct target_ctl *ctl);
/* Lets target_wait return, once the thread runs. */
void target_release(struct target *g);
/* In the target: a place to stop at, the end of a segment. */
void target_end(void);
void target_stop(struct target *g);
/* The state letter of /proc/PID/task/TID/stat. */
char target_state(pid_t pid, pid_t tid);
void futex_wait(uint32_t *word, uint32_t value);
void futex_wake(uint32_t *word);

/* e: the error whose text a failed call prints */
#define OK(call)                                                                                   \
	do {                                                                                       \
		struct err e;                                                                      \
		if (call)                                                                          \
			fail_msg("%s: %s", #call, e.text);                                         \
	} while (0)

#endif
