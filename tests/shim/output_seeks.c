/* SPDX-License-Identifier: MIT */
/* output_seeks.c: standard output is a file, in which the program goes back; a replay's output is as the file is. */
#include "check.h"

#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
	struct iovec v[2] = {{"-", 1}, {"=", 1}};

	if (lseek(1, 0, SEEK_CUR) < 0) /* no file */
		return check_status();
	NEED(write(1, "size? 0123456789\n", 17) == 17);
	NEED(lseek(1, 0, SEEK_SET) == 0);
	NEED(write(1, "size!", 5) == 5);
	NEED(pwrite(1, "ab", 2, 8) == 2);
	NEED(pwritev(1, v, 2, 11) == 2);
	NEED(write(1, "+", 1) == 1);
	NEED(lseek(1, 3, SEEK_END) == 20);
	NEED(write(1, "end of it", 9) == 9);
	NEED(ftruncate(1, 25) == 0);
	return check_status();
}
