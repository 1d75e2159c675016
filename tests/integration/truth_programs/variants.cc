/* SPDX-License-Identifier: MIT */
/*
 * variants.cc: std::variant and optional members, any, tuple.
 *
 * LEVELS: -O0,-std=c++17
 * EXPR: cfg.value.index() != 2
 * AS: cfg.value._M_index != 2
 * EXPR: cfg.opt.has_value()
 * AS: cfg.opt._M_payload._M_engaged
 * EXPR: *cfg.opt < 7
 * AS: cfg.opt._M_payload._M_payload._M_value < 7
 * EXPR: cfg.opt.value() < 7
 * AS: cfg.opt._M_payload._M_payload._M_value < 7
 * EXPR: cfg.bits.test(3)
 * AS: (cfg.bits._M_w >> 3) & 1
 */
#include <bitset>
#include <cstdio>
#include <optional>
#include <string>
#include <unistd.h>
#include <variant>

volatile int pass;
struct Cfg {
	std::variant<int, double, std::string> value;
	std::optional<long> opt;
	std::bitset<16> bits;
};
Cfg cfg;

__attribute__((noinline)) static void step(int i)
{
	if (i % 4 == 0)
		cfg.value = i;
	else if (i % 4 == 2)
		cfg.value = 1.5 * i;
	else if (i == 3)
		cfg.value = std::string("three");
	if (i % 3)
		cfg.opt = i;
	else
		cfg.opt.reset();
	cfg.bits.flip(i % 6);
	cfg.bits.set(9, i % 2);
}

int main()
{
	cfg.opt = 0;
	cfg.bits.set(3);
	for (int i = 0; i < 11; i++) {
		pass = i;
		step(i);
		if (i % 4 == 1)
			getppid();
	}
	cfg.value = std::string("a long one that goes to the heap");
	cfg.opt = 8;
	cfg.bits = 0xff37;
	puts("end");
	_exit(1);
}
