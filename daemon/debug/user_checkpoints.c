/* SPDX-License-Identifier: MIT */
/* user_checkpoints.c: see user_checkpoints.h. */
#include "debug/user_checkpoints.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "debug/session_state.h"
#include "timetravel/cursor_int.h"

int ckpts_take(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	struct timeline_point here;
	struct bookmark *p;
	uint64_t image = 0;
	struct err why;
	int r;

	(void)args;
	debug_end_diversion(d);
	if (cursor_where(&d->cursor, &here, e))
		return -1;
	r = cursor_keep(&d->cursor, &image, &why);
	p = bookmarks_set(&d->ckpts, "", &here);
	p->image = image;
	buf_addf(out, "Checkpoint %s: ", p->name);
	bookmarks_add_position(out, &here);
	buf_add_char(out, '\n');
	if (r)
		buf_addf(out, "fred: without an image: %s\n", r < 0 ? why.text : "the recording's folder cannot be written");
	return session_state_write(d, e);
}

int ckpts_list(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	(void)args;
	(void)e;
	bookmarks_list(&d->ckpts, "No checkpoints.", out);
	return 0;
}

int ckpts_restart(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct bookmark *p = bookmarks_find(&d->ckpts, args);

	(void)out;
	if (!p)
		return err_set(e, ERR_USAGE, "restart N: there is no checkpoint '%s' (`info checkpoints` lists them)", args);
	debug_end_diversion(d);
	if (cursor_goto_point(&d->cursor, &p->at, e))
		return -1;
	d->jumped = true;
	return 0;
}

/* Its image may be gone already, or be in use: what is a cache is nobody's loss. */
static void remove_image(struct debug *d, const struct bookmark *p)
{
	struct err ignored;

	if (p->image && d->nav.store)
		ckpt_store_remove(d->nav.store, p->image, &ignored);
}

static int delete_one(struct debug *d, const char *name, struct err *e)
{
	const struct bookmark *p = bookmarks_find(&d->ckpts, name);

	if (!p)
		return err_set(e, ERR_USAGE, "there is no checkpoint '%s'", name);
	remove_image(d, p);
	bookmarks_remove(&d->ckpts, name);
	return 0;
}

int ckpts_delete(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	cleanup_strv struct strv names = {0};
	int r = 0;

	(void)out;
	strv_split(&names, args, " \t,");
	while (!names.n && d->ckpts.n)
		delete_one(d, d->ckpts.v[0].name, e);
	for (size_t i = 0; i < names.n && !r; i++)
		r = delete_one(d, names.s[i], e);
	return session_state_write(d, r ? &(struct err){0} : e) || r ? -1 : 0;
}
