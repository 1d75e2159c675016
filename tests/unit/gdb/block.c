/* SPDX-License-Identifier: MIT */
/*
 * block.c: a shared library whose only function waits in a futex with a raw system call, as a parked
 * thread of a replay does. It waits again when it is woken, so the word alone keeps it there.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not the program's type of this name: the scope of an expression is the frame's, not frame 0's. */
struct node {
	char other[40];
	int value;
};

struct node block_node = {"", 12345};
volatile int block_word;
volatile int block_returned;

__attribute__((visibility("default"))) long block_here(void)
{
	long r = 0;

	while (!block_word) {
		__asm__ volatile("xor %%r10, %%r10\n\tsyscall"
				 : "=a"(r)
				 : "0"(SYS_futex), "D"(&block_word), "S"(FUTEX_WAIT), "d"(0)
				 : "rcx", "r11", "r10", "memory");
		block_returned++;
	}
	return r;
}
