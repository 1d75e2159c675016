/* SPDX-License-Identifier: MIT */
/* refusal.c: see refusal.h. */
#include "gdb/refusal.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "gdb/gdb.h"

/* Texts that are looked for in a message. The first one that is found counts. */
static const struct {
	const char *text;
	enum gdb_reason reason;
} refusals[] = {
	{"not available on integers of more than", GDB_TOO_WIDE},
	{"optimized out", GDB_OPTIMIZED_OUT},
	{"Cannot access memory at address", GDB_NO_VALUE},
	{"cannot access memory at address", GDB_NO_VALUE},
	{"not available", GDB_NO_VALUE},
	{"not saved", GDB_NO_VALUE},
	{"unavailable", GDB_NO_VALUE},
	{"Cannot find thread-local", GDB_NO_VALUE},
	{"Cannot find thread-specific", GDB_NO_VALUE},
	{"thread-local storage", GDB_NO_VALUE},
	{"Cannot find bounds of current function", GDB_NO_VALUE},
	{"while in a function called from GDB", GDB_NO_VALUE}, /* it got a signal, stopped or exited */
	{"received a signal in another thread", GDB_NO_VALUE},
	{"The program being debugged entered a std::terminate call", GDB_NO_VALUE},
	{"The program has no registers now", GDB_NO_VALUE},
	{"No frame selected", GDB_NO_VALUE},
	{"No frame at level", GDB_NO_VALUE},
	{"Invalid frame", GDB_NO_VALUE},
	{"Division by zero", GDB_NO_VALUE},
	{"division by zero", GDB_NO_VALUE},
	{"can't compute CFA", GDB_NO_VALUE},
	{"value requires", GDB_NO_VALUE},
	{"Couldn't write", GDB_NO_VALUE},
	{"virtual baseclass botch", GDB_NO_VALUE},
	/* an operator is not a name that could have a meaning in another frame */
	{"No symbol \"operator", GDB_REFUSED},
	{"No symbol", GDB_NO_SYMBOL},
	{"no member", GDB_NO_SYMBOL},
	{"No frame", GDB_NO_SYMBOL},
	{"' has unknown return type", GDB_NO_RETURN_TYPE},
	{"' has unknown type", GDB_NO_TYPE},
	{"type as an expression", GDB_IS_TYPE},
	{"program is not being run", GDB_NOT_RUNNING},
};

int gdb_refusal(const char *message, struct err *e)
{
	enum gdb_reason reason = GDB_REFUSED;
	bool state;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (strstr(message, refusals[i].text)) {
			reason = refusals[i].reason;
			break;
		}
	state = reason == GDB_NO_VALUE || reason == GDB_OPTIMIZED_OUT;
	err_set(e, state ? ERR_NOT_FOUND : ERR_USAGE, "%s", message);
	if (e)
		e->reason = (int)reason;
	return state ? GDB_UNAVAILABLE : -1;
}

enum gdb_reason gdb_reason_of(const struct err *e)
{
	return (enum gdb_reason)e->reason;
}

char *gdb_refused_name(const struct err *e)
{
	enum gdb_reason reason = gdb_reason_of(e);
	const char *at;

	if (reason == GDB_NO_SYMBOL) {
		at = strstr(e->text, "No symbol \"");
		at = at ? strchr(at, '"') + 1 : NULL;
		return at ? xstrndup(at, strcspn(at, "\"")) : NULL;
	}
	if (reason != GDB_NO_RETURN_TYPE && reason != GDB_NO_TYPE)
		return NULL;
	/* 'name' has unknown ... */
	at = strstr(e->text, "' has unknown ");
	for (const char *from = at; from && from > e->text; from--)
		if (from[-1] == '\'')
			return xstrndup(from, (size_t)(at - from));
	return NULL;
}
