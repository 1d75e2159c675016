/* SPDX-License-Identifier: MIT */
/* A call of the kernel fails, and its result is in a variable of the function. KIND: exit */
#include <err.h>
#include <fcntl.h>

int main(void)
{
	int fd = open("/no/such/file", O_RDONLY); /* BUG */

	if (fd < 0)
		err(2, "open");
	return 0;
}
