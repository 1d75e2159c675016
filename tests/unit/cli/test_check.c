// SPDX-License-Identifier: MIT
/* test_check.c: which files can be recorded, with ELF files made up here and cut short everywhere. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/str.h"
#include "supervisor/check.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

struct elf {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	char interp[64];
};

static char *file; /* of the running test */

static int setup(void **state)
{
	char dir[] = "/tmp/fred-test-XXXXXX";

	if (!mkdtemp(dir))
		return -1;
	*state = xstrdup(dir);
	file = path_join(dir, "program");
	return 0;
}

static int teardown(void **state)
{
	struct err e;
	int r = rm_rf(*state, &e);

	free(*state);
	free(file);
	return r;
}

static struct elf make_elf(const char *interp)
{
	struct elf f = {
		.eh = {.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
		.ph = {{.p_type = PT_LOAD},
		       {.p_type = PT_INTERP, .p_offset = offsetof(struct elf, interp)}},
	};

	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	if (interp)
		strcpy(f.interp, interp);
	else
		f.ph[1].p_type = PT_NULL;
	f.ph[1].p_filesz = strlen(f.interp) + 1;
	return f;
}

/* Checks a program of these bytes; says: part of the refusal, NULL: it must be accepted. */
static void expect(const void *data, size_t len, mode_t mode, const char *says)
{
	struct err e = {0};
	int r;

	assert_int_equal(write_file(file, data, len, 0700, &e), 0);
	assert_int_equal(chmod(file, mode), 0);
	r = check_recordable(file, &e);
	assert_int_equal(r, says ? -1 : 0);
	if (!says)
		return;
	assert_int_equal(e.kind, ERR_USAGE);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
}

static void dynamic_glibc(void **state)
{
	struct elf f = make_elf(LOADER);

	expect(&f, sizeof(f), 0700, NULL);
}

static void others(void **state)
{
	struct elf musl = make_elf("/lib/ld-musl-x86_64.so.1"), none = make_elf(NULL);
	struct elf x32 = make_elf(LOADER), arm = make_elf(LOADER), odd = make_elf(LOADER);

	x32.eh.e_ident[EI_CLASS] = ELFCLASS32;
	arm.eh.e_machine = EM_AARCH64;
	odd.eh.e_phentsize = 7;
	expect(&musl, sizeof(musl), 0700, "not a glibc program");
	expect(&none, sizeof(none), 0700, "statically linked");
	expect(&x32, sizeof(x32), 0700, "not a 64-bit");
	expect(&arm, sizeof(arm), 0700, "not a 64-bit");
	expect(&odd, sizeof(odd), 0700, "damaged");
	expect("", 0, 0700, "neither");
	expect("echo hi\n", 8, 0700, "neither");
}

static void go(void **state)
{
	struct {
		struct elf f;
		Elf64_Nhdr first;
		char owner[8];
		uint32_t desc;
		Elf64_Nhdr note;
		char name[4], id[8];
	} g = {.f = make_elf(LOADER), .first = {5, 4, 1}, .owner = "test", .note = {4, 8, 4}, .name = "Go"};

	g.f.ph[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = sizeof(g.f), .p_filesz = sizeof(g) - sizeof(g.f)};
	expect(&g, sizeof(g), 0700, "Go programs");
	g.name[1] = 'O';
	expect(&g, sizeof(g), 0700, NULL);
	g.first.n_descsz = UINT32_MAX;
	expect(&g, sizeof(g), 0700, NULL);
}

static void rights(void **state)
{
	struct elf f = make_elf(LOADER);

	expect(&f, sizeof(f), 04700, "setuid");
	expect(&f, sizeof(f), 02710, "setgid");
	expect(&f, sizeof(f), 02700, NULL); /* mandatory locking's mark, not a set-group-ID program */
}

/* Cut short anywhere, and with any byte of the headers changed: an answer, never a crash. */
static void damaged(void **state)
{
	struct elf f = make_elf(LOADER);
	struct err e;

	for (size_t len = 0; len < offsetof(struct elf, interp) + sizeof(LOADER); len++)
		expect(&f, len, 0700, "");
	for (size_t i = 0; i < offsetof(struct elf, interp); i++) {
		struct elf g = f;

		((unsigned char *)&g)[i] ^= 0xff;
		assert_int_equal(write_file(file, &g, sizeof(g), 0700, &e), 0);
		check_recordable(file, &e);
	}
}

static void scripts(void **state)
{
	cleanup_free char *self = str_fmt("#!%s\n", file);
	struct elf f = make_elf(LOADER);
	cleanup_free char *interp = path_join(*state, "interp");
	cleanup_free char *good = str_fmt("#! %s -x\n", interp);
	struct err e;

	assert_int_equal(write_file(interp, &f, sizeof(f), 0700, &e), 0);
	expect(good, strlen(good), 0700, NULL);
	expect("#!\n", 3, 0700, "bad #! line");
	expect("#!/no/such/file\n", 16, 0700, "/no/such/file");
	expect(self, strlen(self), 0700, "bad #! line"); /* a circle */
}

static void finding(void **state)
{
	cleanup_free char *found = NULL;
	struct elf f = make_elf(LOADER);
	struct err e = {0};

	assert_int_equal(write_file(file, &f, sizeof(f), 0700, &e), 0);
	setenv("PATH", *state, 1);
	found = check_find_program("program", &e);
	assert_string_equal(found, file);
	assert_null(check_find_program("other", &e));
	assert_non_null(strstr(e.text, "no such program"));
	assert_null(check_find_program(*state, &e));
	assert_non_null(strstr(e.text, "directory"));
	assert_int_equal(chmod(file, 0600), 0);
	assert_null(check_find_program(file, &e));
	assert_non_null(strstr(e.text, "ermission"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dynamic_glibc), TEST(others), TEST(go), TEST(rights), TEST(damaged), TEST(scripts), TEST(finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
