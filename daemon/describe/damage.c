/* SPDX-License-Identifier: MIT */
/* damage.c: see damage.h. */
#include "describe/damage.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "describe/caller.h"

static const char *const kinds[] = {
	[RLOG_DAMAGE_AFTER] = "overflow",
	[RLOG_DAMAGE_BEFORE] = "underflow",
	[RLOG_DAMAGE_FREED] = "use-after-free",
};

static const char *const whens[] = {
	[RLOG_DAMAGE_AT_FREE] = "free",
	[RLOG_DAMAGE_AT_REUSE] = "reuse",
	[RLOG_DAMAGE_AT_END] = "end",
};

static const char *const when_texts[] = {
	[RLOG_DAMAGE_AT_FREE] = "found when it was freed or resized",
	[RLOG_DAMAGE_AT_REUSE] = "found when its memory was to be used again",
	[RLOG_DAMAGE_AT_END] = "found at the end",
};

bool damage_note(const struct rlog_control *c, unsigned i, struct rlog_damage *d, uint32_t *process)
{
	const struct rlog_note *n = &c->note[i];

	if (!__atomic_load_n(&n->ready, __ATOMIC_ACQUIRE) || n->kind != RLOG_NOTE_DAMAGE)
		return false;
	memcpy(d, n->text, sizeof(*d));
	d->where[sizeof(d->where) - 1] = '\0';
	*process = n->process;
	return d->kind >= RLOG_DAMAGE_AFTER && d->kind <= RLOG_DAMAGE_FREED && d->when >= RLOG_DAMAGE_AT_FREE &&
	       d->when <= RLOG_DAMAGE_AT_END;
}

/* Shows "/path+0x12", where 0x12 is an offset in the file, as FUNCTION at FILE:LINE if that is known. */
static char *where_text(const struct rlog_damage *d)
{
	cleanup_buf struct buf b = {0};
	const char *plus = strrchr(d->where, '+');
	uint64_t offset;

	if (plus && !str_u64(plus + 1, 0, 0, UINT64_MAX - 1, &offset)) {
		cleanup_free char *path = xstrndup(d->where, (size_t)(plus - d->where));

		caller_add_in_file(&b, path, offset + 1);
	} else {
		buf_add_str(&b, d->where);
	}
	return xstrdup(buf_str(&b));
}

static char *size_text(const struct rlog_damage *d)
{
	return d->size ? str_fmt("a block of %llu byte%s at 0x%llx", (unsigned long long)d->size,
				 d->size == 1 ? "" : "s", (unsigned long long)d->memory)
		       : str_fmt("the block at 0x%llx", (unsigned long long)d->memory);
}

/* Byte N of the block, from 0. */
static long long byte_of(const struct rlog_damage *d)
{
	return (long long)(d->at - d->memory);
}

char *damage_text(const struct rlog_damage *d)
{
	cleanup_free char *size = size_text(d), *where = where_text(d);
	cleanup_buf struct buf b = {0};

	if (d->kind == RLOG_DAMAGE_BEFORE)
		buf_addf(&b, "the memory in front of %s was written to", size);
	else if (d->kind == RLOG_DAMAGE_AFTER)
		buf_addf(&b, "the memory after %s was written to: byte %lld became 0x%02llx", size, byte_of(d),
			 (unsigned long long)d->found);
	else
		buf_addf(&b, "%s was written to after it was freed: byte %lld became 0x%02llx", size, byte_of(d),
			 (unsigned long long)d->found);
	buf_addf(&b, " (%s", when_texts[d->when]);
	if (d->thread)
		buf_addf(&b, " by thread %llu", (unsigned long long)d->thread);
	buf_add_str(&b, ")");
	if (where[0])
		buf_addf(&b, "; it was allocated by %s", where);
	return xstrdup(buf_str(&b));
}

json_t *damage_json(const struct rlog_damage *d, uint32_t process)
{
	cleanup_free char *text = damage_text(d), *where = where_text(d);
	json_t *o = json_pack("{s:s, s:o, s:i, s:o, s:s}", "kind", kinds[d->kind], "text",
			      json_text(text, strlen(text)), "process", (int)process, "address",
			      json_sprintf("0x%llx", (unsigned long long)d->memory), "found_at", whens[d->when]);

	if (d->size)
		json_object_set_new(o, "size", json_integer((json_int_t)d->size));
	if (d->kind != RLOG_DAMAGE_BEFORE) {
		json_object_set_new(o, "byte", json_integer((json_int_t)byte_of(d)));
		json_object_set_new(o, "before", json_sprintf("0x%02llx", (unsigned long long)d->expected));
		json_object_set_new(o, "after", json_sprintf("0x%02llx", (unsigned long long)d->found));
	}
	if (d->thread)
		json_object_set_new(o, "thread", json_integer((json_int_t)d->thread));
	if (where[0])
		json_object_set_new(o, "allocated_by", json_text(where, strlen(where)));
	return o;
}

json_t *damage_list(const struct rlog_control *c)
{
	json_t *list = json_array();
	struct rlog_damage d;
	uint32_t process;

	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++)
		if (damage_note(c, i, &d, &process))
			json_array_append_new(list, damage_json(&d, process));
	return list;
}
