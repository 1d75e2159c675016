/* SPDX-License-Identifier: MIT */
/* test_detect.c: vector clocks, and FastTrack's states, on made-up accesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "made_up.h"
#include "racecheck/paths.h"

#define X 0x1000

static int begin(void **state)
{
	struct made_up *m = calloc(1, sizeof(*m));

	detect_init(&m->d, &made_up_ops, m);
	*state = m;
	return 0;
}

static int end(void **state)
{
	struct made_up *m = *state;

	detect_fini(&m->d);
	free(m);
	return 0;
}

/* What `from` has done comes before what `to` does from here on. */
static void order(struct made_up *m, uint32_t from, uint32_t to)
{
	struct vclock c = {0};

	detect_release(&m->d, from, &c);
	detect_acquire(&m->d, to, &c);
	vclock_fini(&c);
}

static void clocks(void **state)
{
	struct vclock a = {0}, b = {0};

	(void)state;
	assert_int_equal(vclock_get(&a, 7), 0);
	vclock_set(&a, 1, 5);
	vclock_set(&b, 1, 3);
	vclock_set(&b, 4, 9);
	assert_true(vclock_knows(&a, epoch_of(1, 5)));
	assert_false(vclock_knows(&a, epoch_of(1, 6)));
	assert_false(vclock_knows(&a, epoch_of(4, 1)));
	assert_true(vclock_join(&a, &b));
	assert_int_equal(vclock_get(&a, 1), 5);
	assert_int_equal(vclock_get(&a, 4), 9);
	assert_false(vclock_join(&a, &b));
	vclock_copy(&a, &b);
	assert_int_equal(vclock_get(&a, 1), 3);
	assert_int_equal(epoch_thread(epoch_of(8191, 77)), 8191);
	assert_int_equal(epoch_clock(epoch_of(8191, 77)), 77);
	vclock_fini(&a);
	vclock_fini(&b);
}

/* Each pair of accesses, ordered and not. */
static void pairs(void **state)
{
	struct made_up *m = *state;

	writes(m, 1, X, 4, 1);
	writes(m, 2, X, 4, 2);
	assert_int_equal(m->races, 1);
	assert_int_equal(m->race[0].earlier.site, 1);
	assert_int_equal(m->race[0].earlier.thread, 1);
	assert_true(m->race[0].earlier.writes && m->race[0].later.writes);
	assert_int_equal(m->race[0].later.site, 2);
	reads(m, 3, X, 4, 3);
	assert_int_equal(m->races, 2);
	assert_false(m->race[1].later.writes);
	order(m, 2, 4);
	order(m, 3, 4);
	writes(m, 4, X, 4, 4);
	assert_int_equal(m->races, 2);
	reads(m, 4, X, 4, 5);
	assert_int_equal(m->races, 2);
	/* reads do not race with reads, but with a write after them */
	order(m, 4, 5);
	reads(m, 5, X, 4, 6);
	order(m, 4, 6);
	reads(m, 6, X, 4, 7);
	assert_int_equal(m->races, 2);
	order(m, 5, 7);
	writes(m, 7, X, 4, 8);
	assert_int_equal(m->races, 3);
	assert_int_equal(m->race[2].earlier.site, 7);
	assert_false(m->race[2].earlier.writes);
}

/* A release tells what was done before it, not what is done after it. */
static void behind_release(void **state)
{
	struct made_up *m = *state;
	struct vclock c = {0};

	writes(m, 1, X, 8, 1);
	detect_release(&m->d, 1, &c);
	writes(m, 1, X, 8, 2);
	detect_acquire(&m->d, 2, &c);
	reads(m, 2, X, 8, 3);
	assert_int_equal(m->races, 1);
	assert_int_equal(m->race[0].earlier.site, 2);
	vclock_fini(&c);
}

/* Bytes beside each other are no race, however they are accessed together by others. */
static void sizes(void **state)
{
	struct made_up *m = *state;

	for (uint32_t i = 0; i < 8; i++)
		writes(m, i + 1, X + i, 1, i + 1);
	assert_int_equal(m->races, 0);
	for (uint32_t i = 2; i <= 8; i++)
		order(m, i, 1);
	writes(m, 1, X, 8, 20);
	assert_int_equal(m->races, 0);
	writes(m, 2, X + 4, 4, 21);
	assert_int_equal(m->races, 1);
	assert_int_equal(m->race[0].earlier.addr, X + 4);
	assert_int_equal(m->race[0].earlier.len, 4);
	/* over the borders of words and pages */
	writes(m, 3, X + 4096 - 3, 64, 22);
	reads(m, 4, X + 4096 + 60, 1, 23);
	assert_int_equal(m->races, 2);
	reads(m, 4, X + 4096 + 61, 1, 24);
	assert_int_equal(m->races, 2);
}

/* What is known quickly is the same as what is found out slowly. */
static void known(void **state)
{
	struct made_up *m = *state;

	assert_false(detect_is_known(&m->d, 1, X, 4, false));
	writes(m, 1, X, 8, 1);
	assert_true(detect_is_known(&m->d, 1, X, 8, true));
	assert_true(detect_is_known(&m->d, 1, X + 4, 4, true));
	assert_true(detect_is_known(&m->d, 1, X + 3, 1, false));
	assert_false(detect_is_known(&m->d, 2, X, 8, false));
	detect_tick(&m->d, 1);
	assert_false(detect_is_known(&m->d, 1, X, 8, true));
	reads(m, 1, X, 4, 2);
	assert_true(detect_is_known(&m->d, 1, X, 4, false));
	assert_false(detect_is_known(&m->d, 1, X + 4, 4, false));
	assert_false(detect_is_known(&m->d, 1, X, 4, true));
}

static void memory(void **state)
{
	struct made_up *m = *state;

	/* given out anew */
	writes(m, 1, X, 64, 1);
	detect_renew(&m->d, X, 32);
	writes(m, 2, X, 32, 2);
	assert_int_equal(m->races, 0);
	writes(m, 2, X + 32, 8, 3);
	assert_int_equal(m->races, 1);
	/* freed, while another uses it; what nobody used is nothing */
	detect_free(&m->d, 3, X + 8, 8, 4, 1);
	assert_int_equal(m->races, 2);
	assert_int_equal(m->race[1].later.site, 4);
	detect_free(&m->d, 3, X + 8192, 1ull << 40, 5, 1);
	reads(m, 4, X + 8, 1, 6);
	assert_int_equal(m->races, 3);
	assert_int_equal(m->race[2].earlier.site, 4);
	/* part of a word, and more than all that is known */
	detect_renew(&m->d, X + 34, 1ull << 40);
	writes(m, 5, X + 34, 6, 7);
	assert_int_equal(m->races, 3);
	writes(m, 5, X + 32, 2, 8);
	assert_true(m->races > 3);
}

/* A flag: who has read it knows what was done before it was set, and not what was done after. */
static void atomics(void **state)
{
	struct made_up *m = *state;

	writes(m, 1, X, 8, 1);
	writes(m, 1, X + 64, 4, ATOMIC);
	writes(m, 1, X + 128, 8, 2);
	reads(m, 2, X + 64, 4, ATOMIC + 1);
	reads(m, 2, X, 8, 3);
	assert_int_equal(m->races, 0);
	reads(m, 2, X + 128, 8, 4);
	assert_int_equal(m->races, 1);
	assert_int_equal(m->race[0].earlier.site, 2);
	/* one on either side is not enough */
	reads(m, 3, X + 64, 4, 5);
	assert_int_equal(m->races, 2);
	/* who only reads tells nothing */
	reads(m, 4, X + 64, 4, ATOMIC + 2);
	writes(m, 5, X + 64, 4, ATOMIC + 3);
	writes(m, 4, X + 192, 8, 6);
	reads(m, 5, X + 192, 8, 7);
	assert_int_equal(m->races, 4);
}

/* A relaxed load orders nothing, but one that acquires does, also when it comes right after that. */
static void relaxed(void **state)
{
	struct made_up *m = *state;

	writes(m, 1, X, 4, 1);
	writes(m, 1, X + 64, 4, ATOMIC);
	reads(m, 2, X + 64, 4, RELAXED);
	reads(m, 2, X, 4, 2);
	assert_int_equal(m->races, 1);
	reads(m, 3, X + 64, 4, RELAXED);
	reads(m, 3, X + 64, 4, ATOMIC + 1);
	reads(m, 3, X, 4, 3);
	assert_int_equal(m->races, 1);
}

/* From one to the next: what the first knew goes on to the third. */
static void handed_on(void **state)
{
	struct made_up *m = *state;

	writes(m, 1, X, 8, 1);
	writes(m, 1, X + 64, 4, ATOMIC);
	reads(m, 2, X + 64, 4, ATOMIC + 1);
	writes(m, 2, X + 72, 4, ATOMIC + 2);
	/* meanwhile it learns more, which the third does not get */
	writes(m, 4, X + 8, 8, 2);
	order(m, 4, 2);
	reads(m, 3, X + 72, 4, ATOMIC + 3);
	reads(m, 3, X, 8, 3);
	assert_int_equal(m->races, 0);
	reads(m, 3, X + 8, 8, 4);
	assert_int_equal(m->races, 1);
}

/* Against a plain one: vectors for each byte, all accesses kept. */
#define THREADS 5
#define BYTES 24
struct plain {
	struct vclock now[THREADS + 1], wrote[BYTES], read[BYTES];
};

static bool plain_races(struct plain *p, uint32_t thread, unsigned at, unsigned len, bool write)
{
	bool race = false;

	for (unsigned i = at; i < at + len; i++) {
		for (uint32_t k = 1; k <= THREADS; k++) {
			race |= vclock_get(&p->wrote[i], k) > vclock_get(&p->now[thread], k);
			race |= write && vclock_get(&p->read[i], k) > vclock_get(&p->now[thread], k);
		}
		vclock_set(write ? &p->wrote[i] : &p->read[i], thread, vclock_get(&p->now[thread], thread));
	}
	return race;
}

static void against_plain(void **state)
{
	static const unsigned lens[] = {1, 1, 2, 4, 4, 8, 8, 16};
	struct made_up *m = *state;
	uint64_t seed = 1;

	/* up to the first race: after that, what is remembered differs */
	for (unsigned round = 0; round < 400; round++) {
		struct plain p = {0};

		detect_fini(&m->d);
		detect_init(&m->d, &made_up_ops, m);
		m->races = 0;
		for (uint32_t k = 1; k <= THREADS; k++)
			vclock_set(&p.now[k], k, detect_clock(&m->d, k));
		for (unsigned step = 0; step < 200 && !m->races; step++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint32_t r = (uint32_t)(seed >> 33), thread = r % THREADS + 1, other = r / 8 % THREADS + 1;
			unsigned len = lens[r >> 8 & 7], at = (r >> 12) % (BYTES - len + 1);

			if (r >> 20 & 7 && thread != other) {
				order(m, other, thread);
				vclock_join(&p.now[thread], &p.now[other]);
				vclock_set(&p.now[other], other, vclock_get(&p.now[other], other) + 1);
				continue;
			}
			bool want = plain_races(&p, thread, at, len, r >> 24 & 1);

			if (r >> 24 & 1)
				writes(m, thread, X + at, len, 1);
			else
				reads(m, thread, X + at, len, 1);
			assert_int_equal(m->races > 0, want);
		}
		for (uint32_t k = 0; k <= THREADS; k++)
			vclock_fini(&p.now[k]);
		for (unsigned k = 0; k < BYTES; k++) {
			vclock_fini(&p.wrote[k]);
			vclock_fini(&p.read[k]);
		}
	}
}

/* Of a recursion with two calls: one call after very many others. Their places in the table are not one long run. */
static void many_paths(void **state)
{
	const uint32_t n = 100000;
	struct paths p;
	uint64_t pc[2];
	size_t run = 0, longest = 0;

	(void)state;
	paths_init(&p);
	for (uint32_t parent = 0; parent < n; parent++)
		assert_int_equal(paths_number(&p, parent, 0x7ffff7c9350b), parent + 1);
	assert_int_equal(paths_calls(&p, n, pc, 2), 2);
	assert_int_equal(paths_number(&p, n - 1, 0x7ffff7c9350b), n);
	for (size_t k = 0; k < p.slots; k++) {
		run = p.slot[k] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_true(longest < 1000);
	paths_fini(&p);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(clocks),
		CASE(pairs),
		CASE(behind_release),
		CASE(sizes),
		CASE(known),
		CASE(memory),
		CASE(atomics),
		CASE(relaxed),
		CASE(handed_on),
		CASE(against_plain),
		cmocka_unit_test(many_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
