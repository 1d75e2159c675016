/* SPDX-License-Identifier: MIT */
/*
 * try.c: see try.h. The two threads count on their stacks how often they were asked, and write the count to a page
 * that they share with the caller: so an answer after the restore shows that both threads are there, with their
 * memory.
 */
#include "ckpt/try.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cell/cell.h"
#include "cell/wait.h"
#include "ckpt/ckpt.h"

#define PAGE_FILE CELL_RUN_DIR "/try"
#define IMAGE CELL_RUN_DIR "/try-image"

enum { PAGE = 4096, THREADS = 2, TIMEOUT_MS = 20000, BEFORE = 3, AFTER = 2 };

struct page {
	uint32_t go; /* futex: how often they were asked */
	uint32_t answers; /* futex */
	uint32_t count[THREADS]; /* each thread's copy of the number on its stack */
};

struct thread {
	struct page *page;
	unsigned number;
};

static void *answer_for_ever(void *arg)
{
	struct thread *t = arg;
	struct page *p = t->page;
	volatile uint32_t count = 0;

	for (uint32_t seen = 0;; seen++) {
		while (__atomic_load_n(&p->go, __ATOMIC_SEQ_CST) == seen)
			syscall(SYS_futex, &p->go, FUTEX_WAIT, seen, NULL, NULL, 0);
		count = count + 1;
		p->count[t->number] = count;
		__atomic_add_fetch(&p->answers, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &p->answers, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static struct page *map_page(int flags, struct err *e)
{
	cleanup_close int fd = open(PAGE_FILE, O_RDWR | O_CLOEXEC | flags, 0600);
	void *p = fd < 0 || ((flags & O_CREAT) && ftruncate(fd, PAGE))
			  ? MAP_FAILED
			  : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		return p;
	err_errno(e, ERR_HOST, PAGE_FILE);
	return NULL;
}

int ckpt_try_answer(void)
{
	struct err ignored;
	struct page *p = map_page(0, &ignored);
	struct thread t[THREADS] = {{p, 0}, {p, 1}};
	pthread_t other;

	if (p && !pthread_create(&other, NULL, answer_for_ever, &t[1]))
		answer_for_ever(&t[0]);
	return 1;
}

/*
 * Makes it like a replaying process: a session of its own, nothing open but /dev/null, its program executed in the
 * cell (CRIU finds no mount for mappings that were made outside).
 */
static void __attribute__((noreturn)) be_tried(char *program)
{
	char *argv[] = {program, CKPT_TRY_OPTION, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (setsid() >= 0 && null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 &&
	    !close_range(3, ~0u, CLOSE_RANGE_CLOEXEC))
		execv(program, argv);
	_exit(127);
}

/* Asks both threads `times` times; each time both must answer with the next number. */
static int ask(struct page *p, pid_t pid, uint32_t times, struct err *e)
{
	while (times--) {
		uint32_t n = __atomic_add_fetch(&p->go, 1, __ATOMIC_SEQ_CST), seen;

		syscall(SYS_futex, &p->go, FUTEX_WAKE, THREADS, NULL, NULL, 0);
		while ((seen = __atomic_load_n(&p->answers, __ATOMIC_SEQ_CST)) != THREADS * n) {
			int status = 0, r = cell_wait_notify(&p->answers, seen, pid, TIMEOUT_MS, &status);

			if (r != CELL_WAIT_NOTIFIED)
				return err_set(e, ERR_INTERNAL, "%u of %u threads answer (status %#x)",
					       seen - THREADS * (n - 1), THREADS, (unsigned)status);
		}
		if (p->count[0] != n || p->count[1] != n)
			return err_set(e, ERR_INTERNAL, "the memory of its threads has changed");
	}
	return 0;
}

static int end(pid_t pid, struct err *e)
{
	int status;

	kill(pid, SIGKILL);
	return cell_wait_pid(pid, &status, e);
}

static int dump_and_restore(struct page *p, pid_t pid, struct ckpt_try *out, struct err *e)
{
	pid_t again = 0;
	double t0;

	if (ask(p, pid, BEFORE, e))
		return -1;
	t0 = clock_s();
	if (ckpt_dump(NULL, pid, IMAGE, e))
		return -1;
	out->dump_s = clock_s() - t0;
	/* the process continues after the dump, too */
	if (ask(p, pid, AFTER, e))
		return err_wrap(e, "after the dump");
	if (end(pid, e))
		return -1;
	*p = (struct page){.go = BEFORE, .answers = THREADS * BEFORE};
	t0 = clock_s();
	if (ckpt_restore(NULL, IMAGE, &again, e))
		return -1;
	out->restore_s = clock_s() - t0;
	return ask(p, again, AFTER, e) ? err_wrap(e, "after the restore") : end(again, e);
}

int ckpt_try(struct ckpt_try *out, struct err *e)
{
	cleanup_free char *program = realpath("/proc/self/exe", NULL);
	struct page *p = program ? map_page(O_CREAT, e) : NULL;
	pid_t pid;
	int r;

	if (!program)
		return err_errno(e, ERR_HOST, "/proc/self/exe");
	if (!p)
		return -1;
	pid = fork();
	if (!pid)
		be_tried(program);
	r = pid < 0 ? err_fork(e, "cannot fork") : dump_and_restore(p, pid, out, e);
	munmap(p, PAGE);
	return r;
}
