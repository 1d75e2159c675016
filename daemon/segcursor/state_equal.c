/* SPDX-License-Identifier: MIT */
/* state_equal.c: see state_equal.h. */
#include "segcursor/state_equal.h"

#include <string.h>

#include "base/maps.h"
#include "base/str.h"
#include "rlog/replay.h"
#include "rlog/rlog.h"
#include "trace/delta.h"
#include "trace/walk.h"

#define FLAGS_TRAPS 0x10100ull /* RF and TF are set and cleared by the tracer */
/* The dynamic linker notes how many ticks it took; it runs before the recorder is there. */
#define LOADER "/ld-linux-x86-64.so"
#define WORDS_MAX 65536
#define STACK_WORDS 64

/* Compares the registers that a function keeps for its caller, and its result. */
static bool state_equal_frame(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rax == b->rax && a->rbx == b->rbx &&
	       a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15 && a->fs_base == b->fs_base;
}

static unsigned differing(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return (a->rcx != b->rcx) + (a->rdx != b->rdx) + (a->rsi != b->rsi) + (a->rdi != b->rdi) + (a->r8 != b->r8) +
	       (a->r9 != b->r9) + (a->r10 != b->r10) + (a->r11 != b->r11) +
	       (((a->eflags ^ b->eflags) & ~FLAGS_TRAPS) != 0);
}

/* Mappings whose contents do not count: [lo, hi). */
struct range {
	uint64_t lo, hi;
};

struct ranges {
	struct range v[64];
	unsigned n;
};

static void exclude(struct ranges *r, uint64_t lo, uint64_t hi)
{
	if (r->n < sizeof(r->v) / sizeof(r->v[0]))
		r->v[r->n++] = (struct range){lo, hi};
}

static bool is_stack(const struct mapping *m)
{
	return str_eq(m->path, "[stack]") || shim_is_stack(m->lo);
}

/* Leaves out a stack on which handlers have left data, except if the program itself runs on it. */
static void exclude_alt_stack(struct ranges *r, const struct trace *t, uint64_t rsp)
{
	if (rsp < t->alt_lo || rsp >= t->alt_end)
		exclude(r, t->alt_lo, t->alt_end);
}

/*
 * The shim's own data: its file's mappings and the zeroed part after them. Of the stacks, only the part in use by this
 * thread counts: the other threads wait in the shim, in ways that may differ.
 */
static int find_excluded(pid_t pid, uint64_t rsp, struct ranges *out, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	uint64_t shim_end = 0;
	struct mapping m;

	exclude(out, SHIM_OWN_ADDR, SHIM_OWN_END_ADDR);
	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		if (strstr(m.path, RLOG_SHIM_NAME) || strstr(m.path, LOADER) ||
		    (m.lo == shim_end && m.path[0] != '/')) {
			exclude(out, m.lo, m.hi);
			shim_end = m.hi;
		} else if (mapping_has(&m, rsp)) {
			exclude(out, m.lo, rsp - TRACE_RED_ZONE);
		} else if (is_stack(&m)) {
			exclude(out, m.lo, m.hi);
		}
	}
	return 0;
}

/*
 * Leaves out the recorder's translated code and its data, which a thread has that was stopped in such code, at the end
 * of a computation that was interrupted. They belong to the thread as long as it has a GS base, which programs do not
 * have (plugins/record/dbt/xlate.c).
 */
static int exclude_translation(struct ranges *out, pid_t pid, const struct user_regs_struct *r, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (!r->gs_base)
		return 0;
	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &m))
		if (mapping_has(&m, r->gs_base) || (!m.path[0] && m.write && m.exec && !m.shared))
			exclude(out, m.lo, m.hi);
	return 0;
}

static bool counts(const struct ranges *r, uint64_t addr)
{
	for (unsigned i = 0; i < r->n; i++)
		if (addr >= r->v[i].lo && addr < r->v[i].hi)
			return false;
	return true;
}

bool state_equal_values(const struct user_regs_struct *a, const struct user_regs_struct *b, unsigned *differ)
{
	*differ = differing(a, b);
	return state_equal_frame(a, b);
}

int state_equal_registers(struct trace *a, struct trace *b, unsigned *differ, struct err *e)
{
	struct user_regs_struct ra, rb;

	if (trace_get_regs(a, &ra, e) || trace_get_regs(b, &rb, e))
		return -1;
	return state_equal_values(&ra, &rb, differ);
}

static void add_word(struct walk_tell *tell, const struct delta *d, size_t i)
{
	for (unsigned k = 0; k < tell->n; k++)
		if (tell->v[k].addr == d->addr[i])
			return;
	tell->v[tell->n++] = (struct replay_walk_word){d->addr[i], d->right[i]};
}

/* Called for the words that count, in ascending order of address. */
static void choose(const struct delta *d, const struct ranges *skip, uint64_t rsp, struct walk_tell *tell)
{
	size_t first = d->n, last = 0, near = d->n;

	for (size_t i = 0; i < d->n; i++) {
		if (!counts(skip, d->addr[i]))
			continue;
		if (first == d->n)
			first = i;
		last = i;
		if (near == d->n && d->addr[i] >= rsp - TRACE_RED_ZONE)
			near = i;
	}
	if (first == d->n)
		return;
	add_word(tell, d, near == d->n ? last : near);
	add_word(tell, d, last);
	add_word(tell, d, first);
}

/* When too many words differ to be listed, those on top of the stack are taken. */
static void choose_on_stack(struct trace *a, struct trace *b, uint64_t rsp, struct walk_tell *tell)
{
	uint64_t left[STACK_WORDS], right[STACK_WORDS];
	struct err ignored;

	if (trace_read(a->pid, rsp, left, sizeof(left), &ignored) ||
	    trace_read(b->pid, rsp, right, sizeof(right), &ignored))
		return;
	for (unsigned i = 0; i < STACK_WORDS && tell->n < WALK_TELL; i++)
		if (left[i] != right[i])
			tell->v[tell->n++] = (struct replay_walk_word){rsp + i * sizeof(left[0]), right[i]};
}

/*
 * An area that XSAVEC filled (Intel's manual, volume 1, 13.4): XSTATE_BV, the state components that are in it, and
 * XCOMP_BV after it. A component that has its initial value is in it, or not, as the processor happens to keep track
 * of it: on AMD's, a context switch changes that. The dynamic linker fills such an area on the stack when a function is
 * bound, and restores the registers from it.
 */
#define XSTATE_BV 512u
#define XCOMP_COMPACT (1ull << 63)
#define SAVED_FAR (8ull << 20) /* the most bytes above the stack pointer */
#define XCOMP_MASK 0xffull /* the components that the dynamic linker saves are among these */

/* Where a component is in such an area, for those that libc's resolvers and small programs use. */
static const struct {
	unsigned component, from, to; /* bytes */
} saved[] = {{0, 0, 24}, {0, 32, 160}, {1, 24, 32}, {1, 160, 416}, {2, 576, 832}};

/* The components that only one of the two areas has. 0: the word at addr is not an XSTATE_BV. */
static uint64_t differs_in(pid_t pid, uint64_t rsp, const struct delta *d, size_t i)
{
	uint64_t comp, in_one = d->left[i] ^ d->right[i];
	struct err ignored;

	if (d->addr[i] % 64 || d->addr[i] < rsp - TRACE_RED_ZONE || d->addr[i] - rsp > SAVED_FAR ||
	    (i + 1 < d->n && d->addr[i + 1] == d->addr[i] + 8) ||
	    trace_read(pid, d->addr[i] + 8, &comp, sizeof(comp), &ignored))
		return 0;
	if ((comp & ~XCOMP_MASK) != XCOMP_COMPACT || (d->left[i] | d->right[i]) & ~comp)
		return 0;
	return in_one;
}

static bool is_saved(uint64_t offset, uint64_t components)
{
	for (size_t k = 0; k < sizeof(saved) / sizeof(saved[0]); k++)
		if (components >> saved[k].component & 1 && offset >= saved[k].from && offset < saved[k].to)
			return true;
	return offset == XSTATE_BV;
}

/* Removes the words of such areas from d if the areas differ only in which components are in use. */
static void drop_saved_states(pid_t pid, uint64_t rsp, struct delta *d)
{
	for (size_t i = 0; i < d->n; i++) {
		uint64_t in_one = differs_in(pid, rsp, d, i), area = d->addr[i] - XSTATE_BV;
		size_t n = 0;

		if (!in_one)
			continue;
		for (size_t k = 0; k < d->n; k++) {
			if (is_saved(d->addr[k] - area, in_one))
				continue;
			d->addr[n] = d->addr[k];
			d->left[n] = d->left[k];
			d->right[n++] = d->right[k];
		}
		d->n = n;
		i = (size_t)-1; /* from the beginning: there are few of them */
	}
}

/* Is there code at addresses with this upper half? */
static bool has_code(pid_t pid, uint32_t upper)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	if (maps_open(&maps, pid, &ignored))
		return false;
	while (maps_next(&maps, &m))
		if (m.exec && upper >= m.lo >> 32 && upper <= (m.hi - 1) >> 32)
			return true;
	return false;
}

/*
 * Can one of these words be a remainder of an address to which a walk has let the recorder return, and the other one a
 * remainder of the normal return address? The upper half of the first may also be a counter's value, so the other one
 * must be an address of code.
 */
static bool is_left_by_walk(pid_t pid, uint64_t left, uint64_t right)
{
	uint32_t l = (uint32_t)(left >> 32), r = (uint32_t)(right >> 32);

	if ((uint32_t)left != (uint32_t)right && !trace_walk_had((uint32_t)left, 0) &&
	    !trace_walk_had((uint32_t)right, 0))
		return false;
	return l == r || (trace_walk_had(l, 1) && has_code(pid, r)) || (trace_walk_had(r, 1) && has_code(pid, l));
}

/*
 * A function of the recorder's that a walk calls returns to the walk's code (plugins/record/dbt/xlate_emit.c). Where it
 * keeps that address in its frame, the word stays when the function has returned; a later frame may have it in a part
 * that it does not write, or write over one half of it. Takes the words out that differ by that alone.
 */
static void drop_walks(pid_t pid, uint64_t rsp, struct delta *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		bool own = d->addr[i] >= rsp - TRACE_RED_ZONE && d->addr[i] - rsp + TRACE_RED_ZONE < SAVED_FAR;

		if (own && is_left_by_walk(pid, d->left[i], d->right[i]))
			continue;
		d->addr[n] = d->addr[i];
		d->left[n] = d->left[i];
		d->right[n++] = d->right[i];
	}
	d->n = n;
}

int state_equal_memory_tell(struct trace *a, struct trace *b, size_t *differ, struct walk_tell *tell, struct err *e)
{
	struct user_regs_struct ra, rb;
	struct ranges skip = {0};
	struct delta d = {0};
	int r;

	*differ = WORDS_MAX;
	if (trace_get_regs(a, &ra, e) || trace_get_regs(b, &rb, e))
		return -1;
	if (exclude_translation(&skip, a->pid, &ra, e) || exclude_translation(&skip, b->pid, &rb, e))
		return -1;
	exclude_alt_stack(&skip, a, ra.rsp);
	exclude_alt_stack(&skip, b, ra.rsp);
	if (find_excluded(a->pid, ra.rsp, &skip, e))
		return -1;
	r = delta_diff(a->pid, b->pid, WORDS_MAX, &d, e);
	if (r > 0 && tell)
		choose_on_stack(a, b, ra.rsp & ~7ull, tell);
	if (r)
		return r < 0 ? -1 : 0;
	drop_saved_states(a->pid, ra.rsp, &d);
	drop_walks(a->pid, ra.rsp, &d);
	*differ = 0;
	for (size_t i = 0; i < d.n; i++)
		*differ += counts(&skip, d.addr[i]);
	if (tell)
		choose(&d, &skip, ra.rsp, tell);
	delta_fini(&d);
	return 0;
}

int state_equal_memory(struct trace *a, struct trace *b, size_t *differ, struct err *e)
{
	return state_equal_memory_tell(a, b, differ, NULL, e);
}
