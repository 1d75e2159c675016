/* SPDX-License-Identifier: MIT */
/* host.h: what a recording's meta.json says of the machine that made it, against this one. */
#ifndef FRED_RECLOG_HOST_H
#define FRED_RECLOG_HOST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * Can this processor replay it? It must have all features that a program could see there, and choose its code by: ERR_HOST,
 * naming those that are missing.
 */
int rec_host_check(const json_t *meta, struct err *e);
/* Has this machine been started anew since, or is it another one? false when that is not known. */
bool rec_host_rebooted(const json_t *meta);

#endif
