/* SPDX-License-Identifier: MIT */
/* by_calls.c: memory that system calls, and functions of libc which the recorder calls, read and write for the program.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char text[] = "abcdefghij 12 klmnopqrst\n";

static FILE *again(FILE *f)
{
	rewind(f);
	return f;
}

/* By a system call: what libc does after that, it still does for this function. */
static size_t fill(char *p, size_t n)
{
	FILE *f = fopen("/dev/zero", "r");
	size_t got = fread(p, 1, n, f); /* BAD: outside */

	fclose(f);
	return got;
}

static void times(void)
{
	char *p = malloc(10); /* ALLOC */
	time_t *when = malloc(4); /* ALLOC */
	struct tm *tm = malloc(40); /* ALLOC */
	struct tm day = {.tm_year = 100, .tm_mday = 1};

	strftime(p, 20, "%y-%m-%dxy", &day); /* BAD: outside */
	strftime(p, 10, "%y-%m-%d", &day);
	*(int *)when = 0;
	localtime_r(when, tm); /* BAD: outside */ /* BAD: outside */
	free(when);
	free(tm);
	free(p);
}

int main(void)
{
	FILE *f = tmpfile();
	int fd = memfd_create("x", 0), n;
	char *p = malloc(10), *freed = strdup("freed"); /* ALLOC */
	struct iovec v[2] = {{(char *)text, 3}, {p, 11}};

	memset(p, 'p', 10);
	if (!f || fputs(text, f) < 0 || fwrite(p, 5, 2, f) != 2 || write(fd, p, 10) != 10)
		return 1;
	if (fwrite(p, 1, 11, f) != 11) /* BAD: outside */
		return 1;
	if (write(fd, p, 11) != 11) /* BAD: outside */
		return 1;
	if (writev(fd, v, 2) != 14) /* BAD: outside */
		return 1;
	fprintf(f, "%.10s %d %.3f %Lf %*d %% %.*s\n", p, 3, 0.5, 1.5L, 4, 5, 9, p);
	fprintf(f, "%d %.3f %s\n", 3, 0.5, freed);
	if (fread(p, 1, 10, again(f)) != 10 || fscanf(again(f), "%9s", p) != 1 || !fgets(p, 10, again(f)))
		return 1;
	if (fread(p, 1, 11, again(f)) != 11) /* BAD: outside */
		return 1;
	if (!fgets(p, 16, again(f))) /* BAD: outside */
		return 1;
	if (fscanf(again(f), "%*[a-c]%[^k]%n", p, &n) != 1) /* BAD: outside */
		return 1;
	if (fscanf(again(f), "%10s%d", p, &n) != 2) /* BAD: outside */
		return 1;
	free(freed); /* FREE */
	fprintf(f, "%d %.3f %s\n", 3, 0.5, freed); /* BAD: use-after-free */
	fputs(freed, f); /* BAD: use-after-free */
	times();
	fclose(f);
	close(fd);
	if (fill(p, 11) != 11)
		return 1;
	free(p);
	return 0;
}
