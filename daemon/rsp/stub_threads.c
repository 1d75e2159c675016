/* SPDX-License-Identifier: MIT */
/* stub_threads.c: the packets that list, name and choose threads: H, T, qC, qfThreadInfo, qXfer:threads. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rsp/stub_int.h"

int stub_thread(const struct stub *s, int chosen)
{
	return chosen > 0 ? chosen : s->stop.tid;
}

bool stub_thread_id(const char *text, const char **end, int *tid)
{
	char *e;
	long n = strtol(text, &e, 16);

	if (e == text || n < -1 || n > INT32_MAX)
		return false;
	*end = e;
	*tid = n > 0 ? (int)n : 0;
	return true;
}

int stub_choose_thread(struct stub *s, const char *args, struct err *e)
{
	const char *end;
	int tid;

	if ((args[0] != 'g' && args[0] != 'c') || !stub_thread_id(args + 1, &end, &tid))
		return stub_error(s);
	*(args[0] == 'g' ? &s->general : &s->moving) = tid;
	return stub_ok(s);
}

static unsigned list_threads(struct stub *s, int **tids)
{
	*tids = xcalloc(RSP_THREADS_MAX, sizeof(**tids));
	if (s->killed)
		return 0;
	return s->ops->threads(s->ctx, *tids, RSP_THREADS_MAX);
}

static const char *absent(struct stub *s, int tid)
{
	return s->ops->absent ? s->ops->absent(s->ctx, tid) : NULL;
}

bool stub_lists_thread(struct stub *s, int tid)
{
	int *tids;
	unsigned n = list_threads(s, &tids);
	bool found = false;

	for (unsigned i = 0; i < n; i++)
		found |= tids[i] == tid;
	free(tids);
	return found;
}

bool stub_is_absent(struct stub *s, int tid)
{
	return absent(s, tid) != NULL;
}

int stub_is_alive(struct stub *s, const char *args, struct err *e)
{
	return stub_lists_thread(s, (int)strtol(args, NULL, 16)) ? stub_ok(s) : stub_error(s);
}

int stub_first_threads(struct stub *s, const char *args, struct err *e)
{
	int *tids;
	unsigned n = list_threads(s, &tids);

	for (unsigned i = 0; i < n; i++)
		buf_addf(&s->out, "%c%x", i ? ',' : 'm', tids[i]);
	if (!n)
		buf_add_char(&s->out, 'l');
	free(tids);
	return 0;
}

int stub_no_more_threads(struct stub *s, const char *args, struct err *e)
{
	buf_add_char(&s->out, 'l');
	return 0;
}

int stub_current_thread(struct stub *s, const char *args, struct err *e)
{
	buf_addf(&s->out, "QC%x", stub_thread(s, s->general));
	return 0;
}

static void xml_text(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"", *text) || (unsigned char)*text < ' ')
			buf_addf(b, "&#%d;", *text);
		else
			buf_add_char(b, *text);
	}
}

void stub_threads_xml(struct stub *s, struct buf *b)
{
	int *tids;
	unsigned n = list_threads(s, &tids);

	buf_add_str(b, "<?xml version=\"1.0\"?><threads>");
	for (unsigned i = 0; i < n; i++) {
		char name[64] = "";

		s->ops->thread_name(s->ctx, tids[i], name, sizeof(name));
		buf_addf(b, "<thread id=\"%x\" name=\"", tids[i]);
		xml_text(b, name);
		if (absent(s, tids[i]))
			buf_addf(b, "\">%s</thread>", absent(s, tids[i]));
		else
			buf_add_str(b, "\"/>");
	}
	buf_add_str(b, "</threads>");
	free(tids);
}
