/* SPDX-License-Identifier: MIT */
/* hidden_code.c: see hidden_code.h. */
#include "visibility/hidden_code.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/maps.h"
#include "insn/insn.h"

#define INT3 0xcc
#define PAGE 4096u
#define PARTS 3

/* Of a byte of code. */
enum { SEEN = 1, EXIT = 2, MARKED = 4, IN = 8 };

/* Of a page of it. */
enum { FRESH = 1, CHANGED = 2 }; /* an exit has no int3; there are int3s */

struct part {
	struct text at;
	uint8_t *code, *flags;
	uint8_t *pages;
};

struct hidden_code {
	struct part part[PARTS];
	uint64_t *todo;
	size_t ntodo, cap;
	unsigned exits;
};

static void part_init(struct part *p, const struct text *at)
{
	p->at = *at;
	p->code = xcalloc(at->hi - at->lo + 1, 1);
	p->flags = xcalloc(at->hi - at->lo + 1, 1);
	p->pages = xcalloc((at->hi - at->lo) / PAGE + 1, 1);
}

static struct part *part_of(const struct hidden_code *c, uint64_t pc)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (pc >= c->part[i].at.lo && pc < c->part[i].at.hi)
			return (struct part *)&c->part[i];
	return NULL;
}

static uint8_t *flags_of(const struct hidden_code *c, uint64_t pc)
{
	struct part *p = part_of(c, pc);

	return p ? &p->flags[pc - p->at.lo] : NULL;
}

static void hide_points(struct hidden_code *c, const struct breaks *b)
{
	for (unsigned i = 0; b && i < b->n; i++) {
		struct part *p = b->v[i].in ? part_of(c, b->v[i].addr) : NULL;

		if (p)
			p->code[b->v[i].addr - p->at.lo] = b->v[i].saved;
	}
}

struct hidden_code *hidden_code_new(pid_t pid, const struct visibility *s, const struct breaks *b)
{
	const struct text *const at[PARTS] = {&s->shim, &s->libc, &s->loader};
	struct hidden_code *c = xcalloc(1, sizeof(*c));
	struct err ignored;

	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &c->part[i];

		part_init(p, at[i]);
		if (p->at.hi > p->at.lo && trace_read(pid, p->at.lo, p->code, p->at.hi - p->at.lo, &ignored)) {
			hidden_code_free(c);
			return NULL;
		}
	}
	hide_points(c, b);
	return c;
}

void hidden_code_free(struct hidden_code *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < PARTS; i++) {
		free(c->part[i].code);
		free(c->part[i].flags);
		free(c->part[i].pages);
	}
	free(c->todo);
	free(c);
}

static void set_flag(struct hidden_code *c, uint64_t pc, uint8_t flag)
{
	struct part *p = part_of(c, pc);

	if (!p)
		return;
	p->flags[pc - p->at.lo] |= flag;
	p->pages[(pc - p->at.lo) / PAGE] |= FRESH;
}

void hidden_code_mark(struct hidden_code *c, uint64_t pc, bool on)
{
	uint8_t *flags = flags_of(c, pc);

	if (on)
		set_flag(c, pc, MARKED);
	else if (flags)
		*flags &= (uint8_t)~MARKED;
}

bool hidden_code_is_exit(const struct hidden_code *c, uint64_t pc)
{
	const uint8_t *flags = flags_of(c, pc);

	return flags && *flags & (EXIT | MARKED);
}

unsigned hidden_code_exits(const struct hidden_code *c)
{
	return c->exits;
}

static void push(struct hidden_code *c, uint64_t pc)
{
	uint8_t *flags = flags_of(c, pc);

	if (!flags || *flags & SEEN)
		return;
	if (c->ntodo == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 1024;
		c->todo = xreallocarray(c->todo, c->cap, sizeof(c->todo[0]));
	}
	c->todo[c->ntodo++] = pc;
}

static void add_exit(struct hidden_code *c, uint64_t pc)
{
	set_flag(c, pc, EXIT);
	c->exits++;
}

/* One instruction. Does the next one come after it? */
static bool follow(struct hidden_code *c, const struct insn_way *w, uint64_t pc)
{
	if (w->indirect || w->syscall)
		add_exit(c, pc);
	else if (w->target)
		push(c, pc + (uint64_t)w->target);
	return w->falls_through;
}

/* From pc up to an instruction after which another one comes than the next, or that is known already. */
static void walk(struct hidden_code *c, uint64_t pc)
{
	struct part *p = part_of(c, pc);
	struct insn_way w;

	while (pc >= p->at.lo && pc < p->at.hi && !(p->flags[pc - p->at.lo] & SEEN)) {
		p->flags[pc - p->at.lo] |= SEEN;
		insn_way(p->code + (pc - p->at.lo), p->at.hi - pc, &w);
		if (!w.len)
			add_exit(c, pc);
		if (!w.len || !follow(c, &w, pc))
			return;
		pc += w.len;
	}
}

void hidden_code_reach(struct hidden_code *c, uint64_t pc)
{
	push(c, pc);
	while (c->ntodo)
		walk(c, c->todo[--c->ntodo]);
}

static int open_mem(pid_t pid, struct err *e)
{
	int fd = maps_open_mem(pid, O_RDWR);

	return fd < 0 ? err_errno(e, ERR_HOST, "open the memory of process %d", (int)pid) : fd;
}

/* In the bytes at `now`, which are those that `flags` are about: sets or removes int3s. Were there any to be? */
static bool change(uint8_t *now, const uint8_t *code, uint8_t *flags, size_t n, bool in)
{
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		uint8_t f = flags[i];

		if (in ? !(f & (EXIT | MARKED)) || now[i] == INT3 : !(f & IN))
			continue;
		now[i] = in ? INT3 : code[i];
		flags[i] = in ? f | IN : f & (uint8_t)~IN;
		changed = true;
	}
	return changed;
}

static int change_part(struct part *p, int fd, bool in, struct err *e)
{
	uint8_t now[PAGE];
	size_t n;

	for (uint64_t at = p->at.lo; at < p->at.hi; at += n) {
		uint64_t off = at - p->at.lo;
		uint8_t *page = &p->pages[off / PAGE];

		n = p->at.hi - at < PAGE ? p->at.hi - at : PAGE;
		if (!(*page & (in ? FRESH : CHANGED)))
			continue;
		*page = in ? CHANGED : FRESH;
		if (pread(fd, now, n, (off_t)at) != (ssize_t)n)
			return err_errno(e, ERR_INTERNAL, "read the code at 0x%llx", (unsigned long long)at);
		if (change(now, p->code + off, p->flags + off, n, in) && pwrite(fd, now, n, (off_t)at) != (ssize_t)n)
			return err_errno(e, ERR_INTERNAL, "change the code at 0x%llx", (unsigned long long)at);
	}
	return 0;
}

static int change_all(struct hidden_code *c, pid_t pid, bool in, struct err *e)
{
	cleanup_close int fd = open_mem(pid, e);

	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < PARTS; i++)
		if (change_part(&c->part[i], fd, in, e))
			return -1;
	return 0;
}

int hidden_code_insert(struct hidden_code *c, pid_t pid, struct err *e)
{
	return change_all(c, pid, true, e);
}

int hidden_code_take_out(struct hidden_code *c, pid_t pid, struct err *e)
{
	return change_all(c, pid, false, e);
}

void hidden_code_forget(struct hidden_code *c)
{
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &c->part[i];

		for (uint64_t off = 0; off < p->at.hi - p->at.lo; off++)
			p->flags[off] &= (uint8_t)~IN;
		for (uint64_t page = 0; page <= (p->at.hi - p->at.lo) / PAGE; page++)
			p->pages[page] |= FRESH;
	}
}

int hidden_code_lift(struct hidden_code *c, pid_t pid, uint64_t pc, bool out, struct err *e)
{
	struct part *p = part_of(c, pc);
	cleanup_close int fd = -1;
	uint8_t op;

	if (!p || !(p->flags[pc - p->at.lo] & IN))
		return 0;
	op = out ? p->code[pc - p->at.lo] : INT3;
	fd = open_mem(pid, e);
	if (fd < 0)
		return -1;
	if (pwrite(fd, &op, 1, (off_t)pc) == 1)
		return 0;
	return err_errno(e, ERR_INTERNAL, "change the code at 0x%llx", (unsigned long long)pc);
}
