/* SPDX-License-Identifier: MIT */
/*
 * vfork.c: what a vfork child tells its parent. The recorder gives such a child a copy of the memory, but
 * libc's posix_spawn has it report an error through the parent's stack. So the child leaves its copy of that
 * stretch in a shared page when it execs or ends, and the parent, which waits for that, takes over
 * what differs. It is logged as a call of its own behind the fork.
 */
#include "record/shim.h"

#include <string.h>
#include <ucontext.h>

#define STRETCH 4096u

struct share {
	uint64_t sp; /* start of the stretch */
	uint32_t len;
	uint32_t done; /* the child has filled in `after` */
	uint8_t before[STRETCH], after[STRETCH];
};

static struct share *child_share; /* in a vfork child */

/* Is the whole stretch there? The stack's end may be nearer. */
static uint32_t stretch_len(uint64_t sp)
{
	uint32_t len = STRETCH;

	while (len > 256 && raw3(SYS_msync, (sp + len) & ~4095ull, 1, 1 /* MS_ASYNC */) < 0)
		len /= 2;
	return len;
}

struct share *vfork_begin(ucontext_t *uc)
{
	struct share *s;

	if (!uc)
		return 0;
	s = raw_mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(s))
		return 0;
	s->sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	s->len = stretch_len(s->sp);
	memcpy(s->before, (void *)s->sp, s->len);
	return s;
}

void vfork_child(struct share *s)
{
	child_share = s;
}

void vfork_child_leaves(void)
{
	struct share *s = child_share;

	if (!s)
		return;
	memcpy(s->after, (void *)s->sp, s->len);
	s->done = 1;
}

/* The pieces that differ, each as offset (2 bytes), length (2 bytes), bytes. */
static uint64_t encode(const struct share *s, uint8_t *out)
{
	uint8_t *p = out;

	for (uint32_t i = 0; i < s->len; i++) {
		uint16_t at = (uint16_t)i, n = 0;

		while (i < s->len && s->before[i] != s->after[i]) {
			i++;
			n++;
		}
		if (!n)
			continue;
		memcpy(p, &at, 2);
		memcpy(p + 2, &n, 2);
		memcpy(p + 4, s->after + at, n);
		p += 4 + n;
	}
	return (uint64_t)(p - out);
}

static void apply(uint64_t sp, const uint8_t *p, const uint8_t *end)
{
	uint16_t at, n;

	for (; p + 4 <= end; p += 4 + n) {
		memcpy(&at, p, 2);
		memcpy(&n, p + 2, 2);
		if (p + 4 + n <= end && at + n <= STRETCH)
			memcpy((uint8_t *)sp + at, p + 4, n);
	}
}

void vfork_end(struct thr *t, struct share *s, ucontext_t *uc)
{
	uint8_t diff[3 * STRETCH];
	const uint8_t *p = diff;
	uint64_t len = 0;
	int64_t zero = 0;

	if (!uc)
		return;
	if (G.mode == SHIM_RECORD && s && s->done)
		len = encode(s, diff);
	ev(t, RLOG_CALL, 0, RLOG_CALL_SPAWN_ERROR, 0);
	ev_done(t);
	if (G.mode == SHIM_REPLAY)
		p = ev_callret(t, &zero, 0, &len);
	else
		ev_callret(t, &zero, diff, &len);
	apply((uint64_t)uc->uc_mcontext.gregs[REG_RSP], p, p + len);
	if (s)
		raw2(SYS_munmap, s, sizeof(*s));
}
