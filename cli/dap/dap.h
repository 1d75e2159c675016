/* SPDX-License-Identifier: MIT */
/*
 * dap.h: an adapter of the Debug Adapter Protocol (microsoft.github.io/debug-adapter-protocol) on standard input and
 * output. It is a program of its own that drives `fredctl mi`, as any editor could: one request at a time.
 */
#ifndef FRED_DAP_DAP_H
#define FRED_DAP_DAP_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "gdb/mi_parse.h"
#include "gdb/mi_spawn.h"

struct dap_breakpoint {
	char *source; /* NULL: of a function */
	int number; /* GDB's */
};

/* What a variablesReference stands for, until the program moves. */
struct dap_ref {
	enum { REF_LOCALS, REF_REGISTERS, REF_CHILDREN } kind;
	int thread, frame;
	char *object; /* REF_CHILDREN: GDB's variable object */
};

struct dap {
	const struct strv *command; /* fredctl mi and its options */
	struct buf in; /* from the editor */
	int seq;
	struct mi_proc gdb; /* pid 0: not started */
	struct buf said; /* by GDB, up to the last whole line */
	struct buf complaint; /* on its standard error */
	int token;
	struct dap_breakpoint *breakpoints;
	size_t nbreakpoints;
	struct dap_ref *refs;
	size_t nrefs;
	bool back; /* the last move was backwards */
	bool entry; /* the next stop is that of the start */
	bool stop_on_entry, placed; /* of launch; placed: it begins at a position */
	bool done;
};

/* ---- wire.c: messages ---- */

/* The next message; 0: there is none yet. -1: the editor is gone or talks nonsense. */
int dap_receive(struct dap *d, json_t **msg);
/* Takes body; NULL: none. */
void dap_event(struct dap *d, const char *event, json_t *body);
void dap_respond(struct dap *d, const json_t *request, json_t *body);
void dap_refuse(struct dap *d, const json_t *request, const char *why);
void dap_output(struct dap *d, const char *category, const char *text, size_t len);

/* ---- link.c: GDB ---- */

int dap_start_gdb(struct dap *d, const struct strv *args, struct err *e);
/* A command and its result record, for mi_record_free. NULL: GDB is gone. What else GDB says meanwhile becomes events.
 */
struct mi_record *dap_mi(struct dap *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for commands whose refusal is an answer: true when it was done; *out may be NULL. */
bool dap_try(struct dap *d, struct mi_record **out, const json_t *request, const char *command);
/* What GDB has said so far. */
void dap_listen(struct dap *d);
void dap_stop_gdb(struct dap *d);
/* The program moves: variablesReferences are no longer valid. */
void dap_refs_clear(struct dap *d);
const char *dap_error(const struct mi_record *r);

/* ---- requests.c, breakpoints.c, values.c ---- */

void dap_request(struct dap *d, const json_t *request);
typedef void (*dap_fn)(struct dap *d, const json_t *request, const json_t *args);
void dap_set_breakpoints(struct dap *d, const json_t *request, const json_t *args);
void dap_set_functions(struct dap *d, const json_t *request, const json_t *args);
void dap_breakpoints_fini(struct dap *d);
void dap_stack(struct dap *d, const json_t *request, const json_t *args);
void dap_scopes(struct dap *d, const json_t *request, const json_t *args);
void dap_variables(struct dap *d, const json_t *request, const json_t *args);
void dap_evaluate(struct dap *d, const json_t *request, const json_t *args);

/* A member of an object, or what is to be taken instead. */
const char *dap_str(const json_t *o, const char *key, const char *instead);
int dap_int(const json_t *o, const char *key, int instead);

#endif
