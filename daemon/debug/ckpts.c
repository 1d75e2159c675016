/* SPDX-License-Identifier: MIT */
/* ckpts.c: see ckpts.h. */
#include "debug/ckpts.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "debug/keep.h"
#include "debug/travel_int.h"

int ckpts_take(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	struct timeline_point here;
	struct place *p;
	uint64_t image = 0;
	struct err why;
	int r;

	(void)args;
	debug_end_diversion(d);
	if (travel_where(&d->travel, &here, e))
		return -1;
	r = travel_keep(&d->travel, &image, &why);
	p = places_set(&d->ckpts, "", &here);
	p->image = image;
	buf_addf(out, "Checkpoint %s: ", p->name);
	places_add_position(out, &here);
	buf_add_char(out, '\n');
	if (r)
		buf_addf(out, "fred: without an image: %s\n", r < 0 ? why.text : "the recording's folder cannot be written");
	return keep_write(d, e);
}

int ckpts_list(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	(void)args;
	(void)e;
	places_list(&d->ckpts, "No checkpoints.", out);
	return 0;
}

int ckpts_restart(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct place *p = places_find(&d->ckpts, args);

	(void)out;
	if (!p)
		return err_set(e, ERR_USAGE, "restart N: there is no checkpoint '%s' (`info checkpoints` lists them)", args);
	debug_end_diversion(d);
	if (travel_goto_pc(&d->travel, p->at.event, p->at.pc, p->at.hits, e))
		return -1;
	d->jumped = true;
	return 0;
}

/* Its image may be gone already, or be in use: what is a cache is nobody's loss. */
static void remove_image(struct debug *d, const struct place *p)
{
	struct err ignored;

	if (p->image && d->nav.store)
		ckpt_store_remove(d->nav.store, p->image, &ignored);
}

static int delete_one(struct debug *d, const char *name, struct err *e)
{
	const struct place *p = places_find(&d->ckpts, name);

	if (!p)
		return err_set(e, ERR_USAGE, "there is no checkpoint '%s'", name);
	remove_image(d, p);
	places_remove(&d->ckpts, name);
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
	return keep_write(d, r ? &(struct err){0} : e) || r ? -1 : 0;
}
