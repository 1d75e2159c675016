/* SPDX-License-Identifier: MIT */
/*
 * fault.c: faults: an access to memory that is not mapped, a jump to what is no address, a division by zero, a stack
 * overflow.
 */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "expr/text.h"
#include "flow/flow.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"

#define NEAR 65536u /* a member is at most this many bytes from the beginning of its object */
#define CYCLE_MAX 16u
#define CYCLE_FRAMES 48u /* innermost frames, which must repeat */

#define NEAR_STEPS 64u

/*
 * Back in the function to the last instruction that compared a pointer which is null: *l. 0: there; 1: none was
 * reached; -1.
 */
static int to_null_test(struct explain *x, struct insn_loc *l, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct stop stop;
	struct insn i;

	for (unsigned n = 0; n < NEAR_STEPS; n++) {
		struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
		struct insn_origin o;
		enum insn_kind kind;

		if (cursor_back_step(&x->t, x->tid, &stop, e) || explain_regs(x, x->tid, &r, e))
			return -1;
		if (stop.kind != STOP_STEP || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, e))
			return 1;
		kind = insn_kind(&i);
		if (kind == INSN_CALL || kind == INSN_RET)
			return 1;
		insn_origin(&i, &flags, &o);
		if (o.effect != INSN_DERIVES || o.from[0].len != 8 || insn_operands(&i, l, 1) != 1)
			continue;
		if (failure_value(x, &r, l) == 0)
			return 0;
	}
	return 1;
}

/*
 * Do the innermost frames repeat, as in endless recursion? The names of the functions of one round, joined; malloc'd.
 * NULL: they do not.
 */
static char *cycle_of(const struct inspect *p)
{
	size_t first = (size_t)p->user;

	for (unsigned period = 1; period <= CYCLE_MAX; period++) {
		struct buf b = {0};
		bool same = p->nframes >= first + CYCLE_FRAMES + period;

		for (size_t i = first; same && i < first + CYCLE_FRAMES; i++)
			same = str_eq(inspect_function(p, i), inspect_function(p, i + period));
		if (!same)
			continue;
		for (unsigned i = period; i > 0; i--)
			buf_addf(&b, "%s calls ", inspect_function(p, first + i - 1));
		buf_add_str(&b, inspect_function(p, first + period - 1));
		return buf_steal(&b);
	}
	return NULL;
}

/* Is the address below the stack, and near the stack pointer? */
static bool is_below_stack(struct explain *x, const struct failure_fault *f, const struct user_regs_struct *r)
{
	struct mapping m;
	int64_t away = (int64_t)(r->rsp - f->addr);

	if (away > (int64_t)(8u << 20) || away < -4096)
		return false;
	return !maps_find(cursor_memory(&x->t), f->addr, &m) || !m.write;
}

/*
 * Does the statement of the frame name the function that it called? An optimized program's line may be that of another
 * statement.
 */
static bool names_callee(const struct inspect *p, int level)
{
	cleanup_free char *call = str_fmt("%s(", inspect_function(p, (size_t)level - 1));
	json_t *location = show_location_of(&p->frames[level]);
	const char *text = json_string_value(json_object_get(location, "text"));
	bool names = text && strstr(text, call);

	json_decref(location);
	return names;
}

/* The innermost call of the cycle: where it stands now may be a function's first instruction. */
static int innermost_call(const struct inspect *p)
{
	int first = p->user + 1;

	for (int level = first; level < first + (int)CYCLE_MAX && level < (int)p->nframes; level++)
		if (p->frames[level].line > 0 && names_callee(p, level))
			return level;
	return first < (int)p->nframes && p->frames[first].line > 0 ? first : p->user;
}

static int explain_overflow(struct explain *x, struct inspect *p, const char *cycle)
{
	cleanup_free char *text = xstrdup(cycle);

	inspect_step(p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	inspect_look_at(p, innermost_call(p));
	inspect_step(p, STEP_RECURSION, NULL, NULL, NULL, "the recursion does not end: %s", text);
	explain_end(x, END_RECURSION, "the functions call each other without end: %s", text);
	x->found = true;
	return 0;
}

/* The operand that made the access invalid; *index: it is an index, no address. false: not known. */
static bool bad_operand(struct explain *x, const struct insn *i, const struct failure_fault *f, struct insn_loc *l,
			bool *index, struct buf *words)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v), reg;
	const struct insn_access *a = NULL;
	struct mapping m;

	for (unsigned k = 0; k < n; k++)
		if (!a || (f->addr >= v[k].addr && f->addr < v[k].addr + v[k].len))
			a = &v[k];
	if (!a)
		return false;
	reg = a->base;
	if (a->index != INSN_NO_REG) {
		uint64_t base = a->base == INSN_NO_REG ? (uint64_t)a->disp : insn_reg(i->regs, a->base);

		/* the object at the base exists, so the index is wrong */
		if (reg == INSN_NO_REG || maps_find(cursor_memory(&x->t), base, &m))
			reg = a->index;
	}
	if (reg == INSN_NO_REG)
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = reg, .len = 8};
	*index = a->index != INSN_NO_REG || maps_find(cursor_memory(&x->t), (uint64_t)a->disp, &m);
	buf_addf(words, "%s 0x%llx, %s being 0x%llx", a->writes ? "it wrote to" : "it read",
		 (unsigned long long)a->addr, insn_reg_name(reg), (unsigned long long)insn_reg(i->regs, reg));
	return true;
}

#define ARGUMENTS 6u /* in registers */
static const unsigned arguments[ARGUMENTS] = {INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, 8, 9};

/*
 * The text of the arguments in the statement of p that calls the function of its innermost frame; NULL: it is not
 * known, or the statement has several such calls.
 */
static const char *arguments_of_call(const struct inspect *p)
{
	cleanup_free char *call = str_fmt("%s(", inspect_function(p, 0));
	const char *text = json_string_value(json_object_get(p->location, "text"));
	const char *s = text ? strstr(text, call) : NULL;

	if (!s || (s > text && text_is_name(s[-1])))
		return NULL;
	s += strlen(call);
	return strstr(s, call) ? NULL : s;
}

/* How many arguments the statement passes; ARGUMENTS: not known. */
static unsigned arguments_passed(const struct inspect *p)
{
	const char *s = arguments_of_call(p), *end = s ? inspect_closing(s - 1) : NULL;
	unsigned n = 1;
	int depth = 0;

	if (!end || strpbrk(s, "\"'"))
		return ARGUMENTS;
	for (; s < end - 1; s++) {
		depth += strchr("([{", *s) ? 1 : strchr(")]}", *s) ? -1 : 0;
		n += !depth && *s == ',';
	}
	return n < ARGUMENTS ? n : ARGUMENTS;
}

/*
 * A function of libc has failed on what an argument points to: is there an argument whose type is larger than the block
 * of the heap that it points to? Then that pointer is wrong.
 */
static bool too_large_argument(struct inspect *p, const struct user_regs_struct *r, struct insn_loc *l,
			       struct buf *words)
{
	const char *s = arguments_of_call(p);

	for (unsigned k = 0; s && k < ARGUMENTS; k++, s++) {
		cleanup_free char *arg = failure_next_argument(&s), *size = arg ? str_fmt("sizeof(*(%s))", arg) : NULL;
		uint64_t v = insn_reg(r, arguments[k]), len, named;
		struct object o;

		if (!arg)
			return false;
		if (inspect_number(p, p->user, arg, &named) && named == v && inspect_number(p, p->user, size, &len) &&
		    inspect_block(p->copy, v, &o) && o.len && len > 1 && v + len > o.lo + o.len) {
			*l = (struct insn_loc){.where = INSN_IN_REG, .reg = arguments[k], .len = 8};
			buf_addf(words, "its argument `%s' points to %s, which is smaller than its type, of %llu bytes",
				 arg, o.name, (unsigned long long)len);
			return true;
		}
		if (*s == ')')
			break;
	}
	return false;
}

/*
 * In a function of the recorder's that stands for one of libc's: the argument from which the access began, which is the
 * nearest one at or below its address. Near 0, other numbers come into question, too: lengths, which follow the
 * addresses in the arguments of most functions, and what earlier calls have left in registers. There, it is the first
 * such argument.
 */
static bool bad_argument(const struct user_regs_struct *r, unsigned passed, const struct failure_fault *f,
			 struct insn_loc *l, struct buf *words)
{
	unsigned best = INSN_NO_REG;

	for (unsigned k = 0; k < passed; k++) {
		uint64_t v = insn_reg(r, arguments[k]);
		bool wild = v >> 47 && v >> 47 != 0x1ffff;

		if (wild ? f->addr == 0 : f->addr >= v && f->addr - v < NEAR) {
			if (best == INSN_NO_REG || (insn_reg(r, best) < v && v >= NEAR))
				best = arguments[k];
		}
	}
	if (best == INSN_NO_REG)
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = best, .len = 8};
	buf_addf(words, "its argument in %s is 0x%llx", insn_reg_name(best), (unsigned long long)insn_reg(r, best));
	return true;
}

static void name_fault(struct explain *x, const struct failure_fault *f, const char *words)
{
	const char *name = sigabbrev_np(f->sig);

	str_set(&x->failure.address, "0x%llx", (unsigned long long)f->addr);
	failure_set_kind(x, "segfault", "SIG%s: %s", name ? name : "?", words);
}

/*
 * Does the instruction go to an address that no code can have? (A non-canonical one: the processor faults before it
 * goes there.)
 */
static bool goes_astray(struct explain *x, const struct insn *i, struct insn_loc *l, uint64_t *target)
{
	enum insn_kind kind = insn_kind(i);

	if ((kind != INSN_RET && kind != INSN_CALL && kind != INSN_JUMP) || !insn_operands(i, l, 1))
		return false;
	*target = failure_value(x, i->regs, l);
	return *target >> 47 && *target >> 47 != 0x1ffff;
}

/* The program stands at an instruction that goes to the address at l. */
static int explain_target(struct explain *x, const struct insn_loc *l, enum insn_kind kind, uint64_t target,
			  struct err *e)
{
	cleanup_free char *addr = str_fmt("0x%llx", (unsigned long long)target);
	struct inspect p = {0};
	int r;

	str_set(&x->failure.address, "%s", addr);
	failure_set_kind(x, "jump", "the program %s %s, which is no address",
			 kind == INSN_RET    ? "returned to"
			 : kind == INSN_CALL ? "called a function at"
					     : "went to",
			 addr);
	r = failure_tell(x, &p, e);
	inspect_close(&p);
	if (r)
		return -1;
	if (kind == INSN_RET)
		return failure_overwritten_return(x, l->addr, e);
	return flow_follow(x, x->tid, l, true, e);
}

static int explain_division(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_loc l;
	struct inspect p = {0};
	struct insn i;

	failure_set_kind(x, "divide", "SIGFPE: an integer was divided by zero, or the result is too large");
	if (explain_regs(x, x->tid, &r, e) || failure_tell(x, &p, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_close(&p);
	if (explain_insn(x, &r, code, &i, e) || !insn_operands(&i, &l, 1)) {
		explain_end(x, END_UNKNOWN, "the divisor is not known");
		return 0;
	}
	return flow_follow(x, x->tid, &l, false, e);
}

static bool is_code(struct explain *x, uint64_t pc)
{
	struct mapping m;

	return maps_find(cursor_memory(&x->t), pc, &m) && m.exec;
}

/* Does the instruction access a constant address? Then the compiler knew the pointer. */
static bool is_absolute(const struct insn *i)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	return n && v[0].base == INSN_NO_REG && v[0].index == INSN_NO_REG && !v[0].stack;
}

/* The compiler knew on this path of the code that the pointer is null: a test before has found it so. */
static int known_address(struct explain *x, struct err *e)
{
	struct insn_loc l;
	int r = to_null_test(x, &l, e);

	if (r < 0)
		return -1;
	if (!r)
		return flow_follow(x, x->tid, &l, true, e);
	explain_end(x, END_CONSTANT, "the address is a constant of the instruction");
	return 0;
}

int failure_fault(struct explain *x, const struct failure_fault *f, struct err *e)
{
	cleanup_buf struct buf words = {0};
	cleanup_free char *cycle = NULL;
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_loc l;
	struct inspect p = {0};
	struct mapping m;
	uint64_t target;
	bool known, shim, index = false;
	int taken;
	struct insn i;

	if (f->sig == SIGFPE)
		return explain_division(x, e);
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	if (!is_code(x, f->pc))
		return failure_jump(x, f, e);
	if (failure_to_shim_call(x, e) || explain_regs(x, x->tid, &r, e))
		return -1;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (!explain_insn(x, &r, code, &i, e) && goes_astray(x, &i, &l, &target)) {
		inspect_close(&p);
		return explain_target(x, &l, insn_kind(&i), target, e);
	}
	cycle = is_below_stack(x, f, &r) ? cycle_of(&p) : NULL;
	if (cycle) {
		failure_set_kind(x, "stack-overflow", "the stack overflowed");
		explain_overflow(x, &p, cycle);
		inspect_close(&p);
		return 0;
	}
	if (f->sig != SIGSEGV && f->sig != SIGBUS) {
		failure_set_kind(x, "illegal", "SIG%s at 0x%llx", sigabbrev_np(f->sig), (unsigned long long)f->pc);
		inspect_step(&p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
		x->found = true;
		if (because_of_condition(x, &p, p.user, false, CONDITION_OF_ALL, e) < 0)
			return -1;
		explain_end(x, END_DECIDED,
			    "the program executed this instruction: a trap of its own, or a compiler's, or no code");
		return 0;
	}
	shim = visibility_is_shim(&x->t.visibility, r.rip);
	if (shim)
		buf_addf(&words, "in %s, ", inspect_function(&p, 0));
	known = shim ? bad_argument(&r, arguments_passed(&p), f, &l, &words) || too_large_argument(&p, &r, &l, &words)
		     : !explain_insn(x, &r, code, &i, e) && bad_operand(x, &i, f, &l, &index, &words);
	if (!known)
		buf_addf(&words, "access to 0x%llx", (unsigned long long)f->addr);
	name_fault(x, f, buf_str(&words));
	inspect_step(&p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	inspect_close(&p);
	/* the memory exists and can be read, so this was a write */
	if (f->sig == SIGBUS)
		taken = failure_cut_off(x, f->addr, e);
	else
		taken = failure_taken_away(x, f->addr, maps_find(cursor_memory(&x->t), f->addr, &m) && m.read, e);
	if (taken <= 0)
		return taken;
	if (!known) {
		if (!shim && !explain_insn(x, &r, code, &i, e) && is_absolute(&i))
			return known_address(x, e);
		explain_end(x, END_UNKNOWN, "what made the address is not known");
		return 0;
	}
	return index ? flow_follow_index(x, x->tid, &l, e) : flow_follow(x, x->tid, &l, true, e);
}
