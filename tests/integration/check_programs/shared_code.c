/* SPDX-License-Identifier: MIT */
/* shared_code.c: Code in shared memory that is mapped twice: to be written, and to be executed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	static const unsigned char code[] = {0xc6, 0x47, 0x08, 0x01, 0xc3}; /* movb $1, 8(%rdi); ret */
	char *p = malloc(8); /* ALLOC */
	int fd = memfd_create("code", 0);

	if (ftruncate(fd, 4096))
		return 1;
	void *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void (*f)(char *) = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);

	memcpy(w, code, sizeof(code));
	f(p); /* BAD: outside */
	free(p);
	return 0;
}
