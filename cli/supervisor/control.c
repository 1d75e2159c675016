/* SPDX-License-Identifier: MIT */
/*
 * control.c: the page that all recorded processes share, and the choice of their clock. The TSC is
 * used where the kernel itself would: invariant, and among its clock sources.
 */
#include "supervisor/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "describe/damage.h"
#include "describe/describe.h"
#include "supervisor/tsc.h"

static int identify(struct rlog_control *c, const char *rec, int fd, struct err *e)
{
	struct stat dir, self;

	if (stat(rec, &dir) || fstat(fd, &self))
		return err_errno(e, ERR_HOST, "%s", rec);
	if (getrandom(c->secret, sizeof(c->secret), 0) != sizeof(c->secret))
		return err_errno(e, ERR_HOST, "getrandom");
	c->dir[0] = dir.st_dev;
	c->dir[1] = dir.st_ino;
	c->self[0] = self.st_dev;
	c->self[1] = self.st_ino;
	return 0;
}

struct rlog_control *control_create(const char *rec, enum rlog_sched sched, uint64_t chaos_seed,
				    enum rlog_malloc malloc_mode, struct err *e)
{
	cleanup_free char *path = path_join(rec, "control");
	cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct rlog_control *c;

	if (fd < 0) {
		err_errno(e, ERR_HOST, "%s", path);
		return NULL;
	}
	errno = posix_fallocate(fd, 0, sizeof(*c));
	if (errno) {
		err_errno(e, ERR_HOST, "%s", path);
		return NULL;
	}
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED) {
		err_errno(e, ERR_HOST, "%s: mmap", path);
		return NULL;
	}
	c->version = RLOG_VERSION;
	c->sched = sched;
	c->malloc_mode = malloc_mode;
	c->chaos_seed = chaos_seed;
	c->clock = tsc_is_reliable() ? 0 : 1;
	c->tsc_hz = c->clock ? 0 : tsc_known_hz();
	if (identify(c, rec, fd, e)) {
		control_unmap(c);
		return NULL;
	}
	c->magic = RLOG_MAGIC_CONTROL;
	return c;
}

void control_unmap(struct rlog_control *c)
{
	if (c)
		munmap(c, sizeof(*c));
}

static char *describe_refused(const struct rlog_note *n)
{
	const char *name = describe_syscall_name((uint64_t)n->number);

	return str_fmt("process %u: system call %s (%lld) was refused (ENOSYS): its effects cannot be replayed; "
		       "called from %.231s",
		       n->process, name ? name : "of an unknown number", (long long)n->number, n->text);
}

static char *describe(const struct rlog_control *c, unsigned i)
{
	const struct rlog_note *n = &c->note[i];
	struct rlog_damage d;
	uint32_t process;

	switch ((enum rlog_note_kind)n->kind) {
	case RLOG_NOTE_DAMAGE: {
		cleanup_free char *text = damage_note(c, i, &d, &process) ? damage_text(&d) : NULL;

		return str_fmt("process %u: %s", n->process, text ? text : "damaged heap");
	}
	case RLOG_NOTE_REFUSED_SYSCALL:
		return describe_refused(n);
	case RLOG_NOTE_REFUSED_IOCTL:
		return str_fmt("process %u: ioctl 0x%llx was refused: fred does not know it; called "
			       "from %.231s",
			       n->process, (unsigned long long)n->number, n->text);
	case RLOG_NOTE_UNRECORDED_EXEC:
		return str_fmt("process %u: a child was not recorded: %.231s", n->process, n->text);
	case RLOG_NOTE_LOG_FAILED:
		return str_fmt("process %u: recording stopped (%s), the program went on unrecorded%s%.231s", n->process,
			       strerror((int)llabs(n->number)), n->text[0] ? ": " : "", n->text);
	case RLOG_NOTE_UNSUPPORTED:
		return str_fmt("process %u: not supported: %.231s", n->process, n->text);
	case RLOG_NOTE_BOUND:
		return str_fmt("the limit of --max-log was given up, and the logs grew beyond it: %.231s", n->text);
	case RLOG_NOTE_NONE:
		return xstrdup("");
	case RLOG_NOTE_DEADLOCK:
	case RLOG_NOTE_CYCLE:
	case RLOG_NOTE_CHOICE:
		return str_fmt("process %u: %.231s", n->process, n->text);
	}
	return str_fmt("process %u: note %u: %.231s", n->process, n->kind, n->text);
}

char *control_note(const struct rlog_control *c, unsigned i)
{
	const struct rlog_note *n = &c->note[i];
	char *text;

	if (i >= RLOG_NOTES || i >= c->note_count)
		return NULL;
	if (!__atomic_load_n(&n->ready, __ATOMIC_ACQUIRE))
		return xstrdup("a process ended while it wrote a note");
	text = describe(c, i);
	if (n->count > 1)
		str_set(&text, "%s (%u times)", text, n->count);
	return text;
}

void control_forget_deadlocks(struct rlog_control *c)
{
	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++)
		if (c->note[i].kind == RLOG_NOTE_DEADLOCK)
			c->note[i].kind = RLOG_NOTE_NONE;
}

bool control_is_deadlock(const struct rlog_control *c)
{
	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++) {
		const struct rlog_note *n = &c->note[i];

		if (__atomic_load_n(&n->ready, __ATOMIC_ACQUIRE) && n->kind == RLOG_NOTE_DEADLOCK &&
		    n->number == RLOG_DEADLOCK_FOR_EVER)
			return true;
	}
	return false;
}

void control_drop_waits(struct rlog_control *c, uint32_t process)
{
	for (unsigned i = 0; i < RLOG_NOTES && i < c->note_count; i++) {
		struct rlog_note *n = &c->note[i];

		if ((n->kind == RLOG_NOTE_DEADLOCK || n->kind == RLOG_NOTE_CYCLE) && n->process == process)
			__atomic_store_n(&n->kind, RLOG_NOTE_NONE, __ATOMIC_RELEASE);
	}
}

/* The place of a note that was withdrawn, or a new one. */
static uint32_t note_place(struct rlog_control *c, uint32_t kind)
{
	for (uint32_t i = 0; i < RLOG_NOTES && i < c->note_count; i++) {
		uint32_t none = RLOG_NOTE_NONE;

		if (c->note[i].ready &&
		    __atomic_compare_exchange_n(&c->note[i].kind, &none, kind, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return __atomic_fetch_add(&c->note_count, 1, __ATOMIC_ACQ_REL);
}

void control_add_note(struct rlog_control *c, enum rlog_note_kind kind, uint32_t process, int64_t number,
		      const char *text)
{
	uint32_t i = note_place(c, kind);
	struct rlog_note *n = &c->note[i];

	if (i >= RLOG_NOTES)
		return;
	n->kind = kind;
	n->process = process;
	n->number = number;
	n->count = 1;
	snprintf(n->text, sizeof(n->text), "%s", text);
	__atomic_store_n(&n->ready, 1, __ATOMIC_RELEASE);
}
