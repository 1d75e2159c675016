/* SPDX-License-Identifier: MIT */
/*
 * test_cursor.c: the decisions of the timeline cursor, on a made-up process (world.h): continue, steps and goto,
 * forwards and backwards, against what a list of all states says.
 */
#include "world.h"

#include <sys/syscall.h>

/* Thread 2 has the segments after events 2, 6 and 8. Word 0 changes with b0, word 1 with c1, ... */
static const char *const two_threads[WORLD_EVENTS] = {
	"ab0c", "d", "xyx", "", "abab1c", "ef0g", "x2yz", "a", "xy", "ab", "cd0e",
};

static const char *const forked[WORLD_FORK_EVENTS] = {"ab", "cbd", "be", "fb", "", "bg"};

static void ok(int r, const struct err *e)
{
	if (r)
		fail_msg("%s", e->text);
}

static void add_break(struct world *w, char c)
{
	breaks_add(&w->t.breaks, world_pc(c), 0);
}

static void add_watch(struct world *w, unsigned word)
{
	assert_int_equal(breaks_watch(&w->t.breaks, GROUP_WRITE, (uint64_t)&w->word[word], 8), 0);
}

/* What the list of states says. */

static int next_stop(struct world *w, unsigned from)
{
	for (unsigned i = from + 1; i < w->states; i++)
		if (world_stop(w, &w->t.breaks, i))
			return (int)i;
	return (int)w->states - 1;
}

/* A change is met before its instruction, a breakpoint at its address. -1: there is none. */
static int stop_before(struct world *w, unsigned from, enum stop_kind *kind)
{
	for (unsigned i = from + 1; i-- > 0;) {
		*kind = world_stop(w, &w->t.breaks, i);
		if (*kind == STOP_WATCH)
			return (int)i - 1;
		if (*kind && i < from)
			return (int)i;
	}
	return -1;
}

static int of_thread(struct world *w, unsigned from, uint32_t thread, int by)
{
	for (int i = (int)from + by; i >= 0 && i < (int)w->states; i += by)
		if (w->state[i].thread == thread)
			return i;
	return -1;
}

static void check_continue(struct world *w)
{
	unsigned from = world_at(w);
	int want = next_stop(w, from);
	bool end = !world_stop(w, &w->t.breaks, (unsigned)want) || (unsigned)want == from;
	struct stop stop;
	struct err e;

	ok(cursor_continue(&w->t, &stop, &e), &e);
	assert_int_equal(world_at(w), want);
	assert_int_equal(stop.kind, end ? STOP_END : world_stop(w, &w->t.breaks, (unsigned)want));
}

static void check_back_continue(struct world *w)
{
	enum stop_kind kind;
	int want = stop_before(w, world_at(w), &kind);
	struct stop stop;
	struct err e;

	ok(cursor_back_continue(&w->t, &stop, &e), &e);
	assert_int_equal(stop.kind, want < 0 ? STOP_BEGIN : kind);
	assert_int_equal(world_at(w), want < 0 ? 0 : want);
}

/* Another thread's breakpoint on the way is a stop; one of its own thread is met by the step itself. */
static void check_step(struct world *w)
{
	unsigned from = world_at(w);
	uint32_t thread = w->state[from].thread;
	int want = of_thread(w, from, thread, 1);
	struct stop stop;
	struct err e;

	for (unsigned i = from + 1; i < w->states && (want < 0 || (int)i < want); i++)
		if (world_stop(w, &w->t.breaks, i)) {
			want = (int)i;
			break;
		}
	ok(cursor_step(&w->t, w->t.tid, &stop, &e), &e);
	if (want < 0)
		assert_int_equal(stop.kind, STOP_END);
	assert_int_equal(world_at(w), want < 0 ? (int)w->states - 1 : want);
}

static void check_back_step(struct world *w)
{
	unsigned from = world_at(w);
	uint32_t thread = w->state[from].thread;
	int want = of_thread(w, from, thread, -1);
	struct stop stop;
	struct err e;

	ok(cursor_back_step(&w->t, w->t.tid, &stop, &e), &e);
	if (want >= 0)
		assert_true(stop.kind == STOP_STEP || stop.kind == STOP_WATCH);
	else
		assert_int_equal(stop.kind, thread == 1 ? STOP_BEGIN : STOP_FIRST);
	assert_int_equal(world_at(w), want >= 0 ? want : thread == 1 ? 0 : (int)from);
}

/* Where it stands, and back there from elsewhere. */
static void check_where(struct world *w)
{
	unsigned from = world_at(w);
	struct timeline_point p;
	struct err e;

	ok(cursor_where(&w->t, &p, &e), &e);
	assert_int_equal(world_at(w), from);
	assert_int_equal(p.event, w->state[from].segment);
	assert_int_equal(p.pc, w->state[from].pc);
	ok(cursor_goto(&w->t, 0, &e), &e);
	assert_int_equal(world_at(w), 0);
	ok(cursor_goto_point(&w->t, &p, &e), &e);
	assert_int_equal(world_at(w), from);
}

static void check_mark(struct world *w)
{
	unsigned from = world_at(w);
	struct mark m, again;
	struct err e;
	bool exact;

	ok(mark_take(&w->t, &m, &e), &e);
	ok(cursor_goto(&w->t, 8, &e), &e);
	ok(mark_goto(&w->t, &m, &exact, &e), &e);
	assert_true(exact);
	assert_int_equal(world_at(w), from);
	ok(mark_take(&w->t, &again, &e), &e);
	assert_true(mark_same(&m, &again));
}

static void walk(struct world *w, unsigned seed, unsigned steps)
{
	static void (*const ways[])(struct world * w) = {check_continue,  check_back_continue, check_step,  check_step,
							 check_back_step, check_back_step,     check_where, check_mark};

	srand(seed);
	for (unsigned i = 0; i < steps; i++) {
		w->counts = rand() % 2;
		w->ckpt = (uint64_t)(rand() % WORLD_EVENTS);
		ways[(unsigned)rand() % (sizeof(ways) / sizeof(ways[0]))](w);
	}
}

/* All ways from all states, with different stops. */
static void random_walks(void **state)
{
	static const char points[] = "abcdefgxyz";

	for (unsigned seed = 1; seed <= 300; seed++) {
		struct world w;

		world_begin(&w, two_threads);
		srand(seed);
		for (unsigned i = seed % 4; i > 0; i--)
			add_break(&w, points[(unsigned)rand() % (sizeof(points) - 1)]);
		for (unsigned i = seed / 4 % 3; i > 0; i--)
			add_watch(&w, i - 1);
		world_stand(&w, (unsigned)rand() % w.states);
		walk(&w, seed, 60);
		world_end(&w);
	}
}

static void begin_and_end(void **state)
{
	struct world w;
	struct stop stop;
	struct err e;

	world_begin(&w, two_threads);
	ok(cursor_goto(&w.t, 3, &e), &e); /* its segment has no visible state */
	assert_int_equal(w.state[world_at(&w)].segment, 4);
	ok(cursor_goto(&w.t, WORLD_EVENTS, &e), &e);
	assert_int_equal(world_at(&w), w.states - 1);
	assert_int_equal(cursor_goto_end(&w.t, 3, &e), 1);
	ok(cursor_goto_end(&w.t, 4, &e), &e);
	assert_int_equal(w.state[world_at(&w)].pc, world_pc('c'));
	assert_int_equal(cursor_goto_point(&w.t, &(struct timeline_point){4, world_pc('a'), 3}, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	ok(cursor_goto(&w.t, 2, &e), &e);
	ok(cursor_back_step(&w.t, world_tid(2), &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_FIRST);
	ok(cursor_step(&w.t, world_tid(1), &stop, &e), &e); /* the other thread: over this segment and an empty one */
	assert_int_equal(w.state[world_at(&w)].segment, 4);
	world_end(&w);
}

static void catches_calls(void **state)
{
	struct world w;
	struct stop stop;
	unsigned there;
	struct err e;

	world_begin(&w, two_threads);
	w.t.calls.on = true;
	w.t.calls.set[SYS_getpid / 64] |= 1ull << SYS_getpid % 64;
	ok(cursor_goto(&w.t, 0, &e), &e);
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_CALL);
	assert_int_equal(stop.addr, SYS_getpid);
	there = world_at(&w);
	assert_int_equal(w.state[there].segment, 9);
	assert_int_equal(w.state[there + 1].segment, 10);
	ok(cursor_continue(&w.t, &stop, &e), &e); /* the same call could not be reached again */
	assert_int_equal(stop.kind, STOP_END);
	ok(cursor_back_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_CALL);
	assert_int_equal(world_at(&w), there);
	ok(cursor_back_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_BEGIN);
	/* a breakpoint that comes first is the stop */
	add_break(&w, 'z');
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_BREAK);
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_CALL);
	world_end(&w);
}

/* More words than there are debug registers: their changes are met one by one, in order, both ways. */
static void many_words(void **state)
{
	static const char *const script[WORLD_EVENTS] = {"a0b4c", "d1e",   "x5yx", "",	"a2b6c", "e3f7g",
							 "x",	  "a0b7c", "x",	   "a", "c4d"};
	struct world w;
	struct stop stop;
	struct err e;
	int changes[16], n = 0;

	world_begin(&w, script);
	for (unsigned i = 0; i < WORLD_WORDS; i++)
		add_watch(&w, i);
	assert_true(w.t.breaks.nmore > 0);
	for (unsigned i = 0; i < w.states; i++)
		if (w.state[i].word != WORLD_NEVER)
			changes[n++] = (int)i;
	ok(cursor_goto(&w.t, 0, &e), &e);
	for (int i = 0; i < n; i++) {
		ok(cursor_continue(&w.t, &stop, &e), &e);
		assert_int_equal(stop.kind, STOP_WATCH);
		assert_int_equal(world_at(&w), changes[i] + 1);
	}
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_END);
	for (int i = n; i > 0; i--) {
		ok(cursor_back_continue(&w.t, &stop, &e), &e);
		assert_int_equal(stop.kind, STOP_WATCH);
		assert_int_equal(world_at(&w), changes[i - 1]);
	}
	ok(cursor_back_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_BEGIN);
	world_end(&w);
}

/* What is passed over is in the segment where it stands. */
static void passes_over(void **state)
{
	static const struct {
		unsigned from, over, left, to;
	} moves[] = {{9, 2, 0, 6}, {9, 0, 0, 8}, {9, 4, 0, 4}, {9, 7, 3, 4}, {4, 1, 1, 3}, {5, 0, 0, 4}};
	static const char *const script[WORLD_EVENTS] = {"abbb", "bbbbbb", "", "", "", "", "", "", "", "", ""};
	struct world w;
	struct stop stop;
	struct err e;

	world_begin(&w, script);
	add_break(&w, 'b');
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		world_stand(&w, moves[i].from);
		w.t.over = moves[i].over;
		ok(cursor_back_continue(&w.t, &stop, &e), &e);
		assert_int_equal(stop.kind, STOP_BREAK);
		assert_int_equal(world_at(&w), moves[i].to);
		assert_int_equal(w.t.over, moves[i].left);
	}
	world_end(&w);
}

/* A fork is gone over by the process alone: through the segment before it, by copies. */
static void follows_a_fork(void **state)
{
	struct world w;
	struct stop stop;
	struct err e;

	world_begin_fork(&w, forked);
	add_break(&w, 'b');
	ok(cursor_goto(&w.t, 0, &e), &e);
	for (unsigned i = 0; i < 5; i++)
		check_continue(&w);
	assert_int_equal(w.state[world_at(&w)].segment, 5);
	for (unsigned i = 0; i < 5; i++)
		check_back_continue(&w);
	breaks_fini(&w.t.breaks);
	ok(cursor_goto_end(&w.t, 2, &e), &e);
	ok(cursor_step(&w.t, w.t.tid, &stop, &e), &e); /* into the child */
	assert_int_equal(w.state[world_at(&w)].segment, 3);
	check_back_step(&w);
	world_end(&w);
}

/* A live program stands at the second x of segment 2: history ends there. */
static void history_ends(void **state)
{
	struct world w;
	struct stop stop;
	struct err e;
	bool there;

	world_begin(&w, two_threads);
	w.t.history_end = (struct history_end){.on = true, .at = {2, world_pc('x'), 2}};
	add_break(&w, 'y');
	ok(cursor_goto(&w.t, 0, &e), &e);
	assert_int_equal(cursor_total(&w.t), 2);
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_BREAK);
	assert_int_equal(w.state[world_at(&w)].pc, world_pc('y'));
	ok(cursor_at_history_end(&w.t, &there, &e), &e);
	assert_false(there);
	ok(cursor_continue(&w.t, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_END);
	ok(cursor_at_history_end(&w.t, &there, &e), &e);
	assert_true(there);
	assert_int_equal(w.state[world_at(&w)].segment, 2);
	assert_int_equal(w.state[world_at(&w) + 1].segment, 4);
	ok(cursor_step(&w.t, w.t.tid, &stop, &e), &e);
	assert_int_equal(stop.kind, STOP_END);
	check_back_step(&w);
	ok(cursor_step(&w.t, world_tid(1), &stop, &e), &e); /* a thread that moves no more */
	assert_int_equal(stop.kind, STOP_END);
	check_back_continue(&w);
	world_end(&w);
}

/* A state that could not be reached again: the most similar one after the same event. */
static void similar_marks(void **state)
{
	struct world w;
	struct mark m;
	struct err e;
	bool exact;

	world_begin(&w, two_threads);
	ok(cursor_goto_point(&w.t, &(struct timeline_point){4, world_pc('b'), 2}, &e), &e);
	ok(mark_take(&w.t, &m, &e), &e);
	m.stack[1]++;
	ok(mark_goto(&w.t, &m, &exact, &e), &e);
	assert_false(exact);
	assert_int_equal(w.state[world_at(&w)].word, 1);
	m.regs.rip = world_pc('q');
	ok(mark_goto(&w.t, &m, &exact, &e), &e);
	assert_false(exact);
	assert_int_equal(w.state[world_at(&w)].segment, 4);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin_and_end), cmocka_unit_test(random_walks),   cmocka_unit_test(catches_calls),
		cmocka_unit_test(many_words),	 cmocka_unit_test(follows_a_fork), cmocka_unit_test(history_ends),
		cmocka_unit_test(similar_marks), cmocka_unit_test(passes_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
