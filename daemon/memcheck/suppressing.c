/* SPDX-License-Identifier: MIT */
/*
 * suppressing.c: see suppressing.h. In Valgrind's stacks the functions that it replaces (malloc, free, strlen) are the
 * innermost frames; here they are none, so they are put in front.
 */
#include "memcheck/suppressing.h"

#include <stdlib.h>
#include <string.h>

#include "unwritten/functions.h"

static const char *const allocates[] = {"malloc",	 "calloc",   "realloc",
					"reallocarray",	 "memalign", "posix_memalign",
					"aligned_alloc", "valloc",   NULL},
			 *const frees[] = {"free",
					   "realloc",
					   "_ZdlPv",
					   "_ZdlPvm",
					   "_ZdaPv",
					   "_ZdaPvm",
					   "operator delete(void*)",
					   "operator delete[](void*)",
					   NULL};

static const char *kind_of_access(const struct memory_finding *f)
{
	if (f->by)
		return SUPPRESS_ANY_ADDR;
	switch (f->len) {
	case 2:
		return "Addr2";
	case 4:
		return "Addr4";
	case 8:
		return "Addr8";
	case 16:
		return "Addr16";
	case 32:
		return "Addr32";
	default:
		return "Addr1";
	}
}

static const char *kind_of(const struct memory_finding *f)
{
	switch (f->kind) {
	case FINDING_DOUBLE_FREE:
	case FINDING_INVALID_FREE:
	case FINDING_MISMATCH:
		return "Free";
	case FINDING_OVERLAP:
		return "Overlap";
	case FINDING_LEAK:
		return "Leak";
	case FINDING_UNWRITTEN:
		if (f->use == UNWRITTEN_ADDRESS)
			return "Value8";
		return f->use == UNWRITTEN_OUTPUT && functions_is_system_call(f->by) ? "Param" : "Cond";
	case FINDING_OUTSIDE:
	case FINDING_FREED:
	case FINDING_KINDS:
		break;
	}
	return kind_of_access(f);
}

/* The frames of a backtrace, malloc'd; they point into it. */
static struct suppress_frame *frames_of(const json_t *backtrace, size_t *n)
{
	struct suppress_frame *v = xcalloc(json_array_size(backtrace) + 1, sizeof(*v));
	json_t *frame;
	size_t k;

	json_array_foreach((json_t *)backtrace, k, frame)
	{
		const char *file = json_string_value(json_object_get(frame, "file")),
			   *slash = file ? strrchr(file, '/') : NULL;

		v[k] = (struct suppress_frame){json_string_value(json_object_get(frame, "function")),
					       json_string_value(json_object_get(frame, "module")),
					       slash ? slash + 1 : file,
					       (int)json_integer_value(json_object_get(frame, "line"))};
	}
	*n = json_array_size(backtrace);
	return v;
}

bool suppressing_sees(struct suppressions *s, const struct memory_finding *f, json_t *o, bool writes)
{
	const char *const by[] = {f->by, NULL}, *const *inner = by;
	struct suppress_frame *frames;
	char *text;
	size_t n;
	bool r;

	if (f->kind == FINDING_LEAK)
		inner = allocates;
	else if (f->kind == FINDING_DOUBLE_FREE || f->kind == FINDING_INVALID_FREE || f->kind == FINDING_MISMATCH)
		inner = frees;
	frames = frames_of(json_object_get(o, "backtrace"), &n);
	r = suppressions_match(s, kind_of(f), frames, n, inner);
	if (!r && writes) {
		text = suppression_text(kind_of(f), frames, n, f->by);
		json_object_set_new(o, "suppression", json_string(text));
		free(text);
	}
	free(frames);
	return r;
}

json_t *suppressing_json(const struct suppressions *s)
{
	json_t *list = json_array();

	for (size_t k = 0; k < s->n; k++)
		if (s->v[k].count)
			json_array_append_new(list, json_pack("{s:s, s:I}", "name", s->v[k].name, "count",
							      (json_int_t)s->v[k].count));
	return list;
}
