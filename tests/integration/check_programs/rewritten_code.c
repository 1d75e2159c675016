/* SPDX-License-Identifier: MIT */
/* rewritten_code.c: code is written over code that has run, in memory that is writable and executable all the time. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const unsigned char reads[] = {0x8b, 0x47, 0x0e, 0xc3}; /* mov 14(%rdi), %eax; ret */
static const unsigned char writes[] = {0xc7, 0x47, 0x0d, 0x01, 0, 0, 0, 0xc3}; /* movl $1, 13(%rdi); ret */

int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(char *);
	char *p = malloc(16);

	memcpy(&call, &code, sizeof(call));
	memcpy(code, reads, sizeof(reads));
	call(p);
	mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, writes, sizeof(writes));
	call(p);
	free(p);
	return 0;
}
