/* SPDX-License-Identifier: MIT */
/* stub.c: see stub.h. One table of packets, by their beginnings. An empty answer means: not supported. */
#include "rsp/stub_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define POINT_MAX 4096u /* bytes; more than any processor watches */

#define CONDITION_MAX 4096u
#define SIGNALS_MAX 256u
#define CALLS_MAX 1024

typedef int (*packet_fn)(struct stub *s, const char *args, struct err *e);

/*
 * Reads ;XLEN,HEX... after a breakpoint. -1: damaged. If there are too many, the debugger evaluates all of them itself.
 */
static int read_conditions(const char *args, struct buf *code, struct rsp_conditions *c)
{
	size_t len, at[RSP_CONDITIONS_MAX];

	c->n = 0;
	for (args = strchr(args, ';'); args && args[1] == 'X'; args = strchr(args + 1, ';')) {
		const char *hex = strchr(args, ',');
		uint8_t data[CONDITION_MAX];

		if (sscanf(args, ";X%zx,", &len) != 1 || !hex || len > sizeof(data) ||
		    rsp_unhex(hex + 1, data, len) != len)
			return -1;
		if (c->n == RSP_CONDITIONS_MAX) {
			c->n = 0;
			return 0;
		}
		at[c->n] = code->len;
		c->v[c->n++].len = len;
		buf_add(code, data, len);
	}
	for (unsigned i = 0; i < c->n; i++)
		c->v[i].code = (const uint8_t *)code->data + at[i];
	return 0;
}

static int set_point(struct stub *s, const char *args, bool on)
{
	cleanup_buf struct buf code = {0};
	struct rsp_conditions c;
	struct err why = {0};
	uint64_t addr;
	unsigned len;
	int type, r;

	if (sscanf(args, "%d,%" SCNx64 ",%x", &type, &addr, &len) != 3 || type < 0 || type > RSP_ACCESS ||
	    len > POINT_MAX)
		return stub_error(s);
	/* a processor cannot watch reads alone; GDB then watches accesses, and ignores those that change the value */
	if (type == RSP_READ)
		return 0;
	if (read_conditions(args, &code, &c))
		return stub_error(s);
	r = s->ops->set_point(s->ctx, (enum rsp_point)type, addr, len, on, &c, &why);
	if (r < 0)
		return stub_refuse(s, &why);
	return r ? stub_error(s) : stub_ok(s);
}

static int insert_point(struct stub *s, const char *args, struct err *e)
{
	return set_point(s, args, true);
}

static int remove_point(struct stub *s, const char *args, struct err *e)
{
	return set_point(s, args, false);
}

/* 1: there is no such object. */
static int whole_object(struct stub *s, const char *name, struct buf *b, struct err *e)
{
	if (!strcmp(name, "features"))
		rsp_regs_xml(b);
	else if (!strcmp(name, "threads"))
		stub_threads_xml(s, b);
	else
		return s->ops->object(s->ctx, name, b, e);
	return 0;
}

/* qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH */
static int transfer(struct stub *s, const char *args, struct err *e)
{
	cleanup_buf struct buf b = {0};
	char name[32];
	const char *range = strrchr(args, ':');
	size_t off, len, n = strcspn(args, ":");
	struct err why = {0};
	int r;

	if (n >= sizeof(name) || !str_starts(args + n, ":read:") || !range ||
	    sscanf(range, ":%zx,%zx", &off, &len) != 2)
		return 0;
	memcpy(name, args, n);
	name[n] = '\0';
	r = whole_object(s, name, &b, &why);
	if (r)
		return r < 0 ? stub_refuse(s, &why) : 0;
	if (len > RSP_PACKET_MAX / 4)
		len = RSP_PACKET_MAX / 4;
	if (off > b.len)
		off = b.len;
	buf_add_char(&s->out, b.len - off > len ? 'm' : 'l');
	rsp_escape(&s->out, b.data + off, b.len - off > len ? len : b.len - off);
	return 0;
}

static int supported(struct stub *s, const char *args, struct err *e)
{
	s->no_resumed = strstr(args, "no-resumed+") != NULL;
	buf_addf(&s->out,
		 "PacketSize=%x;QStartNoAckMode+;vContSupported+;swbreak+;exec-events+;ReverseStep+;ReverseContinue+;"
		 "ConditionalBreakpoints+;%s%s%s%s"
		 "qXfer:features:read+;qXfer:threads:read+;qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:siginfo:read+",
		 RSP_PACKET_MAX, s->ops->pass_signals ? "QPassSignals+;" : "",
		 s->ops->catch_calls ? "QCatchSyscalls+;" : "", s->ops->program_signals ? "QProgramSignals+;" : "",
		 s->ops->set_env ? "QEnvironmentHexEncoded+;QEnvironmentReset+;QEnvironmentUnset+;QSetWorkingDir+;"
				 : "");
	return 0;
}

/* Reads SIG;SIG... in hexadecimal, which replace the earlier ones. */
static int take_signals(struct stub *s, const char *args, void (*fn)(void *ctx, const int *sigs, unsigned n))
{
	int sigs[SIGNALS_MAX];
	unsigned n = 0;
	char *end;

	if (!fn)
		return 0;
	for (; *args && n < SIGNALS_MAX; args = *end ? end + 1 : end) {
		sigs[n++] = (int)strtol(args, &end, 16);
		if (end == args || (*end && *end != ';'))
			return stub_error(s);
	}
	fn(s->ctx, sigs, n);
	return stub_ok(s);
}

static int pass_signals(struct stub *s, const char *args, struct err *e)
{
	return take_signals(s, args, s->ops->pass_signals);
}

static int program_signals(struct stub *s, const char *args, struct err *e)
{
	return take_signals(s, args, s->ops->program_signals);
}

/* Reads 0 (none), or 1;NR;NR... in hexadecimal (1 alone: all). */
static int catch_calls(struct stub *s, const char *args, struct err *e)
{
	int nr[CALLS_MAX];
	unsigned n = 0;
	char *end;

	if (!s->ops->catch_calls)
		return 0;
	if (*args != '0' && *args != '1')
		return stub_error(s);
	for (const char *p = args + 1; *p; p = end) {
		if (*p != ';' || n == CALLS_MAX)
			return stub_error(s);
		nr[n++] = (int)strtol(p + 1, &end, 16);
		if (end == p + 1)
			return stub_error(s);
	}
	s->ops->catch_calls(s->ctx, *args == '1', nr, n);
	return stub_ok(s);
}

static int no_ack(struct stub *s, const char *args, struct err *e)
{
	s->c->no_ack = true;
	return stub_ok(s);
}

/* qRcmd,HEX: what the user typed after `monitor`. Its text goes out first, as console output. */
static int monitor(struct stub *s, const char *args, struct err *e)
{
	cleanup_buf struct buf text = {0};
	char command[4096];
	struct err why = {0};
	size_t n = rsp_unhex(args, command, sizeof(command) - 1);

	s->c->interrupted = false; /* the debugger is at its prompt again */
	command[n] = '\0';
	if (s->ops->monitor(s->ctx, command, &text, &why))
		buf_addf(&text, "fred: %s\n", why.text);
	return rsp_say(s->c, text.data, text.len, e) ? -1 : stub_ok(s);
}

static int extended_mode(struct stub *s, const char *args, struct err *e)
{
	s->extended = true;
	return stub_ok(s);
}

static int host_file(struct stub *s, const char *args, struct err *e)
{
	hostio_answer(&s->files, s->ops, s->ctx, args, &s->out);
	return 0;
}

/* Packets by their beginnings, longer ones before shorter ones. */
static const struct {
	const char *start;
	packet_fn fn;
} packets[] = {
	{"?", stub_why_stopped},
	{"g", stub_all_registers},
	{"p", stub_one_register},
	{"m", stub_read_memory},
	{"G", stub_set_all_registers},
	{"P", stub_set_one_register},
	{"M", stub_write_memory},
	{"Z", insert_point},
	{"z", remove_point},
	{"H", stub_choose_thread},
	{"T", stub_is_alive},
	{"vCont?", stub_v_cont_query},
	{"vCont", stub_v_cont},
	{"vKill", stub_kill_program},
	{"vRun", stub_run_again},
	{"vFile:", host_file},
	{"c", stub_go_on},
	{"C", stub_go_on},
	{"s", stub_one_step},
	{"S", stub_one_step},
	{"bc", stub_back_continue},
	{"bs", stub_back_step},
	{"D", stub_detach},
	{"k", stub_kill_program},
	{"R", stub_run_again},
	{"qCRC:", stub_memory_crc},
	{"qC", stub_current_thread},
	{"qfThreadInfo", stub_first_threads},
	{"qsThreadInfo", stub_no_more_threads},
	{"qSupported", supported},
	{"qAttached", stub_attached},
	{"qSymbol:", stub_symbol},
	{"qGetTLSAddr:", stub_tls_address},
	{"qXfer:", transfer},
	{"qRcmd,", monitor},
	{"QStartNoAckMode", no_ack},
	{"QPassSignals:", pass_signals},
	{"QProgramSignals:", program_signals},
	{"QCatchSyscalls:", catch_calls},
	{"QEnvironmentHexEncoded:", stub_env},
	{"QEnvironmentUnset:", stub_env},
	{"QEnvironmentReset", stub_env_reset},
	{"QSetWorkingDir:", stub_cwd},
	{"!", extended_mode},
};

/* qC must be the whole name of the packet, and not only its beginning. */
static bool is_name(const char *start, const char *packet)
{
	size_t n = strlen(start);

	if (strncmp(start, packet, n))
		return false;
	return strcmp(start, "qC") || !packet[n];
}

/*
 * Does the packet resume the program, or is it a command or the next prompt? Then the refused call is not made any
 * more.
 */
static bool ends_call(const char *packet)
{
	static const char *const starts[] = {"vCont;", "vRun", "vKill", "qRcmd,", "bc", "bs"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (str_starts(packet, starts[i]))
			return true;
	return packet[0] && strchr("MGPcCsS", packet[0]);
}

/*
 * fred's own packet (cli/gdb/calls.py): QFred.RefuseCall:WHY, in hexadecimal, refuses the next function call; without
 * WHY, the next call may be made. The debugger begins the call by writing what it needs: memory is not written, and
 * when the debugger sets registers, it is told WHY, and gives the call up.
 */
static bool is_refused(struct stub *s, const char *packet)
{
	static const char ours[] = "QFred.RefuseCall:";
	bool own = str_starts(packet, ours), sets = s->no_call.kind && (packet[0] == 'G' || packet[0] == 'P');
	char why[sizeof(s->no_call.text)] = "";

	buf_clear(&s->out);
	if (s->no_call.kind && packet[0] == 'M' && stub_writes_for_call(s, packet + 1))
		return !stub_ok(s);
	if (!own && !ends_call(packet))
		return false;
	if (sets)
		stub_refuse(s, &s->no_call);
	s->no_call = (struct err){0};
	if (own) {
		rsp_unhex(packet + strlen(ours), why, sizeof(why) - 1);
		if (*why)
			err_set(&s->no_call, ERR_USAGE, "%s", why);
		stub_ok(s);
	}
	return own || sets;
}

static int answer(struct stub *s, const char *packet, struct err *e)
{
	int r;

	if (is_refused(s, packet))
		return rsp_send(s->c, buf_str(&s->out), s->out.len, e);

	/* a command of fred's may move the program; but `prompt`, which is sent at each prompt, does not */
	if (str_starts(packet, "qRcmd,") && (s->held.jumped || !str_starts(packet, "qRcmd,70726f6d7074")))
		s->held.tid = 0;
	buf_clear(&s->out);
	r = s->ops->relay ? s->ops->relay(s->ctx, packet, &s->out, e) : 0;
	if (r)
		return r < 0 ? -1 : rsp_send(s->c, buf_str(&s->out), s->out.len, e);
	buf_clear(&s->out);
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
		if (is_name(packets[i].start, packet)) {
			if (packets[i].fn(s, packet + strlen(packets[i].start), e))
				return -1;
			break;
		}
	if (s->again) {
		s->again = false;
		buf_clear(&s->out);
		if (s->ops->relay(s->ctx, packet, &s->out, e) < 0)
			return -1;
	}
	if (packet[0] == 'k' || packet[0] == 'R')
		return 0; /* the debugger wants no answer */
	return rsp_send(s->c, buf_str(&s->out), s->out.len, e);
}

int rsp_serve(struct rsp_conn *c, const struct rsp_ops *ops, void *ctx, const struct rsp_stop *first, struct err *e)
{
	struct stub s = {.c = c, .ops = ops, .ctx = ctx, .stop = *first, .killed = !first->tid};
	cleanup_buf struct buf packet = {0};
	int r = 0;

	while (!r && !s.done) {
		int got = rsp_receive(c, &packet, e);

		if (got < 0)
			r = -1;
		else if (got == RSP_CLOSED)
			break;
		else if (got == RSP_INTERRUPT)
			c->interrupted = true;
		else if (got == RSP_PACKET)
			r = answer(&s, buf_str(&packet), e);
	}
	hostio_fini(&s.files);
	buf_fini(&s.out);
	return r;
}
