/* SPDX-License-Identifier: MIT */
/* pick.c: see pick.h. */
#include "replay/pick.h"

#include "base/jsonx.h"
#include "reclog/host.h"
#include "reclog/procs.h"
#include "rlog/replay.h"
#include "target/logs.h"

static int check_replayable(const struct rec *rec, struct err *e)
{
	if (rec->without_data)
		return err_set(e, ERR_USAGE,
			       "%s was packed without its data: ls, info and events work, a replay needs the data",
			       rec->dir);
	return rec_host_check(rec->meta, e) ? err_wrap(e, "%s", rec->dir) : 0;
}

int pick_rec(const json_t *params, struct rec **out, struct err *e)
{
	const char *dir = json_string_value(json_object_get(params, "rec"));

	if (rec_open(dir, out, e))
		return -1;
	(*out)->logs_dir = logs_dir();
	if (check_replayable(*out, e) || rec_verify_manifest(*out, e)) {
		rec_free(*out);
		*out = NULL;
		return -1;
	}
	return 0;
}

uint32_t pick_process(const json_t *params, const struct rec *rec, struct err *e)
{
	json_int_t given = json_integer_value(json_object_get(params, "process"));
	if (given) {
		const struct rec_image *img = rec_image(rec, (uint32_t)given, e);

		return img ? img->ordinal : 0;
	}
	if (!rec->nimages) {
		err_set(e, ERR_USAGE, "%s: the recording holds no process", rec->dir);
		return 0;
	}
	return procs_default(rec);
}
