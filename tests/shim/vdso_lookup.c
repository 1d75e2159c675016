/* SPDX-License-Identifier: MIT */
/*
 * vdso_lookup.c: the vDSO, looked up by the program itself: by the auxiliary vector on the stack, from libc, from the kernel and
 * from /proc; its symbols by either table and by version; called by threads, children and a program that was started by exec.
 *
 * NONDET-OUTPUT
 */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

struct image {
	const char *load; /* what addresses in it are added to */
	const Elf64_Sym *sym;
	const char *names;
	const uint32_t *hash, *gnu;
	const uint16_t *versions;
	const Elf64_Verdef *verdef;
};

static void parse(struct image *v, uint64_t at)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)at;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(at + eh->e_phoff);
	const Elf64_Dyn *d = NULL;
	int loads = 0;

	memset(v, 0, sizeof(*v));
	NEED(!memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_machine == EM_X86_64);
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !loads++)
			v->load = (const char *)at + ph[i].p_offset - ph[i].p_vaddr;
		if (ph[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(at + ph[i].p_offset);
	}
	NEED(loads && d);
	for (; d->d_tag; d++) {
		const void *p = v->load + d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB: v->sym = p; break;
		case DT_STRTAB: v->names = p; break;
		case DT_HASH: v->hash = p; break;
		case DT_GNU_HASH: v->gnu = p; break;
		case DT_VERSYM: v->versions = p; break;
		case DT_VERDEF: v->verdef = p; break;
		}
	}
	NEED(v->sym && v->names && (v->hash || v->gnu) && v->versions && v->verdef);
}

static int version_fits(const struct image *v, uint32_t i)
{
	const Elf64_Verdef *d = v->verdef;

	for (;; d = (const Elf64_Verdef *)((const char *)d + d->vd_next)) {
		const Elf64_Verdaux *a = (const Elf64_Verdaux *)((const char *)d + d->vd_aux);

		if (!(d->vd_flags & VER_FLG_BASE) && d->vd_ndx == (v->versions[i] & 0x7fff))
			return !strcmp(v->names + a->vda_name, "LINUX_2.6");
		if (!d->vd_next)
			return 0;
	}
}

static void *by_hash(const struct image *v, const char *name)
{
	uint32_t h = 0;

	for (const char *s = name; *s; s++) {
		h = (h << 4) + (unsigned char)*s;
		h = (h ^ (h & 0xf0000000) >> 24) & 0x0fffffff;
	}
	for (uint32_t i = v->hash[2 + h % v->hash[0]]; i; i = v->hash[2 + v->hash[0] + i])
		if (!strcmp(v->names + v->sym[i].st_name, name) && v->sym[i].st_shndx && version_fits(v, i))
			return (void *)(v->load + v->sym[i].st_value);
	return NULL;
}

static void *by_gnu_hash(const struct image *v, const char *name)
{
	uint32_t h = 5381, i;
	const uint32_t *buckets = v->gnu + 4 + 2 * v->gnu[2], *chain = buckets + v->gnu[0];

	for (const char *s = name; *s; s++)
		h = h * 33 + (unsigned char)*s;
	for (i = buckets[h % v->gnu[0]]; i; i++) {
		uint32_t c = chain[i - v->gnu[1]];

		if ((c | 1) == (h | 1) && !strcmp(v->names + v->sym[i].st_name, name) && version_fits(v, i))
			return (void *)(v->load + v->sym[i].st_value);
		if (c & 1)
			break;
	}
	return NULL;
}

static void *find(const struct image *v, const char *name)
{
	void *a = v->hash ? by_hash(v, name) : NULL, *b = v->gnu ? by_gnu_hash(v, name) : NULL;

	CHECK(!v->hash || !v->gnu || a == b);
	return a ? a : b;
}

static struct {
	long (*clock)(clockid_t, struct timespec *), (*day)(struct timeval *, void *), (*time)(time_t *);
	long (*cpu)(unsigned *, unsigned *, void *), (*res)(clockid_t, struct timespec *);
} fn;

static const Elf64_Shdr *section(const Elf64_Ehdr *eh, const char *name)
{
	const Elf64_Shdr *sh = (const Elf64_Shdr *)((const char *)eh + eh->e_shoff);

	for (int i = 0; i < eh->e_shnum; i++)
		if (!strcmp((const char *)eh + sh[eh->e_shstrndx].sh_offset + sh[i].sh_name, name))
			return &sh[i];
	return NULL;
}

static void sections(uint64_t at)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)at;
	const Elf64_Shdr *sym = section(eh, ".dynsym"), *str = section(eh, ".dynstr");
	unsigned found = 0;

	NEED(sym && str && sym->sh_entsize == sizeof(Elf64_Sym));
	for (uint64_t i = 0; i < sym->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *s = (const Elf64_Sym *)((const char *)eh + sym->sh_offset) + i;

		CHECK(s->st_name < str->sh_size && s->st_value < 4 * 4096);
		found += !strcmp((const char *)eh + str->sh_offset + s->st_name, "__vdso_time");
	}
	CHECK(found == 1);
}

static void look_up(uint64_t at)
{
	struct image v;

	parse(&v, at);
	sections(at);
	fn.clock = find(&v, "__vdso_clock_gettime");
	fn.day = find(&v, "__vdso_gettimeofday");
	fn.time = find(&v, "__vdso_time");
	fn.cpu = find(&v, "__vdso_getcpu");
	fn.res = find(&v, "__vdso_clock_getres");
	NEED(fn.clock && fn.day && fn.time && fn.cpu);
	CHECK(find(&v, "clock_gettime") == (void *)fn.clock);
	CHECK(!find(&v, "__vdso_nothing"));
}

static void use(const char *who)
{
	struct timespec a, b, c;
	struct timeval tv;
	unsigned cpu = ~0u, node = ~0u;
	time_t when = 0;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
	CHECK(fn.clock(CLOCK_MONOTONIC, &b) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &c) == 0);
	CHECK(a.tv_sec * 1000000000l + a.tv_nsec <= b.tv_sec * 1000000000l + b.tv_nsec);
	CHECK(b.tv_sec * 1000000000l + b.tv_nsec <= c.tv_sec * 1000000000l + c.tv_nsec);
	CHECK(fn.clock(12345, &c) == -EINVAL);
	CHECK(fn.day(&tv, NULL) == 0 && labs((long)time(NULL) - (long)tv.tv_sec) <= 2);
	CHECK(fn.time(&when) == when && labs((long)when - (long)tv.tv_sec) <= 2);
	CHECK(fn.cpu(&cpu, &node, NULL) == 0 && cpu < 4096 && node < 4096);
	CHECK(!fn.res || (fn.res(CLOCK_MONOTONIC, &c) == 0 && c.tv_nsec > 0));
	printf("%s: %ld.%09ld %ld.%06ld %ld\n", who, (long)b.tv_sec, b.tv_nsec, (long)tv.tv_sec, (long)tv.tv_usec, (long)when);
	fflush(stdout);
}

static uint64_t in_vector(const uint64_t *v, size_t n)
{
	for (size_t i = 0; i + 1 < n && v[i]; i += 2)
		if (v[i] == AT_SYSINFO_EHDR)
			return v[i + 1];
	return 0;
}

/* piece: bytes a call. */
static uint64_t from_proc(size_t piece, int at_place)
{
	uint64_t v[256];
	size_t n = 0;
	ssize_t k;
	int fd = open("/proc/self/auxv", O_RDONLY);

	NEED(fd >= 0);
	while (n + piece <= sizeof(v) && (k = at_place ? pread(fd, (char *)v + n, piece, (off_t)n) : read(fd, (char *)v + n, piece)) > 0)
		n += (size_t)k;
	close(fd);
	return in_vector(v, n / 8);
}

static void *thread(void *arg)
{
	use(arg);
	return NULL;
}

int main(int argc, char **argv, char **envp)
{
	uint64_t v[256], at = getauxval(AT_SYSINFO_EHDR);
	pthread_t t;
	pid_t pid;
	int status;
	long n;

	NEED(at);
	look_up(at);
	use(argc > 1 ? argv[1] : "libc's");
	while (*envp)
		envp++;
	CHECK(in_vector((uint64_t *)(envp + 1), 256) == at);
	CHECK(from_proc(2048, 0) == at && from_proc(1, 0) == at && from_proc(24, 0) == at && from_proc(7, 1) == at);
	n = prctl(0x41555856 /* PR_GET_AUXV */, v, sizeof(v), 0, 0);
	CHECK(n < 0 || in_vector(v, (size_t)n / 8) == at);
	step("looked up");
	NEED(pthread_create(&t, NULL, thread, "thread") == 0);
	pthread_join(t, NULL);
	step("a thread");
	if (argc > 1)
		return check_status();
	pid = fork();
	if (!pid) {
		use("child");
		execl("/proc/self/exe", argv[0], "program", NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("a child and a program");
	return check_status();
}
