/* SPDX-License-Identifier: MIT */
/* monitor.c: see monitor.h. A command that moves the program is seen by GDB at its next step. */
#include "debug/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "debug/changes.h"
#include "debug/proc.h"
#include "debug/reverse_watch.h"
#include "debug/revive.h"
#include "debug/threads.h"
#include "sessionstate/user_checkpoints.h"
#include "timetravel/cursor_int.h"

#define CKPT "ckpt:"

/* +N, -N: events from here. */
static int resolve_relative(struct debug *d, const char *pos, struct timeline_point *p, struct err *e)
{
	uint64_t here = cursor_event(&d->cursor), first = nav_first(&d->nav), total = cursor_total(&d->cursor), n;

	if (str_u64(pos + 1, 10, 0, INT64_MAX, &n))
		return err_set(e, ERR_USAGE, "position \"%s\": +N and -N are numbers of events from here", pos);
	if (*pos == '-' ? n + first > here : n + here > total)
		return err_set(e, ERR_USAGE, "goto %s: this is event %llu of %llu to %llu", pos,
			       (unsigned long long)here, (unsigned long long)first, (unsigned long long)total);
	*p = (struct timeline_point){.event = *pos == '-' ? here - n : here + n};
	return 0;
}

/* The session's own checkpoints come before the recording's. */
static int resolve_ckpt(struct debug *d, const char *pos, struct timeline_point *p, struct err *e)
{
	const struct bookmark *own = bookmarks_find(&d->state.checkpoints, pos + strlen(CKPT));

	if (own)
		*p = own->at;
	if (own || !nav_resolve(&d->nav, pos, p, e))
		return 0;
	return err_set(e, ERR_USAGE,
		       "there is no checkpoint %s (`checkpoints` lists those of this session, fredctl checkpoints "
		       "those of the "
		       "recording)",
		       pos + strlen(CKPT));
}

static int resolve(struct debug *d, const char *pos, struct timeline_point *p, struct err *e)
{
	if (*pos == '+' || *pos == '-')
		return resolve_relative(d, pos, p, e);
	return str_starts(pos, CKPT) ? resolve_ckpt(d, pos, p, e) : nav_resolve(&d->nav, pos, p, e);
}

/*
 * If nothing of the program is visible after event n, the program is at a visible state after a later event. Then goes
 * to the state that the thread there showed last. A thread that has only begun there has shown none.
 */
static int goto_before(struct debug *d, uint64_t n, struct err *e)
{
	uint64_t here = cursor_event(&d->cursor), first = nav_first(&d->nav);
	struct stop stop;

	do {
		if (cursor_goto(&d->cursor, n, e))
			return -1;
		if (cursor_event(&d->cursor) >= here && cursor_back_step(&d->cursor, d->cursor.tid, &stop, e))
			return -1;
	} while (cursor_event(&d->cursor) >= here && n-- > first);
	return 0;
}

int debug_goto(struct debug *d, const char *pos, struct err *e)
{
	struct timeline_point p;

	debug_end_diversion(d);
	if (resolve(d, pos, &p, e))
		return -1;
	if (*pos == '-' && p.event < cursor_event(&d->cursor))
		return goto_before(d, p.event, e);
	return p.pc ? cursor_goto_given(&d->cursor, &p, e) : cursor_goto(&d->cursor, p.event, e);
}

typedef int (*command_fn)(struct debug *d, const char *args, struct buf *out, struct err *e);

static int when(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	struct timeline_point p;
	struct timeline_event ev;
	struct err ignored;
	uint64_t n;

	if (cursor_where(&d->cursor, &p, e))
		return -1;
	n = p.event;
	buf_addf(out, "event %llu of %llu, %llu/0x%llx#%llu", (unsigned long long)n,
		 (unsigned long long)cursor_total(&d->cursor), (unsigned long long)n, (unsigned long long)p.pc,
		 (unsigned long long)p.hits);
	if (n && !timeline_read(d->nav.t.tl, n, &ev, &ignored) && ev.seconds >= 0)
		buf_addf(out, ", %.6f s after the start", ev.seconds);
	buf_addf(out, ", thread %u (TID %d)\n", threads_number(d, d->cursor.tid),
		 (int)target_shown_tid(&d->nav.t, cursor_ordinal(&d->cursor, d->cursor.tid), d->cursor.tid));
	return 0;
}

static int diverted(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	bool call;

	if (diversion_in_call(&d->diversion, &d->cursor.breaks, &call, e))
		return -1;
	buf_addf(out, "%s\n",
		 call						      ? "call"
		 : diversion_has_changes(&d->diversion, d->elsewhere) ? "written"
								      : "nothing");
	return 0;
}

static int go_to(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	if (!*args)
		return err_set(e, ERR_USAGE,
			       "goto POS: which position? start, end, an event number N, +N, -N, N/0xPC#HITS, "
			       "PERCENT%%, @SECONDS or ckpt:ID");
	if (strpbrk(args, " \t"))
		return err_set(e, ERR_USAGE, "goto POS: '%s' is more than one position", args);
	if (debug_goto(d, args, e))
		return -1;
	d->jumped = true;
	return 0;
}

/* p NULL: e is set already. */
static int go_to_point(struct debug *d, const struct bookmark *p, struct err *e)
{
	if (!p)
		return -1;
	debug_end_diversion(d);
	if (cursor_goto_point(&d->cursor, &p->at, e))
		return -1;
	d->jumped = true;
	return 0;
}

static int go_to_bookmark(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct bookmark *p = bookmarks_find(&d->state.bookmarks, args);

	if (!p)
		err_set(e, ERR_USAGE, "there is no bookmark '%s' (`bookmarks` lists them)", args);
	return go_to_point(d, p, e);
}

static int restart(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	const struct bookmark *p = bookmarks_find(&d->state.checkpoints, args);

	if (!p)
		err_set(e, ERR_USAGE, "restart N: there is no checkpoint '%s' (`info checkpoints` lists them)", args);
	return go_to_point(d, p, e);
}

static int checkpoint(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	debug_end_diversion(d);
	return user_checkpoints_take(&d->state, out, e);
}

static int checkpoints(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	bookmarks_list(&d->state.checkpoints, "No checkpoints.", out);
	return 0;
}

static int delete_checkpoints(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	return user_checkpoints_delete(&d->state, args, e);
}

static int bookmark(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	struct timeline_point p;

	if (cursor_where(&d->cursor, &p, e))
		return -1;
	buf_addf(out, "bookmark %s: ", bookmarks_set(&d->state.bookmarks, args, &p)->name);
	bookmarks_add_position(out, &p);
	buf_add_char(out, '\n');
	return session_state_write(&d->state, e);
}

static int delete_bookmarks(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	cleanup_strv struct strv names = {0};

	strv_split(&names, args, " \t,");
	for (size_t i = 0; i < names.n; i++)
		if (!bookmarks_find(&d->state.bookmarks, names.s[i]))
			return err_set(e, ERR_USAGE, "there is no bookmark '%s' (`bookmarks` lists them)", names.s[i]);
	buf_addf(out, "%zu deleted\n", names.n ? names.n : d->state.bookmarks.n);
	for (size_t i = 0; i < names.n; i++)
		bookmarks_remove(&d->state.bookmarks, names.s[i]);
	while (!names.n && d->state.bookmarks.n)
		bookmarks_remove(&d->state.bookmarks, d->state.bookmarks.v[0].name);
	return session_state_write(&d->state, e);
}

/* The step after it shows that the program has not moved. */
static int no_live(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	d->jumped = true;
	return err_set(e, ERR_USAGE,
		       "live: this is a recording; a program that runs is debugged by fredctl debug -- PROGRAM");
}

static int bookmarks(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	bookmarks_list(&d->state.bookmarks, "no bookmarks", out);
	return 0;
}

/* Commands that take long run during a step: only then does the debugger pass on an interrupt. */
static int later(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	free(d->later);
	d->later = xstrdup(args);
	return 0;
}

static int said(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	buf_add(out, d->said.data, d->said.len);
	buf_clear(&d->said);
	return 0;
}

/* What the user is told about the end of history, once. */
static const char *const history_end_texts[] = {
	[HISTORY_END_EXACT] = "",
	[HISTORY_END_ALIKE] = "fred: the exact state of the live program could not be reached again; history ends at "
			      "the most similar one\n",
	[HISTORY_END_EARLIER] = "fred: the live program is computing without calls, and its current place was not "
				"found in the replay: history ends before it\n",
};

static int prompt(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	d->selected = (int)strtol(args, NULL, 10);
	free(steal_ptr(&d->later)); /* the debugger's command was given up before it began */
	lines_fini(&d->lines);
	watched_prompt(&d->watched);
	d->over = false;
	if (d->state.inexact)
		buf_add_str(out, "fred: the exact state of the last stop could not be reached again; this is the most "
				 "similar one\n");
	d->state.inexact = false;
	if (d->revived)
		buf_add_str(out, "fred: the replaying process was killed (SIGKILL); another one has replaced it\n");
	d->revived = false;
	if (d->cursor.history_end.on)
		buf_add_str(out, history_end_texts[d->cursor.history_end.found]);
	d->cursor.history_end.found = HISTORY_END_EXACT;
	/* in a diversion the program has not moved */
	return diversion_is_on(&d->diversion) ? 0 : session_state_prompt(&d->state, e);
}

static int watch_conditions(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	return watched_set(&d->watched, args, e);
}

static int undo(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	uint64_t n = 1;
	bool exact;

	if (*args && str_u64(args, 10, 1, 1u << 30, &n))
		return err_set(e, ERR_USAGE, "undo N: '%s' is not a number of commands", args);
	if (!undo_log_find(&d->state.undo_log, n, e))
		return -1;
	debug_end_diversion(d);
	if (session_state_undo(&d->state, n, &exact, e))
		return -1;
	if (!exact)
		buf_add_str(out, "the exact state there could not be reached again; this is the most similar one\n");
	d->jumped = true;
	return 0;
}

static const struct {
	const char *name, *help;
	command_fn fn;
} commands[] = {
	{"when", "prints the current position: event, time, thread", when},
	{"reverse-watch",
	 "reverse-watch [--good POS] EXPR: goes to the statement that turned it; `stepi` then shows it",
	 debug_reverse_watch},
	{"later", "later COMMAND: runs it with the next step, which can be interrupted", later},
	{"bookmark", "bookmark [NAME]: names this position (a number, without a name)", bookmark},
	{"bookmarks", "lists the bookmarks", bookmarks},
	{"delete-bookmark", "delete-bookmark [NAME...]: forgets these bookmarks, or all", delete_bookmarks},
	{"live", "returns to the live program (not in a recording)", no_live},
	{"goto-bookmark", "goto-bookmark NAME: goes to a bookmark; `stepi` then shows it", go_to_bookmark},
	{"checkpoint", "names this position by a number, and saves an image of the process", checkpoint},
	{"checkpoints", "lists the checkpoints", checkpoints},
	{"restart", "restart N: goes to a checkpoint; `stepi` then shows it", restart},
	{"delete-checkpoint", "delete-checkpoint [N...]: forgets these checkpoints, or all", delete_checkpoints},
	{"history", "history ADDR LENGTH: lists all changes of these bytes up to here", changes_list},
	{"lines",
	 "lines START LENGTH:LINE ...: sets the lines of the function, so that steps back over a loop are fast",
	 lines_set},
	{"watch-conditions",
	 "watch-conditions [ADDRESS:LENGTH:CODE]...: sets the conditions of watchpoints, in GDB's bytecode",
	 watch_conditions},
	{"over", "over [1]: sets whether the next steps in ranges step over calls", range_over},
	{"said", "repeats what commands have printed since the last prompt", said},
	{"prompt",
	 "prompt [TID]: a command of the debugger has ended (`undo` counts these); TID is the selected thread", prompt},
	{"undo", "undo [N]: takes back the last N of them that moved the program; `stepi` then shows it", undo},
	{"diverted", "prints why there is a copy of the program: a call, a write, or no reason", diverted},
	{"proc", "proc WHAT: prints maps, pid, process (its number), auxv, exe, cwd or cmdline of the recorded process",
	 proc_tell},
	{"mover", "prints the id of the thread that moved last, which is selected now", threads_select_mover},
	{"threads", "prints the ids of the threads that have not begun or have ended", threads_tell_absent},
	{"goto", "goto POS: goes to a position; `stepi` then shows it", go_to},
};

static int help(struct buf *out)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		buf_addf(out, "%-18s %s\n", commands[i].name, commands[i].help);
	return 0;
}

static int run(void *arg, const char *command, struct buf *out, struct err *e)
{
	size_t n = strcspn(command, " \t");
	const char *args = command + n + strspn(command + n, " \t");

	if (!*command || (n == 4 && !strncmp(command, "help", 4)))
		return help(out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strlen(commands[i].name) == n && !strncmp(commands[i].name, command, n))
			return commands[i].fn(arg, args, out, e);
	return err_set(e, ERR_USAGE, "%.*s: no such command (`monitor help` lists them)", (int)n, command);
}

int monitor_later(struct debug *d, const char *command, struct buf *out, struct err *e)
{
	size_t had = out->len;
	int r = run(d, command, out, e);

	if (r) {
		revive_clear(d, e);
		busy_return(d, e);
	}
	if (!strcmp(command, "said"))
		return r;
	if (str_starts(command, "prompt"))
		buf_clear(&d->said);
	if (out->len > had)
		buf_add(&d->said, out->data + had, out->len - had);
	if (r)
		buf_addf(&d->said, "fred: %s\n", e->text);
	return r;
}

int monitor(void *arg, const char *command, struct buf *out, struct err *e)
{
	busy_begin(arg, false);
	return monitor_later(arg, command, out, e);
}
