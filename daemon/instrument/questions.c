/* SPDX-License-Identifier: MIT */
/* questions.c: see questions.h, and instrument_ask in instrument.h: hits, where not all accesses are told. */
#include "instrument/questions.h"

#include <string.h>

/*
 * Between two steps the heap does not change. So of several accesses by the same instruction to the same address, all
 * after the same step, the first one was told.
 */
bool instrument_ask(struct instrument *i, const struct instrument_insn *x, size_t id)
{
	if (!instrument_has_hits(i))
		return false;
	if (!i->report.filter || x == i->string)
		return true;
	if (i->questions < REPORT_ONLY_MAX)
		i->question[i->questions++] = (struct instrument_question){
			.id = id, .event = i->event, .steps = i->steps + i->none, .pc = x->pc, .operand = i->operand};
	return false;
}

bool questions_is_step(enum replay_report_kind kind)
{
	return kind == REPORT_CALL || kind == REPORT_CALLED || kind == REPORT_RET || kind == REPORT_ALLOC ||
	       kind == REPORT_FREE || kind == REPORT_RESIZE || kind == REPORT_ALIGN;
}

size_t questions_again(struct instrument *i, uint64_t *pcs)
{
	size_t n = 0;

	for (size_t k = 0; k < i->questions; k++) {
		size_t at = 0;

		while (at < n && pcs[at] != i->question[k].pc)
			at++;
		if (at == n)
			pcs[n++] = i->question[k].pc;
	}
	i->again.on = n != 0;
	i->lost = i->report.lost;
	i->again.event = i->again.from;
	i->again.steps = 0;
	i->again.n = n;
	memcpy(i->again.pc, pcs, n * sizeof(*pcs));
	memset(i->again.hits, 0, sizeof(i->again.hits));
	return n;
}

static void answer(struct instrument *i, uint64_t pc, uint64_t operand)
{
	size_t at = 0;

	while (at < i->again.n && i->again.pc[at] != pc)
		at++;
	if (at == i->again.n)
		return;
	i->again.hits[at]++;
	for (size_t k = 0; k < i->questions; k++) {
		struct instrument_question *q = &i->question[k];

		if (q->answered || q->pc != pc || q->event != i->again.event || q->steps != i->again.steps ||
		    q->operand != operand)
			continue;
		q->answered = true;
		i->ops->position(i->ctx, i, q->id, pc, i->again.hits[at]);
	}
}

void questions_once_more(struct instrument *i, enum replay_report_kind kind, const uint64_t *v)
{
	i->again.steps += questions_is_step(kind);
	if (kind == REPORT_ACCESS && instrument_has_hits(i))
		answer(i, v[0] & REPORT_PC_MASK, v[1]);
	if (kind != REPORT_EVENT)
		return;
	i->again.event = v[1];
	i->again.steps = 0;
	memset(i->again.hits, 0, sizeof(i->again.hits));
}
