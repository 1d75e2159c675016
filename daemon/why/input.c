/* SPDX-License-Identifier: MIT */
/* input.c: values that the program read: the event, the byte of the event's data, and the file that it came from. */
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "describe/describe.h"
#include "reclog/reading.h"
#include "timetravel/cursor_int.h"
#include "why/why.h"

#define PATH_BYTES 4096

/* What is known of a descriptor at some event. */
struct opened {
	uint64_t event; /* that opened it; 0: none */
	uint64_t path; /* address of its name */
	int64_t offset; /* of the file; -1: not known */
};

static void see(struct opened *o, int fd, const struct timeline_event *ev)
{
	const struct rlog_rec *rec = &ev->ev.rec;
	int64_t result = ev->ev.has_result && ev->ev.result.nops ? (int64_t)ev->ev.result.op[0] : -1;

	if (rec->kind != RLOG_SYS || rec->nops < 2)
		return;
	switch (rec->op[0]) {
	case SYS_openat:
	case SYS_open:
		if (result == fd)
			*o = (struct opened){ev->where.number, rec->op[rec->op[0] == SYS_openat ? 2 : 1], 0};
		break;
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_fcntl:
		/* two descriptors may share one place in the file */
		if (result == fd && rec->op[0] != SYS_fcntl)
			*o = (struct opened){.offset = -1};
		else if ((int)rec->op[1] == fd && rec->op[0] != SYS_fcntl)
			o->offset = -1;
		break;
	case SYS_lseek:
		if ((int)rec->op[1] == fd)
			o->offset = result;
		break;
	case SYS_read:
	case SYS_write:
		if ((int)rec->op[1] == fd && result > 0 && o->offset >= 0)
			o->offset += result;
		break;
	case SYS_readv:
	case SYS_writev:
	case SYS_sendfile:
	case SYS_copy_file_range:
		o->offset = -1;
		break;
	default:
		break;
	}
}

/* Of the descriptor before event n. */
static int find_opened(struct why *w, int fd, uint64_t n, struct opened *o, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk walk;
	int r;

	*o = (struct opened){.offset = -1};
	if (timeline_walk_init(&walk, w->x.nav.t.tl, nav_first(&w->x.nav) + 1, e))
		return -1;
	while ((r = timeline_walk_next(&walk, &ev, e)) > 0 && ev.where.number < n)
		see(o, fd, &ev);
	timeline_walk_fini(&walk);
	return r < 0 ? -1 : 0;
}

/* The name, as it was in memory when the file was opened; malloc'd. NULL: it cannot be read. */
static char *name_at(struct why *w, uint64_t event, uint64_t addr)
{
	char text[PATH_BYTES] = "";
	struct err ignored;

	if (cursor_goto_end(&w->x.t, event - 1, &ignored))
		return NULL;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		if (trace_read(cursor_memory(&w->x.t), addr + n, text + n, 1, &ignored))
			return NULL;
		if (!text[n])
			return n ? xstrdup(text) : NULL;
	}
	return NULL;
}

static int add_file(struct why *w, struct buf *b, const struct input_read *c, uint64_t n, uint64_t byte, struct err *e)
{
	cleanup_free char *name = NULL;
	int64_t at = c->offset;
	struct opened o;

	if (c->nr != SYS_read && c->nr != SYS_pread64)
		return 0;
	if (find_opened(w, c->fd, n, &o, e))
		return -1;
	if (!o.event)
		return 0;
	name = name_at(w, o.event, o.path);
	if (!name)
		return 0;
	at = c->nr == SYS_pread64 ? at : o.offset;
	if (at >= 0)
		buf_addf(b, ", byte %" PRIu64 " of %s", (uint64_t)at + byte, name);
	else
		buf_addf(b, ", which is %s", name);
	return 0;
}

char *why_input(struct why *w, const char *who, uint64_t n, const struct insn_loc *l, struct err *e)
{
	cleanup_buf struct buf b = {0};
	struct timeline_event ev;
	struct input_read c;

	buf_add_str(&b, "it came from outside of the program: ");
	if (n > nav_total(&w->x.nav) || timeline_read(w->x.nav.t.tl, n, &ev, e)) {
		buf_add_str(&b, who);
		return buf_steal(&b);
	}
	buf_addf(&b, "event %" PRIu64 ", ", n);
	describe_event_what(&b, &ev.ev);
	if (!l || !reading_of(&ev.ev, &c) || l->addr < c.buffer || l->addr >= c.buffer + c.got)
		return buf_steal(&b);
	buf_addf(&b, ": byte %" PRIu64 " of %" PRIu64, l->addr - c.buffer, c.got);
	if (c.fd >= 0)
		buf_addf(&b, " from descriptor %d", c.fd);
	return add_file(w, &b, &c, n, l->addr - c.buffer, e) ? NULL : buf_steal(&b);
}
