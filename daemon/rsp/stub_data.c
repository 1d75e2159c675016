/* SPDX-License-Identifier: MIT */
/* stub_data.c: the packets about registers and memory: g, p, m, G, P, M. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rsp/stub_int.h"

static int regs_of(struct stub *s, struct rsp_regs *r)
{
	struct err why = {0};

	if (!s->ops->regs(s->ctx, stub_thread(s, s->general), r, &why))
		return 0;
	stub_refuse(s, &why);
	return -1;
}

int stub_all_registers(struct stub *s, const char *args, struct err *e)
{
	struct rsp_regs r;

	(void)args;
	(void)e;
	if (regs_of(s, &r))
		return 0;
	for (unsigned i = 0; i < rsp_regs_count(); i++)
		rsp_reg_hex(&s->out, &r, i);
	return 0;
}

int stub_one_register(struct stub *s, const char *args, struct err *e)
{
	char *end;
	unsigned long i = strtoul(args, &end, 16);
	struct rsp_regs r;

	(void)e;
	if (end == args || i >= rsp_regs_count())
		return stub_error(s);
	if (!regs_of(s, &r))
		rsp_reg_hex(&s->out, &r, (unsigned)i);
	return 0;
}

int stub_read_memory(struct stub *s, const char *args, struct err *e)
{
	uint8_t data[16384];
	uint64_t addr;
	size_t len;
	char *end;

	(void)e;
	addr = strtoull(args, &end, 16);
	if (*end != ',')
		return stub_error(s);
	len = strtoull(end + 1, NULL, 16);
	if (len > sizeof(data))
		len = sizeof(data);
	if (!len)
		return 0;
	len = s->ops->read(s->ctx, addr, data, len);
	if (!len)
		return stub_error(s);
	rsp_hex(&s->out, data, len);
	return 0;
}

static int take_regs(struct stub *s, const struct rsp_regs *r)
{
	struct err why = {0};

	return s->ops->set_regs(s->ctx, stub_thread(s, s->general), r, &why) ? stub_refuse(s, &why) : stub_ok(s);
}

int stub_set_all_registers(struct stub *s, const char *args, struct err *e)
{
	struct rsp_regs r;

	(void)e;
	if (regs_of(s, &r))
		return 0;
	for (unsigned i = 0; i < rsp_regs_count(); i++) {
		size_t len = rsp_reg_set(&r, i, args);

		if (!len)
			return stub_error(s);
		args += 2 * len;
	}
	return take_regs(s, &r);
}

/* PN=VALUE */
int stub_set_one_register(struct stub *s, const char *args, struct err *e)
{
	struct rsp_regs r;
	char *end;
	unsigned long i = strtoul(args, &end, 16);

	(void)e;
	if (regs_of(s, &r))
		return 0;
	if (end == args || *end != '=' || i >= rsp_regs_count() || !rsp_reg_set(&r, (unsigned)i, end + 1))
		return stub_error(s);
	return take_regs(s, &r);
}

/* MADDR,LEN:HEX */
int stub_write_memory(struct stub *s, const char *args, struct err *e)
{
	uint8_t data[RSP_PACKET_MAX / 2];
	const char *hex = strchr(args, ':');
	struct err why = {0};
	unsigned long len;
	uint64_t addr;

	(void)e;
	if (!hex || sscanf(args, "%" SCNx64 ",%lx", &addr, &len) != 2 || len > sizeof(data) ||
	    rsp_unhex(hex + 1, data, len) != len)
		return stub_error(s);
	if (!len)
		return stub_ok(s);
	return s->ops->write(s->ctx, addr, data, len, &why) ? stub_refuse(s, &why) : stub_ok(s);
}
