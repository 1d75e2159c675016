/* SPDX-License-Identifier: MIT */
/* describe.h: one event as text and as JSON, for `fredctl events` and for messages. Pure. */
#ifndef FRED_DESCRIBE_DESCRIBE_H
#define FRED_DESCRIBE_DESCRIBE_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "reclog/reader.h"
#include "reclog/timeline.h"

/* "write", or NULL when this fred was built with headers that do not know the number. */
const char *describe_syscall_name(uint64_t nr);
/* "SYS", "LOCK", ...: the name in events.def; "?" when there is none. */
const char *describe_kind_name(unsigned kind);

/*
 * What happened: "write(1, 0x7fffe000, 12) = 12", "pthread_mutex_lock [3f]", "fatal signal SIGSEGV
 * ...". The byte in brackets is the hash of the object's address.
 */
void describe_event_what(struct buf *b, const struct reader_event *ev);
/* A line: number, seconds, process and thread, what. Without newline. */
void describe_event_text(struct buf *b, const struct timeline_event *ev);
/*
 * {event, time (or null), process, thread, tid, kind, name, text, args [], result, error, object}.
 * args, result, error (name of the errno) and object (hash) are there if the event has them; 64-bit
 * values that do not fit JSON's signed integers wrap to negative ones.
 */
json_t *describe_event_json(const struct timeline_event *ev);

#endif
