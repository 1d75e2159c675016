/* SPDX-License-Identifier: MIT */
/* segcursor_report_map.c: see segcursor_report_map.h. */
#include "segcursor/segcursor_report_map.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rlog/report.h"

/* Maps memory at exactly this address in the copy. 0: not possible (a limit of the program's own may forbid it). */
static int map_at(struct reporting *g, struct trace *t, uint64_t at, uint64_t bytes, struct err *e)
{
	const uint64_t args[6] = {at,
				  bytes,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				  (uint64_t)-1,
				  0};
	int64_t ret;

	return trace_syscall(t, g->in->seg.gadget, SYS_mmap, args, &ret, e) ? -1 : (uint64_t)ret == at;
}

/* Chooses which accesses have entries. */
static int choose_filter(struct reporting *g, struct trace *t, struct err *e)
{
	struct segcur_report *r = g->r;
	int is;

	r->filter = REPORT_ALL;
	if (g->onlys)
		r->filter = REPORT_ONLY;
	if (r->ops->sort && !g->brief && !r->every && !g->onlys &&
	    g->in->seg.t->ctl->report_filters >= REPORT_FILTERS_NEW) {
		is = segcur_known_map(&r->known, t, g->in->seg.gadget, e);
		r->filter = is > 0 ? REPORT_NEW : REPORT_ALL;
		return is < 0 ? -1 : 0;
	}
	r->above |= g->in->seg.thread >= REPORT_HEAP_THREADS;
	if (g->onlys || !r->ops->shadow || r->every || r->above || !g->in->seg.t->ctl->report_filters)
		return 0;
	is = map_at(g, t, REPLAY_SHADOW_ADDR, REPORT_SHADOW_BYTES, e);
	if (is > 0)
		is = map_at(g, t, REPLAY_KNOWN_ADDR, sizeof(struct replay_calls), e);
	if (is > 0)
		is = r->ops->shadow(r->ctx, t, REPLAY_SHADOW_ADDR, e);
	r->filter = is ? REPORT_SHADOW : REPORT_HEAP;
	return is < 0 ? -1 : 0;
}

int segcur_report_map(struct reporting *g, struct trace *t, struct err *e)
{
	size_t words = g->r->memory ? g->r->words : 0, word_bytes = g->r->words * sizeof(*g->r->word);
	uint64_t codes = g->code.n + REPORT_CODES_SPARE, code_bytes = codes * sizeof(struct replay_report_code);
	uint64_t bytes = SEGCUR_REPORT_ROOM + word_bytes + code_bytes + words;
	uint64_t word = g->in->seg.t->ctl->report_addr;
	struct replay_report head;
	/* at this address, comparisons of states ignore it, and no mapping is in its way */
	int is = choose_filter(g, t, e) ? -1 : map_at(g, t, REPLAY_REPORT_ADDR, bytes, e);

	if (is <= 0)
		return is ? -1 : err_set(e, ERR_HOST, "no memory in the copy %d", (int)t->pid);
	g->at = REPLAY_REPORT_ADDR;
	head = (struct replay_report){.cur = g->at + sizeof(head),
				      .full = g->at + SEGCUR_REPORT_FULL,
				      .end = g->at + SEGCUR_REPORT_ROOM,
				      .every = g->r->every,
				      .args = g->r->args && !g->onlys,
				      .loaded_lo = g->r->loaded && !g->onlys ? g->in->visibility.libc.lo : 0,
				      .loaded_hi = g->r->loaded && !g->onlys ? g->in->visibility.libc.hi : 0,
				      .filter = g->r->filter,
				      .words = g->r->words,
				      .word_at = g->at + SEGCUR_REPORT_ROOM,
				      .called_sp = g->r->called_sp,
				      .codes_max = codes,
				      .code_at = g->at + SEGCUR_REPORT_ROOM + word_bytes,
				      .check_at = words ? g->at + SEGCUR_REPORT_ROOM + word_bytes + code_bytes : 0,
				      .onlys = g->onlys,
				      .kinds = REPORT_KIND_COUNT};
	memcpy(head.only, g->only, sizeof(head.only));
	g->code.report = g->at;
	return trace_write(t->pid, g->at, &head, sizeof(head), e) ||
			       trace_write(t->pid, head.word_at, g->r->word, word_bytes, e) ||
			       (words && trace_write(t->pid, head.check_at, g->r->memory, words, e)) ||
			       trace_write(t->pid, word, &g->at, sizeof(g->at), e)
		       ? -1
		       : 0;
}
