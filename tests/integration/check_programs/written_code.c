/* SPDX-License-Identifier: MIT */
/* written_code.c: code that was written at run time, called after the last event but one, writes behind a block. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p = malloc(16);

	memcpy(code, "\xc6\x47\x10\x01\xc3", 5); /* movb $1, 16(%rdi); ret */
	((void (*)(char *))code)(p);
	return 0;
}
