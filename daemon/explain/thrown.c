/* SPDX-License-Identifier: MIT */
/* thrown.c: exceptions that nobody caught. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "timetravel/cursor_int.h"

static const char *const throwing[] = {"__cxa_throw", NULL};

static char *symbol_at(struct inspect *p, uint64_t addr)
{
	char *text = inspect_symbol(p->x->g, addr);

	if (text)
		text[strcspn(text, "@")] = '\0'; /* a version */
	return text;
}

static uint64_t word_at(struct inspect *p, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(p->copy, addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/* The text of an object of a class derived from std::exception (what()); malloc'd. NULL: it is none. */
static char *what_of(struct inspect *p, uint64_t object)
{
	uint64_t what = word_at(p, word_at(p, object) + 16);
	cleanup_free char *name = what ? symbol_at(p, what) : NULL, *call = NULL, *value = NULL;
	char *open, *close;

	if (!name || !strstr(name, "::what() const"))
		return NULL;
	call = str_fmt("((const char *(*)(void *)) 0x%llx)((void *) 0x%llx)", (unsigned long long)what,
		       (unsigned long long)object);
	value = inspect_eval(p, 0, call);
	open = value ? strchr(value, '"') : NULL;
	close = open ? strrchr(open + 1, '"') : NULL;
	return close ? xstrndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

/* The first argument but `this` of the function in a frame of p, if it is a number or an address: where it is. */
static bool argument_of(struct inspect *p, int level, struct insn_loc *l)
{
	cleanup_mi_reply struct mi_reply r = {0};
	const struct mi_value *list;
	struct err ignored;

	if (gdb_select(p->x->g, 0, level, &ignored) ||
	    gdb_cmd(p->x->g, 0, &r, &ignored, "-stack-list-variables --no-values"))
		return false;
	list = mi_get(r.result->results, "variables");
	for (size_t i = 0; list && i < list->n; i++) {
		const char *name = mi_str(list->item[i], "name");
		cleanup_free char *at = NULL, *size = NULL;
		uint64_t len;

		if (!name || !mi_str(list->item[i], "arg") || str_eq(name, "this"))
			continue;
		at = str_fmt("&(%s)", name);
		size = str_fmt("sizeof(%s)", name);
		if (!inspect_number(p, level, at, &l->addr) || !inspect_number(p, level, size, &len) || len > 8)
			return false;
		l->where = INSN_IN_MEM;
		l->len = (unsigned)len;
		return true;
	}
	return false;
}

/*
 * The register of the first integer that is printed by `format`, a printf format which is itself the first argument; 0:
 * there is none.
 */
static unsigned register_of_number(const char *format)
{
	static const unsigned args[] = {INSN_RSI, INSN_RDX, INSN_RCX, 8, 9};
	unsigned k = 0;

	for (const char *s = format; (s = strchr(s, '%')) && k < sizeof(args) / sizeof(args[0]); s++) {
		s++;
		if (*s == '%')
			continue;
		s += strspn(s, "zlh");
		if (*s && strchr("diux", *s))
			return args[k];
		if (!*s)
			break;
		k++;
	}
	return 0;
}

/*
 * An inlined function, at that level of p, has called a function of the library that throws, with a text and the number
 * that was refused. Goes to that call; p is closed. 0: *l is that number; 1: it is not known; -1.
 */
static int to_refusal(struct explain *x, struct inspect *p, int level, struct insn_loc *l, struct err *e)
{
	cleanup_free char *format = NULL;
	struct user_regs_struct r;
	struct gdb_regs outer;
	struct err ignored;
	bool unused;
	int got = gdb_frame_regs(x->g, 0, level, &outer, &ignored) ? 1 : 0;

	inspect_close(p);
	if (!got)
		got = flow_last_write(x, outer.value[GDB_REG_SP] - 8, 8, 0, &unused, e);
	if (got || explain_regs(x, x->t.in.seg.tid, &r, e))
		return got ? got : -1;
	format = failure_text(x, r.rdi);
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = format ? register_of_number(format) : 0, .len = 8};
	return l->reg ? 0 : 1;
}

/* As to_refusal, and follows the number. 1: that is not known; the chain is not changed, and p is open again. */
static int by_refusal(struct explain *x, struct inspect *p, int level, struct err *e)
{
	struct timeline_point at = p->at;
	size_t before = x->chain.n;
	struct insn_loc l;
	int r = to_refusal(x, p, level, &l, e);

	if (!r)
		r = flow_follow(x, x->t.in.seg.tid, &l, false, e);
	if (r < 0 || (!r && x->chain.n > before && !chain_led_nowhere(x->end)))
		return r;
	explain_cut(x, before);
	explain_reopen(x);
	return cursor_goto_point(&x->t, &at, e) || inspect_open(p, x, e) ? -1 : 1;
}

/*
 * p stands at the throw of an exception, and is closed. If a library refused an argument by it, that argument is
 * followed. The chain stays as it is where that is not known, and where a statement of the program's own threw it.
 */
static int why_thrown(struct explain *x, struct inspect *p, struct err *e)
{
	int innermost = failure_with_source(p, 1), level = innermost, r = 1;
	size_t before = x->chain.n;
	struct insn_loc l = {0};

	if (level >= 0 && !path_is_system(p->frames[level].fullname)) {
		inspect_close(p);
	} else {
		while (level >= 0 && level + 1 < (int)p->nframes && p->frames[level + 1].fullname &&
		       path_is_system(p->frames[level + 1].fullname))
			level++;
		if (level >= 0 && argument_of(p, level, &l)) {
			inspect_close(p);
			r = flow_follow(x, x->t.in.seg.tid, &l, false, e);
		} else if (innermost >= 0) { /* the compiler has put the function into its caller */
			r = by_refusal(x, p, innermost, e);
			if (r == 1)
				r = because_of_line(x, p, innermost, false, e);
		} else {
			inspect_close(p);
		}
	}
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r || chain_led_nowhere(x->end) || x->chain.n == before) {
		explain_cut(x, before);
		explain_reopen(x);
	}
	return 0;
}

int failure_exception(struct explain *x, struct err *e)
{
	cleanup_free char *type = NULL, *what = NULL, *name = NULL;
	struct user_regs_struct r;
	struct inspect p = {0};
	int got;

	failure_set_kind(x, "terminate", "std::terminate was called");
	got = failure_tell(x, &p, e);
	inspect_close(&p);
	if (got)
		return -1;
	got = failure_to_entry(x, throwing, e);
	if (got < 0)
		return -1;
	if (got) {
		explain_end(x, END_DECIDED, "no exception was thrown before");
		x->found = true;
		return 0;
	}
	if (explain_regs(x, x->t.in.seg.tid, &r, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	name = symbol_at(&p, r.rsi);
	type = name && str_starts(name, "typeinfo for ") ? xstrdup(name + strlen("typeinfo for ")) : xstrdup("?");
	what = what_of(&p, r.rdi);
	failure_set_kind(x, "exception", "nobody caught an exception of type %s%s%s", type, what ? ": " : "",
			 what ? what : "");
	str_set(&x->failure.type, "%s", type);
	if (what)
		str_set(&x->failure.what, "%s", what);
	str_set(&x->chain.v[0].words, "%s", x->failure.text);
	if (x->t.in.seg.tid != cursor_now(&x->t, x->tid))
		explain_note(x, "the last exception before the failure was thrown by another thread");
	inspect_step(&p, STEP_THROW, NULL, NULL, what, "an exception of type %s was thrown here%s%s", type,
		     what ? ": " : "", what ? what : "");
	x->found = true;
	if (why_thrown(x, &p, e))
		return -1;
	explain_end(x, END_THROWN, "the exception was thrown here");
	return 0;
}
