/* SPDX-License-Identifier: MIT */
/* target.c: see target.h. The protocol with the shim is in rlog/replay.h. */
#define LOG_DOMAIN "target"
#include "target/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "cell/cell.h"
#include "cell/plain.h"
#include "cell/userns.h"
#include "cell/wait.h"
#include "describe/describe.h"
#include "launch/launch.h"
#include "launch/place.h"
#include "target/advice.h"
#include "target/diverge.h"
#include "target/family.h"
#include "target/line.h"
#include "target/logs.h"
#include "target/objects.h"
#include "target/program.h"
#include "target/rights.h"
#include "target/root.h"
#include "target/stall.h"
#include "target/tree.h"
#include "trace/trace.h"

/* in a bounded recording: what a checkpoint has mapped must not change its size */
#define SCHED_ROOM (1ll << 34)

static int make_ctl(struct target *t, struct err *e)
{
	size_t size = (sizeof(struct replay_ctl) + 4095) & ~(size_t)4095;
	cleanup_close int fd = -1;

	snprintf(t->ctl_path, sizeof(t->ctl_path), "%s/ctl.%04u", cell_dir(), t->root);
	/* the file is not truncated, since children that wait at their forks have it mapped; reset_ctl clears it */
	fd = open(t->ctl_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return err_errno(e, ERR_INTERNAL, "%s", t->ctl_path);
	t->ctl = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t->ctl == MAP_FAILED) {
		t->ctl = NULL;
		return err_errno(e, ERR_INTERNAL, "%s", t->ctl_path);
	}
	return 0;
}

/*
 * Once in a cell: one mount more for each process would be thousands, and each in every root (target/root.h). Whole
 * logs that are there (target/logs.h) are of another recording then, which was replayed in this cell before.
 */
static int bind_rec(const struct rec *rec, struct err *e)
{
	cleanup_free char *there = root_rec();
	struct stat a, b;

	if (!stat(rec->dir, &a) && !stat(there, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 0;
	if (path_exists(logs_dir()) && rm_rf(logs_dir(), e))
		return -1;
	if (cell_is_plain())
		return (unlink(there) && errno != ENOENT) || symlink(rec->dir, there)
			       ? err_errno(e, ERR_HOST, "cannot make the link %s", there)
			       : 0;
	return cell_mount_bind(rec->dir, there, 1, e);
}

static int prepare_root(struct target *t, const struct rec_image *root, struct err *e)
{
	cleanup_free uint32_t *images = NULL;

	if (t->branch.waits) /* it is in a root in which everything is placed already */
		return 0;
	images = line_images(t, root, e);
	if (!images)
		return -1;
	return root_prepare(t->rec, root, images, t->own_root, &t->on_host, e);
}

/* A child that waits at its fork does not need the events before it, which may be most of its parent's timeline. */
static int make_timeline(struct target *t, struct err *e)
{
	struct timeline_opts opts = {.variant = rec_one_order(t->rec, t->process) ? 0 : t->variant, .seed = 1};

	if (t->branch.waits && t->branch.prefix && !t->rec->live.process)
		return timeline_build_alone(t->rec, t->process, t->branch.prefix, &t->tl, e);
	return timeline_build(t->rec, t->process, &opts, &t->tl, e);
}

int target_init(struct target *t, const struct rec *rec, uint32_t process, unsigned variant, uint32_t flags,
		const struct target_branches *branches, struct err *e)
{
	const struct rec_image *root = line_first(rec, process, false, e), *base = line_first(rec, process, true, e);
	char sched[64];
	uint64_t size;

	memset(t, 0, sizeof(*t));
	if (!root || !base)
		return -1;
	if (branches)
		t->branch = *branches;
	t->rec = rec;
	t->process = process;
	t->root = root->ordinal;
	t->base = base->ordinal;
	t->variant = variant;
	t->flags = flags | (rec->live.process == process ? REPLAY_F_LIVE : 0) |
		   (cell_is_plain()   ? REPLAY_F_OTHER_PIDS
		    : userns_is_own() ? REPLAY_F_DISPATCH
				      : 0);
	t->cpu = -1;
	t->slow_s = TARGET_SLOW_S;
	if (cell_is_plain() && rights_check_plain(rec, base, t->root, process, e))
		return -1;
	if (bind_rec(rec, e))
		return err_wrap(e, "%s", rec->dir);
	if (prepare_root(t, root, e))
		return -1;
	if (logs_prepare(rec, t->branch.waits ? process : root->ordinal, process, e) || make_timeline(t, e))
		return -1;
	if (cell_is_plain())
		t->nthreads = timeline_threads(t->tl, &t->threads);
	snprintf(sched, sizeof(sched), "%s/sched.%04u", cell_dir(), t->root);
	if (timeline_write_sched(t->tl, sched, e) || crc32c_file(sched, &t->sched_crc, &size, e))
		return -1;
	if (rec->control.log_limit && truncate(sched, SCHED_ROOM))
		return err_errno(e, ERR_INTERNAL, "%s", sched);
	return make_ctl(t, e) || rights_hand_over(rec, e) ? -1 : 0;
}

void target_fini(struct target *t)
{
	target_kill(t);
	if (t->ctl)
		munmap(t->ctl, (sizeof(struct replay_ctl) + 4095) & ~(size_t)4095);
	free(t->threads);
	tids_fini(&t->tids);
	timeline_free(t->tl);
	memset(t, 0, sizeof(*t));
}

uint64_t target_total(const struct target *t)
{
	return timeline_total(t->tl);
}

pid_t target_shown_tid(const struct target *t, uint32_t thread, pid_t tid)
{
	for (unsigned i = 0; i < t->nthreads; i++)
		if (t->threads[i].process == t->ctl->process && t->threads[i].ordinal == thread)
			return t->threads[i].tid;
	return tid;
}

/* After a fork that was followed, the process has another PID; the end of the old one is expected. */
static bool moved_on(struct target *t)
{
	pid_t now = __atomic_load_n(&t->ctl->pid, __ATOMIC_ACQUIRE);

	if (now <= 0 || now == t->pid || !family_is_ours(now))
		return false;
	t->pid = now;
	return true;
}

/*
 * Reaping a process, the kernel goes round until nobody uses its entries in /proc any more. A tracer with SCHED_FIFO
 * keeps whoever does from its core meanwhile: for 0.95 s, until it is throttled (sched(7)).
 */
static void leave_fifo(void)
{
	const struct sched_param normal = {0};

	sched_setscheduler(0, SCHED_OTHER, &normal);
}

void target_kill(struct target *t)
{
	t->lost.kind = ERR_NONE;
	if (t->pid > 0) {
		target_note_tids(t);
		leave_fifo(); /* trace_prepare sets it again */
		if (family_is_ours(t->pid)) { /* a tracer may have ended it already */
			kill(t->pid, SIGKILL);
			trace_reap(t->pid);
		}
		if (!cell_is_plain())
			line_end(t, t->process);
	}
	/* first those that were just forked, and have not told their PIDs */
	if (t->session > 0)
		family_end_session(t->session);
	if (t->ctl)
		line_end_branches(t);
	t->pid = t->session = 0;
	cell_reap_except(NULL, 0);
}

/* Done while the process is alive: later its session finds what it has forked. */
static void note_session(struct target *t)
{
	t->session = cell_is_plain() ? getsid(t->pid) : 0;
}

static long futex_wake(uint32_t *word)
{
	return syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

static void reset_ctl(struct target *t)
{
	memset(t->ctl, 0, sizeof(*t->ctl));
	t->ctl->magic = REPLAY_MAGIC;
	t->ctl->version = RLOG_VERSION;
	t->ctl->process = t->root;
	t->ctl->flags = t->flags;
	t->ctl->variant = t->variant;
	t->ctl->total = timeline_total(t->tl);
	t->ctl->branches = t->branch.from;
	line_branches_until(t, t->branch.end);
}

static int ended_early(struct target *t, int status, struct err *e)
{
	t->pid = 0;
	return advice_say_ended(t, status, e);
}

/* The run is cancelled: the process is on its way to a place where nobody waits for it. */
static int cancelled(struct target *t, struct err *e)
{
	target_kill(t);
	return err_set(e, ERR_CANCELLED, "cancelled");
}

/* Waits until the shim reports a state. notify: the count before the process was resumed. */
static int wait_state(struct target *t, uint32_t notify, bool *diverged, struct err *e)
{
	struct stall stall;
	int status = 0;

	stall_begin(&stall, t);
	for (;;) {
		switch (cell_wait_notify(&t->ctl->notify, notify, t->pid, STALL_LOOK_MS, &status)) {
		case CELL_WAIT_NOTIFIED:
			moved_on(t);
			return 0;
		case CELL_WAIT_ENDED:
			if (moved_on(t))
				continue;
			ended_early(t, status, e);
			if (diverged)
				*diverged = e->kind != ERR_KILLED;
			t->diverged |= e->kind != ERR_KILLED;
			return -1;
		case CELL_WAIT_ERROR:
			if (moved_on(t))
				continue;
			return err_errno(e, ERR_INTERNAL, "waiting for the replay");
		default:
			break;
		}
		if (t->progress)
			t->progress(t->progress_ctx, t->ctl->turn, t->ctl->total);
		if (t->cancelled && t->cancelled(t->progress_ctx))
			return cancelled(t, e);
		/* else it may have reported one meanwhile */
		if (!stall_look(&stall, t) || __atomic_load_n(&t->ctl->notify, __ATOMIC_ACQUIRE) != notify)
			continue;
		stall_explain(&stall, t, 0, e);
		if (diverged)
			*diverged = true;
		t->diverged = true;
		t->stalls++;
		return -1;
	}
}

bool target_is_lost(const struct target *t, struct err *e)
{
	if (t->lost.kind) {
		*e = t->lost;
		return true;
	}
	switch (t->pid ? __atomic_load_n(&t->ctl->state, __ATOMIC_ACQUIRE) : REPLAY_RUNNING) {
	case REPLAY_DIVERGED:
		diverge_explain(t, e);
		advice_add(t, e);
		return true;
	case REPLAY_UNFIT:
		err_set(e, ERR_INTERNAL, "event %llu: thread %u waits at %s for a lock that no thread releases",
			(unsigned long long)t->ctl->turn + 1, t->ctl->owner, t->ctl->text);
		advice_add(t, e);
		return true;
	case REPLAY_FAILED:
		err_set(e, ERR_INTERNAL, "the replay cannot continue: %s (event %llu)", t->ctl->text,
			(unsigned long long)t->ctl->turn + 1);
		return true;
	}
	return false;
}

static int check_state(struct target *t, bool *diverged, struct err *e)
{
	uint32_t state = __atomic_load_n(&t->ctl->state, __ATOMIC_ACQUIRE);

	if (state == REPLAY_PARKED || state == REPLAY_ENDED)
		return 0;
	if (!target_is_lost(t, e))
		return err_set(e, ERR_INTERNAL, "the replay stopped for an unknown reason");
	if (diverged)
		*diverged = true;
	t->diverged = true;
	return -1;
}

/* Binds all threads to one core, since a hand-over between cores takes ten times as long. */
static void pin(struct target *t)
{
	cpu_set_t set;

	if (t->cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)t->cpu, &set);
	sched_setaffinity(t->pid, sizeof(set), &set);
}

/* Removes the output of an earlier attempt. */
static void forget_output(const struct target *t)
{
	cleanup_free char *path = str_fmt("%s/out.%04u", cell_dir(), t->process);

	if (truncate(path, 0))
		return; /* there was none */
}

int target_start_over(struct target *t, struct err *e)
{
	reset_ctl(t);
	forget_output(t);
	return line_follow(t, t->ctl->follow, e);
}

int target_await_start(struct target *t, struct err *e)
{
	note_session(t);
	return wait_state(t, 0, NULL, e) || check_state(t, NULL, e) ? -1 : 0;
}

/* Starts the process once; it stands at position 0. */
static int launch_once(struct target *t, const struct rec_image *img, const struct launch_spec *spec, struct err *e)
{
	if (!cell_is_plain())
		cell_free_pid(rec_image_pid(img)); /* a lookahead fork may have been left behind */
	if (target_start_over(t, e))
		return -1;
	if (launch_program(spec, &t->pid, e))
		return err_wrap(e, "starting %s for the replay", img->execfn);
	return target_await_start(t, e);
}

static int still_moved(struct target *t, const struct objects *o, struct err *e)
{
	const struct rec_file *f = NULL;
	uint64_t now = 0;

	if (!t->pid || !objects_moved(o, t->pid, &f, &now))
		return 0;
	target_kill(t);
	return err_set(
		e, ERR_HOST,
		"the replay has %s at %#llx, since another mapping was in the way at %#llx, its address when recorded: "
		"the kernel chooses addresses depending on its version and on the file system; unpack the recording on "
		"the kind of file system that the program was on, or replay it where it was recorded",
		f->real, (unsigned long long)now, (unsigned long long)f->base);
}

/*
 * Where the kernel has chosen other addresses for libraries than when it was recorded, as it does on another file
 * system (launch/objects.h), the process is started again, and is told them.
 */
static int launch_in_place(struct target *t, const struct rec_image *img, struct launch_spec *spec,
			   const struct objects *o, struct err *e)
{
	cleanup_free struct launch_object *places = NULL;
	const struct rec_file *f = NULL;
	uint64_t now = 0;
	int r;

	if (spec->files) {
		places = objects_places(o, t->own_root, &spec->nobjects);
		spec->objects = places;
	}
	r = launch_once(t, img, spec, e);
	if (!t->pid || e->kind == ERR_CANCELLED || !objects_moved(o, t->pid, &f, &now))
		return r;
	log_info("%s is at %#llx, and was at %#llx when recorded: the replay is started with it there", f->real,
		 (unsigned long long)now, (unsigned long long)f->base);
	if (spec->files)
		return still_moved(t, o, e);
	target_kill(t);
	places = objects_places(o, "", &spec->nobjects);
	spec->objects = places;
	return launch_once(t, img, spec, e) || still_moved(t, o, e) ? -1 : 0;
}

int target_launch(struct target *t, struct err *e)
{
	const struct rec_image *img = rec_image(t->rec, t->root, e);
	const bool tree = cell_is_plain() && t->own_root[0];
	cleanup_strv struct strv env = {0};
	cleanup_free char *path = NULL;
	cleanup_free uint32_t *images = NULL;
	struct rights_files files = {0};
	struct tree_start start = {0};
	struct landlock_paths paths;
	struct launch_confine confine;
	struct launch_spec spec;
	struct launch_ids ids;
	struct objects o;
	int r;

	if (t->base != t->root || (img && img->start))
		return err_set(e, ERR_INTERNAL, "process %u begins with a checkpoint", t->process);
	target_kill(t); /* no process may be in the root while it is written */
	if (!img || program_env(img, &env, e) || program_path(t->rec, img, t->own_root, &path, e))
		return -1;
	confine = rights_of(t->rec, img, t->flags & REPLAY_F_OUTPUT);
	if (cell_is_plain()) {
		images = line_images(t, img, e);
		if (!images || rights_files_init(&files, t->rec, img, images, !tree, e) ||
		    (tree && tree_start_init(&start, t->rec, img, t->own_root, e))) {
			rights_files_fini(&files);
			tree_start_fini(&start);
			return -1;
		}
		paths = rights_files_paths(&files);
		confine.paths = &paths;
	}
	ids = (struct launch_ids){img->begin.uid, img->begin.euid, img->begin.gid, img->begin.egid};
	spec = (struct launch_spec){
		.path = path,
		.root = t->own_root[0] && !tree ? t->own_root : NULL,
		.files = tree ? &start.files : NULL,
		.confine = &confine,
		.argv = tree ? start.argv.s : img->argv,
		.envp = env.s,
		.cwd = img->cwd[0] ? img->cwd : "/", /* "": it was removed */
		.stack_limit = img->head.stack_limit,
		.want_pid = cell_is_plain() ? 0 : rec_image_pid(img),
		.top = place_top_of(img->head.shim_base),
		.null_stdio = 1,
		.new_session = 1,
		.default_signals = 1,
		.every_cpu = 1,
		.ids = img->has_begin ? &ids : NULL,
	};
	r = objects_read(&o, t->rec, t->root, e) || launch_in_place(t, img, &spec, &o, e) ? -1 : 0;
	objects_fini(&o);
	rights_files_fini(&files);
	tree_start_fini(&start);
	if (!r)
		pin(t);
	return r;
}

void target_adopt(struct target *t, pid_t pid)
{
	t->pid = pid;
	note_session(t);
	/* the image decides how calls are caught, since another user may have made it */
	t->ctl->flags = (t->flags & ~(uint32_t)REPLAY_F_DISPATCH) | (t->ctl->flags & REPLAY_F_DISPATCH);
	pin(t);
}

int target_adopt_start(struct target *t, pid_t pid, struct err *e)
{
	uint64_t n;
	const struct replay_slot *runs = timeline_runs(t->tl, &n);
	struct replay_ctl *c = t->ctl;

	target_adopt(t, pid);
	if (c->turn != timeline_base(t->tl) + 1)
		return err_set(e, ERR_USAGE, "the checkpoint is of event %llu, and the logs begin at event %llu",
			       (unsigned long long)c->turn, (unsigned long long)timeline_base(t->tl) + 1);
	c->variant = t->variant;
	c->total = timeline_total(t->tl);
	/* the first event of the first run has taken effect */
	c->slot = runs[0].count == 1 && n > 1;
	c->slot_left = c->slot ? runs[1].count : runs[0].count - 1;
	return line_follow(t, c->follow, e);
}

void target_release(struct target *t, uint64_t n)
{
	t->ctl->stop_at = n;
	t->ctl->cmd = REPLAY_CMD_RUN;
	__atomic_add_fetch(&t->ctl->go, 1, __ATOMIC_SEQ_CST);
	futex_wake(&t->ctl->go);
}

/*
 * One that was let go in a segment (replay/segment.h) is on its way to the event after it. There it parks: told of
 * another place while it is about to do that, it would miss it.
 */
static int come_to_stop(struct target *t, bool *diverged, struct err *e)
{
	uint32_t notify = __atomic_load_n(&t->ctl->notify, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&t->ctl->state, __ATOMIC_ACQUIRE) != REPLAY_RUNNING) {
		moved_on(t);
		return 0;
	}
	return wait_state(t, notify, diverged, e) || check_state(t, diverged, e) ? -1 : 0;
}

int target_run_to(struct target *t, uint64_t n, bool *diverged, struct err *e)
{
	uint32_t notify;

	if (diverged)
		*diverged = false;
	if (!t->pid)
		return err_set(e, ERR_INTERNAL, "there is no replaying process");
	if (come_to_stop(t, diverged, e))
		return -1;
	notify = __atomic_load_n(&t->ctl->notify, __ATOMIC_ACQUIRE);
	if (n > target_total(t) || n < t->ctl->turn)
		return err_set(e, ERR_INTERNAL, "cannot run from event %llu to %llu of %llu",
			       (unsigned long long)t->ctl->turn, (unsigned long long)n,
			       (unsigned long long)target_total(t));
	if (n == t->ctl->turn)
		return check_state(t, diverged, e);
	target_release(t, n);
	do {
		if (wait_state(t, notify, diverged, e) || check_state(t, diverged, e))
			return -1;
		notify = __atomic_load_n(&t->ctl->notify, __ATOMIC_ACQUIRE);
	} while (t->ctl->turn < n && t->ctl->state == REPLAY_RUNNING);
	if (t->ctl->turn != n)
		return err_set(e, ERR_INTERNAL, "the replay stopped at event %llu instead of %llu",
			       (unsigned long long)t->ctl->turn, (unsigned long long)n);
	return 0;
}

int target_snap(struct target *t, pid_t *pid, struct err *e)
{
	uint32_t notify = __atomic_load_n(&t->ctl->notify, __ATOMIC_ACQUIRE);

	t->ctl->cmd = REPLAY_CMD_SNAP;
	__atomic_add_fetch(&t->ctl->go, 1, __ATOMIC_SEQ_CST);
	futex_wake(&t->ctl->go);
	if (wait_state(t, notify, NULL, e))
		return -1;
	if (t->ctl->cmd_result < 0) {
		errno = (int)-t->ctl->cmd_result;
		return err_errno(e, ERR_INTERNAL, "cannot copy the process");
	}
	*pid = (pid_t)t->ctl->cmd_result;
	if (*pid <= 0 || !family_is_ours(*pid))
		return err_set(e, ERR_INTERNAL, "the copy of the process is gone");
	return 0;
}

void target_snap_kill(pid_t pid)
{
	int status;

	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
}
