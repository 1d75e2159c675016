/* SPDX-License-Identifier: MIT */
/* traps.c: recording: counts trapped system calls by the instruction that made them, for `fredctl info`. */
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/store/keeper.h"
#include "record/store/log.h"

#define AFTER_FAILURE ((struct rlog_traps *)-1)

/* Of this process image; a forked one makes a table of its own. */
static struct {
	struct rlog_traps *table; /* 0: none yet */
	uint32_t process;
	uint32_t busy; /* a thread makes it */
} S;

static struct rlog_traps *make(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);
	struct rlog_traps *t = AFTER_FAILURE;
	void *m;
	int fd;

	p = fmt_str(p, path + sizeof(path), "/p");
	p = fmt_dec(p, path + sizeof(path), G.process, 4);
	fmt_str(p, path + sizeof(path), "/traps");
	fd = keep_open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return t;
	if ((keep_limited(sizeof(*t)) ? keep_grow(path, 0, sizeof(*t)) : raw4(SYS_fallocate, fd, 0, 0, sizeof(*t))) ==
	    0) { /* a full disk would be a SIGBUS later */
		m = raw_mmap((void *)SHIM_TRAPS_ADDR, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			     0);
		if (!raw_failed(m)) {
			t = m;
			t->magic = RLOG_MAGIC_TRAPS;
		}
	}
	raw_close(fd);
	return t;
}

static struct rlog_traps *get(void)
{
	struct rlog_traps *t = __atomic_load_n(&S.table, __ATOMIC_ACQUIRE);

	if (likely(t && S.process == G.process))
		return t;
	/*
	 * a thread that comes meanwhile is not counted; nor is the fork child of a process in which another thread was
	 * here
	 */
	if (__atomic_exchange_n(&S.busy, 1, __ATOMIC_ACQUIRE))
		return AFTER_FAILURE;
	t = make();
	S.process = G.process;
	__atomic_store_n(&S.table, t, __ATOMIC_RELEASE);
	__atomic_store_n(&S.busy, 0, __ATOMIC_RELEASE);
	return t;
}

void traps_count(uint64_t pc, long nr)
{
	uint64_t key = (pc & ((1ull << RLOG_TRAP_SHIFT) - 1)) | (uint64_t)nr << RLOG_TRAP_SHIFT;
	uint64_t h = key * 0x9e3779b97f4a7c15ull, n = sizeof(S.table->at) / sizeof(S.table->at[0]);
	struct rlog_traps *t = get();

	if (t == AFTER_FAILURE)
		return;
	for (uint64_t i = h >> 32, tries = 0; tries < 32; tries++, i++) {
		uint64_t free = 0, *k = &t->at[i % n].key, is = __atomic_load_n(k, __ATOMIC_RELAXED);

		if (!is && __atomic_compare_exchange_n(k, &free, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			is = key;
		else if (!is)
			is = free; /* another thread has just taken this entry */
		if (is == key) {
			__atomic_add_fetch(&t->at[i % n].count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	__atomic_add_fetch(&t->others, 1, __ATOMIC_RELAXED);
}
