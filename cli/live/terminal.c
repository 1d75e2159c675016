/* SPDX-License-Identifier: MIT */
/* terminal.c: see internal.h. SIGTTOU is blocked: a background process group may change the terminal, too. */
#include <signal.h>
#include <unistd.h>

#include "live/internal.h"

static void give(pid_t group)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	tcsetpgrp(0, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void set_modes(const struct termios *modes)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	tcsetattr(0, TCSADRAIN, modes);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void live_term_init(struct live_term *t)
{
	*t = (struct live_term){.debugger = getpgrp()};
	t->on = isatty(0) && tcgetpgrp(0) == t->debugger;
}

void live_term_to_program(struct live_term *t, pid_t pid)
{
	if (!t->on || tcgetpgrp(0) != t->debugger)
		return;
	tcgetattr(0, &t->debugger_modes);
	if (!t->program) {
		t->program = getpgid(pid);
		t->known = false;
	}
	if (t->known)
		set_modes(&t->program_modes);
	give(t->program);
}

void live_term_to_debugger(struct live_term *t)
{
	pid_t now = t->on ? tcgetpgrp(0) : t->debugger;

	if (now == t->debugger)
		return;
	t->program = now; /* the program may have given the terminal to a child */
	t->known = !tcgetattr(0, &t->program_modes);
	give(t->debugger);
	set_modes(&t->debugger_modes);
}
