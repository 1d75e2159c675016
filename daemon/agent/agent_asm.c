/* SPDX-License-Identifier: MIT */
/* agent_asm.c: GDB's listings as bytecode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"

static const struct {
	const char *name;
	uint8_t number, operand; /* bytes */
} opcodes[] = {
#define X(name, number, operand) {#name, number, operand},
	AGENT_OPCODES(X)
#undef X
};

/* The opcode's index; -1: there is none of this name. */
static int opcode_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		if (!strcmp(opcodes[i].name, name))
			return (int)i;
	return -1;
}

/* Assembles one line of the listing: "OFFSET  NAME [OPERAND]". Other lines are ignored. */
static int assemble_line(const char *line, struct buf *out, struct err *e)
{
	unsigned long long operand = 0;
	unsigned offset;
	char name[24];
	int n, op;

	n = sscanf(line, " %u %23[a-z0-9_] %llu", &offset, name, &operand);
	if (n < 2)
		return 0;
	op = opcode_by_name(name);
	if (op < 0)
		return err_set(e, ERR_INTERNAL, "agent expression: opcode '%s' is not supported", name);
	if (offset != out->len || (n == 3) != (opcodes[op].operand > 0))
		return err_set(e, ERR_INTERNAL, "agent expression: unexpected line '%.60s'", line);
	buf_add_char(out, (char)opcodes[op].number);
	for (int byte = opcodes[op].operand - 1; byte >= 0; byte--)
		buf_add_char(out, (char)(operand >> (8 * byte)));
	return 0;
}

int agent_assemble(const char *listing, uint8_t **code, size_t *len, struct err *e)
{
	cleanup_buf struct buf out = {0};

	for (const char *p = listing; *p;) {
		const char *nl = strchrnul(p, '\n');
		char line[128];

		snprintf(line, sizeof(line), "%.*s", (int)(nl - p), p);
		if (assemble_line(line, &out, e))
			return -1;
		p = *nl ? nl + 1 : nl;
	}
	if (!out.len || (uint8_t)out.data[out.len - 1] != AGENT_end)
		return err_set(e, ERR_INTERNAL, "agent expression: a listing without its end");
	*len = out.len;
	*code = (uint8_t *)buf_steal(&out);
	return 0;
}
