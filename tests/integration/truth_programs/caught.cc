/* SPDX-License-Identifier: MIT */
/*
 * caught.cc: exceptions of two types that unwind guards.
 *
 * LEVELS: -O0 -O1 -O2
 * EXPR: caught < 3
 * EXPR: balance >= 0
 * EXPR: unwound < 5
 */
#include <cstdio>
#include <stdexcept>
#include <unistd.h>
volatile int pass;
int caught, balance, unwound;
struct Guard {
	int n;
	Guard(int i) : n(i)
	{
		balance += n;
	}
	~Guard()
	{
		unwound++;
		balance -= n;
	}
};
__attribute__((noinline)) static int risky(int i)
{
	Guard g(i);
	if (i % 3 == 2)
		throw std::runtime_error("no");
	if (i == 7)
		throw i;
	return i * 2;
}
int main()
{
	for (int i = 0; i < 10; i++) {
		pass = i;
		try {
			balance += risky(i) & 1;
		} catch (const std::exception &) {
			caught++;
		} catch (int v) {
			balance -= v;
		}
		if (i % 4 == 3)
			getppid();
	}
	caught = 5;
	balance = -1;
	puts("end");
	_exit(1);
}
