/* SPDX-License-Identifier: MIT */
/*
 * fuzz_unpack.c: a packed recording that somebody has changed: it is unpacked or refused, nothing is written beside the
 * folder that was asked for, and nothing is left of what was refused. The archive's bytes are damaged, not those of its
 * compression, whose checksum would find that.
 */
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fdio.h"
#include "base/str.h"
#include "pack/pack.h"
#include "rec_made.h"

enum { TAR_MAX = 8 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct script_file tar;
static char top[300], *file, *out;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_top(void)
{
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The archive of the recording that is not damaged. */
static void begin(void)
{
	struct rec_made *m = rec_made();
	struct buf packed = {0};
	uint64_t bytes;
	struct err e = {0};
	size_t n;

	snprintf(top, sizeof(top), "%s.pack", m->dir);
	file = str_fmt("%s/file", top);
	out = str_fmt("%s/out", top);
	if (mkdir(top, 0700) || atexit(remove_top) || setenv("FRED_HOME", top, 1) ||
	    pack_write(m->dir, file, false, &bytes, &e) || read_file(file, &packed, &e)) {
		fprintf(stderr, "%s: %s\n", top, e.text);
		abort();
	}
	buf_reserve(&tar.was, TAR_MAX);
	n = ZSTD_decompress(tar.was.data, TAR_MAX, packed.data, packed.len);
	if (ZSTD_isError(n))
		abort();
	tar.was.len = n;
	buf_fini(&packed);
}

static void write_packed(void)
{
	struct buf z = {0};
	size_t room = ZSTD_compressBound(tar.now.len), n;

	buf_reserve(&z, room);
	n = ZSTD_compress(z.data, room, tar.now.data, tar.now.len, 1);
	z.len = ZSTD_isError(n) ? 0 : n;
	if (!z.len || script_write(file, &z))
		abort();
	buf_fini(&z);
}

/* The file, the folder of shared files, and what was made on demand. */
static void check_beside(bool made)
{
	DIR *d = opendir(top);
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, "..") && strcmp(de->d_name, "file") &&
		    strcmp(de->d_name, "files") && !(made && !strcmp(de->d_name, "out"))) {
			fprintf(stderr, "%s is there\n", de->d_name);
			abort();
		}
	closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pack *p = NULL;
	char *dir = NULL;
	struct err e = {0};
	bool made;

	if (!file)
		begin();
	script_run(&tar, 1, data, size);
	write_packed();
	made = !pack_open(file, &p, &e) && !pack_unpack(p, out, &dir, &e);
	pack_close(p);
	if (!made && !e.text[0])
		abort();
	check_beside(made);
	nftw(out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
	return 0;
}
