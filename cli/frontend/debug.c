/* SPDX-License-Identifier: MIT */
/* debug.c: see debug.h. */
#include "frontend/debug.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "bridge/bridge.h"
#include "bridge/second_ui.h"
#include "client/out.h"
#include "frontend/attach.h"
#include "frontend/gdb_run.h"
#include "reclog/procs.h"

static void say_saved(struct err *e, const char *id)
{
	struct err was = *e;

	err_set(e, was.kind, "%s; the session is saved: fredctl debug --resume %s", was.text, id);
}

/* Notes that the recording is not finished and, if it has several processes, which one this session is about. */
static void say_process(const struct cli *cli, const json_t *params)
{
	uint32_t n = (uint32_t)json_integer_value(json_object_get(params, "process"));
	const struct rec_image *img;
	cleanup_free char *incomplete = NULL;
	struct err ignored;
	struct rec *rec;

	if (rec_open(json_string_value(json_object_get(params, "rec")), &rec, &ignored))
		return;
	incomplete = rec_incomplete_text(rec);
	if (incomplete)
		out_note(cli, "%s", incomplete);
	img = rec->nimages > 1 ? rec_image(rec, n ? n : procs_default(rec), &ignored) : NULL;
	if (img) {
		struct procs_ending end = procs_ending(rec, img);
		cleanup_free char *how = procs_ending_text(&end);
		const char *argv0 = procs_argv(rec, img)[0];

		out_note(cli,
			 "process %u of %u, PID %d, %s, which %s; fredctl ps lists them, --process takes a number, a "
			 "PID or a name",
			 img->ordinal, rec->nimages, (int)img->head.pid, argv0 ? argv0 : "?", how);
	}
	rec_free(rec);
}

int debug_recording(const struct cli *cli, struct session *s, json_t *params, bool is_new, struct err *e)
{
	cleanup_strv struct strv args = {0};
	struct second_ui second = {.master = -1, .slave = -1, .listener = -1, .client = -1};
	struct gdb_run how = {.args = &args, .once = &cli->gdb, .second = &second};
	struct bridge b;
	int code = 0, r;

	say_process(cli, params);
	how.state = s->state;
	json_object_set_new(params, "session", json_text(s->dir, strlen(s->dir)));
	r = bridge_start(&b, cli, params, &code, e);
	if (!r) {
		strv_add(&args, "-q");
		r = second_ui_open(&second, &b, s->dir, e);
		if (!r) {
			how.unseen = attach_tell_ready(s->dir);
			r = gdb_run(&b, &how, &code, e);
		}
		if (r < 0)
			say_saved(e, s->id);
		second_ui_close(&second);
	} else if (bridge_is_parent(&b) && is_new) {
		session_discard(s); /* it has not begun */
	}
	bridge_end(&b);
	return r < 0 ? -1 : code;
}
