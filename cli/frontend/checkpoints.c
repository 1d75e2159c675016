/* SPDX-License-Identifier: MIT */
/* checkpoints.c: see checkpoints.h. */
#include "frontend/checkpoints.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "bridge/session.h"
#include "client/out.h"
#include "frontend/attach.h"

/*
 * All checkpoints of the session in this folder, as the worker has written them: {name, event, pc, hits, image}. NULL
 * with e set.
 */
static json_t *checkpoints_of(const char *dir, struct err *e)
{
	cleanup_free char *path = path_join(dir, "program.json");
	json_auto_t *program = path_exists(path) ? json_load_path(path, e) : json_object();
	json_t *list = json_object_get(json_object_get(program, "checkpoints"), "places");

	if (!program)
		return NULL;
	return list ? json_incref(list) : json_array();
}

static uint64_t number(const json_t *place)
{
	uint64_t n = 0;

	return str_u64(out_str(place, "name", ""), 10, 1, UINT64_MAX, &n) ? 0 : n;
}

static json_t *describe(const json_t *place)
{
	return json_pack("{s:I, s:O, s:o, s:O}", "checkpoint", (json_int_t)number(place), "event",
			 json_object_get(place, "event"), "position",
			 json_sprintf("%lld/0x%llx#%lld", (long long)out_int(place, "event"),
				      (unsigned long long)out_int(place, "pc"), (long long)out_int(place, "hits")),
			 "image", json_object_get(place, "image"));
}

json_t *checkpoints_list(const char *id, struct err *e)
{
	cleanup_session_info struct session_info one = {0};
	json_auto_t *list = session_find(id, false, &one, e) ? NULL : checkpoints_of(one.dir, e);
	json_t *shown = list ? json_array() : NULL, *place;
	size_t i;

	json_array_foreach(list, i, place) json_array_append_new(shown, describe(place));
	return list ? json_pack("{s:s, s:o}", "session", one.id, "checkpoints", shown) : NULL;
}

/* The checkpoint of this name; for NULL, the last one, if there are now more than `before`. */
static json_t *find(const char *dir, const char *name, size_t before, struct err *e)
{
	json_auto_t *list = checkpoints_of(dir, e);

	for (size_t i = json_array_size(list); i-- > (name ? 0 : before);) {
		const json_t *place = json_array_get(list, i);

		if (!name || str_eq(name, out_str(place, "name", "")))
			return describe(place);
	}
	if (list && name)
		err_set(e, ERR_USAGE, "there is no checkpoint %s (fredctl checkpoints)", name);
	else if (list)
		err_set(e, ERR_INTERNAL, "the session made no checkpoint");
	return NULL;
}

/* Executes a GDB command in the session, and returns the checkpoint of this name, or for NULL the new one. */
static json_t *run(const char *id, const char *command, const char *name, int *code, struct err *e)
{
	const char *more[] = {"--quiet", command, NULL};
	struct attach a = {.hold = -1};
	json_t *found = NULL;

	*code = -1;
	if (!attach_open(&a, id, NULL, e)) {
		json_auto_t *list = checkpoints_of(a.dir, e);

		*code = list ? attach_repl(&a, more, e) : -1;
		found = *code ? NULL : find(a.dir, name, json_array_size(list), e);
		if (found)
			json_object_set_new(found, "session", json_string(a.id));
		else if (!*code)
			*code = -1;
	}
	attach_close(&a);
	return found;
}

json_t *checkpoints_make(const char *id, int *code, struct err *e)
{
	return run(id, "checkpoint", NULL, code, e);
}

json_t *checkpoints_restart(const char *id, const char *name, int *code, struct err *e)
{
	cleanup_free char *command = str_fmt("restart %s", name);

	return run(id, command, name, code, e);
}
