/* SPDX-License-Identifier: MIT */
/* condition_frame.c: see condition.h: the source that a frame's line is looked up in. */
#include "base/cleanup.h"
#include "base/fdio.h"
#include "chain/condition.h"
#include "reclog/sources.h"

/* The source of a frame, as it was recorded; false: there is none. */
static bool read_source(struct inspect *p, int level, struct buf *text)
{
	const struct gdb_frame *f = level >= 0 && (size_t)level < p->nframes ? &p->frames[level] : NULL;
	cleanup_buf struct buf kept = {0};
	struct sources s;
	struct err ignored;

	if (!f || !f->fullname || f->line <= 0)
		return false;
	sources_init(&s, p->x->rec);
	if (sources_use(&s, f->fullname, &kept) && kept.len)
		buf_add(text, kept.data, kept.len);
	else if (read_file(f->fullname, text, &ignored))
		text->len = 0;
	sources_fini(&s);
	return text->len != 0;
}

void condition_at(struct inspect *p, int level, condition_finder *find, struct condition *c)
{
	cleanup_buf struct buf text = {0};

	*c = (struct condition){.lost = true};
	if (read_source(p, level, &text))
		find(buf_str(&text), p->frames[level].line, c);
}

unsigned condition_calls(struct inspect *p, int level, const char *function)
{
	cleanup_buf struct buf text = {0};

	return read_source(p, level, &text) ? condition_calls_in(buf_str(&text), function) : 0;
}
