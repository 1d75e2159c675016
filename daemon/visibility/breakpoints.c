/* SPDX-License-Identifier: MIT */
/* breakpoints.c: see breakpoints.h. /proc/PID/mem writes to text that the process itself may not write. */
#include "visibility/breakpoints.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "visibility/signal_handlers.h"

/* the most words without a debug register: each few of them cost one more pass over the segment */
#define MORE_MAX 256u

#define INT3 0xcc
#define NOP 0x90
#define RET 0xc3
#define ENDBR 0xf3

static struct breaks_point *find(const struct breaks *b, uint64_t addr)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->v[i].addr == addr)
			return &b->v[i];
	return NULL;
}

void breaks_fini(struct breaks *b)
{
	for (unsigned i = 0; i < b->n; i++)
		conds_fini(&b->v[i].conds);
	free(b->v);
	free(b->more);
	*b = (struct breaks){.view = b->view,
			     .many = b->many,
			     .libraries = b->libraries,
			     .signals = b->signals,
			     .pass = b->pass,
			     .watch_conditions = b->watch_conditions};
}

/* Two of these signals are libc's own. */
bool breaks_stops_at_signal(const struct breaks *b, int sig)
{
	return b->signals && sig > 0 && sig <= 64 && sig != 32 && sig != 33 && !(b->pass >> (sig - 1) & 1);
}

static bool at_handlers(const struct breaks_point *p)
{
	return p->kinds >> BREAKS_HANDLERS & 1;
}

void breaks_add(struct breaks *b, uint64_t addr, unsigned kind)
{
	struct breaks_point *p = find(b, addr);

	if (!p) {
		b->v = xreallocarray(b->v, b->n + 1, sizeof(b->v[0]));
		p = &b->v[b->n++];
		*p = (struct breaks_point){.addr = addr};
	}
	p->kinds |= 1u << kind;
	conds_fini(&p->conds);
}

void breaks_condition(struct breaks *b, uint64_t addr, const uint8_t *code, size_t len)
{
	struct breaks_point *p = find(b, addr);

	if (p)
		conds_add(&p->conds, code, len);
}

/* The first byte of the instruction; 0: it cannot be read. */
static uint8_t opcode(const struct breaks_point *p, pid_t pid)
{
	uint8_t op = p->saved;
	struct err ignored;

	return p->in || !trace_read(pid, p->addr, &op, 1, &ignored) ? op : 0;
}

/* Decides for a state that is not visible. */
static enum breaks_verdict judge_hidden(const struct breaks *b, const struct breaks_point *p, pid_t pid,
					const struct user_regs_struct *r)
{
	uint8_t op = visibility_is_loader(b->view->visibility, r->rip) ? opcode(p, pid) : 0;
	/* it learns of libraries at a probe (made of a nop), or in a function that does nothing */
	bool tells = op == NOP || op == RET || op == ENDBR;

	if (visibility_has_returned(pid, r) && op != NOP)
		return BREAKS_STOP;
	return tells && b->libraries ? BREAKS_LIBRARY : BREAKS_PASS;
}

enum breaks_verdict breaks_wanted(const struct breaks *b, struct trace *t)
{
	const struct process_view *c = b->view;
	struct user_regs_struct r;
	struct breaks_point *p;
	struct err ignored;

	if (trace_get_regs(t, &r, &ignored))
		return BREAKS_STOP;
	p = find(b, r.rip);
	if (!p)
		return BREAKS_STOP;
	if (at_handlers(p) && breaks_stops_at_signal(b, handlers_signal(&r)))
		return BREAKS_STOP;
	if (p->kinds == 1u << BREAKS_HANDLERS)
		return BREAKS_PASS;
	if (!conds_hold(&p->conds, t))
		return BREAKS_PASS;
	if (!c || !shim_frames_hides(c->shim_frames, c->visibility, t->pid, &r))
		return BREAKS_STOP;
	return judge_hidden(b, p, t->pid, &r);
}

void breaks_add_all(struct breaks *to, const struct breaks *b)
{
	memcpy(to->watch, b->watch, sizeof(to->watch));
	to->watch_conditions = b->watch_conditions;
	to->signals = b->signals;
	to->pass = b->pass;
	for (unsigned i = 0; i < b->n; i++) {
		struct breaks_point *p;

		breaks_add(to, b->v[i].addr, at_handlers(&b->v[i]) ? BREAKS_HANDLERS : 0);
		p = find(to, b->v[i].addr);
		p->data = b->v[i].data;
		conds_copy(&p->conds, &b->v[i].conds);
	}
}

static bool is_executable(pid_t pid, uint64_t addr)
{
	struct mapping m;

	return !maps_find(pid, addr, &m) || m.exec; /* it is executable, or not mapped yet */
}

void breaks_check(struct breaks *b, uint64_t addr, pid_t pid)
{
	struct breaks_point *p = find(b, addr);

	if (p)
		p->data = !is_executable(pid, addr);
}

void breaks_remove(struct breaks *b, uint64_t addr, unsigned kind)
{
	struct breaks_point *p = find(b, addr);

	if (!p || (p->kinds &= ~(1u << kind)))
		return;
	conds_fini(&p->conds);
	*p = b->v[--b->n];
}

bool breaks_has(const struct breaks *b, uint64_t addr)
{
	return find(b, addr) != NULL;
}

bool breaks_has_condition(const struct breaks *b, uint64_t addr)
{
	const struct breaks_point *p = find(b, addr);

	return p && p->conds.n;
}

static bool watches(const struct breaks *b)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (b->watch[i].kind)
			return true;
	return false;
}

int breaks_hit(const struct breaks *b, struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (!breaks_has(b, r.rip - 1))
		return 0;
	r.rip--;
	return trace_set_regs(t, &r, e) ? -1 : 1;
}

bool breaks_empty(const struct breaks *b)
{
	for (unsigned i = 0; i < b->n; i++)
		if (!at_handlers(&b->v[i]))
			return false;
	return !watches(b);
}

/* The size of the largest aligned piece at the start of a range. */
static unsigned piece(uint64_t addr, unsigned len)
{
	unsigned n = 8;

	while (n > len || addr % n)
		n /= 2;
	return n;
}

static struct group_slot *slot_of(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		struct group_slot *s = &b->watch[i];

		if (s->kind == kind && (!kind || (s->addr == addr && s->len == len)))
			return s;
	}
	return NULL;
}

int breaks_free_slot(const struct breaks *b)
{
	for (int i = 0; i < BREAKS_WATCHES; i++)
		if (!b->watch[i].kind)
			return i;
	return -1;
}

int breaks_watch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len)
{
	struct group_slot before[BREAKS_WATCHES];
	unsigned nmore = b->nmore;

	memcpy(before, b->watch, sizeof(before));
	while (len) {
		unsigned n = piece(addr, len);
		struct group_slot *s = slot_of(b, GROUP_OFF, 0, 0);

		if (!s && (!b->many || b->nmore == MORE_MAX)) {
			memcpy(b->watch, before, sizeof(before));
			b->nmore = nmore;
			return 1;
		}
		if (!s) {
			b->more = xreallocarray(b->more, b->nmore + 1, sizeof(b->more[0]));
			s = &b->more[b->nmore++];
		}
		*s = (struct group_slot){kind, addr, n};
		addr += n;
		len -= n;
	}
	return 0;
}

static void forget_more(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len)
{
	for (unsigned i = 0; i < b->nmore; i++)
		if (b->more[i].kind == kind && b->more[i].addr == addr && b->more[i].len == len) {
			b->more[i] = b->more[--b->nmore];
			return;
		}
}

void breaks_unwatch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len)
{
	struct group_slot *s;

	while (len) {
		unsigned n = piece(addr, len);

		s = slot_of(b, kind, addr, n);
		if (s)
			s->kind = GROUP_OFF;
		else
			forget_more(b, kind, addr, n);
		addr += n;
		len -= n;
	}
	while (b->nmore && (s = slot_of(b, GROUP_OFF, 0, 0)))
		*s = b->more[--b->nmore];
}

void breaks_look(const struct breaks *b, pid_t pid, struct breaks_words *w)
{
	struct err ignored;

	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (b->watch[i].kind && trace_read(pid, b->watch[i].addr, w->v[i], b->watch[i].len, &ignored))
			memset(w->v[i], 0, sizeof(w->v[i]));
}

const struct group_slot *breaks_watch_met(const struct breaks *b, struct trace *t, unsigned slots,
					  struct breaks_words *w, bool *written)
{
	const struct group_slot *met = NULL;
	struct breaks_words was = *w;
	bool hit = false;

	*written = false;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		hit |= (slots & 1u << i) && b->watch[i].kind;
	if (!hit)
		return NULL;
	breaks_look(b, t->pid, w);
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &b->watch[i];
		bool changed = memcmp(was.v[i], w->v[i], sizeof(was.v[i])) != 0;

		if (!(slots & 1u << i) || !s->kind)
			continue;
		if (changed && !watch_conditions_hold(b->watch_conditions, s, t, was.v[i], w->v[i])) {
			*written |= b->watch_conditions->walked;
			continue;
		}
		*written = true;
		if (changed || s->kind != GROUP_WRITE)
			met = s;
	}
	return met;
}

static int open_mem(pid_t pid, struct err *e)
{
	int fd = maps_open_mem(pid, O_RDWR);

	return fd < 0 ? err_errno(e, ERR_HOST, "open the memory of process %d", (int)pid) : fd;
}

int breaks_insert(struct breaks *b, pid_t pid, struct err *e)
{
	cleanup_close int fd = -1;
	const uint8_t int3 = INT3;

	if (!b->n)
		return 0;
	fd = open_mem(pid, e);
	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < b->n; i++) {
		struct breaks_point *p = &b->v[i];

		p->in = !p->data && pread(fd, &p->saved, 1, (off_t)p->addr) == 1 &&
			pwrite(fd, &int3, 1, (off_t)p->addr) == 1;
	}
	return 0;
}

int breaks_lift(struct breaks *b, pid_t pid, uint64_t addr, bool out, struct err *e)
{
	const struct breaks_point *p = find(b, addr);
	const uint8_t int3 = INT3;
	cleanup_close int fd = -1;

	if (!p || !p->in)
		return 0;
	fd = open_mem(pid, e);
	if (fd < 0)
		return -1;
	if (pwrite(fd, out ? &p->saved : &int3, 1, (off_t)addr) == 1)
		return 0;
	return err_errno(e, ERR_INTERNAL, "the breakpoint at 0x%llx", (unsigned long long)addr);
}

int breaks_clean_copy(const struct breaks *b, pid_t copy, struct err *e)
{
	cleanup_close int fd = -1;

	if (!b->n)
		return 0;
	fd = open_mem(copy, e);
	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < b->n; i++) {
		const struct breaks_point *p = &b->v[i];
		uint8_t now = 0;

		/* it was unmapped, or replaced by something else */
		if (p->in && pread(fd, &now, 1, (off_t)p->addr) == 1 && now == INT3 &&
		    pwrite(fd, &p->saved, 1, (off_t)p->addr) != 1)
			return err_errno(e, ERR_INTERNAL, "take out the breakpoint at 0x%llx",
					 (unsigned long long)p->addr);
	}
	return 0;
}

void breaks_forget_text(struct breaks *b)
{
	for (unsigned i = 0; i < b->n; i++)
		b->v[i].in = false;
}

int breaks_take_out(struct breaks *b, pid_t pid, struct err *e)
{
	if (breaks_clean_copy(b, pid, e))
		return -1;
	breaks_forget_text(b);
	return 0;
}
