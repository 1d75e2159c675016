/* SPDX-License-Identifier: MIT */
/* mem.c: the target's memory and CPU time. */
#include "base/cleanup.h"
#include "base/maps.h"
#include "trace/internal.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

size_t trace_read_some(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct err ignored;

	while (len && trace_read(pid, addr, buf, len, &ignored))
		len--;
	return len;
}

int trace_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *e)
{
	struct iovec l = {buf, len}, r = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_readv(pid, &l, 1, &r, 1, 0);

	if (n < 0 && errno == ESRCH)
		n = process_vm_readv(maps_owner(pid), &l, 1, &r, 1, 0);
	if (n < 0)
		return err_errno(e, trace_why_failed(), "read %zu bytes at 0x%" PRIx64 " of process %d", len, addr,
				 (int)pid);
	if ((size_t)n != len)
		return err_set(e, ERR_INTERNAL, "read %zd of %zu bytes at 0x%" PRIx64, n, len, addr);
	return 0;
}

/* Memory that the process itself may not write to, its code for one, as ptrace(2) does. */
static ssize_t write_by_force(pid_t pid, uint64_t addr, const void *buf, size_t len)
{
	cleanup_close int fd = maps_open_mem(pid, O_WRONLY);

	return fd < 0 ? -1 : pwrite(fd, buf, len, (off_t)addr);
}

int trace_write(pid_t pid, uint64_t addr, const void *buf, size_t len, struct err *e)
{
	struct iovec l = {(void *)buf, len}, r = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_writev(pid, &l, 1, &r, 1, 0);

	if (n < 0 && errno == ESRCH) {
		pid = maps_owner(pid);
		n = process_vm_writev(pid, &l, 1, &r, 1, 0);
	}
	if (n < 0 && errno == EFAULT)
		n = write_by_force(pid, addr, buf, len);
	if (n < 0)
		return err_errno(e, trace_why_failed(), "write %zu bytes at 0x%" PRIx64 " of process %d", len, addr,
				 (int)pid);
	if ((size_t)n != len)
		return err_set(e, ERR_INTERNAL, "wrote %zd of %zu bytes at 0x%" PRIx64, n, len, addr);
	return 0;
}

int trace_cpu_ns(pid_t pid, uint64_t *ns, struct err *e)
{
	struct timespec ts;
	clockid_t id;

	if ((errno = clock_getcpuclockid(pid, &id)) || clock_gettime(id, &ts))
		return err_errno(e, trace_why_failed(), "CPU time of process %d", (int)pid);
	*ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return 0;
}
