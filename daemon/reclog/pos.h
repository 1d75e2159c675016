/* SPDX-License-Identifier: MIT */
/*
 * pos.h: positions as the user writes them. Pure.
 *
 *   start  end  N  N/0xPC#HITS  PCT%  @SECONDS  ckpt:ID
 */
#ifndef FRED_RECLOG_POS_H
#define FRED_RECLOG_POS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum pos_kind { POS_START, POS_END, POS_EVENT, POS_PC, POS_PERCENT, POS_SECONDS, POS_CKPT };

#define POS_CKPT_MAX 63

struct pos {
	enum pos_kind kind;
	uint64_t event; /* POS_EVENT, POS_PC */
	uint64_t pc, hits; /* POS_PC: before the hits-th (from 1) time at pc after the event */
	double number; /* POS_PERCENT: 0 to 100; POS_SECONDS: since the start */
	char ckpt[POS_CKPT_MAX + 1];
};

/* Parses all of s; ERR_USAGE says what a position looks like. "N/0xPC" means hit 1. */
int pos_parse(const char *s, struct pos *p, struct err *e);

#endif
