/* SPDX-License-Identifier: MIT */
/* session_state.c: see session_state.h. */
#define LOG_DOMAIN "session"
#include "sessionstate/session_state.h"

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

/* The file has two slots; the older one is overwritten. A slot that was written only in part has a wrong checksum. */
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

static int map_position(struct session_state *s, const char *path, struct err *e)
{
	size_t size = 2 * sizeof(struct session_state_slot);
	cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return err_errno(e, ERR_HOST, "%s", path);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_HOST, "%s", path);
	s->slots = p;
	return 0;
}

/* Bookmarks and checkpoints. */
static int read_program(struct session_state *s, const char *path, struct err *e)
{
	json_auto_t *v = NULL;
	json_t *bookmarks, *checkpoints;

	if (!path_exists(path))
		return 0;
	v = json_load_path(path, e);
	if (!v || json_get_obj(v, "bookmarks", &bookmarks, e) || json_get_obj(v, "checkpoints", &checkpoints, e) ||
	    bookmarks_read(&s->bookmarks, bookmarks, e) || bookmarks_read(&s->checkpoints, checkpoints, e))
		return err_wrap(e, "%s", path);
	return 0;
}

int session_state_open(struct session_state *s, struct cursor *cursor, const char *dir, struct err *e)
{
	cleanup_free char *history = dir ? path_join(dir, "history") : NULL;
	cleanup_free char *position = dir ? path_join(dir, "position") : NULL;
	cleanup_free char *program = dir ? path_join(dir, "program.json") : NULL;

	s->cursor = cursor;
	if (undo_log_open(&s->undo_log, history, e))
		return -1;
	if (!dir)
		return 0;
	if (map_position(s, position, e) || read_program(s, program, e))
		return -1;
	s->program = steal_ptr(&program);
	return 0;
}

void session_state_close(struct session_state *s)
{
	undo_log_close(&s->undo_log);
	bookmarks_fini(&s->bookmarks);
	bookmarks_fini(&s->checkpoints);
	if (s->slots)
		munmap(s->slots, 2 * sizeof(struct session_state_slot));
	s->slots = NULL;
	free(s->program);
	s->program = NULL;
}

int session_state_return(struct session_state *s, bool stop, struct err *e)
{
	const struct session_state_slot *last = s->slots ? newest(s->slots) : NULL;
	struct mark to;
	bool exact;

	if (!last)
		return 1;
	to = stop || !s->undo_log.n ? last->mark : s->undo_log.v[s->undo_log.n - 1];
	if (mark_goto(s->cursor, &to, &exact, e))
		return err_wrap(e, "back to the last stop, after event %llu", (unsigned long long)to.event);
	s->inexact = !exact;
	if (!exact)
		log_warn("the last stop, at 0x%llx after event %llu, could not be reached again exactly",
			 (unsigned long long)to.regs.rip, (unsigned long long)to.event);
	return 0;
}

void session_state_stop(struct session_state *s)
{
	const struct session_state_slot *last = s->slots ? newest(s->slots) : NULL;
	struct session_state_slot *to = s->slots ? &s->slots[last == s->slots] : NULL;
	uint64_t number = last ? last->number + 1 : 1;
	struct mark here;
	struct err why;

	if (mark_take(s->cursor, &here, &why)) {
		log_warn("this stop cannot be saved: %s", why.text);
		return;
	}
	s->here = here;
	if (!to)
		return;
	to->magic = 0;
	to->mark = here;
	to->number = number;
	to->crc = sum(to);
	__atomic_store_n(&to->magic, MAGIC, __ATOMIC_RELEASE);
}

int session_state_write(struct session_state *s, struct err *e)
{
	const struct mark *here = s->undo_log.n ? &s->undo_log.v[s->undo_log.n - 1] : NULL;
	json_auto_t *v = NULL;

	if (!s->program)
		return 0;
	v = json_pack("{s:o, s:o, s:I, s:i}", "bookmarks", bookmarks_json(&s->bookmarks), "checkpoints",
		      bookmarks_json(&s->checkpoints), "events_total", (json_int_t)nav_total(s->cursor->nav),
		      "commands", s->undo_log.n ? (int)s->undo_log.n - 1 : 0);
	if (here) {
		json_object_set_new(v, "event", json_integer((json_int_t)here->event));
		json_object_set_new(v, "pc", json_sprintf("0x%llx", (unsigned long long)here->regs.rip));
		json_object_set_new(v, "tid", json_integer(here->tid));
	}
	return json_write_path(s->program, v, 0600, e);
}

int session_state_prompt(struct session_state *s, struct err *e)
{
	unsigned before = s->undo_log.n;

	if (mark_take(s->cursor, &s->here, e) || undo_log_prompt(&s->undo_log, &s->here, e))
		return -1;
	return s->undo_log.n != before ? session_state_write(s, e) : 0;
}

int session_state_undo(struct session_state *s, uint64_t n, bool *exact, struct err *e)
{
	const struct mark *to = undo_log_find(&s->undo_log, n, e);
	struct mark here;

	if (!to || mark_goto(s->cursor, to, exact, e))
		return -1;
	return mark_take(s->cursor, &here, e) || undo_log_forget(&s->undo_log, n, &here, e) ? -1
											    : session_state_write(s, e);
}
