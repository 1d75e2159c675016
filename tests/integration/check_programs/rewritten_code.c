/* SPDX-License-Identifier: MIT */
/* rewritten_code.c: code is written over code that has run, in memory that is writable and executable all the time. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char inside[] = {0xc6, 0x47, 0x0f, 0x01, 0xc3}; /* movb $1, 15(%rdi); ret */
static const unsigned char outside[] = {0xc6, 0x47, 0x10, 0x01, 0xc3}; /* movb $1, 16(%rdi); ret */

int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(char *);
	char *p = malloc(16);

	memcpy(&call, &code, sizeof(call));
	memcpy(code, inside, sizeof(inside));
	call(p);
	getppid();
	memcpy(code, outside, sizeof(outside));
	call(p);
	free(p);
	return 0;
}
