/* SPDX-License-Identifier: MIT */
/*
 * raw.h: system calls without libc. Inlined into the shim's text, which the trap lets through. All
 * return the kernel's value: -errno on failure. errno is never touched.
 */
#ifndef FRED_COMMON_RAW_H
#define FRED_COMMON_RAW_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define raw0(nr) raw6((nr), 0, 0, 0, 0, 0, 0)
#define raw1(nr, a) raw6((nr), (long)(a), 0, 0, 0, 0, 0)
#define raw2(nr, a, b) raw6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define raw3(nr, a, b, c) raw6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw4(nr, a, b, c, d) raw6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline int raw_open(const char *path, int flags, int mode)
{
	return (int)raw4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline void raw_close(int fd)
{
	raw1(SYS_close, fd);
}

static inline void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, long off)
{
	return (void *)raw6(SYS_mmap, (long)addr, (long)len, prot, flags, fd, off);
}

static inline int raw_failed(const void *p)
{
	return (unsigned long)p >= (unsigned long)-4095L;
}

/* Shared (not FUTEX_PRIVATE): the words are in pages that other processes map. */
static inline long raw_futex_wait(uint32_t *word, uint32_t val)
{
	return raw4(SYS_futex, word, FUTEX_WAIT, val, 0);
}

static inline long raw_futex_wake(uint32_t *word, int n)
{
	return raw3(SYS_futex, word, FUTEX_WAKE, n);
}

static inline void raw_write_str(int fd, const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	raw3(SYS_write, fd, s, n);
}

#endif
