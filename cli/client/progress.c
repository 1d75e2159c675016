/* SPDX-License-Identifier: MIT */
/* progress.c: see progress.h. */
#include "client/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fdio.h"

#define BAR 30

void progress_init(struct progress *p, const struct cli *cli)
{
	memset(p, 0, sizeof(*p));
	p->on = !cli->quiet && isatty(STDERR_FILENO);
}

static int columns(void)
{
	struct winsize ws;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) && ws.ws_col > 10 ? ws.ws_col : 80;
}

/* An error is ignored: a terminal that has gone is no reason to fail. */
static void show(const char *s, size_t len)
{
	if (write_full(STDERR_FILENO, s, len))
		return;
}

void progress_draw(struct progress *p, double fraction, const char *text)
{
	cleanup_buf struct buf b = {0};
	int full = fraction < 0 ? 0 : (int)(fraction * BAR + 0.5);
	size_t max = (size_t)columns() - 1;

	if (!p->on)
		return;
	if (text)
		snprintf(p->text, sizeof(p->text), "%s", text);
	if (fraction >= 0) {
		buf_add_char(&b, '[');
		for (int i = 0; i < BAR; i++)
			buf_add_char(&b, i < full ? '#' : '.');
		buf_addf(&b, "] %3.0f%% ", fraction * 100);
	}
	buf_add_str(&b, p->text);
	if (b.len > max)
		b.len = max;
	show("\r\033[K", 4);
	show(b.data ? b.data : "", b.len);
	p->drawn = true;
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		show("\r\033[K", 4);
	p->drawn = false;
}
