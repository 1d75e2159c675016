/* SPDX-License-Identifier: MIT */
/*
 * init.c: start of the shim in a process image, in either mode, and after a fork.
 *
 * The environment variable FRED=MODE:NNNN:DIR (mode r or p) says what to do; it and our part of
 * LD_PRELOAD are taken out of the environment before the program sees it. The constructor runs before
 * those of all other libraries (-z initfirst).
 */
#include "record/shm/group.h"
#include "record/core/ignored.h"
#include "record/core/keep.h"
#include "record/core/own_stack.h"
#include "record/core/sig_queue.h"
#include "record/dbt/spin.h"
#include "record/sys/sys.h"
#include "record/preempt/walk.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct shim G;
__thread struct thr *self __attribute__((tls_model("initial-exec")));
void *real_table[REAL_COUNT];

static const struct {
	const char *name, *version;
	int optional;
} real_names[REAL_COUNT] = {
#define REALFN(name, version) {#name, version, 0},
#define REALOPT(name) {#name, 0, 1},
#include "record/core/real.def"
#undef REALOPT
#undef REALFN
};

static void find_real(void)
{
	real_table[REAL_dlsym] = dl_find_real("dlsym");
	real_table[REAL_dlvsym] = dl_find_real("dlvsym");
	if (!real_table[REAL_dlsym] || !real_table[REAL_dlvsym])
		shim_fail("dlsym");
	for (int i = 0; i < REAL_COUNT; i++) {
		/*
		 * dlsym allocates the text of an error. The program's own allocator would begin with that, before there
		 * is a log for the clocks that it reads.
		 */
		if (real_names[i].optional && !dl_find_real(real_names[i].name))
			continue;
		real_table[i] = real_names[i].version
					? REAL(dlvsym)(RTLD_NEXT, real_names[i].name, real_names[i].version)
					: REAL(dlsym)(RTLD_NEXT, real_names[i].name);
		if (!real_table[i] && !real_names[i].optional)
			shim_fail(real_names[i].name);
	}
}

void *real_late(enum real_id id)
{
	if (unlikely(!real_table[id]))
		real_table[id] = dl_find_real(real_names[id].name);
	return real_table[id];
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

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

/*
 * Takes our variables out; what else the user preloads stays. The text of our own says what this process is, and that is
 * something else in a replay: both have the same length, and the same memory from here on.
 */
static void env_hide(char **envp)
{
	char **to = envp;

	for (char **from = envp; *from; from++) {
		char *rest;

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
		*to++ = *from;
	}
	*to = 0;
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

static void parse_env(char *fred, char *preload)
{
	size_t n;

	for (int i = 7; i < 11; i++)
		G.process = G.process * 10 + (uint32_t)(fred[i] - '0');
	copy_until(G.rec, sizeof(G.rec), fred + 12, 0);
	for (n = strlen(G.rec); n > 1 && G.rec[n - 1] == '/'; n--)
		G.rec[n - 1] = 0;
	copy_until(G.shim_path, sizeof(G.shim_path), preload + 11, ':');
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
	struct rlog_control *m = raw_mmap((void *)SHIM_CONTROL_ADDR, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	int ok = !raw_failed(m) && is_control(m, fd, check_self);

	raw_close(fd);
	if (ok)
		G.control = m;
	else if (!raw_failed(m))
		raw2(SYS_munmap, m, sizeof(*m));
	return ok ? 0 : -1;
}

/* Under its path there may be a copy, which an overlay file system made for a process before. */
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

static int make_dir(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);

	fmt_str(p, path + sizeof(path), "/files");
	keep_mkdir(path, 0700); /* the first process makes it */

	p = fmt_str(p, path + sizeof(path), "/p");
	fmt_dec(p, path + sizeof(path), G.process, 4);
	return (int)keep_mkdir(path, 0700);
}

struct out {
	char path[400];
	long failed; /* 0, or -errno */
	size_t n;
	char buf[4096];
};

static void out_flush(struct out *o)
{
	if (!o->failed)
		o->failed = keep_append(o->path, o->buf, o->n);
	o->n = 0;
}

static void out_bytes(struct out *o, const void *p, size_t n)
{
	const char *s = p;

	while (n--) {
		if (o->n == sizeof(o->buf))
			out_flush(o);
		o->buf[o->n++] = *s++;
	}
}

static uint64_t out_str(struct out *o, const char *s)
{
	size_t n = strlen(s) + 1;

	out_bytes(o, s, n);
	return n;
}

static const char *find_execfn(char **envp)
{
	const Elf64_auxv_t *av;

	while (*envp)
		envp++;
	for (av = (const Elf64_auxv_t *)(envp + 1); av->a_type; av++)
		if (av->a_type == AT_EXECFN)
			return (const char *)av->a_un.a_val;
	return "";
}

/*
 * How many arguments the kernel put in front of those of a script: "#!" makes argv INTERPRETER [ARGUMENT]
 * SCRIPT and what followed argv[0]. 0: no script.
 */
static int script_args(const char *execfn, int argc, char **argv)
{
	char head[2];
	int k;

	if (read_head(execfn, head, sizeof(head)) != sizeof(head) || head[0] != '#' || head[1] != '!')
		return 0;
	/* the first one: the script may be its own argument too */
	for (k = 1; k < argc; k++)
		if (!strcmp(argv[k], execfn))
			return k;
	return 0;
}

/* Which descriptors are the recording's standard output and error? The first process says what those are. */
static uint64_t find_outputs(void)
{
	uint64_t map = RLOG_OUTPUTS_KNOWN;

	for (int fd = 1; G.process == 1 && fd <= 2; fd++)
		if (sys_show_identify(fd, G.control->output[fd - 1]))
			memset(G.control->output[fd - 1], 0, sizeof(G.control->output[0]));
	for (int fd = 0; fd < 16; fd++)
		map |= (uint64_t)sys_show_output(fd, fd == 2) << (2 * fd);
	return map;
}

static int read_image(uint32_t process, struct rlog_image *im)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);
	long n;
	int fd;

	p = fmt_str(p, path + sizeof(path), "/p");
	p = fmt_dec(p, path + sizeof(path), process, 4);
	fmt_str(p, path + sizeof(path), "/image");
	if (G.mode == SHIM_REPLAY)
		return read_head(path, im, sizeof(*im)) == sizeof(*im) ? 0 : -1;
	fd = keep_open(path, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	n = raw3(SYS_read, fd, im, sizeof(*im));
	raw_close(fd);
	return n == sizeof(*im) ? 0 : -1;
}

/* A process keeps its PID over an exec. */
static uint64_t cell_pid(uint32_t parent, enum rlog_origin origin)
{
	struct rlog_image im;

	if (origin == RLOG_ORIGIN_FORK)
		return G.pid_ns ? pid_ns_cell_pid(G.process) : 0;
	if (!parent || read_image(parent, &im))
		return 0;
	G.pid_ns = im.cell_pid != 0;
	return im.cell_pid;
}

/* Writes pNNNN/image; argv is NULL for a fork child. 0, or -errno. */
static long write_image(uint32_t parent, enum rlog_origin origin, int argc, char **argv, char **envp)
{
	struct rlog_image im = {0};
	struct rlimit rl = {0, 0};
	uint64_t ts[2] = {0, 0};
	static struct out o;
	char exe[4096], cwd[4096], *p, *end = o.path + sizeof(o.path);
	long n;

	p = fmt_str(o.path, end, G.rec);
	p = fmt_str(p, end, "/p");
	p = fmt_dec(p, end, G.process, 4);
	fmt_str(p, end, "/image");
	o.n = 0;
	o.failed = 0;
	raw4(SYS_prlimit64, 0, RLIMIT_STACK, 0, &rl);
	raw2(SYS_clock_gettime, 0, ts);
	im.magic = RLOG_MAGIC_IMAGE;
	im.version = RLOG_VERSION;
	im.process = G.process;
	im.parent = parent;
	im.origin = origin;
	im.pid = G.pid;
	im.cell_pid = cell_pid(parent, origin);
	im.ppid = (int32_t)raw0(SYS_getppid);
	im.stack_limit = rl.rlim_cur;
	im.shim_base = (uint64_t)__ehdr_start;
	im.tsc_hz = G.control->tsc_hz;
	im.start_realtime_ns = ts[0] * 1000000000ull + ts[1];
	im.start_stamp = stamp_now();
	sig_inherited(&im.sig_ignored, &im.sig_blocked);
	if (argv) {
		int skip = script_args(find_execfn(envp), argc, argv);

		/* as it was given to execve: argv[0] of a script is lost, its path stands for it */
		argc -= skip;
		argv += skip;
		im.outputs = find_outputs();
		im.argc = (uint32_t)argc;
		while (envp[im.envc])
			im.envc++;
		im.sp = (uint64_t)(argv - skip - 1);
		n = raw3(SYS_readlink, "/proc/self/exe", exe, sizeof(exe) - 1);
		exe[n > 0 ? n : 0] = 0;
		n = raw2(SYS_getcwd, cwd, sizeof(cwd));
		cwd[n > 0 ? n - 1 : 0] = 0;
		im.strings_len = strlen(find_execfn(envp)) + 1 + strlen(exe) + 1 + strlen(cwd) + 1;
		for (int i = 0; i < argc; i++)
			im.strings_len += strlen(argv[i]) + 1;
		for (uint32_t i = 0; i < im.envc; i++)
			im.strings_len += strlen(envp[i]) + 1;
	}
	out_bytes(&o, &im, sizeof(im));
	if (argv) {
		out_str(&o, find_execfn(envp));
		out_str(&o, exe);
		out_str(&o, cwd);
		for (int i = 0; i < argc; i++)
			out_str(&o, argv[i]);
		for (uint32_t i = 0; i < im.envc; i++)
			out_str(&o, envp[i]);
	}
	out_flush(&o);
	return o.failed;
}

/* The folder of this process, and what it is. 0, or -1: it is not recorded, which is noted. */
static int begin_process(uint32_t parent, enum rlog_origin origin, int argc, char **argv, char **envp)
{
	long r = G.process > RLOG_MAX_PROCESSES ? -28 /* ENOSPC */ : make_dir();

	if (r == 0)
		r = write_image(parent, origin, argc, argv, envp);
	if (r == 0)
		return 0;
	G.mode = SHIM_OFF;
	note(RLOG_NOTE_LOG_FAILED, -r, "cannot begin the recording of a process");
	return -1;
}

pid_t init_image_pid(uint32_t process)
{
	struct rlog_image im;

	return read_image(process, &im) ? 0 : im.cell_pid ? (pid_t)im.cell_pid : im.pid;
}

/* Replay: what the program was then. */
static void show_pid(const struct rlog_image *im)
{
	G.shown_pid = im->pid;
	G.shown_ppid = im->ppid;
	G.pid_ns = im->cell_pid != 0;
}

static void check_image(char **argv)
{
	struct rlog_image im;

	if (read_image(G.process, &im))
		shim_fail("cannot read the image of the recording");
	show_pid(&im);
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
	t->tid = G.pid;
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

static void start_record(uint32_t parent, int argc, char **argv, char **envp)
{
	if (map_control()) {
		/* its rights were given up, and nobody helps: it must run all the same */
		raw_write_str(2, "fred: a process cannot reach the recording, and is not recorded\n");
		return;
	}
	G.process = __atomic_add_fetch(&G.control->next_process, 1, __ATOMIC_RELAXED);
	G.serial = G.control->sched != RLOG_SCHED_PARALLEL;
	G.counted = G.control->clock != 0;
	if (G.control->malloc_mode == RLOG_MALLOC_SYSTEM)
		heap_use_system();
	if (begin_process(parent, RLOG_ORIGIN_EXEC, argc, argv, envp))
		return;
	files_start(find_execfn(envp));
	if (G.pid_ns)
		exec_reap_helper();
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
	if (c.malloc_mode == RLOG_MALLOC_SYSTEM)
		heap_use_system();
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
	if (turn_map_log(self))
		shim_fail("cannot map the log of the first thread");
	self->tid = G.pid;
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

	heap_init();
	find_text();
	sys_data_init();
	if (!fred || !preload || strlen(fred) < 13 || fred[6] != ':' || fred[11] != ':') {
		find_real();
		return;
	}
	G.pid = G.shown_pid = (int)raw0(SYS_getpid);
	G.thr = raw_mmap((void *)SHIM_THREADS_ADDR, RLOG_MAX_THREADS * sizeof(struct thr),
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			 -1, 0);
	parse_env(fred, preload);
	parent = G.process;
	first_thread();
	find_real();
	thread_init();
	adopt_init();
	thread_find_rseq();
	thread_leave_rseq();
	if (fred[5] == 'r') {
		holes_init();
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

#define INIT_STACK 32768u /* what the above uses at most */

__attribute__((constructor)) static void shim_init(int argc, char **argv, char **envp)
{
	trap_find_vectors();
	init_image(argc, argv, envp);
	scrub_stack_bytes(INIT_STACK);
}

void init_fork_child(struct thr *t, uint32_t process, uint32_t parent)
{
	struct thr *n = &G.thr[1];
	uint32_t was = t->ordinal;
	struct rlog_image im;

	if (n != t)
		*n = *t;
	n->ordinal = 1;
	G.pid = G.shown_pid = (int)raw0(SYS_getpid);
	n->tid = G.pid;
	sig_queue_drop(n);
	G.waits_told = 0;
	n->late_timer = n->late_armed = n->preempt = n->poked = n->seeking = 0;
	spin_fork_child(n);
	n->undone = 0;
	self = n;
	lib_fork_child(was, n);
	G.process = process;
	if (G.mode == SHIM_RECORD) {
		n->log.base = 0;
		if (begin_process(parent, RLOG_ORIGIN_FORK, 0, 0, 0) || log_open(n))
			return;
		group_fork_child();
		refs_fork_child();
		if (G.serial)
			gil_init(n);
		cs_fork_child(n);
		arm_thread(n);
		group_enter(n);
		ev(n, RLOG_START, 0, 0, 0);
		return;
	}
	if (read_image(process, &im) == 0)
		show_pid(&im);
	arm_replay_thread();
	turn_fork_child(n);
	n->tid = G.pid;
	ev(n, RLOG_START, 0, 0, 0);
	ev_done(n);
}
