/* SPDX-License-Identifier: MIT */
/* mapping.c: memory that was there, and was taken away or protected by a system call of the program's. See failure.h.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "explain/failure.h"
#include "explain/inspect.h"
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

int failure_taken_away(struct explain *x, uint64_t addr, bool writes, struct err *e)
{
	enum fate fate = FATE_KEPT;
	uint64_t n = find_event(x, addr, writes, &fate);
	struct inspect p = {0};
	int r;

	if (!n)
		return 1;
	r = cursor_goto_end(&x->t, n - 1, e);
	if (r > 0)
		return explain_goto_failure(x, e) ? -1 : 1;
	if (r || inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
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
