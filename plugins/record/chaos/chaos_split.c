/* SPDX-License-Identifier: MIT */
/*
 * chaos_split.c: --sched chaos: an instruction that reads memory, and writes there what comes of that (add $1, count),
 * without a lock. On several processors, another thread may write between the read and the write, and its value is
 * lost. With one thread at a time, that cannot happen. So when a thread is held in front of such an instruction, the
 * value that it would have read is saved, and put back when the thread goes on: it then writes what it would have
 * written on several processors. Until then, other threads see what was written meanwhile.
 *
 * Not where a handler runs before the instruction: on a processor it runs before or after all of it. Whether it was
 * done is in the log, as an event with the bytes after the PREEMPT.
 */
#include "record/chaos/interrupts.h"
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/event/ev.h"
#include "record/sched/chaos.h"
#include "record/shm/group.h"

#define LOCK 0xf0

/* Opcodes of one byte that read and write their operand in memory; middle: of ModRM. xchg locks by itself. */
int split_changes(unsigned op, unsigned middle)
{
	if (op < 0x40)
		return (op & 6) == 0 && (op & 0x38) != 0x38;
	if (op == 0x80 || op == 0x81 || op == 0x83)
		return middle != 7;
	if (op == 0xf6 || op == 0xf7)
		return middle == 2 || middle == 3;
	if (op == 0xfe || op == 0xff)
		return middle < 2;
	return op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3);
}

/* Size of the operand that it reads and writes; 0: it is not such an instruction. */
static unsigned operand_bytes(const uint8_t *p, const struct insn *i)
{
	int two = i->map == 1, size16 = 0;

	if (i->map > 1 || !i->modrm_at || p[i->modrm_at] >> 6 == 3)
		return 0;
	for (unsigned k = 0; k + two < i->op_at; k++) {
		if (p[k] == LOCK)
			return 0;
		size16 |= p[k] == 0x66;
	}
	/* cmpxchg, xadd */
	if (two ? (i->op & 0xfe) != 0xb0 && (i->op & 0xfe) != 0xc0 : !split_changes(i->op, p[i->modrm_at] >> 3 & 7))
		return 0;
	if (!(i->op & 1))
		return 1;
	return i->rex & 8 ? 8 : size16 ? 2 : 4;
}

void split_look(struct split *s, const ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	struct insn i;

	s->bytes = 0;
	if (G.group || !chaos_in_text(pc))
		return;
	insn_decode((const uint8_t *)pc, &i);
	s->bytes = operand_bytes((const uint8_t *)pc, &i);
	s->at = s->bytes ? step_address(uc, pc) : 0;
	if (!step_is_shared(uc, s->at) || !sys_readable((const void *)s->at, s->bytes) || chaos_random(2))
		s->bytes = 0;
	else
		__builtin_memcpy(&s->value, (const void *)s->at, s->bytes);
}

void split_write(struct thr *t, struct split *s)
{
	uint64_t len = sizeof(*s);
	int64_t zero = 0;

	if (!s->bytes || t->pending)
		return;
	ev(t, RLOG_CALL, 0, RLOG_CALL_SPLIT, 0);
	ev_done(t);
	if (t->pending) /* a signal has come since */
		s->bytes = 0;
	ev_callret(t, &zero, s, &len);
	sys_put((void *)s->at, &s->value, s->bytes);
}
