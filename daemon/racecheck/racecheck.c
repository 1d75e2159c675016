/* SPDX-License-Identifier: MIT */
/*
 * racecheck.c: see racecheck.h.
 *
 * Checked are the accesses of the program, and those of a C or C++ library function that the program has called, such
 * as memcpy. Not checked is what such functions do internally (their own locks order that), and what they do with the
 * libraries' data or with blocks that the libraries have allocated. String functions read whole vectors, also beyond
 * the end: so vector reads of the C library are not checked, but those of functions that copy memory, which are exact.
 *
 * As long as there has been one thread only, nothing can race.
 */
#include "racecheck/racecheck.h"

#include <stdlib.h>
#include <string.h>

#include "base/maps.h"
#include "base/str.h"
#include "rlog/replay.h"

#define OWNED_MAX (1u << 20) /* bytes of a block that libc has for itself */
#define GUARD_BYTES 1
#define BND_PREFIX 0xf2

static const char *const copies[] = {"memcpy",	     "memmove",	      "mempcpy",      "bcopy",
				     "__memcpy_chk", "__memmove_chk", "__mempcpy_chk"};

/* ---- threads ---- */

static void set_time(struct racecheck *r, uint32_t thread, uint64_t event)
{
	struct race_thread *t = &r->threads[thread];
	uint64_t clock;

	detect_tick(&r->detect, thread);
	clock = detect_clock(&r->detect, thread);
	if (t->ntimes == t->ctimes) {
		t->ctimes = t->ctimes ? t->ctimes * 2 : 64;
		t->times = xreallocarray(t->times, t->ctimes, sizeof(*t->times));
	}
	t->times[t->ntimes++] = (struct race_time){clock, event};
}

static void call(void *ctx, struct instrument *i, const struct instrument_insn *insn)
{
	struct racecheck *r = ctx;
	struct race_thread *t = &r->threads[i->thread];
	size_t n = i->stack->n;

	if (n > t->cap) {
		size_t cap = n > 2 * t->cap ? n : 2 * t->cap;

		t->path = xreallocarray(t->path, cap, sizeof(*t->path));
		memset(t->path + t->cap, 0, (cap - t->cap) * sizeof(*t->path));
		t->cap = cap;
	}
	if (t->copying == n && !insn->shape.jumps)
		t->copying = 0;
	t->path[n - 1] = paths_number(&r->paths, n > 1 ? t->path[n - 2] : 0, insn->pc);
}

/* ---- accesses ---- */

static uint32_t mark_of(struct racecheck *r, struct instrument_insn *x)
{
	const struct code_file *m;

	if (x->mark)
		return x->mark & MARK_WHOSE;
	m = modules_at(&r->rules.modules, r->i.t->pid, x->pc);
	x->mark = !m || m->kind == MODULE_PROGRAM ? MARK_PROGRAM : m->kind == MODULE_RUNTIME ? MARK_RUNTIME : MARK_NONE;
	return x->mark;
}

static bool is_marked(struct shadow *s, uint64_t addr)
{
	const uint32_t *cell = shadow_cell(s, addr, false);

	return cell && *cell;
}

static void mark(struct shadow *s, uint64_t addr)
{
	uint32_t *cell = shadow_cell(s, addr, true);
	unsigned n;

	if (!*cell)
		shadow_vars(s, cell, 0, 8, &n);
}

static bool is_owned(struct racecheck *r, uint64_t addr)
{
	return blocks_is_heap(addr) && is_marked(&r->owned, addr);
}

/* A function of the C++ library's atomics calls at most one other. */
#define CALLS_AROUND 3
static bool is_relaxed_site(struct racecheck *r, struct race_site *s)
{
	uint64_t calls[CALLS_AROUND];

	if (s->kind != RACE_INSN)
		return false;
	if (!s->relaxed)
		s->relaxed = 1 + rules_is_relaxed(&r->rules, r->i.t->pid, s->pc, calls,
						  paths_calls(&r->paths, s->path, calls, CALLS_AROUND));
	return s->relaxed > 1;
}

/* A library's function, or the kernel, accesses it: is that for the program? */
static bool is_for_program(struct racecheck *r, uint64_t addr)
{
	const struct instrument_frame *f = r->i.stack->n ? &r->i.stack->v[r->i.stack->n - 1] : NULL;
	const struct code_file *m;

	if (!f || f->native || is_owned(r, addr) || !racecheck_is_program(r, f->pc))
		return false;
	if (blocks_is_heap(addr) || shim_is_stack(addr))
		return true;
	m = modules_at(&r->rules.modules, r->i.t->pid, addr);
	return !m || m->kind == MODULE_PROGRAM;
}

/* jmp or call by a word at a fixed distance from it, as procedure linkage tables have it. */
static bool is_by_fixed_word(pid_t pid, uint64_t pc)
{
	uint8_t code[3];
	const uint8_t *c = code;
	struct err ignored;

	if (trace_read(pid, pc, code, sizeof(code), &ignored))
		return false;
	c += code[0] == BND_PREFIX;
	return c[0] == 0xff && (c[1] == 0x15 || c[1] == 0x25);
}

/* A call, or the jump that it leads to, by a word in memory. */
static void on_jump(struct racecheck *r, const struct instrument_access *a)
{
	struct instrument_insn *x = a->insn;

	if (!(x->mark & MARK_ASKED)) {
		x->mark |= MARK_ASKED;
		if (is_by_fixed_word(r->i.t->pid, x->pc) && imports_find(&r->imports, r->i.t->pid, a->addr) >= 0)
			x->mark |= MARK_COPIES;
	}
	if (x->mark & MARK_COPIES)
		r->threads[r->i.thread].copying = r->i.stack->n + x->shape.call;
	else if (x->shape.call && r->threads[r->i.thread].copying == r->i.stack->n + 1)
		r->threads[r->i.thread].copying = 0; /* from a call before it at the same depth */
}

/* Does an instruction of the C library read more than the function is asked for? */
static bool is_inexact(const struct racecheck *r, const struct instrument_access *a)
{
	return a->insn->shape.vector && !a->writes && r->threads[r->i.thread].copying != r->i.stack->n;
}

static void one_way(struct racecheck *r, const struct instrument_access *a, bool in_program, bool writes)
{
	uint32_t thread = r->i.thread, hits, site;
	bool releases = writes && (a->insn->shape.locked || racecheck_stores_atomically(r, a, in_program));

	if (!releases && detect_is_known(&r->detect, thread, a->addr, a->len, writes))
		return;
	site = racecheck_site(r, a, in_program, &hits);
	detect_access(&r->detect, thread, a->addr, a->len, writes, site, hits);
	/* a thread that reads what the release wrote does not know of what comes after the release */
	if (!releases)
		return;
	detect_tick(&r->detect, thread);
	if (!in_program || !is_relaxed_site(r, &r->sites[site]))
		racecheck_note_release(r, a->addr, a->len);
}

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct racecheck *r = ctx;
	uint32_t mark = mark_of(r, a->insn);

	if (i->report.filter == REPORT_NEW)
		racecheck_see(r, a, mark == MARK_PROGRAM);
	/* after lost entries, it is not known what orders threads, up to the next copy: begun() */
	if (!r->many || shim_owns(a->addr) || !instrument_has_hits(i))
		return;
	if (mark == MARK_NONE || (mark == MARK_RUNTIME && (is_inexact(r, a) || !is_for_program(r, a->addr))))
		return;
	if (a->insn->shape.jumps)
		on_jump(r, a);
	if (a->reads)
		one_way(r, a, mark == MARK_PROGRAM, false);
	if (a->writes)
		one_way(r, a, mark == MARK_PROGRAM, true);
}

/* The buffer of a system call, or of a function of libc that the recorder has called. */
static void by_kernel(struct racecheck *r, uint64_t addr, uint64_t len, bool writes)
{
	const struct instrument_frame *f = racecheck_call(r);
	struct race_site s = {.path = racecheck_path(r), .kind = RACE_KERNEL, .wide = true, .code = r->i.code.now};

	if (!r->many || !f || shim_owns(addr) || !instrument_has_hits(&r->i) || !is_for_program(r, addr))
		return;
	s.pc = s.shown = f->pc;
	detect_access(&r->detect, r->i.thread, addr, len, writes, racecheck_site_number(r, &s),
		      f->event == r->i.event ? (uint32_t)f->hits : 0);
}

static void written(void *ctx, struct instrument *i, uint64_t addr, uint64_t len)
{
	(void)i;
	by_kernel(ctx, addr, len, true);
}

/* What system calls read is known from their records: kernel.h. */
static void read_(void *ctx, struct instrument *i, uint64_t addr, uint64_t len, bool by_libc)
{
	(void)i;
	if (by_libc)
		by_kernel(ctx, addr, len, false);
}

static void soon(void *ctx, uint64_t addr, bool far)
{
	struct racecheck *r = ctx;

	if (r->many)
		shadow_prefetch(&r->detect.shadow, addr, far);
}

/* ---- answers for detect.h ---- */

static enum rules_atomic atomic_site(struct racecheck *r, uint32_t site, uint64_t addr)
{
	struct race_site *s = &r->sites[site];

	if (s->locked)
		return RULES_ATOMIC;
	if (s->kind == RACE_FREE || s->wide)
		return RULES_PLAIN;
	if (!s->atomic)
		s->atomic = (uint8_t)(rules_atomic(&r->rules, r->i.t->pid, s->pc, addr) + 1);
	/* libgomp changes the state of a barrier under its own lock, and other threads load it without */
	if (s->modifies && s->atomic - 1 != RULES_TRUSTED)
		return RULES_PLAIN;
	return (enum rules_atomic)(s->atomic - 1);
}

/*
 * Does the later access learn nothing from the earlier one's write? A relaxed load does not. A relaxed write passes
 * nothing on by itself, but does pass on what was released to the object before, by any thread; a relaxed change learns
 * that as well, for later ones.
 */
static bool is_relaxed(struct racecheck *r, const struct detect_access *earlier, const struct detect_access *later)
{
	struct race_site *s = &r->sites[later->site];

	if (!later->writes && !s->locked && is_relaxed_site(r, s))
		return true;
	return !racecheck_is_released(r, earlier->addr, earlier->len) &&
	       (is_relaxed_site(r, &r->sites[earlier->site]) || (s->locked && is_relaxed_site(r, s)));
}

static enum detect_pair atomic(void *ctx, const struct detect_access *earlier, const struct detect_access *later)
{
	struct racecheck *r = ctx;
	enum rules_atomic a, b;

	/* compilers generate these, and a load of such a guard acquires */
	if (r->sites[earlier->site].kind == RACE_GUARD || r->sites[later->site].kind == RACE_GUARD)
		return DETECT_ATOMIC;
	a = atomic_site(r, earlier->site, earlier->addr);
	b = atomic_site(r, later->site, earlier->addr);
	if (a == RULES_PLAIN || b == RULES_PLAIN || (a == RULES_UNKNOWN && b == RULES_UNKNOWN))
		return DETECT_RACE;
	return is_relaxed(r, earlier, later) ? DETECT_RELAXED : DETECT_ATOMIC;
}

static void race(void *ctx, const struct detect_access *earlier, const struct detect_access *later)
{
	racecheck_add(ctx, earlier, later);
}

/* ---- the heap ---- */

static struct moment here(struct racecheck *r)
{
	struct moment d = {.event = r->i.event, .thread = r->i.thread};
	const struct instrument_frame *f = racecheck_call(r);
	uint64_t calls[STACKS_DEPTH];

	d.stack = stacks_number(&r->stacks, calls, paths_calls(&r->paths, racecheck_path(r), calls, STACKS_DEPTH));
	if (f && f->hits) {
		d.event = f->event;
		d.pc = f->pc;
		d.hits = f->hits;
	}
	return d;
}

/* A library has called malloc: is the block for the library itself? */
static void own(struct racecheck *r, uint64_t at, uint64_t len)
{
	const struct instrument_stack *s = r->i.stack;
	const struct instrument_frame *f = racecheck_call(r);

	shadow_drop(&r->owned, at, len);
	if (!s->n || f == &s->v[s->n - 1] || (f && gives_is_call(&r->gives, r->i.t->pid, f->pc)))
		return;
	for (uint64_t k = at & ~7ull; k < at + (len < OWNED_MAX ? len : OWNED_MAX); k += 8)
		mark(&r->owned, k);
}

static void given(struct racecheck *r, uint64_t at, uint64_t len)
{
	if (!r->many)
		return;
	detect_renew(&r->detect, at, len);
	shadow_drop(&r->released, at, len);
}

static void freed(struct racecheck *r, struct heap_piece *p)
{
	const struct instrument_frame *f = racecheck_call(r);
	struct race_site s = {.code = r->i.code.now,
			      .path = racecheck_path(r),
			      .kind = RACE_FREE,
			      .pc = f ? f->pc : 0,
			      .shown = f ? f->pc : 0};
	struct moment at = here(r);

	blocks_free(&r->blocks, p, &at);
	syncs_freed(&r->syncs, p->at);
	if (!r->many || is_owned(r, p->at))
		return;
	detect_free(&r->detect, r->i.thread, p->at, p->len, racecheck_site_number(r, &s),
		    f && f->event == r->i.event ? (uint32_t)f->hits : 0);
}

static void heap(void *ctx, struct instrument *i, enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	struct racecheck *r = ctx;
	struct heap_piece *p = kind != REPORT_ALLOC && blocks_is_heap(a) ? blocks_at(&r->blocks, a) : NULL;
	struct moment at;

	(void)i;
	if (kind == REPORT_ALLOC && a) {
		at = here(r);
		blocks_add(&r->blocks, a, b, &at);
		own(r, a, b);
		given(r, a, b);
	} else if (!p || p->state != BLOCK_LIVE) {
		return;
	} else if (kind == REPORT_FREE) {
		freed(r, p);
	} else if (kind == REPORT_RESIZE) {
		blocks_resize(&r->blocks, p, b);
	} else {
		blocks_move(&r->blocks, p, b);
	}
}

/* ---- events ---- */

static void on_sync(void *ctx, struct instrument *i, unsigned kind, uint64_t object, uint64_t value)
{
	struct racecheck *r = ctx;
	struct race_site s = {.kind = RACE_GUARD, .code = r->i.code.now};

	/* from then on, the byte that tells so is read without a call */
	if (kind == RLOG_ONCE_DONE)
		detect_access(&r->detect, i->thread, object, GUARD_BYTES, true, racecheck_site_number(r, &s), 0);
	syncs_event(&r->syncs, i->thread, kind, object, (int64_t)value);
	r->threads[i->thread].starts |= kind == RLOG_START;
	r->many |= kind == RLOG_CREATE;
}

static void calls_back(void *ctx, struct instrument *i)
{
	struct racecheck *r = ctx;

	syncs_calls_back(&r->syncs, i->thread);
}

/* Forgets everything: a child of fork has one thread. */
static void forget(struct racecheck *r)
{
	static const struct detect_ops ops = {.atomic = atomic, .race = race};

	kernel_fini(&r->kernel);
	syncs_fini(&r->syncs);
	detect_fini(&r->detect);
	detect_init(&r->detect, &ops, r);
	syncs_init(&r->syncs, &r->detect);
	kernel_init(&r->kernel, &r->syncs, &r->detect);
	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++) {
		r->threads[k].ntimes = 0;
		r->threads[k].in_call = false;
	}
	r->many = false;
}

static int end_call(struct racecheck *r, struct race_thread *t, struct err *e)
{
	struct timeline_event ev;

	if (!t->in_call)
		return 0;
	t->in_call = false;
	if (timeline_read(r->tl, t->call, &ev, e))
		return -1;
	if (ev.ev.has_result)
		kernel_end(&r->kernel, ev.where.thread, &ev.ev.rec, &ev.ev.result);
	return 0;
}

static void unmapped(void *ctx, struct instrument *i)
{
	struct racecheck *r = ctx;

	modules_forget(&r->rules.modules, i->t->pid);
	imports_forget(&r->imports);
	gives_forget(&r->gives);
}

/*
 * At the beginning, and after what was not told, the heap is what the process has. What was not told may have ordered
 * the accesses that came before it, or have given their memory out anew, so that they are forgotten.
 */
static int begun(void *ctx, struct instrument *i, struct trace *t, struct err *e)
{
	struct racecheck *r = ctx;
	uint64_t missed = i->report.unseen + i->report.lost;
	struct timeline_where w;

	if (timeline_find(r->tl, i->event + 1, &w, e))
		return -1;
	if (r->process && r->process != w.process)
		forget(r);
	r->process = w.process;
	if (r->known && r->unseen == missed)
		return 0;
	if (r->known)
		detect_renew_all(&r->detect);
	r->known = true;
	r->unseen = missed;
	blocks_read(&r->blocks, t->pid);
	return 0;
}

/* For a new thread: a stack that the recorder did not allocate may have been another thread's. */
static void renew_stack(struct racecheck *r)
{
	struct mapping v;
	uint64_t sp = r->i.stack->sp;

	if (sp && !shim_is_stack(sp) && !blocks_is_heap(sp) && maps_find(r->i.t->pid, sp, &v) && !v.inode)
		detect_renew(&r->detect, v.lo, v.hi - v.lo);
}

static int segment(void *ctx, struct instrument *i, struct err *e)
{
	struct racecheck *r = ctx;

	struct race_thread *t = &r->threads[i->thread];

	if (end_call(r, t, e))
		return -1;
	set_time(r, i->thread, i->event);
	if (t->starts)
		renew_stack(r);
	t->starts = false;
	return 0;
}

static int ended(void *ctx, struct instrument *i, struct err *e)
{
	struct racecheck *r = ctx;
	struct race_thread *t = &r->threads[i->thread];
	struct timeline_event ev;
	uint64_t addr, len;

	if (timeline_read(r->tl, i->event + 1, &ev, e))
		return -1;
	if (ev.ev.rec.kind == RLOG_SYS) {
		if (ev.ev.has_result && kernel_reads(&ev.ev.rec, &ev.ev.result, &addr, &len))
			by_kernel(r, addr, len, false);
		kernel_begin(&r->kernel, i->thread, &ev.ev.rec);
		t->in_call = true;
		t->call = i->event + 1;
	} else if (ev.ev.rec.kind == RLOG_SIGNAL) {
		kernel_signal(&r->kernel, i->thread, ev.ev.rec.op[0]);
	}
	return 0;
}

void racecheck_init(struct racecheck *r, const struct rec *rec, struct timeline *tl)
{
	static const struct instrument_ops ops = {.begun = begun,
						  .unmapped = unmapped,
						  .soon = soon,
						  .segment = segment,
						  .access = access_,
						  .sort = racecheck_sort,
						  .heap = heap,
						  .call = call,
						  .sync = on_sync,
						  .calls_back = calls_back,
						  .written = written,
						  .read = read_,
						  .locals = true,
						  .ended = ended};

	memset(r, 0, sizeof(*r));
	r->tl = tl;
	r->threads = xcalloc(RLOG_MAX_THREADS, sizeof(*r->threads));
	instrument_init(&r->i, &ops, r);
	blocks_init(&r->blocks);
	shadow_init(&r->owned);
	shadow_init(&r->released);
	imports_init(&r->imports, copies, sizeof(copies) / sizeof(copies[0]));
	gives_init(&r->gives);
	paths_init(&r->paths);
	rules_init(&r->rules, rec);
	stacks_number(&r->stacks, NULL, 0);
	r->nsites = 1;
	racecheck_more_sites(r);
	forget(r);
}

void racecheck_fini(struct racecheck *r)
{
	if (!r->threads)
		return;
	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++) {
		free(r->threads[k].path);
		free(r->threads[k].times);
	}
	free(r->threads);
	for (size_t k = 0; k < r->n; k++)
		name_fini(&r->v[k].name);
	free(r->v);
	kernel_fini(&r->kernel);
	syncs_fini(&r->syncs);
	detect_fini(&r->detect);
	instrument_fini(&r->i);
	blocks_fini(&r->blocks);
	shadow_fini(&r->owned);
	shadow_fini(&r->released);
	imports_fini(&r->imports);
	gives_fini(&r->gives);
	paths_fini(&r->paths);
	rules_fini(&r->rules);
	stacks_fini(&r->stacks);
	free(r->sites);
	free(r->site_slot);
	memset(r, 0, sizeof(*r));
}

int racecheck_run(struct racecheck *r, struct nav *nav, uint64_t from, uint64_t to, struct err *e)
{
	if (nav->t.ctl->report_kinds <= REPORT_SYNC)
		return err_set(e, ERR_USAGE,
			       "this recording was made by an older recorder, which does not report what synchronises "
			       "threads: record again");
	r->rules.modules.root = nav->t.own_root;
	return instrument_run(&r->i, nav, from, to, e);
}
