/* SPDX-License-Identifier: MIT */
/*
 * check.c: the recorder is loaded by LD_PRELOAD, so the program needs glibc's dynamic loader; and the loader ignores
 * LD_PRELOAD if the program gains rights (ld.so(8), secure-execution mode).
 */
#include "supervisor/check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "launch/notes.h"

#define LOADER "ld-linux-x86-64.so.2"
#define MAX_SCRIPT_DEPTH 4
#define MAX_PHDRS 512

static int is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *check_find_program(const char *name, struct err *e)
{
	const char *path = getenv("PATH");
	cleanup_strv struct strv dirs = {0};

	if (strchr(name, '/')) {
		if (is_program(name))
			return xstrdup(name);
		if (path_is_dir(name))
			errno = EISDIR;
		else if (!access(name, X_OK))
			errno = EACCES;
		err_errno(e, ERR_USAGE, "%s", name);
		return NULL;
	}
	strv_split(&dirs, path ? path : "/usr/local/bin:/usr/bin:/bin", ":");
	for (size_t i = 0; i < dirs.n; i++) {
		char *full = path_join(dirs.s[i], name);

		if (is_program(full))
			return full;
		free(full);
	}
	err_set(e, ERR_USAGE, "%s: no such program in $PATH", name);
	return NULL;
}

static int check_rights(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_errno(e, ERR_USAGE, "%s", path);
	if (st.st_mode & S_ISUID)
		return err_set(e, ERR_USAGE, "%s: setuid programs cannot be recorded", path);
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP))
		return err_set(e, ERR_USAGE, "%s: setgid programs cannot be recorded", path);
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return err_set(e, ERR_USAGE, "%s: programs with file capabilities cannot be recorded", path);
	return 0;
}

static int read_interp(int fd, const char *path, const Elf64_Phdr *ph, struct err *e)
{
	char interp[256] = "";

	if (ph->p_filesz >= sizeof(interp) ||
	    pread_full(fd, interp, ph->p_filesz, (off_t)ph->p_offset) != (ssize_t)ph->p_filesz)
		return err_set(e, ERR_USAGE, "%s: damaged ELF file", path);
	if (!str_eq(path_base(interp), LOADER))
		return err_set(e, ERR_USAGE, "%s: not a glibc program (its loader is %s)", path, interp);
	return 0;
}

/* Looks for notes of the Go toolchain. Very long notes are not Go's, and are not read. */
static int check_notes(int fd, const char *path, const Elf64_Phdr *ph, struct err *e)
{
	uint32_t notes[1024];

	if (ph->p_filesz > sizeof(notes) ||
	    pread_full(fd, notes, ph->p_filesz, (off_t)ph->p_offset) != (ssize_t)ph->p_filesz)
		return 0;
	if (launch_notes_are_go(notes, ph->p_filesz))
		return err_set(e, ERR_USAGE,
			       "%s: Go programs cannot be recorded: their stacks have no room for the recorder", path);
	return 0;
}

/* Sanitizers whose shadow is where the recorder has its own memory, by a function that all programs with them have. */
static const struct {
	const char *init, *name, *instead;
} sanitizers[] = {
	{"__tsan_init", "ThreadSanitizer", "fredctl check races"},
	{"__msan_init", "MemorySanitizer", "fredctl check memory"},
};

static int check_symbol(const char *path, const char *symbol, struct err *e)
{
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
		if (str_eq(symbol, sanitizers[i].init))
			return err_set(e, ERR_USAGE,
				       "%s: programs built with %s cannot be recorded, since its memory is where the "
				       "recorder's is; record a build without it: %s finds the same errors",
				       path, sanitizers[i].name, sanitizers[i].instead);
	return 0;
}

static int check_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *head, const char *path, struct err *e)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, head->sh_link, sym.st_name);

		if (name && check_symbol(path, name, e))
			return -1;
	}
	return 0;
}

/* What cannot be read is not a sanitizer's. */
static int check_sanitizers(int fd, const char *path, struct err *e)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	Elf *elf;
	int r = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !r && (scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &head) && head.sh_type == SHT_DYNSYM)
			r = check_symbols(elf, scn, &head, path, e);
	elf_end(elf);
	return r;
}

static int check_elf(int fd, const char *path, const Elf64_Ehdr *eh, struct err *e)
{
	Elf64_Phdr ph, interp = {.p_type = PT_NULL};

	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_X86_64)
		return err_set(e, ERR_USAGE, "%s: not a 64-bit x86-64 program", path);
	if (eh->e_phentsize != sizeof(ph) || eh->e_phnum > MAX_PHDRS)
		return err_set(e, ERR_USAGE, "%s: damaged ELF file", path);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		off_t at = (off_t)(eh->e_phoff + i * sizeof(ph));

		if (pread_full(fd, &ph, sizeof(ph), at) != sizeof(ph))
			return err_set(e, ERR_USAGE, "%s: damaged ELF file", path);
		if (ph.p_type == PT_NOTE && check_notes(fd, path, &ph, e))
			return -1;
		if (ph.p_type == PT_INTERP)
			interp = ph;
	}
	if (interp.p_type != PT_INTERP)
		return err_set(e, ERR_USAGE, "%s: statically linked programs cannot be recorded", path);
	return read_interp(fd, path, &interp, e) ? -1 : check_sanitizers(fd, path, e);
}

static int check_file(const char *path, int depth, struct err *e);

static int check_script(const char *path, char *line, int depth, struct err *e)
{
	char *interp = line + 2 + strspn(line + 2, " \t");

	interp[strcspn(interp, " \t\r\n")] = '\0';
	if (!*interp || depth >= MAX_SCRIPT_DEPTH)
		return err_set(e, ERR_USAGE, "%s: bad #! line", path);
	return check_file(interp, depth + 1, e) ? err_wrap(e, "%s", path) : 0;
}

static int check_file(const char *path, int depth, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	union {
		Elf64_Ehdr eh;
		char text[257];
	} head = {.text = ""};

	if (fd < 0)
		return err_errno(e, ERR_USAGE, "%s: cannot be read", path);
	if (check_rights(fd, path, e))
		return -1;
	if (pread_full(fd, head.text, sizeof(head.text) - 1, 0) < 0)
		return err_errno(e, ERR_USAGE, "%s", path);
	if (!memcmp(head.text, ELFMAG, SELFMAG))
		return check_elf(fd, path, &head.eh, e);
	if (!memcmp(head.text, "#!", 2))
		return check_script(path, head.text, depth, e);
	return err_set(e, ERR_USAGE, "%s: neither an ELF program nor a script with a #! line", path);
}

int check_recordable(const char *path, struct err *e)
{
	return check_file(path, 0, e);
}
