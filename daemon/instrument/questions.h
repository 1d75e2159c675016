/* SPDX-License-Identifier: MIT */
/* questions.h: the accesses whose hits instrument_ask was asked for are told once more, by a second copy. */
#ifndef FRED_INSTRUMENT_QUESTIONS_H
#define FRED_INSTRUMENT_QUESTIONS_H

#include "instrument/instrument.h"

/* Does an entry of this kind count as a step (struct instrument_question)? */
bool questions_is_step(enum replay_report_kind kind);
/* The second copy is about to begin. Fills pcs (REPORT_ONLY_MAX); returns how many, 0: nothing was asked. */
size_t questions_again(struct instrument *i, uint64_t *pcs);
/* An entry of it. */
void questions_once_more(struct instrument *i, enum replay_report_kind kind, const uint64_t *v);

#endif
