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

/* Each request names all breakpoints of a source file or of one of these groups. No path begins with '*'. */
#define GROUP_FUNCTIONS "*functions"
#define GROUP_INSTRUCTIONS "*instructions"
#define GROUP_DATA "*data"
#define GROUP_THROW "*throw"
#define GROUP_CATCH "*catch"

#define LEVELS 65536 /* frames of one thread: a frame's id is thread * LEVELS + level */

struct dap_breakpoint {
	char *source; /* a path, or a group */
	int number; /* GDB's number */
};

/* What a variablesReference stands for, until the program moves. */
struct dap_ref {
	enum { REF_LOCALS, REF_REGISTERS, REF_CHILDREN } kind;
	int thread, frame;
	char *object; /* REF_CHILDREN: GDB's variable object */
};

struct dap {
	/* Set by main.c and called by link.c, for GDB's other records and for its end. */
	void (*on_record)(struct dap *d, const struct mi_record *r);
	void (*on_gone)(struct dap *d);
	const struct strv *command; /* fredctl mi and its options */
	struct buf in; /* from the editor */
	int seq;
	struct mi_proc gdb; /* pid 0: not started */
	struct buf said; /* GDB's output, up to the end of its last whole line */
	struct buf complaint; /* what GDB wrote to its standard error */
	int token;
	struct dap_breakpoint *breakpoints;
	size_t nbreakpoints;
	struct dap_ref *refs;
	size_t nrefs;
	struct buf *capture; /* what GDB prints goes here, not to the editor; NULL: to the editor */
	/* a request of fred's own that moves the program; it is answered when the program stops; NULL: none */
	json_t *waiting;
	struct buf moved; /* what GDB has printed since then */
	struct mi_proc job; /* fredctl explain or check; pid 0: none */
	const char *job_list; /* the name of the array in its answer */
	struct buf job_out, job_err;
	json_t *job_request;
	char *stop_id, *stop_text; /* of the last stop, if it was an exception or a signal; else NULL */
	int thread; /* that stopped last */
	bool columns_from_0, takes_invalidated; /* what the editor has asked for */
	bool running; /* as GDB has said */
	bool by_console; /* a command of its command line resumed it: GDB reads no other command before that one ends */
	bool back; /* the last move was backwards */
	bool entry; /* the next stop is the one at the program's start */
	bool stop_on_entry, placed; /* arguments of the request `launch`; placed: the session begins at a position */
	bool done;
};

/* ---- wire.c: messages ---- */

/* Reads the next message; 0: none has come yet. -1: the editor has gone, or what it sends is no message. */
int dap_receive(struct dap *d, json_t **msg);
/* Takes body; NULL: none. */
void dap_event(struct dap *d, const char *event, json_t *body);
void dap_respond(struct dap *d, const json_t *request, json_t *body);
void dap_refuse(struct dap *d, const json_t *request, const char *why);
json_t *dap_text(const char *s); /* NULL: empty */
void dap_output(struct dap *d, const char *category, const char *text, size_t len);

/* ---- link.c: GDB ---- */

int dap_start_gdb(struct dap *d, const struct strv *args, struct err *e);
/*
 * Sends a command to GDB, and returns its result record, for mi_record_free. NULL: GDB has gone. Other records that
 * come meanwhile become events.
 */
struct mi_record *dap_mi(struct dap *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for commands that GDB may refuse: true when it was done; *out may be NULL. */
bool dap_try(struct dap *d, struct mi_record **out, const json_t *request, const char *command);
/*
 * Executes a line of GDB's command line in this frame (thread 0: the selected one). Returns what GDB prints, for the
 * caller to free. NULL: GDB refused, and *why (why may be NULL) is the reason, for the caller to free.
 */
char *dap_console(struct dap *d, int thread, int frame, const char *line, char **why);
/* -var-create in this frame (thread 0: where the program stands). */
struct mi_record *dap_new_object(struct dap *d, int thread, int frame, const char *expr);
/* The value of an expression in this frame, to be freed; NULL: there is none. */
char *dap_value(struct dap *d, int thread, int frame, const char *expr, char **why);
/* Handles the output of GDB that has come so far. */
void dap_listen(struct dap *d);
void dap_stop_gdb(struct dap *d);
/* The program moves: variablesReferences are no longer valid. */
void dap_refs_clear(struct dap *d);
const char *dap_error(const struct mi_record *r);

/* ---- requests: a table in requests.c ---- */

void dap_request(struct dap *d, const json_t *request);
typedef void (*dap_fn)(struct dap *d, const json_t *request, const json_t *args);
void dap_set_breakpoints(struct dap *d, const json_t *request, const json_t *args);
void dap_set_functions(struct dap *d, const json_t *request, const json_t *args);
void dap_set_instructions(struct dap *d, const json_t *request, const json_t *args);
void dap_set_data(struct dap *d, const json_t *request, const json_t *args);
void dap_set_exceptions(struct dap *d, const json_t *request, const json_t *args);
void dap_data_info(struct dap *d, const json_t *request, const json_t *args);
/* Is this breakpoint of GDB's one of the group? */
bool dap_breakpoint_is(const struct dap *d, int number, const char *group);
void dap_breakpoints_fini(struct dap *d);
void dap_stack(struct dap *d, const json_t *request, const json_t *args);
void dap_scopes(struct dap *d, const json_t *request, const json_t *args);
void dap_variables(struct dap *d, const json_t *request, const json_t *args);
void dap_evaluate(struct dap *d, const json_t *request, const json_t *args);
void dap_set_variable(struct dap *d, const json_t *request, const json_t *args);
void dap_set_expression(struct dap *d, const json_t *request, const json_t *args);
void dap_completions(struct dap *d, const json_t *request, const json_t *args);
void dap_exception_info(struct dap *d, const json_t *request, const json_t *args);
void dap_read_memory(struct dap *d, const json_t *request, const json_t *args);
void dap_write_memory(struct dap *d, const json_t *request, const json_t *args);
void dap_disassemble(struct dap *d, const json_t *request, const json_t *args);

/* ---- history.c: requests of fred's own: positions, and ways to them ---- */

void dap_goto(struct dap *d, const json_t *request, const json_t *args);
void dap_reverse_watch(struct dap *d, const json_t *request, const json_t *args);
void dap_position(struct dap *d, const json_t *request, const json_t *args);
void dap_checkpoints(struct dap *d, const json_t *request, const json_t *args);
void dap_bookmark(struct dap *d, const json_t *request, const json_t *args);
void dap_checkpoint(struct dap *d, const json_t *request, const json_t *args);
/* The program has stopped: answers the request that waits for that. true: it is where that request was to move it. */
bool dap_arrived(struct dap *d);
void dap_waiting_gone(struct dap *d);

/* ---- names.c: rewrites expressions of a frame so that they mean the same elsewhere ---- */

/*
 * The expression for a variable that the editor shows: a name in a frame, or a member. To be freed; NULL: there is
 * none.
 */
char *dap_expr_of(struct dap *d, int ref, const char *name, int *thread, int *frame);
/*
 * Returns for example "*(int *) 0x7ffe0010", which names the object in any frame. To be freed; NULL: it is not an
 * object in memory, and *why says so.
 */
char *dap_object(struct dap *d, int thread, int frame, const char *expr, char **why);
/* The expression with the frame's own names replaced by what they are, so that it means the same in the innermost
 * frame of the thread that stopped. To be freed; NULL: a name cannot be replaced, and *why says which. */
char *dap_expr_everywhere(struct dap *d, int thread, int frame, const char *expr, char **why);

/* ---- job.c: a fredctl command that takes long ---- */

void dap_explain(struct dap *d, const json_t *request, const json_t *args);
void dap_check(struct dap *d, const json_t *request, const json_t *args);
/* Reads the command's output, when its descriptors are ready. */
void dap_job_listen(struct dap *d);
void dap_job_stop(struct dap *d);

/* ---- stops.c ---- */

/* Handles the records of GDB that are not answers. */
void dap_record(struct dap *d, const struct mi_record *r);

/* A string member of an object, or a default. */
const char *dap_str(const json_t *o, const char *key, const char *instead);
int dap_int(const json_t *o, const char *key, int instead);

#endif
