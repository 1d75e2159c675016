/* SPDX-License-Identifier: MIT */
/*
 * sys_advice.c: madvise(2): MADV_DONTFORK and MADV_WIPEONFORK. A replaying process is forked for copies that need all
 * of its memory. So in a replay the kernel is given another advice, which has no effect there: it marks the memory, and
 * the child of a fork that is replayed does to that what the kernel would have done.
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/sys/sys.h"

#include <string.h>
#include <sys/mman.h>

#define KEEP_ON_FORK 19 /* MADV_KEEPONFORK */
#define WIPE_ON_FORK 18

/*
 * real: an advice for which the kernel returns the same result; back: the advice that undoes it; 0: the program's
 * advice has no effect on forks, and is left out, since it would change the marks. then: the mark.
 */
static const struct {
	int is, real, back, then;
} marks[] = {
	{MADV_DONTFORK, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP},
	{MADV_DOFORK, MADV_DOFORK, MADV_DOFORK, MADV_DODUMP},
	{WIPE_ON_FORK, WIPE_ON_FORK, KEEP_ON_FORK, MADV_RANDOM},
	{KEEP_ON_FORK, KEEP_ON_FORK, KEEP_ON_FORK, MADV_NORMAL},
	/* these are used as marks here */
	{MADV_DONTDUMP, MADV_DOFORK, 0, 0},
	{MADV_DODUMP, MADV_DOFORK, 0, 0},
	{MADV_RANDOM, MADV_DOFORK, 0, 0},
	{MADV_SEQUENTIAL, MADV_DOFORK, 0, 0},
	{MADV_NORMAL, MADV_DOFORK, 0, 0},
};

static int has_marked;

long sys_advise(const long *a)
{
	for (unsigned k = 0; G.mode == SHIM_REPLAY && k < sizeof(marks) / sizeof(*marks); k++) {
		long ret;

		if (a[2] != marks[k].is)
			continue;
		ret = raw3(SYS_madvise, a[0], a[1], marks[k].real);
		if (!marks[k].back || ret)
			return ret;
		has_marked = 1;
		raw3(SYS_madvise, a[0], a[1], marks[k].back);
		raw3(SYS_madvise, a[0], a[1], marks[k].then);
		return 0;
	}
	return raw3(SYS_madvise, a[0], a[1], a[2]);
}

static void change(uint64_t lo, uint64_t hi, const char *flags)
{
	if (strstr(flags, " io ")) /* VM_IO: a mapping of the kernel's own, which has " dd ", too */
		return;
	if (strstr(flags, " dd "))
		raw2(SYS_munmap, lo, hi - lo);
	else if (strstr(flags, " rr "))
		raw3(SYS_madvise, lo, hi - lo, MADV_DONTNEED);
}

void sys_advice_child(void)
{
	if (has_marked && maps_flags(change))
		shim_fail("/proc/self/smaps cannot be read");
}
