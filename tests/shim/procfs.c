/* SPDX-License-Identifier: MIT */
/*
 * procfs.c: what a program reads about itself, and writes to its memory; it must find itself, and a replay the same text.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>

static unsigned long hash_file(const char *path, unsigned long *lines)
{
	unsigned long h = 5381;
	FILE *f = fopen(path, "r");
	int c;

	NEED(f);
	*lines = 0;
	while ((c = getc(f)) != EOF) {
		h = h * 33 + (unsigned)c;
		*lines += c == '\n';
	}
	fclose(f);
	return h;
}

static void test_maps(void)
{
	unsigned long lo, hi, lines;
	int own = 0, stack = 0, code = 0;
	char line[4200], perms[8];
	FILE *f = fopen("/proc/self/maps", "r");

	NEED(f);
	while (fgets(line, sizeof(line), f)) {
		CHECK(sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) == 3);
		if (lo <= (unsigned long)&own && (unsigned long)&own < hi)
			stack = strstr(line, "[stack]") != NULL;
		if (lo <= (unsigned long)test_maps && (unsigned long)test_maps < hi)
			code = perms[2] == 'x';
	}
	fclose(f);
	CHECK(stack && code);
	printf("maps %lx", hash_file("/proc/self/maps", &lines));
	printf(" %lu\n", lines);
	step("maps");
}

static void test_status(void)
{
	char line[1024], text[4096], exe[4096];
	int pid = -1, found = 0;
	unsigned long lines;
	long n;
	FILE *f = fopen("/proc/self/status", "r");

	NEED(f);
	while (fgets(line, sizeof(line), f))
		found += sscanf(line, "Pid: %d", &pid);
	fclose(f);
	CHECK(found == 1 && pid == getpid());
	f = fopen("/proc/self/stat", "r");
	NEED(f);
	CHECK(fscanf(f, "%d (%1023[^)])", &pid, line) == 2 && pid == getpid());
	fclose(f);
	printf("stat of %s\n", line);
	f = fopen("/proc/self/cmdline", "r");
	NEED(f);
	CHECK(fread(text, 1, sizeof(text), f) > 2 && strlen(text) > 2);
	fclose(f);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	NEED(n > 0);
	exe[n] = 0;
	CHECK(strstr(exe, "procfs") != NULL);
	hash_file("/proc/self/statm", &lines);
	CHECK(lines == 1);
	step("status");
}

static void test_lists(void)
{
	unsigned long lines;
	struct dirent *d;
	int fds = 0, tasks = 0;
	DIR *dir = opendir("/proc/self/task");

	NEED(dir);
	while ((d = readdir(dir)))
		tasks += atoi(d->d_name) == getpid();
	closedir(dir);
	CHECK(tasks == 1);
	dir = opendir("/proc/self/fd");
	NEED(dir);
	while ((d = readdir(dir)))
		fds += d->d_name[0] != '.';
	closedir(dir);
	CHECK(fds >= 4);
	printf("meminfo %lx, loadavg %lx, uptime %lx\n", hash_file("/proc/meminfo", &lines),
	       hash_file("/proc/loadavg", &lines), hash_file("/proc/uptime", &lines));
	step("lists");
}

struct objects {
	unsigned libcs;
	unsigned long data; /* a hash of what can be written, as a garbage collector looks at it */
};

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *objects = arg;

	(void)size;
	objects->libcs += strstr(info->dlpi_name, "libc.so") != NULL;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const unsigned long *word = (const unsigned long *)((info->dlpi_addr + h->p_vaddr + 7) & ~7ul);

		/* the loader has measured there how long it took */
		if (h->p_type != PT_LOAD || !(h->p_flags & PF_W) || strstr(info->dlpi_name, "/ld-"))
			continue;
		for (unsigned long n = h->p_memsz / 8; n > 1; n--)
			objects->data = objects->data * 31 + *word++;
	}
	return 0;
}

static void test_calls(void)
{
	struct utsname uts;
	struct sysinfo si;
	struct rlimit rl;
	char name[16];
	struct objects objects = {0};

	CHECK(uname(&uts) == 0 && !strcmp(uts.sysname, "Linux"));
	CHECK(sysinfo(&si) == 0 && si.totalram > 0);
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) >= 1 && sysconf(_SC_PAGESIZE) == 4096);
	CHECK(getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur > 8);
	CHECK(getpid() == (int)syscall(SYS_getpid) && gettid() == getpid() && getppid() > 0);
	CHECK(getuid() == geteuid() && getpgid(0) == getpgrp() && getsid(0) >= 0);
	CHECK(prctl(PR_SET_NAME, "procfs-test") == 0 && prctl(PR_GET_NAME, name) == 0);
	CHECK(!strcmp(name, "procfs-test"));
	CHECK(dl_iterate_phdr(on_object, &objects) == 0 && objects.libcs == 1);
	printf("data %lx\n", objects.data);
	printf("%s, free %lu, pid %d\n", uts.release, si.freeram, getpid());
	step("calls");
}

static int answer(void)
{
	static const unsigned char returns_42[] = {0xb8, 42, 0, 0, 0, 0xc3};
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/mem", O_RDWR), (*fn)(void), got;

	NEED(code != MAP_FAILED && fd >= 0);
	CHECK(pwrite(fd, returns_42, sizeof(returns_42), (off_t)code) == sizeof(returns_42));
	memcpy(&fn, &code, sizeof(fn));
	got = fn();
	CHECK(munmap(code, 4096) == 0 && close(fd) == 0);
	return got;
}

/* What is written there is in the program's memory, write-protected or not. */
static void test_memory(void)
{
	static volatile char to[16], other[4];
	char path[40];
	struct iovec v[2] = {{"56", 2}, {"789", 3}};
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", getpid());
	fd = open(path, O_WRONLY);
	NEED(fd >= 0);
	CHECK(lseek(fd, (off_t)to, SEEK_SET) == (off_t)to);
	CHECK(write(fd, "123", 3) == 3 && write(fd, "4", 1) == 1 && writev(fd, v, 2) == 5);
	CHECK(!memcmp((const char *)to, "123456789", 10));
	CHECK(pwritev(fd, v, 2, (off_t)to) == 5 && !memcmp((const char *)to, "567896789", 10));
	CHECK(pwrite(fd, "no", 2, 16) == -1 && other[0] == 0);
	CHECK(close(fd) == 0 && answer() == 42);
	step("memory");
}

int main(void)
{
	test_memory();
	test_maps();
	test_status();
	test_lists();
	test_calls();
	return check_status();
}
