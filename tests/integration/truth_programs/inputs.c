/* SPDX-License-Identifier: MIT */
/*
 * inputs.c: what system calls write: read, pread, getcwd, pipes, fread, sscanf, snprintf.
 *
 * LEVELS: -O0 -O2
 * EXPR: number < 7
 * EXPR: total <= 30
 * EXPR: line[0] != '7'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
int number, total;
char line[16];

int main(void)
{
	int fd[2];

	if (pipe(fd))
		return 1;
	for (int i = 0; i < 10; i++) {
		char text[16];

		pass = i;
		snprintf(text, sizeof(text), "%d\n", i * 7 % 10);
		if (write(fd[1], text, strlen(text)) < 0 || read(fd[0], line, sizeof(line)) < 0)
			return 1;
		number = atoi(line);
		total += number;
		if (total > 30 && i < 8)
			total -= 20;
	}
	total += 40;
	number = 8;
	if (write(fd[1], "7", 1) != 1 || read(fd[0], line, sizeof(line)) < 0)
		return 1;
	puts("end");
	_exit(1);
}
