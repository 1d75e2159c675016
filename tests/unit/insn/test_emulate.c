/* SPDX-License-Identifier: MIT */
/* test_emulate.c: functions of this program, called, and interpreted over its own memory: the same comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "insn/emulate.h"

#define FN __attribute__((noinline, used, no_sanitize("address", "undefined"))) static
#define ROUNDS 300

struct node {
	struct node *next;
	int key;
	short small;
	signed char tiny;
};

/* ---- what the calls read ---- */

struct seen {
	uint64_t addr[64];
	unsigned len[64], n, pages;
};

static int page(void *ctx, uint64_t addr, uint8_t out[EMULATE_PAGE])
{
	struct iovec to = {out, EMULATE_PAGE}, from = {(void *)(uintptr_t)addr, EMULATE_PAGE};

	((struct seen *)ctx)->pages++;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == EMULATE_PAGE ? 0 : -1;
}

static void has_read(void *ctx, uint64_t addr, unsigned len)
{
	struct seen *s = ctx;

	if (s->n < 64) {
		s->addr[s->n] = addr;
		s->len[s->n++] = len;
	}
}

static const struct emulate_ops ops = {.page = page, .has_read = has_read};

static enum emulate_end call(struct emulate *m, struct seen *s, const void *fn, const uint64_t arg[EMULATE_ARGS],
			     uint64_t *result)
{
	memset(s, 0, sizeof(*s));
	emulate_begin(m, s);
	return emulate_call(m, (uint64_t)(uintptr_t)fn, arg, result);
}

/* ---- arithmetic ---- */

typedef uint64_t fn(uint64_t a, uint64_t b, uint64_t c);

FN uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
	return (a + b * 3) ^ (c >> 7) ^ (a << (b & 63)) ^ ~(b - c);
}

FN uint64_t narrow(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)(int64_t)(int8_t)(a + b) + (uint16_t)(b * c) + (uint64_t)(int64_t)((int32_t)a >> (c & 15)) +
	       (uint8_t)(a >> 8);
}

FN uint64_t divided(uint64_t a, uint64_t b, uint64_t c)
{
	return a / (b | 1) + a % (c | 3) + (uint64_t)((int32_t)b / ((int32_t)(c & 0xffff) | 5)) +
	       (uint64_t)((int64_t)a % ((int64_t)(b >> 9) | 7));
}

FN uint64_t compared(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r = 0;

	r |= (a < b) | (uint64_t)(a <= c) << 1 | (uint64_t)((int64_t)a < (int64_t)b) << 2 |
	     (uint64_t)((int64_t)b >= (int64_t)c) << 3;
	r |= (uint64_t)((int32_t)a > (int32_t)c) << 4 | (uint64_t)((int16_t)b <= (int16_t)c) << 5 |
	     (uint64_t)((uint8_t)a > (uint8_t)b) << 6;
	r += (int64_t)a > 0 ? b : c;
	if ((int32_t)(a - b) < 0)
		r ^= 0x5500;
	return (a & 7) == 7 ? r + 0x100000 : r;
}

FN uint64_t chosen(uint64_t a, uint64_t b, uint64_t c)
{
	switch (a % 9) {
	case 0:
		return b;
	case 1:
		return c + 1;
	case 2:
		return b ^ c;
	case 3:
		return b - c;
	case 4:
		return b * c;
	case 5:
		return b & c;
	case 6:
		return b | c;
	default:
		return a;
	}
}

FN uint64_t deep(uint64_t a, uint64_t b, uint64_t c)
{
	return a % 12 ? deep(a - 1, b + c, c) + (b & 1) : b;
}

FN uint64_t in_arrays(uint64_t a, uint64_t b, uint64_t c)
{
	volatile uint64_t v[16];
	struct node n[3]; /* no initialiser: a sanitizer's memset looks for the shadow of a stack that is not there */
	uint64_t sum = 0;

	n[0].next = NULL;
	n[0].key = (int)a;
	n[0].small = (short)b;
	n[0].tiny = (signed char)c;
	for (unsigned i = 0; i < 16; i++)
		v[i] = a * i + b;
	n[1] = n[0];
	n[1].key++;
	n[2] = n[1];
	for (unsigned i = 0; i < 16; i++)
		sum += v[(i + c) & 15] >> i;
	return sum + (uint64_t)(int64_t)n[2].key + (uint64_t)(int64_t)n[2].small + (uint64_t)(int64_t)n[2].tiny;
}

FN uint64_t by_pointer(uint64_t a, uint64_t b, uint64_t c)
{
	static fn *const to[] = {mixed, narrow, compared, chosen};
	fn *volatile f = to[a & 3];

	return f(c, a, b);
}

static void arithmetic(void **state)
{
	static fn *const all[] = {mixed, narrow, divided, compared, chosen, deep, in_arrays, by_pointer};
	struct emulate *m = emulate_new(&ops);
	unsigned told = 0;

	(void)state;
	srandom(7);
	for (unsigned f = 0; f < sizeof(all) / sizeof(all[0]); f++)
		for (unsigned i = 0; i < ROUNDS; i++) {
			uint64_t arg[EMULATE_ARGS], result = 0, want;
			struct seen s;
			enum emulate_end end;

			for (unsigned k = 0; k < EMULATE_ARGS; k++) {
				arg[k] = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();
				if (random() % 3 == 0)
					arg[k] = (uint64_t)(random() % 5 - 2);
			}
			want = all[f](arg[0], arg[1], arg[2]);
			end = call(m, &s, (const void *)(uintptr_t)all[f], arg, &result);
			if (end == EMULATE_REFUSED) /* what a compiler makes of it may hold vector code */
				continue;
			told++;
			if (end != EMULATE_DONE || result != want)
				fail_msg("function %u of %llx, %llx, %llx: end %d, %llx, not %llx", f,
					 (unsigned long long)arg[0], (unsigned long long)arg[1],
					 (unsigned long long)arg[2], (int)end, (unsigned long long)result,
					 (unsigned long long)want);
		}
	assert_true(told > 4 * ROUNDS);
	emulate_free(m);
}

/* ---- memory ---- */

static int counter;

FN uint64_t length(uint64_t list, uint64_t b, uint64_t c)
{
	uint64_t n = 0;

	(void)b;
	(void)c;
	for (const struct node *p = (const struct node *)(uintptr_t)list; p; p = p->next)
		n++;
	return n;
}

FN uint64_t counts(uint64_t a, uint64_t b, uint64_t c)
{
	(void)b;
	(void)c;
	counter += (int)a;
	return (uint64_t)counter;
}

static void lists(void **state)
{
	struct emulate *m = emulate_new(&ops);
	struct node n[5] = {{.next = &n[1]}, {.next = &n[2]}, {.next = &n[3]}, {.next = &n[4]}, {.next = NULL}};
	uint64_t arg[EMULATE_ARGS] = {(uint64_t)(uintptr_t)n}, result;
	struct seen s;

	(void)state;
	assert_int_equal(call(m, &s, (const void *)(uintptr_t)length, arg, &result), EMULATE_DONE);
	assert_int_equal(result, 5);
	assert_int_equal(s.n, 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(s.addr[i], (uintptr_t)&n[i].next);
		assert_int_equal(s.len[i], 8);
	}
	n[2].next = (struct node *)0x18;
	assert_int_equal(call(m, &s, (const void *)(uintptr_t)length, arg, &result), EMULATE_FAULT);
	assert_int_equal(s.n, 3); /* what cannot be read has no value to be compared */
	n[4].next = n; /* for ever */
	n[2].next = &n[3];
	assert_int_equal(call(m, &s, (const void *)(uintptr_t)length, arg, &result), EMULATE_REFUSED);
	emulate_free(m);
}

static void writes_stay_here(void **state)
{
	struct emulate *m = emulate_new(&ops);
	uint64_t arg[EMULATE_ARGS] = {3}, result;
	struct seen s;
	int v;

	(void)state;
	counter = 10;
	assert_int_equal(call(m, &s, (const void *)(uintptr_t)counts, arg, &result), EMULATE_DONE);
	assert_int_equal(result, 13);
	assert_int_equal(emulate_call(m, (uint64_t)(uintptr_t)counts, arg, &result), EMULATE_DONE);
	assert_int_equal(result, 16);
	assert_int_equal(emulate_read(m, (uint64_t)(uintptr_t)&counter, &v, sizeof(v)), 0);
	assert_int_equal(v, 16);
	assert_int_equal(counter, 10);
	assert_int_equal(call(m, &s, (const void *)(uintptr_t)counts, arg, &result), EMULATE_DONE);
	assert_int_equal(result, 13);
	emulate_free(m);
}

/* ---- what is refused ---- */

static void refused(void **state)
{
	static const struct {
		const char *code;
		size_t n;
	} rows[] = {
#define CODE(s) {s, sizeof(s) - 1}
		CODE("\xf0\x48\xff\x07\xc3"), /* lock inc qword [rdi] */
		CODE("\x64\x48\x8b\x04\x25\x10\x00\x00\x00\xc3"), /* mov rax, fs:[0x10] */
		CODE("\x0f\x05\xc3"), /* syscall */
		CODE("\x0f\xa2\xc3"), /* cpuid */
		CODE("\xf3\xa4\xc3"), /* rep movsb */
		CODE("\xf2\x0f\x58\xc1\xc3"), /* addsd xmm0, xmm1 */
		CODE("\x48\x0f\xc7\x0f\xc3"), /* cmpxchg16b [rdi] */
		CODE("\x06"), /* none */
	};
	static uint8_t code[64] __attribute__((aligned(4096)));
	struct emulate *m = emulate_new(&ops);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t arg[EMULATE_ARGS] = {(uint64_t)(uintptr_t)&counter}, result;
		struct seen s;

		memset(code, 0xc3, sizeof(code));
		memcpy(code, rows[i].code, rows[i].n);
		assert_int_equal(call(m, &s, code, arg, &result), EMULATE_REFUSED);
	}
	memcpy(code, "\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xc3",
	       10); /* the stack protector's word, on the other hand */
	{
		uint64_t arg[EMULATE_ARGS] = {0}, result;
		struct seen s;

		assert_int_equal(call(m, &s, code, arg, &result), EMULATE_DONE);
		assert_int_equal(s.n, 0);
	}
	emulate_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(lists),
		cmocka_unit_test(writes_stay_here),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
