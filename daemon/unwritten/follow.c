/* SPDX-License-Identifier: MIT */
/*
 * follow.c: see follow.h. An instruction is executed here when the next one is told, because its accesses are told
 * after it, and its effect on the stack pointer is known only then.
 *
 * What the recorder and the functions of libc that it calls write is not told. Where one of its functions is called,
 * what its arguments point to counts as written, unless that function is known to write nothing there.
 */
#include "unwritten/follow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/str.h"
#include "unwritten/format_args.h"
#include "unwritten/functions.h"

#define STACK_BASE 65536u /* distance above a thread's first stack pointer */
/* the dynamic linker makes some calls in between, to find the function at its first call */
#define CALLS 8u
#define FORMAT_MAX 1024u

struct follow_code {
	struct insn_flow flow;
	uint32_t frame; /* the origin of stack frames that begin here; 0: there is none */
};

struct follow_pending {
	bool has;
	uint32_t code;
	uint64_t pc, hits;
	struct unwritten_done done;
	uint8_t vector[2][UNWRITTEN_BYTES]; /* what done.vector points to */
	uint64_t sp; /* the last one that is known; 0: none */
	/*
	 * For code that is called by code without entries (a function of libc that the recorder has called, a signal
	 * handler): the stack pointer with which it returns, 0: the thread is not in such code; and the registers until
	 * then.
	 */
	uint64_t outer_sp;
	struct unwritten_thread *outer;
	struct { /* the last calls through memory: the word, and where the return address is; 0: none */
		uint64_t slot, sp;
	} calls[CALLS];
	unsigned next; /* the next entry of `calls` */
	/* what a function that reports its writes (FUNCTION_TELLS) may have written until it does so; len 0: nothing */
	struct {
		uint64_t addr, len;
	} silent;
	int outputs; /* 1 + the number of the function, in a call that passes buffers of the program's to the kernel */
	bool outputs_told; /* their contents were checked when they were passed */
};

static void uses(void *ctx, enum unwritten_use use, uint32_t origin)
{
	struct unwritten_follow *f = ctx;

	f->ops->uses(f->ctx, use, NULL, &f->origins[origin], f->now_pc, f->now_hits, 0);
}

void follow_init(struct unwritten_follow *f, struct instrument *i, const struct follow_ops *ops, void *ctx)
{
	*f = (struct unwritten_follow){.ops = ops,
				       .ctx = ctx,
				       .i = i,
				       .origins = xcalloc(1, sizeof(struct follow_origin)),
				       .norigins = 1,
				       .origins_cap = 1,
				       .pending = xcalloc(RLOG_MAX_THREADS, sizeof(struct follow_pending))};
	unwritten_init(&f->u, uses, f);
	imports_init(&f->imports, functions_names, functions_count);
}

void follow_fini(struct unwritten_follow *f)
{
	if (!f->pending)
		return;
	unwritten_fini(&f->u);
	imports_fini(&f->imports);
	free(f->origins);
	free(f->by_stack);
	free(f->codes);
	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++)
		free(f->pending[k].outer);
	free(f->pending);
	*f = (struct unwritten_follow){0};
}

/* ---- origins ---- */

static uint32_t add_origin(struct unwritten_follow *f, bool heap, const struct moment *at)
{
	if (f->norigins == f->origins_cap) {
		f->origins_cap *= 2;
		f->origins = xreallocarray(f->origins, f->origins_cap, sizeof(*f->origins));
	}
	f->origins[f->norigins] = (struct follow_origin){heap, *at};
	return (uint32_t)f->norigins++;
}

/* Blocks that were allocated by the same calls have one origin. */
static uint32_t block_origin(struct unwritten_follow *f, const struct moment *made)
{
	if (made->stack >= f->nby_stack) {
		size_t n = made->stack * 2 + 64;

		f->by_stack = xreallocarray(f->by_stack, n, sizeof(*f->by_stack));
		memset(f->by_stack + f->nby_stack, 0, (n - f->nby_stack) * sizeof(*f->by_stack));
		f->nby_stack = n;
	}
	if (!f->by_stack[made->stack])
		f->by_stack[made->stack] = add_origin(f, true, made);
	return f->by_stack[made->stack];
}

static uint32_t frame_origin(struct unwritten_follow *f, uint32_t code, uint64_t pc, uint64_t hits)
{
	if (!f->codes[code].frame) {
		struct moment at = f->ops->here(f->ctx, pc, hits);

		f->codes[code].frame = add_origin(f, false, &at);
	}
	return f->codes[code].frame;
}

/* ---- instructions ---- */

/*
 * libc's string functions also load what is beyond the end of a string, and act by where the end is. Their values would
 * decide that, but are known for a few instructions only.
 */
static void trust_vectors(struct insn_flow *flow)
{
	if (flow->op == FLOW_VECTOR_SIGNS || flow->op == FLOW_VECTOR_TEST)
		flow->op = FLOW_UNKNOWN;
}

static uint32_t code_of(struct unwritten_follow *f, struct instrument_insn *x)
{
	uint8_t code[INSN_BYTES];
	size_t n;

	if (x->mark)
		return x->mark - 1;
	n = trace_read_some(f->i->t->pid, x->pc, code, sizeof(code));
	if (f->ncodes == f->codes_cap) {
		f->codes_cap = f->codes_cap ? f->codes_cap * 2 : 4096;
		f->codes = xreallocarray(f->codes, f->codes_cap, sizeof(*f->codes));
	}
	f->codes[f->ncodes] = (struct follow_code){0};
	insn_flow(code, n, &f->codes[f->ncodes].flow);
	if (!visibility_is_certain(&f->i->visibility, x->pc))
		trust_vectors(&f->codes[f->ncodes].flow);
	x->mark = (uint32_t)++f->ncodes;
	return x->mark - 1;
}

static struct follow_pending *pending_of(const struct unwritten_follow *f)
{
	return &f->pending[f->i->thread];
}

static void execute(struct unwritten_follow *f, struct follow_pending *p, uint64_t next_sp, uint32_t frame)
{
	p->has = false;
	p->done.flow = &f->codes[p->code].flow;
	p->done.next_sp = next_sp;
	f->now_pc = p->pc;
	f->now_hits = p->hits;
	unwritten_execute(&f->u, f->i->thread, &p->done, frame);
}

void follow_begun(struct unwritten_follow *f)
{
	struct follow_pending *p = pending_of(f);

	if (p->has)
		execute(f, p, 0, 0);
	unwritten_returned(&f->u, f->i->thread);
}

void follow_unmapped(struct unwritten_follow *f)
{
	follow_begun(f);
	imports_forget(&f->imports);
}

/* Sets the stack pointer, which was moved by something without entries. */
static void moved(struct unwritten_follow *f, struct follow_pending *p, uint64_t sp)
{
	struct unwritten_thread *t = unwritten_thread(&f->u, f->i->thread);

	if (!p->sp) {
		unwritten_fill(&f->u.memory, sp, STACK_BASE, false, 0);
		return;
	}
	unwritten_jumped(&f->u, p->sp, sp);
	if (p->outer_sp || sp > p->sp)
		return;
	if (!p->outer)
		p->outer = xcalloc(1, sizeof(*p->outer));
	*p->outer = *t;
	p->outer_sp = p->sp;
	*t = (struct unwritten_thread){0};
}

static void see_outer(struct unwritten_follow *f, struct follow_pending *p, uint64_t sp)
{
	if (!p->outer_sp || sp < p->outer_sp)
		return;
	*unwritten_thread(&f->u, f->i->thread) = *p->outer;
	p->outer_sp = 0;
}

static bool is_address(uint64_t v)
{
	return v >= 4096 && v < 1ull << 47;
}

static void may_be_written(struct unwritten_follow *f, uint64_t addr, uint64_t len)
{
	uint64_t at;
	uint32_t origin;

	if (is_address(addr) && unwritten_find(&f->u.memory, addr, len, &at, &origin))
		follow_written(f, addr, len);
}

void follow_insn(struct unwritten_follow *f, struct instrument_insn *x, uint64_t sp)
{
	struct follow_pending *p = pending_of(f);
	uint32_t code = code_of(f, x), frame = 0;

	if (p->silent.len)
		may_be_written(f, p->silent.addr, p->silent.len);
	p->silent.len = 0;
	if (p->has) {
		const struct insn_flow *last = &f->codes[p->code].flow;

		if (last->op == FLOW_CALL || last->op == FLOW_RETURN || last->lowers)
			frame = frame_origin(f, code, x->pc, x->hits);
		execute(f, p, sp, frame);
	} else if (sp != p->sp) {
		moved(f, p, sp);
	}
	see_outer(f, p, sp);
	p->has = true;
	p->code = code;
	p->pc = x->pc;
	p->hits = x->hits;
	p->sp = sp;
	/*
	 * its accesses and values are stored as they are reported; clearing everything for each instruction would take
	 * too long
	 */
	p->done.sp = sp;
	p->done.n = 0;
	p->done.has_values = false;
	p->done.vector[0] = p->done.vector[1] = NULL;
}

void follow_access(struct unwritten_follow *f, const struct instrument_access *a)
{
	struct follow_pending *p = pending_of(f);
	struct unwritten_done *d = &p->done;

	if (p->has && p->pc == a->insn->pc && d->n < UNWRITTEN_ACCESSES)
		d->access[d->n++] = (struct unwritten_access){a->addr, a->len, a->reads, a->writes};
}

void follow_values(struct unwritten_follow *f, uint64_t operand, uint64_t other)
{
	struct unwritten_done *d = &pending_of(f)->done;

	d->operand = operand;
	d->other = other;
	d->has_values = true;
}

void follow_vector(struct unwritten_follow *f, unsigned which, const uint8_t *bytes)
{
	struct follow_pending *p = pending_of(f);

	memcpy(p->vector[which], bytes, UNWRITTEN_BYTES);
	p->done.vector[which] = p->vector[which];
}

/* ---- what no instruction reports ---- */

void follow_written(struct unwritten_follow *f, uint64_t addr, uint64_t len)
{
	struct follow_pending *p = pending_of(f);

	if (p->silent.addr == addr && len)
		p->silent.len = 0;
	unwritten_fill(&f->u.memory, addr, len, false, 0);
}

static void given(struct unwritten_follow *f, const char *function, uint32_t origin, uint64_t at)
{
	f->ops->uses(f->ctx, UNWRITTEN_OUTPUT, function, &f->origins[origin], 0, 0, at);
}

void follow_given(struct unwritten_follow *f, const char *function, uint64_t addr, uint64_t len)
{
	uint64_t at;
	uint32_t origin;

	if (unwritten_find(&f->u.memory, addr, len, &at, &origin))
		given(f, function, origin, at);
}

void follow_returned(struct unwritten_follow *f)
{
	unwritten_returned(&f->u, f->i->thread);
}

/* ---- what printf and the like are given ---- */

struct giving {
	struct unwritten_follow *f;
	const char *function;
};

static void format_given(void *ctx, uint32_t origin, uint64_t at)
{
	const struct giving *g = ctx;

	given(g->f, g->function, origin, at);
}

static void see_format(struct unwritten_follow *f, int name, const uint64_t *arg)
{
	struct giving g = {f, functions_names[name]};
	struct format_args m = {.u = &f->u,
				.thread = f->i->thread,
				.arg = arg,
				.next = (unsigned)functions[name].does + 1,
				.given = format_given,
				.ctx = &g};
	char text[FORMAT_MAX + 1] = "";
	struct err ignored;

	for (size_t n = FORMAT_MAX; n && trace_read(f->i->t->pid, arg[functions[name].does], text, n, &ignored); n /= 2)
		memset(text, 0, sizeof(text));
	format_args_see(&m, text);
}

/* The word of the call whose return address is at sp; 0: not known. */
static uint64_t called_by(struct follow_pending *p, uint64_t sp)
{
	for (unsigned k = 0; k < CALLS; k++)
		if (p->calls[k].sp == sp) {
			p->calls[k].sp = 0;
			return p->calls[k].slot;
		}
	return 0;
}

void follow_call(struct unwritten_follow *f, uint64_t slot, uint64_t sp)
{
	struct follow_pending *p = pending_of(f);

	called_by(p, sp); /* an earlier call with that place has returned */
	p->calls[p->next % CALLS].slot = slot;
	p->calls[p->next++ % CALLS].sp = sp;
}

void follow_native(struct unwritten_follow *f, const uint64_t *arg)
{
	struct follow_pending *p = pending_of(f);
	uint64_t slot = called_by(p, arg[6]);
	int name;

	if (p->has)
		execute(f, p, 0, 0);
	name = slot ? imports_find(&f->imports, f->i->t->pid, slot) : -1;
	p->outputs = name >= 0 && functions[name].does == FUNCTION_OUTPUTS ? name + 1 : 0;
	p->outputs_told = false;
	if (name >= 0 && functions[name].does >= 0)
		see_format(f, name, arg);
	p->sp = arg[6] + 8;
	unwritten_returned(&f->u, f->i->thread);
	if (name >= 0 && functions_tells_all(name, arg)) {
		p->silent.addr = arg[0];
		p->silent.len = functions_size_among(arg, 6);
		return;
	}
	for (unsigned k = 0; k < 6; k++)
		if (name < 0 || functions[name].out & 1u << k)
			may_be_written(f, arg[k], functions_size_among(arg, 6));
}

/* Was it called from code that has entries? */
static bool is_programs(const struct unwritten_follow *f, unsigned block)
{
	return !(block & REPORT_BLOCK_INNER) && !pending_of(f)->outer_sp;
}

void follow_alloc(struct unwritten_follow *f, uint64_t at, uint64_t len, unsigned block, const struct moment *made)
{
	bool never = !(block & REPORT_BLOCK_ZERO) && is_programs(f, block);

	unwritten_fill(&f->u.memory, at, len, never, never ? block_origin(f, made) : 0);
	f->moved_to = block & REPORT_BLOCK_MOVED ? at : 0;
	f->moved_len = len;
}

void follow_resize(struct unwritten_follow *f, const struct heap_piece *p, uint64_t len, unsigned block)
{
	if (len > p->len && is_programs(f, block))
		unwritten_fill(&f->u.memory, p->at + p->len, len - p->len, true, block_origin(f, &p->made));
}

void follow_free(struct unwritten_follow *f, const struct heap_piece *p)
{
	if (f->moved_to)
		unwritten_copy(&f->u.memory, f->moved_to, p->at, p->len < f->moved_len ? p->len : f->moved_len);
	f->moved_to = 0;
}

/* ---- system calls ---- */

static uint64_t operand(const struct rlog_rec *rec, unsigned k)
{
	return k + 1u < rec->nops ? rec->op[k + 1] : 0;
}

static void see_output(struct unwritten_follow *f, uint64_t addr, uint64_t len)
{
	follow_given(f, functions_names[pending_of(f)->outputs - 1], addr, len);
}

void follow_output(struct unwritten_follow *f, uint64_t addr, uint64_t len)
{
	if (!pending_of(f)->outputs)
		return;
	pending_of(f)->outputs_told = true;
	see_output(f, addr, len);
}

/* That many bytes of the buffers in this array were output. */
static void see_parts(struct unwritten_follow *f, uint64_t array, uint64_t count, int64_t got)
{
	struct iovec part;
	struct err ignored;

	for (; count && got > 0; count--, array += sizeof(part), got -= (int64_t)part.iov_len) {
		if (trace_read(f->i->t->pid, array, &part, sizeof(part), &ignored))
			return;
		if (part.iov_len > (uint64_t)got)
			part.iov_len = (size_t)got;
		see_output(f, (uint64_t)part.iov_base, part.iov_len);
	}
}

/*
 * Is the recorder an older one, which does not report what it passes on? Then the memory is read where the copy has
 * come to.
 */
static bool is_unheard(const struct unwritten_follow *f)
{
	return pending_of(f)->outputs && !pending_of(f)->outputs_told;
}

/* The recorder reports outputs that it copies itself; calls with functions of their own may have others. */
static void see_call(struct unwritten_follow *f, const struct reader_event *ev)
{
	const struct rlog_rec *rec = &ev->rec;
	int64_t got = ev->has_result && ev->result.nops ? (int64_t)ev->result.op[0] : 0;
	struct msghdr message;
	struct err ignored;

	switch (rec->op[0]) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		if (is_unheard(f))
			see_output(f, operand(rec, 1), got > 0 ? (uint64_t)got : 0);
		return;
	case SYS_writev:
	case SYS_pwritev:
		if (is_unheard(f))
			see_parts(f, operand(rec, 1), operand(rec, 2), got);
		return;
	case SYS_sendmsg:
		if (is_unheard(f) && !trace_read(f->i->t->pid, operand(rec, 1), &message, sizeof(message), &ignored))
			see_parts(f, (uint64_t)message.msg_iov, message.msg_iovlen, got);
		return;
	case SYS_mmap:
		if (got > 0 || got < -4095)
			follow_written(f, (uint64_t)got, operand(rec, 1));
		return;
	case SYS_mremap:
		if (got > 0)
			follow_written(f, (uint64_t)got, operand(rec, 2));
		return;
	default:
		break;
	}
	for (unsigned k = 0; !(ev->has_result && ev->result.payload_len) && k < 6; k++)
		may_be_written(f, operand(rec, k), FUNCTIONS_WRITTEN_LEAST);
}

int follow_event(struct unwritten_follow *f, struct timeline *tl, uint64_t n, struct err *e)
{
	struct timeline_event ev;

	if (timeline_read(tl, n, &ev, e))
		return -1;
	if (ev.ev.rec.kind == RLOG_SYS && ev.ev.rec.nops)
		see_call(f, &ev.ev);
	return 0;
}
