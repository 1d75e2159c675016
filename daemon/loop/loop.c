/* SPDX-License-Identifier: MIT */
/* loop.c: see loop.h. */
#include "loop/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ADDED (1u << 27) /* a bit that no epoll event uses: keeps `events` nonzero while added */

struct loop {
	int epoll;
	int stopped;
};

struct loop *loop_new(struct err *e)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l) {
		err_errno(e, ERR_INTERNAL, "event loop");
		return NULL;
	}
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		err_errno(e, ERR_INTERNAL, "epoll_create1");
		free(l);
		return NULL;
	}
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	close(l->epoll);
	free(l);
}

static int control(struct loop *l, int op, struct loop_source *s, uint32_t events, struct err *e)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (epoll_ctl(l->epoll, op, s->fd, &ev))
		return err_errno(e, ERR_INTERNAL, "epoll_ctl on descriptor %d", s->fd);
	s->events = events | ADDED;
	return 0;
}

int loop_add(struct loop *l, struct loop_source *s, uint32_t events, struct err *e)
{
	return control(l, EPOLL_CTL_ADD, s, events, e);
}

int loop_mod(struct loop *l, struct loop_source *s, uint32_t events, struct err *e)
{
	if (s->events == (events | ADDED))
		return 0;
	return control(l, EPOLL_CTL_MOD, s, events, e);
}

void loop_del(struct loop *l, struct loop_source *s)
{
	if (!s->events)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	s->events = 0;
}

int loop_run(struct loop *l, struct err *e)
{
	l->stopped = 0;
	while (!l->stopped) {
		struct epoll_event ev;
		int n = epoll_wait(l->epoll, &ev, 1, -1);

		if (n < 0 && errno != EINTR)
			return err_errno(e, ERR_INTERNAL, "epoll_wait");
		if (n == 1) {
			struct loop_source *s = ev.data.ptr;

			s->fn(s, ev.events);
		}
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stopped = 1;
}

static void timer_fired(struct loop_source *s, uint32_t events)
{
	struct loop_timer *t = container_of(s, struct loop_timer, source);
	uint64_t count;

	if (read(s->fd, &count, sizeof(count)) == sizeof(count))
		t->fn(t);
}

int loop_timer_init(struct loop_timer *t, struct loop *l, void (*fn)(struct loop_timer *t), struct err *e)
{
	memset(t, 0, sizeof(*t));
	t->loop = l;
	t->fn = fn;
	t->source.fn = timer_fired;
	t->source.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->source.fd < 0)
		return err_errno(e, ERR_INTERNAL, "timerfd_create");
	if (loop_add(l, &t->source, EPOLLIN, e)) {
		close(t->source.fd);
		t->source.fd = -1;
		return -1;
	}
	return 0;
}

void loop_timer_set(struct loop_timer *t, uint64_t timeout_ms)
{
	struct itimerspec ts = {
		.it_value = {(time_t)(timeout_ms / 1000), (long)(timeout_ms % 1000) * 1000000},
	};

	timerfd_settime(t->source.fd, 0, &ts, NULL);
}

void loop_timer_fini(struct loop_timer *t)
{
	if (t->source.fd < 0)
		return;
	loop_del(t->loop, &t->source);
	close(t->source.fd);
	t->source.fd = -1;
}
