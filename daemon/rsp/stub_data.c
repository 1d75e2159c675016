/* SPDX-License-Identifier: MIT */
/* stub_data.c: the packets about registers and memory: g, p, m, qCRC, G, P, M. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rsp/stub_int.h"

/*
 * Answers for an absent thread: none of its registers is available except the PC, which is 0. Without a PC, GDB 13
 * would not continue at all while this thread is selected.
 */
static int none_of(struct stub *s, unsigned from, unsigned to)
{
	static const struct rsp_regs zero;

	for (unsigned i = from; i < to; i++) {
		size_t at = s->out.len;

		rsp_reg_hex(&s->out, &zero, i);
		if (i != RSP_PC)
			memset(s->out.data + at, 'x', s->out.len - at);
	}
	return 0;
}

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

	if (stub_is_absent(s, stub_thread(s, s->general)))
		return none_of(s, 0, rsp_regs_count());
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

	if (end == args || i >= rsp_regs_count())
		return stub_error(s);
	if (stub_is_absent(s, stub_thread(s, s->general)))
		return none_of(s, (unsigned)i, (unsigned)i + 1);
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

/* GDB manual, "General Query Packets", qCRC: from the highest bit on, nothing is inverted (CRC-32/MPEG-2). */
static uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t len)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i << 24;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] << 1 ^ (table[i] >> 31 ? 0x04c11db7u : 0);
		}
	while (len--)
		crc = crc << 8 ^ table[crc >> 24 ^ *data++];
	return crc;
}

/* qCRC:ADDR,LEN: what `compare-sections` asks. All of the memory must be readable. */
int stub_memory_crc(struct stub *s, const char *args, struct err *e)
{
	uint32_t crc = UINT32_MAX;
	uint8_t data[65536];
	uint64_t addr, len;

	if (sscanf(args, "%" SCNx64 ",%" SCNx64, &addr, &len) != 2)
		return stub_error(s);
	while (len) {
		size_t n = len < sizeof(data) ? len : sizeof(data);

		if (s->ops->read(s->ctx, addr, data, n) != n)
			return stub_error(s);
		crc = crc32_add(crc, data, n);
		addr += n;
		len -= n;
	}
	buf_addf(&s->out, "C%08" PRIx32, crc);
	return 0;
}

/* ---- thread-local variables, as libthread_db finds them (glibc's nptl_db/structs.def) ---- */

#define MODID "_thread_db_link_map_l_tls_modid" /* uint32_t: bits, elements, offset */
#define TCB_DTV 8u /* x86-64's tcbhead_t */
#define DTV_ENTRY 16u /* dtv_t: a pointer, and what is to be freed */
#define DTV_NONE UINT64_MAX

static int ask_symbol(struct stub *s, const char *name)
{
	buf_add_str(&s->out, "qSymbol:");
	rsp_hex(&s->out, name, strlen(name));
	return 0;
}

/* qSymbol:: GDB has symbols to offer; qSymbol:VALUE:NAME is its answer, without a value if there is none. */
int stub_symbol(struct stub *s, const char *args, struct err *e)
{
	const char *hex = strchr(args, ':');
	char name[64] = "";

	if (!hex)
		return stub_error(s);
	name[rsp_unhex(hex + 1, name, sizeof(name) - 1)] = '\0';
	if (!*name)
		return ask_symbol(s, MODID);
	if (hex > args && !strcmp(name, MODID))
		s->modid = strtoull(args, NULL, 16);
	else if (hex > args && s->ops->symbol)
		s->ops->symbol(s->ctx, name, strtoull(args, NULL, 16));
	if (!strcmp(name, MODID) && s->ops->symbol_wanted)
		return ask_symbol(s, s->ops->symbol_wanted);
	return stub_ok(s);
}

static bool read_word(struct stub *s, uint64_t addr, void *word, size_t size)
{
	return s->ops->read(s->ctx, addr, word, size) == size;
}

static int find_tls(struct stub *s, int tid, uint64_t lm, uint64_t *base, struct err *e)
{
	struct rsp_regs r;
	uint64_t dtv, modid;
	uint32_t offset;

	if (s->ops->regs(s->ctx, tid, &r, e))
		return -1;
	if (!s->modid || !read_word(s, s->modid + 2 * sizeof(offset), &offset, sizeof(offset)) ||
	    !read_word(s, lm + offset, &modid, sizeof(modid)))
		return err_set(e, ERR_NOT_FOUND, "the program's libc is not loaded yet, or is not glibc");
	if (!read_word(s, r.r.fs_base + TCB_DTV, &dtv, sizeof(dtv)) ||
	    !read_word(s, dtv + modid * DTV_ENTRY, base, sizeof(*base)) || *base == DTV_NONE)
		return err_set(e, ERR_NOT_FOUND, "thread %d has not used this library's thread-local variables yet",
			       tid);
	return 0;
}

/* qGetTLSAddr:THREAD,OFFSET,LINK_MAP */
int stub_tls_address(struct stub *s, const char *args, struct err *e)
{
	uint64_t offset, lm, base;
	struct err why = {0};
	const char *rest;
	int tid;

	if (!stub_thread_id(args, &rest, &tid) || sscanf(rest, ",%" SCNx64 ",%" SCNx64, &offset, &lm) != 2)
		return stub_error(s);
	if (find_tls(s, stub_thread(s, tid), lm, &base, &why))
		return stub_refuse(s, &why);
	buf_addf(&s->out, "%" PRIx64, base + offset);
	return 0;
}

static int taken(struct stub *s, int r, const struct err *why)
{
	s->again = r > 0;
	return r < 0 ? stub_refuse(s, why) : stub_ok(s);
}

static int take_regs(struct stub *s, const struct rsp_regs *r)
{
	struct err why = {0};

	return taken(s, s->ops->set_regs(s->ctx, stub_thread(s, s->general), r, &why), &why);
}

int stub_set_all_registers(struct stub *s, const char *args, struct err *e)
{
	struct rsp_regs r;

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

	if (regs_of(s, &r))
		return 0;
	if (end == args || *end != '=' || i >= rsp_regs_count() || !rsp_reg_set(&r, (unsigned)i, end + 1))
		return stub_error(s);
	return take_regs(s, &r);
}

#define CALL_BYTES (1ull << 20) /* arguments and what a call returns */

bool stub_writes_for_call(struct stub *s, const char *args)
{
	uint64_t at = strtoull(args, NULL, 16);
	struct rsp_regs r;
	struct err ignored;

	return !s->ops->regs(s->ctx, stub_thread(s, s->general), &r, &ignored) && r.r.rsp - at <= CALL_BYTES &&
	       at != r.r.rsp;
}

/* MADDR,LEN:HEX */
int stub_write_memory(struct stub *s, const char *args, struct err *e)
{
	uint8_t data[RSP_PACKET_MAX / 2];
	const char *hex = strchr(args, ':');
	struct err why = {0};
	unsigned long len;
	uint64_t addr;

	if (!hex || sscanf(args, "%" SCNx64 ",%lx", &addr, &len) != 2 || len > sizeof(data) ||
	    rsp_unhex(hex + 1, data, len) != len)
		return stub_error(s);
	if (!len)
		return stub_ok(s);
	return taken(s, s->ops->write(s->ctx, addr, data, len, &why), &why);
}
