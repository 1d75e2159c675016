/* SPDX-License-Identifier: MIT */
/*
 * mapping.c: memory that was there, and was taken away or protected by a system call of the program's, or whose file
 * became shorter. See failure.h.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "chain/inspect.h"
#include "explain/failure.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

#define PAGE 4096u

/* What a system call does to the page of an address. */
enum fate { FATE_KEPT = 0, FATE_MAPPED, FATE_TAKEN, FATE_PROTECTED };

static bool covers(uint64_t from, uint64_t len, uint64_t addr)
{
	return addr >= from && addr - from < (len + PAGE - 1) / PAGE * PAGE;
}

static enum fate fate_of(const struct reader_event *ev, uint64_t addr, bool writes)
{
	const uint64_t *op = ev->rec.op;
	uint64_t got;

	if (ev->rec.kind != RLOG_SYS || ev->rec.nops < 4 || !ev->has_result || !ev->result.nops)
		return FATE_KEPT;
	got = ev->result.op[0];
	if (got > -(uint64_t)PAGE) /* an error */
		return FATE_KEPT;
	switch (op[0]) {
	case SYS_munmap:
		return covers(op[1], op[2], addr) ? FATE_TAKEN : FATE_KEPT;
	case SYS_mprotect:
		if (!covers(op[1], op[2], addr))
			return FATE_KEPT;
		return op[3] & (writes ? PROT_WRITE : PROT_READ) ? FATE_MAPPED : FATE_PROTECTED;
	case SYS_mremap:
		if (covers(got, op[3], addr))
			return FATE_MAPPED;
		return covers(op[1], op[2], addr) ? FATE_TAKEN : FATE_KEPT;
	case SYS_mmap:
		return covers(got, op[2], addr) ? FATE_MAPPED : FATE_KEPT;
	default:
		return FATE_KEPT;
	}
}

/* The event that made the memory inaccessible; 0: none has. */
static uint64_t find_event(struct explain *x, uint64_t addr, bool writes, enum fate *fate)
{
	struct timeline_event ev;
	struct err ignored;

	for (uint64_t n = nav_total(&x->nav); n > nav_first(&x->nav); n--) {
		if (timeline_read(x->nav.t.tl, n, &ev, &ignored))
			return 0;
		if (ev.where.process != x->process)
			continue;
		*fate = fate_of(&ev.ev, addr, writes);
		if (*fate)
			return *fate == FATE_MAPPED ? 0 : n;
	}
	return 0;
}

/* ---- files that became shorter ---- */

/*
 * The mapped file at the address: by which event, of which descriptor, and at which offset of the file. false: the
 * address is in no file's mapping, or that is not known.
 */
struct file_page {
	uint64_t event, fd, offset;
};

static bool find_page(struct explain *x, uint64_t addr, struct file_page *f)
{
	struct timeline_event ev;
	struct err ignored;

	for (uint64_t n = nav_total(&x->nav); n > nav_first(&x->nav); n--) {
		const uint64_t *op = ev.ev.rec.op;
		uint64_t got;

		if (timeline_read(x->nav.t.tl, n, &ev, &ignored))
			return false;
		if (ev.where.process != x->process || ev.ev.rec.kind != RLOG_SYS || ev.ev.rec.nops < 7 ||
		    op[0] != SYS_mmap || !ev.ev.has_result || !ev.ev.result.nops)
			continue;
		got = ev.ev.result.op[0];
		if (got > -(uint64_t)PAGE || !covers(got, op[2], addr))
			continue;
		*f = (struct file_page){n, op[5], op[6] + (addr - got)};
		return !(op[4] & MAP_ANONYMOUS);
	}
	return false;
}

/*
 * The last event that shortened the mapped file to less than the address; 0: none is known. If a descriptor was closed
 * in between, it may be another file's.
 */
static uint64_t find_cut(struct explain *x, const struct file_page *f, uint64_t *len)
{
	struct timeline_event ev;
	struct err ignored;
	uint64_t found = 0;

	for (uint64_t n = f->event + 1; n <= nav_total(&x->nav); n++) {
		const uint64_t *op = ev.ev.rec.op;

		if (timeline_read(x->nav.t.tl, n, &ev, &ignored))
			return 0;
		if (ev.where.process != x->process || ev.ev.rec.kind != RLOG_SYS || ev.ev.rec.nops < 2 ||
		    op[1] != f->fd)
			continue;
		if (op[0] == SYS_close)
			break;
		if (op[0] != SYS_ftruncate || !ev.ev.has_result || !ev.ev.result.nops || ev.ev.result.op[0])
			continue;
		*len = op[2];
		found = f->offset / PAGE >= (op[2] + PAGE - 1) / PAGE ? n : 0;
	}
	return found;
}

/* Opens p before an event. 0; 1: there is no state, and the program stands at its failure; -1. Close p in any case. */
static int open_before(struct explain *x, uint64_t n, struct inspect *p, struct err *e)
{
	int r = cursor_goto_end(&x->t, n - 1, e);

	if (r > 0)
		return explain_goto_failure(x, e) ? -1 : 1;
	return r || inspect_open(p, x, e) ? -1 : 0;
}

int failure_cut_off(struct explain *x, uint64_t addr, struct err *e)
{
	struct file_page f;
	struct inspect p = {0};
	uint64_t len = 0, n = find_page(x, addr, &f) ? find_cut(x, &f, &len) : 0;
	int r;

	if (!n)
		return 1;
	r = open_before(x, n, &p, e);
	if (r) {
		inspect_close(&p);
		return r;
	}
	inspect_step(&p, STEP_FREE, NULL, NULL, NULL,
		     "the mapped file was cut to %llu bytes here (event %llu): the memory at 0x%llx is byte %llu of it",
		     (unsigned long long)len, (unsigned long long)n, (unsigned long long)addr,
		     (unsigned long long)f.offset);
	inspect_close(&p);
	explain_end(x, END_FREED, "the memory was used after its file had become shorter");
	x->found = true;
	return 0;
}

int failure_taken_away(struct explain *x, uint64_t addr, bool writes, struct err *e)
{
	enum fate fate = FATE_KEPT;
	uint64_t n = find_event(x, addr, writes, &fate);
	struct inspect p = {0};
	int r;

	if (!n)
		return 1;
	r = open_before(x, n, &p, e);
	if (r) {
		inspect_close(&p);
		return r;
	}
	if (fate == FATE_TAKEN)
		inspect_step(&p, STEP_FREE, NULL, NULL, NULL, "the memory at 0x%llx was unmapped here (event %llu)",
			     (unsigned long long)addr, (unsigned long long)n);
	else
		inspect_step(&p, STEP_FREE, NULL, NULL, NULL, "the memory at 0x%llx was made %s here (event %llu)",
			     (unsigned long long)addr, writes ? "read-only" : "inaccessible", (unsigned long long)n);
	inspect_close(&p);
	explain_end(x, END_FREED, "the memory was used after it was %s", fate == FATE_TAKEN ? "unmapped" : "protected");
	x->found = true;
	return 0;
}
