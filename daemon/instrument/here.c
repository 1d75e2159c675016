/* SPDX-License-Identifier: MIT */
/* here.c: the position of an instruction that is told (instrument_here in instrument.h). */
#include "instrument/instrument.h"

void instrument_here(const struct instrument *i, const struct instrument_insn *x, struct timeline_point *p)
{
	*p = (struct timeline_point){.event = i->event};
	if (!instrument_has_hits(i))
		return;
	*p = (struct timeline_point){i->event, x->pc, x->hits};
	if (visibility_is_certain(&i->visibility, x->pc))
		return;
	for (size_t k = i->stack->n; k; k--) {
		const struct instrument_frame *f = &i->stack->v[k - 1];

		if (!f->hits)
			break;
		*p = (struct timeline_point){f->event, f->pc, f->hits};
		if (visibility_is_certain(&i->visibility, f->pc))
			return;
	}
	*p = (struct timeline_point){.event = i->event};
}
