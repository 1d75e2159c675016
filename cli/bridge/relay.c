/* SPDX-License-Identifier: MIT */
/* relay.c: see relay.h. Packets are those of the GDB manual, "Overview" of the remote protocol: $DATA#XX. */
#include "bridge/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define LOST_MAX 3u
#define ANSWER_MS 60000

/* The worker's answers while it is set up, and packets that are recognised by their beginnings. */
#define INTERRUPT "\3" /* of the remote protocol */
#define PROMPT "$qRcmd,70726f6d7074"
#define WATCH_CONDITIONS "qRcmd,77617463682d636f6e646974696f6e73"

void relay_init(struct relay *r, struct bridge *b, struct second_ui *second, int gdb)
{
	*r = (struct relay){.b = b, .second = second, .gdb = gdb};
}

void relay_fini(struct relay *r)
{
	buf_fini(&r->from_gdb.packet);
	buf_fini(&r->from_worker.packet);
	buf_fini(&r->asked);
	strv_fini(&r->setup);
}

/* Takes one byte; true: s->packet is a whole one. */
static bool take(struct relay_stream *s, char c)
{
	if (!s->packet.len) {
		if (c == '$')
			buf_add_char(&s->packet, c);
		return false;
	}
	buf_add_char(&s->packet, c);
	if (s->left)
		return --s->left == 0;
	if (c == '#')
		s->left = 2;
	return false;
}

static bool is(const struct buf *packet, const char *start)
{
	return packet->len > 1 && str_starts(packet->data + 1, start);
}

static bool is_resume(const struct buf *p)
{
	static const char *const starts[] = {"vCont;", "vRun", "bs#", "bc#", "c", "s", "C", "S"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (is(p, starts[i]))
			return true;
	return false;
}

/* Keeps a packet that begins so for the setup of another worker. It replaces an earlier one with the same beginning. */
static void setup_replace(struct relay *r, const char *start, const struct buf *p)
{
	for (size_t i = 0; i < r->setup.n; i++) {
		if (!str_starts(r->setup.s[i] + 1, start))
			continue;
		str_set(&r->setup.s[i], "%s", buf_str(p));
		return;
	}
	strv_add(&r->setup, buf_str(p));
}

/* A packet zT,ADDR,LEN removes the breakpoint or watchpoint that ZT,ADDR,LEN has set. */
static void setup_remove_point(struct relay *r, const struct buf *p)
{
	size_t n = strcspn(p->data, "#");

	for (size_t i = 0; i < r->setup.n; i++) {
		if (r->setup.s[i][1] != 'Z' || strncmp(r->setup.s[i] + 2, p->data + 2, n - 2))
			continue;
		free(r->setup.s[i]);
		memmove(&r->setup.s[i], &r->setup.s[i + 1], (r->setup.n - i) * sizeof(r->setup.s[0]));
		r->setup.n--;
		return;
	}
}

static void note_asked(struct relay *r, const struct buf *p)
{
	static const char *const kept[] = {"qSupported",     "QStartNoAckMode", "!", "Hg", "Hc", "QPassSignals",
					   "QCatchSyscalls", WATCH_CONDITIONS};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (is(p, kept[i]))
			setup_replace(r, kept[i], p);
	if (is(p, "Z"))
		strv_add(&r->setup, buf_str(p));
	if (is(p, "z"))
		setup_remove_point(r, p);
	if (is(p, "qRcmd,"))
		r->interrupted = false; /* the worker forgets the interrupt, too */
	/* without a program GDB does not report its prompt, and packets about settings are typed at one */
	if (is_resume(p) || (is(p, "qRcmd,") && !r->no_program))
		r->at_prompt = str_starts(p->data, PROMPT);
	r->leaving |= is(p, "D") || is(p, "k") || is(p, "vKill");
	r->prompted |= str_starts(p->data, PROMPT);
	buf_clear(&r->asked);
	buf_add(&r->asked, p->data, p->len);
}

static void note_answer(struct relay *r, const struct buf *p)
{
	if (is(p, "O") && !is(p, "OK"))
		return; /* text for the user; the answer follows */
	if (is_resume(&r->asked)) {
		r->interrupted = false; /* the program has stopped: a later interrupt is a new one */
		if (is(&r->asked, "vRun"))
			r->no_program = is(p, "E");
		r->no_program |= is(p, "W") || is(p, "X");
		r->at_prompt |= r->no_program;
	}
	r->no_program |= is(&r->asked, "vKill") || is(&r->asked, "D");
	buf_clear(&r->asked);
	r->lost = 0;
}

/* Is this GDB's own interrupt, which the program has already received? */
static bool is_second_interrupt(struct relay *r, const struct relay_stream *s, char c)
{
	bool again = r->interrupted;

	if (s != &r->from_gdb || s->packet.len || c != *INTERRUPT)
		return false;
	r->interrupted = true;
	return again;
}

/* Notes the packets in n bytes of data, and removes second interrupts. Returns the number of bytes left. */
static size_t note(struct relay *r, struct relay_stream *s, char *data, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_second_interrupt(r, s, data[i]))
			continue;
		data[left++] = data[i];
		if (!take(s, data[i]))
			continue;
		s == &r->from_gdb ? note_asked(r, &s->packet) : note_answer(r, &s->packet);
		buf_clear(&s->packet);
	}
	return left;
}

/* ---- another worker ---- */

static int send_text(int fd, const char *text, struct err *e)
{
	return write_full(fd, text, strlen(text)) ? err_errno(e, ERR_INTERNAL, "the new worker") : 0;
}

/* Receives a packet from the worker, with the $ and the checksum. */
static int receive(struct relay *r, struct buf *packet, struct err *e)
{
	struct relay_stream s = {0};
	struct pollfd p = {.fd = r->b->worker, .events = POLLIN};
	char c;

	while (poll(&p, 1, ANSWER_MS) > 0 && read(r->b->worker, &c, 1) == 1) {
		if (!take(&s, c))
			continue;
		*packet = s.packet;
		return 0;
	}
	buf_fini(&s.packet);
	return err_set(e, ERR_INTERNAL, "the new worker does not answer");
}

static int ask(struct relay *r, const char *packet, struct buf *answer, struct err *e)
{
	return send_text(r->b->worker, packet, e) || receive(r, answer, e) ? -1 : 0;
}

static int set_up(struct relay *r, struct err *e)
{
	for (size_t i = 0; i < r->setup.n; i++) {
		cleanup_buf struct buf answer = {0};

		if (ask(r, r->setup.s[i], &answer, e))
			return -1;
	}
	return 0;
}

static int send_packet(int fd, const char *text, struct err *e)
{
	cleanup_buf struct buf b = {0};
	unsigned char sum = 0;

	for (const char *p = text; *p; p++)
		sum = (unsigned char)(sum + (unsigned char)*p);
	buf_addf(&b, "$%s#%02x", text, sum);
	return write_full(fd, b.data, b.len) ? err_errno(e, ERR_INTERNAL, "gdb") : 0;
}

/* Answers a resuming packet as if an interrupt had stopped the program where it stands now. */
static int answer_interrupted(struct relay *r, struct err *e)
{
	cleanup_buf struct buf stop = {0};
	cleanup_free char *text = NULL;

	if (ask(r, "$?#3f", &stop, e))
		return -1;
	stop.data[strcspn(stop.data, "#")] = '\0';
	text = str_fmt("T02%s", strlen(stop.data) > 4 ? stop.data + 4 : "");
	return send_packet(r->gdb, text, e);
}

/* Answers the packet that GDB waits for: a command of fred's is not executed twice; a query is sent again. */
static int answer(struct relay *r, struct err *e)
{
	int code = 0;

	if (!r->asked.len)
		return 0;
	if (is_resume(&r->asked))
		code = answer_interrupted(r, e);
	else if (is(&r->asked, "qRcmd,"))
		code = send_packet(r->gdb, "OK", e);
	else
		return write_full(r->b->worker, r->asked.data, r->asked.len)
			       ? err_errno(e, ERR_INTERNAL, "the new worker")
			       : 0;
	buf_clear(&r->asked);
	return code;
}

static int recover(struct relay *r, struct err *e)
{
	do {
		if (r->lost++ == LOST_MAX)
			return err_set(e, ERR_INTERNAL, "%u workers ended in succession", LOST_MAX);
		progress_line_fini(&r->b->line);
		progress_line_init(&r->b->line, r->b->cli);
		fprintf(stderr, "\nfred: the worker of this session has ended; a new one returns to the last stop\n");
		buf_clear(&r->from_worker.packet);
		r->from_worker.left = 0;
		if (bridge_restart(r->b, true, e))
			return -1;
	} while (set_up(r, e) || answer(r, e));
	return 0;
}

/* ---- the loop ---- */

/*
 * Takes the signals that have come. A Ctrl-C at the prompt concerns the line that is being typed. 1: one of them stops
 * the relay.
 */
static int hear(struct relay *r)
{
	struct bridge *b = r->b;
	struct pollfd p = {.fd = b->signal_fd, .events = POLLIN};

	/* GDB does not pass on a Ctrl-C while it waits for a command of fred's that does not resume the program */
	b->interrupts = is(&r->asked, "qRcmd,") && !str_starts(r->asked.data, PROMPT);
	while (poll(&p, 1, 0) > 0)
		if (bridge_signalled(b, &p))
			return 1;
	if (r->at_prompt || !r->prompted)
		b->heard = false;
	return 0;
}

static void pass_interrupt(struct relay *r)
{
	if (!r->b->heard || !is_resume(&r->asked))
		return;
	r->b->heard = false;
	if (!r->interrupted && write(r->b->worker, INTERRUPT, 1) == 1)
		r->interrupted = true;
}

/* Passes data on. false: this side is closed. (If the other side is closed, that is noticed when it is read.) */
static bool pass(struct relay *r, struct relay_stream *s, int from, int to)
{
	char data[65536];
	ssize_t n;

	do
		n = read(from, data, sizeof(data));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	/*
	 * signals that came while this command was typed at the prompt have arrived by now; they do not concern the
	 * command, which only begins here
	 */
	if (s == &r->from_gdb)
		r->stop |= hear(r) != 0;
	else
		n = (ssize_t)progress_line_take(&r->b->line, data, (size_t)n);
	n = (ssize_t)note(r, s, data, (size_t)n);
	if (n && write_full(to, data, (size_t)n))
		return true;
	return true;
}

int relay_run(struct relay *r, struct err *e)
{
	struct bridge *b = r->b;

	for (;;) {
		struct pollfd p[3 + SECOND_UI_FDS] = {{.fd = r->gdb, .events = POLLIN},
						      {.fd = b->worker, .events = POLLIN},
						      {.fd = b->signal_fd, .events = POLLIN}};

		if (r->second)
			second_ui_poll(r->second, p + 3);
		if (poll(p, r->second ? 3 + SECOND_UI_FDS : 3, -1) < 0) {
			if (errno != EINTR)
				return err_errno(e, ERR_INTERNAL, "poll");
			continue;
		}
		if (p[1].revents && !pass(r, &r->from_worker, b->worker, r->gdb)) {
			if (r->leaving || r->only)
				return 0;
			if (recover(r, e))
				return -1;
			continue;
		}
		if (p[0].revents && !pass(r, &r->from_gdb, r->gdb, b->worker))
			return 0;
		if (r->second)
			second_ui_handle(r->second, p + 3, b->worker);
		if (r->stop || hear(r))
			return 1;
		pass_interrupt(r);
	}
}
