/* SPDX-License-Identifier: MIT */
/* doctor.h: checks whether this host has what fred needs. */
#ifndef FRED_DOCTOR_DOCTOR_H
#define FRED_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum doctor_status { DOCTOR_OK, DOCTOR_WARN, DOCTOR_MISSING };

/* What a check found. */
struct doctor_result {
	enum doctor_status status;
	struct buf found; /* the state found: "6.1.0", "not found" ... */
	const char *advice; /* what to do when it is not ok; NULL: see the check's own */
};

struct doctor_check {
	const char *name;
	const char *means; /* the purpose of the checked item */
	const char *advice; /* what to do when it is missing */
	void (*run)(struct doctor_result *r);
};

/* All checks, ended by a NULL name. */
const struct doctor_check *doctor_checks(void);
const char *doctor_status_name(enum doctor_status s);

/* host.c: checks of the kernel and the machine. */
void doctor_kernel(struct doctor_result *r);
void doctor_user_dispatch(struct doctor_result *r);
void doctor_seccomp(struct doctor_result *r);
void doctor_namespaces(struct doctor_result *r);
void doctor_privileges(struct doctor_result *r);
void doctor_ptrace(struct doctor_result *r);
void doctor_clock(struct doctor_result *r);
void doctor_pmu(struct doctor_result *r);
void doctor_addresses(struct doctor_result *r);
void doctor_clone3(struct doctor_result *r);
void doctor_fifo(struct doctor_result *r);
void doctor_perf(struct doctor_result *r);
void doctor_tier(struct doctor_result *r);
/* tools.c: checks of programs and folders. */
void doctor_criu(struct doctor_result *r);
void doctor_criu_check(struct doctor_result *r);
void doctor_checkpoint(struct doctor_result *r);
/* Do a dump and a restore work? *said: malloc'd, how long they took, or what fails. */
bool doctor_try_checkpoint(char **said);
void doctor_gdb(struct doctor_result *r);
void doctor_shim(struct doctor_result *r);
void doctor_daemon(struct doctor_result *r);
void doctor_home(struct doctor_result *r);

#endif
