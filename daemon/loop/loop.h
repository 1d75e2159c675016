/* SPDX-License-Identifier: MIT */
/*
 * loop.h: the daemon's event loop (epoll(7), level-triggered). Sources are embedded in what they belong
 * to. One event is taken at a time, so a callback may remove and free any source, its own included.
 */
#ifndef FRED_LOOP_LOOP_H
#define FRED_LOOP_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

struct loop;

struct loop_source {
	int fd; /* borrowed */
	uint32_t events; /* 0: registered nowhere */
	void (*fn)(struct loop_source *s, uint32_t events);
};

/* NULL on failure. */
struct loop *loop_new(struct err *e);
void loop_free(struct loop *l);
/* Adds s, whose fd and fn are set, for these events (EPOLLIN, EPOLLOUT ...; not 0). */
int loop_add(struct loop *l, struct loop_source *s, uint32_t events, struct err *e);
/* Changes the events of an added source; with 0 it stays added, and only EPOLLHUP and EPOLLERR are reported. */
int loop_mod(struct loop *l, struct loop_source *s, uint32_t events, struct err *e);
/* Removes the source if it is added. To be called before its fd is closed. */
void loop_del(struct loop *l, struct loop_source *s);
/* Runs callbacks until loop_stop. 0, or -1 if epoll itself failed. */
int loop_run(struct loop *l, struct err *e);
void loop_stop(struct loop *l);

/* A one-shot timer (timerfd, CLOCK_MONOTONIC). */
struct loop_timer {
	struct loop_source source;
	struct loop *loop;
	void (*fn)(struct loop_timer *t);
};

int loop_timer_init(struct loop_timer *t, struct loop *l, void (*fn)(struct loop_timer *t), struct err *e);
/* Fires once in timeout_ms; 0 disarms. */
void loop_timer_set(struct loop_timer *t, uint64_t timeout_ms);
void loop_timer_fini(struct loop_timer *t);

#endif
