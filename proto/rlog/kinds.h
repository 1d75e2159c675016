/* SPDX-License-Identifier: MIT */
/* kinds.h: the table that rlog_next needs. Include it in one C file of each program or library. */
#ifndef FRED_RLOG_KINDS_H
#define FRED_RLOG_KINDS_H

#include "rlog/rlog.h"

static const struct rlog_kind_info rlog_kinds[RLOG_KIND_LIMIT] = {
#define EVENT(name, number, flags, operands, text) [number] = {1, flags, operands, text},
#include "rlog/events.def"
#undef EVENT
};

#endif
