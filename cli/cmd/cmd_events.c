/* SPDX-License-Identifier: MIT */
/* cmd_events.c: fredctl events: the timeline, one event a line. */
#include <stdio.h>

#include "base/cleanup.h"
#include "client/out.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "describe/describe.h"
#include "reclog/procs.h"
#include "reclog/timeline.h"

static const struct cli_option options[] = {
	{"from", "POS", "the first event (start)", .word = WORD_POS},
	{"to", "POS", "the last event (end)", .word = WORD_POS},
	{"thread", "N", "only the events of this thread"},
	REC_ARG_PROCESS_OPTION,
	{0},
};

struct range {
	uint64_t from, to, thread;
};

static int number(const struct cli *cli, const char *option, uint64_t fallback, uint64_t *out, struct err *e)
{
	const char *v = cli_value(cli, option);

	*out = fallback;
	if (v && str_u64(v, 10, 1, UINT32_MAX, out))
		return err_set(e, ERR_USAGE, "--%s: '%s' is not a number from 1", option, v);
	return 0;
}

static int position(const struct cli *cli, const char *option, const char *fallback, struct timeline *tl, uint64_t *out,
		    struct err *e)
{
	const char *v = cli_value(cli, option);
	struct timeline_point point;
	struct pos pos;

	if (pos_parse(v ? v : fallback, &pos, e) || timeline_resolve(tl, &pos, &point, e))
		return err_wrap(e, "--%s", option);
	*out = point.event;
	return 0;
}

/* Prints one event. The array is written piece by piece, so that a long timeline needs no memory. */
static void print_event(const struct cli *cli, const struct timeline_event *ev, bool first)
{
	cleanup_buf struct buf b = {0};
	json_auto_t *v = NULL;

	if (cli->json) {
		v = describe_event_json(ev);
		fputs(first ? "" : ",", stdout);
		json_dumpf(v, stdout, JSON_COMPACT);
		return;
	}
	describe_event_text(&b, ev);
	puts(buf_str(&b));
}

static int print_range(const struct cli *cli, struct timeline *tl, const struct range *r, struct err *e)
{
	struct timeline_walk w;
	struct timeline_event ev;
	bool first = true;
	int got = 1;

	if (timeline_walk_init(&w, tl, r->from, e))
		return -1;
	while (w.number <= r->to && (got = timeline_walk_next(&w, &ev, e)) == 1) {
		if (r->thread && ev.where.thread != r->thread)
			continue;
		print_event(cli, &ev, first);
		first = false;
	}
	timeline_walk_fini(&w);
	return got < 0 ? -1 : 0;
}

/* Is there such a thread? Threads of the processes that it was forked from have events on this timeline, too. */
static int check_thread(const struct rec *rec, const struct rec_image *img, uint64_t thread, struct err *e)
{
	unsigned most = 0;

	for (const struct rec_image *i = img; i;) {
		struct err ignored;

		if (thread <= i->nthreads)
			return 0;
		most = i->nthreads > most ? i->nthreads : most;
		i = i->head.origin == RLOG_ORIGIN_FORK && i->head.parent < i->ordinal
			    ? rec_image(rec, i->head.parent, &ignored)
			    : NULL;
	}
	return err_set(e, ERR_USAGE, "--thread: process %u has no thread %llu: it has %u", img->ordinal,
		       (unsigned long long)thread, most);
}

static int print(const struct cli *cli, const struct rec *rec, uint32_t process, struct timeline *tl, struct err *e)
{
	const struct rec_image *img = rec_image(rec, process, e);
	struct range r;
	int ret;

	if (!img || number(cli, "thread", 0, &r.thread, e) || check_thread(rec, img, r.thread, e) ||
	    position(cli, "from", "start", tl, &r.from, e) || position(cli, "to", "end", tl, &r.to, e))
		return -1;
	if (!cli_has(cli, "from"))
		r.from = timeline_base(tl) + 1;
	if (cli->json)
		printf("{\"process\":%u,\"pid\":%d,\"processes\":%u,\"events_total\":%llu,\"events\":[", process,
		       (int)img->head.pid, rec->nimages, (unsigned long long)timeline_total(tl));
	ret = r.from <= r.to ? print_range(cli, tl, &r, e) : 0;
	if (cli->json)
		puts("]}");
	return ret;
}

/* As for the commands that look at one process. */
static uint32_t default_process(const struct cli *cli, const struct rec *rec)
{
	uint32_t process = procs_default(rec);

	if (process && rec->nimages > 1)
		out_note(cli, "process %u of %u (fredctl ps lists them; --process N selects another one)", process,
			 rec->nimages);
	return process ? process : 1;
}

static int open_timeline(const struct cli *cli, struct rec *rec, uint64_t *process, struct timeline **tl, struct err *e)
{
	*process = cli_has(cli, "process") ? procs_find(rec, cli_value(cli, "process"), e) : default_process(cli, rec);
	if (!*process)
		return -1;
	return timeline_build(rec, (uint32_t)*process, NULL, tl, e);
}

static int exec_events(struct cli *cli, struct err *e)
{
	struct rec *rec = rec_arg_open(cli, e);
	struct timeline *tl = NULL;
	uint64_t process;
	int r = rec ? open_timeline(cli, rec, &process, &tl, e) : -1;

	if (!r)
		r = print(cli, rec, (uint32_t)process, tl, e);
	timeline_free(tl);
	rec_free(rec);
	return r;
}

const struct cli_command cmd_events = {
	.name = "events",
	.help = "list the events of a recording",
	.usage = "[REC] [--from POS] [--to POS] [--thread N] [--process N]",
	.options = options,
	.exec = exec_events,
	.max_args = 1,
	.word = WORD_REC,
};
