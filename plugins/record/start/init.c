/* SPDX-License-Identifier: MIT */
/*
 * init.c: start of the shim in a process image, in either mode, and after a fork.
 *
 * The environment variable FRED=MODE:NNNN:DIR (mode r or p; after an exec also FRED=r:NNNN:HELPER:DIR, where that one
 * is a child of this process) says what to do; it and our part of
 * LD_PRELOAD are taken out of the environment before the program sees it. The constructor runs before
 * those of all other libraries (-z initfirst).
 */
#include "launch/sanitizers.h"
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/scrub.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/tsc_clock.h"
#include "record/core/util.h"
#include "record/dbt/xlate.h"
#include "record/dispatch/syscall.h"
#include "record/event/arm.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/preempt/ignored.h"
#include "record/preempt/walk.h"
#include "record/proc/process.h"
#include "record/proc/thread.h"
#include "record/sched/gil.h"
#include "record/start/start.h"
#include "record/store/files.h"
#include "record/store/keeper.h"
#include "record/store/log.h"
#include "record/sync/heap.h"
#include "record/sys/sys.h"
#include "rlog/walk.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void find_real(void)
{
	const char *missing = real_find();

	if (missing)
		shim_fail(missing);
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
/* The section that the linker has made of SHIM_CLOSED functions. */
extern const char __start_fred_closed[] __attribute__((visibility("hidden")));
extern const char __stop_fred_closed[] __attribute__((visibility("hidden")));

static void find_text(void)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)__ehdr_start;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(__ehdr_start + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
			G.text_lo = (uint64_t)__ehdr_start + ph[i].p_vaddr;
			G.text_hi = G.text_lo + ph[i].p_memsz;
		}
}

static char *env_find(char **envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, n))
			return *envp;
	return 0;
}

static int ends_no_leaks(const char *variable)
{
	const size_t tail = sizeof(LAUNCH_NO_LEAKS) - 1;
	size_t n = strlen(variable);

	return n >= tail && !strcmp(variable + n - tail, LAUNCH_NO_LEAKS);
}

/*
 * Takes our variables out; other libraries that the user preloads stay. The text of our variable differs between
 * recording and replay, but has the same length in both, and is overwritten with the same bytes here.
 */
static void env_hide(char **envp)
{
	char **to = envp, **from;
	int leaks = 0;

	for (from = envp; *from; from++) {
		char *rest;

		if (!strncmp(*from, LAUNCH_EVEN, sizeof(LAUNCH_EVEN) - 1))
			continue;
		if (!strncmp(*from, "FRED=", 5)) {
			memset(*from + 5, '/', strlen(*from + 5));
			continue;
		}
		if (!strncmp(*from, "LD_PRELOAD=", 11)) {
			rest = strchr(*from, ':');
			if (!rest || !rest[1])
				continue;
			memmove(*from + 11, rest + 1, strlen(rest + 1) + 1);
		}
		/* the first one is ours; its bytes stay, since LeakSanitizer reads /proc/self/environ */
		if (!leaks && !strncmp(*from, LAUNCH_LSAN, sizeof(LAUNCH_LSAN) - 1) && (leaks = ends_no_leaks(*from)))
			continue;
		*to++ = *from;
	}
	*to++ = 0;
	for (; to < from; to += 2) {
		to[0] = (char *)AT_IGNORE;
		to[1] = 0;
	}
}

static void copy_until(char *to, size_t n, const char *from, char stop)
{
	size_t i = 0;

	while (from[i] && from[i] != stop && i + 1 < n) {
		to[i] = from[i];
		i++;
	}
	to[i] = 0;
}

/* Returns the PID of an exec's helper that is a child of this process, else 0. */
static pid_t parse_env(const char *fred, const char *preload)
{
	pid_t helper = 0;
	size_t n;

	for (int i = 7; i < 11; i++)
		G.process = G.process * 10 + (uint32_t)(fred[i] - '0');
	fred += 12;
	if (*fred != '/') {
		while (*fred && *fred != ':')
			helper = helper * 10 + (*fred++ - '0');
		fred += *fred == ':';
	}
	copy_until(G.rec, sizeof(G.rec), fred, 0);
	for (n = strlen(G.rec); n > 1 && G.rec[n - 1] == '/'; n--)
		G.rec[n - 1] = 0;
	copy_until(G.shim_path, sizeof(G.shim_path), preload + 11, ':');
	return helper;
}

static int is_control(const struct rlog_control *c, int fd, int check_self)
{
	uint64_t st[18];

	if (c->magic != RLOG_MAGIC_CONTROL || c->version != RLOG_VERSION)
		return 0;
	return !check_self || (raw2(SYS_fstat, fd, st) == 0 && st[0] == c->self[0] && st[1] == c->self[1]);
}

static int use_control(int fd, int check_self)
{
	struct rlog_control *m =
		raw_mmap((void *)SHIM_CONTROL_ADDR, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	int ok = !raw_failed(m) && is_control(m, fd, check_self);

	raw_close(fd);
	if (ok)
		G.control = m;
	else if (!raw_failed(m))
		raw2(SYS_munmap, m, sizeof(*m));
	return ok ? 0 : -1;
}

/* Its path may lead to a copy that an overlay file system has made for an earlier process. */
static int map_control(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);
	int fd;

	fmt_str(p, path + sizeof(path), "/control");
	fd = raw_open(path, O_RDWR, 0);
	if (fd >= 0 && use_control(fd, 1) == 0)
		return 0;
	fd = keep_open_asked(path, O_RDWR);
	return fd < 0 ? -1 : use_control(fd, 0);
}

static void check_image(char **argv)
{
	struct rlog_image im;

	if (image_read_image(G.process, &im))
		shim_fail("cannot read the image of the recording");
	image_show_pid(&im);
	pid_ns_show_self(im.pid);
	sig_inherit(im.sig_ignored, im.sig_blocked);
	if (im.sp != (uint64_t)(argv - 1))
		shim_fail("the stack is not where it was when recording");
	if (im.shim_base != (uint64_t)__ehdr_start)
		shim_fail("libfred-record.so is not where it was when recording: another version or libc?");
	if (im.outputs & RLOG_OUTPUTS_KNOWN)
		sys_set_outputs(im.outputs);
}

static void first_thread(void)
{
	struct thr *t = &G.thr[1];

	t->ordinal = 1;
	t->tid = t->shown_tid = G.pid;
	t->depth = 1;
	t->arena = heap_arena_main();
	G.next_thread = 2;
	self = t;
}

static void start_events(struct thr *t)
{
	ev(t, RLOG_START, 0, 0, 0);
	ev_done(t);
	t->selector = 1;
	t->depth = 0;
}

/* What of a sanitizer is not as in a run that is not recorded. */
static void tell_sanitizer(char **envp)
{
	const char *options = env_find(envp, "ASAN_OPTIONS=");

	if (dl_first_with("__lsan_do_leak_check") && (!options || !strstr(options, LAUNCH_NO_LEAKS)))
		note(RLOG_NOTE_CHOICE, 0,
		     "LeakSanitizer was off: it stops threads in a way that cannot be recorded; to find leaks: "
		     "fredctl check memory on a recording of a build without sanitizers");
	if (G.system_heap && G.control->malloc_mode == RLOG_MALLOC_DETECT)
		note(RLOG_NOTE_CHOICE, 0, "--detect was off: the heap is a sanitizer's, which finds the same errors");
}

static void start_record(uint32_t parent, int argc, char **argv, char **envp)
{
	if (map_control()) {
		/* it has given up its rights, and no keeper answers: it must run nevertheless */
		raw_write_str(2, "fred: a process cannot reach the recording, and is not recorded\n");
		return;
	}
	G.process = __atomic_add_fetch(&G.control->next_process, 1, __ATOMIC_RELAXED);
	G.serial = G.control->sched != RLOG_SCHED_PARALLEL;
	G.counted = G.control->clock != 0;
	heap_use(G.control->malloc_mode);
	if (image_begin_process(parent, RLOG_ORIGIN_EXEC, argc, argv, envp))
		return;
	files_start(image_find_execfn(envp));
	tell_sanitizer(envp);
	G.mode = SHIM_RECORD;
	if (log_open(self))
		return;
	patch_loaded();
	if (G.serial)
		gil_init(self);
	if (G.serial)
		tsc_begin(self);
	own_stack_map(self);
	own_stack_use(self);
	arm_thread(self);
}

/* Replay: how was it recorded? */
static void read_modes(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);
	struct rlog_control c;

	fmt_str(p, path + sizeof(path), "/control");
	if (read_head(path, &c, sizeof(c)) != sizeof(c))
		return;
	G.serial = c.sched != RLOG_SCHED_PARALLEL;
	heap_use(c.malloc_mode);
}

static void start_replay(char **argv)
{
	G.mode = SHIM_REPLAY;
	read_modes();
	G.replay_log_next = (uint8_t *)REPLAY_LOG_ADDR;
	turn_attach(G.process);
	check_image(argv);
	G.ctl->pid = G.pid;
	G.ctl->process = G.process;
	G.ctl->mode_addr = (uint64_t)&G.mode;
	G.ctl->stand_addr = (uint64_t)&G.thr[0].stand;
	G.ctl->stand_size = sizeof(struct thr);
	G.ctl->walk_addr = (uint64_t)walk_enter;
	G.ctl->walk_codes = REPLAY_WALK_CODES;
	G.ctl->walks_threads = 1;
	G.ctl->report_addr = G.system_heap ? 0 : (uint64_t)&shim_report;
	G.ctl->report_kinds = REPORT_KIND_COUNT;
	G.ctl->report_filters = xlate_can_filter() ? REPORT_FILTERS_NEW : 0;
	G.ctl->learns_ids = 1;
	G.ctl->search_addr = (uint64_t)patch_search;
	G.ctl->closed_lo = (uint64_t)__start_fred_closed;
	G.ctl->closed_hi = (uint64_t)__stop_fred_closed;
	if (turn_map_log(self))
		shim_fail("cannot map the log of the first thread");
	self->tid = G.pid;
	self->shown_tid = G.shown_pid;
	own_stack_map(self);
	own_stack_use(self);
	G.ctl->tid[1] = self->tid;
	if (G.sched->slots) {
		G.ctl->slot = 0;
		G.ctl->slot_left = G.sched->slot[0].count;
		G.ctl->owner = 1;
		G.ctl->total = G.sched->total;
	}
	trap_start_replay();
	patch_loaded();
	if (G.serial)
		tsc_begin(self);
	/* position 0: everything is in place, nothing has happened */
	turn_start(self);
}

__attribute__((noinline)) static void init_image(int argc, char **argv, char **envp)
{
	char *fred = env_find(envp, "FRED="), *preload = env_find(envp, "LD_PRELOAD=");
	uint32_t parent;
	pid_t helper;

	heap_init();
	find_text();
	sys_data_init();
	if (!fred || !preload || strlen(fred) < 13 || fred[6] != ':' || fred[11] != ':') {
		find_real();
		return;
	}
	G.pid = G.shown_pid = (int)raw0(SYS_getpid);
	G.thr = raw_mmap((void *)SHIM_THREADS_ADDR, RLOG_MAX_THREADS * sizeof(struct thr), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (raw_failed(G.thr))
		shim_fail("the recorder lacks address space: raise or lift its limit (ulimit -v)");
	helper = parse_env(fred, preload);
	parent = G.process;
	first_thread();
	find_real();
	thread_init();
	adopt_init();
	thread_find_rseq();
	thread_leave_rseq();
	if (fred[5] == 'r') {
		exec_reap_helper(helper);
		ignored_init();
		vdso_init(envp);
		vdso_give(envp);
		start_record(parent, argc, argv, envp);
	} else {
		vdso_give(envp);
		start_replay(argv);
	}
	env_hide(envp);
	if (!G.mode) {
		self->depth = 0;
		return;
	}
	sig_init();
	start_events(self);
}

#define INIT_STACK 32768u /* the functions above use at most this much */

__attribute__((constructor)) static void shim_init(int argc, char **argv, char **envp)
{
	connect_folders();
	trap_find_vectors();
	init_image(argc, argv, envp);
	scrub_stack_bytes(INIT_STACK);
}
