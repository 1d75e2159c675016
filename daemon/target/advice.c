/* SPDX-License-Identifier: MIT */
/* advice.c: see advice.h. */
#include "target/advice.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"

void advice_add_word(struct buf *b, const char *word)
{
	bool plain = *word &&
		     !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%")];

	buf_add_str(b, plain ? " " : " '");
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *p);
	buf_add_str(b, plain ? "" : "'");
}

/* The program that was recorded; the replayed process may have another one. */
static const struct rec_image *program(const struct rec *rec)
{
	return rec->nimages ? &rec->images[0] : NULL;
}

static void add_serial(struct buf *b, const struct rec *rec)
{
	const struct rec_image *img = program(rec);

	buf_add_str(b, "; threads that share memory without locks replay exactly when one runs at a time: fredctl "
		       "record --sched serial --");
	advice_add_word(b, img->execfn);
	for (char **arg = img->argv; *arg && arg[1]; arg++)
		advice_add_word(b, arg[1]);
}

void advice_add(const struct target *t, struct err *e)
{
	cleanup_buf struct buf b = {0};
	unsigned long long holds = t->ctl ? t->ctl->turn : 0;

	if (!t->rec || !t->tl)
		return;
	buf_add_str(&b, e->text);
	if (holds > timeline_prefix(t->tl)) {
		buf_addf(&b, "; up to event %llu it matches the recording: fredctl reverse-watch", holds);
		advice_add_word(&b, t->rec->dir);
		if (t->rec->nimages > 1)
			buf_addf(&b, " --process %u", t->process);
		buf_addf(&b, " --bad %llu EXPR", holds);
	}
	if (!rec_one_order(t->rec, t->process) && program(t->rec))
		add_serial(&b, t->rec);
	err_set(e, e->kind, "%s", buf_str(&b));
}

static const char *program_of(const struct target *t)
{
	struct err ignored;
	const struct rec_image *img = rec_image(t->rec, t->process, &ignored);
	const char *name = img && img->exe ? strrchr(img->exe, '/') : NULL;

	return name ? name + 1 : "?";
}

int advice_say_killed(const struct target *t, struct err *e)
{
	err_set(e, ERR_KILLED,
		"process %u (%s), which was replayed up to event %llu, was killed (SIGKILL): " TARGET_KILLED_BY,
		t->process, program_of(t), (unsigned long long)t->ctl->turn);
	e->reason = TARGET_KILLED_TOLD;
	return -1;
}

int advice_say_ended(const struct target *t, int status, struct err *e)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return advice_say_killed(t, e);
	if (WIFSIGNALED(status))
		err_set(e, ERR_INTERNAL, "the replay diverged: the process died of signal %d (%s) after event %llu",
			WTERMSIG(status), strsignal(WTERMSIG(status)), (unsigned long long)t->ctl->turn);
	else
		err_set(e, ERR_INTERNAL, "the replay diverged: the process exited with %d after event %llu",
			WEXITSTATUS(status), (unsigned long long)t->ctl->turn);
	advice_add(t, e);
	return -1;
}
