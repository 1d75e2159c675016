/* SPDX-License-Identifier: MIT */
/* memory.c: bytes and instructions of the program. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

#define BYTES_MAX (1 << 20)
#define INSTRUCTIONS_MAX 4096
#define INSTRUCTION_BYTES 15 /* the longest one */

/*
 * The address that a memory reference stands for: it is an address that the editor was shown, or an expression. -1: it
 * has no address, and *why says why.
 */
static int resolve(struct dap *d, const json_t *args, uint64_t *address, char **why)
{
	const char *reference = dap_str(args, "memoryReference", "");
	cleanup_free char *expr = str_fmt("(unsigned long) (%s)", reference), *value = dap_value(d, 0, 0, expr, why);

	if (!value)
		return -1;
	if (str_u64(value, 10, 0, UINT64_MAX, address)) {
		*why = str_fmt("%s is no address", reference);
		return -1;
	}
	*address += (uint64_t)(int64_t)dap_int(args, "offset", 0);
	return 0;
}

static char *base64(const unsigned char *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	cleanup_buf struct buf out = {0};

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits =
			(uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);

		for (size_t k = 0; k < 4; k++)
			buf_add_char(&out, i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
	}
	return xstrdup(buf_str(&out));
}

static unsigned char digit(char c)
{
	return (unsigned char)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

/* Reads up to n bytes; stops at the first that cannot be read. */
static void read_bytes(struct dap *d, uint64_t address, int n, struct buf *out)
{
	struct mi_record *r = dap_mi(d, "-data-read-memory-bytes 0x%llx %d", (unsigned long long)address, n);
	const struct mi_value *list = r ? mi_get(r->results, "memory") : NULL;
	const struct mi_value *first = list && list->n ? list->item[0] : NULL;
	const char *hex = mi_str(first, "contents");
	uint64_t begin = 0;

	if (hex && !mi_u64(first, "begin", &begin) && begin == address)
		for (; hex[0] && hex[1]; hex += 2)
			buf_add_char(out, (char)(digit(hex[0]) << 4 | digit(hex[1])));
	mi_record_free(r);
}

void dap_read_memory(struct dap *d, const json_t *request, const json_t *args)
{
	int count = dap_int(args, "count", 0);
	cleanup_free char *why = NULL, *at = NULL, *data = NULL;
	cleanup_buf struct buf bytes = {0};
	uint64_t address = 0;
	json_t *o;

	if (count < 0 || count > BYTES_MAX || resolve(d, args, &address, &why)) {
		dap_refuse(d, request, why ? why : "at most 1 MiB at once");
		return;
	}
	if (count)
		read_bytes(d, address, count, &bytes);
	at = str_fmt("0x%llx", (unsigned long long)address);
	o = json_pack("{s:s}", "address", at);
	if (bytes.len) {
		data = base64((const unsigned char *)bytes.data, bytes.len);
		json_object_set_new(o, "data", json_string(data));
	}
	if (bytes.len < (size_t)count)
		json_object_set_new(o, "unreadableBytes", json_integer((json_int_t)count - (json_int_t)bytes.len));
	dap_respond(d, request, o);
}

void dap_write_memory(struct dap *d, const json_t *request, const json_t *args)
{
	dap_refuse(d, request,
		   "a recording cannot be changed; a variable can be set, in a copy of the program that is forgotten "
		   "when it moves");
}

/* ---- instructions ---- */

static json_t *instruction(const struct mi_value *i)
{
	const char *function = mi_str(i, "func-name"), *offset = mi_str(i, "offset"), *bytes = mi_str(i, "opcodes");
	json_t *o = json_pack("{s:o, s:o}", "address", dap_text(mi_str(i, "address")), "instruction",
			      dap_text(mi_str(i, "inst")));

	if (bytes)
		json_object_set_new(o, "instructionBytes", dap_text(bytes));
	if (function) {
		cleanup_free char *symbol = str_fmt("%s+%s", function, offset ? offset : "0");

		json_object_set_new(o, "symbol", dap_text(symbol));
	}
	return o;
}

/* Asks GDB; NULL: the memory cannot be read. */
static struct mi_record *ask(struct dap *d, const char *fmt, uint64_t from, uint64_t to)
{
	struct mi_record *r = dap_mi(d, fmt, (unsigned long long)from, (unsigned long long)to);

	if (r && !str_eq(r->klass, "error"))
		return r;
	mi_record_free(r);
	return NULL;
}

static const struct mi_value *list_of(const struct mi_record *r)
{
	return r ? mi_get(r->results, "asm_insns") : NULL;
}

/* Adds the instructions from the beginning of the function up to an address, in order. */
static void add_before(struct dap *d, uint64_t address, size_t wanted, json_t *out)
{
	cleanup_free char *command = str_fmt("-data-disassemble -a 0x%llx -- 2", (unsigned long long)address);
	struct mi_record *r = dap_mi(d, "%s", command);
	const struct mi_value *list = r && !str_eq(r->klass, "error") ? list_of(r) : NULL;
	size_t n = 0;
	uint64_t at;

	while (list && n < list->n && !mi_u64(list->item[n], "address", &at) && at < address)
		n++;
	for (size_t i = n > wanted ? n - wanted : 0; i < n; i++)
		json_array_append_new(out, instruction(list->item[i]));
	mi_record_free(r);
}

/* Adds the instructions from an address on, as far as memory can be read. */
static void add_from(struct dap *d, uint64_t address, size_t wanted, json_t *out)
{
	struct mi_record *r = NULL;

	for (uint64_t bytes = wanted * INSTRUCTION_BYTES; bytes && !r; bytes /= 2)
		r = ask(d, "-data-disassemble -s 0x%llx -e 0x%llx -- 2", address, address + bytes);
	for (size_t i = 0; list_of(r) && i < list_of(r)->n && i < wanted; i++)
		json_array_append_new(out, instruction(list_of(r)->item[i]));
	mi_record_free(r);
}

/*
 * An entry for an instruction that cannot be read, as the protocol requires exactly as many instructions as were asked
 * for.
 */
static json_t *nothing_at(uint64_t address)
{
	cleanup_free char *at = str_fmt("0x%llx", (unsigned long long)address);

	return json_pack("{s:s, s:s, s:s}", "address", at, "instruction", "(no instruction)", "presentationHint",
			 "invalid");
}

void dap_disassemble(struct dap *d, const json_t *request, const json_t *args)
{
	int first = dap_int(args, "instructionOffset", 0), count = dap_int(args, "instructionCount", 0);
	cleanup_free char *why = NULL;
	uint64_t address = 0;
	json_t *all, *list;
	size_t had, before = first < 0 ? (size_t) - (int64_t)first : 0, skip = first > 0 ? (size_t)first : 0;

	if (count < 0 || count > INSTRUCTIONS_MAX || before > INSTRUCTIONS_MAX || skip > INSTRUCTIONS_MAX ||
	    resolve(d, args, &address, &why)) {
		dap_refuse(d, request, why ? why : "at most 4096 instructions at once");
		return;
	}
	all = json_array();
	list = json_array();
	add_before(d, address, before, all);
	for (had = json_array_size(all); had < before; had++)
		json_array_insert_new(all, 0, nothing_at(address - (before - had)));
	if ((size_t)count + skip > before)
		add_from(d, address, (size_t)count + skip - before, all);
	for (size_t i = skip; i < skip + (size_t)count; i++)
		json_array_append_new(list, i < json_array_size(all) ? json_incref(json_array_get(all, i))
								     : nothing_at(address + i));
	json_decref(all);
	dap_respond(d, request, json_pack("{s:o}", "instructions", list));
}
