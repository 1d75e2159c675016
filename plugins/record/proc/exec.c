/* SPDX-License-Identifier: MIT */
/* exec.c: exec: is the next program one that can be recorded, and what does it need so that it is? */
#include "launch/auxv.h"
#include "launch/notes.h"
#include "launch/place.h"
#include "launch/sanitizers.h"
#include "record/core/memory.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/tsc_clock.h"
#include "record/core/util.h"
#include "record/event/ev.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/proc/process.h"
#include "record/sched/gil.h"
#include "record/shm/group.h"
#include "record/store/keeper.h"
#include "record/store/log.h"
#include "record/sync/heap_detect.h"
#include "record/sys/sys.h"

#include <elf.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
	EXEC_OK,
	EXEC_STATIC,
	EXEC_SETUID,
	EXEC_FOREIGN,
	EXEC_UNKNOWN,
	EXEC_HIDDEN,
	EXEC_GO,
	EXEC_NO_CHILD,
	EXEC_UNREACHED,
	EXEC_NO_HELPER,
	EXEC_UNSEEN
};
static const char *const exec_why[] = {
	"",
	"static binary",
	"setuid or setgid binary",
	"not a 64-bit x86 glibc binary",
	"cannot be read",
	"its user cannot read the recorder, which lies in a private folder",
	"Go program, on whose stacks the recorder has no room",
	"started by a process whose next child begins a PID namespace",
	"the recording cannot be reached from where it is started",
	"the recorder cannot make a process to start it by (is there a limit, ulimit -u or -v?)",
	"the recorder's library is not to be found below its root folder",
};

static int starts(const char *s, const char *with)
{
	while (*with)
		if (*s++ != *with++)
			return 0;
	return 1;
}

static int same_str(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* b: the file's first n bytes. */
static int phdrs_kind(const uint8_t *b, const Elf64_Phdr *ph, unsigned count, uint64_t n)
{
	const Elf64_Phdr *interp = 0;

	for (unsigned i = 0; i < count; i++) {
		if (ph[i].p_type != PT_INTERP && ph[i].p_type != PT_NOTE)
			continue;
		if (ph[i].p_offset > n || ph[i].p_filesz > n - ph[i].p_offset) {
			if (ph[i].p_type == PT_NOTE)
				continue;
			return EXEC_FOREIGN;
		}
		if (ph[i].p_type == PT_INTERP)
			interp = &ph[i];
		else if (launch_notes_are_go(b + ph[i].p_offset, ph[i].p_filesz))
			return EXEC_GO;
	}
	if (!interp)
		return EXEC_STATIC;
	return same_str((const char *)b + interp->p_offset, "/lib64/ld-linux-x86-64.so.2") ? EXEC_OK : EXEC_FOREIGN;
}

/* Can the program at path be run with the recorder? */
static int exec_kind(const char *path, int depth)
{
	uint8_t b[4096 + 1];
	uint64_t st[18];
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)b;
	int fd = raw_open(path, O_RDONLY, 0);
	long n;

	if (fd < 0)
		return EXEC_UNKNOWN;
	n = raw4(SYS_pread64, fd, b, sizeof(b) - 1, 0);
	if (raw2(SYS_fstat, fd, st) < 0)
		st[3] = 0;
	raw_close(fd);
	if (n < 4)
		return EXEC_UNKNOWN;
	b[n] = 0;
	if (b[0] == '#' && b[1] == '!' && depth < 4) {
		char *p = (char *)b + 2, *q;

		while (*p == ' ' || *p == '\t')
			p++;
		for (q = p; *q && *q != ' ' && *q != '\t' && *q != '\n'; q++)
			;
		*q = 0;
		return exec_kind(p, depth + 1);
	}
	if (((uint32_t)st[3] & 06000) && raw0(SYS_geteuid) != 0)
		return EXEC_SETUID;
	if (n < (long)sizeof(*eh) || b[0] != 0x7f || b[1] != 'E' || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_machine != EM_X86_64)
		return EXEC_FOREIGN;
	if (eh->e_phoff + (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr) > (uint64_t)n)
		return EXEC_FOREIGN;
	return phdrs_kind(b, (const Elf64_Phdr *)(b + eh->e_phoff), eh->e_phnum, (uint64_t)n);
}

/*
 * Can the dynamic linker load the recorder? It may be inaccessible for a process that gave up rights or has another
 * root.
 */
static int shim_kind(void)
{
	long r = raw4(SYS_faccessat2, AT_FDCWD, G.shim_path, R_OK, AT_EACCESS);

	return r == 0 ? EXEC_OK : r == -2 /* ENOENT */ ? EXEC_UNSEEN : EXEC_HIDDEN;
}

/*
 * The new image must start as a replay starts it: no vDSO, known AT_RANDOM bytes. A helper process
 * that shares our memory until the exec traces us over it and edits the new stack.
 */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

enum helper_state { HELPER_GONE = 0, HELPER_STARTS, HELPER_TRACES, HELPER_FAILED, HELPER_LEAVES };
struct helper {
	uint32_t state; /* futex: enum helper_state; the kernel clears it at the helper's end, even if it is killed */
	pid_t target, pid;
	pid_t ours; /* 0: not a child of this process */
	int refused; /* not 0: the target cannot be traced, since a debugger does */
	uint64_t top; /* not PLACE_KERNELS: the image is placed there (launch/place.h) */
	uint64_t stack[2]; /* RLIMIT_STACK, which is lower until then */
};

static void fix_stack(pid_t pid, uint64_t sp)
{
	uint64_t w[512], at, zero = AT_IGNORE;
	struct iovec l = {w, sizeof(w)}, r = {(void *)sp, sizeof(w)};
	int state = 0;

	/* argc, argv..., 0, envp..., 0, auxv pairs */
	for (at = sp;; at += sizeof(w)) {
		long n;

		r.iov_base = (void *)at;
		n = raw6(SYS_process_vm_readv, pid, (long)&l, 1, (long)&r, 1, 0);
		if (n < 16)
			return;
		for (long i = (at == sp); i < n / 8; i++) {
			if (state < 2) {
				state += w[i] == 0;
				continue;
			}
			/* the pairs start here: read them alone */
			uint64_t aux = at + (uint64_t)i * 8, pair[2];

			for (int k = 0; k < 64; k++, aux += 16) {
				struct iovec pl = {pair, 16}, pr = {(void *)aux, 16};

				if (raw6(SYS_process_vm_readv, pid, (long)&pl, 1, (long)&pr, 1, 0) != 16 ||
				    pair[0] == AT_NULL)
					return;
				if (pair[0] == AT_SYSINFO_EHDR) {
					struct iovec wl = {&zero, 8}, wr = {(void *)aux, 8};

					raw6(SYS_process_vm_writev, pid, (long)&wl, 1, (long)&wr, 1, 0);
				}
				if (pair[0] == AT_RANDOM) {
					uint8_t bytes[16] = LAUNCH_AT_RANDOM_BYTES;
					struct iovec wl = {bytes, 16}, wr = {(void *)pair[1], 16};

					raw6(SYS_process_vm_writev, pid, (long)&wl, 1, (long)&wr, 1, 0);
				}
			}
			return;
		}
	}
}

static uint64_t placed_limit(const uint64_t *limit)
{
	return limit[0] < PLACE_STACK_MAX ? limit[0] : PLACE_STACK_MAX;
}

/*
 * Places the image as its predecessor was. If that fails, the image runs where the kernel has put it, and its replay
 * will be refused.
 */
static void place_program(const struct helper *h, pid_t pid, struct user_regs_struct *regs)
{
	const char *why;
	char text[232], *p;
	uint64_t sp;

	why = place_image(pid, h->top, placed_limit(h->stack), &sp);
	if (!why) {
		regs->rsp = sp;
	} else {
		p = fmt_str(text, text + sizeof(text),
			    "a program that cannot be given fixed addresses, and not be replayed: ");
		fmt_str(p, text + sizeof(text), why);
		note(RLOG_NOTE_UNSUPPORTED, pid, text);
	}
}

/*
 * After its exec, the tracee goes on when the helper ends, not before: the kernel detaches what an ending tracer has
 * after it has released its memory and files (ptrace(2); do_exit). So nobody sees the old image's descriptors open, or
 * a process of this recording, after the new image's program has ended.
 */
static int helper_main(void *arg)
{
	struct helper *h = arg;
	struct user_regs_struct regs;
	int status;
	long r = raw4(SYS_ptrace, PTRACE_SEIZE, h->target, 0, PTRACE_O_TRACEEXEC);

	h->pid = (pid_t)raw0(SYS_getpid);
	h->refused = (int)r;
	__atomic_store_n(&h->state, r < 0 ? HELPER_FAILED : HELPER_TRACES, __ATOMIC_RELEASE);
	raw_futex_wake(&h->state, 1);
	if (r < 0)
		return 0;
	/* any child: the only tracee gets another TID by its exec, if it is not the first thread */
	for (;;) {
		r = raw4(SYS_wait4, -1, &status, 0x40000000 /* __WALL */, 0);
		if (r == -4)
			continue;
		if (r < 0 || (status & 0x7f) != 0x7f)
			return 0;
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			raw4(SYS_ptrace, PTRACE_GETREGS, r, 0, &regs);
			if (h->top != PLACE_KERNELS)
				place_program(h, (pid_t)r, &regs);
			if (placed_limit(h->stack) != h->stack[0])
				raw4(SYS_prlimit64, r, RLIMIT_STACK, h->stack, 0);
			fix_stack((pid_t)r, regs.rsp);
			return 0; /* see above */
		}
		if (status >> 8 == SIGSYS && __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) == HELPER_LEAVES) {
			raw4(SYS_ptrace, PTRACE_DETACH, r, 0, 0);
			return 0;
		}
		raw4(SYS_ptrace, PTRACE_CONT, r, 0, status >> 16 ? 0 : (status >> 8) & 0xff);
	}
}

struct middle {
	struct helper h;
	void *stack;
};

/* The helper must not be our child: the program would see it in wait(). */
static int middle_main(void *arg)
{
	struct middle *m = arg;

	if (clone_fn(CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID | SIGCHLD, m->stack, helper_main, &m->h,
		     &m->h.state) < 0)
		m->h.state = HELPER_FAILED;
	return 0;
}

/*
 * Otherwise the helper's new parent would be the first process of a PID namespace, or a subreaper, which the program
 * knows and may be itself. So there, the helper stays a child that only a wait for such children sees, until the next
 * image's recorder reaps it.
 */
static int helper_is_child(void)
{
	return G.pid_ns || __atomic_load_n(&G.control->subreapers, __ATOMIC_RELAXED);
}

static struct helper *start_traced(void)
{
	uint8_t *mem = raw_mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct middle *m = (struct middle *)mem;
	uint32_t starts = HELPER_STARTS;
	long pid;
	int status = 0;

	if (raw_failed(mem))
		return 0;
	m->stack = mem + 32768;
	m->h.target = (pid_t)raw0(SYS_gettid);
	m->h.state = HELPER_STARTS;
	m->h.top = place_top_of((uint64_t)__ehdr_start);
	raw4(SYS_prlimit64, 0, RLIMIT_STACK, 0, m->h.stack);
	if (helper_is_child()) {
		pid = clone_fn(CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID, mem + 65536, helper_main,
			       &m->h, &m->h.state);
		if (pid < 0)
			return 0;
		m->h.ours = (pid_t)pid;
	} else {
		pid = clone_fn(CLONE_VM | CLONE_FILES | CLONE_FS, mem + 65536, middle_main, m, 0);
		if (pid < 0)
			return 0;
		while (raw4(SYS_wait4, pid, &status, 0x40000000, 0) == -4)
			;
	}
	if (status) /* it was killed: no other process can start the helper, or has */
		__atomic_compare_exchange_n(&m->h.state, &starts, HELPER_FAILED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	while (__atomic_load_n(&m->h.state, __ATOMIC_ACQUIRE) == HELPER_STARTS)
		raw_futex_wait(&m->h.state, HELPER_STARTS);
	return &m->h;
}

/* A process that has given up rights cannot be traced, not by the helper either, until its exec. */
static struct helper *start_helper(void)
{
	long dumpable = raw1(SYS_prctl, PR_GET_DUMPABLE);
	struct helper *h;

	if (dumpable != 1)
		raw2(SYS_prctl, PR_SET_DUMPABLE, 1);
	h = start_traced();
	if (dumpable != 1)
		raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
	return h;
}

void exec_reap_helper(pid_t pid)
{
	while (pid && raw4(SYS_wait4, pid, 0, 0x40000000 /* __WALL */, 0) == -4)
		;
}

/*
 * The exec has failed. If the helper were killed, a signal (or trap) for which its target just stops would be lost: so
 * it is asked to leave, by a signal that it does not pass on.
 */
static void dismiss_helper(struct helper *h)
{
	uint32_t traces = HELPER_TRACES;

	if (__atomic_compare_exchange_n(&h->state, &traces, HELPER_LEAVES, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		raw2(SYS_tkill, h->target, SIGSYS);
	exec_reap_helper(h->ours);
}

/* at least: the number of digits is the same each time, since it determines the stack's place */
#define PID_DIGITS 7

/*
 * Copies envp, with the recorder's variables at its end, into one mapping, which the exec discards. h NULL: without
 * these variables.
 */
static char **build_env(char *const *envp, const struct helper *h)
{
	size_t n = 0, bytes;
	char **out, *str;
	const char *user_preload = 0, *user_leaks = "";
	size_t k = 0;

	for (; envp && envp[n]; n++)
		if (!*user_leaks && starts(envp[n], LAUNCH_LSAN))
			user_leaks = envp[n] + sizeof(LAUNCH_LSAN) - 1;
	bytes = strlen(user_leaks) + (n + 6) * sizeof(char *) + 8192;
	out = raw_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(out))
		return 0;
	str = (char *)(out + n + 6);
	if (h) { /* before the user's */
		char *end = (char *)out + bytes;

		out[k++] = str;
		str = fmt_str(str, end, LAUNCH_LSAN);
		str = fmt_str(str, end, user_leaks);
		str = fmt_str(str, end, *user_leaks ? ":" LAUNCH_NO_LEAKS : LAUNCH_NO_LEAKS) + 1;
	}
	for (size_t i = 0; i < n; i++) {
		if (starts(envp[i], "FRED=") || starts(envp[i], LAUNCH_EVEN))
			continue;
		if (h && starts(envp[i], "LD_PRELOAD=")) {
			user_preload = envp[i] + 11;
			continue;
		}
		out[k++] = envp[i];
	}
	if (h) {
		char *end = (char *)out + bytes, *p = str;

		out[k++] = p;
		p = fmt_str(p, end, "LD_PRELOAD=");
		p = fmt_str(p, end, G.shim_path);
		if (user_preload && *user_preload && !starts(user_preload, G.shim_path)) {
			p = fmt_str(p, end, ":");
			p = fmt_str(p, end, user_preload);
		} else {
			out[k++] = LAUNCH_EVEN;
		}
		out[k++] = ++p;
		p = fmt_str(p, end, "FRED=r:");
		p = fmt_dec(p, end, G.process, 4);
		p = fmt_str(p, end, ":");
		if (h->ours) {
			p = fmt_dec(p, end, (uint64_t)h->ours, PID_DIGITS);
			p = fmt_str(p, end, ":");
		}
		str = p;
		p = fmt_str(p, end, G.rec);
		while (p - str < 24) /* at least as long as the path in a replay, see target/program.c */
			p = fmt_str(p, end, "/");
	}
	out[k] = 0;
	return out;
}

/* begins: the exec of an image; or it has failed. */
static void lower_stack_limit(const struct helper *h, int begins)
{
	uint64_t lower[2] = {placed_limit(h->stack), h->stack[1]};

	if (lower[0] != h->stack[0])
		raw4(SYS_prlimit64, 0, RLIMIT_STACK, begins ? lower : h->stack, 0);
}

/* A debugger that traces this process does what the helper cannot do. begins: 0: the exec has failed. */
static void tell_tracer(const struct helper *h, int begins)
{
	struct rlog_control *c = G.control;
	uint32_t pid = (uint32_t)raw0(SYS_getpid);

	if (!h->refused)
		return;
	if (!begins) { /* another process may have set it since */
		__atomic_compare_exchange_n(&c->traced_exec, &pid, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		return;
	}
	c->traced_stack = h->stack[0];
	__atomic_store_n(&c->traced_exec, pid, __ATOMIC_RELEASE);
}

#define PATH_BYTES 4000u /* bytes of a path that are logged */

/* If it is not readable, the kernel reports that. */
static int is_list(char *const *v)
{
	for (; v; v++) {
		if (!sys_readable(v, sizeof(*v)) || (*v && !sys_readable(*v, 1)))
			return 0;
		if (!*v)
			break;
	}
	return 1;
}

static void rec_exec(struct thr *t, const char *path)
{
	if (ev_bytes(t, RLOG_EXEC, 0, 0, path, strnlen(path, PATH_BYTES)) == 0)
		t->clean = 1;
}

long proc_exec(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	const char *path = (const char *)(nr == SYS_execve ? a[0] : a[1]);
	char *const *envp = (char *const *)(nr == SYS_execve ? a[2] : a[3]);
	char fdpath[64], text[232], *p;
	struct rlog_rec r;
	struct helper *h = 0;
	int64_t ret = 0;
	char **env;
	int kind;

	if (!sys_readable(path, 1))
		return -14; /* EFAULT */
	if (nr == SYS_execveat && !*path) {
		p = fmt_str(fdpath, fdpath + sizeof(fdpath), "/proc/self/fd/");
		fmt_dec(p, fdpath + sizeof(fdpath), (uint64_t)a[0], 1);
		path = fdpath;
	}
	if (G.mode == SHIM_REPLAY) {
		turn_take(t, &r, RLOG_EXEC);
		turn_done(t);
		ev_half(t, RLOG_EXECRET, &ret, 0);
		return ret;
	}
	if (t->filter)
		note(RLOG_NOTE_UNSUPPORTED, SYS_seccomp, "the program's seccomp filter is not kept over an exec");
	detect_look_at_all();
	written_look();
	rec_exec(t, path);
	vfork_child_leaves();
	if (t->own_process) /* the other processes with this memory go on */
		gil_block(t);
	else
		group_leave();
	if (is_list(envp) && raw2(SYS_access, path, 1 /* X_OK */) == 0) {
		kind = exec_kind(path, 0);
		if (kind == EXEC_OK)
			kind = shim_kind();
		if (kind == EXEC_OK && G.children_ns)
			kind = EXEC_NO_CHILD;
		if (kind == EXEC_OK && !keep_reaches())
			kind = EXEC_UNREACHED;
		if ((kind == EXEC_OK || kind == EXEC_UNKNOWN) && !(h = start_helper()))
			kind = EXEC_NO_HELPER;
		if (!h) {
			p = fmt_str(text, text + sizeof(text), path);
			p = fmt_str(p, text + sizeof(text), ": ");
			fmt_str(p, text + sizeof(text), exec_why[kind]);
			note(RLOG_NOTE_UNRECORDED_EXEC, 0, text);
		}
		env = build_env(envp, h);
		tsc_release();
		limits_before_exec();
		sig_queue_show(t, nr);
		sig_show_hidden(t, 1);
		if (h) {
			lower_stack_limit(h, 1);
			tell_tracer(h, 1);
		}
		if (env)
			ret = nr == SYS_execve ? raw3(nr, a[0], a[1], env)
					       : raw6(nr, a[0], a[1], a[2], (long)env, a[4], 0);
		else
			ret = -12;
		sig_show_hidden(t, 0);
		if (h) {
			tell_tracer(h, 0);
			lower_stack_limit(h, 0);
			dismiss_helper(h);
		}
	} else {
		limits_before_exec();
		sig_queue_show(t, nr);
		ret = nr == SYS_execve ? raw3(nr, a[0], a[1], a[2]) : raw6(nr, a[0], a[1], a[2], a[3], a[4], 0);
	}
	tsc_arm();
	if (t->own_process)
		gil_unblock(t);
	else
		group_enter(t);
	ev_half(t, RLOG_EXECRET, &ret, 0);
	return ret;
}
