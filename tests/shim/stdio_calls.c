/* SPDX-License-Identifier: MIT */
/* stdio_calls.c: streams: text and blocks, seeking, buffering, memory streams, temporary files, wide characters. */
#include "check.h"

#include <fcntl.h>
#include <locale.h>
#include <wchar.h>

static void test_text(void)
{
	char line[100], word[20], *grown = NULL;
	size_t room = 0;
	int n, lines = 0;
	FILE *f = fopen("text", "w+");

	NEED(f);
	for (int i = 0; i < 1000; i++)
		CHECK(fprintf(f, "line %d has %s\n", i, i % 2 ? "odd" : "even") > 0);
	rewind(f);
	CHECK(fscanf(f, "line %d has %19s", &n, word) == 2 && n == 0 && !strcmp(word, "even"));
	CHECK(fgetc(f) == '\n' && ungetc('L', f) == 'L' && fgetc(f) == 'L');
	CHECK(fgets(line, sizeof(line), f) && !strcmp(line, "line 1 has odd\n"));
	while (getline(&grown, &room, f) > 0)
		lines++;
	CHECK(lines == 998 && feof(f) && !ferror(f));
	clearerr(f);
	CHECK(!feof(f) && fseek(f, 5, SEEK_SET) == 0 && ftell(f) == 5 && getc(f) == '0');
	CHECK(fclose(f) == 0);
	free(grown);
	CHECK(fopen("missing", "r") == NULL && errno == ENOENT);
	step("text");
}

static void test_blocks(int mode, size_t size, const char *name)
{
	static unsigned int block[4096], back[4096];
	char own[512];
	FILE *f = fopen("blocks", "wb");

	NEED(f);
	CHECK(setvbuf(f, size == sizeof(own) ? own : NULL, mode, size) == 0);
	for (int r = 0; r < 100; r++) {
		for (unsigned i = 0; i < 4096; i++)
			block[i] = i * 2654435761u + (unsigned)r;
		CHECK(fwrite(block, sizeof(block[0]), 4096 - (unsigned)r, f) == 4096 - (unsigned)r);
	}
	CHECK(fclose(f) == 0);
	f = fopen("blocks", "rb");
	NEED(f);
	for (int r = 0; r < 100; r++)
		CHECK(fread(back, sizeof(back[0]), 4096 - (unsigned)r, f) == 4096 - (unsigned)r);
	CHECK(!memcmp(block, back, (4096 - 99) * sizeof(back[0])));
	CHECK(fread(back, 1, 1, f) == 0 && feof(f));
	CHECK(fclose(f) == 0);
	step(name);
}

static void test_memory(void)
{
	char fixed[64] = "one two", *text = NULL, word[10];
	size_t size = 0;
	FILE *f = fmemopen(fixed, sizeof(fixed), "r+");

	NEED(f);
	CHECK(fscanf(f, "%9s", word) == 1 && !strcmp(word, "one"));
	CHECK(fclose(f) == 0);
	f = open_memstream(&text, &size);
	NEED(f);
	for (int i = 0; i < 5000; i++)
		fprintf(f, "%d,", i);
	CHECK(fclose(f) == 0 && size == 23890 && !strncmp(text, "0,1,2,", 6));
	free(text);
	step("memory streams");
}

static void test_temporary(void)
{
	FILE *f = tmpfile();
	char back[10] = "";

	NEED(f);
	CHECK(fputs("temporary", f) >= 0 && fflush(f) == 0);
	CHECK(fseeko(f, -9, SEEK_END) == 0 && fread(back, 1, 9, f) == 9 && !strcmp(back, "temporary"));
	CHECK(fclose(f) == 0);
	f = fdopen(open("text", O_RDONLY), "r");
	NEED(f);
	f = freopen("blocks", "r", f);
	NEED(f);
	CHECK(fileno(f) >= 0 && fclose(f) == 0);
	step("temporary");
}

static void test_wide_and_formats(void)
{
	wchar_t wide[20] = L"";
	char text[100];
	FILE *f;

	CHECK(snprintf(text, sizeof(text), "%5.2f|%-6s|%06x|%+d|%e", 3.14159, "ab", 48879, 5, 12345.678) == 35);
	CHECK(!strcmp(text, " 3.14|ab    |00beef|+5|1.234568e+04"));
	f = fopen("wide", "w+");
	NEED(f);
	CHECK(fwprintf(f, L"%ls %d\n", L"wide", 42) == 8);
	rewind(f);
	CHECK(fgetws(wide, 20, f) && !wcscmp(wide, L"wide 42\n"));
	CHECK(fclose(f) == 0);
	unlink("wide"), unlink("text"), unlink("blocks");
	step("wide and formats");
}

static void test_popen(void)
{
	char line[100];
	FILE *p = popen("echo from the shell; exit 3", "r");

	NEED(p);
	CHECK(fgets(line, sizeof(line), p) && !strcmp(line, "from the shell\n"));
	CHECK(pclose(p) == 3 << 8);
	p = popen("cat >got", "w");
	NEED(p);
	CHECK(fputs("to the shell", p) >= 0 && pclose(p) == 0);
	p = fopen("got", "r");
	NEED(p);
	CHECK(fgets(line, sizeof(line), p) && !strcmp(line, "to the shell"));
	fclose(p);
	unlink("got");
	step("popen");
}

int main(void)
{
	test_text();
	test_blocks(_IOFBF, 1 << 16, "full buffering");
	test_blocks(_IOFBF, 512, "small own buffer");
	test_blocks(_IOLBF, 1024, "line buffering");
	test_memory();
	test_temporary();
	test_wide_and_formats();
	test_popen();
	return check_status();
}
