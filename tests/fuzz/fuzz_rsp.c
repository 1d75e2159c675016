/* SPDX-License-Identifier: MIT */
/*
 * fuzz_rsp.c: the remote protocol: any bytes are answered or refused. Lines become packets with the right checksum; when the
 * first byte is `!`, the rest goes over the line as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define LENGTH_MAX 100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame_lines(struct buf *line, const char *p, size_t size)
{
	const char *end = p + size;

	fake_frame(line, "QStartNoAckMode", 15);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		fake_frame(line, p, (size_t)(stop - p));
		p = stop + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf line = {0}, answers = {0};
	static struct fake f;
	int served;

	if (!size || size > LENGTH_MAX)
		return 0;
	if (data[0] == '!')
		buf_add(&line, data + 1, size - 1);
	else
		frame_lines(&line, (const char *)data, size);
	fake_init(&f);
	fake_talk(&f, line.data, line.len, &answers, &served);
	buf_fini(&line);
	buf_fini(&answers);
	return 0;
}
