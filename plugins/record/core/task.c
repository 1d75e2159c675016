/* SPDX-License-Identifier: MIT */
/* task.c: threads and processes as the kernel shows them; CPU time; clone without libc. */
#include "record/core/task.h"
#include "record/core/state.h"
#include "record/core/util.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

char read_task_state(const char *stat)
{
	char buf[256]; /* "PID (NAME) STATE ..." */
	long n = read_head(stat, buf, sizeof(buf));

	while (n > 2 && buf[n - 1] != ')')
		n--;
	return n > 2 && n + 1 < (long)sizeof(buf) ? buf[n + 1] : 0;
}

char *task_path(char *path, char *end, const struct thr *x, const char *file)
{
	char *p = fmt_str(path, end, "/proc/self/task/");

	p = fmt_dec(p, end, (uint64_t)x->tid, 0);
	p = fmt_str(p, end, "/");
	fmt_str(p, end, file);
	return path;
}

char task_state(const struct thr *x)
{
	char path[64];

	return read_task_state(task_path(path, path + sizeof(path), x, "stat"));
}

uint64_t task_cpu_ns(void)
{
	struct timespec ts = {0};

	raw2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void task_not_computing(struct thr *t)
{
	t->preempt.left_cpu = task_cpu_ns();
}

/* May it be the number of a process in another PID namespace, which means nothing here? */
int process_is_elsewhere(uint32_t pid)
{
	return G.pid_ns || (pid & PID_INNER);
}

int task_has_others(const char *tasks)
{
	struct stat st;

	return raw4(SYS_newfstatat, AT_FDCWD, tasks, &st, 0) == 0 && st.st_nlink > 2 + 1;
}

int process_is_dead(uint32_t pid)
{
	char path[64], *end = path + sizeof(path), *p = fmt_str(path, end, "/proc/"), state;

	if (!pid)
		return 1;
	if (process_is_elsewhere(pid))
		return 0;
	if (raw2(SYS_kill, pid, 0) == -3 /* ESRCH */)
		return 1;
	p = fmt_dec(p, end, pid, 1);
	fmt_str(p, end, "/stat");
	state = read_task_state(path);
	fmt_str(p, end, "/task");
	return state == 'X' || (state == 'Z' && !task_has_others(path));
}

void task_end_with(pid_t parent)
{
	raw2(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL);
	if ((pid_t)raw0(SYS_getppid) != parent)
		raw1(SYS_exit_group, 0);
}

__asm__(".text\n.globl clone_fn\n.hidden clone_fn\n.type clone_fn, @function\n"
	"clone_fn:\n"
	"	mov %r8, %r10\n"
	"	mov %rdx, %r8\n" /* fn */
	"	mov %rcx, %r9\n" /* arg */
	"	xor %edx, %edx\n"
	"	mov $56, %eax\n"
	"	mov %r8, -8(%rsi)\n"
	"	mov %r9, -16(%rsi)\n"
	"	xor %r8d, %r8d\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	xor %ebp, %ebp\n"
	"	mov -16(%rsp), %rdi\n"
	"	mov -8(%rsp), %rax\n"
	"	and $-16, %rsp\n"
	"	sub $32, %rsp\n"
	"	call *%rax\n"
	"	mov %eax, %edi\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	"	hlt\n"
	".size clone_fn, .-clone_fn\n");
