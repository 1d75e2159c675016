/* SPDX-License-Identifier: MIT */
/* progress_line.c: see progress_line.h. */
#include "bridge/progress_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rsp/packet.h"

#define NOTE "%fred:"

void progress_line_init(struct progress_line *b, const struct cli *cli)
{
	*b = (struct progress_line){0};
	progress_init(&b->progress, cli);
}

void progress_line_fini(struct progress_line *b)
{
	progress_clear(&b->progress);
	buf_fini(&b->note);
}

/* FRACTION;TEXT in hexadecimal. */
static void draw(struct progress_line *b)
{
	char line[256], *text;
	double fraction;

	if (!str_starts(buf_str(&b->note), NOTE))
		return;
	line[rsp_unhex(buf_str(&b->note) + strlen(NOTE), line, sizeof(line) - 1)] = '\0';
	fraction = strtod(line, &text);
	if (*text == ';')
		progress_draw(&b->progress, fraction, text + 1);
}

/* Is this byte one of a notification's? */
static bool is_note(struct progress_line *b, char c)
{
	bool note;

	if (!b->kind && (c == '$' || c == '%'))
		b->kind = c;
	note = b->kind == '%';
	if (b->left) {
		if (--b->left)
			return note;
		if (note)
			draw(b);
		buf_clear(&b->note);
		b->kind = 0;
	} else if (b->kind && c == '#') {
		b->left = 2;
	} else if (note) {
		buf_add_char(&b->note, c);
	}
	return note;
}

size_t progress_line_take(struct progress_line *b, char *data, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_note(b, data[i]))
			data[kept++] = data[i];
	if (kept)
		progress_clear(&b->progress);
	return kept;
}
