/* SPDX-License-Identifier: MIT */
/* diverge.c: see diverge.h. */
#include "session/diverge.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/maps.h"
#include "reclog/describe.h"

/* One side, as `fredctl events` would show it. */
static void side(struct buf *b, uint32_t kind, const uint64_t *op, uint32_t n)
{
	struct reader_event ev = {0};

	if (!kind) {
		buf_add_str(b, "no more events of this thread");
		return;
	}
	ev.rec.kind = (uint8_t)kind;
	ev.rec.flags = reader_kind(kind)->flags;
	ev.rec.nops = (uint8_t)n;
	for (uint32_t i = 0; i < n && i < 8; i++)
		ev.rec.op[i] = op[i];
	describe_event_what(b, &ev);
}

/* "FILE+0xOFFSET" of an address in the process, or the bare address. */
static void caller(struct buf *b, pid_t pid, uint64_t pc)
{
	struct mapping m;

	if (maps_find(pid, pc, &m) && m.path[0])
		buf_addf(b, "%s+0x%" PRIx64, m.path, pc - m.lo + m.offset);
	else
		buf_addf(b, "0x%" PRIx64, pc);
}

int diverge_explain(const struct target *t, struct err *e)
{
	const struct replay_diverge *d = &t->ctl->diverge;
	cleanup_buf struct buf b = {0};

	buf_addf(&b, "the replay diverged at event %llu, thread %u: %s; expected: ",
		   (unsigned long long)d->event, d->thread, d->text);
	side(&b, d->expected_kind, d->expected, d->expected_n);
	buf_add_str(&b, "; got: ");
	side(&b, d->got_kind, d->got, d->got_n);
	buf_add_str(&b, "; called from ");
	caller(&b, t->pid, d->caller);
	return err_set(e, ERR_INTERNAL, "%s", buf_str(&b));
}
