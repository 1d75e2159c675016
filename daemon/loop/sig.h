/* SPDX-License-Identifier: MIT */
/* sig.h: signals as an event source (signalfd(2)). */
#ifndef FRED_LOOP_SIG_H
#define FRED_LOOP_SIG_H

#include <signal.h>

#include "loop/loop.h"

struct loop_sig {
	struct loop_source source;
	struct loop *loop;
	sigset_t saved; /* the mask before */
	void (*fn)(struct loop_sig *s, int signo);
};

/* Blocks the signals of mask and reports them to fn. */
int loop_sig_init(struct loop_sig *s, struct loop *l, const sigset_t *mask, void (*fn)(struct loop_sig *s, int signo),
		  struct err *e);
/* Stops and restores the mask. */
void loop_sig_fini(struct loop_sig *s);

#endif
