/* SPDX-License-Identifier: MIT */
/*
 * auxv_file.c: the auxiliary vector in /proc/self/auxv and prctl(PR_GET_AUXV). The kernel shows its own there, so the
 * address of the vDSO is replaced by that of the recorder's (vdso_image.c).
 */
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/sys/sys.h"

#include <string.h>

#define PR_GET_AUXV_ 0x41555856

/* offset of AT_SYSINFO_EHDR in the vector, 0: the vector is the kernel's; the value there */
static uint64_t entry_at, value;

void vdso_auxv_gives(uint64_t at, uint64_t addr)
{
	entry_at = at;
	value = addr;
}

void vdso_auxv_opened(const char *path, long fd)
{
	size_t n = sys_is_error(fd) ? 0 : strnlen(path, 4096);

	if (n >= 5 && !memcmp(path + n - 5, "/auxv", 5))
		G.auxv_files = 1;
}

/* Is it the vector of this process? "/proc/PID/auxv", with the number that /proc has for us. */
static int is_own_auxv(long fd)
{
	char path[64], link[64], own[32], *p = fmt_str(path, path + sizeof(path), "/proc/self/fd/");
	long n, k;

	fmt_dec(p, path + sizeof(path), (uint64_t)fd, 1);
	n = raw3(SYS_readlink, path, link, sizeof(link));
	k = raw3(SYS_readlink, "/proc/self", own, sizeof(own));
	return n > 11 && k > 0 && !memcmp(link, "/proc/", 6) && !memcmp(link + 6, own, (size_t)k) &&
	       link[6 + k] == '/' && !memcmp(link + n - 5, "/auxv", 5);
}

/* buf has n bytes of the vector, from offset `at` on: replaces the vDSO's address in it. */
static void correct(uint8_t *buf, uint64_t n, uint64_t at)
{
	uint64_t lo = entry_at + 8;

	for (uint64_t i = 0; i < 8; i++)
		if (lo + i >= at && lo + i < at + n)
			buf[lo + i - at] = (uint8_t)(value >> 8 * i);
}

void vdso_auxv_read(long nr, const long *a, long ret)
{
	if (!value || ret <= 0)
		return;
	if (nr == SYS_read && is_own_auxv(a[0]))
		correct((uint8_t *)a[1], (uint64_t)ret, (uint64_t)(raw3(SYS_lseek, a[0], 0, 1 /* SEEK_CUR */) - ret));
	else if (nr == SYS_pread64 && is_own_auxv(a[0]))
		correct((uint8_t *)a[1], (uint64_t)ret, (uint64_t)a[3]);
	else if (nr == SYS_prctl && a[0] == PR_GET_AUXV_)
		correct((uint8_t *)a[1], (uint64_t)a[2] < (uint64_t)ret ? (uint64_t)a[2] : (uint64_t)ret, 0);
}
