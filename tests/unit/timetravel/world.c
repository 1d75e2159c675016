/* SPDX-License-Identifier: MIT */
/* world.c: see world.h. */
#include "world.h"

#include <sys/syscall.h>

#define CHILD 1000 /* added to PIDs and TIDs after the fork */

static struct world *of(struct cursor *t)
{
	return (struct world *)((char *)t - offsetof(struct world, t));
}

static struct world *of_segment(struct segcur *in)
{
	return of((struct cursor *)((char *)in - offsetof(struct cursor, in)));
}

uint64_t world_pc(char c)
{
	return 0x1000 + (uint64_t)c;
}

pid_t world_tid(uint32_t thread)
{
	return (pid_t)(100 + thread);
}

static pid_t tid_at(const struct world *w, uint32_t thread, uint64_t segment)
{
	return world_tid(thread) + (w->fork && segment >= w->fork ? CHILD : 0);
}

/* Memory, and who lives, as they are in the state or at the event. */
static void show(struct world *w)
{
	uint64_t n = w->fresh ? w->ctl.turn : w->state[w->at].segment;

	memset(w->word, 0, sizeof(w->word));
	for (unsigned i = 0; i < w->at; i++)
		if (w->state[i].word != WORLD_NEVER)
			w->word[w->state[i].word]++;
	w->stack[MARK_WORDS] = w->at + 1;
	w->ctl.tid[1] = tid_at(w, 1, n);
	w->ctl.tid[2] = n >= 2 && !w->fork ? world_tid(2) : 0;
}

static unsigned first_of(const struct world *w, uint64_t n)
{
	unsigned i = 0;

	while (i < w->states && w->state[i].segment < n)
		i++;
	return i;
}

static bool has(const struct world *w, uint64_t n)
{
	unsigned i = first_of(w, n);

	return i < w->states && w->state[i].segment == n;
}

enum stop_kind world_stop(struct world *w, const struct breaks *b, unsigned i)
{
	const struct world_state *before = i ? &w->state[i - 1] : NULL;

	for (unsigned k = 0; k < BREAKS_WATCHES && before; k++)
		if (b->watch[k].kind && before->word != WORLD_NEVER && before->segment == w->state[i].segment &&
		    b->watch[k].addr == (uint64_t)&w->word[before->word])
			return STOP_WATCH;
	return breaks_has(b, w->state[i].pc) ? STOP_BREAK : 0;
}

static int leave(struct cursor *t, struct err *e)
{
	t->mode = CURSOR_NOWHERE;
	return 0;
}

static void stand(struct world *w, unsigned i)
{
	struct segcur *in = &w->t.in;

	assert_true(i < w->states);
	w->at = i;
	w->fresh = false;
	w->t.mode = CURSOR_INSIDE;
	*in = (struct segcur){.n = w->state[i].segment, .marks = 1};
	in->seg.thread = w->state[i].thread;
	show(w);
	in->seg.tid = w->t.tid = w->ctl.tid[in->seg.thread];
	in->now.pid = getpid();
	in->interrupted_at_end = w->interrupted && w->interrupted == in->n;
	w->ctl.turn = in->n;
}

void world_stand(struct world *w, unsigned i)
{
	stand(w, i);
}

static int enter(struct cursor *t, uint64_t n, struct err *e)
{
	struct world *w = of(t);

	assert_true(n < timeline_total(w->nav.t.tl));
	w->entered++;
	w->ctl.turn = n;
	t->mode = CURSOR_NOWHERE;
	if (!has(w, n))
		return 1;
	stand(w, first_of(w, n));
	return 0;
}

static int enter_any(struct cursor *t, uint64_t n, struct err *e)
{
	if (enter(t, n, e)) {
		t->mode = CURSOR_INSIDE;
		t->in = (struct segcur){.n = n};
	}
	return 0;
}

static int come_near(struct cursor *t, uint64_t n, struct err *e)
{
	return 0;
}

static int hold(struct cursor *t, uint64_t n, struct err *e)
{
	struct world *w = of(t);

	assert_true(n <= timeline_total(w->nav.t.tl));
	t->mode = CURSOR_GROUP;
	w->ctl.turn = n;
	w->at = first_of(w, n);
	w->fresh = true;
	show(w);
	w->nav.t.pid = getpid() + (w->fork && n >= w->fork ? CHILD : 0);
	t->tid = w->ctl.tid[1];
	return 0;
}

static bool is_counted(struct world *w, struct stop *stop)
{
	struct cursor_last *c = w->t.count;
	uint64_t n = w->ctl.turn;

	if (!c || (stop->kind != STOP_BREAK && stop->kind != STOP_WATCH))
		return false;
	c->k = c->k && c->event == n ? c->k + 1 : 1;
	c->event = n;
	c->maybes = 0;
	stop->kind = 0;
	return true;
}

static int run(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	struct world *w = of(t);
	unsigned i = w->fresh ? w->at : w->at + 1;

	assert_int_equal(t->mode, CURSOR_GROUP);
	assert_true(!w->fork || w->ctl.turn >= w->fork ||
		    until < w->fork); /* no fork is followed with all threads held */
	w->runs++;
	*stop = (struct stop){0};
	for (; i < w->states && w->state[i].segment < until; i++) {
		w->at = i;
		w->fresh = false;
		w->ctl.turn = w->state[i].segment;
		show(w);
		t->tid = w->ctl.tid[w->state[i].thread];
		stop->kind = world_stop(w, &t->breaks, i);
		if (!stop->kind && t->tid == step)
			stop->kind = STOP_STEP;
		if (stop->kind && !is_counted(w, stop))
			return 0;
	}
	hold(t, until, e);
	stop->kind = until == timeline_total(w->nav.t.tl) ? STOP_END : STOP_LIMIT;
	return 0;
}

static int stand_at_event(struct cursor *t, struct err *e)
{
	assert_true(t->mode == CURSOR_GROUP && of(t)->fresh);
	t->mode = CURSOR_NOWHERE;
	return 0;
}

static int checkpoint(struct cursor *t, struct err *e)
{
	assert_true(t->mode == CURSOR_GROUP && of(t)->fresh);
	of(t)->ckpt = of(t)->ctl.turn;
	return 0;
}

static int keep(struct cursor *t, uint64_t *id, struct err *e)
{
	assert_int_equal(t->mode, CURSOR_INSIDE);
	return 1;
}

static bool checkpoint_before(struct nav *n, uint64_t event, uint64_t *at)
{
	struct world *w = (struct world *)((char *)n - offsetof(struct world, nav));

	*at = w->ckpt;
	return w->ckpt && w->ckpt <= event;
}

static int count_stops(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct world *w = of_segment(in);

	*k = world_stop(w, b, w->at) == STOP_WATCH;
	for (unsigned i = first_of(w, in->n); i < w->at; i++)
		*k += world_stop(w, b, i) != 0;
	return 0;
}

static int go_inside(struct cursor *t, struct breaks *b, struct segcur_count *count, struct err *e)
{
	struct world *w = of(t);

	if (t->mode == CURSOR_INSIDE)
		return 0;
	assert_true(t->mode == CURSOR_GROUP && !w->fresh);
	stand(w, w->at);
	count->known = w->counts;
	return count->known ? count_stops(&t->in, b, &count->k, e) : 0;
}

static int regs(struct cursor *t, pid_t tid, struct user_regs_struct *r, struct err *e)
{
	struct world *w = of(t);

	if (t->mode == CURSOR_NOWHERE || tid != t->tid || (t->mode == CURSOR_INSIDE && !t->in.marks))
		return err_set(e, ERR_USAGE, "there is no thread %d", (int)tid);
	*r = (struct user_regs_struct){.rip = w->state[w->at].pc, .rsp = (uint64_t)&w->stack[MARK_WORDS]};
	return 0;
}

static bool is_last(const struct world *w, unsigned i)
{
	return i + 1 == w->states || w->state[i + 1].segment != w->state[i].segment;
}

static int look_on(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e)
{
	static const struct breaks none;
	struct world *w = of_segment(in);

	*stop = (struct stop){.kind = is_last(w, w->at) ? STOP_OVER : STOP_STEP};
	if (stop->kind == STOP_STEP && world_stop(w, b ? b : &none, w->at + 1) == STOP_WATCH)
		stop->kind = STOP_WATCH;
	return 0;
}

static int step(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e)
{
	struct world *w = of_segment(in);

	look_on(in, b, stop, e);
	if (stop->kind != STOP_OVER)
		stand(w, w->at + 1);
	return 0;
}

static int back(struct segcur *in, struct err *e)
{
	struct world *w = of_segment(in);

	if (!in->marks || w->at == first_of(w, in->n))
		return 1;
	stand(w, w->at - 1);
	return 0;
}

static int to_end(struct segcur *in, struct err *e)
{
	while (!is_last(of_segment(in), of_segment(in)->at))
		stand(of_segment(in), of_segment(in)->at + 1);
	return 0;
}

/* The kth stop of b in the segment, from state i on. 1: there are not so many. */
static int nth_from(struct segcur *in, const struct breaks *b, unsigned i, uint64_t k, struct stop *stop)
{
	struct world *w = of_segment(in);

	for (; i < w->states && w->state[i].segment == in->n; i++) {
		enum stop_kind kind = world_stop(w, b, i);

		if (!kind || --k)
			continue;
		stand(w, i);
		*stop = (struct stop){.kind = kind};
		return 0;
	}
	return 1;
}

static int may_stop(struct cursor *t, struct segcur_far *f, struct err *e)
{
	return 1;
}

static int nth_stop(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	return nth_from(in, b, first_of(of_segment(in), in->n), k, stop);
}

static int run_segment(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	if (nth_from(in, b, of_segment(in)->at + 1, 1, stop))
		*stop = (struct stop){.kind = STOP_OVER};
	return 0;
}

static int last_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	uint64_t k = 0;

	while (!nth_stop(in, b, k + 1, stop, e))
		k++;
	return k ? nth_stop(in, b, k, stop, e) : 1;
}

static int to_counted(struct segcur *in, struct breaks *b, struct segcur_count *c, struct stop *stop, struct err *e)
{
	uint64_t over = in->over < c->k ? in->over : c->k - 1, left = in->over - over;
	int r = c->k ? nth_stop(in, b, c->k - over, stop, e) : 1;

	if (c->k)
		in->over = left;
	return r;
}

static int back_to_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	struct segcur_count c = {0};

	if (!in->marks)
		return 1;
	count_stops(in, b, &c.k, e);
	return to_counted(in, b, &c, stop, e);
}

static int walk_until(struct segcur *in, bool fresh, const struct breaks *b, uint64_t pc, uint64_t hits,
		      struct stop *stop, struct err *e)
{
	return 1;
}

static int most_similar(struct segcur *in, struct segcur_similar *s, struct err *e)
{
	struct world *w = of_segment(in);
	unsigned best = 0;

	for (unsigned i = first_of(w, in->n); i < w->states && w->state[i].segment == in->n; i++) {
		struct user_regs_struct r;
		uint64_t differ;

		if (w->state[i].pc != s->pc)
			continue;
		stand(w, i);
		s->arrivals++;
		if (regs(&w->t, w->t.tid, &r, e) ||
		    s->differ(s->ctx, &in->now, &r, s->best ? s->least : UINT64_MAX, &differ, e) != 1 ||
		    (s->best && differ >= s->least))
			continue;
		s->best = s->arrivals;
		s->least = differ;
		best = i;
	}
	if (!s->best)
		return SEGCUR_NONE;
	stand(w, best);
	return 0;
}

static int back_over(struct segcur *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e)
{
	return 1;
}

static enum stop_kind meets(const struct breaks *b, struct trace *t)
{
	return STOP_BREAK;
}

static const struct cursor_ops ops = {
	.leave = leave,
	.enter = enter,
	.enter_any = enter_any,
	.come_near = come_near,
	.hold = hold,
	.run = run,
	.stand = stand_at_event,
	.checkpoint = checkpoint,
	.keep = keep,
	.checkpoint_before = checkpoint_before,
	.go_inside = go_inside,
	.regs = regs,
	.step = step,
	.look_on = look_on,
	.back = back,
	.to_end = to_end,
	.may_stop = may_stop,
	.run_segment = run_segment,
	.nth_stop = nth_stop,
	.last_stop = last_stop,
	.back_to_stop = back_to_stop,
	.to_counted = to_counted,
	.count_stops = count_stops,
	.back_over = back_over,
	.walk_until = walk_until,
	.most_similar = most_similar,
	.meets = meets,
};

static void add_states(struct world *w, uint64_t n, const char *script)
{
	struct timeline_where where;
	struct err e;

	assert_int_equal(timeline_find(w->nav.t.tl, n + 1, &where, &e), 0);
	for (; *script; script++) {
		if (*script >= '0' && *script <= '9') {
			w->state[w->states - 1].word = (unsigned)(*script - '0');
			continue;
		}
		w->state[w->states++] = (struct world_state){n, world_pc(*script), where.thread, WORLD_NEVER};
	}
}

static void begin(struct world *w, uint32_t process, const char *const *script, uint64_t events)
{
	w->nav.t.tl = tl_make(w->rec, process, 0);
	w->nav.t.ctl = &w->ctl;
	w->nav.t.pid = getpid();
	assert_int_equal(timeline_total(w->nav.t.tl), events);
	for (uint64_t n = 0; n < events; n++)
		add_states(w, n, script[n]);
	for (unsigned i = 0; i < w->states; i++)
		assert_true(w->state[i].word == WORLD_NEVER ||
			    !is_last(w, i)); /* the last one is a call, whose effects come later */
	cursor_init(&w->t, &w->nav);
	w->t.ops = &ops;
	w->t.breaks.view = NULL;
}

void world_begin(struct world *w, const char *const script[WORLD_EVENTS])
{
	struct logbuild a, b;

	memset(w, 0, sizeof(*w));
	tl_two_threads(&w->rb, &a, &b);
	lb_add(&a, RLOG_YIELD, 130, 0, 0);
	lb_add(&a, RLOG_YIELD, 140, 0, 0);
	lb_add_v(&a, RLOG_PREEMPT, 150, 0, 0, NULL, "place", 5);
	lb_add(&b, RLOG_YIELD, 160, 0, 0);
	lb_add(&a, RLOG_YIELD, 170, 0, 0);
	lb_add(&b, RLOG_YIELD, 175, 0, 0);
	lb_add(&a, RLOG_SYS, 180, 0, 2, (uint64_t)SYS_getpid, 0ul);
	lb_add(&a, RLOG_YIELD, 190, 0, 0);
	w->rec = tl_write_two(&w->rb, &a, &b);
	w->interrupted = 5;
	begin(w, 1, script, WORLD_EVENTS);
}

void world_begin_fork(struct world *w, const char *const script[WORLD_FORK_EVENTS])
{
	struct logbuild a, c;

	memset(w, 0, sizeof(*w));
	rb_init(&w->rb, 1000);
	rb_image(&w->rb, 1, 0, RLOG_ORIGIN_EXEC, 100);
	lb_init(&a, 1, 1, 100);
	lb_add(&a, RLOG_START, 100, 0, 0);
	lb_add(&a, RLOG_YIELD, 120, 0, 0);
	lb_add(&a, RLOG_FORK, 160, 0, 0);
	lb_add(&a, RLOG_FORKED, 0, 0, 2, 2001ul, 2ul);
	lb_add(&a, RLOG_EXIT, 500, 0, 0);
	tl_add_log(&w->rb, 1, 1, &a);
	rb_image(&w->rb, 2, 1, RLOG_ORIGIN_FORK, 161);
	lb_init(&c, 2, 1, 161);
	lb_add(&c, RLOG_START, 161, 0, 0);
	lb_add(&c, RLOG_YIELD, 180, 0, 0);
	lb_add(&c, RLOG_YIELD, 190, 0, 0);
	tl_add_log(&w->rb, 2, 1, &c);
	w->rec = tl_open(&w->rb);
	w->fork = 3;
	begin(w, 2, script, WORLD_FORK_EVENTS);
}

void world_end(struct world *w)
{
	cursor_fini(&w->t);
	free(w->t.breaks.more);
	timeline_free(w->nav.t.tl);
	rec_free(w->rec);
	rb_fini(&w->rb);
}

unsigned world_at(struct world *w)
{
	assert_true(w->t.mode == CURSOR_INSIDE || (w->t.mode == CURSOR_GROUP && !w->fresh));
	assert_int_equal(cursor_event(&w->t), w->state[w->at].segment);
	assert_int_equal(w->t.tid, tid_at(w, w->state[w->at].thread, w->state[w->at].segment));
	return w->at;
}
