/* SPDX-License-Identifier: MIT */
/* small_block.c: see small_block.h. */
#include "explain/small_block.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "expr/text.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

/* What the block should have had room for. */
struct meant {
	uint64_t size; /* 0: it is not known that this is more than the block has */
	unsigned bits; /* the block's size is that number, cut to this many bits; 0: it is the size of a type */
};

/*
 * Does the statement of p access a member of an object that begins where the block does, and is larger than the block,
 * so that the write is inside the object? The object's size, else 0.
 */
static uint64_t size_of_type(struct explain *x, struct inspect *p)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	const struct explain_overrun *o = &x->overrun;

	for (const char *s = text; s && (s = strstr(s, "->")); s += 2) {
		const char *from = s;
		uint64_t v, len;

		while (from > text && text_is_name(from[-1]))
			from--;
		if (from < s && !(from > text && strchr(".>", from[-1]))) {
			cleanup_free char *name = xstrndup(from, (size_t)(s - from)),
					  *size = str_fmt("sizeof(*%s)", name);

			if (inspect_number(p, p->user, name, &v) && v == o->lo &&
			    inspect_number(p, p->user, size, &len) && len > o->len && o->hit >= v && o->hit < v + len)
				return len;
		}
	}
	return 0;
}

/*
 * p stands in a function of libc that copies or fills: is the block's size the one that was needed, without upper bits?
 */
static int is_cut(struct explain *x, struct inspect *p, struct meant *m, struct err *e)
{
	static const unsigned widths[] = {16, 32};
	const struct explain_overrun *o = &x->overrun;
	struct flow_copy copy = {0};

	if (!p->to_copy || !strstr(inspect_function(p, 0), "mem"))
		return 0;
	if (flow_copy_at(x, &p->at, &copy, e))
		return -1;
	if (!copy.entry.pc || copy.dest < o->lo || copy.dest > o->lo + o->len || (int64_t)copy.len <= 0)
		return 0;
	for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++) {
		uint64_t all = copy.dest + copy.len - o->lo;

		if (all > o->len && (all & ((1ull << widths[k]) - 1)) == o->len) {
			*m = (struct meant){all, widths[k]};
			return 0;
		}
	}
	return 0;
}

static void tell(struct inspect *p, const struct meant *m)
{
	unsigned long long len = p->x->overrun.len, size = m->size;

	inspect_look_past(p, len, false);
	if (m->bits)
		inspect_step(p, STEP_ALLOC, NULL, NULL, NULL,
			     "%s allocated the block of %llu bytes here; what was written needs %llu bytes, and %llu "
			     "is the lower %u bits of that",
			     inspect_function(p, 0), len, size, len, m->bits);
	else
		inspect_step(
			p, STEP_ALLOC, NULL, NULL, NULL,
			"%s allocated the block of %llu bytes here, to which a pointer to a type of %llu bytes leads",
			inspect_function(p, 0), len, size);
	explain_end(p->x, END_COMPUTED,
		    m->bits ? "the size of the block has lost its upper bits"
			    : "the block is smaller than the type of the pointer to it");
}

/* Either the write or the size of the block is wrong, and it is not known which: where p stands becomes a note. */
static void note_allocation(const struct inspect *p, const struct object *o)
{
	const char *file = json_string_value(json_object_get(p->location, "file"));
	int line = (int)json_integer_value(json_object_get(p->location, "line"));

	if (file && line && flow_is_one_of(inspect_function(p, 0), flow_allocating))
		explain_note(p->x, "%s allocated the block of %llu bytes at %s:%d: its size may be what is wrong",
			     inspect_function(p, 0), (unsigned long long)o->len, path_base(file), line);
}

int because_of_small_block(struct explain *x, struct err *e)
{
	struct inspect p = {0};
	struct object o = {0};
	struct meant m = {0};
	bool small, ignored;
	int r;

	if (cursor_goto_point(&x->t, &x->overrun.at, e))
		return -1;
	r = inspect_open(&p, x, e);
	if (!r && inspect_block(p.copy, x->overrun.lo, &o) && o.lo == x->overrun.lo) {
		m.size = size_of_type(x, &p);
		r = m.size ? 0 : is_cut(x, &p, &m, e);
	}
	inspect_close(&p);
	if (r)
		return -1;
	small = m.size > o.len; /* else the array that was meant may be the first member */
	if (!small && (!o.len || o.freed || o.lo != x->overrun.lo))
		return 1;
	r = flow_last_write(x, o.header, 8, 0, &ignored, e);
	if (r)
		return r < 0 ? -1 : 1;
	r = inspect_open(&p, x, e);
	if (!r && small)
		tell(&p, &m);
	else if (!r)
		note_allocation(&p, &o);
	inspect_close(&p);
	return r < 0 ? -1 : !small;
}
