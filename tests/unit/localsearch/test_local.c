/* SPDX-License-Identifier: MIT */
/* test_local.c: the local search on real loops: rare stores, counters, string instructions, chains.
 */
#include "localsearch/local.h"
#include "scenarios.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* An expression over the target's memory, and how it is to be presented. */
struct question {
	bool (*bad)(struct trace *t, struct trace_words *words, struct question *q);
	uint64_t threshold;
	bool hide_words;
	uint64_t cost_ns;
	uint64_t calls, fail_call, cancel_call;
	struct target *g;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t peek(struct trace *t, struct trace_words *words, uint64_t addr, unsigned len)
{
	uint64_t v = 0;

	OK(trace_read(t->pid, addr, &v, len, &e));
	if (words->n < TRACE_WORDS_MAX)
		words->w[words->n++] = (struct trace_word){addr, len};
	else
		words->complete = false;
	return v;
}

static int eval(void *ctx, struct trace *t, enum trace_side *side, struct trace_words *words, struct err *e)
{
	struct question *q = ctx;
	uint64_t start = now();

	assert_true(t->alive);
	assert_true(!words->n && !words->complete);
	if (++q->calls == q->fail_call)
		return err_set(e, ERR_HOST, "injected fault");
	words->complete = true;
	*side = q->bad(t, words, q) ? TRACE_BAD : TRACE_GOOD;
	if (q->hide_words) {
		words->complete = false;
		words->n = 0;
	}
	while (now() - start < q->cost_ns)
		;
	return 0;
}

static bool cancelled(void *ctx)
{
	struct question *q = ctx;

	return q->cancel_call && q->calls >= q->cancel_call;
}

static const struct trace_local_ops ops = {.eval = eval, .cancelled = cancelled};

static int search(struct target *g, void (*fn)(struct target_ctl *), struct question *q, struct trace_local_params p,
		  struct trace_local_result *r, struct err *e)
{
	p.gadget = GADGET;
	p.end_break = ADDR(target_end);
	target_start(g, fn);
	target_release(g);
	q->g = g;
	return trace_local_search(&g->t, &p, &ops, q, r, e);
}

static void report(const char *name, const struct trace_local_result *r)
{
	print_message("# %s: %.3f s, %llu hits, %llu steps, %llu evaluations, %llu forks\n", name,
		      (double)r->total_ns / 1e9, (unsigned long long)r->hits, (unsigned long long)r->steps,
		      (unsigned long long)r->evaluations, (unsigned long long)r->forks);
}

static void run(struct target *g, void (*fn)(struct target_ctl *), struct question *q, struct trace_local_params p,
		struct trace_local_result *r, const char *name)
{
	OK(search(g, fn, q, p, r, &e));
	report(name, r);
}

/* Nothing is left but the target and, if there is one, the copy of the result. */
static void finish(struct target *g, struct trace_local_result *r)
{
	assert_true(g->t.alive);
	assert_int_equal(r->is_copy, r->t.own);
	if (r->is_copy)
		trace_kill(&r->t);
	target_stop(g);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

static uint64_t value_at(struct trace_local_result *r, volatile void *p, unsigned len)
{
	uint64_t v = 0;

	OK(trace_read(r->t.pid, ADDR(p), &v, len, &e));
	return v;
}

static bool flag_is_set(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&flag), 4) == 1;
}

static bool counter_above(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&counter), 8) > q->threshold;
}

static void rare_store_in_a_long_loop(void **state)
{
	struct question q = {.bad = flag_is_set};
	struct trace_local_result r;
	struct target g;

	iterations = 1000000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){0}, &r, "rare store, 10^9 rounds");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_after, ADDR(rare_flag_end));
	assert_in_range(r.pc_inside, ADDR(rare_flag), ADDR(rare_flag_end) - 1);
	assert_int_equal(r.hits, 1);
	assert_int_equal(r.evaluations, 2);
	assert_int_equal(r.forks, 0);
	assert_int_equal(value_at(&r, &counter, 8), 700000001);
	assert_false(r.is_copy);
	finish(&g, &r);
}

static void counter_in_a_long_loop(void **state)
{
	struct question q = {.bad = counter_above, .threshold = 600000123};
	struct trace_local_result r;
	struct target g;

	iterations = 1000000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){0}, &r, "counter, 10^9 rounds");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_after, ADDR(store_counter_end));
	assert_int_equal(value_at(&r, &counter, 8), 600000124);
	assert_true(r.is_copy);
	finish(&g, &r);
}

static void counter_early(void **state)
{
	struct question q = {.bad = counter_above, .threshold = 2000};
	struct trace_local_result r;
	struct target g;

	iterations = 1000000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){0}, &r, "counter, early");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 2001);
	assert_int_equal(r.hits, 2001);
	assert_false(r.is_copy);
	finish(&g, &r);
}

/* Without walks, nothing stands at the beginning any more when a copy has found the transition. */
static void found_once_by_a_copy(void **state)
{
	struct question q = {.bad = counter_above, .threshold = 600000};
	struct trace_local_params p = {.nth = 1, .no_watch = true, .hits_limit = 100};
	struct trace_local_result r;
	struct target g;

	iterations = 1000000000;
	run(&g, scenario_rare, &q, p, &r, "found once");
	assert_int_equal(r.later_evaluations, 0);
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 600001);
	assert_true(r.is_copy);
	finish(&g, &r);
}

static bool out_of_step(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&counter), 8) != peek(t, words, ADDR(&other), 8);
}

/* Wrong for a moment at each change: the first one, or the one that lasts. */
static void the_one_that_lasts(void **state)
{
	struct question q = {.bad = out_of_step};
	struct trace_local_result r;
	struct target g;

	run(&g, scenario_pair, &q, (struct trace_local_params){0}, &r, "the first");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 1);
	finish(&g, &r);
	run(&g, scenario_pair, &q, (struct trace_local_params){.lasting = true}, &r, "the one that lasts");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 71);
	assert_int_equal(value_at(&r, &other, 8), 70);
	finish(&g, &r);
}

/* As if the processor missed one hit in a look at what follows, or one in each. */
static bool out_of_step_missing(struct trace *t, struct trace_words *words, struct question *q)
{
	struct trace_stop s;

	if (t->aside && q->threshold && peek(t, words, ADDR(&counter), 8) == 40) {
		OK(trace_cont(t, 0, NULL, &s, &e));
		q->threshold--;
	}
	words->n = 0;
	return out_of_step(t, words, q);
}

static void a_missed_hit(void **state)
{
	struct question q = {.bad = out_of_step_missing, .threshold = 1};
	struct trace_local_params p = {.lasting = true};
	struct trace_local_result r;
	struct target g;
	struct err why;

	run(&g, scenario_pair, &q, p, &r, "the one that lasts, with a hit missed on the way");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 71);
	assert_int_equal(value_at(&r, &other, 8), 70);
	finish(&g, &r);
	q.threshold = 1000;
	assert_int_equal(search(&g, scenario_pair, &q, p, &r, &why), -1);
	assert_int_equal(why.kind, ERR_HOST);
	target_stop(&g);
}

/* What GDB would have to evaluate: a millisecond each, and it does not say what it reads. */
static void dear_and_without_words(void **state)
{
	struct question q = {.bad = flag_is_set, .hide_words = true, .cost_ns = 1000000};
	struct trace_local_result r;
	struct target g;

	iterations = 100000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){0}, &r, "dear, without words");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_after, ADDR(rare_flag_end));
	assert_int_equal(r.steps, 0);
	assert_true(r.evaluations < 400); /* of 10^8 rounds; a busy machine asks more often */
	finish(&g, &r);
	/* and without looking for words to watch */
	q.calls = 0;
	run(&g, scenario_rare, &q, (struct trace_local_params){.no_guess = true}, &r, "dear, without words, no guess");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_true(r.before_known);
	assert_int_equal(r.pc_insn, ADDR(rare_flag));
	assert_int_equal(r.pc_after, ADDR(rare_flag_end));
	assert_int_equal(r.before.rip, ADDR(rare_flag));
	assert_true(r.evaluations < 1500);
	finish(&g, &r);
}

static void dear_counter(void **state)
{
	struct question q = {.bad = counter_above, .threshold = 60000123, .cost_ns = 1000000};
	struct trace_local_result r;
	struct target g;

	iterations = 100000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){0}, &r, "dear counter");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &counter, 8), 60000124);
	assert_true(r.evaluations < 1500);
	finish(&g, &r);
}

static bool neighbour_hit(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&near.neighbour[6]), 1) == 'x';
}

static void memcpy_overrun(void **state)
{
	struct question q = {.bad = neighbour_hit};
	struct trace_local_result r;
	struct target g;

	run(&g, scenario_memcpy, &q, (struct trace_local_params){0}, &r, "rep movsb overrun");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_insn, ADDR(rep_movs));
	assert_int_equal(r.pc_inside, ADDR(rep_movs));
	finish(&g, &r);
	/* the same by steps: exact to the byte */
	run(&g, scenario_memcpy, &q, (struct trace_local_params){.no_watch = true}, &r, "rep movsb overrun, by steps");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_insn, ADDR(rep_movs));
	assert_int_equal(r.before.rdi, ADDR(&near.neighbour[6]));
	assert_int_equal(value_at(&r, &near.neighbour[7], 1), 0);
	finish(&g, &r);
}

static bool sixth_word_set(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&table[5]), 8) != 0;
}

static void rep_stosq(void **state)
{
	struct question q = {.bad = sixth_word_set};
	struct trace_local_result r;
	struct target g;

	run(&g, scenario_stos, &q, (struct trace_local_params){0}, &r, "rep stosq");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_insn, ADDR(rep_stos));
	finish(&g, &r);
}

static bool slot_set(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, q->g->ctl->out[0], 8) != 0;
}

static void return_address(void **state)
{
	struct question q = {.bad = slot_set};
	struct trace_local_params p = {.gadget = GADGET, .end_break = ADDR(target_end)};
	struct trace_local_result r;
	struct trace_stop s;
	struct target g;

	target_start(&g, scenario_call);
	target_release(&g);
	q.g = &g;
	/* from where the word is zero, after target_wait's own calls */
	OK(trace_set_watch(&g.t, 0, g.ctl->out[0], 8, &e));
	do
		OK(trace_cont(&g.t, 0, NULL, &s, &e));
	while (slot_set(&g.t, &(struct trace_words){0}, &q));
	OK(trace_clear_all(&g.t, &e));
	OK(trace_local_search(&g.t, &p, &ops, &q, &r, &e));
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.pc_insn, ADDR(call_insn));
	assert_int_equal(value_at(&r, (void *)(uintptr_t)g.ctl->out[0], 8), ADDR(call_insn_end));
	finish(&g, &r);
}

/* list->next->value: the words move as the list grows. */
static bool second_value_large(struct trace *t, struct trace_words *words, struct question *q)
{
	uint64_t first = peek(t, words, ADDR(&list), 8);
	uint64_t next = peek(t, words, first + offsetof(struct node, next), 8);

	return next && peek(t, words, next + offsetof(struct node, value), 8) > 1;
}

static void pointer_chain(void **state)
{
	struct question q = {.bad = second_value_large};
	struct trace_local_result r;
	struct target g;
	uint64_t head, n = 0;

	run(&g, scenario_list, &q, (struct trace_local_params){0}, &r, "pointer chain");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.steps, 0);
	/* right after `list = &nodes[300]`: 601 nodes in all, 301 of them from there on */
	for (head = value_at(&r, &list, 8); head; n++)
		head = value_at(&r, (void *)(uintptr_t)head, 8);
	assert_int_equal(n, 301);
	finish(&g, &r);
}

static bool list_short(struct trace *t, struct trace_words *words, struct question *q)
{
	uint64_t n = 0, p = peek(t, words, ADDR(&list), 8);

	while (p) {
		n++;
		p = peek(t, words, p, 8);
	}
	return n > q->threshold;
}

/* FReD's own example: the length of a list, which reads more words than can be watched. */
static void list_length(void **state)
{
	struct question q = {.bad = list_short, .threshold = 450};
	struct trace_local_result r;
	struct trace_words w = {0};
	struct target g;

	run(&g, scenario_list, &q, (struct trace_local_params){0}, &r, "list length");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.steps, 0);
	q.threshold = 450;
	assert_true(list_short(&r.t, &w, &q));
	q.threshold = 451;
	w.n = 0;
	assert_false(list_short(&r.t, &w, &q));
	finish(&g, &r);
}

static bool sum_large(struct trace *t, struct trace_words *words, struct question *q)
{
	uint64_t sum = 0;

	for (int i = 0; i < 16; i += 2)
		sum += peek(t, words, ADDR(&table[i]), 8);
	return sum > q->threshold;
}

static void more_words_than_slots(void **state)
{
	struct question q = {.bad = sum_large, .threshold = 900000000};
	struct trace_local_result r;
	struct target g;

	iterations = 20000000;
	run(&g, scenario_words, &q, (struct trace_local_params){0}, &r, "8 words");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_in_range(r.pc_inside, ADDR(words_store), ADDR(words_store_end) - 1);
	assert_int_equal(r.pc_after, ADDR(words_store_end));
	finish(&g, &r);
}

/* Two words must both be set; which write makes it bad differs from what the end looks like. */
static bool both_set(struct trace *t, struct trace_words *words, struct question *q)
{
	return peek(t, words, ADDR(&table[2]), 8) > 10 && peek(t, words, ADDR(&flag), 4) == 1;
}

/* Bad only where two words differ by one: every guess about words is wrong in most states. */
static bool uneven(struct trace *t, struct trace_words *words, struct question *q)
{
	uint64_t a = peek(t, words, ADDR(&table[0]), 8), b = peek(t, words, ADDR(&other), 8);

	return a > q->threshold && b > 5;
}

static void guesses_that_are_hard(void **state)
{
	struct question both = {.bad = both_set, .hide_words = true},
			odd = {.bad = uneven, .hide_words = true, .threshold = 700};
	struct trace_local_result r;
	struct target g;

	iterations = 1000;
	run(&g, scenario_words, &odd, (struct trace_local_params){0}, &r, "two words");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &table[0], 8), 701);
	assert_int_equal(value_at(&r, &table[2], 8), 700);
	finish(&g, &r);
	iterations = 10000;
	run(&g, scenario_push, &both, (struct trace_local_params){0}, &r, "set together");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(value_at(&r, &table[2], 8), 11);
	finish(&g, &r);
}

static void list_pushed_in_front(void **state)
{
	struct question q = {.bad = list_short, .threshold = 700, .hide_words = true};
	struct trace_local_result r;
	struct trace_words w = {0};
	struct target g;

	iterations = 1000;
	run(&g, scenario_push, &q, (struct trace_local_params){0}, &r, "list, pushed in front");
	assert_int_equal(r.outcome, TRACE_LOCAL_FOUND);
	assert_int_equal(r.steps, 0);
	assert_int_equal(r.pc_after, ADDR(push_store_end));
	assert_true(list_short(&r.t, &w, &q));
	q.threshold = 701;
	w.n = 0;
	assert_false(list_short(&r.t, &w, &q));
	finish(&g, &r);
}

static bool never(struct trace *t, struct trace_words *words, struct question *q)
{
	peek(t, words, ADDR(&flag), 4);
	return false;
}

static bool always(struct trace *t, struct trace_words *words, struct question *q)
{
	peek(t, words, ADDR(&flag), 4);
	return true;
}

/* Says that it reads flag only, and reads counter. */
static bool liar(struct trace *t, struct trace_words *words, struct question *q)
{
	bool bad = peek(t, words, ADDR(&counter), 8) > 1000;

	words->n = 0;
	peek(t, words, ADDR(&near.neighbour), 8);
	return bad;
}

static void other_outcomes(void **state)
{
	struct question good = {.bad = never}, bad = {.bad = always}, lie = {.bad = liar},
			hidden = {.bad = never, .hide_words = true};
	struct trace_local_result r;
	struct target g;

	iterations = 1000000;
	run(&g, scenario_rare, &good, (struct trace_local_params){0}, &r, "good");
	assert_int_equal(r.outcome, TRACE_LOCAL_GOOD);
	assert_int_equal(r.after.rip, ADDR(target_end));
	finish(&g, &r);
	run(&g, scenario_rare, &hidden, (struct trace_local_params){0}, &r, "good, by time");
	assert_int_equal(r.outcome, TRACE_LOCAL_GOOD);
	finish(&g, &r);
	run(&g, scenario_rare, &bad, (struct trace_local_params){0}, &r, "bad");
	assert_int_equal(r.outcome, TRACE_LOCAL_BAD);
	assert_int_equal(r.evaluations, 1);
	finish(&g, &r);
	run(&g, scenario_rare, &lie, (struct trace_local_params){0}, &r, "lie");
	assert_int_equal(r.outcome, TRACE_LOCAL_AT_END);
	finish(&g, &r);
}

static void crash_on_the_way(void **state)
{
	struct question q = {.bad = never};
	struct trace_local_result r;
	struct target g;

	run(&g, scenario_fault, &q, (struct trace_local_params){0}, &r, "crash");
	assert_int_equal(r.outcome, TRACE_LOCAL_EXITED);
	assert_false(g.t.alive);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

/* A fault or a cancellation at any evaluation: an error, the original held, no copy left. */
static void faults(void **state)
{
	struct question q = {.bad = counter_above, .threshold = 60000123};
	struct trace_local_result r;
	struct target g;
	uint64_t calls;

	iterations = 100000000;
	run(&g, scenario_rare, &q, (struct trace_local_params){.hits_limit = 10}, &r, "faults");
	calls = q.calls;
	finish(&g, &r);
	assert_true(calls > 30);
	for (uint64_t at = 1; at < 30; at++) {
		struct err e = {0};

		q.calls = 0;
		q.fail_call = at % 2 ? at : 0;
		q.cancel_call = at % 2 ? 0 : at;
		assert_int_equal(search(&g, scenario_rare, &q, (struct trace_local_params){.hits_limit = 10}, &r, &e),
				 -1);
		assert_int_equal(e.kind, at % 2 ? ERR_HOST : ERR_CANCELLED);
		assert_true(g.t.alive);
		target_stop(&g);
		assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rare_store_in_a_long_loop),
		cmocka_unit_test(counter_in_a_long_loop),
		cmocka_unit_test(counter_early),
		cmocka_unit_test(found_once_by_a_copy),
		cmocka_unit_test(dear_and_without_words),
		cmocka_unit_test(dear_counter),
		cmocka_unit_test(memcpy_overrun),
		cmocka_unit_test(rep_stosq),
		cmocka_unit_test(return_address),
		cmocka_unit_test(pointer_chain),
		cmocka_unit_test(list_length),
		cmocka_unit_test(more_words_than_slots),
		cmocka_unit_test(guesses_that_are_hard),
		cmocka_unit_test(list_pushed_in_front),
		cmocka_unit_test(other_outcomes),
		cmocka_unit_test(crash_on_the_way),
		cmocka_unit_test(faults),
		cmocka_unit_test(the_one_that_lasts),
		cmocka_unit_test(a_missed_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
