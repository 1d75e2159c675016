/* SPDX-License-Identifier: MIT */
/* files.c: files by raw system calls: reading, writing, metadata, directories, locks, descriptors. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

static void test_read_write(void)
{
	char a[100], b[50];
	struct iovec in[2] = {{a, 10}, {b, 20}};
	struct iovec out[2] = {{"first ", 6}, {"second\n", 7}};
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0640);

	NEED(fd >= 0);
	CHECK(write(fd, "0123456789", 10) == 10);
	CHECK(writev(fd, out, 2) == 13);
	CHECK(pwrite(fd, "XY", 2, 4) == 2);
	CHECK(lseek(fd, 0, SEEK_CUR) == 23);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, a, sizeof(a)) == 23 && !memcmp(a, "0123XY6789first second\n", 23));
	CHECK(read(fd, a, sizeof(a)) == 0);
	CHECK(pread(fd, a, 5, 10) == 5 && !memcmp(a, "first", 5));
	CHECK(lseek(fd, 10, SEEK_SET) == 10);
	CHECK(readv(fd, in, 2) == 13 && !memcmp(a, "first seco", 10) && !memcmp(b, "nd\n", 3));
	CHECK(preadv(fd, in, 2, 0) == 23 && !memcmp(b, "first", 5));
	CHECK(lseek(fd, -1, SEEK_SET) == -1 && errno == EINVAL);
	CHECK(ftruncate(fd, 5) == 0 && lseek(fd, 0, SEEK_END) == 5);
	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
	CHECK(posix_fallocate(fd, 0, 8192) == 0 && lseek(fd, 0, SEEK_END) == 8192);
	CHECK(close(fd) == 0 && close(fd) == -1 && errno == EBADF);
	CHECK(truncate("data", 3) == 0);
	step("read and write");
}

static void test_large(void)
{
	static unsigned char block[65536];
	unsigned long sum = 0, again = 0;
	int fd = open("large", O_RDWR | O_CREAT | O_TRUNC, 0600);
	long n;

	NEED(fd >= 0);
	for (unsigned i = 0; i < 128; i++) {
		for (unsigned k = 0; k < sizeof(block); k++)
			sum += block[k] = (unsigned char)(i * 7 + k * k);
		CHECK(write(fd, block, sizeof(block)) == sizeof(block));
	}
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while ((n = read(fd, block, sizeof(block))) > 0)
		for (long k = 0; k < n; k++)
			again += block[k];
	CHECK(sum == again);
	printf("8 MiB, sum %lu\n", sum);
	close(fd);
	step("large");
}

static void test_metadata(void)
{
	struct timespec times[2] = {{1000000000, 5}, {1100000000, 7}};
	struct stat st, by_fd;
	struct statx sx;
	struct statvfs vfs;
	int fd;

	CHECK(stat("data", &st) == 0 && st.st_size == 3 && S_ISREG(st.st_mode));
	CHECK((st.st_mode & 0777) == 0640);
	fd = open("data", O_RDONLY);
	NEED(fd >= 0);
	CHECK(fstat(fd, &by_fd) == 0 && by_fd.st_ino == st.st_ino);
	CHECK(fchmod(fd, 0600) == 0 && futimens(fd, times) == 0);
	CHECK(fstatat(AT_FDCWD, "data", &st, AT_SYMLINK_NOFOLLOW) == 0);
	CHECK(st.st_mtim.tv_sec == 1100000000 && st.st_mtim.tv_nsec == 7 && st.st_atim.tv_sec == 1000000000);
	CHECK(statx(AT_FDCWD, "data", 0, STATX_ALL, &sx) == 0 && sx.stx_size == 3);
	CHECK(utimensat(AT_FDCWD, "data", NULL, 0) == 0);
	CHECK(statvfs(".", &vfs) == 0 && vfs.f_bsize > 0);
	CHECK(chmod("data", 0644) == 0 && access("data", W_OK) == 0);
	CHECK(access("missing", F_OK) == -1 && errno == ENOENT);
	CHECK(faccessat(AT_FDCWD, "data", R_OK, AT_EACCESS) == 0);
	CHECK(stat("missing", &st) == -1 && errno == ENOENT);
	CHECK(chown("data", getuid(), getgid()) == 0);
	close(fd);
	step("metadata");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void test_directories(void)
{
	char name[64], cwd[4096];
	struct dirent **list, *d;
	int n, entries = 0, fd;
	DIR *dir;

	CHECK(mkdir("sub", 0755) == 0 && mkdir("sub", 0755) == -1 && errno == EEXIST);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "sub/file-with-a-longer-name-%03d", i);
		fd = open(name, O_CREAT | O_WRONLY, 0600);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	dir = opendir("sub");
	NEED(dir);
	while ((d = readdir(dir)))
		entries += d->d_name[0] != '.';
	CHECK(entries == 200);
	rewinddir(dir);
	CHECK(readdir(dir) && dirfd(dir) >= 0);
	CHECK(closedir(dir) == 0);
	n = scandir("sub", &list, NULL, by_name);
	CHECK(n == 202);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			snprintf(name, sizeof(name), "sub/%.50s", list[i]->d_name);
			CHECK(unlink(name) == 0);
		}
		free(list[i]);
	}
	free(list);
	CHECK(getcwd(cwd, sizeof(cwd)) == cwd && chdir("sub") == 0 && chdir("..") == 0);
	fd = open(".", O_RDONLY | O_DIRECTORY);
	CHECK(fchdir(fd) == 0 && close(fd) == 0);
	CHECK(rmdir("sub") == 0 && opendir("sub") == NULL && errno == ENOENT);
	step("directories");
}

static void test_links(void)
{
	char target[100];
	struct stat st;
	long n;

	CHECK(symlink("data", "soft") == 0 && link("data", "hard") == 0);
	n = readlink("soft", target, sizeof(target));
	CHECK(n == 4 && !memcmp(target, "data", 4));
	CHECK(lstat("soft", &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(stat("hard", &st) == 0 && st.st_nlink == 2);
	CHECK(rename("hard", "harder") == 0 && access("hard", F_OK) == -1);
	CHECK(renameat(AT_FDCWD, "harder", AT_FDCWD, "hard") == 0);
	CHECK(unlink("hard") == 0 && unlinkat(AT_FDCWD, "soft", 0) == 0);
	CHECK(unlink("hard") == -1 && errno == ENOENT);
	step("links");
}

static void test_descriptors(void)
{
	int fd = open("data", O_RDWR), other, ends[2], left = -1;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	NEED(fd >= 0);
	other = dup(fd);
	CHECK(other > fd && lseek(other, 2, SEEK_SET) == 2 && lseek(fd, 0, SEEK_CUR) == 2);
	CHECK(dup2(fd, 77) == 77 && dup3(fd, 78, O_CLOEXEC) == 78);
	CHECK(fcntl(78, F_GETFD) == FD_CLOEXEC && fcntl(77, F_GETFD) == 0);
	CHECK(fcntl(fd, F_DUPFD, 90) == 90 && close(90) == 0 && close(77) == 0 && close(78) == 0);
	CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
	CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0 && (fcntl(fd, F_GETFL) & O_APPEND));
	CHECK(fcntl(fd, F_SETLK, &lock) == 0);
	lock.l_type = F_RDLCK;
	CHECK(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
	CHECK(flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0);
	CHECK(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3);
	CHECK(ioctl(ends[0], FIONREAD, &left) == 0 && left == 3);
	CHECK(isatty(ends[0]) == 0);
	close(ends[0]), close(ends[1]), close(other), close(fd);
	step("descriptors");
}

static void test_copies(void)
{
	int in = open("large", O_RDONLY), out = open("copy", O_RDWR | O_CREAT, 0600);
	off_t offset = 100;
	mode_t old;

	NEED(in >= 0 && out >= 0);
	CHECK(sendfile(out, in, &offset, 1000) == 1000 && offset == 1100);
	CHECK(copy_file_range(in, NULL, out, NULL, 500, 0) == 500);
	CHECK(lseek(out, 0, SEEK_END) == 1500);
	close(in), close(out);
	old = umask(077);
	CHECK(umask(old) == 077);
	CHECK(unlink("copy") == 0 && unlink("large") == 0 && unlink("data") == 0);
	step("copies");
}

int main(void)
{
	umask(022);
	test_read_write();
	test_large();
	test_metadata();
	test_directories();
	test_links();
	test_descriptors();
	test_copies();
	return check_status();
}
