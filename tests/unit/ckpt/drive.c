/* SPDX-License-Identifier: MIT */
/* drive.c: see drive.h. */
#include "drive.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "cell/cell.h"
#include "cell/wait.h"
#include "launch/launch.h"

enum { STEP_TIMEOUT_MS = 20000 };

struct target_ctl *drive_furnish(struct err *e)
{
	cleanup_close int fd = open(TARGET_CTL, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char log[4096];
	void *page;

	for (size_t i = 0; i < sizeof(log); i++)
		log[i] = (char)(i * 7 + 1);
	if (mkdir(CELL_RUN_DIR "/rec", 0700) || write_file(TARGET_REC, log, sizeof(log), 0600, e) || fd < 0 ||
	    ftruncate(fd, sizeof(struct target_ctl)))
		return NULL;
	page = mmap(NULL, sizeof(struct target_ctl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

static int wait_notify(struct target_ctl *ctl, uint32_t old, pid_t pid, struct err *e)
{
	int status = 0, r = cell_wait_notify(&ctl->notify, old, pid, STEP_TIMEOUT_MS, &status);

	if (r == CELL_WAIT_NOTIFIED)
		return 0;
	return err_set(e, ERR_INTERNAL, "waiting for the target: outcome %d, status %#x", r, (unsigned)status);
}

int drive_launch(struct target_ctl *ctl, int megabytes, pid_t *pid, struct err *e)
{
	char size[16];
	char *argv[] = {"target", size, NULL}, *envp[] = {NULL};
	struct launch_spec spec = {.path = getenv("CKPT_TARGET"),
				   .argv = argv,
				   .envp = envp,
				   .want_pid = TARGET_PID,
				   .null_stdio = 1,
				   .new_session = 1,
				   .default_signals = 1};
	pid_t other;

	snprintf(size, sizeof(size), "%d", megabytes);
	if (!spec.path)
		return err_set(e, ERR_USAGE, "CKPT_TARGET is not set");
	/* Its threads get the PIDs after its own, as recorded ones do, far from CRIU's. */
	other = fork();
	if (!other)
		_exit(0);
	if (other < 0 || cell_wait_pid(other, NULL, e) || cell_set_last_pid(TARGET_PID, e) ||
	    launch_program(&spec, pid, e) || wait_notify(ctl, 0, *pid, e))
		return -1;
	return cell_set_last_pid(other, e);
}

int drive_step(struct target_ctl *ctl, pid_t pid, struct err *e)
{
	uint32_t old = __atomic_load_n(&ctl->notify, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&ctl->go, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ctl->go, FUTEX_WAKE, TARGET_THREADS, 0, 0, 0);
	return wait_notify(ctl, old, pid, e);
}

int drive_kill(pid_t pid, struct err *e)
{
	kill(pid, SIGKILL);
	return cell_wait_pid(pid, NULL, e);
}
