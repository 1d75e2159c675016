/* SPDX-License-Identifier: MIT */
/* sim.c: see sim.h. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum state {
	UNBORN = 0,
	NEWBORN, /* created; its START comes */
	READY,
	WANTS,	  /* an acquire that is not got yet */
	RELEASES, /* stamped; the effect comes */
	WAITS,	  /* in a cond wait, not woken */
	WOKEN,	  /* wants the mutex back */
	GONE,
};

static unsigned rnd(struct sim *s, unsigned n)
{
	return (unsigned)rand_r(&s->seed) % n;
}

static uint8_t hash_of(const struct sim *s, const struct sim_op *op)
{
	static const uint8_t base[RLOG_KIND_LIMIT] = {
		[RLOG_SEM_WAIT] = 20,	 [RLOG_SEM_POST] = 20, [RLOG_COND_WAIT] = 40,
		[RLOG_COND_SIGNAL] = 40, [RLOG_JOIN] = 60,
	};

	return (uint8_t)((base[op->kind] + op->object) % s->hash_mod);
}

/* Writes the record now. */
static void put(struct sim *s, uint32_t t, const struct sim_op *op)
{
	struct sim_thread *th = &s->thread[t];
	uint64_t v[4] = {0};
	unsigned n = 0;

	if (op->kind == RLOG_CREATE)
		v[0] = op->peer, n = 1;
	if (op->kind == RLOG_SEM_WAIT || op->kind == RLOG_JOIN)
		n = 1;
	if (op->kind == RLOG_SYS)
		v[0] = op->object, n = 2;
	if (op->kind == RLOG_CRASH)
		v[0] = 11, n = 4;
	lb_add_v(&th->log, op->kind, s->now, hash_of(s, op), n, v, "", 0);
	if (op->kind == RLOG_CREATE)
		lb_add(&th->log, RLOG_CREATED, 0, 0, 2, 0ul, 7ul);
	if (op->kind == RLOG_SYS)
		lb_add_v(&th->log, RLOG_SYSRET, 0, 0, 1, v, "data", 4);
	if (th->nops == th->cap) {
		th->cap = th->cap ? 2 * th->cap : 64;
		th->op = xreallocarray(th->op, th->cap, sizeof(*th->op));
	}
	th->op[th->nops] = *op;
	th->op[th->nops++].stamp = s->now;
}

static void begin_release(struct sim *s, uint32_t t, struct sim_op op)
{
	put(s, t, &op);
	s->thread[t].doing = op;
	s->thread[t].state = RELEASES;
}

static void begin_acquire(struct sim *s, uint32_t t, struct sim_op op)
{
	s->thread[t].doing = op;
	s->thread[t].state = WANTS;
}

static unsigned lowest(uint32_t set)
{
	return (unsigned)__builtin_ctz(set);
}

/* Locks nest in rising order only, so that the program does not deadlock at once. */
static bool choose_lock(struct sim *s, uint32_t t)
{
	uint32_t held = s->thread[t].held;
	unsigned m = held ? 32 - (unsigned)__builtin_clz(held) : 0;

	if (m >= SIM_MUTEXES)
		return false;
	m += rnd(s, SIM_MUTEXES - m);
	begin_acquire(s, t, (struct sim_op){.kind = RLOG_LOCK, .object = (uint8_t)m});
	return true;
}

static uint32_t a_waiter(struct sim *s, uint8_t cond)
{
	for (uint32_t t = 1; t <= s->nthreads; t++)
		if (s->thread[t].state == WAITS && s->thread[t].doing.object == cond)
			return t;
	return 0;
}

static void choose(struct sim *s, uint32_t t)
{
	struct sim_thread *th = &s->thread[t];
	uint8_t object = (uint8_t)rnd(s, 2);

	switch (rnd(s, 12)) {
	case 0:
	case 1:
	case 2:
		if (choose_lock(s, t))
			return;
		/* fall through */
	case 3:
	case 4:
	case 5:
		if (th->held)
			begin_release(s, t,
				      (struct sim_op){.kind = RLOG_UNLOCK,
						      .object = (uint8_t)lowest(th->held)});
		return;
	case 6:
		begin_release(s, t, (struct sim_op){.kind = RLOG_SEM_POST, .object = object});
		return;
	case 7:
		if (!th->held && (t != 1 || s->nthreads == SIM_THREADS))
			begin_acquire(s, t,
				      (struct sim_op){.kind = RLOG_SEM_WAIT, .object = object});
		return;
	case 8:
		if (th->held && !(th->held & (th->held - 1)) && t != 1)
			begin_release(s, t,
				      (struct sim_op){.kind = RLOG_COND_WAIT,
						      .object = object,
						      .mutex = (uint8_t)lowest(th->held)});
		return;
	case 9:
		begin_release(s, t, (struct sim_op){.kind = RLOG_COND_SIGNAL, .object = object});
		return;
	case 10:
		if (t == 1 && s->nthreads < SIM_THREADS)
			begin_release(
				s, t,
				(struct sim_op){.kind = RLOG_CREATE, .peer = s->nthreads + 1});
		else if (t == 1)
			begin_acquire(s, t,
				      (struct sim_op){.kind = RLOG_JOIN, .peer = 2 + rnd(s, 3)});
		else if (!th->held && !rnd(s, 8))
			begin_release(s, t, (struct sim_op){.kind = RLOG_EXIT});
		return;
	default:
		begin_release(s, t, (struct sim_op){.kind = RLOG_SYS, .object = 1});
		return;
	}
}

static void effect(struct sim *s, uint32_t t)
{
	struct sim_thread *th = &s->thread[t];
	struct sim_op *op = &th->doing;
	uint32_t w;

	th->state = READY;
	s->now++; /* who sees the effect, stamps later */
	switch (op->kind) {
	case RLOG_UNLOCK:
		s->owner[op->object] = 0;
		th->held &= ~(1u << op->object);
		break;
	case RLOG_SEM_POST:
		s->sem[op->object]++;
		break;
	case RLOG_COND_WAIT:
		s->owner[op->mutex] = 0;
		th->held &= ~(1u << op->mutex);
		th->state = WAITS;
		break;
	case RLOG_COND_SIGNAL:
		if ((w = a_waiter(s, op->object)))
			s->thread[w].state = WOKEN;
		th->op[th->nops - 1].peer = w;
		break;
	case RLOG_CREATE:
		s->nthreads = op->peer;
		lb_init(&s->thread[op->peer].log, 1, op->peer, s->now);
		s->thread[op->peer].state = NEWBORN;
		break;
	case RLOG_EXIT:
		th->state = GONE;
		break;
	default:
		break;
	}
}

static bool try_acquire(struct sim *s, uint32_t t)
{
	struct sim_thread *th = &s->thread[t];
	struct sim_op *op = &th->doing;

	if (op->kind == RLOG_LOCK) {
		if (s->owner[op->object])
			return false;
		s->owner[op->object] = t;
		th->held |= 1u << op->object;
	} else if (op->kind == RLOG_SEM_WAIT) {
		if (!s->sem[op->object])
			return false;
		s->sem[op->object]--;
	} else if (s->thread[op->peer].state != GONE) {
		return false;
	}
	put(s, t, op);
	th->state = READY;
	return true;
}

static bool step(struct sim *s, uint32_t t)
{
	struct sim_thread *th = &s->thread[t];

	switch (th->state) {
	case NEWBORN:
		begin_release(s, t, (struct sim_op){.kind = RLOG_START});
		return true;
	case READY:
		choose(s, t);
		return true;
	case WANTS:
		return try_acquire(s, t);
	case RELEASES:
		effect(s, t);
		return true;
	case WOKEN:
		if (s->owner[th->doing.mutex])
			return false;
		s->owner[th->doing.mutex] = t;
		th->held |= 1u << th->doing.mutex;
		lb_add(&th->log, RLOG_COND_WOKE, 0, 0, 1, 0ul);
		th->state = READY;
		return true;
	default:
		return false;
	}
}

static void run_steps(struct sim *s, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		uint32_t t = 1 + rnd(s, s->nthreads);

		if (s->end_thread == t)
			continue;
		s->now += rnd(s, 3);
		step(s, t);
	}
}

static void end_process(struct sim *s, enum sim_end end)
{
	struct sim_op crash = {.kind = RLOG_CRASH}, exit_group = {.kind = RLOG_SYS, .object = 231};

	for (uint32_t t = s->nthreads; t; t--) {
		struct sim_thread *th = &s->thread[t];

		if (th->state == READY || (t == 1 && th->state != RELEASES)) {
			s->end_thread = t;
			s->end_index = th->nops;
			put(s, t, end == SIM_CRASH ? &crash : &exit_group);
			return;
		}
	}
}

void sim_run(struct sim *s, unsigned seed, unsigned steps, enum sim_end end, uint8_t hash_mod)
{
	*s = (struct sim){.nthreads = 1, .now = 1000, .seed = seed, .hash_mod = hash_mod};
	lb_init(&s->thread[1].log, 1, 1, s->now);
	s->thread[1].state = NEWBORN;
	run_steps(s, steps);
	if (end == SIM_KILLED)
		return;
	end_process(s, end);
	run_steps(s, s->end_thread ? 40 : 0);
}

void sim_fini(struct sim *s)
{
	for (uint32_t t = 1; t <= s->nthreads; t++) {
		free(s->thread[t].op);
		lb_fini(&s->thread[t].log);
	}
}

/*
 * ---- checker
 * --------------------------------------------------------------------------------------
 */

void sim_check_init(struct sim_check *c, const struct sim *s)
{
	*c = (struct sim_check){.s = s};
	c->created[1] = true;
}

/* The second half of a wait, inside the segment before the thread's next operation. */
static const char *wake_up(struct sim_check *c, uint32_t t)
{
	if (!c->waits[t])
		return NULL;
	if (!c->woken[t])
		return "goes on after a wait without a wake-up";
	if (c->owner[c->wants[t]])
		return "the mutex of a wait is held";
	c->owner[c->wants[t]] = t;
	c->waits[t] = false;
	c->woken[t]--;
	return NULL;
}

static const char *do_op(struct sim_check *c, uint32_t t, const struct sim_op *op)
{
	switch (op->kind) {
	case RLOG_START:
		return c->created[t] ? NULL : "starts before it was created";
	case RLOG_LOCK:
		if (c->owner[op->object])
			return "locks a mutex that is held";
		c->owner[op->object] = t;
		return NULL;
	case RLOG_UNLOCK:
		if (c->owner[op->object] != t)
			return "unlocks a mutex that it does not hold";
		c->owner[op->object] = 0;
		return NULL;
	case RLOG_SEM_POST:
		c->sem[op->object]++;
		return NULL;
	case RLOG_SEM_WAIT:
		return c->sem[op->object]-- ? NULL : "got a semaphore that is 0";
	case RLOG_COND_WAIT:
		if (c->owner[op->mutex] != t)
			return "waits without the mutex";
		c->owner[op->mutex] = 0;
		c->waits[t] = true;
		c->wants[t] = op->mutex;
		return NULL;
	case RLOG_COND_SIGNAL:
		/* Stamped at its entry, it may come before the wait that it ends. */
		c->woken[op->peer]++;
		return NULL;
	case RLOG_CREATE:
		c->created[op->peer] = true;
		return NULL;
	case RLOG_EXIT:
		c->exited[t] = true;
		return NULL;
	case RLOG_JOIN:
		return c->exited[op->peer] ? NULL : "joined a thread that has not ended";
	default:
		return NULL;
	}
}

const char *sim_check_step(struct sim_check *c, uint32_t t)
{
	const struct sim_thread *th = &c->s->thread[t];
	const char *why;

	if (!t || t > c->s->nthreads || c->done[t] >= th->nops)
		return "there is no such event";
	if ((why = wake_up(c, t)))
		return why;
	return do_op(c, t, &th->op[c->done[t]++]);
}
