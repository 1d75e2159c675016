/* SPDX-License-Identifier: MIT */
/* lib_guard.c: see lib_guard.h. */
#include "record/sched/lib_guard.h"
#include "record/core/state.h"

#define GUARDS 256u
#define PAGE 4096ul

static struct guard {
	uint64_t lo, hi;
	const char *name;
} guards[GUARDS];
static uint32_t nguards;
static uint32_t armed;
const char *lib_guard_used;

static void protect(int prot)
{
	for (uint32_t i = 0; i < nguards; i++)
		raw3(SYS_mprotect, guards[i].lo, guards[i].hi - guards[i].lo, prot);
}

int lib_guard_add(uint64_t lo, uint64_t hi, const char *name)
{
	if (nguards == GUARDS)
		return -1;
	guards[nguards++] = (struct guard){lo & ~(PAGE - 1), (hi + PAGE - 1) & ~(PAGE - 1), name};
	return 0;
}

void lib_guard_arm(void)
{
	if (!nguards)
		return;
	__atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
	protect(PROT_READ);
}

/* Also when another thread has just opened it: who got its SIGSEGV before that comes later. */
const char *lib_guard_at(uint64_t pc)
{
	for (uint32_t i = 0; i < nguards; i++)
		if (pc >= guards[i].lo && pc < guards[i].hi)
			return guards[i].name;
	return 0;
}

void lib_guard_open(void)
{
	if (__atomic_exchange_n(&armed, 0, __ATOMIC_ACQ_REL))
		protect(PROT_READ | PROT_EXEC);
}
