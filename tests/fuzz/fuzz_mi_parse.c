/* SPDX-License-Identifier: MIT */
/*
 * fuzz_mi_parse.c: libFuzzer on the GDB/MI parser. Any bytes are parsed or refused; a parsed string value
 * survives quoting. Run: ninja tests/fuzz/fuzz-mi-parse && tests/fuzz/fuzz-mi-parse -max_total_time=60
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gdb/mi_parse.h"
#include "gdb/mi_quote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Quotes the text, parses it as a console stream, compares. */
static void check_quote(const char *text)
{
	char *q = mi_quote(text), *line;
	struct mi_record *r = NULL;
	struct err e;
	size_t n = strlen(q);

	line = malloc(n + 1);
	line[0] = '~';
	memcpy(line + 1, q, n);
	if (mi_parse(line, n + 1, &r, &e) || strcmp(r->text, text))
		abort();
	mi_record_free(r);
	free(line);
	free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mi_record *r = NULL;
	struct err e;

	if (mi_parse((const char *)data, size, &r, &e))
		return 0;
	if (r->text)
		check_quote(r->text);
	mi_record_free(r);
	return 0;
}
