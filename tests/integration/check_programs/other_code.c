/* SPDX-License-Identifier: MIT */
/* other_code.c: code is unmapped, and other code is mapped where it was. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char codes[][8] = {
	{0xc6, 0x47, 0x10, 0x01, 0xc3}, /* movb $1, 16(%rdi); ret */
	{0x8b, 0x47, 0x0e, 0xc3}, /* mov 14(%rdi), %eax; ret */
	{0xc7, 0x47, 0x0d, 0x01, 0x00, 0x00, 0x00, 0xc3}, /* movl $1, 13(%rdi); ret */
	{0xc6, 0x47, 0x0f, 0x01, 0xc3}, /* movb $1, 15(%rdi); ret */
};

int main(void)
{
	char *p = malloc(16);

	for (unsigned k = 0; k < sizeof(codes) / sizeof(codes[0]); k++) {
		int fd = memfd_create("code", 0);
		void (*call)(char *) = write(fd, codes[k], sizeof(codes[k])) < 0
					       ? NULL
					       : mmap((void *)0x600000000000, 4096, PROT_READ | PROT_EXEC,
						      MAP_PRIVATE | MAP_FIXED, fd, 0);

		call(p);
		p[16] = 0; /* in the same code each time */
		munmap((void *)0x600000000000, 4096);
		close(fd);
	}
	free(p);
	return 0;
}
