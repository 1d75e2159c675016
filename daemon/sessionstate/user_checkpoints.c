/* SPDX-License-Identifier: MIT */
/* user_checkpoints.c: see user_checkpoints.h. */
#include "sessionstate/user_checkpoints.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "cell/plain.h"
#include "launch/launch.h"
#include "timetravel/cursor_int.h"

int user_checkpoints_take(struct session_state *s, struct buf *out, struct err *e)
{
	struct timeline_point here;
	struct bookmark *p;
	uint64_t image = 0;
	struct err why;
	int r;

	if (cursor_where(s->cursor, &here, e))
		return -1;
	r = cursor_keep(s->cursor, &image, &why);
	p = bookmarks_set(&s->checkpoints, "", &here);
	p->image = image;
	buf_addf(out, "Checkpoint %s: ", p->name);
	bookmarks_add_position(out, &here);
	buf_add_char(out, '\n');
	if (r)
		buf_addf(out, "fred: without an image: %s\n",
			 r < 0 ? why.text
			 : cell_is_plain()
				 ? "there are none without namespaces, so restart N replays from the start (in a "
				   "container, type: " LAUNCH_CONTAINER ")"
				 : "the recording's folder cannot be written");
	return session_state_write(s, e);
}

/* The image may be in use, or may have been removed already: images are a cache, so neither is an error. */
static int delete_one(struct session_state *s, const char *name, struct err *e)
{
	const struct bookmark *p = bookmarks_find(&s->checkpoints, name);
	struct ckpt_store *store = s->cursor->nav->store;
	struct err ignored;

	if (!p)
		return err_set(e, ERR_USAGE, "there is no checkpoint '%s'", name);
	if (p->image && store)
		ckpt_store_remove(store, p->image, &ignored);
	bookmarks_remove(&s->checkpoints, name);
	return 0;
}

int user_checkpoints_delete(struct session_state *s, const char *names, struct err *e)
{
	cleanup_strv struct strv list = {0};
	int r = 0;

	strv_split(&list, names, " \t,");
	while (!list.n && s->checkpoints.n)
		delete_one(s, s->checkpoints.v[0].name, e);
	for (size_t i = 0; i < list.n && !r; i++)
		r = delete_one(s, list.s[i], e);
	return session_state_write(s, r ? &(struct err){0} : e) || r ? -1 : 0;
}
