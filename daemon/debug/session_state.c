/* SPDX-License-Identifier: MIT */
/* session_state.c: see session_state.h. */
#define LOG_DOMAIN "keep"
#include "debug/session_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"

#define MAGIC 0x31544f5053465244ull

/* Two of them: the older one is overwritten. A torn one has a wrong checksum. */
struct session_state_slot {
	uint64_t magic, number;
	uint32_t crc, pad;
	struct mark mark;
};

static uint32_t sum(const struct session_state_slot *s)
{
	return crc32c(crc32c(0, &s->number, sizeof(s->number)), &s->mark, sizeof(s->mark));
}

static const struct session_state_slot *newest(const struct session_state_slot *v)
{
	const struct session_state_slot *best = NULL;

	for (int i = 0; i < 2; i++)
		if (v[i].magic == MAGIC && v[i].crc == sum(&v[i]) && (!best || v[i].number > best->number))
			best = &v[i];
	return best;
}

static int map_position(struct debug *d, const char *path, struct err *e)
{
	size_t size = 2 * sizeof(struct session_state_slot);
	cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return err_errno(e, ERR_HOST, "%s", path);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_HOST, "%s", path);
	d->slots = p;
	return 0;
}

/* Bookmarks and checkpoints. */
static int read_program(struct debug *d, const char *path, struct err *e)
{
	json_auto_t *v = NULL;
	json_t *bookmarks, *checkpoints;

	if (!path_exists(path))
		return 0;
	v = json_load_path(path, e);
	if (!v || json_get_obj(v, "bookmarks", &bookmarks, e) || json_get_obj(v, "checkpoints", &checkpoints, e) ||
	    bookmarks_read(&d->bookmarks, bookmarks, e) || bookmarks_read(&d->ckpts, checkpoints, e))
		return err_wrap(e, "%s", path);
	return 0;
}

int session_state_open(struct debug *d, const char *dir, struct err *e)
{
	cleanup_free char *history = dir ? path_join(dir, "history") : NULL;
	cleanup_free char *position = dir ? path_join(dir, "position") : NULL;
	cleanup_free char *program = dir ? path_join(dir, "program.json") : NULL;

	if (undo_log_open(&d->undo_log, history, e))
		return -1;
	if (!dir)
		return 0;
	if (map_position(d, position, e) || read_program(d, program, e))
		return -1;
	d->program = steal_ptr(&program);
	return 0;
}

void session_state_close(struct debug *d)
{
	undo_log_close(&d->undo_log);
	bookmarks_fini(&d->bookmarks);
	bookmarks_fini(&d->ckpts);
	if (d->slots)
		munmap(d->slots, 2 * sizeof(struct session_state_slot));
	d->slots = NULL;
	free(d->program);
	d->program = NULL;
}

int session_state_return(struct debug *d, bool stop, struct err *e)
{
	const struct session_state_slot *last = d->slots ? newest(d->slots) : NULL;
	struct mark to;
	bool exact;

	if (!last)
		return 1;
	to = stop || !d->undo_log.n ? last->mark : d->undo_log.v[d->undo_log.n - 1];
	if (mark_goto(&d->cursor, &to, &exact, e))
		return err_wrap(e, "back to the last stop, behind event %llu", (unsigned long long)to.event);
	d->inexact = !exact;
	if (!exact)
		log_warn("the last stop, at 0x%llx behind event %llu, is not met again exactly",
			 (unsigned long long)to.regs.rip, (unsigned long long)to.event);
	return 0;
}

void session_state_stop(struct debug *d)
{
	const struct session_state_slot *last = d->slots ? newest(d->slots) : NULL;
	struct session_state_slot *to = d->slots ? &d->slots[last == d->slots] : NULL;
	uint64_t number = last ? last->number + 1 : 1;
	struct mark here;
	struct err why;

	if (mark_take(&d->cursor, &here, &why)) {
		log_warn("this stop is not kept: %s", why.text);
		return;
	}
	d->here = here;
	if (!to)
		return;
	to->magic = 0;
	to->mark = here;
	to->number = number;
	to->crc = sum(to);
	__atomic_store_n(&to->magic, MAGIC, __ATOMIC_RELEASE);
}

int session_state_write(struct debug *d, struct err *e)
{
	const struct mark *here = d->undo_log.n ? &d->undo_log.v[d->undo_log.n - 1] : NULL;
	json_auto_t *v = NULL;

	if (!d->program)
		return 0;
	v = json_pack("{s:o, s:o, s:I, s:i}", "bookmarks", bookmarks_json(&d->bookmarks), "checkpoints", bookmarks_json(&d->ckpts),
		      "events_total", (json_int_t)nav_total(&d->nav), "commands", d->undo_log.n ? (int)d->undo_log.n - 1 : 0);
	if (here) {
		json_object_set_new(v, "event", json_integer((json_int_t)here->event));
		json_object_set_new(v, "pc", json_sprintf("0x%llx", (unsigned long long)here->regs.rip));
		json_object_set_new(v, "tid", json_integer(here->tid));
	}
	return json_write_path(d->program, v, 0600, e);
}

static const char *const edge_says[] = {
	[HISTORY_END_EXACT] = "",
	[HISTORY_END_ALIKE] = "fred: the state of the live program is not met again exactly; history ends with the one most like it\n",
	[HISTORY_END_EARLIER] = "fred: the place of the live program, which computes without a call, is not found: history ends before\n",
};

int session_state_prompt(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	unsigned before = d->undo_log.n;
	struct mark here;

	d->selected = (int)strtol(args, NULL, 10);
	free(steal_ptr(&d->later)); /* its command was given up before it began */
	lines_fini(&d->lines);
	if (d->inexact)
		buf_add_str(out, "fred: the state of the last stop is not met again exactly; this is the one most like it\n");
	d->inexact = false;
	if (d->revived)
		buf_add_str(out, "fred: the process that was replayed here was killed (SIGKILL); another one stands in its place\n");
	d->revived = false;
	if (d->cursor.history_end.on)
		buf_add_str(out, edge_says[d->cursor.history_end.found]);
	d->cursor.history_end.found = HISTORY_END_EXACT; /* told */
	if (diversion_is_on(&d->diversion))
		return 0; /* off the timeline; the program has not moved */
	if (mark_take(&d->cursor, &here, e))
		return -1;
	d->here = here;
	if (undo_log_prompt(&d->undo_log, &here, e))
		return -1;
	return d->undo_log.n != before ? session_state_write(d, e) : 0;
}

int session_state_undo(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct mark *to;
	struct mark here;
	uint64_t n = 1;
	bool exact;

	if (*args && str_u64(args, 10, 1, 1u << 30, &n))
		return err_set(e, ERR_USAGE, "undo N: '%s' is no number of commands", args);
	to = undo_log_find(&d->undo_log, n, e);
	if (!to)
		return -1;
	debug_end_diversion(d);
	if (mark_goto(&d->cursor, to, &exact, e))
		return -1;
	if (!exact)
		buf_add_str(out, "the state there is not met again exactly; this is the one most like it\n");
	d->jumped = true;
	return mark_take(&d->cursor, &here, e) || undo_log_forget(&d->undo_log, n, &here, e) ? -1 : session_state_write(d, e);
}
