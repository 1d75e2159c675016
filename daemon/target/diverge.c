/* SPDX-License-Identifier: MIT */
/* diverge.c: see diverge.h. */
#include "target/diverge.h"

#include "base/buf.h"
#include "describe/caller.h"
#include "describe/describe.h"

/* One side of the difference, as `fredctl events` shows it. */
static void side(struct buf *b, uint32_t kind, uint8_t hash, const uint64_t *op, uint32_t n)
{
	struct reader_event ev = {0};

	if (!kind) {
		buf_add_str(b, "no more events of this thread");
		return;
	}
	ev.rec.kind = (uint8_t)kind;
	ev.rec.flags = reader_kind(kind)->flags;
	ev.rec.hash = hash;
	ev.rec.nops = (uint8_t)n;
	for (uint32_t i = 0; i < n && i < 8; i++)
		ev.rec.op[i] = op[i];
	describe_event_what(b, &ev);
}

/* If the object differs, only its address is known. */
static uint8_t got_hash(const struct replay_diverge *d)
{
	return d->got_kind && (reader_kind(d->got_kind)->flags & RF_H) && d->got_n == 1
		       ? rlog_hash_addr((const void *)(uintptr_t)d->got[0])
		       : 0;
}

int diverge_explain(const struct target *t, struct err *e)
{
	const struct replay_diverge *d = &t->ctl->diverge;
	cleanup_buf struct buf b = {0};

	buf_addf(&b, "the replay diverged at event %llu, thread %u: %s; expected: ", (unsigned long long)d->event,
		 d->thread, d->text);
	side(&b, d->expected_kind, (uint8_t)d->expected_hash, d->expected, d->expected_n);
	buf_add_str(&b, "; got: ");
	side(&b, d->got_kind, got_hash(d), d->got, d->got_n);
	buf_add_str(&b, "; called from ");
	caller_add(&b, t->pid, d->caller);
	return err_set(e, ERR_INTERNAL, "%s", buf_str(&b));
}
