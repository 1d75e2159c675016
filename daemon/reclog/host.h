/* SPDX-License-Identifier: MIT */
/* host.h: compares the machine that made a recording (its meta.json) with this one. */
#ifndef FRED_RECLOG_HOST_H
#define FRED_RECLOG_HOST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * Can this processor replay it? It must have all features that a program could see there and choose its code by; else
 * ERR_HOST, which names the missing ones.
 */
int rec_host_check(const json_t *meta, struct err *e);
/* Has the machine rebooted since the recording was made, or is this another one? false if that is not known. */
bool rec_host_rebooted(const json_t *meta);

#endif
