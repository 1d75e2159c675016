/* SPDX-License-Identifier: MIT */
/* same.c: see same.h. */
#include "debug/same.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "rlog/replay.h"
#include "session/show.h"
#include "trace/delta.h"

#define FLAGS_TRAPS 0x10100ull /* RF and TF come and go with the tracer */
/* The dynamic linker notes how many ticks it took; it runs before the recorder is there. */
#define LOADER "/ld-linux-x86-64.so"
#define WORDS_MAX 65536

/* What a function keeps for its caller, and its result. */
static bool same_frame(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rax == b->rax && a->rbx == b->rbx &&
	       a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15 &&
	       a->fs_base == b->fs_base;
}

static unsigned differing(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return (a->rcx != b->rcx) + (a->rdx != b->rdx) + (a->rsi != b->rsi) + (a->rdi != b->rdi) +
	       (a->r8 != b->r8) + (a->r9 != b->r9) + (a->r10 != b->r10) + (a->r11 != b->r11) +
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

#define SHIM_STACK_END (SHIM_STACK_ADDR + ((uint64_t)RLOG_MAX_THREADS << 26))

static bool is_stack(const char *line, uint64_t lo)
{
	return strstr(line, "[stack]") || (lo >= SHIM_STACK_ADDR && lo < SHIM_STACK_END);
}

/*
 * The shim's own data: its file's mappings and the zeroed part behind them. Of the stacks, only the part in
 * use by this thread counts: the others stand in the shim, and wait there one way or another.
 */
static int find_excluded(pid_t pid, uint64_t rsp, struct ranges *out, struct err *e)
{
	char path[64], line[512];
	cleanup_fclose FILE *f = NULL;
	uint64_t shim_end = 0;

	exclude(out, REPLAY_CTL_ADDR, SHIM_HEAP_MAIN_ADDR);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return err_errno(e, ERR_INTERNAL, "open %s", path);
	while (fgets(line, sizeof(line), f)) {
		unsigned long lo, hi;

		if (sscanf(line, "%lx-%lx", &lo, &hi) != 2)
			continue;
		if (strstr(line, SHOW_SHIM) || strstr(line, LOADER) || (lo == shim_end && !strchr(line, '/'))) {
			exclude(out, lo, hi);
			shim_end = hi;
		} else if (rsp >= lo && rsp < hi) {
			exclude(out, lo, rsp - 128); /* the red zone */
		} else if (is_stack(line, lo)) {
			exclude(out, lo, hi);
		}
	}
	return 0;
}

static bool counts(const struct ranges *r, uint64_t addr)
{
	for (unsigned i = 0; i < r->n; i++)
		if (addr >= r->v[i].lo && addr < r->v[i].hi)
			return false;
	return true;
}

bool same_values(const struct user_regs_struct *a, const struct user_regs_struct *b, unsigned *differ)
{
	*differ = differing(a, b);
	return same_frame(a, b);
}

int same_registers(struct trace *a, struct trace *b, unsigned *differ, struct err *e)
{
	struct user_regs_struct ra, rb;

	if (trace_get_regs(a, &ra, e) || trace_get_regs(b, &rb, e))
		return -1;
	return same_values(&ra, &rb, differ);
}

int same_memory(struct trace *a, struct trace *b, size_t *differ, struct err *e)
{
	struct user_regs_struct ra;
	struct ranges skip = {0};
	struct delta d = {0};
	int r;

	*differ = WORDS_MAX;
	if (trace_get_regs(a, &ra, e) || find_excluded(a->pid, ra.rsp, &skip, e))
		return -1;
	r = delta_diff(a->pid, b->pid, WORDS_MAX, &d, e);
	if (r)
		return r < 0 ? -1 : 0;
	*differ = 0;
	for (size_t i = 0; i < d.n; i++)
		*differ += counts(&skip, d.addr[i]);
	delta_fini(&d);
	return 0;
}
