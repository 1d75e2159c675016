/* SPDX-License-Identifier: MIT */
/* handlers.c: see handlers.h. */
#include "view/handlers.h"

#include <string.h>

#include "base/str.h"
#include "base/cleanup.h"

/* mov %rcx, %rsp; call *%r8; mov %rbp, %rsp; pop %rbp; ret: call_on_stack of plugins/record/sig.c */
static const uint8_t code[] = {0x48, 0x89, 0xcc, 0x41, 0xff, 0xd0, 0x48, 0x89, 0xec, 0x5d, 0xc3};
#define CALL_AT 3
#define CALL_LEN 3

uint64_t handlers_find(pid_t pid, const struct sight *s)
{
	size_t len = s->shim.hi - s->shim.lo;
	cleanup_free uint8_t *text = xmalloc(len + 1);
	const uint8_t *at = NULL;
	struct err ignored;

	if (len && !trace_read(pid, s->shim.lo, text, len, &ignored))
		at = memmem(text, len, code, sizeof(code));
	return at ? s->shim.lo + (uint64_t)(at - text) + CALL_AT : 0;
}

int handlers_signal(const struct user_regs_struct *r)
{
	return (int)(r->rdi & 0xff);
}

bool handlers_is_entry(uint64_t call, pid_t pid, const struct user_regs_struct *r)
{
	struct err ignored;
	uint64_t ret;

	return call && r->r8 == r->rip && !trace_read(pid, r->rsp, &ret, sizeof(ret), &ignored) && ret == call + CALL_LEN;
}

bool handlers_leads_to(const struct user_regs_struct *r, const struct user_regs_struct *entry)
{
	return r->r8 == entry->rip && r->rsp - sizeof(uint64_t) == entry->rsp;
}
