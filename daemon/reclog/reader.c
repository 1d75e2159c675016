/* SPDX-License-Identifier: MIT */
/*
 * reader.c: see reader.h. The only file that turns bytes of a log into records. Nothing here trusts
 * a byte: rlog_next is bounded by the end of the mapping, and stamps that overflow are damage.
 */
#include "reclog/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "reclog/frames.h"
#include "rlog/kinds.h"

static const uint8_t result_kinds[RLOG_KIND_LIMIT] = {
	[RLOG_CREATE] = RLOG_CREATED, [RLOG_COND_WAIT] = RLOG_COND_WOKE, [RLOG_BARRIER] = RLOG_BARRIER_LEFT,
	[RLOG_SYS] = RLOG_SYSRET,     [RLOG_FORK] = RLOG_FORKED,	 [RLOG_EXEC] = RLOG_EXECRET,
	[RLOG_CALL] = RLOG_CALLRET,
};

const struct rlog_kind_info *reader_kind(unsigned kind)
{
	return &rlog_kinds[kind < RLOG_KIND_LIMIT ? kind : 0];
}

int reader_version_check(const char *what, int64_t version, struct err *e)
{
	if (version == RLOG_VERSION)
		return 0;
	return err_set(e, ERR_USAGE,
		       "%s: recording version %lld, this fred reads version %u: record again, or use the fred that "
		       "recorded it",
		       what, (long long)version, RLOG_VERSION);
}

static int head_check(struct reader *r, struct err *e)
{
	if (r->size < sizeof(r->head))
		return err_set(e, ERR_USAGE, "%s: damaged: %zu bytes long, shorter than a log's head (%zu bytes)",
			       r->name, r->size, sizeof(r->head));
	memcpy(&r->head, r->base, sizeof(r->head));
	if (r->head.magic != RLOG_MAGIC_LOG)
		return err_set(e, ERR_USAGE, "%s: damaged at offset 0: not an event log", r->name);
	if (reader_version_check(r->name, r->head.version, e))
		return -1;
	if (!r->head.thread || r->head.thread > RLOG_MAX_THREADS)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: thread ordinal %u", r->name,
			       offsetof(struct rlog_head, thread), r->head.thread);
	return 0;
}

int reader_init_mem(struct reader *r, const char *name, const void *data, size_t len, struct err *e)
{
	*r = (struct reader){.name = xstrdup(name), .base = data, .size = len};
	if (!head_check(r, e))
		return 0;
	reader_fini(r);
	return -1;
}

static int open_fd(struct reader *r, int fd, const char *path, struct err *e)
{
	struct stat st;

	*r = (struct reader){0};
	if (fstat(fd, &st))
		return err_errno(e, ERR_INTERNAL, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s: not a regular file", path);
	r->name = xstrdup(path);
	r->size = (size_t)st.st_size;
	if (r->size >= sizeof(r->head)) {
		void *p = mmap(NULL, r->size, PROT_READ, MAP_SHARED, fd, 0);

		if (p == MAP_FAILED) {
			err_errno(e, ERR_INTERNAL, "%s: mmap", path);
			goto fail;
		}
		r->base = p;
		r->mapped = r->size;
	}
	if (!head_check(r, e))
		return 0;
fail:
	reader_fini(r);
	return -1;
}

int reader_open(struct reader *r, const char *path, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*r = (struct reader){0};
	if (fd < 0)
		return err_errno(e, errno == ENOENT ? ERR_USAGE : ERR_INTERNAL, "%s", path);
	return open_fd(r, fd, path, e);
}

int reader_open_whole(struct reader *r, const char *path, struct err *e)
{
	cleanup_close int fd = memfd_create("log", MFD_CLOEXEC);

	*r = (struct reader){0};
	if (fd < 0)
		return err_errno(e, ERR_HOST, "memfd_create");
	if (frames_unpack(path, fd, 0, e))
		return -1;
	return open_fd(r, fd, path, e);
}

void reader_fini(struct reader *r)
{
	if (r->mapped)
		munmap((void *)r->base, r->mapped);
	free(r->name);
	*r = (struct reader){0};
}

struct reader_iter reader_begin(const struct reader *r)
{
	if (r->start)
		return reader_at(r, 0, r->start, r->start_stamp);
	return reader_at(r, 0, sizeof(struct rlog_head), r->head.stamp0);
}

struct reader_iter reader_at(const struct reader *r, uint64_t index, uint64_t offset, uint64_t stamp)
{
	return (struct reader_iter){
		.r = r,
		.p = r->base + (offset < r->size ? offset : r->size),
		.stamp = stamp,
		.index = index,
	};
}

/*
 * Says why the record is bad. *cut_short: the bytes before the end could be the beginning of a record that was cut off
 * there: no field is out of its range, and the record only lacks bytes.
 */
static const char *why_bad(const struct reader_iter *it, bool *cut_short)
{
	const uint8_t *p = it->p, *end = it->r->base + it->r->size;
	const struct rlog_kind_info *info;
	uint64_t v, n;

	*cut_short = false;
	if (*p >= RLOG_KIND_LIMIT || !rlog_kinds[*p].known)
		return "unknown kind of record";
	info = &rlog_kinds[*p++];
#define NEXT(var)                                                                                                      \
	do {                                                                                                           \
		const uint8_t *q_ = rlog_get(p, end, &(var));                                                          \
		if (!q_)                                                                                               \
			goto no_varint;                                                                                \
		p = q_;                                                                                                \
	} while (0)
	if (info->flags & RF_S) {
		NEXT(v);
		if (v > UINT64_MAX - it->stamp)
			return "time stamp out of range";
	}
	if (info->flags & RF_H)
		p++;
	n = info->nops;
	if (n == RLOG_V) {
		NEXT(n);
		if (n > 10)
			return "too many operands";
	}
	while (n--)
		NEXT(v);
	if (info->flags & RF_P)
		NEXT(v);
#undef NEXT
	*cut_short = true;
	return "the file ends inside a record";
no_varint:
	if (end - p >= 10)
		return "number too long";
	*cut_short = true;
	return "the file ends inside a record";
}

enum rlog_read reader_next_record(struct reader_iter *it, struct rlog_rec *rec)
{
	const uint8_t *end = it->r->base + it->r->size, *p = it->p;
	enum rlog_read got = rlog_next(rlog_kinds, &p, end, rec);
	bool cut_short;

	if (got == RLOG_READ_OK && rec->delta > UINT64_MAX - it->stamp)
		return RLOG_READ_BAD;
	if (got == RLOG_READ_OK) {
		it->p = p;
		it->stamp += rec->delta;
		it->index += (rec->flags & RF_C) != 0;
		return got;
	}
	if (got == RLOG_READ_BAD && it->r->lenient) {
		why_bad(it, &cut_short);
		if (cut_short)
			return RLOG_READ_END;
	}
	return got;
}

void reader_mark_add(struct reader_marks *m, uint64_t offset, uint64_t stamp)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 64;
		m->mark = xreallocarray(m->mark, m->cap, sizeof(*m->mark));
	}
	m->mark[m->n++] = (struct reader_mark){offset, stamp};
}

/* tgkill, tkill or kill to the calling process or thread, with a signal. */
static bool is_own_kill(const struct reader *r, const struct rlog_rec *rec)
{
	const uint64_t *op = rec->op;

	if (rec->nops < 3)
		return false;
	if (op[0] == SYS_tgkill)
		return rec->nops > 3 && op[3] && (int32_t)op[2] == r->head.tid;
	if (op[0] == SYS_tkill)
		return op[2] && (int32_t)op[1] == r->head.tid;
	return op[0] == SYS_kill && op[2] && r->pid && (int32_t)op[1] == r->pid;
}

bool reader_ends_process(const struct reader_iter *it, const struct rlog_rec *rec)
{
	const uint8_t *end = it->r->base + it->r->size;
	const bool log_ends = it->p >= end || !*it->p;

	if (it->r->head.own_process) /* this ends only the calling process */
		return false;
	switch (rec->kind) {
	case RLOG_CRASH:
		return true;
	case RLOG_SYS:
		return (rec->nops && rec->op[0] == SYS_exit_group) || (log_ends && is_own_kill(it->r, rec));
	case RLOG_EXEC:
		return log_ends;
	default:
		return false;
	}
}

/*
 * Records that are only a kind, a stamp if S, and a hash: most of a lock-heavy log. Decodes one at
 * *p, which has 12 bytes before the end. false: it is another kind, or damaged.
 */
static inline bool next_plain(const uint8_t **p, const uint8_t *end, struct rlog_rec *rec)
{
	const struct rlog_kind_info *info = &rlog_kinds[**p < RLOG_KIND_LIMIT ? **p : 0];
	const uint8_t *q = *p + 1;

	if (info->nops || (info->flags & ~RF_S) != (RF_C | RF_H))
		return false;
	rec->kind = **p;
	rec->flags = info->flags;
	rec->delta = 0;
	if ((info->flags & RF_S) && !(q = rlog_get(q, end - 1, &rec->delta)))
		return false;
	*p = q + 1;
	return true;
}

/*
 * Called for each slot of a merge, so it must be fast: decodes simple records in place, and leaves all others to
 * reader_next_record.
 */
enum rlog_read reader_next_slot(struct reader_iter *it, struct reader_slot *slot, struct reader_marks *marks)
{
	const uint8_t *end = it->r->base + it->r->size, *p = it->p, *start;
	struct rlog_rec rec;

	*slot = (struct reader_slot){0};
	for (;;) {
		start = p;
		if ((end - p < 12 || !next_plain(&p, end, &rec)) &&
		    rlog_next(rlog_kinds, &p, end, &rec) != RLOG_READ_OK)
			break;
		if (rec.delta > UINT64_MAX - it->stamp)
			break;
		if (!(rec.flags & RF_C))
			continue;
		if (marks && !(it->index % READER_MARK_EVERY))
			reader_mark_add(marks, (uint64_t)(start - it->r->base), it->stamp);
		slot->events++;
		it->index++;
		if (!(rec.flags & RF_S))
			continue;
		it->p = p;
		it->stamp += rec.delta;
		slot->stamped = true;
		slot->kind = rec.kind;
		slot->last = reader_ends_process(it, &rec);
		return RLOG_READ_OK;
	}
	it->p = start;
	return reader_next_record(it, &rec);
}

#define INTERRUPTED_LIMIT 4096 /* how many records of handlers are searched for the result */
#define INTERRUPTED_DEPTH 16

/*
 * If signals came between an event and its result, the result is after the events of their handlers (which may have
 * been interrupted, too). If a handler never returned, there is no result.
 */
static bool result_after_signal(const uint8_t *p, const uint8_t *end, uint8_t kind, struct rlog_rec *result)
{
	uint8_t wanted[INTERRUPTED_DEPTH] = {kind};
	unsigned depth = 1;

	for (unsigned i = 0; i < INTERRUPTED_LIMIT; i++) {
		if (rlog_next(rlog_kinds, &p, end, result) != RLOG_READ_OK)
			return false;
		if (!(result->flags & RF_C)) {
			if (result->kind == wanted[depth - 1] && --depth == 0)
				return true;
		} else if (result_kinds[result->kind]) {
			if (depth == INTERRUPTED_DEPTH)
				return false;
			wanted[depth++] = result_kinds[result->kind];
		}
	}
	return false;
}

enum rlog_read reader_next(struct reader_iter *it, struct reader_event *ev)
{
	const uint8_t *end = it->r->base + it->r->size, *start, *p;
	enum rlog_read got;

	do {
		start = it->p;
		got = reader_next_record(it, &ev->rec);
		if (got != RLOG_READ_OK)
			return got;
	} while (!(ev->rec.flags & RF_C));
	ev->index = it->index - 1;
	ev->offset = (uint64_t)(start - it->r->base);
	ev->stamp = it->stamp;
	ev->has_result = false;
	p = it->p;
	/* Records with results have no stamp, so none is added here. */
	if (result_kinds[ev->rec.kind] && p < end && *p == result_kinds[ev->rec.kind] &&
	    rlog_next(rlog_kinds, &p, end, &ev->result) == RLOG_READ_OK) {
		ev->has_result = true;
		it->p = p;
	} else if (result_kinds[ev->rec.kind] && p < end && *p == RLOG_SIGNAL) {
		ev->has_result = result_after_signal(p, end, result_kinds[ev->rec.kind], &ev->result);
	}
	ev->bytes = (uint32_t)(it->p - start);
	return RLOG_READ_OK;
}

int reader_explain(const struct reader_iter *it, struct err *e)
{
	uint64_t at = (uint64_t)(it->p - it->r->base);
	bool cut_short;

	if (at >= it->r->size)
		return err_set(e, ERR_USAGE, "%s: the log ends at offset %lu", it->r->name, (unsigned long)at);
	return err_set(e, ERR_USAGE,
		       "%s: damaged at offset %lu (event %lu of this thread): %s (byte 0x%02x). "
		       "Take the file "
		       "from a copy of the recording, or record again",
		       it->r->name, (unsigned long)at, (unsigned long)it->index + 1, why_bad(it, &cut_short), *it->p);
}
