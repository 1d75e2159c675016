/* SPDX-License-Identifier: MIT */
/* pos.c: see pos.h. */
#include "reclog/pos.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int bad(const char *s, const char *why, struct err *e)
{
	return err_set(e, ERR_USAGE,
		       "position \"%.80s\": %s; a position is start, end, an event number N, "
		       "N/0xPC#HITS, PERCENT%%, @SECONDS or ckpt:ID",
		       s, why);
}

/*
 * A plain decimal number in [s, s + n): digits with at most one point; no sign, exponent, inf or
 * hex.
 */
static bool decimal(const char *s, size_t n, double *out)
{
	char buf[64];
	unsigned points = 0, digits = 0;

	if (!n || n >= sizeof(buf))
		return false;
	for (size_t i = 0; i < n; i++) {
		points += s[i] == '.';
		digits += isdigit((unsigned char)s[i]) != 0;
	}
	if (!digits || points > 1 || points + digits != n)
		return false;
	memcpy(buf, s, n);
	buf[n] = 0;
	*out = strtod(buf, NULL);
	return true;
}

static int parse_pc(const char *s, const char *slash, struct pos *p, struct err *e)
{
	char event[32], pc[32];
	const char *hash = strchr(slash, '#');
	size_t n = (size_t)(slash - s), m = hash ? (size_t)(hash - slash - 1) : strlen(slash + 1);

	if (!n || n >= sizeof(event) || m < 3 || m >= sizeof(pc))
		return bad(s, "not of the form N/0xPC#HITS", e);
	memcpy(event, s, n);
	event[n] = 0;
	memcpy(pc, slash + 1, m);
	pc[m] = 0;
	if (pc[0] != '0' || (pc[1] | 0x20) != 'x' || !isxdigit((unsigned char)pc[2]))
		return bad(s, "the PC is not a number that starts with 0x", e);
	p->kind = POS_PC;
	p->hits = 1;
	if (!isdigit((unsigned char)event[0]) || str_u64(event, 10, 0, UINT64_MAX, &p->event))
		return bad(s, "the event is not a number", e);
	if (str_u64(pc + 2, 16, 0, UINT64_MAX, &p->pc))
		return bad(s, "the PC is out of range", e);
	if (hash && (!isdigit((unsigned char)hash[1]) || str_u64(hash + 1, 10, 1, UINT64_MAX, &p->hits)))
		return bad(s, "HITS is not a number from 1", e);
	return 0;
}

static int parse_ckpt(const char *s, const char *id, struct pos *p, struct err *e)
{
	size_t n = strlen(id);

	if (!n || n > POS_CKPT_MAX)
		return bad(s, "not the name of a checkpoint", e);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)id[i]) && !strchr("._-", id[i]))
			return bad(s, "not the name of a checkpoint", e);
	p->kind = POS_CKPT;
	memcpy(p->ckpt, id, n + 1);
	return 0;
}

int pos_parse(const char *s, struct pos *p, struct err *e)
{
	size_t n = strlen(s);
	const char *slash = strchr(s, '/');

	*p = (struct pos){0};
	if (!n)
		return bad(s, "empty", e);
	if (!strcmp(s, "start") || !strcmp(s, "end")) {
		p->kind = *s == 's' ? POS_START : POS_END;
		return 0;
	}
	if (str_starts(s, "ckpt:"))
		return parse_ckpt(s, s + 5, p, e);
	if (*s == '@') {
		p->kind = POS_SECONDS;
		return decimal(s + 1, n - 1, &p->number) ? 0 : bad(s, "not a number of seconds", e);
	}
	if (s[n - 1] == '%') {
		p->kind = POS_PERCENT;
		if (!decimal(s, n - 1, &p->number) || p->number > 100)
			return bad(s, "not a percentage from 0 to 100", e);
		return 0;
	}
	if (slash)
		return parse_pc(s, slash, p, e);
	p->kind = POS_EVENT;
	if (!isdigit((unsigned char)*s))
		return bad(s, "not known", e);
	if (str_u64(s, 10, 0, UINT64_MAX, &p->event))
		return bad(s, "not an event number", e);
	return 0;
}
