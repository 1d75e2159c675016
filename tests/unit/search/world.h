/* SPDX-License-Identifier: MIT */
/*
 * world.h: a made-up timeline for the search: an expression that flips at given positions,
 * checkpoints, a clock that only the ops move, and a fault at any chosen op call.
 */
#ifndef FRED_TESTS_SEARCH_WORLD_H
#define FRED_TESTS_SEARCH_WORLD_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include "search/search.h"

#define WORLD_CKPTS 512
#define WORLD_FLIPS 16

struct world {
	uint64_t total;
	/* The value at position n is true when an even number of flips is <= n. */
	uint64_t flip[WORLD_FLIPS];
	unsigned flips;
	uint64_t error_from, error_to; /* positions in which the expression cannot be evaluated */
	uint64_t ckpt[WORLD_CKPTS];    /* sorted; 0 is always there */
	unsigned ckpts;

	/* Each event's segment has `insns` instructions; the flip at event n + 1 comes after
	 * insn_at. */
	uint64_t insns, insn_at;

	bool found; /* by stage D: the instruction found_at */
	uint64_t found_at;

	uint64_t at, k; /* the live process, and instructions after `at` */
	bool alive;
	uint64_t now, ns_per_event, ckpt_ns, restart_ns, eval_ns;
	uint64_t events_run;
	uint64_t calls, fail_call; /* the op call that fails, from 1; 0: none */
	uint64_t cancel_call;	   /* from this call on the client wants to stop; 0: never */
	uint64_t decline;	   /* checkpoints that are declined */
	uint64_t dropped, ckpts_max;
	bool cancel_seen, op_after_cancel;
};

/* A world of `total` events with all ops working and no checkpoint but 0. */
void world_init(struct world *w, uint64_t total);
void world_flip(struct world *w, uint64_t at); /* in rising order */
void world_ckpt(struct world *w, uint64_t at);
bool world_value(const struct world *w, uint64_t n);
/* The value goes from that of `left` to its opposite between n and n + 1. */
bool world_is_transition(const struct world *w, uint64_t left, uint64_t n);
uint64_t world_random(uint64_t *seed);

/* All ops except stage D's; with stage D; and a weight op that is heavily uneven. */
extern const struct search_ops world_ops;
extern const struct search_ops world_ops_local;
extern const struct search_ops world_ops_weight;
extern const struct search_ops world_ops_bare; /* only the required ones */

#endif
