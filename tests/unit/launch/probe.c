/* SPDX-License-Identifier: MIT */
/*
 * probe.c: prints what it finds of its own start. "probe" prints the whole state; "probe exit N"
 * ends with N; "probe kill" dies of SIGTERM.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

static void print_random(void)
{
	const unsigned char *r = (void *)getauxval(AT_RANDOM);

	printf("random ");
	for (int i = 0; i < 16; i++)
		printf("%02x", r[i]);
	printf("\nrandom_at %p\nvdso %#lx\n", (const void *)r, getauxval(AT_SYSINFO_EHDR));
	printf("ids %lu %lu %lu %lu\n", getauxval(AT_UID), getauxval(AT_EUID), getauxval(AT_GID), getauxval(AT_EGID));
}

static void print_file(const char *path, const char *tag, int vdso_too)
{
	FILE *f = fopen(path, "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (vdso_too || !strstr(line, "[v"))
			printf("%s %s", tag, line);
	if (f)
		fclose(f);
}

static void print_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.' && atoi(de->d_name) != dirfd(d))
			printf("fd %s\n", de->d_name);
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	struct rlimit stack;
	const char *out = getenv("PROBE_OUT");
	char cwd[512];

	if (argc > 2 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		raise(SIGTERM);
	if (out && !freopen(out, "w", stdout))
		return 99;
	getrlimit(RLIMIT_STACK, &stack);
	print_random();
	printf("execfn %s\n", (const char *)getauxval(AT_EXECFN));
	printf("pid %d\nsid %d\n", getpid(), getsid(0));
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
	printf("stack %lu\n", (unsigned long)stack.rlim_cur);
	printf("norandom %d\n", !!(personality(0xffffffff) & ADDR_NO_RANDOMIZE));
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	print_fds();
	print_file("/proc/self/maps", "map", 0);
	print_file("/proc/self/status", "status", 1);
	return 0;
}
