/* SPDX-License-Identifier: MIT */
/* segcursor_known.c: see segcursor_known.h. */
#include "segcursor/segcursor_known.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "rlog/replay.h"

#define AT(field) (REPLAY_KNOWN_ADDR + offsetof(struct replay_known, field))

static void make(struct segcur_known *k)
{
	if (k->head)
		return;
	k->head = xcalloc(REPORT_SITES, sizeof(*k->head));
	k->wants = xcalloc(REPORT_SITES, sizeof(*k->wants));
	k->mask = xcalloc(REPORT_SITES, sizeof(*k->mask));
	k->orders = xcalloc(REPORT_SITES, sizeof(*k->orders));
	k->stacks = xcalloc(REPORT_SITES, sizeof(*k->stacks));
	k->undecided = xcalloc(REPORT_SITES, sizeof(*k->undecided));
}

void segcur_known_forget(struct segcur_known *k)
{
	k->n = k->nundecided = 0;
}

void segcur_known_fini(struct segcur_known *k)
{
	free(k->head);
	free(k->wants);
	free(k->mask);
	free(k->orders);
	free(k->stacks);
	free(k->undecided);
	memset(k, 0, sizeof(*k));
}

int segcur_known_map(struct segcur_known *k, struct trace *t, uint64_t gadget, struct err *e)
{
	const uint64_t args[6] = {
		REPLAY_KNOWN_ADDR,	sizeof(struct replay_known),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		(uint64_t)-1,		0};
	uint64_t n = k->n;
	size_t bytes = k->n * sizeof(n);
	int64_t ret;

	make(k);
	if (trace_syscall(t, gadget, SYS_mmap, args, &ret, e))
		return -1;
	if ((uint64_t)ret != REPLAY_KNOWN_ADDR)
		return 0;
	if (trace_write(t->pid, AT(sites), &n, sizeof(n), e))
		return -1;
	if (n &&
	    (trace_write(t->pid, AT(head), k->head, bytes, e) || trace_write(t->pid, AT(wants), k->wants, bytes, e) ||
	     trace_write(t->pid, AT(mask), k->mask, bytes, e) || trace_write(t->pid, AT(orders), k->orders, bytes, e) ||
	     trace_write(t->pid, AT(stacks), k->stacks, bytes, e)))
		return -1;
	return 1;
}

/* Notes the sites that the copy has added since the last call. */
static int learn(struct segcur_known *k, struct trace *t, uint64_t n, struct err *e)
{
	size_t from = k->n * sizeof(n), bytes = (n - k->n) * sizeof(n);

	if (trace_read(t->pid, AT(head) + from, k->head + k->n, bytes, e) ||
	    trace_read(t->pid, AT(wants) + from, k->wants + k->n, bytes, e) ||
	    trace_read(t->pid, AT(orders) + from, k->orders + k->n, bytes, e))
		return -1;
	for (; k->n < n; k->n++) {
		k->mask[k->n] = k->stacks[k->n] = 0;
		k->undecided[k->nundecided++] = (uint32_t)k->n;
	}
	return 0;
}

/* Tells the copy what was decided about site s. */
static int tell(struct segcur_known *k, struct trace *t, uint32_t s, enum segcur_sort is, struct err *e)
{
	uint64_t at = s * sizeof(*k->mask);
	bool undecided = is == SEGCUR_UNDECIDED_NEW;

	if (undecided && k->stacks[s])
		return 0;
	k->mask[s] = is == SEGCUR_NEW ? k->wants[s] : 0;
	k->stacks[s] = undecided;
	k->orders[s] = undecided ? k->orders[s] : 0;
	return trace_write(t->pid, AT(mask) + at, &k->mask[s], sizeof(k->mask[s]), e) ||
			       trace_write(t->pid, AT(stacks) + at, &k->stacks[s], sizeof(k->stacks[s]), e) ||
			       trace_write(t->pid, AT(orders) + at, &k->orders[s], sizeof(k->orders[s]), e)
		       ? -1
		       : 0;
}

int segcur_known_sort(struct segcur_known *k, struct trace *t, uint64_t sorted,
		      enum segcur_sort (*sort)(void *ctx, uint64_t pc), void *ctx, struct err *e)
{
	uint64_t n;
	size_t left = 0;

	if (trace_read(t->pid, AT(sites), &n, sizeof(n), e))
		return -1;
	if (n > REPORT_SITES || n < k->n)
		return err_set(e, ERR_INTERNAL, "the copy %d has damaged its report", (int)t->pid);
	if (n == k->n && sorted == k->sorted)
		return 0;
	if (learn(k, t, n, e))
		return -1;
	for (size_t u = 0; u < k->nundecided; u++) {
		uint32_t s = k->undecided[u];
		enum segcur_sort is = sort(ctx, k->head[s] & REPORT_PC_MASK);

		if (is <= SEGCUR_UNDECIDED_NEW)
			k->undecided[left++] = s;
		if (is != SEGCUR_UNDECIDED && tell(k, t, s, is, e))
			return -1;
	}
	k->nundecided = left;
	k->sorted = sorted;
	return 0;
}
