/* SPDX-License-Identifier: MIT */
/* attributes.c: what files have besides bytes: times, attributes, handles, locks, leases, events, holes. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <utime.h>

static int fd;

static void test_times(void)
{
	struct timespec ts[2] = {{1000, 5}, {2000, 7}};
	struct timeval tv[2] = {{3000, 0}, {4000, 0}};
	struct utimbuf ub = {5000, 6000};
	struct statx sx = {0};
	struct stat st;

	CHECK(utimensat(AT_FDCWD, "f", ts, 0) == 0 && stat("f", &st) == 0 && st.st_mtim.tv_nsec == 7);
	CHECK(statx(AT_FDCWD, "f", 0, STATX_ALL, &sx) == 0 && sx.stx_atime.tv_sec == 1000 && (long)sx.stx_size == st.st_size);
	CHECK(futimens(fd, ts) == 0 && utimes("f", tv) == 0 && stat("f", &st) == 0 && st.st_atime == 3000);
	CHECK(utime("f", &ub) == 0 && fstat(fd, &st) == 0 && st.st_mtime == 6000);
	CHECK(futimesat(AT_FDCWD, "f", NULL) == 0 && fstat(fd, &st) == 0 && st.st_mtime > 6000);
	CHECK(chmod("f", 0640) == 0 && fchmodat(AT_FDCWD, "f", 0600, 0) == 0 && fchown(fd, -1, -1) == 0);
	CHECK(access("f", R_OK) == 0 && faccessat(AT_FDCWD, "f", W_OK, AT_EACCESS) == 0);
	step("times");
}

static void test_xattrs(void)
{
	char list[256], value[32] = "";

	if (setxattr("f", "user.one", "first", 5, 0) && errno == ENOTSUP) {
		step("extended attributes");
		return;
	}
	CHECK(fsetxattr(fd, "user.two", "second", 6, XATTR_CREATE) == 0);
	CHECK(setxattr("f", "user.two", "x", 1, XATTR_CREATE) == -1 && errno == EEXIST);
	memset(value, '-', sizeof(value));
	CHECK(getxattr("f", "user.one", value, 0) == 5 && value[0] == '-');
	CHECK(getxattr("f", "user.one", value, 2) == -1 && errno == ERANGE);
	CHECK(getxattr("f", "user.one", value, sizeof(value)) == 5 && !memcmp(value, "first-", 6));
	CHECK(listxattr("f", NULL, 0) == flistxattr(fd, list, sizeof(list)) && memmem(list, 256, "user.two", 9));
	CHECK(lgetxattr("f", "user.two", value, 32) == 6 && removexattr("f", "user.one") == 0);
	CHECK(fgetxattr(fd, "user.one", value, 32) == -1 && errno == ENODATA);
	step("extended attributes");
}

static void test_handles(void)
{
	struct {
		struct file_handle h;
		unsigned char room[MAX_HANDLE_SZ];
	} h = {.h.handle_bytes = 0};
	int mount_id = -1, dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), again;
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};

	if (name_to_handle_at(AT_FDCWD, "f", &h.h, &mount_id, 0) == -1 && errno == EOVERFLOW) {
		CHECK(h.h.handle_bytes > 0 && h.h.handle_bytes <= MAX_HANDLE_SZ);
		CHECK(name_to_handle_at(AT_FDCWD, "f", &h.h, &mount_id, 0) == 0 && mount_id >= 0);
		again = open_by_handle_at(dir, &h.h, O_RDONLY);
		CHECK(again >= 0 || errno == EPERM || errno == ESTALE || errno == EOPNOTSUPP);
		close(again);
	}
	again = (int)syscall(SYS_openat2, dir, "f", &how, sizeof(how));
	CHECK(again >= 0 && close(again) == 0);
	CHECK(syscall(SYS_openat2, dir, "../f", &how, sizeof(how)) == -1 && errno == EXDEV);
	close(dir);
	step("handles");
}

static void test_locks(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2, .l_len = 3}, got;
	int other = open("f", O_RDWR | O_CLOEXEC), ends[2], status;
	char byte;
	pid_t pid;

	CHECK(flock(fd, LOCK_EX) == 0 && flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
	CHECK(flock(fd, LOCK_UN) == 0 && flock(other, LOCK_SH) == 0 && flock(other, LOCK_UN) == 0);
	CHECK(fcntl(fd, F_OFD_SETLK, &l) == 0);
	got = l;
	CHECK(fcntl(other, F_OFD_GETLK, &got) == 0 && got.l_type == F_WRLCK && got.l_start == 2 && got.l_pid == -1);
	CHECK(fcntl(other, F_OFD_SETLK, &l) == -1 && errno == EAGAIN);
	l.l_type = F_UNLCK;
	CHECK(fcntl(fd, F_OFD_SETLK, &l) == 0);
	l.l_type = F_WRLCK;
	NEED(pipe(ends) == 0 && fcntl(fd, F_SETLK, &l) == 0);
	pid = fork();
	if (pid == 0) {
		got = l;
		status = fcntl(other, F_GETLK, &got) == 0 && got.l_type == F_WRLCK && got.l_pid == getppid();
		if (write(ends[1], "w", 1) != 1)
			_exit(2);
		_exit(status && fcntl(other, F_SETLKW, &l) == 0 ? 0 : 1);
	}
	CHECK(read(ends[0], &byte, 1) == 1);
	l.l_type = F_UNLCK;
	CHECK(fcntl(fd, F_SETLK, &l) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(lockf(fd, F_LOCK, 10) == 0 && lockf(fd, F_ULOCK, 10) == 0);
	close(other), close(ends[0]), close(ends[1]);
	step("locks");
}

static volatile sig_atomic_t broken;

static void on_lease(int sig)
{
	(void)sig;
	broken++;
}

static void test_lease(void)
{
	struct f_owner_ex owner = {F_OWNER_PID, getpid()}, got = {0};
	int reader = open("f", O_RDONLY | O_CLOEXEC), status;
	sigset_t set, old;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGIO, on_lease);
	close(fd);
	CHECK(fcntl(reader, F_SETLEASE, F_RDLCK) == 0 && fcntl(reader, F_GETLEASE) == F_RDLCK);
	CHECK(fcntl(reader, F_SETOWN_EX, &owner) == 0 && fcntl(reader, F_GETOWN_EX, &got) == 0);
	CHECK(got.pid == getpid() && fcntl(reader, F_GETOWN) == getpid());
	pid = fork();
	if (pid == 0)
		_exit(open("f", O_WRONLY | O_CLOEXEC) >= 0 ? 0 : 1);
	while (!broken)
		sigsuspend(&old);
	CHECK(fcntl(reader, F_SETLEASE, F_UNLCK) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(reader);
	fd = open("f", O_RDWR | O_CLOEXEC);
	step("lease");
}

static void test_space(void)
{
	struct {
		struct fiemap head;
		struct fiemap_extent extent[4];
	} map = {.head = {.fm_length = ~0ull, .fm_extent_count = 4, .fm_flags = FIEMAP_FLAG_SYNC}};
	struct statfs sf;
	struct statvfs sv;
	struct stat st;
	char byte = 1;
	int flags = 0, temp;

	CHECK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8192) == 0 || errno == EOPNOTSUPP);
	CHECK(posix_fallocate(fd, 0, 8192) == 0 && fstat(fd, &st) == 0 && st.st_size == 8192);
	CHECK(ftruncate(fd, 1 << 20) == 0 && pread(fd, &byte, 1, 500000) == 1 && byte == 0);
	CHECK(lseek(fd, 0, SEEK_HOLE) > 0 && (lseek(fd, 100000, SEEK_DATA) >= 0 || errno == ENXIO));
	CHECK(truncate("f", 10) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) == 0 && readahead(fd, 0, 10) == 0);
	CHECK(sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE) == 0 && fdatasync(fd) == 0 && fsync(fd) == 0);
	CHECK(syncfs(fd) == 0 && statfs(".", &sf) == 0 && fstatfs(fd, &sf) == 0 && sf.f_bsize > 0);
	CHECK(fstatvfs(fd, &sv) == 0 && sv.f_namemax >= 14);
	CHECK(ioctl(fd, FS_IOC_FIEMAP, &map) == 0 ? map.head.fm_mapped_extents <= 4 : errno == EOPNOTSUPP);
	CHECK(ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 || errno == ENOTTY || errno == EOPNOTSUPP);
	CHECK(ioctl(fd, FIGETBSZ, &flags) == 0 && flags > 0);
	temp = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (temp >= 0) {
		char path[40];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", temp);
		CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW) == 0 && unlink("linked") == 0);
		close(temp);
	}
	step("space");
}

static void test_names(void)
{
	char buf[4096], text[64] = "";
	int a = open("a", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), b = open("b", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	int copies[3], dir;
	long n;

	CHECK(write(a, "aaa", 3) == 3 && renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE) == 0);
	CHECK(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE) == -1 && errno == EEXIST);
	CHECK(link("a", "hard") == 0 && symlink("hard", "soft") == 0 && readlink("soft", text, 64) == 4);
	CHECK(mkfifo("fifo", 0600) == 0 && mknod("node", S_IFREG | 0600, 0) == 0);
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = syscall(SYS_getdents64, dir, buf, sizeof(buf));
	CHECK(n > 0 && memmem(buf, (size_t)n, "fifo", 5) && syscall(SYS_getdents64, dir, buf, sizeof(buf)) == 0);
	CHECK(fchdir(dir) == 0 && getcwd(text, 3) == NULL && errno == ERANGE);
	for (int i = 0; i < 3; i++)
		copies[i] = dup3(a, 200 + i, O_CLOEXEC);
	CHECK(copies[2] == 202 && syscall(SYS_close_range, 200, 201, 0) == 0);
	CHECK(fcntl(200, F_GETFD) == -1 && fcntl(202, F_GETFD) == FD_CLOEXEC && close(202) == 0);
	for (char *all = "a\0b\0hard\0soft\0fifo\0node\0"; *all; all += strlen(all) + 1)
		CHECK(unlink(all) == 0);
	close(a), close(b), close(dir);
	step("names");
}

static void test_memfd(void)
{
	int m = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *p;

	NEED(m >= 0 && ftruncate(m, 8192) == 0 && pwrite(m, "memory", 6, 4096) == 6);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0);
	NEED(p != MAP_FAILED);
	CHECK(!strcmp(p + 4096, "memory"));
	CHECK(munmap(p, 8192) == 0 && fcntl(m, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
	CHECK(fcntl(m, F_GET_SEALS) == (F_SEAL_WRITE | F_SEAL_SHRINK));
	CHECK(write(m, "x", 1) == -1 && errno == EPERM && ftruncate(m, 1) == -1 && errno == EPERM);
	close(m);
	step("memfd");
}

static void test_events(void)
{
	char buf[1024];
	struct inotify_event *e = (struct inotify_event *)buf;
	int in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY), w;

	w = inotify_add_watch(in, "f", IN_MODIFY | IN_ATTRIB);
	CHECK(w >= 0 && pwrite(fd, "m", 1, 0) == 1 && fchmod(fd, 0600) == 0);
	CHECK(read(in, buf, sizeof(buf)) == 2 * sizeof(*e) && e[0].mask == IN_MODIFY && e[1].mask == IN_ATTRIB);
	CHECK(inotify_rm_watch(in, w) == 0 && read(in, buf, sizeof(buf)) > 0 && e->mask == IN_IGNORED);
	close(in);
	if (fan >= 0) {
		struct fanotify_event_metadata *m = (void *)buf;

		if (fanotify_mark(fan, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "f") == 0) {
			CHECK(pwrite(fd, "n", 1, 0) == 1);
			CHECK(read(fan, buf, sizeof(buf)) > 0 && m->mask == FAN_MODIFY && m->pid == getpid());
			CHECK(close(m->fd) == 0);
		}
		close(fan);
	}
	step("events");
}

int main(void)
{
	fd = open("f", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	NEED(fd >= 0 && write(fd, "0123456789", 10) == 10);
	test_times();
	test_xattrs();
	test_handles();
	test_locks();
	test_lease();
	test_space();
	test_names();
	test_memfd();
	test_events();
	unlink("f");
	return check_status();
}
