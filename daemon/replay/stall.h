/* SPDX-License-Identifier: MIT */
/*
 * stall.h: does a replay that is waited for still get on? It does when it comes to an event, or when the thread whose turn it is uses
 * the processor, up to some times what it used between those two events when it was recorded. Time alone says nothing: on a busy
 * machine a thread that wants to run may have to wait for long.
 */
#ifndef FRED_REPLAY_STALL_H
#define FRED_REPLAY_STALL_H

#include "replay/target.h"

#define STALL_LOOK_MS 100 /* from one look to the next */

struct stall {
	uint64_t turn; /* at the last look that saw it get on */
	uint32_t owner;
	uint64_t seen_ns, used_ns; /* CPU time of that thread and of copies that go ahead of it; since then, whoever of them has ended */
	unsigned looks, idle; /* since then; those at which no thread ran or wanted to */
	bool waits; /* it gets no further because all threads wait */
	double limit_s; /* of CPU time; negative: not known yet */
	double recorded_s; /* what the way to the next event took then; negative: not known */
};

void stall_begin(struct stall *s, const struct target *t);
/* A look; true: it gets no further. */
bool stall_look(struct stall *s, const struct target *t);
/* Then: where it stands and what it waits for. pc: of the thread whose turn it is, for who traces it; 0: it is looked for. */
void stall_explain(const struct stall *s, const struct target *t, uint64_t pc, struct err *e);

#endif
