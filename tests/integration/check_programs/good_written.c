/* SPDX-License-Identifier: MIT */
/*
 * good_written.c: All that is used was written: by the kernel, by functions of libc that the recorder calls itself, bit
 * by bit, or in copies of which a part was never written.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct item {
	char kind;
	int number; /* after bytes that are never written */
	unsigned low : 3, high : 5;
};

static volatile sig_atomic_t signalled;

static void on_signal(int number, siginfo_t *info, void *context)
{
	char *p = malloc(8);

	(void)context;
	memset(p, number, 8);
	signalled += info->si_signo == SIGUSR1 && p[3] == SIGUSR1;
	free(p);
}

static int by_the_kernel(void)
{
	char text[64], a[3], b[8];
	struct iovec v[2] = {{a, 3}, {b, 8}};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, before;
	struct stat *st = malloc(sizeof(*st));
	struct timeval tv;
	int ends[2], sum = 0;
	void *nodes = malloc(128);
	char *path = malloc(4096);

	memset(path, 'a', 4096); /* as many bytes as the kernel reads */
	sum += access(path, F_OK) != 0;
	free(path);
	if (pipe(ends) || write(ends[1], "abcdefgh", 8) != 8 || fstat(ends[0], st))
		return -1;
	sum += S_ISFIFO(st->st_mode);
	sum += readv(ends[0], v, 2) == 8 && a[2] == 'c' && b[4] == 'h';
	sum += write(ends[1], "xyz", 3) == 3 && read(ends[0], text, sizeof(text)) == 3 && text[2] == 'z';
	sigaction(SIGUSR1, &action, &before);
	sum += before.sa_handler == SIG_DFL;
	raise(SIGUSR1);
	gettimeofday(&tv, NULL);
	sum += tv.tv_sec > 0 && signalled == 1;
	syscall(SYS_get_mempolicy, NULL, nodes, 8 * 128 + 1, NULL, 0); /* as libnuma does */
	free(nodes);
	free(st);
	close(ends[0]);
	close(ends[1]);
	return sum;
}

static int by_libc(void)
{
	char text[100], word[20], *line = malloc(100), all[] = "a,b", *rest;
	size_t n = 100;
	time_t t = 86400;
	struct tm tm;
	int one, two, sum = 0, at, end;
	FILE *f = tmpfile();
	signed char small;
	char *made;

	fprintf(f, "%d%hhn %s\nfurther\n%300d\n%n", 17, &small, "line", 5, &at);
	sum += small == 2 && at == 317;
	rewind(f);
	sum += fscanf(f, "%n%d %ms %n", &at, &one, &made, &end) == 2 && at == 0 && end == 8 && made[3] == 'e';
	free(made);
	rewind(f);
	sum += getline(&line, &n, f) == 8 && line[1] == '7';
	sum += fgets(text, sizeof(text), f) && text[0] == 'f';
	sum += fread(text, 2, 40, f) == 40 && text[79] == ' ';
	fclose(f);
	sum += sscanf("12 34 word", "%d %d %19s", &one, &two, word) == 3 && one + two == 46 && word[3] == 'd';
	gmtime_r(&t, &tm);
	sum += tm.tm_year == 70 && strftime(text, sizeof(text), "%Y", &tm) == 4 && text[3] == '0';
	sum += strtok_r(all, ",", &rest)[0] == 'a' && strtol("77 ", &rest, 10) == 77 && *rest == ' ';
	free(line);
	return sum;
}

static __attribute__((noinline)) int number_of(struct item item)
{
	return item.kind == 'i' ? item.number : -1;
}

static int bit_by_bit(void)
{
	struct item *p = malloc(sizeof(*p)), *copies = malloc(4 * sizeof(*p)), last;
	char small[16], *text = malloc(64);
	int sum = 0;

	p->kind = 'i';
	p->number = 4;
	p->low = 5;
	p->high = 9;
	for (int k = 0; k < 4; k++)
		copies[k] = *p;
	copies = realloc(copies, 400 * sizeof(*copies));
	last = copies[3];
	sum += last.low == 5 && last.high == 9 && number_of(last) == 4;
	strcpy(small, "ascii");
	sum += memcmp(small, "usascii", 8) != 0 && strcmp(small, "ascii") == 0 && strlen(small) == 5;
	sum += snprintf(text, 64, "%s %5.2f %c", small, 2.5, 'c') == 13 && strchr(text, 'c') != NULL;
	free(p);
	free(copies);
	free(text);
	return sum;
}

int main(void)
{
	int a = by_the_kernel(), b = by_libc(), c = bit_by_bit();

	printf("%d %d %d\n", a, b, c);
	return 0;
}
