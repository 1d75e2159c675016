/* SPDX-License-Identifier: MIT */
/* keep.c: see keep.h. */
#define LOG_DOMAIN "keep"
#include "debug/keep.h"

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
struct keep_slot {
	uint64_t magic, number;
	uint32_t crc, pad;
	struct spot spot;
};

static uint32_t sum(const struct keep_slot *s)
{
	return crc32c(crc32c(0, &s->number, sizeof(s->number)), &s->spot, sizeof(s->spot));
}

static const struct keep_slot *newest(const struct keep_slot *v)
{
	const struct keep_slot *best = NULL;

	for (int i = 0; i < 2; i++)
		if (v[i].magic == MAGIC && v[i].crc == sum(&v[i]) && (!best || v[i].number > best->number))
			best = &v[i];
	return best;
}

static int map_position(struct debug *d, const char *path, struct err *e)
{
	size_t size = 2 * sizeof(struct keep_slot);
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
	    places_read(&d->places, bookmarks, e) || places_read(&d->ckpts, checkpoints, e))
		return err_wrap(e, "%s", path);
	return 0;
}

int keep_open(struct debug *d, const char *dir, struct err *e)
{
	cleanup_free char *history = dir ? path_join(dir, "history") : NULL;
	cleanup_free char *position = dir ? path_join(dir, "position") : NULL;
	cleanup_free char *program = dir ? path_join(dir, "program.json") : NULL;

	if (past_open(&d->past, history, e))
		return -1;
	if (!dir)
		return 0;
	if (map_position(d, position, e) || read_program(d, program, e))
		return -1;
	d->program = steal_ptr(&program);
	return 0;
}

void keep_close(struct debug *d)
{
	past_close(&d->past);
	places_fini(&d->places);
	places_fini(&d->ckpts);
	if (d->slots)
		munmap(d->slots, 2 * sizeof(struct keep_slot));
	d->slots = NULL;
	free(d->program);
	d->program = NULL;
}

int keep_return(struct debug *d, bool stop, struct err *e)
{
	const struct keep_slot *last = d->slots ? newest(d->slots) : NULL;
	struct spot to;
	bool exact;

	if (!last)
		return 1;
	to = stop || !d->past.n ? last->spot : d->past.v[d->past.n - 1];
	if (spot_goto(&d->travel, &to, &exact, e))
		return err_wrap(e, "back to the last stop, behind event %llu", (unsigned long long)to.event);
	d->inexact = !exact;
	if (!exact)
		log_warn("the last stop, at 0x%llx behind event %llu, is not met again exactly",
			 (unsigned long long)to.regs.rip, (unsigned long long)to.event);
	return 0;
}

void keep_stop(struct debug *d)
{
	const struct keep_slot *last = d->slots ? newest(d->slots) : NULL;
	struct keep_slot *to = d->slots ? &d->slots[last == d->slots] : NULL;
	uint64_t number = last ? last->number + 1 : 1;
	struct spot here;
	struct err why;

	if (spot_take(&d->travel, &here, &why)) {
		log_warn("this stop is not kept: %s", why.text);
		return;
	}
	d->here = here;
	if (!to)
		return;
	to->magic = 0;
	to->spot = here;
	to->number = number;
	to->crc = sum(to);
	__atomic_store_n(&to->magic, MAGIC, __ATOMIC_RELEASE);
}

int keep_write(struct debug *d, struct err *e)
{
	const struct spot *here = d->past.n ? &d->past.v[d->past.n - 1] : NULL;
	json_auto_t *v = NULL;

	if (!d->program)
		return 0;
	v = json_pack("{s:o, s:o, s:I, s:i}", "bookmarks", places_json(&d->places), "checkpoints", places_json(&d->ckpts),
		      "events_total", (json_int_t)nav_total(&d->nav), "commands", d->past.n ? (int)d->past.n - 1 : 0);
	if (here) {
		json_object_set_new(v, "event", json_integer((json_int_t)here->event));
		json_object_set_new(v, "pc", json_sprintf("0x%llx", (unsigned long long)here->regs.rip));
		json_object_set_new(v, "tid", json_integer(here->tid));
	}
	return json_write_path(d->program, v, 0600, e);
}

static const char *const edge_says[] = {
	[EDGE_EXACT] = "",
	[EDGE_ALIKE] = "fred: the state of the live program is not met again exactly; history ends with the one most like it\n",
	[EDGE_EARLIER] = "fred: the place of the live program, which computes without a call, is not found: history ends before\n",
};

int keep_prompt(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	unsigned before = d->past.n;
	struct spot here;

	d->selected = (int)strtol(args, NULL, 10);
	free(steal_ptr(&d->later)); /* its command was given up before it began */
	lines_fini(&d->lines);
	if (d->inexact)
		buf_add_str(out, "fred: the state of the last stop is not met again exactly; this is the one most like it\n");
	d->inexact = false;
	if (d->revived)
		buf_add_str(out, "fred: the process that was replayed here was killed (SIGKILL); another one stands in its place\n");
	d->revived = false;
	if (d->travel.edge.on)
		buf_add_str(out, edge_says[d->travel.edge.found]);
	d->travel.edge.found = EDGE_EXACT; /* told */
	if (divert_is_on(&d->divert))
		return 0; /* off the timeline; the program has not moved */
	if (spot_take(&d->travel, &here, e))
		return -1;
	d->here = here;
	if (past_prompt(&d->past, &here, e))
		return -1;
	return d->past.n != before ? keep_write(d, e) : 0;
}

int keep_undo(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct spot *to;
	struct spot here;
	uint64_t n = 1;
	bool exact;

	if (*args && str_u64(args, 10, 1, 1u << 30, &n))
		return err_set(e, ERR_USAGE, "undo N: '%s' is no number of commands", args);
	to = past_find(&d->past, n, e);
	if (!to)
		return -1;
	debug_end_diversion(d);
	if (spot_goto(&d->travel, to, &exact, e))
		return -1;
	if (!exact)
		buf_add_str(out, "the state there is not met again exactly; this is the one most like it\n");
	d->jumped = true;
	return spot_take(&d->travel, &here, e) || past_forget(&d->past, n, &here, e) ? -1 : keep_write(d, e);
}
