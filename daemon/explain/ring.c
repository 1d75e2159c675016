/* SPDX-License-Identifier: MIT */
/* ring.c: see ring.h. */
#include "explain/ring.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "timetravel/cursor_int.h"

#define AT_ONCE 4u

unsigned ring_read(struct inspect *p, int level, const char *name, const char *field, uint64_t word[RING_MOST])
{
	cleanup_free char *next = str_fmt("&(%s)->%s", name, field);
	uint64_t first, at, away;
	struct err ignored;
	unsigned n = 0;

	if (!inspect_number(p, level, name, &first) || !first || !inspect_number(p, level, next, &away))
		return 0;
	away -= first;
	for (at = first; n < RING_MOST; n++) {
		word[n] = at + away;
		if (trace_read(p->copy, word[n], &at, sizeof(at), &ignored) || !at)
			return 0;
		if (at == first)
			return n + 1;
	}
	return 0;
}

/* Goes back to the last write of any of these words. As flow_last_write. */
static int to_last_link(struct explain *x, const uint64_t *word, unsigned n, uint64_t *last, struct err *e)
{
	unsigned which, best = 0;
	int r = 1;

	for (unsigned next = 1, some = 0; next < n || !some; some++) {
		unsigned index[AT_ONCE] = {best}, k = 1;
		struct insn_loc l[AT_ONCE] = {{.where = INSN_IN_MEM, .addr = word[best], .len = 8}};

		for (; k < AT_ONCE && next < n; k++, next++) {
			index[k] = next;
			l[k] = (struct insn_loc){.where = INSN_IN_MEM, .addr = word[next], .len = 8};
		}
		if (explain_goto_failure(x, e))
			return -1;
		r = flow_last_write_of(x, l, k, &which, e);
		if (r)
			return r;
		best = index[which];
	}
	*last = word[best];
	return 0;
}

int ring_tell(struct explain *x, const uint64_t *word, unsigned n, const char *name, const char *field, struct err *e)
{
	struct inspect p = {0};
	uint64_t last = 0, was;
	int r = to_last_link(x, word, n, &last, e);

	if (r) {
		explain_reopen(x);
		return r < 0 ? -1 : 1;
	}
	was = failure_word(x, last);
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(&p, STEP_WRITE, field, NULL, NULL,
		     "this made the list that the loop follows by %s->%s circular: of its %u elements, this one was "
		     "linked last; it was 0x%llx",
		     name, field, n, (unsigned long long)was);
	inspect_close(&p);
	explain_end(x, END_TRANSITION, "since this statement the list has no end");
	return 0;
}
