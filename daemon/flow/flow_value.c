/* SPDX-License-Identifier: MIT */
/* flow_value.c: what a value is, and what an instruction made of it. */
#define LOG_DOMAIN "explain"
#include "flow/flow_int.h"

#include <string.h>

#include "base/maps.h"
#include "base/str.h"
#include "describe/describe.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

#define LARGE 0x1000000ull /* an address, rather than an index */
#define FRAME_MOST (1u << 20) /* bytes of a frame */
#define SMALL 0x10000ull /* an offset or an index, rather than an address */

/* ---- values ---- */

bool flow_read(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l, uint8_t v[8])
{
	struct trace *t;
	struct user_fpregs_struct fp;
	struct err ignored;
	uint64_t reg;

	memset(v, 0, 8);
	if (!l->len || l->len > 8)
		return false;
	if (l->where == INSN_IN_MEM)
		return !trace_read(cursor_memory(&x->t), l->addr, v, l->len, &ignored);
	if (l->reg < INSN_XMM0 || l->reg == INSN_FLAGS) {
		if (l->off + l->len > 8)
			return false;
		reg = insn_reg(r, l->reg) >> l->off * 8;
		memcpy(v, &reg, l->len);
		return true;
	}
	t = cursor_thread(&x->t, x->t.in.seg.tid, &ignored);
	if (l->reg >= INSN_XMM0 + 16 || l->off + l->len > 16 || !t || trace_get_fpregs(t, &fp, &ignored))
		return false;
	memcpy(v, (uint8_t *)&fp.xmm_space[(l->reg - INSN_XMM0) * 4] + l->off, l->len);
	return true;
}

bool flow_access(struct flow *f, const struct user_regs_struct *r, bool by_pointer, struct insn_access *a)
{
	struct insn_access v[INSN_ACCESSES];
	uint8_t code[INSN_BYTES];
	struct err ignored;
	struct insn i;
	unsigned n;

	if (visibility_is_shim(&f->x->t.visibility, r->rip) || explain_insn(f->x, r, code, &i, &ignored))
		return false;
	n = insn_accesses(&i, v);
	for (unsigned k = 0; k < n; k++) {
		if (v[k].writes || v[k].stack || f->l.addr < v[k].addr || f->l.addr >= v[k].addr + v[k].len ||
		    (by_pointer && (v[k].base == INSN_NO_REG || v[k].base == INSN_RSP)))
			continue;
		*a = v[k];
		return true;
	}
	return false;
}

static uint64_t number_of(const uint8_t v[8], unsigned len)
{
	uint64_t n = 0;

	memcpy(&n, v, len < 8 ? len : 8);
	return n;
}

bool flow_is_zero(const struct flow *f)
{
	return number_of(f->value, f->l.len) == 0;
}

char *flow_text(const struct flow *f, const uint8_t v[8], unsigned len)
{
	uint64_t n = number_of(v, len);
	int64_t s = len == 8 ? (int64_t)n : len == 4 ? (int32_t)n : len == 2 ? (int16_t)n : (int8_t)n;

	if (f->pointer || (len == 8 && (s > INT32_MAX || s < INT32_MIN)))
		return str_fmt("0x%llx", (unsigned long long)n);
	return str_fmt("%lld", (long long)s);
}

static bool is_mapped(const struct flow *f, uint64_t addr)
{
	struct mapping m;

	return maps_find(cursor_memory(&f->x->t), addr, &m) && (m.read || m.write);
}

bool flow_is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (str_eq(name, *names))
			return true;
	return false;
}

const char *const flow_freeing[] = {"free", "cfree", "operator delete(void*)", NULL};
const char *const flow_allocating[] = {"malloc",	"calloc",	  "realloc", "reallocarray", "memalign",
				       "aligned_alloc", "posix_memalign", "valloc",  "strdup",	     NULL};

/* The event that the call makes, in words; malloc'd. NULL: none. */
char *flow_event(struct explain *x)
{
	uint64_t n = cursor_event(&x->t) + 1;
	struct buf b = {0};
	struct timeline_event ev;
	struct err ignored;

	if (n > nav_total(&x->nav) || timeline_read(x->nav.t.tl, n, &ev, &ignored))
		return NULL;
	buf_addf(&b, "event %llu, ", (unsigned long long)n);
	describe_event_what(&b, &ev.ev);
	return buf_steal(&b);
}

/* f->value, from which an invalid pointer was made: was it invalid itself? */
bool flow_was_wrong(const struct flow *f)
{
	uint64_t v = number_of(f->value, f->l.len);

	return f->pointer && !f->number && f->l.len == 8 && v >= LARGE && !is_mapped(f, v);
}

/* Can no memory be there? The upper half of the address space is the kernel's. */
static bool is_no_address(uint64_t v)
{
	return v >> 47 != 0;
}

/* The distance of that number from 0, in either direction. */
static uint64_t magnitude(uint64_t v)
{
	return (int64_t)v < 0 ? -v : v;
}

const struct insn_loc *flow_wrong_one(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	const struct insn_loc *best = NULL;
	uint64_t v[INSN_SOURCES];
	unsigned mapped = 0, n = 0;
	uint8_t bytes[8];

	if (!f->pointer)
		return NULL;
	for (unsigned k = 0; k < o->n; k++) {
		if (o->from[k].reg == INSN_FLAGS && o->from[k].where == INSN_IN_REG)
			return NULL;
		if (!flow_read(f->x, r, &o->from[k], bytes))
			return NULL;
		v[k] = number_of(bytes, o->from[k].len);
		mapped += is_mapped(f, v[k]);
		n++;
	}
	if (n != 2)
		return NULL;
	for (unsigned k = 0; k < n; k++) {
		uint64_t other = v[!k];

		if (mapped == 1 && is_mapped(f, other))
			best = &o->from[k]; /* an index that is too large */
		else if (!mapped && v[k] == 0 && other < SMALL)
			best = best ? best : &o->from[k]; /* not an object, but an offset in one */
		else if (!mapped && v[k] >= SMALL && other < SMALL)
			best = &o->from[k];
		else if (!mapped && !best && is_no_address(v[k]) && magnitude(v[k]) >= LARGE &&
			 magnitude(other) >= LARGE)
			/* neither an address nor an offset in an object; the other may be wrong as well */
			best = &o->from[k];
	}
	return best;
}

/* `wrong` is followed. If the other operand is neither an address nor an offset, notes that it may be wrong as well. */
static void note_other(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o,
		       const struct insn_loc *wrong)
{
	const struct insn_loc *other = &o->from[wrong == &o->from[0]];
	uint8_t bytes[8];
	uint64_t v;

	if (f->trial || o->n != 2 || !flow_read(f->x, r, other, bytes))
		return;
	v = number_of(bytes, other->len);
	if (magnitude(v) >= LARGE && !is_mapped(f, v))
		explain_note(f->x,
			     "the address was computed of two numbers, of which neither is one: the chain follows the "
			     "first, and the other, 0x%llx, may be as wrong",
			     (unsigned long long)v);
}

/* *l, which is written by the instruction in front of which the program stands, comes from `from`. */
int flow_go_on(struct flow *f, const struct user_regs_struct *r, const struct insn_loc *from, bool exactly)
{
	uint8_t v[8];
	unsigned n = from->len < f->l.len ? from->len : f->l.len;

	if (!flow_read(f->x, r, from, v)) {
		explain_end(f->x, END_UNKNOWN, "the value came from %s, which cannot be read",
			    from->where == INSN_IN_MEM ? "memory" : insn_reg_name(from->reg));
		return FLOW_ENDED;
	}
	if (exactly && memcmp(v, f->value, n)) {
		explain_end(f->x, END_UNKNOWN, "the value that the instruction seems to copy is another one");
		return FLOW_ENDED;
	}
	f->l = *from;
	memcpy(f->value, v, sizeof(v));
	return FLOW_ON;
}

/* Is it a truth value made from flags, or the flags of an operand that was compared with a constant? */
static bool is_comparison(const struct insn_origin *o)
{
	return (o->what.where == INSN_IN_REG && o->what.reg == INSN_FLAGS) ||
	       (o->from[0].where == INSN_IN_REG && o->from[0].reg == INSN_FLAGS);
}

/* Was a sensible index turned into an address outside everything, by this statement? */
static bool made_large(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	uint8_t v[8];
	uint64_t now = number_of(f->value, f->l.len), was;

	if (!f->pointer || o->effect != INSN_DERIVES || !flow_read(f->x, r, &o->from[0], v))
		return false;
	was = number_of(v, o->from[0].len);
	return was && was < SMALL && now >= LARGE && !is_mapped(f, now);
}

/* Was an address made from a number with fewer bytes? */
static bool made_of_number(const struct flow *f, const struct insn_origin *o)
{
	return f->pointer && !f->number && !f->derived && f->l.len == 8 && o->effect == INSN_COPIES &&
	       o->from[0].len < 8;
}

/*
 * Is it the address of a variable in the function's frame? The address of a variable that begins at the stack pointer
 * is the stack pointer.
 */
static bool made_of_frame(const struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	const struct insn_loc *from = &o->from[0];
	bool copies = o->effect == INSN_COPIES && from->reg == INSN_RSP && from->len == 8;
	uint64_t away;

	if (!f->pointer || !(o->effect == INSN_DERIVES || copies) || from->where != INSN_IN_REG ||
	    (from->reg != INSN_RSP && from->reg != INSN_RBP) ||
	    (f->l.where == INSN_IN_REG && (f->l.reg == INSN_RSP || f->l.reg == INSN_RBP)))
		return false;
	away = insn_reg(r, from->reg) - r->rsp;
	return away < FRAME_MOST;
}

/*
 * Was a constant added to the compared value in the comparison's own line? Then the value before is what is compared:
 * compilers make one comparison of `c < 32 || c > 126`.
 */
static bool is_part_of_comparison(struct flow *f, const struct insn_origin *o)
{
	struct inspect p = {0};
	struct err ignored;
	bool same;

	if (f->pointer || !f->compared || f->last || o->what.where != INSN_IN_REG)
		return false; /* otherwise the comparison is about what an earlier statement wrote */
	same = !inspect_open(&p, f->x, &ignored) && flow_same_line(f->x, &p);
	inspect_close(&p);
	return same;
}

/* Does the chain go on after it, or is it a statement that made the value? */
bool flow_is_made(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	switch (o->effect) {
	case INSN_SETS:
		return true;
	case INSN_COPIES:
		return made_of_number(f, o) || made_of_frame(f, r, o);
	case INSN_COMPUTES:
		return !flow_wrong_one(f, r, o);
	case INSN_DERIVES:
		return (!f->pointer && !is_comparison(o) && !is_part_of_comparison(f, o)) || made_large(f, r, o) ||
		       made_of_frame(f, r, o);
	default:
		return false;
	}
}

static int is_of_frame(struct flow *f, const char *name)
{
	explain_end(f->x, END_COMPUTED, "%s is the address of a variable of the function's own", name);
	return FLOW_ENDED;
}

/*
 * Continues with the operands of the instruction in front of which the program stands. p: closed here; NULL: the
 * instruction writes a register.
 */
int flow_take_origin(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o, const char *name)
{
	const struct insn_loc *wrong;

	switch (o->effect) {
	case INSN_COPIES:
		if (made_of_frame(f, r, o))
			return is_of_frame(f, name);
		if (!made_of_number(f, o))
			return flow_go_on(f, r, &o->from[0], true);
		explain_end(f->x, END_COMPUTED, "the statement made an address of a number");
		return FLOW_ENDED;
	case INSN_DERIVES:
		if (o->from[0].where == INSN_IN_MEM && o->what.where == INSN_IN_MEM &&
		    o->from[0].addr == o->what.addr) {
			if (flow_go_on(f, r, &o->from[0], false) || flow_was_wrong(f))
				return f->x->end ? FLOW_ENDED : FLOW_ON;
			f->x->counted = true;
			break;
		}
		if (made_large(f, r, o))
			break;
		if (made_of_frame(f, r, o))
			return is_of_frame(f, name);
		if (is_comparison(o) || f->pointer || is_part_of_comparison(f, o)) {
			f->derived = true;
			return flow_go_on(f, r, &o->from[0], false);
		}
		break;
	case INSN_SETS:
		if (f->x->ways->begins_empty(f))
			return FLOW_ENDED;
		explain_end(f->x, END_CONSTANT, "the statement set %s to a constant", name);
		return FLOW_ENDED;
	case INSN_COMPUTES:
		wrong = flow_wrong_one(f, r, o);
		if (wrong) {
			note_other(f, r, o, wrong);
			f->derived = true;
			return flow_go_on(f, r, wrong, false);
		}
		break;
	case INSN_KEEPS:
		explain_end(f->x, END_UNKNOWN, "the instruction that wrote %s is not understood", name);
		return FLOW_ENDED;
	}
	if (o->what.where == INSN_IN_REG && o->what.reg == INSN_FLAGS)
		explain_end(f->x, END_UNKNOWN, "values were compared, and it is not known which one was wrong");
	else
		explain_end(f->x, END_COMPUTED, "the statement computed %s", name);
	return FLOW_ENDED;
}

bool flow_same_line(const struct explain *x, const struct inspect *p)
{
	return x->chain.n && chain_same_place(x->chain.v[x->chain.n - 1].location, p->location, true);
}

bool flow_is_stack(struct explain *x, uint64_t addr)
{
	struct mapping m;

	return shim_is_stack(addr) || (maps_find(cursor_memory(&x->t), addr, &m) && str_eq(m.path, "[stack]"));
}

bool flow_is_heap(uint64_t addr)
{
	return addr >= SHIM_HEAP_MAIN_ADDR && addr < SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32);
}
