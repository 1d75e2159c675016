/* SPDX-License-Identifier: MIT */
/*
 * image.c: the beginning of a process image, also in a fork's child: its folder in the recording, and what is written
 * there.
 */
#include "record/core/held.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/event/arm.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/proc/process.h"
#include "record/sched/gil.h"
#include "record/shm/group.h"
#include "record/store/keeper.h"
#include "record/store/log.h"
#include "record/sync/lib.h"
#include "record/sys/sys.h"

#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static int make_dir(void)
{
	char path[400], *p = fmt_str(path, path + sizeof(path), G.rec);

	fmt_str(p, path + sizeof(path), "/files");
	keep_mkdir(path, 0700); /* the first process creates the folder */

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

const char *image_find_execfn(char **envp)
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
 * How many arguments the kernel has put before those of a script: "#!" makes argv INTERPRETER [ARGUMENT] SCRIPT,
 * followed by what came after argv[0]. 0: no script.
 */
static int script_args(const char *execfn, int argc, char **argv)
{
	char head[2];
	int k;

	if (read_head(execfn, head, sizeof(head)) != sizeof(head) || head[0] != '#' || head[1] != '!')
		return 0;
	/* the first match: the script may also be its own argument */
	for (k = 1; k < argc; k++)
		if (!strcmp(argv[k], execfn))
			return k;
	return 0;
}

/* Which descriptors are the recording's standard output and error? The first process notes what those are. */
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

static uint64_t output_at(int fd)
{
	long flags = raw2(SYS_fcntl, fd, F_GETFL), at = raw3(SYS_lseek, fd, 0, SEEK_CUR);

	return G.process != 1 || flags < 0 || (flags & O_APPEND) || at < 0 ? ~0ull : (uint64_t)at;
}

int image_read_image(uint32_t process, struct rlog_image *im)
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
	if (!parent || image_read_image(parent, &im))
		return 0;
	G.pid_ns = im.cell_pid != 0;
	return im.cell_pid;
}

/* Writes pNNNN/image; argv is NULL for a fork child. 0, or -errno. */
static long write_image(uint32_t parent, enum rlog_origin origin, int argc, char **argv, char **envp)
{
	const struct rlog_begin begin = {getauxval(AT_UID),
					 getauxval(AT_EUID),
					 getauxval(AT_GID),
					 getauxval(AT_EGID),
					 {output_at(1), output_at(2)}};
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
		int skip = script_args(image_find_execfn(envp), argc, argv);

		/* as it was passed to execve: a script's argv[0] is lost, and is replaced by its path */
		argc -= skip;
		argv += skip;
		im.outputs = find_outputs() | (raw2(SYS_clone3, 0, 0) == -38 /* ENOSYS */ ? RLOG_NO_CLONE3 : 0);
		im.argc = (uint32_t)argc;
		while (envp[im.envc])
			im.envc++;
		im.sp = (uint64_t)(argv - skip - 1);
		n = raw3(SYS_readlink, "/proc/self/exe", exe, sizeof(exe) - 1);
		exe[n > 0 ? n : 0] = 0;
		n = raw2(SYS_getcwd, cwd, sizeof(cwd));
		cwd[n > 0 ? n - 1 : 0] = 0;
		im.strings_len = strlen(image_find_execfn(envp)) + 1 + strlen(exe) + 1 + strlen(cwd) + 1;
		for (int i = 0; i < argc; i++)
			im.strings_len += strlen(argv[i]) + 1;
		for (uint32_t i = 0; i < im.envc; i++)
			im.strings_len += strlen(envp[i]) + 1;
	}
	out_bytes(&o, &im, sizeof(im));
	if (argv) {
		out_str(&o, image_find_execfn(envp));
		out_str(&o, exe);
		out_str(&o, cwd);
		for (int i = 0; i < argc; i++)
			out_str(&o, argv[i]);
		for (uint32_t i = 0; i < im.envc; i++)
			out_str(&o, envp[i]);
		out_bytes(&o, &begin, sizeof(begin));
	}
	out_flush(&o);
	return o.failed;
}

/* The folder of this process, and what it is. 0, or -1: it is not recorded, which is noted. */
int image_begin_process(uint32_t parent, enum rlog_origin origin, int argc, char **argv, char **envp)
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

	return image_read_image(process, &im) ? 0 : im.cell_pid ? (pid_t)im.cell_pid : im.pid;
}

/* Replay: sets the PIDs that the program had. */
void image_show_pid(const struct rlog_image *im)
{
	G.shown_pid = G.thr[1].shown_tid = im->pid;
	G.shown_ppid = im->ppid;
	G.pid_ns = im->cell_pid != 0 || (G.ctl->flags & REPLAY_F_OTHER_PIDS);
	if (im->origin == RLOG_ORIGIN_EXEC)
		G.no_clone3 = (im->outputs & RLOG_NO_CLONE3) != 0;
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
	n->tid = n->shown_tid = G.pid;
	sig_queue_drop(n);
	held_fork_child(n);
	G.waits_told = 0;
	n->preempt.timer = n->preempt.armed = n->preempt.due = n->preempt.seeking = 0;
	n->preempt.left_cpu = 0; /* the clock starts again */
	spin_fork_child(n);
	n->undone = 0;
	self = n;
	lib_fork_child(was, n);
	G.process = process;
	if (G.mode == SHIM_RECORD) {
		n->log.base = 0;
		if (image_begin_process(parent, RLOG_ORIGIN_FORK, 0, 0, 0) || log_open(n))
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
	if (image_read_image(process, &im) == 0)
		image_show_pid(&im);
	arm_replay_thread();
	turn_fork_child(n);
	n->tid = G.pid;
	ev(n, RLOG_START, 0, 0, 0);
	ev_done(n);
}
