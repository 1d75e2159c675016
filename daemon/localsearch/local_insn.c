/* SPDX-License-Identifier: MIT */
/* local_insn.c: see local_insn.h. */
#include "localsearch/local_insn.h"
#include <string.h>

#define INSN_MAX 15
/* With fast strings, the processor may report a hit some elements later, within one or two cache lines. */
#define REP_REACH 128

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || (b & 0xf0) == 0x40;
}

/* rep movs or rep stos at these bytes? */
static bool is_rep_store(const uint8_t *code, size_t n)
{
	bool rep = false;
	size_t i = 0;

	while (i < n && is_prefix(code[i])) {
		rep |= code[i] == 0xf2 || code[i] == 0xf3;
		i++;
	}
	return rep && i < n && (code[i] == 0xa4 || code[i] == 0xa5 || code[i] == 0xaa || code[i] == 0xab);
}

static bool overlaps(const struct trace_words *words, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < words->n; i++)
		if (words->w[i].addr < to && words->w[i].addr + words->w[i].len > from)
			return true;
	return false;
}

/* Reads up to INSN_MAX bytes of code at addr; returns how many could be read. */
static size_t fetch(pid_t pid, uint64_t addr, uint8_t code[INSN_MAX])
{
	struct err ignored;

	for (size_t n = INSN_MAX; n; n--)
		if (!trace_read(pid, addr, code, n, &ignored))
			return n;
	return 0;
}

/*
 * Is a rep instruction in progress? The PC is also on it before its first element, so the memory that it has just
 * written is compared.
 */
static bool in_rep(const struct trace_local_result *r, const struct trace_words *words)
{
	uint64_t di = r->after.rdi;
	uint8_t code[INSN_MAX];
	size_t n = fetch(r->t.pid, r->after.rip, code);

	if (!r->after.rcx || !is_rep_store(code, n))
		return false;
	return r->after.eflags & 0x400 ? overlaps(words, di, di + REP_REACH) : overlaps(words, di - REP_REACH, di);
}

/* If the last instruction was a call, which wrote the watched word as its return address: the address of the call. */
static uint64_t call_after(const struct trace_local_result *r, const struct trace_words *words)
{
	struct err ignored;
	uint64_t ret;
	uint8_t code[7];
	int32_t rel;

	if (!overlaps(words, r->after.rsp, r->after.rsp + 8) ||
	    trace_read(r->t.pid, r->after.rsp, &ret, sizeof(ret), &ignored) ||
	    trace_read(r->t.pid, ret - sizeof(code), code, sizeof(code), &ignored))
		return 0;
	memcpy(&rel, code + 3, sizeof(rel));
	if (code[2] == 0xe8 && ret + (uint64_t)(int64_t)rel == r->after.rip)
		return ret - 5;
	for (unsigned len = 2; len <= 7; len++)
		if (code[7 - len] == 0xff && (code[8 - len] >> 3 & 7) == 2)
			return ret - len;
	return 0;
}

void local_insn_describe(struct trace_local_result *r, const struct trace_words *words)
{
	r->pc_after = r->after.rip;
	r->pc_inside = r->pc_after;
	if (r->outcome != TRACE_LOCAL_FOUND)
		return;
	if (r->before_known)
		r->pc_insn = r->before.rip;
	else if (in_rep(r, words))
		r->pc_insn = r->pc_after;
	else
		r->pc_insn = call_after(r, words);
	r->pc_inside = r->pc_insn ? r->pc_insn : r->pc_after - 1;
}
