/* SPDX-License-Identifier: MIT */
/*
 * bench.c: what a checkpoint costs. Usage: bench MEGABYTES ROUNDS FOLDER: medians, in
 * milliseconds, of dump and restore of the test target with a block of so many megabytes, images
 * below FOLDER, and of making a cell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "ckpt/ckpt.h"
#include "ckpt/store.h"
#include "drive.h"

enum { MAX_ROUNDS = 1000 };

struct bench {
	int megabytes, rounds;
	const char *folder;
	struct err e;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[n / 2];
}

static int measure(struct bench *b, struct ckpt_store *s, struct target_ctl *ctl, pid_t pid)
{
	static const char *const files[] = {TARGET_CTL, NULL};
	double dump[MAX_ROUNDS], restore[MAX_ROUNDS], start;

	for (int i = 0; i < b->rounds; i++) {
		struct ckpt_meta m = {.event = (uint64_t)i};

		start = now_ms();
		if (ckpt_store_add(s, NULL, pid, files, &m, &b->e))
			return -1;
		dump[i] = now_ms() - start;
		if (drive_kill(pid, &b->e))
			return -1;
		start = now_ms();
		if (ckpt_store_restore(s, NULL, &m, &pid, &b->e))
			return -1;
		restore[i] = now_ms() - start;
		if (drive_step(ctl, pid, &b->e) || ckpt_store_remove(s, m.id, &b->e))
			return -1;
	}
	printf("%d MB: first dump %.1f restore %.1f, ", b->megabytes, dump[0], restore[0]);
	printf("median dump %.1f restore %.1f ms\n", median(dump, b->rounds),
	       median(restore, b->rounds));
	fflush(stdout);
	return drive_kill(pid, &b->e);
}

static int body(void *arg)
{
	struct bench *b = arg;
	struct target_ctl *ctl = drive_furnish(&b->e);
	struct ckpt_store *s;
	pid_t pid;

	if (!ctl || ckpt_store_open(b->folder, &s, &b->e) ||
	    drive_launch(ctl, b->megabytes, &pid, &b->e) || measure(b, s, ctl, pid)) {
		fprintf(stderr, "bench: %s\n", b->e.text);
		return 1;
	}
	return 0;
}

static int nothing(void *arg)
{
	return 0;
}

static int run_cell(int (*init)(void *), struct bench *b)
{
	struct cell c;
	int status;

	if (!cell_start(init, b, &c, &b->e))
		return cell_join(&c, &status, &b->e) || status;
	fprintf(stderr, "bench: %s\n", b->e.text);
	return 1;
}

int main(int argc, char **argv)
{
	struct bench b = {.rounds = argc > 3 ? atoi(argv[2]) : 0};
	double cell[20], start;

	if (b.rounds < 1 || b.rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench MEGABYTES ROUNDS FOLDER\n");
		return 2;
	}
	b.megabytes = atoi(argv[1]);
	b.folder = argv[3];
	for (int i = 0; i < 20; i++) {
		start = now_ms();
		if (run_cell(nothing, &b))
			return 1;
		cell[i] = now_ms() - start;
	}
	printf("cell: %.1f ms\n", median(cell, 20));
	fflush(stdout);
	return run_cell(body, &b);
}
