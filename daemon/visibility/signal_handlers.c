/* SPDX-License-Identifier: MIT */
/* signal_handlers.c: see signal_handlers.h. */
#include "visibility/signal_handlers.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* signal_handler_called of plugins/record/signal/sig.c: mov %rcx, %rsp; call *%r8; and what follows, as of recorders up
 * to now */
#define CALL_AT 3
#define CODE_BYTES 11
static const uint8_t codes[][CODE_BYTES] = {
	{0x48, 0x89, 0xcc, 0x41, 0xff, 0xd0, 0x31, 0xff, 0x48, 0x8d, 0x35}, /* xor %edi, %edi; lea, %rsi */
	{0x48, 0x89, 0xcc, 0x41, 0xff, 0xd0, 0x48, 0x89, 0xec, 0x5d, 0xc3}, /* mov %rbp, %rsp; pop %rbp; ret */
};
enum { CODES = sizeof(codes) / sizeof(codes[0]) };

static bool is_there(pid_t pid, uint64_t addr)
{
	uint8_t found[CODE_BYTES];
	struct err ignored;
	bool known = false;

	if (trace_read(pid, addr, found, sizeof(found), &ignored))
		return false;
	for (unsigned i = 0; i < CODES; i++)
		known |= !memcmp(found, codes[i], sizeof(found));
	return known;
}

static uint64_t look_for(pid_t pid, const struct text *shim)
{
	size_t len = shim->hi - shim->lo;
	cleanup_free uint8_t *text = xmalloc(len + 1);
	const uint8_t *at = NULL;
	struct err ignored;

	if (len && !trace_read(pid, shim->lo, text, len, &ignored))
		for (unsigned i = 0; i < CODES && !at; i++)
			at = memmem(text, len, codes[i], CODE_BYTES);
	return at ? shim->lo + (uint64_t)(at - text) + CALL_AT : 0;
}

uint64_t handlers_find(pid_t pid, const struct text *shim)
{
	static uint64_t found; /* the result for the last process, which is usually the same for the next one */

	if (found < shim->lo || found >= shim->hi || !is_there(pid, found - CALL_AT))
		found = look_for(pid, shim);
	return found;
}

int handlers_signal(const struct user_regs_struct *r)
{
	return (int)(r->rdi & 0xff);
}
