/* SPDX-License-Identifier: MIT */
/* shim_frames.c: see shim_frames.h. libdwfl unwinds by .eh_frame; signal frames are recognised by their code. */
#define LOG_DOMAIN "frames"
#include "visibility/shim_frames.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"

/* What the kernel puts at the stack pointer of a handler's caller: struct ucontext; gregs as in ucontext.h. */
#define UC_GREGS 40
/* set by a processor that continues after a fault or trap: the program itself never has it */
#define RESUME_FLAG 0x10000

/* Gets a frame, from the innermost outwards; interrupted: by a signal. false: no more frames are needed. */
typedef bool (*frame_fn)(void *arg, const struct user_regs_struct *r, bool interrupted);

struct walk {
	const struct visibility *s;
	pid_t pid;
	struct user_regs_struct r; /* of the frame before */
	frame_fn fn;
	void *arg;
	/*
	 * unwinding starts again from r: from what a signal handler interrupted, or from the frame that a trampoline
	 * returns to
	 */
	bool interrupted, again;
	bool seen; /* the frame from which it starts again was passed on already */
};

/* Is this the code to which a handler returns, `mov $15, %rax; syscall`? */
static bool is_restorer(pid_t pid, uint64_t pc)
{
	static const uint8_t with_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
			     with_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct err ignored;
	uint8_t op[sizeof(with_rax)];

	return !trace_read(pid, pc, op, sizeof(op), &ignored) &&
	       (!memcmp(op, with_rax, sizeof(with_rax)) || !memcmp(op, with_eax, sizeof(with_eax)));
}

static int interrupted(pid_t pid, uint64_t rsp, struct user_regs_struct *r)
{
	uint64_t g[18]; /* r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip eflags */
	struct err ignored;

	if (trace_read(pid, rsp + UC_GREGS, g, sizeof(g), &ignored))
		return -1;
	r->r8 = g[0], r->r9 = g[1], r->r10 = g[2], r->r11 = g[3];
	r->r12 = g[4], r->r13 = g[5], r->r14 = g[6], r->r15 = g[7];
	r->rdi = g[8], r->rsi = g[9], r->rbp = g[10], r->rbx = g[11];
	r->rdx = g[12], r->rax = g[13], r->rcx = g[14];
	r->rsp = g[15], r->rip = g[16];
	r->eflags = g[17] & ~(uint64_t)RESUME_FLAG;
	return 0;
}

static void kept_registers(Dwfl_Frame *f, struct user_regs_struct *r)
{
	static const struct {
		unsigned dwarf;
		size_t at;
	} kept[] = {
		{3, offsetof(struct user_regs_struct, rbx)},  {6, offsetof(struct user_regs_struct, rbp)},
		{7, offsetof(struct user_regs_struct, rsp)},  {12, offsetof(struct user_regs_struct, r12)},
		{13, offsetof(struct user_regs_struct, r13)}, {14, offsetof(struct user_regs_struct, r14)},
		{15, offsetof(struct user_regs_struct, r15)},
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		Dwarf_Word v;

		if (!dwfl_frame_reg(f, kept[i].dwarf, &v))
			memcpy((char *)r + kept[i].at, &v, sizeof(v));
	}
}

/* If *r is at the `ret` of a trampoline, it becomes the frame of the shim that this returns to. */
static int leave_trampoline(pid_t pid, struct user_regs_struct *r)
{
	struct err ignored;

	do {
		if (trace_read(pid, r->rsp, &r->rip, sizeof(r->rip), &ignored))
			return -1;
		r->rsp += sizeof(r->rip);
	} while (visibility_is_ret(pid, r->rip));
	return 0;
}

static int frame(Dwfl_Frame *f, void *arg)
{
	struct walk *w = arg;
	struct user_regs_struct r = w->r;
	bool interrupted_there = w->interrupted, activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(f, &pc, &activation))
		return DWARF_CB_ABORT;
	if (w->seen) {
		w->seen = false;
		return DWARF_CB_OK;
	}
	kept_registers(f, &r);
	r.rip = pc;
	if (is_restorer(w->pid, pc)) {
		w->again = w->interrupted = !interrupted(w->pid, r.rsp, &r);
		w->r = r;
		return DWARF_CB_ABORT;
	}
	w->interrupted = false;
	if (visibility_is_trampoline(w->s, w->pid, &r)) {
		w->again = !leave_trampoline(w->pid, &r);
		w->r = r;
		return DWARF_CB_ABORT;
	}
	w->r = r;
	return w->fn(w->arg, &r, interrupted_there) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- libdwfl's questions ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	*thread_arg = arg;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct shim_frames *o = arg;

	return pread(o->mem, result, sizeof(*result), (off_t)addr) == sizeof(*result);
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct user_regs_struct *r = ((const struct shim_frames *)arg)->from;
	const Dwarf_Word v[17] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
				  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};

	return dwfl_thread_state_registers(thread, 0, 17, v);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

static int no_debuginfo(Dwfl_Module *m, void **u, const char *name, Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **out)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf, .find_debuginfo = no_debuginfo};

/* Reports a file from its first page, if frames in it are to be unwound. */
static int report_file(Dwfl *dwfl, pid_t pid, const struct mapping *m)
{
	cleanup_free char *file = NULL;

	if (m->offset || !visibility_knows(m->path))
		return 0;
	file = str_fmt("/proc/%d/root%s", (int)pid, m->path);
	return dwfl_report_elf(dwfl, file, file, -1, m->lo, false) ? 0 : -1;
}

static int report(Dwfl *dwfl, pid_t pid)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;
	struct err ignored;

	dwfl_report_begin(dwfl);
	if (!maps_open(&maps, pid, &ignored))
		while (maps_next(&maps, &m))
			if (report_file(dwfl, pid, &m))
				return -1;
	return dwfl_report_end(dwfl, NULL, NULL);
}

static bool knows(Dwfl *dwfl, const struct text *t)
{
	return !t->lo || dwfl_addrmodule(dwfl, t->lo);
}

/* At the start of a live program, only the loader is mapped. */
static int open_dwfl(struct shim_frames *o, const struct visibility *s, pid_t pid)
{
	if (o->dwfl && knows(o->dwfl, &s->shim) && knows(o->dwfl, &s->libc))
		return 0;
	dwfl_end(o->dwfl);
	o->dwfl = dwfl_begin(&callbacks);
	if (!o->dwfl)
		return -1;
	if (!report(o->dwfl, pid) && dwfl_attach_state(o->dwfl, NULL, 1, &thread_callbacks, o))
		return 0;
	log_warn("the shim's frames cannot be unwound: %s", dwfl_errmsg(-1));
	dwfl_end(o->dwfl);
	o->dwfl = NULL;
	return -1;
}

/*
 * libdwfl (0.188) takes a register for unknown if a function has not saved it yet. If the frame of that function's
 * caller is found by this register (as _dl_runtime_resolve's is by rbx at the entry of _dl_fixup), libdwfl stops there.
 * kept_registers() has the register, so unwinding is started again from the last frame that was found.
 */
static void walk(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r,
		 frame_fn fn, void *arg)
{
	struct walk w = {.s = s, .pid = pid, .r = *r, .fn = fn, .arg = arg};
	cleanup_close int mem = -1;
	struct user_regs_struct from;

	if (open_dwfl(o, s, pid))
		return;
	mem = maps_open_mem(pid, O_RDONLY);
	o->mem = mem;
	o->from = &from;
	do {
		from = w.r;
		w.again = false;
		if (dwfl_getthread_frames(o->dwfl, 1, frame, &w) != DWARF_CB_ABORT)
			w.again = w.seen = w.r.rsp > from.rsp;
	} while (w.again);
}

void shim_frames_fini(struct shim_frames *o)
{
	if (o->dwfl)
		dwfl_end(o->dwfl);
	memset(o, 0, sizeof(*o));
}

struct finding {
	const struct visibility *s;
	struct user_regs_struct inner, found;
	struct user_regs_struct caller; /* the first frame that is not the shim's */
	bool done;
};

/* The program has called the last frame of the shim. */
static bool find_call(void *arg, const struct user_regs_struct *r, bool interrupted_there)
{
	struct finding *f = arg;

	if (visibility_is_shim(f->s, r->rip)) {
		f->inner = *r;
		return true;
	}
	f->caller = *r;
	f->found = interrupted_there ? *r : f->inner;
	f->done = true;
	return false;
}

void shim_frames_find(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r)
{
	struct finding f = {.s = s, .inner = *r};

	if (!visibility_is_shim(s, r->rip))
		return;
	walk(o, s, pid, r, find_call, &f);
	if (f.done)
		*r = f.found;
	else
		log_info("0x%llx: no frame outside of the shim is found", (unsigned long long)r->rip);
}

bool shim_frames_caller(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r)
{
	struct finding f = {.s = s};

	if (visibility_is_shim(s, r->rip))
		walk(o, s, pid, r, find_call, &f);
	if (f.done)
		*r = f.caller;
	return f.done;
}

struct outermost_return {
	const struct visibility *s;
	const struct text *code;
	struct user_regs_struct found;
	bool inside, any; /* inside: the previous frame is in `code` */
};

static bool find_return(void *arg, const struct user_regs_struct *r, bool interrupted_there)
{
	struct outermost_return *f = arg;

	if (interrupted_there || !visibility_is_shim(f->s, r->rip))
		return false;
	if (f->inside)
		f->found = *r;
	f->any |= f->inside;
	f->inside = r->rip >= f->code->lo && r->rip < f->code->hi;
	return true;
}

bool shim_frames_returns_from(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct text *code,
			      struct user_regs_struct *r)
{
	struct outermost_return f = {.s = s, .code = code};

	if (visibility_is_shim(s, r->rip))
		walk(o, s, pid, r, find_return, &f);
	if (f.any)
		*r = f.found;
	return f.any;
}

struct calling {
	const struct visibility *s;
	struct user_regs_struct inner, found;
	bool in_shim, any;
};

/* Finds the outermost place where other code called the shim, or was interrupted by it. */
static bool find_outermost(void *arg, const struct user_regs_struct *r, bool interrupted_there)
{
	struct calling *c = arg;

	if (visibility_is_shim(c->s, r->rip)) {
		c->inner = *r;
		c->in_shim = c->any = true;
		return true;
	}
	if (c->in_shim)
		c->found = interrupted_there ? *r : c->inner;
	c->in_shim = false;
	return !visibility_is_certain(c->s, r->rip);
}

bool shim_frames_of_call(struct shim_frames *o, const struct visibility *s, pid_t pid, struct user_regs_struct *r)
{
	struct calling c = {.s = s, .found = *r};

	if (!s->shim.lo || visibility_is_certain(s, r->rip))
		return false;
	walk(o, s, pid, r, find_outermost, &c);
	if (c.any)
		*r = c.found;
	return c.any;
}

struct hiding {
	const struct visibility *s;
	unsigned frames;
	bool from_libc;
	bool inner; /* the shim is in a function of its own that it called */
	bool entered; /* the stack of the first frame has more on it than the return address */
	uint64_t rsp; /* of the first frame */
	uint64_t hidden;
};

/* Finds the outermost frame of the shim that called libc, before the program's own frames. */
static bool find_hidden(void *arg, const struct user_regs_struct *r, bool interrupted_there)
{
	struct hiding *h = arg;
	bool shim = visibility_is_shim(h->s, r->rip);

	if (!h->frames)
		h->rsp = r->rsp;
	else if (h->frames == 1)
		h->entered = r->rsp != h->rsp + sizeof(h->rsp);
	if (visibility_is_certain(h->s, r->rip))
		return false;
	if (h->from_libc && shim)
		h->hidden = r->rsp - 8;
	if (h->frames < 2)
		h->inner = shim && (!h->frames || h->inner) && !interrupted_there;
	h->frames++;
	h->from_libc = !shim;
	return true;
}

static void look_out(struct shim_frames *o, pid_t pid, const struct user_regs_struct *r, struct hiding *h)
{
	if (visibility_is_certain(h->s, r->rip) || visibility_is_call_of_handler(h->s, r->rip))
		return;
	walk(o, h->s, pid, r, find_hidden, h);
	h->inner &= h->frames > 1;
}

void shim_frames_find_shim_call(struct shim_frames *o, const struct visibility *s, pid_t pid,
				const struct user_regs_struct *r, struct shim_call *shim_call)
{
	struct hiding h = {.s = s};

	look_out(o, pid, r, &h);
	shim_call->hidden = h.hidden;
}

bool shim_frames_hides(struct shim_frames *o, const struct visibility *s, pid_t pid, const struct user_regs_struct *r)
{
	struct hiding h = {.s = s};

	look_out(o, pid, r, &h);
	return h.hidden || h.inner;
}

bool shim_frames_is_within(struct shim_frames *o, const struct visibility *s, pid_t pid,
			   const struct user_regs_struct *r)
{
	struct hiding h = {.s = s};

	look_out(o, pid, r, &h);
	return h.hidden || h.inner || (h.entered && visibility_is_shim(s, r->rip));
}

bool shim_frames_sees(struct shim_frames *o, const struct visibility *s, struct shim_call *g, pid_t pid,
		      uint64_t before, const struct user_regs_struct *now, bool handler)
{
	if (!visibility_sees(s, g, pid, before, now, handler))
		return false;
	if (!visibility_is_certain(s, before) || visibility_is_certain(s, now->rip))
		return true;
	shim_frames_find_shim_call(o, s, pid, now, g);
	return !g->hidden;
}
