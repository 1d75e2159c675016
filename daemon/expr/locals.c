/* SPDX-License-Identifier: MIT */
/*
 * locals.c: see locals.h. GDB's Python tells whether a symbol needs a frame, and the lines of its function; a GDB
 * without it knows of no local variables here.
 *
 * A variable counts as not declared yet in the code of earlier lines of its function, and of its own line up to
 * where that line's code ends for the first time (the rest is what a for statement does after each round).
 *
 * Whether a frame is there is found without unwinding: the stack pointer is below it and its return address in its
 * place. Another call of the function from the same place, in the same frame, is the same to us.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "expr/locals.h"
#include "replay/segment.h"
#include "trace/trace.h"

/* Prints "code LO HI", and "unset LO HI" for each stretch; nothing when the symbol needs no frame. */
static const char script[] = "python exec(\""
			     "f = gdb.selected_frame()\\n"
			     "s = gdb.lookup_symbol('%s')[0]\\n"
			     "b = f.block() if s and s.needs_frame else None\\n"
			     "while b and not b.function: b = b.superblock\\n"
			     "if b:\\n"
			     " fn = b.function\\n"
			     " print('code', b.start, b.end, fn.name)\\n"
			     " own = 0\\n"
			     " last = None\\n"
			     " for i in sorted(fn.symtab.linetable(), key=lambda i: i.pc):\\n"
			     "  if i.pc < b.start or i.pc > b.end: continue\\n"
			     "  if last and last[1] != s.line and i.line == s.line: own += 1\\n"
			     "  if last and (fn.line <= last[1] < s.line or (last[1] == s.line and own <= 1)):\\n"
			     "   print('unset', last[0], i.pc)\\n"
			     "  last = (i.pc, i.line)\\n"
			     "\")";

static void add_unset(struct expr_locals *l, uint64_t lo, uint64_t hi)
{
	struct expr_range *last = l->unset_n ? &l->unset[l->unset_n - 1] : NULL;

	if (lo == hi)
		return;
	if (last && last->hi == lo)
		last->hi = hi;
	else if (l->unset_n < EXPR_UNSET_MAX)
		l->unset[l->unset_n++] = (struct expr_range){lo, hi};
}

/* Does the symbol need a frame? Then its function's code and its unset ranges are copied. */
static bool take(const char *text, struct expr_locals *l)
{
	bool any = false;

	for (const char *p = text; *p; p = strchrnul(p, '\n'), p += *p == '\n') {
		uint64_t lo, hi;

		if (sscanf(p, "code %" SCNu64 " %" SCNu64 " %127[^\n]", &lo, &hi, l->func) == 3) {
			l->code = (struct expr_range){lo, hi};
			any = true;
		} else if (sscanf(p, "unset %" SCNu64 " %" SCNu64, &lo, &hi) == 2) {
			add_unset(l, lo, hi);
		}
	}
	return any;
}

static bool contains(const struct expr_range *r, uint64_t pc)
{
	return pc >= r->lo && pc < r->hi;
}

/* In the frame's present place the variables are taken as declared, since the user names them there. */
static void drop_ranges_at(struct expr_locals *l, uint64_t pc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->unset_n; i++)
		if (!contains(&l->unset[i], pc))
			l->unset[n++] = l->unset[i];
	l->unset_n = n;
}

static int number(struct gdb *g, pid_t tid, int frame, const char *expr, uint64_t *value)
{
	cleanup_free char *text = NULL;
	struct err ignored;

	if (gdb_eval(g, expr, tid, frame, 0, &text, &ignored))
		return -1;
	return str_u64(text, 10, 1, UINT64_MAX, value);
}

static int find_cfa(struct gdb *g, pid_t tid, int frame, uint64_t *cfa)
{
	cleanup_free char *text = NULL;
	const char *at;
	struct err ignored;

	if (gdb_console_at(g, tid, frame, 0, "info frame", &text, &ignored))
		return -1;
	at = strstr(text, "rame at 0x");
	if (!at)
		return -1;
	*cfa = strtoull(at + 8, NULL, 16);
	return 0;
}

/* The address of the outermost frame on the stack that the thread runs on. 0: it is too far out. */
static uint64_t stack_top(struct gdb *g, pid_t tid, int frame)
{
	static const char ask[] = "python exec(\"f, n = gdb.selected_frame(), 0\\n"
				  "while n < 1000 and f.older(): f, n = f.older(), n + 1\\n"
				  "print(-1 if f.older() else f.level())\")";
	cleanup_free char *text = NULL;
	struct err ignored;
	uint64_t cfa;
	int level;

	if (gdb_console_at(g, tid, frame, 0, ask, &text, &ignored) || sscanf(text, "%d", &level) != 1 || level < 0)
		return 0;
	return find_cfa(g, tid, level, &cfa) ? 0 : cfa;
}

static int identify(struct gdb *g, pid_t tid, int frame, struct expr_locals *l)
{
	cleanup_free char *at = NULL;

	if (find_cfa(g, tid, frame, &l->cfa))
		return -1;
	at = str_fmt("*(unsigned long *)0x%" PRIx64, l->cfa - 8);
	l->tid = tid;
	l->thread = tid ? segment_thread_of(gdb_target(g), tid) : 0;
	l->top = stack_top(g, tid, frame);
	return number(g, tid, frame, "(unsigned long)$sp", &l->sp) || number(g, tid, frame, at, &l->ret);
}

int expr_locals_add(struct gdb *g, pid_t tid, int frame, const char *name, struct expr_locals *l, struct err *e)
{
	cleanup_free char *cmd = NULL, *text = NULL;
	struct gdb_regs regs;

	if (!name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		cmd = str_fmt(script, name);
	if (!cmd || gdb_console_at(g, tid, frame, 0, cmd, &text, e))
		return gdb_dead(g) ? -1 : 1;
	if (!take(text, l))
		return 1;
	if (gdb_frame_regs(g, tid, frame, &regs, e))
		return -1;
	drop_ranges_at(l, regs.scope_pc);
	if (!l->any && identify(g, tid, frame, l))
		return gdb_dead(g) ? -1 : 1;
	l->any = true;
	return 0;
}

/* Do both lie in one mapping of the thread's process, that is, on its stack? */
static bool is_on_stack(pid_t tid, uint64_t sp, uint64_t addr)
{
	struct mapping m;

	return maps_find(tid, sp, &m) && addr >= sp && addr < m.hi;
}

/* Among the frames (lo, hi], of which hi reaches beyond addr: the innermost one that reaches beyond it. */
static int bisect_frames(struct gdb *g, pid_t tid, int lo, int hi, uint64_t addr)
{
	uint64_t cfa;

	while (hi - lo > 1) {
		int mid = lo + (hi - lo) / 2;

		if (find_cfa(g, tid, mid, &cfa))
			return -1;
		if (addr < cfa)
			hi = mid;
		else
			lo = mid;
	}
	return hi;
}

/* From `frame` on, the innermost frame that reaches beyond addr; -1: none. A stack may be deep. */
static int frame_of(struct gdb *g, pid_t tid, int frame, uint64_t addr)
{
	int lo = frame - 1, step = 1;
	bool grows = true;
	uint64_t cfa;

	while (step) {
		if (!find_cfa(g, tid, lo + step, &cfa)) {
			if (addr < cfa)
				return bisect_frames(g, tid, lo, lo + step, addr);
			lo += step;
		} else {
			grows = false; /* there is no such frame: continues in smaller steps */
		}
		step = grows ? step * 2 : step / 2;
	}
	return -1;
}

static int name_function(struct gdb *g, pid_t tid, int frame, struct expr_locals *l)
{
	struct gdb_frame *frames;
	struct err ignored;
	size_t n;

	if (gdb_backtrace(g, tid, frame + 1, &frames, &n, &ignored))
		return -1;
	if ((size_t)frame < n && frames[frame].func)
		snprintf(l->func, sizeof(l->func), "%s", frames[frame].func);
	gdb_frames_free(frames, n);
	return *l->func ? 0 : -1;
}

int expr_locals_frame_at(struct gdb *g, pid_t tid, int frame, struct expr_locals *l)
{
	*l = (struct expr_locals){0};
	l->any = !identify(g, tid, frame, l);
	return l->any ? 0 : -1;
}

int expr_locals_owner(struct gdb *g, pid_t tid, int frame, uint64_t addr, struct expr_locals *l)
{
	uint64_t sp;
	int f;

	if (number(g, tid, frame, "(unsigned long)$sp", &sp) || !is_on_stack(tid ? tid : gdb_target(g), sp, addr))
		return 1;
	f = frame_of(g, tid, frame, addr);
	if (f < 0)
		return 1;
	l->any = !identify(g, tid, f, l) && !name_function(g, tid, f, l);
	return !l->any;
}

/* Has the frame this function? GDB gives a frame's name without parameters. */
static bool is_named(const struct gdb_frame *f, const char *func)
{
	size_t n = f->func ? strlen(f->func) : 0;

	return n && !strncmp(func, f->func, n) && (!func[n] || func[n] == '(');
}

/* Inlined functions are in one frame, and are told apart by their names. */
int expr_locals_frame(struct gdb *g, pid_t tid, const struct expr_locals *l)
{
	struct gdb_frame *frames;
	struct err ignored;
	uint64_t cfa;
	int found = -1;
	size_t n;

	if (gdb_backtrace(g, tid, 0, &frames, &n, &ignored))
		return -1;
	for (size_t i = 0; i < n && found < 0; i++)
		if (is_named(&frames[i], l->func) && !find_cfa(g, tid, (int)i, &cfa) && cfa == l->cfa)
			found = (int)i;
	gdb_frames_free(frames, n);
	return found;
}

pid_t expr_locals_tid(const struct expr_locals *l, pid_t pid)
{
	pid_t tid = l->thread ? segment_tid_of(pid, l->thread) : 0;

	return tid ? tid : l->tid;
}

/* ---- is it there? ---- */

/* room for frames that GDB does not show, in which libc calls main or a thread's function */
#define TOP_SLACK 1024
#define PUSHED_MAX 16 /* how many words a call may put between the frame and its return address */

/* The stack pointer and PC of a thread that is not running. false: there is no such thread. */
static bool where(pid_t pid, pid_t tid, uint64_t *sp, uint64_t *pc)
{
	cleanup_fclose FILE *f = NULL;
	char path[64], line[256], *p;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	/* "NUMBER ARGUMENTS SP PC" or "-1 SP PC" */
	p = line + strcspn(line, "\n");
	for (int fields = 0; p > line && fields < 2; fields += *p == ' ')
		p--;
	return sscanf(p, " %" SCNx64 " %" SCNx64, sp, pc) == 2;
}

/* Do both lie in one mapping? A signal handler's stack is another, also where it lies near. */
static bool same_mapping(pid_t pid, uint64_t a, uint64_t b)
{
	struct mapping m;

	return maps_find(pid, a, &m) && mapping_has(&m, b);
}

/* Where the frame continues, from the return address of the function that it has called; 0: not found. */
static uint64_t resumes(const struct expr_locals *l, pid_t pid)
{
	uint64_t word[PUSHED_MAX];

	if (trace_read(pid, l->sp - sizeof(word), word, sizeof(word), NULL))
		return 0;
	for (unsigned i = PUSHED_MAX; i-- > 0;)
		if (contains(&l->code, word[i]))
			return word[i] - 1;
	return 0;
}

static bool is_unset(const struct expr_locals *l, uint64_t pc)
{
	for (unsigned i = 0; i < l->unset_n; i++)
		if (contains(&l->unset[i], pc))
			return true;
	return false;
}

/*
 * What is beyond the top is another stack, of a coroutine or a signal handler, which the program has put into the same
 * mapping.
 */
static bool is_below_top(const struct expr_locals *l, uint64_t sp)
{
	return !l->top || sp < l->top + TOP_SLACK;
}

bool expr_locals_alive(const struct expr_locals *l, pid_t pid)
{
	uint64_t sp = 0, pc = 0, ret = 0;

	if (!l->any)
		return true;
	if (trace_read(pid, l->cfa - 8, &ret, sizeof(ret), NULL) || ret != l->ret)
		return false;
	if (!where(pid, expr_locals_tid(l, pid), &sp, &pc) && !where(pid, pid, &sp, &pc))
		return true;
	if (sp >= l->cfa && is_below_top(l, sp) && same_mapping(pid, l->cfa - 1, sp))
		return false;
	if (sp < l->sp || sp >= l->cfa || !contains(&l->code, pc))
		pc = resumes(l, pid);
	return !is_unset(l, pc);
}
