/* SPDX-License-Identifier: MIT */
/*
 * sanitizer.c: see sanitizer.h. The runtime is recognised by the names of its functions, which are reserved for it; it
 * may be a library, or part of the program.
 */
#include "sanitizer/sanitizer.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "chain/inspect.h"
#include "flow/flow.h"
#include "replay/stack.h"
#include "rlog/rlog.h"
#include "sanitizer/report.h"
#include "timetravel/cursor_int.h"

/* ---- the frames ---- */

/* At most this many frames of libc, by which the runtime ends the program, are inside of the runtime's own. */
#define INNER_FRAMES 12

static bool is_runtime(const char *name)
{
	static const char *const prefixes[] = {"__asan",   "__ubsan",	     "__sanitizer",	"__lsan",
					       "__hwasan", "__interceptor_", "___interceptor_", "__interception"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str_starts(name, prefixes[i]))
			return true;
	return false;
}

/* Is it the runtime's own function, with the name of the one of libc that it intercepts? */
static bool is_intercepted(struct inspect *p, size_t level)
{
	const char *name = inspect_function(p, level);
	cleanup_free char *own = str_fmt("&__interceptor_%.*s", (int)strcspn(name, "(@"), name);
	uint64_t addr;

	return !p->frames[level].fullname && inspect_number(p, 0, own, &addr);
}

/* "NAME" of "SPACE::NAME(...)", malloc'd. */
static char *without_namespace(const char *name)
{
	size_t n = strcspn(name, "(@");

	while (n && memmem(name, n, "::", 2)) {
		const char *next = strstr(name, "::") + 2;

		n -= (size_t)(next - name);
		name = next;
	}
	return xstrndup(name, n);
}

/*
 * The level of the frame that called the innermost functions of the runtime; 0: they did not run, or that is not known.
 * *signal: the runtime handled a signal, and it is the frame that the signal interrupted.
 */
static size_t caller_level(struct inspect *p, bool *signal)
{
	size_t level = 0;

	while (level < p->nframes && level < INNER_FRAMES && !is_runtime(inspect_function(p, level)))
		level++;
	if (level >= p->nframes || level >= INNER_FRAMES)
		return 0;
	while (level < p->nframes && (is_runtime(inspect_function(p, level)) || is_intercepted(p, level)))
		level++;
	*signal = false;
	for (; level < p->nframes && (stack_is_shim(&p->frames[level]) || p->frames[level].signal_handler); level++)
		*signal |= p->frames[level].signal_handler;
	return level < p->nframes ? level : 0;
}

/* The call that returns to `ret`; 0: there is none in front of that. */
static uint64_t call_before(struct explain *x, uint64_t ret)
{
	uint8_t code[INSN_BYTES];
	struct user_regs_struct r = {0};
	struct insn i;

	for (unsigned len = 2; len <= 7; len++) {
		struct err ignored;

		r.rip = ret - len;
		if (!explain_insn(x, &r, code, &i, &ignored) && insn_len(&i) == len && insn_kind(&i) == INSN_CALL)
			return r.rip;
	}
	return 0;
}

#define OTHERS 64u /* passes of other threads */

/* Back to the thread's last pass of that call. 0; 1: it is not met, and the program may stand anywhere; -1. */
static int to_call(struct explain *x, uint64_t call, struct err *e)
{
	pid_t tid = x->t.in.seg.tid;
	uint32_t who = cursor_ordinal(&x->t, tid);
	struct stop stop = {0};
	int r = 0;

	if (!call)
		return 1;
	breaks_add(&x->t.breaks, call, 0);
	for (unsigned n = 0; !r && n < OTHERS; n++) {
		r = cursor_back_continue(&x->t, &stop, e);
		if (!r && (stop.kind != STOP_BREAK || cursor_ordinal(&x->t, x->t.in.seg.tid) == who))
			break;
	}
	breaks_fini(&x->t.breaks);
	if (r && (e->kind != ERR_CANCELLED || op_cancelled(x->ctx)))
		return -1;
	return r || stop.kind != STOP_BREAK || cursor_ordinal(&x->t, x->t.in.seg.tid) != who;
}

/* ---- the report ---- */

#define TEXT 1024u
#define WRITES 12u

/* Adds the beginning of the bytes there. */
static void add_text(struct explain *x, uint64_t addr, uint64_t len, struct buf *text)
{
	char s[TEXT + 1] = {0};
	struct err ignored;

	if (len > TEXT)
		len = TEXT;
	if (!trace_read(cursor_memory(&x->t), addr, s, len, &ignored))
		buf_add_str(text, s);
}

/*
 * The runtime was called after event `first`: reads its report in what that thread wrote since then. The cursor may
 * stand anywhere afterwards. -1: the replay failed.
 */
static int read_report(struct explain *x, uint64_t first, uint32_t thread, struct sanitizer_report *report,
		       struct err *e)
{
	cleanup_buf struct buf text = {0};
	unsigned writes = 0;

	for (uint64_t n = first + 1; n <= nav_total(&x->nav) && writes < WRITES; n++) {
		struct timeline_event ev;
		const uint64_t *op = ev.ev.rec.op;
		int r;

		if (timeline_read(x->nav.t.tl, n, &ev, e))
			return -1;
		if (ev.where.process != x->process || ev.where.thread != thread || ev.ev.rec.kind != RLOG_SYS ||
		    ev.ev.rec.nops < 4 || op[0] != SYS_write || !op[3])
			continue;
		writes++;
		r = cursor_goto_end(&x->t, n - 1, e);
		if (r < 0)
			return -1;
		if (!r)
			add_text(x, op[2], op[3], &text);
		if (sanitizer_report_parse(buf_str(&text), report) && (report->size || !report->addr))
			break;
	}
	return 0;
}

static void tell_report(struct explain *x, const struct sanitizer_report *r, const char *entry)
{
	const char *tool = r->tool[0]			  ? r->tool
			   : str_starts(entry, "__ubsan") ? "UndefinedBehaviorSanitizer"
			   : str_starts(entry, "__asan")  ? "AddressSanitizer"
							  : "a sanitizer";

	x->failure.kind = "sanitizer";
	if (x->ending.how == PROCS_FAILED)
		x->failure.code = x->ending.value;
	if (r->addr)
		str_set(&x->failure.address, "0x%llx", (unsigned long long)r->addr);
	if (r->what[0])
		str_set(&x->failure.what, "%s", r->what);
	if (r->size)
		str_set(&x->failure.text, "%s reported %s: it %s %llu bytes at 0x%llx", tool, r->what,
			r->writes ? "wrote" : "read", (unsigned long long)r->size, (unsigned long long)r->addr);
	else
		str_set(&x->failure.text, "%s reported %s%s", tool, r->tool[0] ? "" : "an error", r->what);
}

/* ---- what was wrong ---- */

/* The argument of a handler of UndefinedBehaviorSanitizer that has the value; INSN_NO_REG: none has. */
static unsigned ubsan_argument(const char *name)
{
	static const char *const none[] = {"builtin_unreachable", "missing_return", "nonnull", "nullability", "cfi"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (str_starts(name, none[i]))
			return INSN_NO_REG;
	return str_starts(name, "shift") || str_starts(name, "divrem") ? INSN_RDX : INSN_RSI;
}

/* The argument of a function of libc that says how many bytes it accesses; INSN_NO_REG: none is known. */
static unsigned length_argument(const char *entry)
{
	static const struct {
		const char *name;
		unsigned reg;
	} lengths[] = {{"memcpy", INSN_RDX},  {"memmove", INSN_RDX}, {"memset", INSN_RDX},  {"memcmp", INSN_RDX},
		       {"memchr", INSN_RDX},  {"bcmp", INSN_RDX},    {"strncpy", INSN_RDX}, {"strncat", INSN_RDX},
		       {"strncmp", INSN_RDX}, {"read", INSN_RDX},    {"write", INSN_RDX},   {"pread", INSN_RDX},
		       {"pwrite", INSN_RDX},  {"recv", INSN_RDX},    {"send", INSN_RDX},    {"fgets", INSN_RSI},
		       {"snprintf", INSN_RSI}};
	static const char *const before[] = {"___interceptor_", "__interceptor_", "__asan_"};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (str_starts(entry, before[i])) {
			entry += strlen(before[i]);
			break;
		}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (str_eq(entry, lengths[i].name))
			return lengths[i].reg;
	return INSN_NO_REG;
}

/*
 * The argument of an intercepted function that made its access invalid: the number of bytes, if the pointer alone is
 * not, or the pointer.
 */
static unsigned library_argument(const char *entry, const struct sanitizer_report *report,
				 const struct user_regs_struct *r, bool *pointer)
{
	static const unsigned regs[] = {INSN_RDI, INSN_RSI};
	unsigned best = INSN_NO_REG, length = length_argument(entry);

	*pointer = true;
	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
		uint64_t v = insn_reg(r, regs[i]);

		if (regs[i] != length && v <= report->addr && report->addr - v < report->size &&
		    (best == INSN_NO_REG || v > insn_reg(r, best)))
			best = regs[i];
	}
	if (best == INSN_NO_REG || insn_reg(r, best) == report->addr || length == INSN_NO_REG ||
	    insn_reg(r, length) != report->size)
		return best;
	*pointer = false;
	return length;
}

static unsigned wrong_argument(const char *entry, const struct sanitizer_report *report,
			       const struct user_regs_struct *r, bool *pointer)
{
	static const char ubsan[] = "__ubsan_handle_";

	*pointer = true;
	if (str_starts(entry, ubsan)) {
		*pointer = str_starts(entry + strlen(ubsan), "type_mismatch");
		return ubsan_argument(entry + strlen(ubsan));
	}
	if (str_starts(entry, "__asan_report_") || str_starts(entry, "__asan_load") ||
	    str_starts(entry, "__asan_store") || !report->size)
		return str_starts(entry, "__ubsan") ? INSN_NO_REG : INSN_RDI;
	return library_argument(entry, report, r, pointer);
}

/* ---- where its life ended ---- */

/* The byte in which AddressSanitizer notes whether these 8 bytes may be accessed: x86-64 Linux, fixed by its ABI. */
static uint64_t shadow_of(uint64_t addr)
{
	return (addr >> 3) + 0x7fff8000;
}

/* Adds the step where the memory was made inaccessible. 0; 1: that is not found; -1. */
static int tell_end_of_life(struct explain *x, uint64_t addr, struct err *e)
{
	struct user_regs_struct regs;
	struct inspect p = {0};
	uint64_t call = 0;
	size_t level;
	bool ignored, inside, signal;
	int r = flow_last_write(x, shadow_of(addr), 1, 0, &ignored, e);

	if (r)
		return r < 0 ? -1 : 1;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	level = caller_level(&p, &signal);
	inside = level > 0 && !signal;
	if (inside)
		call = call_before(x, p.frames[level].addr);
	inspect_close(&p);
	r = inside ? to_call(x, call, e) : 0;
	if (r || explain_regs(x, x->t.in.seg.tid, &regs, e) || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return r > 0 ? 1 : -1;
	}
	inspect_step(&p, STEP_FREE, NULL, NULL, NULL,
		     inside ? "the memory at 0x%llx was freed here" : "the life of the memory at 0x%llx ended here",
		     (unsigned long long)addr);
	r = inside ? flow_tell_giver(&p, regs.rdi, true, NULL, e) : 0;
	inspect_close(&p);
	x->found = true;
	explain_end(x, END_FREED, "the memory was used after that");
	return r < 0 ? -1 : 0;
}

/* ---- the failure ---- */

static int follow(struct explain *x, const char *entry, const struct sanitizer_report *report, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .len = 8};
	struct timeline_point at = x->at;
	struct user_regs_struct r;
	bool pointer;
	int got;

	if (report->addr && sanitizer_report_is_stale(report)) {
		got = tell_end_of_life(x, report->addr, e);
		if (got <= 0)
			return got;
		explain_reopen(x);
		if (cursor_goto_point(&x->t, &at, e))
			return -1;
	}
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	l.reg = wrong_argument(entry, report, &r, &pointer);
	if (l.reg == INSN_NO_REG) {
		x->found = true;
		explain_end(x, END_DECIDED, "the sanitizer reported this statement");
		return 0;
	}
	return flow_follow(x, x->tid, &l, pointer, e);
}

/*
 * Goes to the program's instruction `pc` that the runtime was called or interrupted for, which becomes the failure, and
 * reads the report. 0; 1: it is not met, and the program stands at its end; -1.
 */
static int to_failure(struct explain *x, uint64_t pc, struct sanitizer_report *report, struct err *e)
{
	int got = to_call(x, pc, e);

	if (got < 0 || (got && explain_goto_failure(x, e)))
		return -1;
	x->tid = x->t.in.seg.tid;
	if (cursor_where(&x->t, &x->at, e))
		return -1;
	if (!got && (read_report(x, x->at.event, cursor_ordinal(&x->t, x->tid), report, e) ||
		     cursor_goto_point(&x->t, &x->at, e)))
		return -1;
	return got;
}

/* The program stands at its end, inside of the runtime. */
static int explain_report(struct explain *x, const char *entry, uint64_t call, struct err *e)
{
	struct sanitizer_report report = {0};
	struct inspect p = {0};
	int r, got = to_failure(x, call, &report, e);

	if (got < 0)
		return -1;
	tell_report(x, &report, entry);
	r = inspect_open(&p, x, e);
	if (!r)
		inspect_step(&p, STEP_FAILURE, NULL, NULL, NULL, "%s", x->failure.text);
	inspect_close(&p);
	if (r)
		return -1;
	if (!got)
		return follow(x, entry, &report, e);
	explain_end(x, END_UNKNOWN, "the program's call of the sanitizer's runtime is not found");
	return 0;
}

static int signal_of(const char *what)
{
	static const struct {
		const char *name;
		int sig;
	} signals[] = {{"FPE", SIGFPE}, {"BUS", SIGBUS}, {"ILL", SIGILL}, {"TRAP", SIGTRAP}};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (str_starts(what, signals[i].name))
			return signals[i].sig;
	return SIGSEGV;
}

/* The same, where the runtime handled a signal. SANITIZER_SIGNAL, 1 or -1. */
static int read_signal(struct explain *x, uint64_t pc, struct sanitizer_signal *s, struct err *e)
{
	struct sanitizer_report report = {0};
	int r = to_failure(x, pc, &report, e);

	if (r)
		return r;
	*s = (struct sanitizer_signal){signal_of(report.what), report.addr, pc};
	explain_note(x, "%s handled the signal, and ended the program", report.tool[0] ? report.tool : "a sanitizer");
	return SANITIZER_SIGNAL;
}

int sanitizer_explain(struct explain *x, struct sanitizer_signal *s, struct err *e)
{
	cleanup_free char *entry = NULL;
	struct inspect p = {0};
	uint64_t pc = 0;
	bool signal = false;
	size_t level;

	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	level = caller_level(&p, &signal);
	if (level) {
		entry = without_namespace(inspect_function(&p, level - 1));
		pc = signal ? p.frames[level].addr : call_before(x, p.frames[level].addr);
	}
	inspect_close(&p);
	if (!level)
		return 1;
	return signal ? read_signal(x, pc, s, e) : explain_report(x, entry, pc, e);
}
