/* SPDX-License-Identifier: MIT */
/*
 * control.c: see control.h. Post-dominators are computed when the first branch of a function is executed, for all that
 * can be reached from it (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph), and
 * anew when an indirect jump in there has led elsewhere than before.
 */
#include "executed/control.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "insn/insn.h"
#include "insn/next.h"

#define THREADS 65536u
#define CAP_FIRST 4096u /* a power of two */
#define HASH 0x9e3779b97f4a7c15ull
#define GRAPH_MAX 200000u /* instructions of a function */
#define EXIT 0u /* number of the end of all paths in a graph */

/* An instruction. */
struct node {
	uint64_t pc;
	struct insn_next next;
	bool ends; /* it calls a function that never returns; known in graphs only */
	uint64_t *targets; /* targets of an indirect jump that were seen */
	unsigned ntargets;
	uint32_t run; /* the run in which the post-dominator was computed; 0: none */
	uint64_t post; /* the immediate post-dominator; 0: the end of the function */
	uint32_t graph, at; /* the last run that has it in its graph, and its number in that graph */
	uint32_t *runs; /* of an indirect jump: the runs in whose graphs it is */
	unsigned nruns;
};

struct region {
	uint64_t post;
	uint32_t branch;
};

struct activation {
	uint64_t sp; /* at its entry */
	uint32_t call;
	struct region *v;
	size_t n, cap;
};

struct thread {
	struct activation *v;
	size_t n, cap;
	struct node *last;
	uint64_t sp;
	uint32_t index;
};

struct control {
	const struct returning_ops *ops;
	void *ctx;
	struct returning returning;
	struct node **v; /* a hash table */
	size_t n, cap;
	struct thread *threads; /* by ordinal */
	bool *stale; /* by run */
	uint32_t run;
	size_t indirect, large;
};

/* ---- instructions ---- */

static struct node **place_of(struct control *c, uint64_t pc)
{
	size_t k = (size_t)(pc * HASH >> 20) & (c->cap - 1);

	while (c->v[k] && c->v[k]->pc != pc)
		k = (k + 1) & (c->cap - 1);
	return &c->v[k];
}

static void grow(struct control *c)
{
	struct node **old = c->v;
	size_t n = c->cap;

	c->cap = n ? n * 2 : CAP_FIRST;
	c->v = xcalloc(c->cap, sizeof(*c->v));
	for (size_t k = 0; k < n; k++)
		if (old[k])
			*place_of(c, old[k]->pc) = old[k];
	free(old);
}

static struct node *node_at(struct control *c, uint64_t pc)
{
	uint8_t code[INSN_BYTES];
	struct node **at;

	if (c->n * 2 >= c->cap)
		grow(c);
	at = place_of(c, pc);
	if (!*at) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->pc = pc;
		(*at)->next = insn_next(code, c->ops->read(c->ctx, pc, code, sizeof(code)), pc);
		c->n++;
	}
	return *at;
}

/* The instructions that may follow: at most `most`. */
static unsigned successors(const struct node *x, uint64_t *v, unsigned most)
{
	unsigned n = 0;

	switch (x->next.kind) {
	case NEXT_BRANCH:
		v[n++] = x->next.target;
		v[n++] = x->pc + x->next.len;
		break;
	case NEXT_FOLLOWS:
		v[n++] = x->pc + x->next.len;
		break;
	case NEXT_CALL:
		if (!x->ends)
			v[n++] = x->pc + x->next.len;
		break;
	case NEXT_JUMP:
		v[n++] = x->next.target;
		break;
	case NEXT_ANYWHERE:
		for (; n < x->ntargets && n < most; n++)
			v[n] = x->targets[n];
		break;
	case NEXT_RETURN:
	case NEXT_NOWHERE:
		break;
	}
	return n;
}

/* ---- post-dominators ---- */

struct graph {
	struct node **v; /* from 1 on */
	uint32_t n, cap;
	uint32_t *first, *to; /* successors of k: to[first[k]] ... */
	uint32_t nto, to_cap;
	uint32_t *pred_first, *pred;
	uint32_t *order; /* numbers, by place in the reverse post-order of the reversed graph */
	uint32_t norder;
	uint32_t *place; /* the place in that order, + 1; 0: not reached */
	uint32_t *post; /* by number */
};

#define TARGETS_MAX 4096u

static uint32_t number_of(struct control *c, struct graph *g, uint64_t pc)
{
	struct node *x = node_at(c, pc);

	if (x->graph == c->run)
		return x->at;
	x->graph = c->run;
	x->at = ++g->n;
	if (g->n >= g->cap) {
		g->cap = g->cap ? g->cap * 2 : 256;
		g->v = xreallocarray(g->v, g->cap, sizeof(*g->v));
		g->first = xreallocarray(g->first, g->cap + 1, sizeof(*g->first));
	}
	g->v[x->at] = x;
	return x->at;
}

static void add_edge(struct graph *g, uint32_t to)
{
	if (g->nto == g->to_cap) {
		g->to_cap = g->to_cap ? g->to_cap * 2 : 1024;
		g->to = xreallocarray(g->to, g->to_cap, sizeof(*g->to));
	}
	g->to[g->nto++] = to;
}

/* Adds all that can be reached. -1: too many instructions. */
static int build(struct control *c, struct graph *g, uint64_t pc)
{
	uint64_t v[TARGETS_MAX];

	number_of(c, g, pc);
	for (uint32_t k = 1; k <= g->n; k++) {
		struct node *x = g->v[k];
		unsigned n;

		if (x->next.kind == NEXT_CALL)
			x->ends = !returning_after(&c->returning, &x->next);
		n = successors(x, v, TARGETS_MAX);
		if (g->n > GRAPH_MAX)
			return -1;
		g->first[k] = g->nto;
		if (!n)
			add_edge(g, EXIT);
		for (unsigned j = 0; j < n; j++)
			add_edge(g, number_of(c, g, v[j]));
		if (x->next.kind == NEXT_ANYWHERE) {
			x->runs = xreallocarray(x->runs, x->nruns + 1, sizeof(*x->runs));
			x->runs[x->nruns++] = c->run;
		}
	}
	g->first[g->n + 1] = g->nto;
	return 0;
}

static void reverse(struct graph *g)
{
	uint32_t *fill;

	g->pred_first = xcalloc(g->n + 3, sizeof(*g->pred_first));
	g->pred = xcalloc(g->nto + 1, sizeof(*g->pred));
	for (uint32_t j = 0; j < g->nto; j++)
		g->pred_first[g->to[j] + 1]++;
	for (uint32_t k = 0; k <= g->n; k++)
		g->pred_first[k + 1] += g->pred_first[k];
	fill = xcalloc(g->n + 2, sizeof(*fill));
	memcpy(fill, g->pred_first, (g->n + 1) * sizeof(*fill));
	for (uint32_t k = 1; k <= g->n; k++)
		for (uint32_t j = g->first[k]; j < g->first[k + 1]; j++)
			g->pred[fill[g->to[j]]++] = k;
	free(fill);
}

/* Depth first from a node back, in post-order. */
static void visit(struct graph *g, uint32_t from, uint32_t *stack, uint32_t *next)
{
	uint32_t depth = 1;

	stack[0] = from;
	next[0] = g->pred_first[from];
	g->place[from] = UINT32_MAX;
	while (depth) {
		uint32_t k = stack[depth - 1];

		if (next[depth - 1] == g->pred_first[k + 1]) {
			g->order[g->norder++] = k;
			depth--;
			continue;
		}
		k = g->pred[next[depth - 1]++];
		if (g->place[k])
			continue;
		g->place[k] = UINT32_MAX;
		stack[depth] = k;
		next[depth++] = g->pred_first[k];
	}
}

/* Instructions from which the end is not reached, in a loop without end, are taken to end at the last one of them. */
static void order(struct graph *g)
{
	uint32_t *stack = xcalloc(g->n + 2, sizeof(*stack)), *next = xcalloc(g->n + 2, sizeof(*next));
	uint32_t exits;

	g->order = xcalloc(g->n + 2, sizeof(*g->order));
	g->place = xcalloc(g->n + 2, sizeof(*g->place));
	g->place[EXIT] = UINT32_MAX; /* visited last, so that it comes first */
	for (exits = g->pred_first[EXIT]; exits < g->pred_first[EXIT + 1]; exits++)
		if (!g->place[g->pred[exits]])
			visit(g, g->pred[exits], stack, next);
	for (uint32_t k = g->n; k; k--)
		if (!g->place[k])
			visit(g, k, stack, next);
	g->order[g->norder++] = EXIT;
	for (uint32_t j = 0; j < g->norder; j++)
		g->place[g->order[j]] = j + 1; /* of the post-order: the end has the highest */
	free(stack);
	free(next);
}

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->place[a] < g->place[b])
			a = g->post[a];
		while (g->place[b] < g->place[a])
			b = g->post[b];
	}
	return a;
}

static bool improve(struct graph *g, uint32_t k)
{
	uint32_t now = UINT32_MAX;

	for (uint32_t j = g->first[k]; j < g->first[k + 1]; j++)
		if (g->post[g->to[j]] != UINT32_MAX)
			now = now == UINT32_MAX ? g->to[j] : meet(g, now, g->to[j]);
	/* of a loop without end, it is only certain that nothing follows it */
	if (now == UINT32_MAX || g->place[now] <= g->place[k])
		now = EXIT;
	if (g->post[k] == now)
		return false;
	g->post[k] = now;
	return true;
}

static void dominate(struct graph *g)
{
	bool changed = true;

	g->post = xreallocarray(NULL, g->n + 1, sizeof(*g->post));
	memset(g->post, 0xff, (g->n + 1) * sizeof(*g->post));
	g->post[EXIT] = EXIT;
	while (changed) {
		changed = false;
		for (uint32_t j = g->norder - 1; j; j--) /* order[norder - 1] is the end */
			changed |= improve(g, g->order[j - 1]);
	}
}

static void graph_fini(struct graph *g)
{
	free(g->v);
	free(g->first);
	free(g->to);
	free(g->pred_first);
	free(g->pred);
	free(g->order);
	free(g->place);
	free(g->post);
}

static void compute(struct control *c, struct node *x)
{
	struct graph g = {0};

	c->run++;
	c->stale = xreallocarray(c->stale, c->run + 1, sizeof(*c->stale));
	c->stale[c->run] = false;
	if (build(c, &g, x->pc)) {
		c->large++;
		x->run = c->run;
		x->post = 0;
	} else {
		reverse(&g);
		order(&g);
		dominate(&g);
		for (uint32_t k = 1; k <= g.n; k++) {
			g.v[k]->run = c->run;
			g.v[k]->post = g.post[k] == EXIT ? 0 : g.v[g.post[k]]->pc;
		}
	}
	graph_fini(&g);
}

static uint64_t post_of(struct control *c, struct node *x)
{
	if (!x->run || c->stale[x->run])
		compute(c, x);
	return x->post;
}

/* ---- what is executed ---- */

struct control *control_new(const struct returning_ops *ops, void *ctx)
{
	struct control *c = xcalloc(1, sizeof(*c));

	c->ops = ops;
	c->ctx = ctx;
	returning_init(&c->returning, ops, ctx);
	c->threads = xcalloc(THREADS, sizeof(*c->threads));
	return c;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < c->cap; k++)
		if (c->v[k]) {
			free(c->v[k]->targets);
			free(c->v[k]->runs);
			free(c->v[k]);
		}
	for (size_t k = 0; k < THREADS; k++) {
		for (size_t j = 0; j < c->threads[k].cap; j++)
			free(c->threads[k].v[j].v);
		free(c->threads[k].v);
	}
	free(c->v);
	free(c->threads);
	free(c->stale);
	returning_fini(&c->returning);
	free(c);
}

/* Reuses the activation's room for regions. */
static void enter(struct thread *t, uint64_t sp, uint32_t call)
{
	struct activation *a;

	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;

		t->v = xreallocarray(t->v, cap, sizeof(*t->v));
		memset(t->v + t->cap, 0, (cap - t->cap) * sizeof(*t->v));
		t->cap = cap;
	}
	a = &t->v[t->n++];
	a->sp = sp;
	a->call = call;
	a->n = 0;
}

static bool is_successor(const struct node *x, uint64_t pc)
{
	uint64_t v[TARGETS_MAX];
	unsigned n;

	if (x->next.kind == NEXT_FOLLOWS)
		return pc == x->pc + x->next.len || pc == x->pc; /* a string instruction repeats */
	n = successors(x, v, TARGETS_MAX);
	for (unsigned k = 0; k < n; k++)
		if (v[k] == pc)
			return true;
	return false;
}

static void learn_target(struct control *c, struct node *x, uint64_t pc)
{
	if (x->ntargets == TARGETS_MAX || is_successor(x, pc))
		return;
	c->indirect += !x->ntargets;
	x->targets = xreallocarray(x->targets, x->ntargets + 1, sizeof(*x->targets));
	x->targets[x->ntargets++] = pc;
	for (unsigned k = 0; k < x->nruns; k++)
		c->stale[x->runs[k]] = true;
	x->nruns = 0;
}

/* In which call of which function is the instruction? */
static struct activation *locate(struct control *c, struct thread *t, const struct node *x, uint64_t sp)
{
	while (t->n > 1 && t->v[t->n - 1].sp < sp)
		t->n--;
	if (!t->n)
		enter(t, UINT64_MAX, CONTROL_NONE);
	else if (t->last && t->last->next.kind == NEXT_CALL && sp < t->sp)
		enter(t, sp, t->index);
	else if (t->last && t->last->next.kind == NEXT_ANYWHERE && sp == t->sp)
		learn_target(c, t->last, x->pc);
	else if (t->last && sp < t->sp && !is_successor(t->last, x->pc))
		enter(t, sp, CONTROL_NONE); /* a signal handler, or code that the recorder calls */
	return &t->v[t->n - 1];
}

static void open_region(struct activation *a, uint64_t post, uint32_t branch)
{
	if (a->n && a->v[a->n - 1].post == post) {
		a->v[a->n - 1].branch = branch;
		return;
	}
	if (a->n == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 8;
		a->v = xreallocarray(a->v, a->cap, sizeof(*a->v));
	}
	a->v[a->n++] = (struct region){post, branch};
}

uint32_t control_see(struct control *c, uint32_t thread, uint64_t pc, uint64_t sp, uint32_t index)
{
	struct thread *t = &c->threads[thread % THREADS];
	struct node *x = node_at(c, pc);
	struct activation *a = locate(c, t, x, sp);
	uint32_t on;

	while (a->n && a->v[a->n - 1].post == pc)
		a->n--;
	on = a->n ? a->v[a->n - 1].branch : a->call;
	if (x->next.kind == NEXT_BRANCH || (x->next.kind == NEXT_ANYWHERE && x->ntargets > 1))
		open_region(a, post_of(c, x), index);
	t->last = x;
	t->sp = sp;
	t->index = index;
	return on;
}

size_t control_indirect(const struct control *c)
{
	return c->indirect;
}

size_t control_large(const struct control *c)
{
	return c->large;
}
