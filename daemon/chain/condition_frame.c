/* SPDX-License-Identifier: MIT */
/* condition_frame.c: see condition.h: the source that a frame's line is looked up in. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "chain/condition.h"
#include "chain/condition_macro.h"
#include "reclog/sources.h"

static bool read_named(struct sources *s, const char *name, struct buf *text)
{
	cleanup_buf struct buf kept = {0};
	struct err ignored;

	if (sources_use(s, name, &kept) && kept.len)
		buf_add(text, kept.data, kept.len);
	else if (read_file(name, text, &ignored))
		text->len = 0;
	return text->len != 0;
}

/* The source of a frame, as it was recorded; false: there is none. */
static bool read_frame(struct sources *s, const struct inspect *p, int level, struct buf *text)
{
	const struct gdb_frame *f = level >= 0 && (size_t)level < p->nframes ? &p->frames[level] : NULL;

	return f && f->fullname && f->line > 0 && read_named(s, f->fullname, text);
}

static bool read_source(struct inspect *p, int level, struct buf *text)
{
	struct sources s;
	bool is;

	sources_init(&s, p->x->rec);
	is = read_frame(&s, p, level, text);
	sources_fini(&s);
	return is;
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

#define INCLUDES_MOST 64u

char *condition_expand(struct inspect *p, int level, const char *expr)
{
	cleanup_buf struct buf text = {0};
	struct macros m = {0};
	struct sources s;
	char *out;

	sources_init(&s, p->x->rec);
	if (read_frame(&s, p, level, &text))
		macros_read(&m, buf_str(&text));
	for (size_t i = 0; i < m.includes.n && i < INCLUDES_MOST; i++) {
		cleanup_free char *dir = path_dir(p->frames[level].fullname), *joined = path_join(dir, m.includes.s[i]),
				  *name = path_clean(joined);
		cleanup_buf struct buf header = {0};

		if (read_named(&s, name, &header))
			macros_read(&m, buf_str(&header));
	}
	out = macros_expand(&m, expr);
	macros_fini(&m);
	sources_fini(&s);
	return out;
}
