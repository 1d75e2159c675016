/* SPDX-License-Identifier: MIT */
/*
 * xlate_flags.c: before which instructions of a block the flags are not needed, since all are set before anything reads
 * them. There, the code of a report may change them, and is shorter. An unknown instruction may read them, and so may
 * the code after a block, except where that code is known: after a jump or a call that names its target. A handler of a
 * fault sees the flags before any instruction: in blocks that are translated while the program has one, they are needed
 * everywhere.
 */
#include "record/core/sigaction.h"
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate_emit.h"

#include <signal.h>

#define PAST_INSNS 8 /* instructions that are examined after the block */

/* Is it known that the code at pc, after the block, does not read them? */
static int are_dead_past(struct xlate *x, uint64_t pc)
{
	struct insn i;

	for (unsigned n = 0; n < PAST_INSNS; n++, pc += i.len) {
		if (!xlate_may_execute(x, pc) || xlate_is_writable(x, pc) || pc == x->place ||
		    (pc >= G.text_lo && pc < G.text_hi))
			return 0;
		insn_decode((const uint8_t *)pc, &i);
		if (i.kind == INSN_JMP) {
			pc = i.target - i.len;
			continue;
		}
		if (insn_flags_use((const uint8_t *)pc, &i) != INSN_FLAGS_LEFT)
			return insn_flags_use((const uint8_t *)pc, &i) == INSN_FLAGS_SET;
	}
	return 0;
}

static int faults_are_handled(void)
{
	return sig_has_handler(SIGSEGV) || sig_has_handler(SIGBUS) || sig_has_handler(SIGFPE) ||
	       sig_has_handler(SIGILL);
}

void xlate_find_flags(struct xlate *x, uint64_t pc, unsigned most)
{
	enum insn_flags use[BLOCK_INSNS];
	unsigned n = 0;
	struct insn i = {.kind = INSN_PLAIN};
	uint64_t at = pc;
	int dead;

	x->dead_flags = 0;
	if (!x->count || !x->count->report || x->count->n || x->count->words || x->count->nth || faults_are_handled())
		return;
	for (; n < most && i.kind == INSN_PLAIN; at += i.len) {
		insn_decode((const uint8_t *)at, &i);
		/* they are compared at the place */
		use[n++] = at == x->place ? INSN_FLAGS_READ : insn_flags_use((const uint8_t *)at, &i);
	}
	if (i.kind == INSN_JMP || i.kind == INSN_CALL) {
		dead = are_dead_past(x, i.target);
		n--;
		if (at - i.len != x->place)
			x->dead_flags |= (uint64_t)dead << n;
		else
			dead = 0;
	} else {
		dead = i.kind == INSN_PLAIN && are_dead_past(x, at);
	}
	while (n--) {
		dead = use[n] == INSN_FLAGS_SET || (use[n] == INSN_FLAGS_LEFT && dead);
		x->dead_flags |= (uint64_t)dead << n;
	}
}
