/* SPDX-License-Identifier: MIT */
/* stub_run.c: the packets that move the program, begin and end it, and how it has stopped. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "rsp/stub_int.h"

static const char *watch_name(enum rsp_point p)
{
	return p == RSP_READ ? "rwatch" : p == RSP_ACCESS ? "awatch" : "watch";
}

/* Adds that the program has made an exec. */
static void add_exec(struct stub *s)
{
	cleanup_buf struct buf path = {0};
	struct err ignored;

	if (s->ops->object(s->ctx, "exec-file", &path, &ignored))
		return;
	buf_add_str(&s->out, "exec:");
	rsp_hex(&s->out, path.data, path.len);
	buf_add_char(&s->out, ';');
}

static int stop_reply(struct stub *s)
{
	const struct rsp_stop *p = &s->stop;

	if (p->why == RSP_EXITED || p->why == RSP_DIED) {
		buf_addf(&s->out, "%c%02x", p->why == RSP_EXITED ? 'W' : 'X', p->sig);
		return 0;
	}
	/* the stop of another thread, for which it has no reason of its own, is not shown as a trap */
	buf_addf(&s->out, "T%02x", p->why == RSP_SIGNALLED ? p->sig : p->why == RSP_ELSEWHERE ? 0 : 5);
	if (p->why == RSP_WATCHPOINT)
		buf_addf(&s->out, "%s:%" PRIx64 ";", watch_name(p->point), p->addr);
	if (p->why == RSP_SYSCALL)
		buf_addf(&s->out, "syscall_entry:%" PRIx64 ";", p->addr);
	if (p->why == RSP_BEGIN)
		buf_add_str(&s->out, "replaylog:begin;");
	if (p->why == RSP_END)
		buf_add_str(&s->out, "replaylog:end;");
	if (p->why == RSP_BREAKPOINT)
		buf_add_str(&s->out, "swbreak:;");
	if (p->why == RSP_LIBRARY)
		buf_add_str(&s->out, "library:;");
	if (p->why == RSP_EXECED)
		add_exec(s);
	buf_addf(&s->out, "thread:%x;", p->tid);
	return 0;
}

int stub_why_stopped(struct stub *s, const char *args, struct err *e)
{
	if (!s->killed)
		return stop_reply(s);
	buf_add_str(&s->out, "W00");
	return 0;
}

static void say(struct stub *s, const char *text)
{
	struct err ignored;

	rsp_say(s->c, text, strlen(text), &ignored);
}

static const char end_text[] = "No more reverse-execution history.\n";

static bool is_over(const struct rsp_stop *p)
{
	return p->why == RSP_EXITED || p->why == RSP_DIED;
}

static bool is_at_point(const struct rsp_stop *p)
{
	return p->why == RSP_BREAKPOINT || p->why == RSP_WATCHPOINT || p->why == RSP_LIBRARY || p->why == RSP_SYSCALL;
}

/* GDB_SIGNAL_INT: the debugger's user has interrupted the program; it does not matter in which thread this is shown. */
static bool is_interrupt(const struct rsp_stop *p)
{
	return p->why == RSP_SIGNALLED && p->sig == 2;
}

/*
 * The debugger has resumed only thread tid (scheduler-locking; a step over a breakpoint), but others ran too, as they
 * did in the recording, and one of them has stopped. GDB 13 crashes at a stop of a thread that it has not resumed
 * (inline-frame.c). So the stop is reported for tid, and the rest of its step is left out; the stop of the other thread
 * is reported when all threads are resumed. Breakpoints that other threads meet do not end a continue: then the result
 * is 1, and it goes on.
 */
static int stop_alone(struct stub *s, enum rsp_resume how, int tid, struct rsp_stop *stop)
{
	cleanup_free char *text = NULL;
	bool forth = how == RSP_CONTINUE || how == RSP_STEP, goes = how == RSP_CONTINUE || how == RSP_BACK_CONTINUE;

	if (goes && is_at_point(stop) && !stop->jumped)
		return 1;
	if (stop->jumped || (forth && (is_at_point(stop) || stop->why == RSP_SIGNALLED) && !is_interrupt(stop)))
		s->held = *stop;
	if (goes && !stop->jumped && stop->why == RSP_SIGNALLED && !is_interrupt(stop)) {
		text = str_fmt("fred: thread %d stops with a signal, but is not resumed (scheduler-locking): `thread` "
			       "selects it\n",
			       stop->tid);
		say(s, text);
		stop->why = RSP_ELSEWHERE;
	} else if (!stop->jumped && stop->why != RSP_BEGIN && stop->why != RSP_END && stub_is_absent(s, tid)) {
		stop->why = RSP_ELSEWHERE; /* the step is not continued */
	} else if (stop->why != RSP_BEGIN && stop->why != RSP_END && !is_interrupt(stop)) {
		stop->why = RSP_STEPPED;
	}
	stop->tid = tid;
	return 0;
}

/*
 * Moves the program. *stop: what the debugger is told; tid 0: the thread that was resumed alone does not exist any
 * more.
 */
static int move(struct stub *s, enum rsp_resume how, int tid, bool alone, struct rsp_stop *stop, struct err *why)
{
	int again;

	if (!alone && s->held.tid && (how == RSP_CONTINUE || s->held.jumped)) {
		*stop = s->held;
		s->held.tid = 0;
		return 0;
	}
	s->held.tid = 0;
	do {
		if (s->ops->resume(s->ctx, how, tid, stop, why))
			return -1;
		if (!alone || stop->tid == tid || is_over(stop) || stop->why == RSP_EXECED)
			return 0;
		again = stub_lists_thread(s, tid) ? stop_alone(s, how, tid, stop) : 0;
	} while (again);
	if (stub_lists_thread(s, tid) || !s->no_resumed)
		return 0;
	if (stop->why == RSP_END)
		say(s, end_text);
	stop->tid = 0;
	return 0;
}

/*
 * alone: no other thread is to run. This is how GDB steps over a breakpoint. If such a step reports the end of history,
 * GDB 13 never lets the program continue again (infrun.c, TARGET_WAITKIND_NO_HISTORY). So the end is reported by the
 * next resume, which is a step again if scheduler-locking is set.
 */
static int resume(struct stub *s, enum rsp_resume how, int tid, bool alone)
{
	struct rsp_stop stop = s->stop;
	struct err why = {0};
	bool again = s->at_end;

	if (s->ops->step_range)
		s->ops->step_range(s->ctx, s->lo, s->hi);
	s->lo = s->hi = 0;
	stop.jumped = false;
	if (move(s, how, tid, alone, &stop, &why))
		return stub_refuse(s, &why);
	if (!stop.tid && !is_over(&stop)) {
		s->general = 0;
		buf_add_char(&s->out, 'N');
		return 0;
	}
	s->at_end = stop.why == RSP_END && alone && how == RSP_STEP && !again;
	if (s->at_end) {
		stop.why = RSP_STEPPED;
		say(s, end_text);
	}
	s->stop = stop;
	s->general = 0;
	s->killed = is_over(&stop);
	return stop_reply(s);
}

struct action {
	bool step;
	uint64_t lo, hi; /* the step goes on in this range; equal: it is of one instruction */
	int sig; /* 0: none */
	int tid; /* 0: any */
};

/* LO,HI in hexadecimal after *s. */
static bool read_range(const char **s, struct action *a)
{
	char *end;

	a->lo = strtoull(*s, &end, 16);
	if (end == *s || *end != ',')
		return false;
	*s = end + 1;
	a->hi = strtoull(*s, &end, 16);
	if (end == *s || a->hi < a->lo)
		return false;
	*s = end;
	return true;
}

/* ;ACTION[:THREAD] after *p */
static bool read_action(const char **p, bool ranges, struct action *a)
{
	const char *s = *p + 1;
	char action = **p == ';' ? *s++ : '\0';

	*a = (struct action){0};
	if (!action || !strchr(ranges ? "cCsSr" : "cCsS", action))
		return false;
	if (action < 'a') /* with a signal */
		a->sig = (int)strtol(s, (char **)&s, 16);
	if (action == 'r' && !read_range(&s, a))
		return false;
	a->step = action == 's' || action == 'S' || action == 'r';
	if (*s == ':' && !stub_thread_id(s + 1, &s, &a->tid))
		return false;
	*p = s;
	return !*s || *s == ';';
}

/* vCont;ACTION[:THREAD]... : the thread to be stepped, else all go on. */
int stub_v_cont(struct stub *s, const char *args, struct err *e)
{
	bool found = false, alone = true;
	struct action a, range = {0};
	const char *p = args;
	int stepped = 0;

	do {
		if (!read_action(&p, s->ops->step_range != NULL, &a))
			return stub_error(s);
		alone &= a.tid > 0;
		if (a.sig && s->ops->signal)
			s->ops->signal(s->ctx, stub_thread(s, a.tid), a.sig);
		if (a.step ? !found : !found && !stepped)
			stepped = a.tid;
		if (a.step && !found)
			range = a;
		found |= a.step;
	} while (*p);
	s->lo = range.lo;
	s->hi = range.hi;
	return resume(s, found ? RSP_STEP : RSP_CONTINUE, stub_thread(s, stepped), alone);
}

int stub_v_cont_query(struct stub *s, const char *args, struct err *e)
{
	buf_add_str(&s->out, "vCont;c;C;s;S");
	if (s->ops->step_range)
		buf_add_str(&s->out, ";r");
	return 0;
}

int stub_go_on(struct stub *s, const char *args, struct err *e)
{
	return resume(s, RSP_CONTINUE, stub_thread(s, s->moving), false);
}

int stub_one_step(struct stub *s, const char *args, struct err *e)
{
	return resume(s, RSP_STEP, stub_thread(s, s->moving), false);
}

int stub_back_continue(struct stub *s, const char *args, struct err *e)
{
	return resume(s, RSP_BACK_CONTINUE, stub_thread(s, s->moving), s->moving > 0);
}

int stub_back_step(struct stub *s, const char *args, struct err *e)
{
	return resume(s, RSP_BACK_STEP, s->moving > 0 ? s->moving : 0, s->moving > 0);
}

static int leave(struct stub *s, const char *args, struct err *e)
{
	s->done = true;
	return stub_ok(s);
}

/* In extended mode GDB may run the program again; and it still closes its files. */
int stub_detach(struct stub *s, const char *args, struct err *e)
{
	struct err why = {0};

	if (s->ops->detach && s->ops->detach(s->ctx, &why))
		return stub_refuse(s, &why);
	s->killed = true; /* GDB does not see a recorded program any more, as after `kill` */
	return s->extended ? stub_ok(s) : leave(s, args, e);
}

/* A recorded program (without ops->kill) is not ended by this, but GDB does not see it until it is run again. */
int stub_kill_program(struct stub *s, const char *args, struct err *e)
{
	struct err why = {0};

	if (s->ops->kill && s->ops->kill(s->ctx, &why))
		return stub_refuse(s, &why);
	if (!s->extended)
		return leave(s, args, e);
	s->killed = true;
	return stub_ok(s);
}

/* vRun;FILE[;ARG...] in hexadecimal, or R. */
int stub_run_again(struct stub *s, const char *args, struct err *e)
{
	struct rsp_stop stop = {.why = RSP_STEPPED};
	struct err why = {0};

	if (s->ops->restart(s->ctx, args, &stop, &why))
		return stub_refuse(s, &why);
	s->stop = stop;
	s->general = 0;
	s->killed = false;
	return stop_reply(s);
}

/* Passes a setting for the next run: HEX, or NULL. */
static int tell(struct stub *s, void (*fn)(void *ctx, const char *text), const char *hex)
{
	char text[RSP_PACKET_MAX / 2];

	if (!fn)
		return 0;
	if (hex)
		text[rsp_unhex(hex, text, sizeof(text) - 1)] = '\0';
	fn(s->ctx, hex ? text : NULL);
	return stub_ok(s);
}

/* HEX of NAME=VALUE, or of a name to be unset. */
int stub_env(struct stub *s, const char *args, struct err *e)
{
	return tell(s, s->ops->set_env, args);
}

int stub_env_reset(struct stub *s, const char *args, struct err *e)
{
	return tell(s, s->ops->set_env, NULL);
}

int stub_cwd(struct stub *s, const char *args, struct err *e)
{
	return tell(s, s->ops->set_cwd, args);
}

int stub_attached(struct stub *s, const char *args, struct err *e)
{
	buf_add_char(&s->out, s->ops->kill ? '0' : '1');
	return 0;
}
