/* SPDX-License-Identifier: MIT */
/* describe.c: see describe.h. */
#include "describe/describe.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/jsonx.h"
#include "sysnames.h"

#define MAX_ERRNO 4095

static const char *const kind_names[RLOG_KIND_LIMIT] = {
#define EVENT(name, number, flags, operands, text) [number] = #name,
#include "rlog/events.def"
#undef EVENT
};

/* What a CALL record is about. */
static const char *const call_names[] = {
	[RLOG_CALL_SPAWN_ERROR] = "posix_spawn",
	[RLOG_CALL_GETCPU] = "getcpu",
	[RLOG_CALL_CANCEL] = "pthread_cancel",
	[RLOG_CALL_SERIAL] = "one thread at a time from here on",
	[RLOG_CALL_RANDOM_DEVICE] = "random_device",
	[RLOG_CALL_PIDFD] = "pidfd of a fork",
	[RLOG_CALL_TSC] = "rdtsc",
	[RLOG_CALL_SELF_MEM] = "write to /proc/self/mem",
	[RLOG_CALL_GROUP] = "shares memory with other processes from here on",
	[RLOG_CALL_SETXID] = "setxid",
	[RLOG_CALL_COPIED] = "copied to the output",
	[RLOG_CALL_RANDOM] = "rdrand",
	[RLOG_CALL_SPLIT] = "instruction divided",
	[RLOG_CALL_OUTPUT] = "descriptor of the output",
	[RLOG_CALL_NO_MEMORY] = "memory refused",
	[RLOG_CALL_JOINS] = "runs one at a time from here on",
	[RLOG_CALL_CPUID] = "cpuid",
};

/* The operands of an event, sorted by meaning. */
struct parts {
	const uint64_t *args;
	unsigned nargs;
	bool has_result;
	int64_t result;
};

const char *describe_syscall_name(uint64_t nr)
{
	return nr < sizeof(sysnames) / sizeof(sysnames[0]) ? sysnames[nr] : NULL;
}

const char *describe_kind_name(unsigned kind)
{
	return kind < RLOG_KIND_LIMIT && kind_names[kind] ? kind_names[kind] : "?";
}

static void take_apart(struct parts *p, const struct reader_event *ev)
{
	const struct rlog_rec *rec = &ev->rec;

	*p = (struct parts){.args = rec->op, .nargs = rec->nops};
	if (rec->kind == RLOG_SYS) { /* nr, args..., check */
		p->args = rec->op + 1;
		p->nargs = rec->nops > 2 ? rec->nops - 2u : 0;
	} else if ((rec->flags & RF_Z) && rec->nops) { /* ret, more */
		p->has_result = true;
		p->result = (int64_t)rec->op[0];
		p->args = rec->op + 1;
		p->nargs = rec->nops - 1u;
	}
	if (ev->has_result && ev->result.nops) {
		p->has_result = true;
		p->result = (int64_t)ev->result.op[0];
	}
}

static const char *event_name(const struct reader_event *ev, char buf[32])
{
	const char *name;

	if (ev->rec.kind != RLOG_SYS)
		return reader_kind(ev->rec.kind)->name;
	name = ev->rec.nops ? describe_syscall_name(ev->rec.op[0]) : NULL;
	if (name)
		return name;
	snprintf(buf, 32, "syscall_%" PRIu64, ev->rec.nops ? ev->rec.op[0] : 0);
	return buf;
}

static const char *signal_name(uint64_t signo, char buf[32])
{
	const char *name = signo < NSIG ? sigabbrev_np((int)signo) : NULL;

	if (name)
		snprintf(buf, 32, "SIG%s", name);
	else
		snprintf(buf, 32, "signal %" PRIu64, signo);
	return buf;
}

/*
 * The errno that a result stands for; 0: it is no error. Library calls return theirs as a positive
 * number.
 */
static int result_errno(const struct reader_event *ev, int64_t result)
{
	switch (ev->rec.kind) {
	case RLOG_BARRIER: /* PTHREAD_BARRIER_SERIAL_THREAD is -1 */
	case RLOG_CALL:
		return 0;
	default:
		if (result < 0 && result >= -MAX_ERRNO)
			return (int)-result;
		if (ev->rec.kind < RLOG_SYS && result > 0 && result <= MAX_ERRNO)
			return (int)result;
		return 0;
	}
}

static void add_value(struct buf *b, uint64_t v)
{
	if (v <= 0xffff)
		buf_addf(b, "%" PRIu64, v);
	else if ((int64_t)v < 0 && (int64_t)v >= -0x10000)
		buf_addf(b, "%" PRId64, (int64_t)v);
	else if (v >= 0xffff0000 && v <= UINT32_MAX) /* an int, not extended: AT_FDCWD */
		buf_addf(b, "%" PRId32, (int32_t)v);
	else
		buf_addf(b, "0x%" PRIx64, v);
}

static void add_result(struct buf *b, const struct reader_event *ev, int64_t result)
{
	int err = result_errno(ev, result);
	const char *name = err ? strerrorname_np(err) : NULL;
	struct rlog_ref ref;

	buf_add_str(b, " = ");
	add_value(b, (uint64_t)result);
	if (name)
		buf_addf(b, " (%s)", name);
	if (ev->has_result && ev->result.kind == RLOG_FORKED && ev->result.nops > 1 && !err)
		buf_addf(b, " [process %" PRIu64 "]", ev->result.op[1]);
	if (ev->has_result && rlog_is_ref(&ev->result, &ref))
		buf_addf(b, " +%" PRId64 " bytes of inode %" PRIu64 " from %" PRIu64, result, ref.ino, ref.offset);
	else if (ev->has_result && ev->result.payload_len)
		buf_addf(b, " +%" PRIu64 " bytes", ev->result.payload_len);
}

static void add_operands(struct buf *b, const struct reader_event *ev, const struct parts *p)
{
	char name[32];

	switch (ev->rec.kind) {
	case RLOG_SIGNAL:
		buf_addf(b, " %s", signal_name(ev->rec.op[0], name));
		return;
	case RLOG_CRASH:
		buf_addf(b, " %s code %" PRId64 " address 0x%" PRIx64 " pc 0x%" PRIx64,
			 signal_name(ev->rec.op[0], name), (int64_t)ev->rec.op[1], ev->rec.op[2], ev->rec.op[3]);
		return;
	case RLOG_EXEC:
		buf_addf(b, " %.*s", ev->rec.payload_len < 200 ? (int)ev->rec.payload_len : 200,
			 (const char *)ev->rec.payload);
		return;
	case RLOG_CREATE:
		buf_addf(b, " thread %" PRIu64, ev->rec.op[0]);
		return;
	case RLOG_CALL:
		if (ev->rec.op[0] >= sizeof(call_names) / sizeof(call_names[0]) || !call_names[ev->rec.op[0]])
			break;
		buf_addf(b, ": %s", call_names[ev->rec.op[0]]);
		return;
	default:
		break;
	}
	if (ev->rec.kind != RLOG_SYS && !p->nargs)
		return;
	buf_add_char(b, '(');
	for (unsigned i = 0; i < p->nargs; i++) {
		if (i)
			buf_add_str(b, ", ");
		add_value(b, p->args[i]);
	}
	buf_add_char(b, ')');
}

void describe_event_what(struct buf *b, const struct reader_event *ev)
{
	char name[32];
	struct parts p;

	take_apart(&p, ev);
	buf_add_str(b, event_name(ev, name));
	add_operands(b, ev, &p);
	if (ev->rec.flags & RF_H)
		buf_addf(b, " [%02x]", ev->rec.hash);
	/* Most library calls return 0, which is not worth showing. */
	if (p.has_result && (p.result || ev->rec.kind >= RLOG_SYS))
		add_result(b, ev, p.result);
}

void describe_event_text(struct buf *b, const struct timeline_event *ev)
{
	buf_addf(b, "%10" PRIu64 " ", ev->where.number);
	if (ev->seconds >= 0)
		buf_addf(b, "%13.6f", ev->seconds);
	else
		buf_addf(b, "%13s", "-");
	buf_addf(b, "  p%" PRIu32 " t%" PRIu32 "  ", ev->where.process, ev->where.thread);
	describe_event_what(b, &ev->ev);
}

json_t *describe_event_json(const struct timeline_event *ev)
{
	cleanup_buf struct buf text = {0};
	json_t *o = json_object(), *args;
	char name[32];
	struct parts p;
	int err;

	take_apart(&p, &ev->ev);
	describe_event_what(&text, &ev->ev);
	json_object_set_new(o, "event", json_integer((json_int_t)ev->where.number));
	json_object_set_new(o, "time", ev->seconds >= 0 ? json_real(ev->seconds) : json_null());
	json_object_set_new(o, "process", json_integer(ev->where.process));
	json_object_set_new(o, "thread", json_integer(ev->where.thread));
	json_object_set_new(o, "tid", json_integer(ev->where.tid));
	json_object_set_new(o, "kind", json_string(describe_kind_name(ev->ev.rec.kind)));
	json_object_set_new(o, "name", json_string(event_name(&ev->ev, name)));
	json_object_set_new(o, "text", json_text(buf_str(&text), text.len));
	if (p.nargs) {
		args = json_array();
		for (unsigned i = 0; i < p.nargs; i++)
			json_array_append_new(args, json_integer((json_int_t)p.args[i]));
		json_object_set_new(o, "args", args);
	}
	if (p.has_result) {
		json_object_set_new(o, "result", json_integer(p.result));
		err = result_errno(&ev->ev, p.result);
		if (err && strerrorname_np(err))
			json_object_set_new(o, "error", json_string(strerrorname_np(err)));
	}
	if (ev->ev.rec.flags & RF_H)
		json_object_set_new(o, "object", json_integer(ev->ev.rec.hash));
	return o;
}
