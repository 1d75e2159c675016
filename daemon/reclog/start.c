/* SPDX-License-Identifier: MIT */
/* start.c: see start.h. One JSON object. */
#include "reclog/start.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "rlog/rlog.h"

static int parse_thread(const json_t *o, struct rec_start_thread *t, struct err *e)
{
	uint64_t thread;

	if (json_get_u64(o, "thread", &thread, e) || json_get_u64(o, "offset", &t->offset, e) ||
	    json_get_u64(o, "stamp", &t->stamp, e))
		return -1;
	if (thread > RLOG_MAX_THREADS || t->offset < sizeof(struct rlog_head))
		return err_set(e, ERR_USAGE, "thread or offset out of range");
	t->thread = (uint32_t)thread;
	return 0;
}

static int parse(const json_t *o, struct rec_start *s, struct err *e)
{
	uint64_t thread, root;
	json_t *list, *one;
	size_t i;

	if (json_get_u64(o, "event", &s->event, e) || json_get_u64(o, "thread", &thread, e) ||
	    json_get_u64(o, "root", &root, e) || json_get_u64(o, "checkpoint", &s->checkpoint, e) ||
	    json_get_arr(o, "threads", &list, e))
		return -1;
	if (!s->event)
		return 0;
	if (thread > RLOG_MAX_THREADS || root > RLOG_MAX_PROCESSES)
		return err_set(e, ERR_USAGE, "number out of range");
	s->thread = (uint32_t)thread;
	s->root = (uint32_t)root;
	s->threads = xcalloc(json_array_size(list) + 1, sizeof(*s->threads));
	json_array_foreach(list, i, one) if (parse_thread(one, &s->threads[s->nthreads++], e)) return -1;
	if (!rec_start_of(s, s->thread))
		return err_set(e, ERR_USAGE, "its first thread is not among its threads");
	return 0;
}

int rec_start_read(const char *path, struct rec_start **out, struct err *e)
{
	json_auto_t *o = NULL;
	struct rec_start *s;

	*out = NULL;
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	if (!(o = json_load_path(path, e)))
		return -1;
	s = xcalloc(1, sizeof(*s));
	if (!parse(o, s, e)) {
		*out = s;
		return 0;
	}
	rec_start_free(s);
	e->kind = ERR_USAGE;
	return err_wrap(e, "%s: damaged", path);
}

int rec_start_write(const char *path, const struct rec_start *s, struct err *e)
{
	json_t *list = json_array();
	json_auto_t *o = json_pack("{s:I, s:i, s:i, s:I, s:o}", "event", (json_int_t)s->event, "thread", (int)s->thread,
				   "root", (int)s->root, "checkpoint", (json_int_t)s->checkpoint, "threads", list);
	cleanup_free char *text = NULL;

	for (unsigned i = 0; i < s->nthreads; i++)
		json_array_append_new(list, json_pack("{s:i, s:I, s:I}", "thread", (int)s->threads[i].thread, "offset",
						      (json_int_t)s->threads[i].offset, "stamp",
						      (json_int_t)s->threads[i].stamp));
	text = json_dumps(o, JSON_COMPACT);
	return write_file_atomic(path, text, strlen(text), 0600, e);
}

void rec_start_free(struct rec_start *s)
{
	if (!s)
		return;
	free(s->threads);
	free(s);
}

const struct rec_start_thread *rec_start_of(const struct rec_start *s, uint32_t thread)
{
	for (unsigned i = 0; s && i < s->nthreads; i++)
		if (s->threads[i].thread == thread)
			return &s->threads[i];
	return NULL;
}
