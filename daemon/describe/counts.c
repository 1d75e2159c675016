/* SPDX-License-Identifier: MIT */
/* counts.c: see counts.h. */
#include "describe/counts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/jsonx.h"
#include "describe/describe.h"

static int counts_log(const struct reader *log, struct counts *c, struct counts_thread *t, struct err *e)
{
	struct reader_iter it = reader_begin(log);
	const uint8_t *before = it.p;
	struct rlog_rec rec;
	struct rlog_ref ref;
	enum rlog_read got;

	*t = (struct counts_thread){log->head.process, log->head.thread, log->head.tid, 0, 0, {0}};
	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK) {
		c->records++;
		c->kind_records[rec.kind]++;
		c->kind_bytes[rec.kind] += (uint64_t)(it.p - before);
		c->kind_data[rec.kind] += rec.payload_len;
		t->kind_records[rec.kind]++;
		before = it.p;
		if (rlog_is_ref(&rec, &ref))
			c->kept_bytes += rec.op[0];
		if (rec.kind == RLOG_SYS && rec.nops && rec.op[0] < COUNTS_SYSCALLS)
			c->syscalls[rec.op[0]]++;
	}
	if (got == RLOG_READ_BAD)
		return reader_explain(&it, e);
	t->events = it.index;
	t->log_bytes = (uint64_t)(it.p - log->base) - log->start;
	c->events += t->events;
	c->log_bytes += t->log_bytes;
	return 0;
}

int counts_image(const struct rec *rec, const struct rec_image *img, struct counts *c, struct counts_thread **threads,
		 struct err *e)
{
	cleanup_free struct counts_thread *list = xcalloc(img->nthreads + 1, sizeof(*list));
	struct reader *logs;
	int r = 0;

	if (rec_logs_open(rec, img, &logs, e))
		return -1;
	for (unsigned i = 0; i < img->nthreads && !r; i++)
		r = counts_log(&logs[i], c, &list[i], e);
	rec_logs_free(logs, img->nthreads);
	if (!r && threads)
		*threads = steal_ptr(&list);
	return r;
}

/* ---- JSON ---- */

struct ranked {
	unsigned number;
	uint64_t n;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The indices of the numbers that are not 0, the greatest number first. */
static unsigned rank(const uint64_t *counts, unsigned n, struct ranked *out)
{
	unsigned used = 0;

	for (unsigned i = 0; i < n; i++)
		if (counts[i])
			out[used++] = (struct ranked){i, counts[i]};
	qsort(out, used, sizeof(*out), compare_ranked);
	return used;
}

static json_t *kinds_json(const struct counts *c)
{
	struct ranked order[RLOG_KIND_LIMIT];
	unsigned n = rank(c->kind_records, RLOG_KIND_LIMIT, order);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		unsigned k = order[i].number;

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind", describe_kind_name(k), "name",
					reader_kind(k)->name, "records", (json_int_t)c->kind_records[k], "bytes",
					(json_int_t)c->kind_bytes[k], "data_bytes", (json_int_t)c->kind_data[k]));
	}
	return list;
}

static json_t *syscalls_json(const struct counts *c)
{
	struct ranked order[COUNTS_SYSCALLS];
	unsigned n = rank(c->syscalls, COUNTS_SYSCALLS, order);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		const char *name = describe_syscall_name(order[i].number);

		json_array_append_new(list, json_pack("{s:s?, s:i, s:I}", "name", name, "number", (int)order[i].number,
						      "calls", (json_int_t)order[i].n));
	}
	return list;
}

static json_t *thread_kinds_json(const struct counts_thread *t)
{
	json_t *o = json_object();

	for (unsigned k = 0; k < RLOG_KIND_LIMIT; k++)
		if (t->kind_records[k])
			json_object_set_new(o, describe_kind_name(k), json_integer((json_int_t)t->kind_records[k]));
	return o;
}

static json_t *process_json(const struct rec *rec, const struct rec_image *img, struct counts *sum, struct err *e)
{
	cleanup_free struct counts_thread *threads = NULL;
	uint64_t events = sum->events, bytes = sum->log_bytes;
	json_t *list;

	if (counts_image(rec, img, sum, &threads, e))
		return NULL;
	list = json_array();
	for (unsigned i = 0; i < img->nthreads; i++)
		json_array_append_new(
			list, json_pack("{s:i, s:i, s:I, s:I, s:o}", "thread", (int)threads[i].thread, "tid",
					(int)threads[i].tid, "events", (json_int_t)threads[i].events, "log_bytes",
					(json_int_t)threads[i].log_bytes, "kinds", thread_kinds_json(&threads[i])));
	return json_pack("{s:i, s:i, s:i, s:s, s:o, s:I, s:I, s:o}", "process", (int)img->ordinal, "pid",
			 (int)img->head.pid, "parent", (int)img->head.parent, "origin",
			 img->head.origin == RLOG_ORIGIN_FORK ? "fork" : "exec", "exe",
			 json_text(img->exe, strlen(img->exe)), "events", (json_int_t)(sum->events - events),
			 "log_bytes", (json_int_t)(sum->log_bytes - bytes), "threads", list);
}

json_t *counts_json(const struct rec *rec, struct err *e)
{
	cleanup_free struct counts *c = xcalloc(1, sizeof(*c));
	json_t *processes = json_array(), *one;
	uint64_t data = 0;

	for (unsigned i = 0; i < rec->nimages; i++) {
		if (!(one = process_json(rec, &rec->images[i], c, e))) {
			json_decref(processes);
			return NULL;
		}
		json_array_append_new(processes, one);
	}
	for (unsigned k = 0; k < RLOG_KIND_LIMIT; k++)
		data += c->kind_data[k];
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o}", "events", (json_int_t)c->events, "records",
			 (json_int_t)c->records, "log_bytes", (json_int_t)c->log_bytes, "data_bytes", (json_int_t)data,
			 "kept_bytes", (json_int_t)c->kept_bytes, "bytes_per_event",
			 c->events ? (double)c->log_bytes / (double)c->events : 0.0, "kinds", kinds_json(c), "syscalls",
			 syscalls_json(c), "processes", processes);
}
