/* SPDX-License-Identifier: MIT */
/*
 * tagged.c: a tagged union of floats, halves and bit fields, and a byte of bit fields.
 *
 * LEVELS: -O0 -O2 clang,-O0
 * EXPR: pkt.u.f < 5
 * EXPR: pkt.kind != 2 || pkt.u.w[1] == 0
 * EXPR: cfg.b.lvl < 6
 * EXPR: cfg.all != 0x46
 */
#include <stdio.h>
#include <unistd.h>
volatile int pass;
struct {
	int kind;
	union {
		float f;
		short w[2];
		struct {
			unsigned lo : 5, hi : 27;
		} s;
	} u;
} pkt;
union {
	struct {
		unsigned char on : 1, lvl : 3, rest : 4;
	} b;
	unsigned char all;
} cfg;
__attribute__((noinline)) static void recv(int i)
{
	pkt.kind = i % 3;
	switch (pkt.kind) {
	case 0:
		pkt.u.f = i * 0.75f;
		break;
	case 1:
		pkt.u.s.hi = (unsigned)i;
		break;
	default:
		pkt.u.w[0] = (short)i;
		pkt.u.w[1] = i == 8;
		break;
	}
	cfg.b.lvl = i;
	cfg.b.on ^= 1;
}
int main(void)
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		recv(i);
		if (i % 5 == 0)
			getppid();
	}
	cfg.b.lvl = 6;
	pkt.kind = 2;
	pkt.u.w[1] = 3;
	cfg.all = 0x46;
	pkt.u.f = 8;
	puts("end");
	_exit(1);
}
