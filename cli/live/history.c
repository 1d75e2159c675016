/* SPDX-License-Identifier: MIT */
/*
 * history.c: changes from the live process to a replay of what is recorded so far, and back. The replay is a worker of
 * the daemon, which is told the state of the live process (visibility/thread_snapshot.h) and starts in it: GDB sees no
 * difference. From then on packets and answers are passed on unchanged.
 */
#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/out.h"
#include "live/internal.h"
#include "visibility/thread_snapshot.h"

#define INTERRUPT "\3"
#define COMMAND "qRcmd,"
#define LOST_MAX 3u

/*
 * Shows text to the user: at once, while GDB waits for an answer, or later, if GDB would take the text for the answer.
 */
static void say(struct live *l, const char *text)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;

	if (!l->quiet) {
		rsp_say(&l->conn, text, strlen(text), &ignored);
		return;
	}
	buf_add_char(&b, 'O');
	rsp_hex(&b, text, strlen(text));
	strv_add(&l->later, buf_str(&b));
}

/* Packets that are never passed on: about the connection, files, and start and end of the program. */
static bool is_ours(const char *packet)
{
	static const char *const starts[] = {"qSupported",
					     "QStartNoAckMode",
					     "QProgramSignals:",
					     "!",
					     "qAttached",
					     "vFile:",
					     "vRun",
					     "vKill",
					     "k",
					     "R",
					     "D"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (str_starts(packet, starts[i]))
			return true;
	return false;
}

/* ---- the worker ---- */

static int send_past(struct live *l, const char *packet, struct err *e)
{
	cleanup_buf struct buf b = {0};

	rsp_escape(&b, packet, strlen(packet));
	return rsp_send(&l->past, buf_str(&b), b.len, e);
}

/* Is the packet text for the user, which comes before an answer? ("OK" is not.) */
static bool is_text(const struct buf *p)
{
	return p->len > 1 && p->data[0] == 'O' && isxdigit((unsigned char)p->data[1]);
}

/* Handles what the worker has sent so far. 1: its answer was among that. */
static int hear_past(struct live *l, struct buf *answer, struct err *e)
{
	cleanup_buf struct buf p = {0};
	int got;

	do {
		got = rsp_receive(&l->past, &p, e);
		if (got <= 0) {
			l->past.fd = -1; /* the bridge closes it */
			return got < 0 ? -1
				       : err_set(e, ERR_INTERNAL,
						 "the replay has ended: `live` returns to the program");
		}
		if (got == RSP_PACKET && !is_text(&p)) {
			rsp_escape(answer, p.data, p.len);
			return 1;
		}
		if (l->quiet && got == RSP_PACKET)
			strv_add(&l->later, buf_str(&p));
		else if (got == RSP_NOTE ? rsp_note(&l->conn, p.data, p.len, e) : rsp_send(&l->conn, p.data, p.len, e))
			return -1;
	} while (l->past.in.len);
	return 0;
}

/* Sends a packet to the worker and waits for its answer. GDB may interrupt meanwhile. */
static int ask_past(struct live *l, const char *packet, struct buf *answer, struct err *e)
{
	struct pollfd p[] = {{.fd = l->past.fd, .events = POLLIN}, {.fd = l->conn.fd, .events = POLLIN}};
	bool early = l->conn.interrupted; /* it came before this packet */
	int r = 0;

	if (l->past.fd < 0)
		return err_set(e, ERR_INTERNAL, "the replay has ended: `live` returns to the program");
	if (send_past(l, packet, e)) {
		l->past.fd = -1;
		return -1;
	}
	while (!r) {
		if (!early && poll(p, 2, -1) < 0)
			continue;
		if ((early || p[1].revents) && rsp_interrupted(&l->conn)) {
			early = false;
			if (write(l->past.fd, INTERRUPT, 1) != 1)
				early = false; /* the worker has gone, as the next read shows */
			p[1].fd = p[1].revents & POLLHUP ? -1 : p[1].fd;
		}
		if (p[0].revents)
			r = hear_past(l, answer, e);
	}
	return r < 0 ? -1 : 0;
}

static int ask_ok(struct live *l, const char *packet, struct err *e)
{
	cleanup_buf struct buf answer = {0};

	if (ask_past(l, packet, &answer, e))
		return -1;
	return answer.len && answer.data[0] == 'E'
		       ? err_set(e, ERR_INTERNAL, "the replay answers %s with %s", packet, buf_str(&answer))
		       : 0;
}

static int set_break(struct live *l, const struct breaks_point *p, struct err *e)
{
	cleanup_buf struct buf b = {0};

	buf_addf(&b, "Z0,%llx,1", (unsigned long long)p->addr);
	for (unsigned i = 0; i < p->conds.n; i++) {
		buf_addf(&b, ";X%zx,", p->conds.v[i].len);
		rsp_hex(&b, p->conds.v[i].code, p->conds.v[i].len);
	}
	return ask_ok(l, buf_str(&b), e);
}

/* Tells the worker which thread the user looks at: steps back are made in it. */
static int tell_selected(struct live *l, struct err *e)
{
	cleanup_buf struct buf b = {0};
	char command[32];

	snprintf(command, sizeof(command), "prompt %d", l->selected);
	buf_add_str(&b, COMMAND);
	rsp_hex(&b, command, strlen(command));
	return ask_ok(l, buf_str(&b), e);
}

/* The worker gets GDB's breakpoints, watchpoints and selected thread. */
static int hand_over(struct live *l, struct err *e)
{
	static const int watch[] = {[GROUP_WRITE] = RSP_WRITE, [GROUP_ACCESS] = RSP_ACCESS};
	char packet[64];
	int r = ask_ok(l, "QStartNoAckMode", e);

	l->past.no_ack = true;
	for (unsigned i = 0; i < LIVE_CHOICES && !r; i++)
		if (l->chosen[i])
			r = ask_ok(l, l->chosen[i], e);
	for (unsigned i = 0; i < l->breaks.n && !r; i++)
		r = set_break(l, &l->breaks.v[i], e);
	for (unsigned i = 0; i < BREAKS_WATCHES && !r; i++) {
		const struct group_slot *w = &l->breaks.watch[i];

		if (!w->kind)
			continue;
		snprintf(packet, sizeof(packet), "Z%d,%llx,%x", watch[w->kind], (unsigned long long)w->addr, w->len);
		r = ask_ok(l, packet, e);
	}
	if (!r && l->selected)
		r = tell_selected(l, e);
	return r || !l->lines ? r : ask_ok(l, l->lines, e);
}

static uint64_t first_tls(struct live *l)
{
	struct group_thread *th = group_find(&l->group, l->group.pid);
	struct user_regs_struct r;
	struct err ignored;

	return th && th->t.alive && !trace_get_regs(&th->t, &r, &ignored) ? r.fs_base : 0;
}

static int write_snapshot(struct live *l, struct err *e)
{
	struct group_thread *th = group_find(&l->group, l->tid);
	struct user_regs_struct r;
	struct thread_snapshot s = {0};
	int ret = 0;

	if (!th || !th->t.alive)
		return err_set(e, ERR_USAGE, "thread %d no longer exists", (int)l->tid);
	if (trace_get_regs(&th->t, &r, e))
		return -1;
	if (thread_snapshot_look(&s, &th->t, first_tls(l), live_in_call(l, &th->t, &r), e) ||
	    thread_snapshot_write(&s, l->snapshot, e))
		ret = -1;
	thread_snapshot_fini(&s);
	return ret;
}

/* The tracer has SIGCHLD blocked, which programs that it starts must not inherit. */
static void block_children(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(how, &set, NULL);
}

/* stop: the replay begins where the last one stopped, and not at the program's position. */
static int start_worker(struct live *l, bool stop, struct err *e)
{
	json_t *params = json_pack("{s:b, s:o, s:o, s:o}", "stop", stop, "rec",
				   json_text(l->rec.result.dir, strlen(l->rec.result.dir)), "live",
				   json_text(l->snapshot, strlen(l->snapshot)), "session",
				   json_text(l->session, strlen(l->session)));
	pid_t self = getpid();
	int code = 0, r;

	block_children(SIG_UNBLOCK);
	r = bridge_start(&l->bridge, l->o->cli, params, &code, e);
	block_children(SIG_BLOCK);
	if (getpid() != self) { /* the child that keeps the operation */
		if (code < 0 || r < 0)
			fprintf(stderr, "fred: %s\n", e->text);
		_exit(code < 0 || r < 0 ? 70 : code);
	}
	unlink(l->snapshot);
	if (r > 0)
		err_set(e, ERR_INTERNAL, "the program's past cannot be replayed");
	return r ? -1 : 0;
}

static int go_back(struct live *l, bool stop, struct err *e)
{
	if (!l->group.n)
		return err_set(e, ERR_USAGE, "the program is not being run");
	if (mkdir_p(l->session, 0700, e) || write_snapshot(l, e))
		return -1;
	if (start_worker(l, stop, e)) {
		bridge_end(&l->bridge);
		return -1;
	}
	l->past = (struct rsp_conn){.fd = l->bridge.worker};
	l->back = true;
	if (!hand_over(l, e))
		return 0;
	live_return(l);
	return -1;
}

void live_return(struct live *l)
{
	if (!l->back)
		return;
	l->back = l->aside = false;
	buf_fini(&l->past.in);
	bridge_end(&l->bridge);
}

/* ---- packets ---- */

static void note_choice(struct live *l, const char *packet)
{
	static const char *const starts[LIVE_CHOICES] = {"Hg", "Hc", "QPassSignals:"};

	for (unsigned i = 0; i < LIVE_CHOICES; i++)
		if (str_starts(packet, starts[i]))
			str_set(&l->chosen[i], "%s", packet);
}

/* Is it a packet about where to stop? The program and the replay both get these. */
static bool is_for_both(const char *packet)
{
	return tolower((unsigned char)packet[0]) == 'z' || str_starts(packet, "QPassSignals:");
}

/*
 * Answers with an error. GDB shows a reason after "E." only for some packets; GDB 13 takes it for memory in the answer
 * to a read.
 */
static int refuse(struct live *l, const char *packet, const struct err *why, struct buf *answer)
{
	bool memory = packet[0] == 'm';

	if (!memory && !str_starts(packet, COMMAND)) {
		buf_addf(answer, "E.%s", why->text);
		return 1;
	}
	say(l, "fred: ");
	say(l, why->text);
	say(l, "\n");
	buf_add_str(answer, memory ? "E01" : "OK");
	return 1;
}

static bool is_resume(const char *packet)
{
	return str_starts(packet, "vCont;") || str_eq(packet, "bs") || str_eq(packet, "bc") ||
	       strchr("cCsS", packet[0]);
}

/* The worker or its daemon has died: starts another one at the last stop, and answers GDB's packet. */
static int recover(struct live *l, const char *packet, struct buf *answer, struct err *e)
{
	cleanup_buf struct buf stop = {0};
	bool aside = l->aside;

	live_return(l);
	out_note(l->o->cli, "the replay of this session has ended; a new one returns to %s",
		 aside ? "the position of the program, without what was written" : "the last stop");
	if (go_back(l, !aside, e))
		return -1;
	l->aside = aside;
	if (str_starts(packet, COMMAND)) /* the command is not executed twice */
		return buf_add_str(answer, "OK"), 0;
	if (!is_resume(packet))
		return ask_past(l, packet, answer, e);
	if (ask_past(l, "?", &stop, e))
		return -1;
	buf_addf(answer, "T02%s", stop.len > 3 ? stop.data + 3 : ""); /* as for an interrupt */
	return 0;
}

/*
 * GDB accepts console output only before the answers to resuming packets and to qRcmd; before any other it takes the
 * output for the answer. So such text is held back, also when another worker takes the place of one that died.
 */
static void let_speak(struct live *l, const char *packet)
{
	struct err ignored;

	l->quiet = !is_resume(packet) && !str_starts(packet, COMMAND);
	for (size_t i = 0; !l->quiet && i < l->later.n; i++)
		rsp_send(&l->conn, l->later.s[i], strlen(l->later.s[i]), &ignored);
	if (!l->quiet)
		strv_fini(&l->later);
}

static int pass(struct live *l, const char *packet, struct buf *answer)
{
	struct err why = {0};
	int r;

	r = ask_past(l, packet, answer, &why);
	while (r && l->past.fd < 0 && l->lost < LOST_MAX) {
		l->lost++;
		buf_clear(answer);
		r = recover(l, packet, answer, &why);
		if (r && !l->back)
			break;
	}
	if (!r && l->lost && is_resume(packet))
		l->lost = 0;
	if (!r)
		return 1;
	if (!l->back) { /* GDB knows only the past until `live` */
		l->back = true;
		l->past.fd = -1;
	}
	return refuse(l, packet, &why, answer);
}

static const char past_text[] =
	"fred: this is the program's past; it stands still meanwhile, and `live` returns to it\n";

/* Switches to the replay; for a query only, switches back at once. */
static int from_live(struct live *l, const char *packet, bool question, struct buf *answer)
{
	struct err why = {0};

	if (go_back(l, false, &why))
		return refuse(l, packet, &why, answer);
	if (!question)
		say(l, past_text);
	pass(l, packet, answer);
	if (question)
		live_return(l);
	return 1;
}

/* The replay at this position becomes the history that GDB sees. */
static void stay_in_history(struct live *l)
{
	l->aside = false;
	say(l, past_text);
}

static int return_to_live(struct live *l, struct buf *answer)
{
	say(l, l->back && !l->aside ? "fred: back in the live program\n" : "fred: this is the live program\n");
	live_return(l);
	l->jumped = true;
	buf_add_str(answer, "OK");
	return 1;
}

/* Notes packets that do not concern the live program, but a later replay. */
static bool is_for_later(struct live *l, const char *name, const char *packet)
{
	static const char *const names[] = {"lines", "prompt", "threads", "over", "watch-conditions"};

	if (l->back && !l->aside)
		return false;
	if (str_eq(name, "lines"))
		str_set(&l->lines, "%s", packet);
	if (str_eq(name, "prompt"))
		free(steal_ptr(&l->lines));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_eq(name, names[i]))
			return true;
	return false;
}

/* Tells the debugger to select the thread of the last stop. */
static int tell_mover(struct live *l, struct buf *answer)
{
	cleanup_free char *text = str_fmt("%d\n", l->group.n ? l->stop.tid : 0);

	say(l, text);
	buf_add_str(answer, "OK");
	return 1;
}

/* `monitor COMMAND`. */
static int command(struct live *l, const char *packet, struct buf *answer)
{
	static const char *const questions[] = {"when",	       "bookmark",	    "bookmarks", "checkpoint",
						"checkpoints", "delete-checkpoint", "help",	 "proc"};
	static const char typed[] = "typed-args";
	size_t room = strlen(packet);
	cleanup_free char *text = xmalloc(room);
	bool question = false;

	l->conn.interrupted = false; /* GDB is at its prompt again */
	text[rsp_unhex(packet + strlen(COMMAND), text, room - 1)] = '\0';
	if (str_starts(text, typed)) {
		l->told = true;
		free(steal_ptr(&l->line));
		if (text[strlen(typed)])
			str_set(&l->line, "%s", text + strlen(typed) + 1);
		buf_add_str(answer, "OK");
		return 1;
	}
	if (str_starts(text, "prompt "))
		l->selected = (int)strtol(text + strlen("prompt "), NULL, 10);
	text[strcspn(text, " \t")] = '\0';
	if (str_eq(text, "live"))
		return return_to_live(l, answer);
	if ((!l->back || l->aside) && str_eq(text, "mover"))
		return tell_mover(l, answer);
	if (is_for_later(l, text, packet)) {
		buf_add_str(answer, "OK");
		return 1;
	}
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		question |= str_eq(text, questions[i]);
	if (l->aside && !question)
		stay_in_history(l);
	return l->back ? pass(l, packet, answer) : from_live(l, packet, question, answer);
}

/* ---- calls, and what is written ---- */

int live_write_aside(struct live *l, struct err *e)
{
	if (l->back)
		return 1;
	l->quiet = true;
	if (go_back(l, false, e)) {
		l->quiet = false;
		return -1;
	}
	l->aside = true;
	return 1;
}

/* The present purpose of the copy: "call", "written" or "nothing"; NULL: it is gone. */
static char *ask_use(struct live *l)
{
	cleanup_buf struct buf b = {0}, answer = {0};
	size_t n = l->later.n;
	bool quiet = l->quiet;
	struct err ignored;
	char text[32] = "";
	int r;

	buf_add_str(&b, COMMAND);
	rsp_hex(&b, "diverted", strlen("diverted"));
	l->quiet = true;
	r = ask_past(l, buf_str(&b), &answer, &ignored);
	l->quiet = quiet;
	if (r)
		return NULL;
	while (l->later.n > n) {
		char *last = l->later.s[--l->later.n];

		text[rsp_unhex(last + 1, text, sizeof(text) - 1)] = '\0';
		text[strcspn(text, "\n")] = '\0';
		free(last);
		l->later.s[l->later.n] = NULL;
	}
	return xstrdup(text);
}

/*
 * GDB resumes the program. true: for a function call, which is made in the copy; false: the program itself is to run.
 */
static bool goes_aside(struct live *l, const char *packet)
{
	cleanup_free char *use = NULL;

	if (!l->aside || !is_resume(packet))
		return l->back;
	use = ask_use(l);
	if (use && str_eq(use, "call"))
		return true;
	if (use && packet[0] == 'b') {
		stay_in_history(l);
		return true;
	}
	if (!use || str_eq(use, "written"))
		say(l, "fred: what was written to a copy of the program is discarded: what is recorded cannot be "
		       "changed\n");
	live_return(l);
	return false;
}

int live_relay(void *arg, const char *packet, struct buf *answer, struct err *e)
{
	struct live *l = arg;

	(void)e;
	if (is_ours(packet))
		return 0;
	note_choice(l, packet);
	let_speak(l, packet);
	if (str_starts(packet, COMMAND))
		return command(l, packet, answer);
	if (goes_aside(l, packet))
		return pass(l, packet, answer) && !(is_for_both(packet) && str_eq(buf_str(answer), "OK"));
	if (str_eq(packet, "bs") || str_eq(packet, "bc"))
		return from_live(l, packet, false, answer);
	return 0;
}
