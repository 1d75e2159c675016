/* SPDX-License-Identifier: MIT */
/* stub_int.h: what the files of the stub share: the connection's state, and the usual answers. */
#ifndef FRED_RSP_STUB_INT_H
#define FRED_RSP_STUB_INT_H

#include <string.h>

#include "rsp/hostio.h"
#include "rsp/stub.h"

struct stub {
	struct rsp_conn *c;
	const struct rsp_ops *ops;
	void *ctx;
	struct rsp_stop stop;
	int general, moving; /* threads chosen by Hg (until the next stop) and by Hc; 0: the one that stopped */
	struct buf out; /* the answer */
	struct hostio files;
	bool extended; /* extended mode: the connection outlives the program, which can be run again */
	bool killed; /* there is no program, until it is run again */
	bool at_end; /* the end of history was reported as the end of a step */
	uint64_t modid; /* where libc says at which offset a link_map has its l_tls_modid; 0: not known */
	bool again; /* this packet is to be given to rsp_ops.relay again */
	bool no_resumed; /* the debugger understands stop replies without a thread (N) */
	struct rsp_stop held; /* a stop of a thread that was not resumed, reported at the next resume of all threads;
				 tid 0: none */
	uint64_t lo, hi; /* the range of the step that comes next; equal: one instruction */
	struct err no_call; /* why the call that the debugger is about to make is refused; no kind: it is not */
	bool done;
};

/* The usual answers: OK; the reason, for debuggers that show it (E.TEXT); and E01. */
static inline int stub_ok(struct stub *s)
{
	buf_add_str(&s->out, "OK");
	return 0;
}

static inline int stub_refuse(struct stub *s, const struct err *why)
{
	buf_clear(&s->out);
	buf_addf(&s->out, "E.%s", why->text);
	for (char *p = s->out.data; *p; p++)
		if (strchr("*#$}", *p)) /* they mean something in a packet */
			*p = '?';
	return 0;
}

static inline int stub_error(struct stub *s)
{
	buf_clear(&s->out);
	buf_add_str(&s->out, "E01");
	return 0;
}

/* ---- stub_threads.c ---- */

/* Is this thread in the list of threads? A listed thread may still be absent (rsp_ops). */
bool stub_lists_thread(struct stub *s, int tid);
bool stub_is_absent(struct stub *s, int tid);
/* The chosen thread, or the one that stopped. */
int stub_thread(const struct stub *s, int chosen);

/* Parses a thread number of a packet; 0: any. false: it is none. */
bool stub_thread_id(const char *text, const char **end, int *tid);

/* The <threads> document of qXfer:threads:read. */
void stub_threads_xml(struct stub *s, struct buf *b);

/* ---- packets, from after their names: 0, or -1 when the connection can no longer be used ---- */

int stub_choose_thread(struct stub *s, const char *args, struct err *e);
int stub_is_alive(struct stub *s, const char *args, struct err *e);
int stub_first_threads(struct stub *s, const char *args, struct err *e);
int stub_no_more_threads(struct stub *s, const char *args, struct err *e);
int stub_current_thread(struct stub *s, const char *args, struct err *e);
int stub_all_registers(struct stub *s, const char *args, struct err *e);
int stub_one_register(struct stub *s, const char *args, struct err *e);
int stub_read_memory(struct stub *s, const char *args, struct err *e);
int stub_memory_crc(struct stub *s, const char *args, struct err *e);
int stub_symbol(struct stub *s, const char *args, struct err *e);
int stub_tls_address(struct stub *s, const char *args, struct err *e);
int stub_set_all_registers(struct stub *s, const char *args, struct err *e);
int stub_set_one_register(struct stub *s, const char *args, struct err *e);
int stub_write_memory(struct stub *s, const char *args, struct err *e);
/* Is it a packet that writes below the stack pointer, as for a call? */
bool stub_writes_for_call(struct stub *s, const char *args);
int stub_why_stopped(struct stub *s, const char *args, struct err *e);
int stub_v_cont(struct stub *s, const char *args, struct err *e);
int stub_v_cont_query(struct stub *s, const char *args, struct err *e);
int stub_go_on(struct stub *s, const char *args, struct err *e);
int stub_one_step(struct stub *s, const char *args, struct err *e);
int stub_back_continue(struct stub *s, const char *args, struct err *e);
int stub_back_step(struct stub *s, const char *args, struct err *e);
int stub_detach(struct stub *s, const char *args, struct err *e);
int stub_kill_program(struct stub *s, const char *args, struct err *e);
int stub_run_again(struct stub *s, const char *args, struct err *e);
int stub_attached(struct stub *s, const char *args, struct err *e);
int stub_env(struct stub *s, const char *args, struct err *e);
int stub_env_reset(struct stub *s, const char *args, struct err *e);
int stub_cwd(struct stub *s, const char *args, struct err *e);

#endif
