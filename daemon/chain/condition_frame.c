/* SPDX-License-Identifier: MIT */
/* condition_frame.c: see condition.h: the source that a frame's line is looked up in. */
#include "base/cleanup.h"
#include "base/fdio.h"
#include "chain/condition.h"
#include "reclog/sources.h"

void condition_at(struct inspect *p, int level, condition_finder *find, struct condition *c)
{
	const struct gdb_frame *f = level >= 0 && (size_t)level < p->nframes ? &p->frames[level] : NULL;
	cleanup_buf struct buf text = {0}, kept = {0};
	struct sources s;
	struct err ignored;

	*c = (struct condition){0};
	if (!f || !f->fullname || f->line <= 0)
		return;
	sources_init(&s, p->x->rec);
	if (sources_use(&s, f->fullname, &kept) && kept.len)
		buf_add(&text, kept.data, kept.len);
	else if (read_file(f->fullname, &text, &ignored))
		text.len = 0;
	sources_fini(&s);
	if (text.len)
		find(buf_str(&text), f->line, c);
}
