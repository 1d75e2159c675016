/* SPDX-License-Identifier: MIT */
/* sig.c: see sig.h. */
#include "loop/sig.h"

#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void sig_ready(struct loop_source *src, uint32_t events)
{
	struct loop_sig *s = container_of(src, struct loop_sig, source);
	struct signalfd_siginfo si;

	if (read(src->fd, &si, sizeof(si)) == sizeof(si))
		s->fn(s, (int)si.ssi_signo);
}

int loop_sig_init(struct loop_sig *s, struct loop *l, const sigset_t *mask, void (*fn)(struct loop_sig *s, int signo),
		  struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->loop = l;
	s->fn = fn;
	s->source.fn = sig_ready;
	s->source.fd = signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->source.fd < 0)
		return err_errno(e, ERR_INTERNAL, "signalfd");
	sigprocmask(SIG_BLOCK, mask, &s->saved);
	if (loop_add(l, &s->source, EPOLLIN, e)) {
		loop_sig_fini(s);
		return -1;
	}
	return 0;
}

void loop_sig_fini(struct loop_sig *s)
{
	if (s->source.fd < 0)
		return;
	loop_del(s->loop, &s->source);
	close(s->source.fd);
	s->source.fd = -1;
	sigprocmask(SIG_SETMASK, &s->saved, NULL);
}
