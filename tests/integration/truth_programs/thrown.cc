/* SPDX-License-Identifier: MIT */
/*
 * thrown.cc: exceptions, and destructors that run on their way.
 *
 * LEVELS: -O0 -O2 clang,-O1
 * EXPR: live < 3
 * EXPR: Guard::total <= 9
 * EXPR: last_code != 42
 * EXPR: balance >= 0
 */
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

volatile int pass;
int live, last_code, balance = 20;

struct Guard {
	static int total;
	int weight;
	explicit Guard(int w) : weight(w)
	{
		live++;
		total += w;
	}
	~Guard()
	{
		live--;
		total -= weight;
	}
};
int Guard::total;

struct Broken : std::runtime_error {
	int code;
	explicit Broken(int c) : std::runtime_error("broken"), code(c)
	{
	}
};

__attribute__((noinline)) static void pay(int n)
{
	Guard g(n % 5);

	balance -= n;
	if (n % 3 == 2)
		throw Broken(n == 5 ? 42 : n);
	balance += n / 2;
}

__attribute__((noinline)) static void settle(int n)
{
	Guard g(2);

	try {
		pay(n);
	} catch (const Broken &b) {
		last_code = b.code;
		if (n > 6)
			throw;
	}
}

int main()
{
	for (int i = 0; i < 9; i++) {
		pass = i;
		try {
			settle(i);
		} catch (std::exception &) {
			balance += 3;
		}
	}
	live += 3;
	Guard::total += 10;
	last_code = 42;
	balance -= 60;
	puts("end");
	_exit(1);
}
